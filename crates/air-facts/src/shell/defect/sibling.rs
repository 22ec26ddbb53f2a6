//! Checks whose answer is not used, and actions that their siblings' check passes over.

use super::{
    guard::{ALWAYS, CHECKS, RIGHTS, TELLS, WHY},
    names,
    source::{Function, Scope, Source},
    tree::{Command, Node, Test, walk},
};
use crate::collect::Collector;

/// Verbs of what changes or takes something, as they begin.
const ACTS: [&str; 58] = [
    "delet",
    "remov",
    "purg",
    "drop",
    "destroy",
    "reset",
    "wip",
    "eras",
    "transfer",
    "refund",
    "shutdown",
    "reboot",
    "grant",
    "revok",
    "promot",
    "format",
    "kill",
    "terminat",
    "stop",
    "deploy",
    "publish",
    "pay",
    "withdr",
    "cancel",
    "ban",
    "chang",
    "set",
    "updat",
    "renam",
    "edit",
    "modif",
    "overwrit",
    "install",
    "uninstall",
    "disabl",
    "enabl",
    "unlock",
    "lock",
    "approv",
    "reject",
    "creat",
    "add",
    "assign",
    "clos",
    "open",
    "archiv",
    "restart",
    "rotat",
    "export",
    "send",
    "transmit",
    "upload",
    "launch",
    "execut",
    "releas",
    "clear",
    "truncat",
    "down",
];

/// Whether a word is such a verb.
pub(super) fn acts(text: &str) -> bool {
    names::words(text).iter().any(|word| {
        ACTS.iter().any(|verb| {
            let rest = word.strip_prefix(verb);
            rest.is_some_and(|rest| {
                matches!(
                    rest,
                    "" | "e"
                        | "ed"
                        | "es"
                        | "s"
                        | "ing"
                        | "ped"
                        | "ping"
                        | "red"
                        | "ring"
                        | "led"
                        | "ling"
                        | "t"
                        | "awn"
                        | "aw"
                        | "y"
                        | "ied"
                        | "ted"
                        | "ning"
                        | "ned"
                        | "id"
                )
            })
        })
    })
}

/// The checks of a program: functions that answer, by their name or by what they are about.
fn checks<'n>(source: &Source<'n>) -> Vec<&'n str> {
    let is = |function: &&Function| {
        let words = names::words(function.name);
        words.first().is_some_and(|first| CHECKS.contains(&first.as_str()) || first == "valid")
            && answers(function.body)
    };
    source.functions.iter().filter(is).map(|one| one.name).collect()
}

/// Whether the status of a body is an answer.
pub(super) fn answers(body: &[Node]) -> bool {
    match body.last() {
        Some(Node::Test(..) | Node::Math(..)) => true,
        Some(Node::Not(inner)) => answers(std::slice::from_ref(inner)),
        Some(Node::Chain(first, rest)) => {
            let fails = |node: &Node| {
                let mut fails = false;
                walk(std::slice::from_ref(node), &mut |node| {
                    fails |= matches!(node, Node::Command(command)
                        if command.is(&["return", "exit", "false"]));
                });
                fails
            };
            answers(std::slice::from_ref(first.as_ref()))
                && rest.iter().all(|(_, node)| answers(std::slice::from_ref(node)) || fails(node))
        }
        Some(Node::Group(nodes, _)) => answers(nodes),
        Some(Node::If { arms, .. }) => arms.iter().any(|(_, body)| answers(body)),
        Some(Node::Command(command)) => {
            command.is(&["return", "true", "false", "test", "["])
                || command.is(&["grep", "cmp", "diff"]) && quiet(command)
        }
        Some(Node::Pipe(nodes)) => {
            nodes.last().is_some_and(|last| answers(std::slice::from_ref(last)))
        }
        _ => false,
    }
}

fn quiet(command: &Command) -> bool {
    command.args().iter().any(|arg| {
        let arg = arg.shown();
        arg.starts_with('-') && !arg.starts_with("--") && (arg.contains('q') || arg.contains('s'))
    })
}

/// Whether a body does nothing but answer.
fn is_question(body: &[Node]) -> bool {
    let mut only = true;
    walk(body, &mut |node| {
        only &= match node {
            Node::Command(command) => {
                command.assigned.is_empty()
                    && (command.is(&["return", "true", "false"])
                        || command.is(&["grep", "cmp", "diff"]) && quiet(command))
                    || command.is(&["local"])
            }
            _ => true,
        };
    });
    only && answers(body)
}

