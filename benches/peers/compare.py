#!/usr/bin/env python3
"""Runs the same 25 rules on the same calls in AIR, in Microsoft's Agent Governance Toolkit (`govern()`)
and in Invariant, in turns, and prints what one decision takes.

    benches/peers/compare.py [--venv DIRECTORY] [--rounds N]

Without --venv, a virtual environment is made in a temporary directory and both packages are
installed from PyPI. AIR is `cargo run --release -p air-lang --example decide`. It fails where the three
do not block the same calls.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PACKAGES = ["agent-governance-toolkit[full]==4.1.0", "invariant-ai==0.3.5"]
ROOT = pathlib.Path(__file__).resolve().parents[2]

# Name, tool, argument, and the values that are refused: what all three languages can say.
RULES = [(f"write{n}", "write_file", "path", [f"/srv/protected/file{n}"]) for n in range(10)]
RULES += [(f"read{n}", "read_file", "path", [f"/srv/secret/{n}{x}" for x in "abc"]) for n in range(5)]
RULES += [(f"run{n}", "bash", "program", [f"tool{n}"]) for n in range(10)]

CALLS = [
    ("write_file", {"path": "/srv/protected/file3", "content": "x"}),
    ("write_file", {"path": "/srv/protected/file30", "content": "x"}),
    ("write_file", {"path": "/home/user/notes", "content": "what was said today"}),
    ("read_file", {"path": "/srv/secret/4c"}),
    ("read_file", {"path": "/srv/secret/5c"}),
    ("bash", {"program": "tool9"}),
    ("bash", {"program": "ls"}),
    ("list_files", {"path": "/srv/protected/file3"}),
]
PAST = [2, 102]


def air_rules():
    text = ""
    for name, tool, argument, values in RULES:
        choice = f"args.{argument} in {json.dumps(values)}"
        text += f"rule @{name}\ntrigger {tool}\ndecide {choice}\ncheck\n  it is refused.\nblock\nend\n\n"
    return text


class Air:
    name = "AIR"

    def __init__(self, rounds):
        self.task = {
            "rules": air_rules(),
            "steps": [{"tool": tool, "args": args} for tool, args in CALLS],
            "rounds": rounds * 50,
        }
        command = ["cargo", "build", "--release", "--quiet", "-p", "air-lang", "--example", "decide"]
        subprocess.run(command, cwd=ROOT, check=True)

    def run(self):
        command = ["cargo", "run", "--release", "--quiet", "-p", "air-lang", "--example", "decide"]
        done = subprocess.run(
            command, cwd=ROOT, check=True, input=json.dumps(self.task), capture_output=True, text=True
        )
        answer = json.loads(done.stdout)
        return [bool(rules) for rules in answer["blocked"]], answer["nanoseconds"]


class Agt:
    name = "AGT govern()"

    def __init__(self, rounds):
        from agentmesh.governance import govern

        rules = []
        for name, tool, argument, values in RULES:
            choice = ", ".join(f"'{value}'" for value in values)
            condition = f"action.type == '{tool}' and args.{argument} in [{choice}]"
            rules.append({"name": name, "condition": condition, "action": "deny"})
        policy = {"apiVersion": "governance.toolkit/v1", "name": "peers", "default_action": "allow"}
        policy = json.dumps(policy | {"rules": rules})  # JSON is YAML
        # Nothing but the decision: AIR's journal is not measured either.
        self.guard = govern(
            lambda **_: False, policy=policy, audit=False, on_deny=lambda decision: True
        )
        self.rounds = rounds

    def run(self):
        blocked = [self.guard(action=tool, args=args) for tool, args in CALLS]
        times = [[] for _ in CALLS]
        for _ in range(self.rounds):
            for number, (tool, args) in enumerate(CALLS):
                start = time.perf_counter_ns()
                self.guard(action=tool, args=args)
                times[number].append(time.perf_counter_ns() - start)
        return blocked, times


class Invariant:
    def __init__(self, rounds, past):
        from invariant.analyzer.policy import LocalPolicy

        text = ""
        for name, tool, argument, values in RULES:
            text += f'raise "{name}" if:\n    (call: ToolCall)\n'
            text += f'    call.function.name == "{tool}"\n'
            text += f"    call.function.arguments.{argument} in {json.dumps(values)}\n\n"
        self.policy = LocalPolicy.from_string(text)
        self.name = f"Invariant, {past} messages"
        self.rounds = max(1, rounds // (past // 2))
        # The last message of all is the call.
        self.past = [{"role": "user", "content": "go on"}]
        while len(self.past) < past - 1:
            number = len(self.past)
            self.past.append(self.call(number, "list_files", {"path": f"/home/user/{number}"}))
            self.past.append({"role": "tool", "tool_call_id": str(number), "content": "a b c"})
        self.past = self.past[: past - 1]

    @staticmethod
    def call(number, tool, args):
        function = {"name": tool, "arguments": args}
        calls = [{"id": str(number), "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    def decide(self, tool, args):
        pending = [self.call(len(self.past), tool, args)]
        return bool(self.policy.analyze_pending(self.past, pending).errors)

    def run(self):
        blocked = [self.decide(tool, args) for tool, args in CALLS]
        times = [[] for _ in CALLS]
        for _ in range(self.rounds):
            for number, (tool, args) in enumerate(CALLS):
                start = time.perf_counter_ns()
                self.decide(tool, args)
                times[number].append(time.perf_counter_ns() - start)
        return blocked, times


def environment(directory):
    """The Python of an environment with both packages."""
    python = pathlib.Path(directory) / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", directory], check=True)
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, *PACKAGES], check=True)
    return python


def compare(rounds):
    guards = [Air(rounds), Agt(rounds), *(Invariant(rounds, past) for past in PAST)]
    blocked, times = {}, {guard.name: [] for guard in guards}
    for _ in range(3):  # in turns, so that whatever else the machine does meets all of them
        for guard in guards:
            blocked[guard.name], found = guard.run()
            times[guard.name] += [each for call in found for each in call]
    expected = blocked["AIR"]
    print(f"{len(RULES)} rules, {len(CALLS)} calls, of which {sum(expected)} are blocked\n")
    print("| guard | least | median | median beside AIR |\n|---|---|---|---|")
    base = statistics.median(times["AIR"])
    for name, each in times.items():
        least, median = min(each) / 1000, statistics.median(each) / 1000
        print(f"| {name} | {least:.2f} us | {median:.2f} us | {median * 1000 / base:.0f} |")
    differ = {name: found for name, found in blocked.items() if found != expected}
    if differ:
        sys.exit(f"\nthey do not block the same calls: {blocked}")
    print("\nall of them block the same calls")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", help="an environment to use; made where there is none")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return compare(options.rounds)
    with tempfile.TemporaryDirectory() as directory:
        python = environment(options.venv or directory)
        command = [python, __file__, "--inside", "--rounds", str(options.rounds)]
        quiet = {"LOCAL_POLICY": "1", "PYTHONWARNINGS": "ignore"}
        sys.exit(subprocess.run(command, env=os.environ | quiet).returncode)


main()
