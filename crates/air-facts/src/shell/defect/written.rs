//! What is wrong with what a program writes into a file: start files, hidden programs.

use std::ops::ControlFlow;

use super::{
    source::{Origin, Scope, Source},
    tree::{Command, Node, RedirectKind, Text},
};
use crate::{collect::Collector, decode, shell::parse, syntax};

/// Longer texts are not looked at.
const MAX_TEXT: usize = 1 << 14;
/// Shorter ones hide nothing.
const MIN_TEXT: usize = 8;

const START_FILES: [&str; 19] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_aliases",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    "config.fish",
    "bash.bashrc",
    "bashrc",
    "zshrc",
    "/etc/profile",
];
/// Commands that people type without a second thought.
const USUAL: [&str; 63] = [
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
    "apt-get",
    "apt",
    "pwd",
    "echo",
    "mkdir",
    "rmdir",
    "touch",
    "ps",
    "kill",
    "top",
    "df",
    "du",
    "tar",
    "zip",
    "unzip",
    "gzip",
    "man",
    "less",
    "more",
    "head",
    "tail",
    "sort",
    "sed",
    "awk",
    "vi",
    "vim",
    "nano",
    "emacs",
    "git",
    "curl",
    "wget",
    "scp",
    "rsync",
    "ping",
    "ifconfig",
    "ip",
    "mount",
    "umount",
    "exit",
    "clear",
    "history",
    "which",
    "whoami",
    "passwd",
    "systemctl",
    "service",
    "python",
    "python3",
    "ln",
    "date",
];
/// Commands that stand for others, and do the same.
const SAME: [(&str, &str); 36] = [
    ("vi", "vim"),
    ("vi", "nvim"),
    ("vim", "nvim"),
    ("vim", "vi"),
    ("ls", "exa"),
    ("ls", "eza"),
    ("ls", "lsd"),
    ("cat", "bat"),
    ("cat", "batcat"),
    ("grep", "egrep"),
    ("grep", "rg"),
    ("python", "python3"),
    ("rm", "trash"),
    ("rm", "trash-put"),
    ("rm", "gio"),
    ("top", "htop"),
    ("top", "btop"),
    ("more", "less"),
    ("less", "more"),
    ("find", "fd"),
    ("find", "fdfind"),
    ("du", "ncdu"),
    ("df", "pydf"),
    ("df", "duf"),
    ("cd", "z"),
    ("cd", "pushd"),
    ("apt-get", "apt"),
    ("ping", "prettyping"),
    ("man", "tldr"),
    ("ps", "procs"),
    ("sed", "gsed"),
    ("awk", "gawk"),
    ("tar", "gtar"),
    ("emacs", "emacsclient"),
    ("nano", "vim"),
    ("sudo", "doas"),
];

pub(super) fn note(source: &Source, out: &mut Collector) {
    source.each_node(|node, scope| match node {
        Node::Command(command) => {
            let target = command.redirects.iter().filter(|one| one.kind == RedirectKind::Out);
            if target.map(|one| &one.word).any(|word| is_start(word, scope, source)) {
                start(command, scope, source, out);
            }
            let edited = command.is(&["sed", "gsed", "ed", "ex", "perl"])
                && command.args().iter().any(|arg| is_start(arg, scope, source));
            if edited {
                let scripts = command.args().iter().map(Text::shown);
                for script in scripts {
                    let at = script.find("alias ").and_then(|at| script.get(at..));
                    if at.is_some_and(shadows) {
                        shadowed(command.line, out);
                    }
                }
            }
        }
        Node::Pipe(nodes) => {
            let Some((Node::Command(last), before)) = nodes.split_last() else { return };
            let into =
                last.is(&["tee"]) && last.args().iter().any(|arg| is_start(arg, scope, source));
            for node in before {
                if let Node::Command(command) = node
                    && into
                {
                    start(command, scope, source, out);
                }
            }
            packed(nodes, scope, source, out);
        }
        Node::Group(nodes, redirects) => {
            let into = redirects
                .iter()
                .any(|one| one.kind == RedirectKind::Out && is_start(&one.word, scope, source));
            for node in nodes {
                if let Node::Command(command) = node
                    && into
                {
                    start(command, scope, source, out);
                }
            }
        }
        _ => {}
    });
}

/// Notes what is wrong with `text`, which is written to `file` whatever else is there.
pub(in crate::shell) fn text(file: &str, text: &str, line: u32, out: &mut Collector) {
    if is_start_file(file) && shadows(text) {
        shadowed(line, out);
    }
    if hides_program(text) {
        encoded(line, out);
    }
}

fn shadowed(line: u32, out: &mut Collector) {
    out.defect("shadowing-alias", line, "a start file gives a usual command another meaning");
}

fn encoded(line: u32, out: &mut Collector) {
    out.defect("encoded-program", line, "a program is written to a file in a form that hides it");
}

