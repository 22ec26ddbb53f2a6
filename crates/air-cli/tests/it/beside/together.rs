//! Several agents and a person in one directory, and calls that go on while others do.

use std::{fs, thread, time::Duration};

use serde_json::json;

use super::machine::{Agent, Machine};
use crate::story::said;

/// Finds a deleted test, which AIR puts back by itself.
const RULES: &str = "rule @tests_deleted
trigger shell.exec
severity high
decide effects.files.exists(f, f.change == \"deleted\" && f.path.contains(\"/tests/\"))
check
  a test was deleted.
respond
  rollback
remediate
  put it back.
end
";

fn machine() -> Machine {
    let machine = Machine::new(RULES);
    fs::create_dir_all(machine.path("project/tests")).expect("a directory");
    for name in ["tests/a", "tests/b", "tests/c"] {
        machine.write(name, &format!("{name}\n"));
    }
    machine.start();
    machine
}

fn incidents(machine: &Machine) -> usize {
    let listed = machine.json(&["incidents"]);
    listed["incidents"].as_array().expect("a list").len()
}

#[track_caller]
fn may(told: &serde_json::Value) {
    let decision = &told["hookSpecificOutput"]["permissionDecision"];
    assert_ne!(*decision, "deny", "{told}");
}

#[test]
fn what_another_session_names_is_not_put_down_to_this_one() {
    let machine = machine();
    let (mut one, mut two) = (Agent::new(&machine, "s1"), Agent::new(&machine, "s2"));
    may(&two.before("t1", "rm tests/a"));
    may(&one.before("o1", "make all"));
    two.shell("rm tests/a");
    one.shell("echo made > made");
    // Told first of what the other one did.
    may(&one.after("o1", "make all"));
    assert_eq!(incidents(&machine), 0, "the other one has not come back");
    assert_eq!(machine.read("tests/a"), "");
    two.after("t1", "rm tests/a");
    assert_eq!(incidents(&machine), 1);
    assert_eq!(machine.read("tests/a"), "tests/a\n");
    // The first one goes on, and all it did is what it did.
    one.call("o2", "echo more > more");
    assert_eq!(incidents(&machine), 1);
    let text = said(&machine.here(&["undo", "--dry-run", "--step", "1"]));
    assert!(!text.contains("tests/a"), "{text}");
}

#[test]
fn what_a_call_that_began_later_names_is_no_way_to_hide_behind() {
    let machine = machine();
    let (mut one, mut two) = (Agent::new(&machine, "s1"), Agent::new(&machine, "s2"));
    may(&one.before("o1", "make all"));
    one.shell("rm tests/a");
    // It is gone already: examined with this one, nothing would be seen.
    may(&two.before("t1", "rm -f tests/a"));
    one.after("o1", "make all");
    two.after("t1", "rm -f tests/a");
    let told = one.before("o2", "ls");
    assert_eq!(told["hookSpecificOutput"]["permissionDecision"], "deny", "{told}");
}

#[test]
fn what_another_call_only_reads_is_not_its_doing() {
    let machine = machine();
    let (mut one, mut two) = (Agent::new(&machine, "s1"), Agent::new(&machine, "s2"));
    may(&two.before("t1", "rg -n word . tests"));
    may(&one.before("o1", "make all"));
    one.shell("rm tests/a");
    one.after("o1", "make all");
    assert_eq!(incidents(&machine), 1);
    assert_eq!(machine.read("tests/a"), "tests/a\n");
}

#[test]
fn a_file_that_several_calls_have_changed_goes_back_to_what_it_was_before_the_incident() {
    let machine = machine();
    let mut agent = Agent::new(&machine, "s1");
    for text in ["one", "two", "three"] {
        agent.call(text, &format!("sh -c 'echo {text} > tests/a'"));
    }
    agent.call("made", "sh -c 'echo made > tests/made'");
    agent.call("harm", "sh -c 'rm -r tests'");
    assert_eq!(incidents(&machine), 1);
    for (name, text) in [("tests/a", "three\n"), ("tests/made", "made\n"), ("tests/b", "tests/b\n")]
    {
        assert_eq!(machine.read(name), text, "{name}");
    }
}

#[test]
fn a_call_that_is_told_again_is_no_other_one() {
    let machine = machine();
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "sh -c 'echo made > made'");
    machine.stop();
    machine.start();
    fs::remove_file(machine.path("project/tests/b")).expect("a person deletes it");
    agent.after("t1", "sh -c 'echo made > made'");
    assert_eq!(incidents(&machine), 0);
    // One that nobody was asked about: somebody may have done it.
    agent.after("t2", "sh -c true");
    assert_eq!(incidents(&machine), 0);
    assert!(!machine.path("project/tests/b").exists(), "it is the person's decision");
}

