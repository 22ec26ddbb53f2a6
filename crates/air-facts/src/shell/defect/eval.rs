//! Text that somebody else gives is evaluated as code.

use super::{
    names,
    source::{Origin, Scope, Source},
    tree::{Command, Node, Piece, RedirectKind, Text, Variable},
};
use crate::{collect::Collector, shell::parse};

pub(super) const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash"];
const OTHERS: [&str; 9] =
    ["python", "python3", "python2", "perl", "ruby", "node", "php", "lua", "awk"];
/// Names of what a user types to be run.
const TYPED: [&str; 7] = ["cmd", "command", "code", "line", "script", "snippet", "commands"];
/// Commands that run the command behind them.
const PREFIXES: [&str; 13] = [
    "command", "builtin", "exec", "env", "sudo", "nohup", "nice", "time", "timeout", "setsid",
    "doas", "stdbuf", "busybox",
];
/// Names of what a user gives.
const GIVEN: [&str; 15] = [
    "input",
    "user",
    "expr",
    "expression",
    "formula",
    "calculation",
    "payload",
    "query",
    "request",
    "untrusted",
    "equation",
    "answer",
    "userinput",
    "given",
    "supplied",
];

pub(super) fn note(source: &Source, out: &mut Collector) {
    for (command, scope) in &source.commands {
        let foreign = OTHERS.contains(&name(bare(command)).as_str());
        if evaluated(command).iter().any(|text| is_data(text, *scope, source, foreign)) {
            out.defect("eval-of-data", command.line, "text that is given is evaluated as code");
        }
    }
    source.each_node(|node, scope| {
        let Node::Pipe(nodes) = node else { return };
        let [before @ .., Node::Command(last)] = nodes.as_slice() else { return };
        if !takes_code(last) {
            return;
        }
        let [Node::Command(first)] = before else { return };
        let foreign = OTHERS.contains(&name(bare(last)).as_str());
        if first.is(&["echo", "printf", "cat"])
            && printed(first).iter().any(|text| is_data(text, scope, source, foreign))
        {
            out.defect("eval-of-data", last.line, "text that is given is evaluated as code");
        }
    });
}

/// What a command prints.
fn printed(command: &Command) -> Vec<&Text> {
    let here = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Here);
    command.args().iter().chain(here.map(|redirect| &redirect.word)).collect()
}

/// The command without what runs it.
fn bare(command: &Command) -> &[Text] {
    let mut words = command.words.as_slice();
    while let Some((first, rest)) = words.split_first() {
        let Some(name) = first.constant() else { break };
        let name = name.rsplit('/').next().unwrap_or_default();
        let option = name.starts_with('-') || name.contains('=') || name.parse::<f32>().is_ok();
        let behind = option && words.len() < command.words.len();
        if !behind && !PREFIXES.contains(&name) {
            break;
        }
        words = rest;
    }
    words
}

fn name(words: &[Text]) -> String {
    let name = words.first().and_then(Text::constant).unwrap_or_default();
    name.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Whether a command takes its input as code.
fn takes_code(command: &Command) -> bool {
    let words = bare(command);
    let name = name(words);
    let rest = words.get(1..).unwrap_or_default();
    if SHELLS.contains(&name.as_str()) || OTHERS.iter().take(5).any(|other| *other == name) {
        return rest
            .iter()
            .all(|word| matches!(word.raw.as_str(), "-" | "-s" | "-e" | "/dev/stdin"));
    }
    match name.as_str() {
        "xargs" | "parallel" => rest.iter().any(|word| {
            let word = word.constant().unwrap_or_default();
            SHELLS.contains(&word.as_str()) || word == "eval"
        }),
        "source" | "." => rest.iter().any(|word| word.raw == "/dev/stdin"),
        "at" | "batch" => true,
        _ => false,
    }
}

/// The texts that a command evaluates.
fn evaluated(command: &Command) -> Vec<&Text> {
    let words = bare(command);
    let name = name(words);
    let args = words.get(1..).unwrap_or_default();
    let here = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Here);
    let here = here.map(|redirect| &redirect.word);
    let mut texts: Vec<&Text> = Vec::new();
    match name.as_str() {
        "eval" => {
            match args {
                [only] => texts.push(only),
                // Words of a command, with data as data.
                [first, ..] if matches!(first.raw.as_str(), "set" | "unset" | "export") => {}
                args => texts.extend(args.iter().filter(|arg| !arg.raw.starts_with('\''))),
            }
        }
        name if SHELLS.contains(&name) => match code(args, 'c') {
            Some(code) => texts.push(code),
            None if takes_code(command) => texts.extend(here),
            None => texts.extend(args.iter().filter(|arg| arg.runs().next().is_some()).take(1)),
        },
        "su" | "script" | "runuser" => texts.extend(code(args, 'c')),
        "source" | "." => {
            if takes_code(command) {
                texts.extend(here);
            } else {
                texts.extend(args.iter().filter(|arg| arg.raw.starts_with('<')).take(1));
            }
        }
        "python" | "python3" | "python2" => {
            let code = code(args, 'c').into_iter();
            texts.extend(code.filter(|code| {
                let shown = code.shown();
                code.only().is_some()
                    || shown.contains("eval(")
                    || shown.trim() == "print()"
                    || shown.contains("exec(")
                    || shown.contains("system(")
            }));
        }
        "perl" | "ruby" | "node" | "php" | "lua" => {
            let flag = if name == "php" { 'r' } else { 'e' };
            let code = code(args, flag).into_iter();
            texts.extend(code.filter(|code| {
                let shown = code.shown();
                code.only().is_some()
                    || shown.contains("eval")
                    || shown.contains("system")
                    || matches!(
                        shown.trim().trim_end_matches(';').trim(),
                        "print" | "print()" | "puts" | "console.log()"
                    )
            }));
        }
        "awk" | "gawk" | "mawk" => {
            let runs = args.iter().any(|arg| {
                let shown = arg.shown();
                shown.contains("system(")
                    || shown.contains("| getline")
                    || shown.contains("|getline")
            });
            if runs {
                texts.extend(args);
            }
        }
        "" => {
            // A command that is nothing but what was given.
            if let [only] = command.words.as_slice()
                && only.only().is_some_and(|variable| variable.is_plain() && !variable.quoted)
            {
                texts.push(only);
            }
        }
        _ => {}
    }
    texts
}

