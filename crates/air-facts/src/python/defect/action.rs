//! `unguarded-action`, between functions: an action that the program runs lacks the check that its
//! siblings make, ignores the answer of the check, or goes on after the check has failed.

use super::{
    Flaw, names,
    tree::{Function, Id, Tree},
};

/// First words of functions that tell or ensure that something is allowed.
const ASKS: [&str; 24] = [
    "is",
    "has",
    "can",
    "may",
    "check",
    "validate",
    "verify",
    "authenticate",
    "authorize",
    "authorise",
    "confirm",
    "ensure",
    "require",
    "requires",
    "allowed",
    "permitted",
    "assert",
    "must",
    "guard",
    "only",
    "needs",
    "allow",
    "permit",
    "deny",
];
/// Words of functions that check a right, wherever they stand.
const RIGHTS: [&str; 20] = [
    "permission",
    "authorized",
    "authorised",
    "authenticated",
    "allowed",
    "access",
    "admin",
    "privilege",
    "authorization",
    "authorisation",
    "permitted",
    "auth",
    "role",
    "rights",
    "superuser",
    "owner",
    "staff",
    "login",
    "logged",
    "only",
];
/// Words of actions that matter.
const ACTIONS: [&str; 52] = [
    "delete",
    "remove",
    "drop",
    "ban",
    "shutdown",
    "reboot",
    "transfer",
    "withdraw",
    "grant",
    "reset",
    "erase",
    "format",
    "wipe",
    "disable",
    "terminate",
    "fire",
    "hire",
    "approve",
    "deploy",
    "publish",
    "release",
    "refund",
    "pay",
    "unlock",
    "create",
    "update",
    "edit",
    "destroy",
    "purge",
    "export",
    "archive",
    "retract",
    "install",
    "send",
    "execute",
    "cancel",
    "promote",
    "revoke",
    "charge",
    "overwrite",
    "change",
    "modify",
    "upload",
    "rename",
    "launch",
    "issue",
    "stop",
    "restart",
    "kill",
    "uninstall",
    "dispense",
    "prescribe",
];

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    if flaws.iter().any(|flaw| flaw.kind == "unguarded-action") {
        return;
    }
    let checks: Vec<usize> = (1..tree.functions.len())
        .filter(|at| tree.functions.get(*at).is_some_and(|function| is_check(tree, function)))
        .collect();
    if checks.is_empty() || checks.len() > 32 {
        return;
    }
    let found = ignored(tree, &checks)
        .or_else(|| passed_over(tree, &checks))
        .or_else(|| between_siblings(tree, &checks));
    if let Some((at, why)) = found {
        flaws.push(Flaw::new("unguarded-action", tree.line(at), why));
    }
}

fn body<'t>(tree: &'t Tree, function: &Function) -> impl Iterator<Item = Id> + 't {
    let at = function.at;
    tree.within(at)
}

/// A function of the source that tells whether something is allowed, or refuses what is not.
fn is_check(tree: &Tree, function: &Function) -> bool {
    let words = names::words(function.name);
    let first = words.first().map(String::as_str).unwrap_or_default();
    let named = words.len() > 1 && ASKS.contains(&first) || names::says(function.name, &RIGHTS);
    named && !ACTIONS.contains(&first) && (answers(tree, function) || refuses(tree, function))
}

/// Whether it only ever answers yes or no.
fn answers(tree: &Tree, function: &Function) -> bool {
    !function.returns.is_empty()
        && function.returns.iter().all(|value| {
            matches!(
                tree.kind(*value),
                "comparison_operator" | "not_operator" | "boolean_operator" | "true" | "false"
            ) || tree.kind(*value) == "subscript"
                || tree.kind(*value) == "call"
                    && matches!(
                        tree.callee(*value).rsplit('.').next().unwrap_or_default(),
                        "bool" | "any" | "all" | "get" | "startswith" | "endswith"
                    )
        })
}

