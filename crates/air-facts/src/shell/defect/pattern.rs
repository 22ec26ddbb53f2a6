//! A pattern that is to tell what is well-formed is tried on what is, and on what is not.

use regex::Regex;

use super::{
    names,
    source::{Origin, Scope, Source},
    tree::{Command, Node, Piece, RedirectKind, Text, Variable},
};
use crate::collect::Collector;

/// A format that is told by more than its look.
struct Format {
    good: &'static [&'static str],
    bad: &'static [&'static str],
    /// Nothing like it: a pattern that takes one of these is for something else.
    other: &'static [&'static str],
}

const FORMATS: [Format; 3] = [
    // An IPv4 address.
    Format {
        good: &["192.168.1.1", "10.20.30.40", "127.0.0.1", "172.16.254.3"],
        bad: &[
            "256.256.256.256",
            "999.999.999.999",
            "192.168.1.256",
            "1.2.3.4.5",
            "1.2.3.4.",
            "1.1.1.01",
            "192.168.01.001",
            "1000.1.1.1",
            "x1.2.3.4",
            "1.2.3.4x",
            "300.1.2.3",
            "1.2.3",
            "1..2.3.4",
            "1.2.3.4 x",
            ".1.2.3.4",
        ],
        other: &[
            "",
            "word",
            "example.org",
            "a.b.c.d",
            "42",
            "1",
            "3.14",
            "-",
            "2024-05-06",
            "/tmp/x",
            "1.2.x",
            "10:20",
            "v1.2",
        ],
    },
    // A hardware address.
    Format {
        good: &["00:1a:2b:3c:4d:5e", "01:23:45:67:89:ab"],
        bad: &[
            "00:1a:2b:3c:4d",
            "00:1a:2b:3c:4d:5g",
            "00:1a:2b:3c:4d:5e:6f",
            "zz00:1a:2b:3c:4d:5e",
            "00:1a:2b:3c:4d:5ezz",
        ],
        other: &[
            "",
            "word",
            "12:30",
            "12:30:45",
            "2001:db8::1",
            "10.0.0.1",
            "a:b",
            "/tmp/x",
            "1:2",
        ],
    },
    // A day.
    Format {
        good: &["2024-05-06", "1999-12-31"],
        bad: &[
            "2024-13-01",
            "2024-00-10",
            "2024-01-32",
            "x2024-05-06",
            "2024-05-061",
            "9999-99-99",
        ],
        other: &[
            "",
            "word",
            "12",
            "2024",
            "10.0.0.1",
            "1-2-3",
            "2024-05",
            "/tmp/x",
            "2024-05-06T10:20:30",
            "12345-678-90",
        ],
    },
];

pub(super) fn note(source: &Source, out: &mut Collector) {
    source.each_node(|node, scope| match node {
        Node::Test(test, line) => {
            for (op, _, pattern) in test.binaries() {
                if op == "=~"
                    && let Some(pattern) = expression(pattern, scope, source)
                {
                    judge(&pattern, *line, scope, source, out);
                }
            }
        }
        Node::Pipe(nodes) => {
            if let [.., Node::Command(last)] = nodes.as_slice() {
                let first = matches!(nodes.first(), Some(Node::Command(first)) if first.is(&["echo", "printf"]));
                if first {
                    command(last, scope, source, out);
                }
            }
        }
        Node::Command(one) if one.redirects.iter().any(|one| one.kind == RedirectKind::Here) || one.is(&["expr", "awk", "perl"]) => {
            command(one, scope, source, out);
        }
        _ => {}
    });
    by_hand(source, out);
}

/// `grep`, `awk`, `expr` and their like as a check.
fn command(command: &Command, scope: Scope, source: &Source, out: &mut Collector) {
    let Some(name) = command.name() else { return };
    let args = command.args();
    let flags: String =
        args.iter().filter_map(Text::constant).filter(|arg| arg.starts_with('-')).collect();
    let pattern = match name.as_str() {
        "grep" | "egrep" => {
            if flags.contains('o') || flags.contains('v') || flags.contains('c') {
                return;
            }
            let at = args.iter().position(|arg| !arg.raw.starts_with('-'));
            let Some(text) =
                at.and_then(|at| args.get(at)).and_then(|text| source_text(text, scope, source))
            else {
                return;
            };
            let whole = flags.contains('x');
            let text = if flags.contains('P') {
                text
            } else if flags.contains('E') || name == "egrep" {
                extended(&text)
            } else {
                basic(&text)
            };
            if whole { format!("^(?:{text})$") } else { text }
        }
        "expr" => {
            let at = args.iter().position(|arg| arg.raw == ":");
            let Some(text) = at
                .and_then(|at| args.get(at + 1))
                .and_then(|text| source_text(text, scope, source))
            else {
                return;
            };
            format!("^(?:{})", basic(&text))
        }
        "awk" | "gawk" | "perl" | "sed" => {
            let Some(program) =
                args.iter().filter_map(Text::constant).find(|text| text.contains('/'))
            else {
                return;
            };
            let Some((_, rest)) = program.split_once('/') else { return };
            let Some((text, _)) = rest.rsplit_once('/') else { return };
            if program.contains("255") && !text.contains("25") {
                return;
            }
            match name.as_str() {
                "perl" => text.to_owned(),
                "sed" if !flags.contains(['E', 'r']) => basic(text),
                _ => extended(text),
            }
        }
        _ => return,
    };
    judge(&pattern, command.line, scope, source, out);
}

