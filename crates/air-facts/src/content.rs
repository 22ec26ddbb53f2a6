//! What a text that is written to a file is: a program, one in disguise, an alias that shadows a command.

use std::{collections::HashSet, sync::Arc};

use air_core::fact::ContentMarks;
use tree_sitter::Parser;

use crate::decode;

/// Program text, in Python or for a shell.
const PROGRAM: &str = "program";
/// Program text in letters that hide it.
pub(crate) const ENCODED: &str = "encoded-program";
/// A usual command means something else from then on.
pub(crate) const ALIAS: &str = "shadowing-alias";
/// A private key.
const KEY: &str = "key";

/// Longer texts are not parsed.
const LONGEST: usize = 1 << 16;
/// Shorter runs of letters are no code of anything.
const SHORTEST_RUN: usize = 16;
/// So many runs of letters are looked at.
const MOST_RUNS: usize = 16;

/// Marks of what files gain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Marks;

impl ContentMarks for Marks {
    fn marks(&self, path: &str, before: &[u8], now: &[u8]) -> Vec<Arc<str>> {
        let (before, now) = (String::from_utf8_lossy(before), String::from_utf8_lossy(now));
        let gained = match now.strip_prefix(&*before) {
            Some(more) if !before.is_empty() => more.to_owned(),
            _ => {
                let known: HashSet<&str> = before.lines().collect();
                let new: Vec<&str> = now.lines().filter(|line| !known.contains(line)).collect();
                new.join("\n")
            }
        };
        marks(path, &gained).into_iter().map(Arc::from).collect()
    }
}

/// What is notable of `text`, which the file at `path` gains.
pub(crate) fn marks(path: &str, text: &str) -> Vec<&'static str> {
    let mut marks = Vec::new();
    if is_program(text) {
        marks.push(PROGRAM);
    }
    marks.extend(hidden(path, text));
    if text.contains("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
        marks.push(KEY);
    }
    marks
}

/// The marks that are a flaw of the program that writes such a text.
pub(crate) fn hidden(path: &str, text: &str) -> Vec<&'static str> {
    let mut marks = Vec::new();
    if holds_encoded(text) || is_turned(text) {
        marks.push(ENCODED);
    }
    if is_startup(path) && shadows(text) {
        marks.push(ALIAS);
    }
    marks
}

/// Whether a part of `text` is program text in the letters of base 64, base 32 or base 16.
fn holds_encoded(text: &str) -> bool {
    let whole: String = text.split_whitespace().collect();
    let encoded = |letters: &str| {
        let plain = letters.trim_end_matches('=');
        plain.len() >= SHORTEST_RUN
            && plain.len() <= LONGEST
            && [decode::hex, decode::base32, decode::base64].into_iter().any(|decode| {
                decode(letters)
                    .and_then(|bytes| String::from_utf8(bytes).ok())
                    .is_some_and(|text| is_program(&text))
            })
    };
    let letter = |c: char| c.is_ascii_alphanumeric() || "+/=-_".contains(c);
    if whole.chars().all(letter) {
        return encoded(&whole);
    }
    let runs = text.split(|c| !letter(c)).filter(|run| run.len() >= SHORTEST_RUN);
    runs.take(MOST_RUNS).any(encoded)
}

/// Whether `text` reads as a program and does something.
pub(crate) fn is_program(text: &str) -> bool {
    let text = text.trim();
    if text.len() < 4 || text.len() > LONGEST || text.contains('\0') {
        return false;
    }
    text.starts_with("#!") || is_python(text) || is_shell(text)
}

/// Whether `text` is a program beyond doubt: it imports or defines something, or calls what acts.
pub(crate) fn acts(text: &str) -> bool {
    let certain =
        ["import ", "def ", "exec(", "eval(", "open(", "print(", "os.", "__import__", "#!"];
    is_shell(text.trim()) || (certain.iter().any(|part| text.contains(part)) && is_program(text))
}

/// Statements that no other text has.
const STATEMENTS: [&str; 8] = [
    "import_statement",
    "import_from_statement",
    "function_definition",
    "class_definition",
    "call",
    "with_statement",
    "for_statement",
    "while_statement",
];

fn is_python(text: &str) -> bool {
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_python::LANGUAGE.into()).is_err() {
        return false;
    }
    let Some(tree) = parser.parse(text, None) else { return false };
    let root = tree.root_node();
    if root.has_error() {
        return false;
    }
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        if STATEMENTS.contains(&node.kind()) {
            return true;
        }
        stack.extend(node.named_children(&mut node.walk()));
    }
    false
}

/// Commands with which lines of scripts begin.
const COMMANDS: &str = "rm cp mv cat echo curl wget bash sh python python3 perl chmod chown dd mkfs sudo \
    nc ncat tar find ls touch mkdir kill pkill export eval exec source crontab \
    systemctl service useradd apt apt-get pip git ssh scp base64 openssl awk sed \
    grep ps tail head sleep nohup cd whoami";

