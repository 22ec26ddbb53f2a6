#!/usr/bin/env python3
"""Writes data/*.json from the conformance tests of the CEL specification.

    convert.py CEL_SPEC     a checkout of github.com/google/cel-spec

Nothing is left out of a file that is converted. Which files are, and why the others are not, is in
README.md.
"""

import json
import pathlib
import re
import sys

FILES = """basic comparisons conversions fields fp_math integer_math lists logic macros parse plumbing
string""".split()
TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<open>[{\[])|(?P<close>[}\]])|(?P<punct>[:,;])
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<word>[A-Za-z0-9_.+\-/]+)""",
    re.X,
)
ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11}
SCALARS = {
    "int64_value": ("int", int),
    "uint64_value": ("uint", int),
    "double_value": ("double", str),
    "string_value": ("string", lambda raw: raw.decode()),
    "bytes_value": ("bytes", lambda raw: raw.hex()),
    "bool_value": ("bool", lambda word: word == "true"),
    "null_value": ("null", lambda _: None),
    "type_value": ("type", lambda raw: raw.decode()),
}


def unescape(text):
    """The bytes of a quoted text."""
    out, rest = bytearray(), text[1:-1]
    pattern = re.compile(r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|([^\\]+)", re.S)
    for octal, digits, four, eight, other, plain in pattern.findall(rest):
        if octal:
            out.append(int(octal, 8))
        elif digits:
            out.append(int(digits, 16))
        elif four or eight:
            out += chr(int(four or eight, 16)).encode()
        elif other:
            out += bytes([ESCAPES[other]]) if other in ESCAPES else other.encode()
        else:
            out += plain.encode()
    return bytes(out)


class Tokens:
    """What a text proto is made of, one by one."""

    def __init__(self, text):
        self.rest, at = [], 0
        while at < len(text):
            match = TOKEN.match(text, at)
            assert match, text[at : at + 40]
            at = match.end()
            if match.lastgroup and match.lastgroup != "punct":
                self.rest.append((match.lastgroup, match.group(match.lastgroup)))
        self.rest.reverse()

    def next(self):
        return self.rest.pop()

    def peek(self):
        return self.rest[-1] if self.rest else ("close", "")


def message(stream):
    """The fields of a message, in order, up to its end."""
    fields = []
    while stream.rest:
        kind, word = stream.next()
        if kind == "close":
            break
        if kind == "open":  # the name of an extension or an `Any`
            word = ""
            while stream.peek()[0] != "close":
                word += stream.next()[1]
            stream.next()
        if stream.peek() == ("open", "["):
            stream.next()
            while stream.peek() != ("close", "]"):
                fields.append((word, value(stream)))
            stream.next()
        else:
            fields.append((word, value(stream)))
    return fields


def value(stream):
    kind, word = stream.next()
    if kind == "open":
        return message(stream)
    if kind != "text":
        return word
    whole = unescape(word)
    while stream.peek()[0] == "text":
        whole += unescape(stream.next()[1])
    return whole


def get(fields, name, default=None):
    return next((value for key, value in fields if key == name), default)


def plain(fields):
    """A value, under the name of its kind."""
    [(name, inner)] = fields if fields else [("object_value", [])]
    if name in SCALARS:
        kind, convert = SCALARS[name]
        return {kind: convert(inner)}
    if name == "list_value":
        return {"list": [plain(item) for key, item in inner if key == "values"]}
    if name == "map_value":
        entries = [entry for key, entry in inner if key == "entries"]
        return {"map": [[plain(get(entry, "key")), plain(get(entry, "value"))] for entry in entries]}
    return {"message": name}


def test(fields):
    case = {"name": get(fields, "name").decode(), "expr": get(fields, "expr").decode()}
    bound = {}
    for binding in (inner for key, inner in fields if key == "bindings"):
        bound[get(binding, "key").decode()] = plain(get(get(binding, "value"), "value"))
    if bound:
        case["bindings"] = bound
    error = get(fields, "eval_error") or get(fields, "any_eval_errors")
    if error is not None:
        case["error"] = get(get(error, "errors", []), "message", b"").decode()
    elif get(fields, "value") is not None:
        case["value"] = plain(get(fields, "value"))
    else:
        case["value"] = {"bool": True}
    return case


def main():
    source = pathlib.Path(sys.argv[1]) / "tests/simple/testdata"
    for name in FILES:
        stream = Tokens((source / f"{name}.textproto").read_text())
        sections = []
        for section in (inner for key, inner in message(stream) if key == "section"):
            tests = [test(inner) for key, inner in section if key == "test"]
            sections.append({"name": get(section, "name").decode(), "tests": tests})
        lines = [f'{{"name": {json.dumps(name)}, "sections": [']
        for section in sections:
            lines.append(f'{{"name": {json.dumps(section["name"])}, "tests": [')
            rows = [json.dumps(case, ensure_ascii=False) for case in section["tests"]]
            lines.append(",\n".join(rows))
            lines.append("]}," if section is not sections[-1] else "]}")
        lines.append("]}\n")
        text = "\n".join(lines)
        json.loads(text)
        target = pathlib.Path(__file__).parent / "data" / f"{name}.json"
        target.write_text(text)


main()