#[test]
fn what_a_person_deletes_while_a_call_runs_is_held_and_never_put_back() {
    let machine = machine();
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "echo first > first");
    may(&agent.before("t2", "ls -l src"));
    fs::remove_file(machine.path("project/tests/b")).expect("a person deletes it");
    agent.after("t2", "ls -l src");
    assert_eq!(incidents(&machine), 0);
    assert!(!machine.path("project/tests/b").exists(), "it is the person's decision");
    let told = agent.before("t3", "ls");
    let reason = told["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or("");
    assert!(reason.contains("A person has to look"), "{told}");
    // The message names the way on.
    let id = reason.split('`').find_map(|word| word.strip_prefix("airctl resume --release "));
    let output = machine.here(&["resume", "--release", id.expect("the session")]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    may(&agent.before("t4", "ls"));
}

#[test]
fn what_a_person_changes_that_no_rule_is_about_keeps_nobody() {
    let machine = machine();
    let mut agent = Agent::new(&machine, "s1");
    may(&agent.before("t1", "ls -l src"));
    machine.write("notes.md", "the person's\n");
    may(&agent.after("t1", "ls -l src"));
    agent.call("t2", "echo more > more");
    // What is taken back is what the agent did.
    let output = machine.here(&["undo"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(machine.read("notes.md"), "the person's\n");
    assert!(!machine.path("project/more").exists());
}

#[test]
fn what_a_background_call_does_after_it_was_looked_at_is_found_and_put_back() {
    let machine = machine();
    let mut agent = Agent::new(&machine, "s1");
    let command = "sh work.sh";
    let call = json!({
        "tool_name": "Bash", "tool_use_id": "b1",
        "tool_input": { "command": command, "run_in_background": true },
    });
    may(&agent.hook("PreToolUse", &call));
    agent.shell("echo early > early");
    let mut back = call.clone();
    back["tool_response"] = json!({ "stdout": "", "stderr": "", "backgroundTaskId": "task1" });
    may(&agent.hook("PostToolUse", &back));
    // The daemon forgets nothing of it when it is started anew.
    machine.stop();
    machine.start();
    let running = json!({
        "stop_hook_active": false,
        "background_tasks": [{ "id": "task1", "type": "shell", "status": "running" }],
    });
    agent.hook("Stop", &running);
    assert_eq!(incidents(&machine), 0);
    agent.shell("rm tests/c; echo late > late");
    agent.hook("Stop", &json!({ "stop_hook_active": false }));
    assert_eq!(incidents(&machine), 1);
    assert_eq!(machine.read("tests/c"), "tests/c\n");
    assert!(!machine.path("project/late").exists(), "all that it did was taken back");
    assert!(!machine.path("project/early").exists());
}

#[test]
fn what_was_edited_before_a_restart_is_not_put_back_over() {
    let machine = machine();
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "echo theirs > shared; echo own > own");
    machine.write("shared", "theirs\nand the person's\n");
    machine.stop();
    machine.start();
    let output = machine.here(&["undo"]);
    assert!(machine.read("shared").contains("the person's"), "{}", said(&output));
    assert!(!machine.path("project/own").exists(), "{}", said(&output));
}

#[test]
fn a_call_whose_host_is_killed_is_examined_all_the_same() {
    let machine = machine();
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "echo first > first");
    may(&agent.before("t2", "sh clean.sh"));
    agent.shell("rm tests/a");
    // It says nothing any more.
    agent.leave();
    let until = std::time::Instant::now() + Duration::from_mins(1);
    while incidents(&machine) == 0 {
        assert!(std::time::Instant::now() < until, "nobody looked");
        thread::sleep(Duration::from_millis(50));
    }
    let is_back = || machine.read("tests/a") == "tests/a\n";
    while !is_back() {
        assert!(std::time::Instant::now() < until, "it was not put back");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_call_that_outlives_its_session_is_examined_when_it_ends() {
    let machine = machine();
    let mut agent = Agent::new(&machine, "s1");
    may(&agent.before("t1", "sh clean.sh"));
    agent.hook("SessionEnd", &json!({ "reason": "clear" }));
    assert_eq!(incidents(&machine), 0);
    agent.shell("rm tests/a");
    agent.after("t1", "sh clean.sh");
    assert_eq!(incidents(&machine), 1);
    assert_eq!(machine.read("tests/a"), "tests/a\n");
}

#[test]
fn what_a_person_has_let_pass_is_no_incident() {
    let rules = "rule @ask_first\ntrigger shell.exec\ndecide args.command.contains(\"tests/a\")\ncheck\n  a test \
                 is touched.\nask\nend\n";
    let machine = Machine::new(&format!("{RULES}\n{rules}"));
    fs::create_dir_all(machine.path("project/tests")).expect("a directory");
    machine.write("tests/a", "a\n");
    machine.start();
    let mut agent = Agent::new(&machine, "s1");
    let told = agent.before("t1", "rm tests/a");
    assert_eq!(told["hookSpecificOutput"]["permissionDecision"], "ask", "{told}");
    // The host has asked, and a person has said yes.
    agent.shell("rm tests/a");
    agent.after("t1", "rm tests/a");
    assert_eq!(incidents(&machine), 0);
    assert_eq!(machine.read("tests/a"), "");
    agent.call("t2", "echo more > more");
}

#[test]
fn what_a_call_names_counts_from_where_it_began() {
    let machine = machine();
    let mut agent = Agent::new(&machine, "s1");
    let call = json!({
        "tool_name": "Bash", "tool_use_id": "t1",
        "tool_input": { "command": "cd tests && rm a" },
    });
    may(&agent.hook("PreToolUse", &call));
    agent.shell("cd tests && rm a");
    // The host's shell has stayed there.
    let mut back = call.clone();
    back["tool_response"] = json!({ "stdout": "", "stderr": "", "interrupted": false });
    back["cwd"] = json!(machine.path("project/tests"));
    agent.hook("PostToolUse", &back);
    assert_eq!(incidents(&machine), 1);
    assert_eq!(machine.read("tests/a"), "tests/a\n");
}
