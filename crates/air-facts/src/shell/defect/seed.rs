//! Keys, tokens and passwords are drawn from a generator that anyone can start again.

use super::{
    names,
    source::{Origin, Scope, Source},
    tree::{Command, Node, Piece, Text, Value, walk},
};
use crate::collect::Collector;

const DIGESTS: [&str; 12] = [
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "shasum",
    "openssl",
    "md5",
    "cksum",
    "base64",
];
/// What anyone can find out, or try.
const KNOWN: [&str; 7] = ["date", "hostname", "whoami", "id", "uname", "pwd", "uptime"];
/// Names of what must not be guessed, beside those of secrets.
const DRAWN: [&str; 9] =
    ["key", "keys", "salt", "iv", "session", "cookie", "csrf", "captcha", "seedphrase"];
const WHY: &str = "a secret is made from a seed that can be guessed";

pub(super) fn note(source: &Source, out: &mut Collector) {
    let seeded = source.assigned.iter().any(|(one, scope)| {
        one.name == "RANDOM"
            && matches!(&one.value, Value::One(text) if is_guessed(text, *scope, source))
    });
    for (assigned, scope) in &source.assigned {
        let Value::One(text) = &assigned.value else { continue };
        let kept = is_secret(&assigned.name)
            || scope.is_some() && is_secret(source.name(*scope))
            || shown_as_secret(&assigned.name, *scope, source);
        if kept && (is_made(text, seeded, source, *scope)) {
            out.defect("predictable-seed", assigned.line, WHY);
        }
    }
    for (command, scope) in &source.commands {
        // `make_pin() { …; printf '%04d' $((RANDOM % 10000)); }`, `echo "token: $RANDOM"`.
        let says = command
            .args()
            .iter()
            .any(|arg| names::words(&arg.shown()).iter().any(|word| is_secret(word)));
        let prints = command.is(&["echo", "printf"])
            && (is_secret(source.name(*scope)) || says)
            && command.args().iter().any(|arg| {
                seeded && draws(arg) || arg.runs().any(|nodes| is_weak(nodes, *scope, source))
            });
        let alone = is_secret(source.name(*scope)) && generator(command, *scope, source);
        if prints || alone {
            out.defect("predictable-seed", command.line, WHY);
        }
    }
}

fn is_secret(name: &str) -> bool {
    names::is_secret(name)
        || names::has(name, &DRAWN)
            && !names::has(name, &["public", "pub", "sort", "primary", "foreign", "cache", "hash"])
}

/// Whether a variable is shown as a secret: `token $x`.
fn shown_as_secret(name: &str, scope: Scope, source: &Source) -> bool {
    source.labels(name, scope).any(|word| is_secret(word))
}

/// Whether a word is a constant, a clock, or the number of a process.
fn is_guessed(text: &Text, scope: Scope, source: &Source) -> bool {
    let plain = |text: &str| !text.is_empty() && text.len() < 20;
    text.constant().is_some_and(|text| plain(&text))
        || text.pieces.iter().all(|piece| match piece {
            Piece::Plain(_) | Piece::Quoted(_) => true,
            Piece::Variable(one) => {
                matches!(
                    one.name.as_str(),
                    "$" | "PPID" | "SECONDS" | "EPOCHSECONDS" | "UID" | "BASHPID"
                ) || source
                    .origins(text, scope)
                    .iter()
                    .all(|origin| matches!(origin, Origin::Constant(text) if plain(text)))
            }
            Piece::Run(nodes) => matches!(
                nodes.as_slice(),
                [Node::Command(command)] if command.is(&KNOWN)
            ),
            Piece::Math(text) => {
                text.contains("$$")
                    || text.chars().all(|c| c.is_ascii_digit() || " +*-%".contains(c))
            }
        }) && !text.pieces.is_empty()
}

/// Whether a word takes a number from the shell's generator, also in what it runs.
fn draws(text: &Text) -> bool {
    let mut found = text.names().iter().any(|name| name == "RANDOM");
    for nodes in text.runs() {
        walk(nodes, &mut |node| {
            found |=
                node.texts().iter().any(|text| text.names().iter().any(|name| name == "RANDOM"));
        });
    }
    found
}

fn is_made(text: &Text, seeded: bool, source: &Source, scope: Scope) -> bool {
    seeded && draws(text) || text.runs().any(|nodes| is_weak(nodes, scope, source))
}

/// Whether what runs prints what anyone can compute.
fn is_weak(nodes: &[Node], scope: Scope, source: &Source) -> bool {
    match nodes {
        [Node::Pipe(nodes)] => {
            let digests = nodes.iter().skip(1).any(|node| {
                matches!(node, Node::Command(command) if command.is(&DIGESTS)
                    && !command.has(&["rand", "passwd", "enc", "-hmac"]))
            });
            match nodes.first() {
                Some(Node::Command(first)) if generator(first, scope, source) => true,
                Some(Node::Command(first)) if digests && first.is(&KNOWN) => true,
                Some(Node::Command(first)) if digests && first.is(&["echo", "printf"]) => {
                    let mut args = first.args().iter().filter(|arg| {
                        let arg = arg.shown();
                        !arg.starts_with('-') && arg != "%s" && arg != "%s\\n"
                    });
                    args.clone().count() > 0 && args.all(|arg| is_guessed(arg, scope, source))
                }
                _ => false,
            }
        }
        [Node::Command(command)] => generator(command, scope, source),
        _ => false,
    }
}

/// A generator of another tool that starts with what can be guessed.
fn generator(command: &Command, scope: Scope, source: &Source) -> bool {
    if command.is(&["awk", "gawk", "mawk", "nawk"]) {
        return command.args().iter().any(|arg| {
            let text = arg.shown();
            text.contains("rand()")
                && (text.contains("srand(") || !text.contains("srand"))
                && !text.contains("urandom")
        });
    }
    if command.is(&["perl"]) {
        return command.args().iter().any(|arg| {
            let text = arg.shown();
            text.contains("srand(") && text.contains("rand(")
        });
    }
    if command.is(&["shuf", "sort"]) {
        return command.args().iter().any(|arg| {
            let text = arg.shown();
            let from = text.strip_prefix("--random-source=");
            from.is_some_and(|from| !from.contains("random"))
                && (arg.runs().next().is_some()
                    || !text.contains("/dev/")
                    || text.contains("/dev/zero"))
                && !source
                    .origins(arg, scope)
                    .iter()
                    .any(|origin| matches!(origin, Origin::Outside))
        });
    }
    false
}