/// What follows the option with `flag` last in it.
pub(super) fn code(args: &[Text], flag: char) -> Option<&Text> {
    let at = args.iter().position(|arg| {
        arg.raw.starts_with('-') && !arg.raw.starts_with("--") && arg.raw.ends_with(flag)
    })?;
    args.get(at + 1)
}

/// Whether `text` holds what somebody else gave.
fn is_data(text: &Text, scope: Scope, source: &Source, foreign: bool) -> bool {
    for (at, piece) in text.pieces.iter().enumerate() {
        let beside = |at: Option<usize>| {
            at.and_then(|at| text.pieces.get(at)).and_then(|piece| match piece {
                Piece::Plain(text) | Piece::Quoted(text) => Some(text.as_str()),
                _ => None,
            })
        };
        match piece {
            Piece::Variable(variable) => {
                let before = beside(at.checked_sub(1)).unwrap_or_default();
                let after = beside(Some(at + 1)).unwrap_or_default();
                // `eval "$name=…"`, `eval "x=\$$name"`: another name for a variable.
                let names = before.ends_with(['$', '_'])
                    || before.ends_with("${")
                    || before.ends_with("${#")
                    || after.starts_with(['=', '_', '[', '+']);
                let alone = text.only().is_some();
                if !names
                    && (scope.is_some() || alone)
                    && given(variable, scope, source, foreign, 0)
                {
                    return true;
                }
            }
            Piece::Run(nodes) => {
                if let [Node::Command(command)] = nodes.as_slice()
                    && command.is(&["echo", "printf"])
                    && command.args().iter().any(|text| is_data(text, scope, source, foreign))
                {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Whether a variable holds what the caller or the user gave.
fn given(variable: &Variable, scope: Scope, source: &Source, foreign: bool, depth: usize) -> bool {
    if depth > 4 || variable.prefix.is_some() {
        return false;
    }
    let positional = variable.name.parse::<usize>().is_ok_and(|n| n > 0)
        || matches!(variable.name.as_str(), "@" | "*");
    if positional {
        return is_code(variable, scope, source, foreign);
    }
    let typed = names::has(&variable.name, &GIVEN) || names::has(&variable.name, &TYPED);
    if source.read.iter().any(|(name, at)| *name == variable.name && *at == scope) {
        return typed;
    }
    let assigned = source.assignments(&variable.name, scope);
    let named = names::has(&variable.name, &GIVEN);
    assigned.iter().any(|(assigned, at)| match &assigned.value {
        super::tree::Value::One(text) => {
            let whole = at.is_some() || typed && text.only().is_some();
            let from = whole
                && text.variables().any(|inner| {
                    inner.name != variable.name && given(inner, *at, source, foreign, depth + 1)
                });
            let constant = text.constant().filter(|text| named && !text.is_empty());
            from || constant.is_some_and(|text| reads_as_code(&text, foreign))
        }
        super::tree::Value::Many(_) => false,
    })
}

/// Whether what callers give, where that is known, is code at all.
fn is_code(variable: &Variable, scope: Scope, source: &Source, foreign: bool) -> bool {
    let plain = Variable { rest: String::new(), ..variable.clone() };
    let text = Text { raw: String::new(), pieces: vec![Piece::Variable(plain)] };
    source.origins(&text, scope).iter().any(|origin| match origin {
        Origin::Constant(text) => reads_as_code(text, foreign),
        Origin::Outside | Origin::Output => true,
        Origin::Unknown => false,
    })
}

/// Whether `text` is shell, or an expression of another language.
fn reads_as_code(text: &str, foreign: bool) -> bool {
    !text.trim().is_empty() && (foreign || parse::parsed(text).is_ok())
}