fn judge(pattern: &str, line: u32, scope: Scope, source: &Source, out: &mut Collector) {
    if pattern.len() > 2000 {
        return;
    }
    let Ok(regex) = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build() else { return };
    for format in &FORMATS {
        if lenient(&regex, format) && !also_checked(scope, source) {
            return out.defect(
                "lenient-validation",
                line,
                "a pattern takes what is not well-formed",
            );
        }
    }
}

fn lenient(regex: &Regex, format: &Format) -> bool {
    let good = format.good.iter().filter(|text| regex.is_match(text)).count();
    let misses = good < format.good.len();
    good > 0
        && !format.other.iter().any(|text| regex.is_match(text))
        && (misses || format.bad.iter().any(|text| regex.is_match(text)))
}

/// Whether the parts are compared with their bounds as well.
fn also_checked(scope: Scope, source: &Source) -> bool {
    let mut checked = false;
    source.each_node(|node, at| {
        if at == scope || source.functions.len() < 3 {
            checked |= match node {
                Node::Test(test, _) => test.binaries().iter().any(|(op, _, other)| {
                    op.starts_with('-')
                        && matches!(other.raw.trim_matches('"'), "255" | "256" | "12" | "31")
                }),
                Node::Math(text, _) => {
                    ["255", "256", "12", "31"].iter().any(|bound| text.raw.contains(bound))
                }
                Node::Command(command) => {
                    command.is(&["date", "ipcalc", "cal", "python3", "getent"])
                }
                _ => false,
            };
        }
    });
    checked
}

/// The regular expression that a word of `[[ =~ ]]` is.
fn expression(text: &Text, scope: Scope, source: &Source) -> Option<String> {
    let mut all = String::new();
    for piece in &text.pieces {
        match piece {
            Piece::Plain(text) => all.push_str(text),
            Piece::Quoted(text) => all.push_str(&regex::escape(text)),
            Piece::Variable(variable) => {
                let value = value(variable, scope, source)?;
                if variable.quoted {
                    all.push_str(&regex::escape(&value));
                } else {
                    all.push_str(&value);
                }
            }
            _ => return None,
        }
    }
    Some(extended(&all))
}

fn value(variable: &Variable, scope: Scope, source: &Source) -> Option<String> {
    if !variable.is_plain() {
        return None;
    }
    let text = Text { raw: String::new(), pieces: vec![Piece::Variable(variable.clone())] };
    match source.origins(&text, scope).as_slice() {
        [Origin::Constant(text)] => Some(text.clone()),
        _ => None,
    }
}

fn source_text(text: &Text, scope: Scope, source: &Source) -> Option<String> {
    match source.origins(text, scope).as_slice() {
        [Origin::Constant(text)] => Some(text.clone()),
        _ => None,
    }
}

/// An extended regular expression as the crate reads it.
fn extended(text: &str) -> String {
    let text = text.replace("\\<", "\\b").replace("\\>", "\\b");
    // There is no such class in it: the letter stands for itself.
    text.replace("\\d", "d")
}

/// A basic one.
fn basic(text: &str) -> String {
    let mut all = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('(' | ')' | '{' | '}' | '|' | '+' | '?')) => all.push(c),
                Some('<' | '>') => all.push_str("\\b"),
                Some('d') => all.push('d'),
                Some(other) => all.extend(['\\', other]),
                None => {}
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' => all.extend(['\\', c]),
            other => all.push(other),
        }
    }
    all
}

/// An address in parts that are counted, but never compared with what a part may be.
fn by_hand(source: &Source, out: &mut Collector) {
    for (at, function) in source.functions.iter().enumerate() {
        let about = names::has(function.name, &["ip", "ipv4", "ipaddr", "ipaddress", "address"])
            && names::has(
                function.name,
                &["valid", "validate", "is", "check", "verify", "validator"],
            );
        if !about {
            continue;
        }
        let mut splits = None;
        let mut bounded = false;
        let mut pattern = false;
        super::tree::walk(function.body, &mut |node| {
            match node {
                Node::Command(command) => {
                    let dots = command.assigned.iter().any(|one| {
                        one.name == "IFS" && matches!(&one.value, super::tree::Value::One(text) if text.constant().as_deref() == Some("."))
                    });
                    let cut = command.is(&["cut", "awk", "tr"])
                        && command.words.iter().any(|word| word.raw.contains('.'));
                    if dots || cut {
                        splits = Some(command.line);
                    }
                    pattern |= command.is(&["grep", "egrep", "ipcalc", "python3", "perl", "ping"]);
                }
                Node::Test(test, _) => {
                    pattern |= test.binaries().iter().any(|(op, ..)| *op == "=~");
                }
                _ => {}
            }
            for text in node.texts() {
                bounded |= text.raw.contains("255") || text.raw.contains("256");
            }
        });
        if let Some(line) = splits
            && !bounded
            && !pattern
            && !source.calls(at).is_empty()
        {
            out.defect(
                "lenient-validation",
                line,
                "parts of an address are not compared with what they may be",
            );
        }
    }
}
