//! A sensitive action runs without the check that its siblings have, or that the program defines.

use super::{
    choice::Selects,
    names, sibling,
    source::{Function, Scope, Source},
    tree::{Node, Value, Variable, walk},
};
use crate::collect::Collector;

/// How the name of a check begins.
pub(super) const CHECKS: [&str; 17] = [
    "is",
    "has",
    "can",
    "check",
    "validate",
    "verify",
    "auth",
    "authorize",
    "authenticate",
    "confirm",
    "ensure",
    "require",
    "may",
    "assert",
    "authorise",
    "must",
    "allow",
];
/// What a check of rights is about.
pub(super) const RIGHTS: [&str; 31] = [
    "admin",
    "administrator",
    "root",
    "superuser",
    "super",
    "user",
    "permission",
    "permissions",
    "permitted",
    "access",
    "privilege",
    "privileges",
    "privileged",
    "role",
    "owner",
    "manager",
    "auth",
    "authorized",
    "authorised",
    "authenticated",
    "allowed",
    "authority",
    "staff",
    "supervisor",
    "officer",
    "rights",
    "login",
    "logged",
    "operator",
    "authorization",
    "clearance",
];
/// Actions that tell only.
pub(super) const TELLS: [&str; 18] = [
    "show", "status", "help", "usage", "version", "list", "view", "print", "get", "log", "display",
    "info", "read", "describe", "die", "error", "warn", "echo",
];
pub(super) const ALWAYS: [&str; 6] = ["help", "usage", "version", "die", "error", "invalid"];

pub(super) const WHY: &str = "an action runs without the check that there is for it";

pub(super) fn note(source: &Source, out: &mut Collector) {
    let asked = conditions(source);
    let checks: Vec<&str> = source
        .functions
        .iter()
        .filter(|one| is_check(one) || asked.iter().any(|name| name == one.name))
        .map(|one| one.name)
        .collect();
    if checks.is_empty() {
        return;
    }
    let about = |name: &&str| {
        let function = source.function(name).and_then(|at| source.functions.get(at));
        function.is_some_and(is_about_rights)
    };
    let called = |name: &str| source.function(name).is_some_and(|at| !source.calls(at).is_empty());
    let rights = checks.iter().any(about);
    let unused = checks.iter().any(|check| !called(check) && about(check));
    source.each_node(|node, scope| {
        let arms = arms(node);
        let Some(selects) = Selects::of(node).filter(|_| arms.len() > 1) else { return };
        if !arms.iter().all(|arm| is_plain(arm, source)) {
            return;
        }
        let judged: Vec<Judged> = arms.iter().map(|arm| judge(arm, source, &checks)).collect();
        if !unused && !judged.iter().any(|arm| arm.checked) {
            return;
        }
        let bare = |arm: &Judged, known: bool| {
            !arm.checked
                && arm.actions.iter().any(|name| {
                    let not = if known { ALWAYS.as_slice() } else { TELLS.as_slice() };
                    !names::has(name, not)
                })
        };
        let found = match chosen(&selects, scope, source) {
            Some(chosen) => chosen.iter().any(|at| {
                let acts = |arm: &Judged| {
                    !arm.checked && arm.says && judged.iter().any(|other| other.checked)
                };
                judged.get(*at).is_some_and(|arm| bare(arm, true) || acts(arm))
            }),
            None => {
                rights
                    && judged.iter().any(|arm| arm.checked)
                    && judged.iter().any(|arm| bare(arm, false))
            }
        };
        if found {
            let line = judged.iter().find(|arm| bare(arm, true)).map_or(0, |arm| arm.line);
            out.defect("unguarded-action", line, WHY);
        }
    });
    straight(source, &checks, out);
}

/// What a function says.
fn said(function: &Function) -> Vec<String> {
    let mut words = Vec::new();
    walk(function.body, &mut |node| {
        if let Node::Command(command) = node
            && command.is(&["echo", "printf"])
        {
            words.extend(command.args().iter().flat_map(|arg| names::words(&arg.shown())));
        }
    });
    words
}

/// Whether a function is a check by its name, or by what it says.
fn is_check(function: &Function) -> bool {
    let named =
        names::words(function.name).first().is_some_and(|first| CHECKS.contains(&first.as_str()));
    named
        || said(function)
            .iter()
            .any(|word| matches!(word.as_str(), "check" | "checking" | "validating" | "verifying"))
            && answers(function)
}

/// Whether a function ends with an answer.
fn answers(function: &Function) -> bool {
    let mut last = false;
    walk(function.body, &mut |node| {
        if let Node::Command(command) = node {
            last = command.is(&["return", "true", "false"]);
        }
    });
    last || sibling::answers(function.body)
}

fn is_about_rights(function: &Function) -> bool {
    names::has(function.name, &RIGHTS)
        || answers(function) && said(function).iter().any(|word| RIGHTS.contains(&word.as_str()))
}

/// The functions that are asked as conditions, in front of what others do.
fn conditions(source: &Source) -> Vec<String> {
    let mut asked = Vec::new();
    let mut ask = |node: &Node| {
        let node = match node {
            Node::Not(inner) => inner,
            other => other,
        };
        if let Node::Command(command) = node
            && let Some(name) = command.name()
            && source
                .function(&name)
                .is_some_and(|at| source.functions.get(at).is_some_and(answers))
        {
            asked.push(name);
        }
    };
    source.each_node(|node, _| match node {
        Node::If { arms, .. } => {
            for (condition, _) in arms {
                if let [only] = condition.as_slice() {
                    ask(only);
                }
            }
        }
        Node::Chain(first, _) => ask(first),
        _ => {}
    });
    asked
}