fn is_shell(text: &str) -> bool {
    let mut lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let command = |line: &str| {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let first = first.rsplit('/').next().unwrap_or_default();
        let marked = |word: &str| {
            word.starts_with(['-', '/', '.', '$', '~', '"', '\'', '|', '>', '&'])
                || word.contains("://")
        };
        COMMANDS.split_whitespace().any(|name| name == first) && words.any(marked)
    };
    text.contains("/dev/tcp/") || lines.next().is_some_and(command)
}

/// Files that a shell reads when it starts, wherever they are.
const STARTUP: [&str; 18] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    "config.fish",
    "bash.bashrc",
    "bashrc",
    "zshrc",
];

pub(crate) fn is_startup(path: &str) -> bool {
    let path = path.trim_matches(['"', '\'']);
    let name = path.rsplit('/').next().unwrap_or_default();
    STARTUP.contains(&name)
        || path == "/etc/profile"
        || path.contains("/etc/profile.d/")
        || path.contains("/fish/conf.d/")
}

/// Commands that everybody uses.
const USUAL: [&str; 82] = [
    "sudo",
    "ls",
    "cd",
    "cp",
    "mv",
    "rm",
    "cat",
    "grep",
    "find",
    "chmod",
    "chown",
    "ssh",
    "su",
    "apt",
    "apt-get",
    "git",
    "python",
    "python3",
    "pip",
    "pip3",
    "ps",
    "kill",
    "top",
    "tar",
    "curl",
    "wget",
    "scp",
    "rsync",
    "mkdir",
    "rmdir",
    "touch",
    "echo",
    "printf",
    "less",
    "more",
    "head",
    "tail",
    "vi",
    "vim",
    "nano",
    "man",
    "which",
    "df",
    "du",
    "mount",
    "umount",
    "passwd",
    "useradd",
    "systemctl",
    "service",
    "docker",
    "kubectl",
    "make",
    "gcc",
    "bash",
    "sh",
    "zsh",
    "exit",
    "clear",
    "history",
    "date",
    "who",
    "whoami",
    "id",
    "ping",
    "ifconfig",
    "ip",
    "netstat",
    "ss",
    "dpkg",
    "yum",
    "dnf",
    "gpg",
    "pwd",
    "zip",
    "unzip",
    "gzip",
    "sort",
    "sed",
    "awk",
    "emacs",
    "ln",
];

/// What people put in place of a command on purpose.
const SUCCESSORS: [(&str, &[&str]); 26] = [
    ("ls", &["exa", "eza", "lsd", "colorls", "gls", "dir"]),
    ("cat", &["bat", "batcat", "ccat"]),
    ("grep", &["rg", "ggrep", "ugrep", "ag"]),
    ("find", &["fd", "fdfind", "gfind"]),
    ("vi", &["vim", "nvim"]),
    ("vim", &["nvim", "vi"]),
    ("python", &["python3"]),
    ("pip", &["pip3", "python", "python3"]),
    ("top", &["htop", "btop", "gtop"]),
    ("du", &["dust", "ncdu"]),
    ("df", &["duf", "pydf"]),
    ("ps", &["procs"]),
    ("less", &["bat", "most", "more"]),
    ("more", &["less"]),
    ("rm", &["trash", "trash-put", "rmtrash", "gio"]),
    ("cd", &["z", "pushd", "__zoxide_z"]),
    ("ping", &["prettyping"]),
    ("make", &["gmake"]),
    ("tar", &["gtar", "bsdtar"]),
    ("docker", &["podman"]),
    ("man", &["tldr"]),
    ("sed", &["gsed"]),
    ("awk", &["gawk"]),
    ("emacs", &["emacsclient"]),
    ("nano", &["vim"]),
    ("sudo", &["doas"]),
];

/// Whether it gives a usual command another meaning, or a name something destructive.
pub(crate) fn shadows(text: &str) -> bool {
    definitions(&apart(text)).any(|(name, body)| {
        destroys(&body) || means_other(&name, &body) || tells_others(&name, &body)
    })
}

/// Aliases and functions, with what they run.
fn definitions(text: &str) -> impl Iterator<Item = (String, String)> {
    let mut found = Vec::new();
    for (at, line) in text.split(['\n']).enumerate() {
        let line = line.trim();
        let plain = line
            .strip_prefix("alias ")
            .map(|rest| rest.trim().trim_start_matches("-g ").trim_start_matches("-- "));
        if let Some(rest) = plain {
            let parts = rest.split_once('=').or_else(|| rest.split_once(' '));
            if let Some((name, body)) = parts {
                let body = body.trim();
                let body = match body.chars().next() {
                    Some(quote @ ('"' | '\'')) => body.trim_matches(quote),
                    _ => body,
                };
                found.push((name.trim().to_owned(), body.to_owned()));
            }
        } else if let Some((name, rest)) = function(line) {
            // To the end of its body, as far as indentation shows that.
            let more = text
                .split('\n')
                .skip(at + 1)
                .take_while(|line| !matches!(line.trim(), "}" | "end"))
                .take(64);
            let whole = if rest.contains('}') {
                rest.to_owned()
            } else {
                std::iter::once(rest).chain(more).collect::<Vec<_>>().join("\n")
            };
            found.push((name.to_owned(), whole.trim().trim_end_matches('}').trim().to_owned()));
        }
    }
    found.into_iter()
}

