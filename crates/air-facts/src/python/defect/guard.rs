//! `unguarded-action`: one of several actions runs without the check that its siblings have, or that
//! the source defines and does not use.

use super::{
    Flaw, names, said,
    tree::{Id, Tree},
};

/// First words of functions that tell whether something is allowed.
const CHECKS: [&str; 20] = [
    "is",
    "has",
    "can",
    "check",
    "validate",
    "verify",
    "auth",
    "authenticate",
    "authorize",
    "authorise",
    "confirm",
    "ensure",
    "require",
    "may",
    "allowed",
    "permitted",
    "assert",
    "must",
    "should",
    "guard",
];

/// Words of functions that check a right, wherever they stand.
const RIGHTS: [&str; 16] = [
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
    "credential",
    "permitted",
    "auth",
    "role",
    "rights",
    "superuser",
];

/// Functions of the source that are checks, by name.
pub(crate) fn guards<'s>(tree: &Tree<'s, '_>) -> Vec<&'s str> {
    let defined = tree.functions.iter().skip(1).filter(|function| {
        let words = names::words(function.name);
        let first = words.first().map(String::as_str).unwrap_or_default();
        let prefix = CHECKS.contains(&first) && words.len() > 1;
        prefix || names::says(function.name, &RIGHTS) || said::checks(tree, function)
    });
    defined.map(|function| function.name).collect()
}

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let guards = guards(tree);
    if guards.is_empty() {
        return;
    }
    for id in 0..tree.len() {
        let branches = match tree.kind(id) {
            "if_statement" => chain(tree, id),
            "match_statement" => cases(tree, id),
            _ => continue,
        };
        if branches.len() < 2 {
            continue;
        }
        judge(tree, &branches, &guards, id, flaws);
    }
    beside(tree, &guards, flaws);
}

/// The blocks of a chain of branches that each compare one value with a constant.
fn chain(tree: &Tree, id: Id) -> Vec<Id> {
    let compares = |at: Id| {
        tree.child(at, "condition").is_some_and(|test| {
            let compared = |at: Id| {
                tree.kind(at) == "comparison_operator"
                    && tree
                        .below(at)
                        .any(|part| matches!(tree.kind(part), "string" | "integer" | "attribute"))
            };
            compared(test)
                || tree.kind(test) == "boolean_operator" && tree.below(test).any(compared)
        })
    };
    if !compares(id) {
        return Vec::new();
    }
    let mut blocks: Vec<Id> = tree.child(id, "consequence").into_iter().collect();
    let others = tree.all_below(id).filter(|part| tree.field(*part) == "alternative");
    let elif = others.filter(|part| tree.kind(*part) == "elif_clause" && compares(*part));
    blocks.extend(elif.filter_map(|part| tree.child(part, "consequence")));
    // `if` after `if` over the same value.
    if blocks.len() == 1 {
        let mut at = id;
        while tree.kind(tree.end(at)) == "if_statement"
            && tree.parent(tree.end(at)) == tree.parent(id)
        {
            at = tree.end(at);
            if !compares(at) {
                break;
            }
            blocks.extend(tree.child(at, "consequence"));
        }
    }
    blocks
}

fn cases(tree: &Tree, id: Id) -> Vec<Id> {
    let cases = tree.within(id).filter(|at| {
        let own =
            tree.parents(*at).find(|above| tree.kind(*above) == "match_statement") == Some(id);
        own && tree.kind(*at) == "case_clause"
    });
    cases.filter_map(|case| tree.child(case, "consequence")).collect()
}

/// Whether one of the guards is called in or around `id`, up to `top`.
fn guarded(tree: &Tree, id: Id, top: Id, guards: &[&str]) -> bool {
    let calls = |at: Id| {
        std::iter::once(at).chain(tree.within(at)).any(|at| {
            tree.kind(at) == "call"
                && tree.child(at, "function").is_some_and(|callee| {
                    guards.contains(&tree.text(callee).rsplit('.').next().unwrap_or_default())
                })
        })
    };
    tree.parents(id).take_while(|above| *above > top).any(|above| {
        ["condition", "guard"].iter().filter_map(|field| tree.child(above, field)).any(calls)
            || tree.kind(above) == "boolean_operator" && calls(above)
            || tree.kind(above) == "conditional_expression" && calls(above)
    })
}