/// Outside of choices: the program calls what it must not without the check that it has.
fn straight(source: &Source, checks: &[&str], out: &mut Collector) {
    let never: Vec<&&str> = checks
        .iter()
        .filter(|check| {
            let function = source.function(check).and_then(|at| source.functions.get(at));
            function.is_some_and(is_about_rights)
        })
        .filter(|check| source.function(check).is_some_and(|at| source.calls(at).is_empty()))
        .collect();
    if never.is_empty() || source.functions.len() < 2 {
        return;
    }
    let mentioned = |name: &str| {
        source
            .commands
            .iter()
            .any(|(command, _)| command.words.iter().any(|word| word.raw.contains(name)))
    };
    if never.iter().any(|check| mentioned(check)) {
        return;
    }
    let action = source.commands.iter().find(|(command, scope)| {
        scope.is_none()
            && command.name().is_some_and(|name| {
                let called = source.function(&name);
                let leaf = called.and_then(|at| source.functions.get(at)).is_some_and(|function| {
                    let mut leaf = true;
                    walk(function.body, &mut |node| {
                        leaf &= !matches!(node, Node::Case { .. } | Node::If { .. });
                    });
                    leaf
                });
                leaf && !checks.contains(&name.as_str())
                    && !names::has(&name, &TELLS)
                    && name != "main"
            })
    });
    if let Some((command, _)) = action {
        out.defect("unguarded-action", command.line, WHY);
    }
}

/// Whether an arm does nothing but call the program's functions.
fn is_plain(arm: &[&Node], source: &Source) -> bool {
    const BESIDE: [&str; 9] =
        ["echo", "printf", "return", "exit", "shift", "local", "true", "false", ":"];
    let mut plain = true;
    for node in arm {
        walk(std::slice::from_ref(*node), &mut |node| match node {
            Node::Command(command) => {
                plain &= command.words.is_empty()
                    || command.is(&BESIDE)
                    || command.name().is_some_and(|name| source.function(&name).is_some());
            }
            Node::Loop(_) | Node::Pipe(_) => plain = false,
            _ => {}
        });
    }
    plain
}

struct Judged {
    checked: bool,
    actions: Vec<String>,
    /// It tells that it has done something.
    says: bool,
    line: u32,
}

fn arms(node: &Node) -> Vec<Vec<&Node>> {
    match node {
        Node::Case { arms, .. } => arms.iter().map(|arm| arm.body.iter().collect()).collect(),
        Node::If { arms, otherwise, .. } => {
            let mut all: Vec<Vec<&Node>> = arms
                .iter()
                .map(|(condition, body)| condition.iter().chain(body).collect())
                .collect();
            all.extend(otherwise.iter().map(|body| body.iter().collect()));
            all
        }
        _ => Vec::new(),
    }
}

fn judge(arm: &[&Node], source: &Source, checks: &[&str]) -> Judged {
    let mut judged = Judged { checked: false, actions: Vec::new(), says: false, line: 0 };
    for node in arm {
        walk(std::slice::from_ref(*node), &mut |node| {
            let Node::Command(command) = node else { return };
            let Some(name) = command.name() else { return };
            if command.is(&["echo", "printf"]) {
                let not =
                    ["refused", "denied", "unknown", "usage", "invalid", "not", "cannot", "must"];
                let words: Vec<String> =
                    command.args().iter().flat_map(|arg| names::words(&arg.shown())).collect();
                let refused = words.iter().any(|word| not.contains(&word.as_str()));
                judged.says |= !refused && words.iter().any(|word| sibling::acts(word));
                judged.line = command.line;
            }
            if checks.contains(&name.as_str()) {
                judged.checked = true;
            } else if let Some(at) = source.function(&name) {
                judged.line = command.line;
                let mut inner = false;
                if let Some(function) = source.functions.get(at) {
                    walk(function.body, &mut |node| {
                        if let Node::Command(command) = node {
                            inner |=
                                command.name().is_some_and(|name| checks.contains(&name.as_str()));
                        }
                    });
                }
                judged.checked |= inner;
                judged.actions.push(name);
            }
        });
    }
    judged
}

/// The arms that the program's own calls take, where they are known.
fn chosen(selects: &Selects, scope: Scope, source: &Source) -> Option<Vec<usize>> {
    let variable = selects.subject.only()?;
    let number = variable.name.parse::<usize>().ok();
    let number = number.or_else(|| match source.assignments(&variable.name, scope).as_slice() {
        [(assigned, at)] if *at == scope => match &assigned.value {
            Value::One(text) => text.only()?.name.parse().ok(),
            Value::Many(_) => None,
        },
        _ => None,
    });
    let mut values = Vec::new();
    if let (Some(number), Some(at)) = (number, scope) {
        for (call, from) in source.calls(at) {
            values.extend(source.constants(call.words.get(number)?, from)?);
        }
    } else {
        let known = source.constants(&selects.subject, scope);
        values = known.or_else(|| fallback(variable, scope, source))?;
    }
    if values.is_empty() {
        return None;
    }
    Some(values.iter().filter_map(|value| selects.arm(value)).collect())
}

/// `${1:-value}`: what a variable holds where nothing is given.
fn fallback(variable: &Variable, scope: Scope, source: &Source) -> Option<Vec<String>> {
    let given = |variable: &Variable| {
        let text = variable.rest.strip_prefix(":-")?;
        (!text.is_empty() && !text.contains('$')).then(|| vec![text.to_owned()])
    };
    given(variable).or_else(|| match source.assignments(&variable.name, scope).as_slice() {
        [(assigned, _)] => match &assigned.value {
            Value::One(text) => given(text.only()?),
            Value::Many(_) => None,
        },
        _ => None,
    })
}
