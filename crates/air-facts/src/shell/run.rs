//! What a command runs: itself, the command behind a prefix such as `sudo`, the source behind `-c`.

use super::Word;
use crate::{collect::Collector, python};

/// Commands behind commands are followed this far.
const MAX_PREFIXES: usize = 8;
/// A command in these is the same as by its name alone.
const BIN: [&str; 5] = ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/"];

/// A command that runs the command in its arguments.
struct Prefix {
    name: &'static str,
    /// Short and long options whose value is the next word.
    valued: &'static [&'static str],
    /// Words of its own before the command.
    own: usize,
}

const fn prefix(name: &'static str, valued: &'static [&'static str], own: usize) -> Prefix {
    Prefix { name, valued, own }
}

const PREFIXES: &[Prefix] = &[
    prefix("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-r", "-t", "-U", "--user", "--group"], 0),
    prefix("doas", &["-u", "-C"], 0),
    prefix("env", &["-u", "-C", "--unset", "--chdir"], 0),
    prefix("nohup", &[], 0),
    prefix("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    prefix("xargs", &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s"], 0),
    prefix("command", &[], 0),
    prefix("builtin", &[], 0),
    prefix("exec", &["-a"], 0),
    prefix("nice", &["-n", "--adjustment"], 0),
    prefix("ionice", &["-c", "-n", "-p"], 0),
    prefix("setsid", &[], 0),
    prefix("stdbuf", &["-i", "-o", "-e"], 0),
    prefix("time", &["-f", "-o"], 0),
    prefix("watch", &["-n", "--interval"], 0),
    prefix("busybox", &[], 0),
    prefix("chroot", &[], 1),
    prefix("flock", &["-w", "-E"], 1),
    prefix("strace", &["-e", "-o", "-p", "-s"], 0),
    prefix("unshare", &[], 0),
    prefix("coproc", &[], 0),
];

const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];
/// Commands whose words are paths, however they look.
const ON_FILES: [&str; 16] = [
    "cat", "cp", "head", "less", "ln", "mkdir", "more", "mv", "rm", "rmdir", "scp", "shred",
    "tail", "tee", "touch", "unlink",
];
/// Interpreters whose source is not read.
const FOREIGN: [&str; 7] = ["perl", "ruby", "node", "php", "lua", "tclsh", "osascript"];

/// Adds the command `words` to `out`, and what it runs.
pub(crate) fn command(words: &[Word], at: u32, out: &mut Collector) {
    for word in words {
        out.mention(word.as_written());
    }
    let mut words = words;
    for _ in 0..MAX_PREFIXES {
        let Some((first, args)) = words.split_first() else { return };
        let shown = args.iter().map(|arg| arg.shown().to_owned()).collect();
        let Some(name) = first.text() else {
            out.incomplete_at(at, format!("command name `{}` is computed", first.shown()));
            out.call(first.shown(), shown, at);
            return;
        };
        let name = bare(name);
        out.call(name, shown, at);
        if ON_FILES.contains(&name) {
            let files = args.iter().filter_map(Word::text).filter(|arg| !arg.starts_with('-'));
            files.for_each(|file| out.path(file));
        }
        source(name, args, at, out);
        match behind(name, args, at, out) {
            Some(inner) if !inner.is_empty() => words = inner,
            _ => return,
        }
    }
    out.incomplete_at(at, "too many commands in front of a command");
}

fn bare(name: &str) -> &str {
    let plain = BIN.iter().find_map(|bin| name.strip_prefix(bin));
    plain.filter(|name| !name.is_empty() && !name.contains('/')).unwrap_or(name)
}

