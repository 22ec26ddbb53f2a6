//! A password is kept as it is, or as a digest that can be guessed or looked up.

use super::{
    names,
    source::{Scope, Source},
    tree::{Command, Node, Piece, RedirectKind, Text, Value, walk},
};
use crate::collect::Collector;

/// Digests that take as good as no time, or are broken.
const BROKEN: [&str; 8] = ["md5sum", "md5", "sha1sum", "sha1", "cksum", "sum", "crc32", "md4"];
const FAST: [&str; 11] = [
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "shasum",
    "sha256",
    "sha512",
    "b3sum",
    "rhash",
    "whirlpool",
];
/// Other ways to write a text, which anyone can turn back.
const WRITES: [&str; 9] =
    ["base64", "base32", "xxd", "od", "rev", "tr", "hexdump", "uuencode", "awk"];
/// What a name says that a value is.
const KEPT: [&str; 11] = [
    "hash",
    "hashed",
    "digest",
    "encrypted",
    "encoded",
    "cipher",
    "ciphertext",
    "crypted",
    "protected",
    "obfuscated",
    "hashword",
];
/// Bytes of a salt from which on it is not tried out.
const ENOUGH: u64 = 8;

pub(super) fn note(source: &Source, out: &mut Collector) {
    source.each_node(|node, scope| match node {
        Node::Pipe(nodes) => pipe(nodes, scope, source, out),
        Node::Command(command) => {
            alone(command, scope, source, out);
            plain(command, scope, source, out);
            shown(command, scope, source, out);
        }
        _ => {}
    });
}

fn found(line: u32, out: &mut Collector) {
    out.defect("guessable-digest", line, "what a password is kept as can be guessed");
}