pub(super) fn note(source: &Source, out: &mut Collector) {
    let checks = checks(source);
    if checks.is_empty() {
        return;
    }
    unused_answer(source, &checks, out);
    passed_over(source, &checks, out);
}

/// A question is asked as a statement, and the program goes on whatever the answer is.
fn unused_answer(source: &Source, checks: &[&str], out: &mut Collector) {
    let strict = source.commands.iter().any(|(command, _)| {
        command.is(&["set", "trap"])
            && command.args().iter().any(|arg| {
                let arg = arg.shown();
                arg == "errexit" || arg == "ERR" || arg.starts_with('-') && arg.contains('e')
            })
    });
    let mentions = |text: &str| text.contains("$?");
    let looked = source.commands.iter().any(|(command, _)| {
        command.words.iter().any(|word| mentions(&word.raw))
            || command.assigned.iter().any(|one| match &one.value {
                super::tree::Value::One(text) => mentions(&text.raw),
                super::tree::Value::Many(_) => false,
            })
    });
    let mut tested = false;
    source.each_node(|node, _| {
        tested |= match node {
            Node::Test(test, _) => uses_status(test),
            Node::Math(text, _) => mentions(&text.raw),
            Node::Case { word, .. } => mentions(&word.raw),
            _ => false,
        };
    });
    if strict || looked || tested {
        return;
    }
    let mut blocks: Vec<&[Node]> = source.functions.iter().map(|one| one.body).collect();
    source.each_node(|node, _| {
        if let Node::If { arms, otherwise, .. } = node {
            blocks.extend(arms.iter().map(|(_, body)| body.as_slice()));
            blocks.extend(otherwise.as_deref());
        }
        if let Node::Group(nodes, _) = node {
            blocks.push(nodes);
        }
    });
    for block in blocks {
        for pair in block.windows(2) {
            if let [Node::Command(command), next] = pair
                && let Some(name) = command.name()
                && checks.contains(&name.as_str())
                && source
                    .function(&name)
                    .and_then(|at| source.functions.get(at))
                    .is_some_and(|function| is_question(function.body))
                && !matches!(next, Node::Command(next) if next.is(&["return", "exit"]))
            {
                out.defect("unguarded-action", command.line, WHY);
            }
        }
    }
}

fn uses_status(test: &Test) -> bool {
    test.texts().iter().any(|text| text.raw.contains("$?"))
}

/// What a function calls before anything else that it does.
fn begins<'c>(function: &Function, checks: &[&'c str]) -> Option<&'c str> {
    let mut found = None;
    walk(function.body, &mut |node| {
        if let Node::Command(command) = node
            && let Some(name) = command.name()
            && found.is_none()
        {
            found = checks.iter().find(|check| **check == name).copied();
        }
    });
    found
}

/// Two functions or more ask the same check; another that acts, and is called, does not.
fn passed_over(source: &Source, checks: &[&str], out: &mut Collector) {
    for check in checks {
        let function = source.function(check).and_then(|at| source.functions.get(at));
        let Some(function) = function.filter(|one| !one.body.is_empty()) else { continue };
        let mut rights = names::has(function.name, &RIGHTS)
            || names::has(function.name, &["token", "session", "signed", "password", "confirm"]);
        walk(function.body, &mut |node| {
            for text in node.texts() {
                rights |=
                    names::words(&text.shown()).iter().any(|word| RIGHTS.contains(&word.as_str()));
                rights |= text.names().iter().any(|name| names::has(name, &RIGHTS));
            }
        });
        let siblings: Vec<&Function> = source
            .functions
            .iter()
            .filter(|one| one.name != *check && begins(one, checks) == Some(check))
            .collect();
        let asked = source.function(check).map(|at| source.calls(at)).unwrap_or_default();
        let within = |scope: Scope| siblings.iter().any(|one| one.name == source.name(scope));
        // Asked elsewhere too, it may stand before a call.
        let elsewhere = asked.iter().any(|(_, scope)| !within(*scope));
        if !rights || siblings.len() < 2 || elsewhere {
            continue;
        }
        for (command, scope) in &source.commands {
            let Some(name) = command.name() else { continue };
            let Some(at) = source.function(&name) else { continue };
            let Some(called) = source.functions.get(at) else { continue };
            let first = names::words(called.name);
            let first = first.first().map_or("", String::as_str);
            if scope.is_none()
                && acts(first)
                && !TELLS.contains(&first)
                && !names::has(called.name, &ALWAYS)
                && begins(called, checks).is_none()
                && !answers(called.body)
            {
                out.defect("unguarded-action", command.line, WHY);
            }
        }
    }
}