fn judge(tree: &Tree, blocks: &[Id], guards: &[&str], top: Id, flaws: &mut Vec<Flaw>) {
    let own = |call: Id| {
        let name = tree.child(call, "function").map(|callee| tree.text(callee)).unwrap_or_default();
        let last = name.rsplit('.').next().unwrap_or_default();
        (tree.by_name.contains_key(last) && !guards.contains(&last)).then_some(last)
    };
    let mut open = Vec::new();
    let mut checked = 0;
    for block in blocks {
        let calls: Vec<(Id, &str)> = tree
            .within(*block)
            .filter(|at| tree.kind(*at) == "call")
            .filter_map(|at| own(at).map(|name| (at, name)))
            .collect();
        let before = tree.within(*block).any(|at| {
            tree.kind(at) == "call"
                && tree.child(at, "function").is_some_and(|callee| {
                    guards.contains(&tree.text(callee).rsplit('.').next().unwrap_or_default())
                })
        });
        let asked = tree.child(tree.parent(*block), "condition").is_some_and(|test| {
            tree.within(test).any(|at| {
                tree.kind(at) == "call"
                    && tree.child(at, "function").is_some_and(|callee| {
                        guards.contains(&tree.text(callee).rsplit('.').next().unwrap_or_default())
                    })
            })
        });
        if before || asked {
            checked += 1;
        } else {
            let call = calls.into_iter().find(|(call, _)| !guarded(tree, *call, top, guards));
            open.extend(call);
        }
    }
    let Some((call, name)) = open.first() else { return };
    // The whole choice may be behind a check.
    let function = tree.functions.get(tree.scope(top));
    let above = guarded(tree, top, 0, guards)
        || function.is_some_and(|function| {
            tree.within(function.at).take_while(|at| *at < top).any(|at| {
                tree.kind(at) == "call"
                    && tree.child(at, "function").is_some_and(|callee| {
                        guards.contains(&tree.text(callee).rsplit('.').next().unwrap_or_default())
                    })
            })
        })
        || function.is_some_and(|function| decorated(tree, function.at, guards));
    if above {
        return;
    }
    if checked > 0 {
        let why = format!("`{name}` runs without the check that others of the same choice have");
        flaws.push(Flaw::new("unguarded-action", tree.line(*call), why));
    } else if let Some(guard) = unused(tree, guards) {
        let why = format!("`{name}` runs without the check `{guard}` that the source defines");
        flaws.push(Flaw::new("unguarded-action", tree.line(*call), why));
    }
}

fn decorated(tree: &Tree, function: Id, guards: &[&str]) -> bool {
    let above = tree.parent(function);
    tree.kind(above) == "decorated_definition"
        && tree.below(above).any(|part| {
            tree.kind(part) == "decorator"
                && guards.iter().any(|guard| tree.text(part).contains(guard))
        })
}

/// A check of the source that a program defines and nothing uses.
fn unused<'s>(tree: &Tree<'s, '_>, guards: &[&'s str]) -> Option<&'s str> {
    // Of a library, others may use it.
    let runs =
        tree.every_call.iter().any(|call| tree.scope(*call) == 0 && !tree.runs(*call).is_empty());
    let used = |name: &str| {
        !tree.work(tree.len())
            || (0..tree.len()).any(|id| {
                tree.kind(id) == "identifier"
                    && tree.text(id) == name
                    && tree.kind(tree.parent(id)) != "function_definition"
            })
    };
    // What takes something to look at may be a check of anything.
    let plain = |name: &str| {
        names::says(name, &RIGHTS)
            || tree
                .defined(name)
                .into_iter()
                .filter_map(|at| tree.functions.get(at))
                .all(|function| function.parameters.is_empty() && function.class.is_none())
    };
    guards.iter().copied().find(|name| runs && plain(name) && !used(name) && says_right(tree, name))
}

fn says_right(tree: &Tree, name: &str) -> bool {
    let told = |at: usize| tree.functions.get(at).is_some_and(|made| said::checks(tree, made));
    if tree.defined(name).into_iter().any(told) {
        return true;
    }
    let words = names::words(name);
    let first = words.first().map(String::as_str).unwrap_or_default();
    words.len() > 1 && CHECKS.contains(&first) || names::says(name, &RIGHTS)
}

/// Actions outside of a choice: `if allowed(): a()` and then `b()`, of which the source names both
/// alike, or an action that is called although nothing calls the check for it.
fn beside(tree: &Tree, guards: &[&str], flaws: &mut Vec<Flaw>) {
    if flaws.iter().any(|flaw| flaw.kind == "unguarded-action") {
        return;
    }
    let Some(guard) = unused(tree, guards).filter(|name| names::says(name, &RIGHTS)) else {
        return;
    };
    let dangerous = |name: &str| {
        names::says(
            name,
            &[
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
            ],
        )
    };
    let call = tree.every_call.iter().find(|call| {
        tree.child(**call, "function").is_some_and(|callee| {
            let name = tree.text(callee).rsplit('.').next().unwrap_or_default();
            tree.by_name.contains_key(name) && !guards.contains(&name) && dangerous(name)
        })
    });
    if let Some(call) = call {
        let why = format!("an action runs without the check `{guard}` that the source defines");
        flaws.push(Flaw::new("unguarded-action", tree.line(*call), why));
    }
}