/// Whether it raises an error, or wraps what it is given.
fn refuses(tree: &Tree, function: &Function) -> bool {
    body(tree, function).any(|at| {
        tree.kind(at) == "raise_statement"
            || tree.kind(at) == "call" && matches!(tree.callee(at).as_str(), "sys.exit" | "exit")
    }) || wraps(tree, function)
}

/// A decorator: what it returns is a function within it that decides.
fn wraps(tree: &Tree, function: &Function) -> bool {
    let inner = |at: Id| {
        tree.kind(at) == "function_definition"
            && tree.within(at).any(|at| tree.kind(at) == "if_statement")
    };
    body(tree, function).any(inner)
}

fn last_name<'s>(tree: &Tree<'s, '_>, call: Id) -> &'s str {
    let callee = tree.child(call, "function").map(|callee| tree.text(callee));
    callee.unwrap_or_default().rsplit('.').next().unwrap_or_default()
}

fn names_of<'s>(tree: &Tree<'s, '_>, checks: &[usize]) -> Vec<&'s str> {
    checks.iter().filter_map(|at| tree.functions.get(*at)).map(|made| made.name).collect()
}

/// A check whose answer nobody looks at.
fn ignored(tree: &Tree, checks: &[usize]) -> Option<(Id, String)> {
    for function in checks.iter().filter_map(|at| tree.functions.get(*at)) {
        let predicate = answers(tree, function) && !refuses(tree, function);
        let plain = body(tree, function)
            .filter(|at| tree.kind(*at) == "call")
            .all(|call| !matches!(last_name(tree, call), "print" | "append" | "write"))
            // What changes something is called for that.
            && body(tree, function).all(|at| tree.kind(at) != "assignment");
        let calls = tree.calls.get(function.name).map(Vec::as_slice).unwrap_or_default();
        let dropped = calls.iter().find(|call| {
            let statement = tree.parent(**call);
            tree.kind(statement) == "expression_statement"
                && tree.scope(**call) != 0
                && tree.end(statement) < tree.len()
                && tree.parent(tree.end(statement)) == tree.parent(statement)
        });
        if let Some(call) = dropped.filter(|_| predicate && plain) {
            let why = format!("the answer of the check `{}` is not looked at", function.name);
            return Some((*call, why));
        }
    }
    None
}

/// `try: check() except: print()`, and the action follows.
fn passed_over(tree: &Tree, checks: &[usize]) -> Option<(Id, String)> {
    let names = names_of(tree, checks);
    for id in (0..tree.len()).filter(|id| tree.kind(*id) == "try_statement") {
        let Some(block) = tree.child(id, "body") else { continue };
        let statements: Vec<Id> = tree.below(block).collect();
        let only = statements.iter().all(|statement| {
            tree.kind(*statement) == "expression_statement"
                && tree.below(*statement).next().is_some_and(|call| {
                    tree.kind(call) == "call" && names.contains(&last_name(tree, call))
                })
        });
        let ends = |at: Id| {
            matches!(
                tree.kind(at),
                "return_statement"
                    | "raise_statement"
                    | "continue_statement"
                    | "break_statement"
                    | "assignment"
            ) || tree.kind(at) == "call" && tree.callee(at).ends_with("exit")
        };
        let mut handlers = tree.below(id).filter(|part| tree.kind(*part) == "except_clause");
        let goes_on = handlers.any(|clause| !tree.within(clause).any(ends));
        let other =
            tree.below(id).any(|part| matches!(tree.kind(part), "else_clause" | "finally_clause"));
        let next = tree.end(id);
        let follows = tree.parent(next) == tree.parent(id) && next < tree.len();
        if only && goes_on && !other && follows && tree.scope(id) != 0 {
            let why = "the program goes on although the check before it has failed".to_owned();
            return Some((next, why));
        }
    }
    None
}