fn is_start_file(path: &str) -> bool {
    let path = path.trim_matches(['"', '\'']);
    path.contains("/etc/profile.d/")
        || START_FILES.iter().any(|name| {
            path.strip_suffix(name).is_some_and(|before| {
                before.is_empty() || before.ends_with('/') || name.starts_with('/')
            })
        })
}

fn is_start(word: &Text, scope: Scope, source: &Source) -> bool {
    is_start_file(&word.raw)
        || is_start_file(&word.shown())
        || word.only().is_some()
            && source.assignments(word.only().map_or("", |one| one.name.as_str()), scope).iter().any(|(one, _)| {
                matches!(&one.value, super::tree::Value::One(text) if is_start_file(&text.raw) || is_start_file(&text.shown()))
            })
        || source.origins(word, scope).iter().any(|origin| matches!(origin, Origin::Constant(text) if is_start_file(text)))
}

/// What a command prints into a start file.
fn start(command: &Command, scope: Scope, source: &Source, out: &mut Collector) {
    if !command.is(&["echo", "printf", "cat", "tee"]) {
        return;
    }
    let here =
        command.redirects.iter().filter(|one| one.kind == RedirectKind::Here).map(|one| &one.word);
    for word in command.args().iter().chain(here) {
        let values = source.origins(word, scope);
        let known =
            values.iter().any(|value| matches!(value, Origin::Constant(text) if shadows(text)));
        if known || shadows(&word.shown()) {
            return shadowed(command.line, out);
        }
    }
    // `printf 'alias %s=%s' ls …`
    let line: String = command.args().iter().map(Text::shown).collect::<Vec<_>>().join(" ");
    if command.is(&["printf"]) && line.contains("alias %s=") {
        let mut values = command.args().iter().skip(1).map(Text::shown);
        if let (Some(name), Some(value)) = (values.next(), values.next())
            && shadows(&format!("alias {name}='{value}'"))
        {
            shadowed(command.line, out);
        }
    }
}

/// Whether the text of a start file gives a usual command another meaning.
pub(in crate::shell) fn shadows(text: &str) -> bool {
    let text = text.replace("\\n", "\n").replace("\\\"", "\"");
    for at in text.match_indices("alias ").map(|(at, _)| at) {
        let before = text.get(..at).unwrap_or_default();
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
            || before.ends_with("un")
        {
            continue;
        }
        if before.rsplit('\n').next().is_some_and(|line| line.trim_start().starts_with('#')) {
            continue;
        }
        let rest = text
            .get(at + 6..)
            .unwrap_or_default()
            .trim_start_matches("-g ")
            .trim_start_matches("-- ")
            .trim_start();
        let Some((name, value)) = rest.split_once('=') else { continue };
        let name = name.trim_matches(['"', '\'', ' ']);
        let value = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value.get(1..).unwrap_or_default().split(quote).next(),
            _ => value.split(['\n', ';', '&', ' ']).next(),
        };
        if is_other(name, value.unwrap_or_default()) {
            return true;
        }
    }
    functions(&text)
}

fn functions(text: &str) -> bool {
    for line in text.match_indices(['(', '{']).map(|(at, _)| at) {
        let (before, after) = text.split_at_checked(line).unwrap_or_default();
        let before = before.trim_end();
        let name = before.rsplit([' ', '\n', ';', '\t']).next().unwrap_or_default();
        let head = before.get(..before.len() - name.len()).unwrap_or_default().trim_end();
        let defines =
            after.starts_with("()") || after.starts_with('{') && head.ends_with("function");
        if !defines || !USUAL.contains(&name) {
            continue;
        }
        let body = after.split("\n}").next().unwrap_or_default();
        let kept = ["command ", "builtin ", "\\", "/bin/", "/usr/bin/"];
        let calls = kept.iter().any(|before| body.contains(&format!("{before}{name}")));
        if !calls || is_destructive(body) {
            return true;
        }
    }
    false
}

/// Whether `name` means something else with `value`.
fn is_other(name: &str, value: &str) -> bool {
    if is_destructive(value) {
        return true;
    }
    if !USUAL.contains(&name) {
        return false;
    }
    let mut words = value.split_whitespace().skip_while(|word| {
        matches!(*word, "command" | "builtin" | "nocorrect" | "noglob" | "env" | "time" | "exec")
            || word.contains('=')
    });
    let mut first = words.next().unwrap_or_default();
    if first == "sudo" && name != "sudo" {
        first = words.next().unwrap_or_default();
    }
    let first = first.trim_start_matches('\\').rsplit('/').next().unwrap_or_default();
    let first = first.trim_end_matches(';');
    let more = value.contains("; ") || value.contains("&&") || value.contains('|');
    let sends = ["curl", "wget", "nc ", "/dev/tcp", "rm -"].iter().any(|word| value.contains(word));
    if first == name || SAME.contains(&(name, first)) || first.starts_with('$') {
        return more && sends && name != "curl" && name != "wget";
    }
    !first.is_empty()
}