/// `echo "$password" | sha256sum`.
fn pipe(nodes: &[Node], scope: Scope, source: &Source, out: &mut Collector) {
    let commands: Vec<&Command> = nodes
        .iter()
        .filter_map(|node| match node {
            Node::Command(command) => Some(command),
            _ => None,
        })
        .collect();
    let (Some(first), Some(digest)) =
        (commands.first(), commands.iter().skip(1).find_map(|command| kind(command)))
    else {
        return written(&commands, scope, source, out);
    };
    if !first.is(&["echo", "printf", "cat", "date", "hostname", "whoami", "id"]) {
        return;
    }
    let here =
        first.redirects.iter().filter(|one| one.kind == RedirectKind::Here).map(|one| &one.word);
    let texts: Vec<&Text> = first.args().iter().chain(here).collect();
    if is_secret(&texts, scope, source) && weak(&texts, digest, scope, source) {
        found(first.line, out);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digest {
    Broken,
    Fast,
}

fn kind(command: &Command) -> Option<Digest> {
    let name = command.name()?;
    if BROKEN.contains(&name.as_str()) {
        return Some(Digest::Broken);
    }
    if FAST.contains(&name.as_str()) {
        return Some(Digest::Fast);
    }
    if name == "openssl" {
        let first = command.args().first().and_then(Text::constant)?;
        if matches!(first.as_str(), "md5" | "sha1" | "md4" | "rmd160") {
            return Some(Digest::Broken);
        }
        if first == "dgst" || first.starts_with("sha") {
            let broken = command.has(&["-md5", "-sha1", "-md4"]);
            return Some(if broken { Digest::Broken } else { Digest::Fast });
        }
    }
    None
}

/// `tr a-z n-za-m`: the password can be read out of it again.
fn written(commands: &[&Command], scope: Scope, source: &Source, out: &mut Collector) {
    let Some((first, rest)) = commands.split_first() else { return };
    let turned = rest.iter().any(|command| {
        command.is(&WRITES) && !command.has(&["-d", "--decode", "-D", "-r"])
            || command.is(&["openssl"]) && (command.has(&["base64"]) || command.has(&["-nosalt"]))
    });
    if !turned || !first.is(&["echo", "printf"]) {
        return;
    }
    let texts: Vec<&Text> = first.args().iter().collect();
    // What a name does not say, the way it is written may: nothing else is turned so.
    let odd = is_about(scope, source) && rest.iter().any(|one| one.is(&["od", "hexdump", "rev"]));
    let kept = source.assigned.iter().any(|(assigned, at)| {
        *at == scope
            && assigned.line <= first.line
            && first.line - assigned.line < 4
            && (odd || names::has(&assigned.name, &KEPT))
            && matches!(&assigned.value, Value::One(text) if text.runs().next().is_some())
    });
    if kept && is_secret(&texts, scope, source) {
        found(first.line, out);
    }
}

/// One command: a here-string, a tool for passwords.
fn alone(command: &Command, scope: Scope, source: &Source, out: &mut Collector) {
    let Some(name) = command.name() else { return };
    let here: Vec<&Text> = command
        .redirects
        .iter()
        .filter(|one| one.kind == RedirectKind::Here)
        .map(|one| &one.word)
        .collect();
    if let Some(digest) = kind(command)
        && is_secret(&here, scope, source)
        && weak(&here, digest, scope, source)
    {
        return found(command.line, out);
    }
    let fixed = |flags: &[&str]| {
        let at = command.args().iter().position(|arg| flags.contains(&arg.raw.as_str()));
        at.and_then(|at| command.args().get(at + 1))
            .is_some_and(|salt| !is_random(salt, scope, source))
    };
    let weak = match name.as_str() {
        "openssl" if command.args().first().is_some_and(|arg| arg.raw == "passwd") => {
            command.has(&["-1", "-apr1", "-crypt", "-aixmd5"]) || fixed(&["-salt", "--salt"])
        }
        "mkpasswd" => {
            fixed(&["-S", "--salt"])
                || command.args().iter().filter_map(Text::constant).any(|arg| {
                    matches!(
                        arg.trim_start_matches("--method=").trim_start_matches("-m"),
                        "md5" | "des" | "md5crypt" | "descrypt" | "MD5"
                    )
                })
        }
        "htpasswd" => command.args().iter().filter_map(Text::constant).any(|arg| {
            arg.starts_with('-') && !arg.starts_with("--") && arg.contains(['d', 's', 'p', 'm'])
        }),
        _ => false,
    };
    if weak {
        found(command.line, out);
    }
}

/// A password under the name of a digest.
fn plain(command: &Command, _scope: Scope, _source: &Source, out: &mut Collector) {
    for assigned in &command.assigned {
        let Value::One(text) = &assigned.value else { continue };
        let kept = names::has(&assigned.name, &KEPT);
        let as_is = text.pieces.iter().all(|piece| !matches!(piece, Piece::Run(_)))
            && text.variables().any(|variable| {
                names::is_secret(&variable.name)
                    && !names::has(&variable.name, &KEPT)
                    && variable.prefix.is_none()
            });
        if kept && as_is {
            found(assigned.line, out);
        }
    }
}

fn is_secret(texts: &[&Text], scope: Scope, source: &Source) -> bool {
    let about = is_about(scope, source);
    texts.iter().any(|text| {
        text.variables().any(|variable| {
            variable.prefix.is_none()
                && (names::is_secret(&variable.name)
                    || about && is_parameter(&variable.name, scope, source)
                    || about && names::has(&variable.name, &["input", "data", "salted", "combined", "value", "text", "string", "plain", "plaintext"])
                    || source.assignments(&variable.name, scope).iter().any(|(assigned, _)| {
                        matches!(&assigned.value, Value::One(text) if text.variables().any(|inner| names::is_secret(&inner.name)) && text.runs().next().is_none())
                    }))
        }) || about && text.constant().is_some_and(|text| text.len() > 3 && !text.starts_with('-') && !text.contains('%'))
    })
}

/// Whether a function is about passwords, by its name or by what it says.
fn is_about(scope: Scope, source: &Source) -> bool {
    const SAID: [&str; 6] =
        ["password", "passwords", "passwd", "passphrase", "credential", "credentials"];
    // Who is refused was compared: nothing is kept there.
    let kept = source.says(scope, &["login", "logins"])
        && !source.says(scope, &["failed", "denied", "invalid", "incorrect", "wrong"]);
    names::is_secret(source.name(scope)) || scope.is_some() && (kept || source.says(scope, &SAID))
}

/// Whether a name is a parameter of its function, or a copy of one.
fn is_parameter(name: &str, scope: Scope, source: &Source) -> bool {
    let positional = |name: &str| name.parse::<u8>().is_ok_and(|number| number > 0);
    positional(name)
        || source.assignments(name, scope).iter().any(|(one, at)| {
            *at == scope
                && matches!(&one.value, Value::One(text) if text.only().is_some_and(|inner| positional(&inner.name)))
        })
}

/// `password $copy`: a parameter is shown as the password that is kept.
fn shown(command: &Command, scope: Scope, source: &Source, out: &mut Collector) {
    if !command.is(&["echo", "printf"]) || !is_about(scope, source) {
        return;
    }
    for arg in command.args() {
        for pair in arg.pieces.windows(2) {
            if let [Piece::Quoted(before) | Piece::Plain(before), Piece::Variable(variable)] = pair
                && names::has(
                    before.rsplit(['.', ',']).next().unwrap_or_default(),
                    &["password", "passwd"],
                )
                && before.trim_end().ends_with(|c: char| c.is_alphanumeric() || c == ':')
                && copies(&variable.name, scope, source, 2)
            {
                return found(command.line, out);
            }
        }
    }
}

/// Whether a name is a copy of a copy of a parameter.
fn copies(name: &str, scope: Scope, source: &Source, times: u8) -> bool {
    source.assignments(name, scope).iter().any(|(one, at)| {
        *at == scope
            && matches!(&one.value, Value::One(text) if text.only().is_some_and(|inner| {
                inner.is_plain() && if times > 1 {
                    copies(&inner.name, scope, source, times - 1)
                } else {
                    inner.name.parse::<u8>().is_ok()
                }
            }))
    })
}

/// Whether the digest of `texts` can be guessed.
fn weak(texts: &[&Text], digest: Digest, scope: Scope, source: &Source) -> bool {
    digest == Digest::Broken || !texts.iter().any(|text| is_random(text, scope, source))
}

/// Whether there are enough random bytes in it.
fn is_random(text: &Text, scope: Scope, source: &Source) -> bool {
    let drawn = |text: &Text| {
        text.runs().any(|nodes| {
            let mut random = false;
            walk(nodes, &mut |node| {
                if let Node::Command(command) = node {
                    random |= draws(command);
                }
            });
            random && bytes(&text.raw)
        })
    };
    drawn(text)
        || text.variables().any(|variable| {
            source.assignments(&variable.name, scope).iter().any(|(assigned, at)| {
                match &assigned.value {
                    Value::One(inner) => {
                        drawn(inner)
                            || inner.variables().any(|deeper| {
                                deeper.name != variable.name
                                && source.assignments(&deeper.name, *at).iter().any(|(one, _)| {
                                    matches!(&one.value, Value::One(text) if drawn(text))
                                })
                            })
                    }
                    Value::Many(_) => false,
                }
            })
        })
}

fn draws(command: &Command) -> bool {
    let random = |text: &Text| {
        let shown = text.shown();
        shown.contains("/dev/urandom")
            || shown.contains("/dev/random")
            || shown.contains("random/uuid")
    };
    command.is(&["uuidgen", "pwgen", "apg", "makepasswd"])
        || command.is(&["openssl"]) && command.has(&["rand"])
        || command.is(&["gpg", "gpg2"]) && command.has(&["--gen-random"])
        || command.words.iter().any(random)
        || command.redirects.iter().any(|redirect| random(&redirect.word))
}

/// Whether the numbers in it ask for enough of them; all of them where none is asked for.
fn bytes(raw: &str) -> bool {
    let numbers =
        raw.split(|c: char| !c.is_ascii_digit()).filter_map(|text| text.parse::<u64>().ok());
    let numbers: Vec<u64> = numbers.collect();
    numbers.is_empty() || numbers.iter().any(|number| *number >= ENOUGH)
}