/// An action that the program runs, and that neither asks nor is asked for.
fn between_siblings(tree: &Tree, checks: &[usize]) -> Option<(Id, String)> {
    let names = names_of(tree, checks);
    let guarded: Vec<usize> = (1..tree.functions.len())
        .filter(|at| !checks.contains(at))
        .filter(|at| tree.functions.get(*at).is_some_and(|made| asks(tree, made, &names)))
        .collect();
    for (at, function) in tree.functions.iter().enumerate().skip(1) {
        let words = names::words(function.name);
        let acts = words.first().is_some_and(|first| ACTIONS.contains(&first.as_str()))
            && !function.name.starts_with('_');
        if !acts || checks.contains(&at) || guarded.contains(&at) {
            continue;
        }
        // Its own helpers may ask.
        let helped = body(tree, function)
            .filter(|at| tree.kind(*at) == "call")
            .any(|call| tree.runs(call).iter().any(|run| guarded.contains(run)));
        // A check of a right, or of what the action gets too.
        let about = |check: &Function| {
            names::says(check.name, &RIGHTS)
                || check
                    .parameters
                    .iter()
                    .any(|(name, _)| function.parameters.iter().any(|(own, _)| own == name))
        };
        let fits = checks.iter().filter_map(|at| tree.functions.get(*at)).any(about);
        let alike = fits
            && guarded.iter().filter_map(|at| tree.functions.get(*at)).any(|sibling| {
                sibling.class == function.class
                    && sibling.outer == function.outer
                    && !body(tree, sibling)
                        .any(|at| tree.kind(at) == "call" && last_name(tree, at) == function.name)
            });
        let never_asked = checks.iter().filter_map(|at| tree.functions.get(*at)).find(|check| {
            let shares = |(name, _): &(&str, Option<Id>)| {
                function.parameters.iter().any(|(own, _)| own == name)
            };
            check.class == function.class
                && !tree.calls.contains_key(check.name)
                && !mentioned(tree, check)
                && check.parameters.iter().any(shares)
        });
        let calls = tree.calls.get(function.name).map(Vec::as_slice).unwrap_or_default();
        let runs = calls
            .iter()
            .take(16)
            .find(|call| tree.scope(**call) == 0 && !behind(tree, **call, &names));
        let Some(call) = runs.filter(|_| !helped && (alike || never_asked.is_some())) else {
            continue;
        };
        let why = match never_asked.filter(|_| !alike) {
            Some(check) => format!(
                "`{}` runs without the check `{}` that the source defines",
                function.name, check.name
            ),
            None => format!("`{}` runs without the check that its siblings make", function.name),
        };
        return Some((*call, why));
    }
    None
}

/// Whether a check decides in the function, or as its decorator.
fn asks(tree: &Tree, function: &Function, names: &[&str]) -> bool {
    let above = tree.parent(function.at);
    let decorated = tree.kind(above) == "decorated_definition"
        && tree.below(above).filter(|part| tree.kind(*part) == "decorator").any(|decorator| {
            let text = tree.text(decorator).trim_start_matches('@');
            let text = text.split('(').next().unwrap_or_default();
            names.contains(&text.rsplit('.').next().unwrap_or_default())
        });
    decorated
        || body(tree, function)
            .any(|at| tree.kind(at) == "call" && names.contains(&last_name(tree, at)))
}

/// Whether the check is used in another way than by a call.
fn mentioned(tree: &Tree, check: &Function) -> bool {
    (0..tree.len()).take_while(|_| tree.work(1)).any(|id| {
        tree.kind(id) == "identifier"
            && tree.text(id) == check.name
            && tree.kind(tree.parent(id)) != "function_definition"
    })
}

/// Whether a call of the module comes after a check, or in its branch.
fn behind(tree: &Tree, call: Id, names: &[&str]) -> bool {
    (0..call).take_while(|_| tree.work(1)).any(|at| {
        tree.kind(at) == "call" && tree.scope(at) == 0 && names.contains(&last_name(tree, at))
    })
}