fn is_destructive(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let forced =
        words.iter().position(|word| word.rsplit('/').next() == Some("rm")).is_some_and(|at| {
            let flags: String =
                words.iter().skip(at + 1).filter(|word| word.starts_with('-')).copied().collect();
            (flags.contains('r') || flags.contains('R')) && flags.contains('f')
        });
    forced
        || value.contains("mkfs")
        || value.contains(":(){")
        || words.iter().any(|word| word.starts_with("of=/dev/"))
        || value.contains("> /dev/sd")
        || value.contains(">/dev/sd")
        || words.contains(&"shred")
        || value.contains("chmod -R 000")
        || value.contains("-delete")
}

/// `echo program | gzip > file`: what such commands print cannot be read back here.
fn packed(nodes: &[Node], scope: Scope, source: &Source, out: &mut Collector) {
    const PACKS: [&str; 12] = [
        "gzip", "bzip2", "xz", "zstd", "lzma", "compress", "uuencode", "gpg", "openssl", "od",
        "hexdump", "base64",
    ];
    let [Node::Command(first), .., Node::Command(last)] = nodes else { return };
    let into = last
        .redirects
        .iter()
        .any(|one| one.kind == RedirectKind::Out && !one.word.raw.starts_with("/dev/"))
        || last.is(&["tee"]);
    let packs = nodes.iter().skip(1).any(|node| {
        matches!(node, Node::Command(command) if command.is(&PACKS)
            && !command.has(&["-d", "-D", "--decode", "--decompress", "-dc", "-cd", "dgst", "passwd"]))
    });
    if !into || !packs || !first.is(&["echo", "printf", "cat"]) {
        return;
    }
    let here =
        first.redirects.iter().filter(|one| one.kind == RedirectKind::Here).map(|one| &one.word);
    for word in first.args().iter().chain(here) {
        for value in source.origins(word, scope) {
            if matches!(&value, Origin::Constant(text) if is_program(text)) {
                return encoded(last.line, out);
            }
        }
    }
}

/// Whether `text` is a program in other letters.
fn hides_program(text: &str) -> bool {
    let text = text.trim();
    if !(MIN_TEXT..MAX_TEXT).contains(&text.len()) {
        return false;
    }
    let letters = text.bytes().all(|c| c.is_ascii_alphanumeric() || b"+/=-_ \n\r".contains(&c));
    if letters && !text.contains(' ') {
        let readings = [decode::base64(text), decode::hex(text), decode::base32(text)];
        let texts =
            readings.into_iter().flatten().filter_map(|bytes| String::from_utf8(bytes).ok());
        if texts.into_iter().any(|text| is_program(&text)) {
            return true;
        }
    }
    if text.contains("\\x") || !text.contains(['(', ')', ';']) || is_program(text) {
        return false;
    }
    let backwards: String = text.chars().rev().collect();
    let turned: String = text.chars().map(turned).collect();
    imports(&backwards) || imports(&turned)
}

/// Thirteen letters further.
fn turned(c: char) -> char {
    let by = |start: u8| u8::try_from(c).map_or(c, |c| char::from((c - start + 13) % 26 + start));
    match c {
        'a'..='z' => by(b'a'),
        'A'..='Z' => by(b'A'),
        _ => c,
    }
}

fn imports(text: &str) -> bool {
    (text.contains("import ") || text.contains("print(") || text.contains("open("))
        && is_program(text)
}

/// Whether `text` is a program of Python or of the shell.
fn is_program(text: &str) -> bool {
    const COMMANDS: [&str; 22] = [
        "rm", "curl", "wget", "bash", "sh", "nc", "chmod", "sudo", "cat", "ls", "cp", "mv", "dd",
        "mkdir", "touch", "kill", "python3", "python", "useradd", "export", "cd", "find",
    ];
    let text = text.trim();
    if !(MIN_TEXT..MAX_TEXT).contains(&text.len()) || text.contains('\0') {
        return false;
    }
    let first = text.split_whitespace().next().unwrap_or_default();
    let command =
        COMMANDS.contains(&first) && text.contains(' ') && text.contains(['/', '-', '|', ';', '$']);
    if text.starts_with("#!") || command && parse::parsed(text).is_ok() {
        return true;
    }
    let around = air_core::port::Alone;
    let mut aside = Collector::new("", &around);
    let Some(tree) = syntax::parse(&tree_sitter_python::LANGUAGE.into(), text, &mut aside) else {
        return false;
    };
    let mut does = false;
    syntax::walk(tree.root_node(), &mut aside, |node, _, _| {
        does |= matches!(
            node.kind(),
            "import_statement"
                | "import_from_statement"
                | "function_definition"
                | "class_definition"
                | "call"
                | "with_statement"
                | "for_statement"
                | "while_statement"
        );
        if does { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    does && !tree.root_node().has_error()
}