/// The name of a function that `line` begins to define, and what follows its brace.
fn function(line: &str) -> Option<(&str, &str)> {
    let named = line.strip_prefix("function ");
    let rest = named.unwrap_or(line);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c)));
    let (name, rest) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
    let after = rest.trim_start();
    let after = match after.strip_prefix("()") {
        Some(after) => after.trim_start(),
        None if named.is_some() => after,
        None => return None,
    };
    let body = after.strip_prefix('{').unwrap_or(after);
    (!name.is_empty()).then_some((name, body.trim_start()))
}

fn means_other(name: &str, body: &str) -> bool {
    if !USUAL.contains(&name) {
        return false;
    }
    let mut words =
        body.split_whitespace().map(|word| word.trim_start_matches('\\').trim_end_matches(';'));
    let first = words.find(|word| {
        !matches!(*word, "command" | "builtin" | "env" | "nocorrect" | "noglob" | "time")
            && !word.contains('=')
    });
    let first = first.unwrap_or_default();
    let last = first.rsplit('/').next().unwrap_or_default();
    if last.is_empty() || last == name || last == "sudo" && words.next() == Some(name) {
        return false;
    }
    // A function may do more before it calls the command itself.
    let calls = |by: &str| body.contains(&format!("{by} {name}"));
    let itself = calls("command")
        || calls("builtin")
        || body.contains(&format!("\\{name}"))
        || body.contains(&format!("/bin/{name}"));
    // It tells somebody what is typed, and goes on as if nothing were.
    let sends = ["curl", "wget", "nc", "ncat", "telnet", "socat"].contains(&last);
    if sends {
        return true;
    }
    let known = SUCCESSORS.iter().any(|(old, new)| *old == name && new.contains(&last));
    !itself && !known
}

/// Whether what it runs destroys something of worth.
fn destroys(body: &str) -> bool {
    body.split([';', '&', '|', '\n']).any(|command| {
        let words: Vec<&str> = command
            .split_whitespace()
            .filter(|word| !matches!(*word, "sudo" | "command" | "{"))
            .collect();
        let Some((first, rest)) = words.split_first() else { return false };
        let first = first.trim_start_matches('\\').rsplit('/').next().unwrap_or_default();
        let worth = |word: &&str| {
            let word = word.trim_matches(['"', '\'']);
            word.starts_with(['/', '~', '*']) && !word.starts_with("/tmp/") && word != "/dev/null"
                || word.starts_with("$HOME")
                || word.starts_with("${HOME")
        };
        let flags = |letters: &[char]| {
            rest.iter().any(|word| {
                word.starts_with('-') && !word.starts_with("--") && word.contains(letters)
            })
        };
        match first {
            "rm" => (flags(&['r', 'R']) || rest.contains(&"--recursive")) && rest.iter().any(worth),
            "dd" => rest.iter().any(|word| word.starts_with("of=/")),
            "shred" | "wipefs" => rest.iter().any(worth),
            "find" => rest.contains(&"-delete") && rest.iter().any(worth),
            "chmod" | "chown" => flags(&['R']) && rest.contains(&"/"),
            "mv" => rest.last() == Some(&"/dev/null") && rest.iter().any(worth),
            _ => {
                first.starts_with("mkfs")
                    || command.contains(":(){")
                    || command.contains("> /dev/sd")
                    || command.contains(">/dev/sd")
                    || command.contains("> /etc/passwd")
            }
        }
    })
}

/// `text` with each alias on a line of its own, also behind other commands or as `printf` reads it.
fn apart(text: &str) -> String {
    let text = text.replace("\\n", "\n").replace("\\\"", "\"");
    let mut lines = String::with_capacity(text.len());
    for line in text.split('\n') {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let line = ["; ", ";", "&& ", "{ "]
            .iter()
            .fold(line.to_owned(), |line, end| line.replace(&format!("{end}alias "), "\nalias "));
        lines.push_str(&line);
        lines.push('\n');
    }
    lines
}

/// Whether `text` is a program written backwards, or with letters turned by thirteen.
fn is_turned(text: &str) -> bool {
    let text = text.trim();
    if text.len() > LONGEST || !text.contains(['(', ')', ';']) || is_program(text) {
        return false;
    }
    let program = |text: &str| {
        ["import ", "print(", "open("].iter().any(|word| text.contains(word)) && is_program(text)
    };
    let backwards: String = text.chars().rev().collect();
    program(&backwards) || program(&decode::turned(text))
}

/// Whether a usual command, beside what it does, also speaks to somebody else.
fn tells_others(name: &str, body: &str) -> bool {
    let first = body.split_whitespace().next().unwrap_or_default();
    let speaks = ["curl ", "wget ", "nc ", "/dev/tcp/"].iter().any(|word| body.contains(word));
    USUAL.contains(&name)
        && speaks
        && !matches!(name, "curl" | "wget")
        && (body.contains("; ") || body.contains("&&") || body.contains('|') || first != name)
}