/// The command in the arguments of `name`.
fn behind<'w>(name: &str, args: &'w [Word], at: u32, out: &mut Collector) -> Option<&'w [Word]> {
    if name == "find" {
        let runs =
            |word: &Word| matches!(word.text(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
        let start = args.iter().position(runs)? + 1;
        let rest = args.get(start..)?;
        let end = rest.iter().position(|word| matches!(word.text(), Some(";" | "+")));
        let (inner, after) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        if after.iter().any(runs) {
            out.incomplete_at(at, "`find` runs more than one command");
        }
        return Some(inner);
    }
    let prefix = PREFIXES.iter().find(|prefix| prefix.name == name)?;
    let mut rest = args;
    let mut own = prefix.own;
    while let Some((word, after)) = rest.split_first() {
        let written = word.as_written();
        if written == "--" {
            rest = after;
            break;
        } else if name == "env" && (written == "-S" || written.starts_with("--split-string")) {
            out.incomplete_at(at, "`env -S` splits a command");
            return None;
        } else if written.starts_with('-') && written.len() > 1 {
            let skip = usize::from(prefix.valued.contains(&written));
            rest = after.get(skip..)?;
        } else if name == "env" && written.contains('=') {
            rest = after;
        } else if own > 0 {
            own -= 1;
            rest = after;
        } else {
            break;
        }
    }
    // `command -v x` and `sudo -l` run nothing.
    let asks = name == "command"
        && args.first().is_some_and(|arg| matches!(arg.text(), Some("-v" | "-V")));
    (!asks).then_some(rest)
}

/// Reads the source that a command is given, or notes that it runs source that is not here.
fn source(name: &str, args: &[Word], at: u32, out: &mut Collector) {
    let python = name == "python" || name.strip_prefix("python").is_some_and(is_version);
    let first = args.first();
    match name {
        "eval" => {
            let words: Vec<&str> = args.iter().map(Word::as_written).collect();
            if args.iter().any(|arg| arg.text().is_none()) {
                out.incomplete_at(at, "`eval` runs computed code");
            }
            out.nested(at, |out| super::collect(&words.join(" "), out));
        }
        "source" | "." => {
            if let Some(file) = first {
                out.import(file.as_written());
            }
            out.incomplete_at(at, format!("`{name}` runs a file that is not read"));
        }
        "trap" => {
            if let Some(action) = first.filter(|action| !action.as_written().starts_with('-')) {
                code(Language::Shell, name, action, at, out);
            }
        }
        "su" | "script" | "watch" => {
            if let Some(source) = after_option(args, 'c') {
                code(Language::Shell, name, source, at, out);
            }
        }
        _ if SHELLS.contains(&name) => interpreter(Language::Shell, name, args, at, out),
        _ if python => interpreter(Language::Python, name, args, at, out),
        _ if FOREIGN.contains(&name) => {
            out.incomplete_at(at, format!("`{name}` runs code in a language that is not read"));
        }
        _ if name.contains('/') => {
            out.incomplete_at(at, format!("`{name}` is run and not read"));
        }
        _ => {}
    }
}

fn is_version(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Shell,
    Python,
}

fn interpreter(language: Language, name: &str, args: &[Word], at: u32, out: &mut Collector) {
    if let Some(source) = after_option(args, 'c') {
        return code(language, name, source, at, out);
    }
    let asks = args.iter().filter_map(Word::text).any(|arg| matches!(arg, "--version" | "-V"));
    let module = args.iter().any(|arg| arg.text() == Some("-m"));
    if asks {
        return;
    }
    if module && language == Language::Python {
        return out.incomplete_at(at, format!("`{name} -m` runs a module that is not read"));
    }
    let file = args.iter().find(|arg| !arg.as_written().starts_with('-'));
    let what = file.map_or("its input", Word::shown);
    out.incomplete_at(at, format!("`{name}` runs `{what}`, which is not read"));
}

/// The word after `-c`, or after a cluster of short options with a `c` such as `-lc`.
fn after_option(args: &[Word], option: char) -> Option<&Word> {
    let is_option = |arg: &Word| {
        let letters = arg.as_written().strip_prefix('-').unwrap_or_default();
        !letters.starts_with('-') && letters.contains(option)
    };
    let at = args.iter().position(is_option)?;
    // Options may stand between `-c` and the source.
    let rest = args.get(at + 1..)?;
    rest.iter().find(|arg| !arg.as_written().starts_with(['-', '+']))
}

fn code(language: Language, name: &str, source: &Word, at: u32, out: &mut Collector) {
    if source.text().is_none() {
        out.incomplete_at(at, format!("`{name}` runs computed code"));
    }
    out.nested(at, |out| match language {
        Language::Shell => super::collect(source.as_written(), out),
        Language::Python => python::collect(source.as_written(), out),
    });
}
