//! `missing-default`: a choice over values falls through for all others.

use super::{
    Flaw,
    tree::{Id, Tree},
};

/// A shorter chain is no choice.
const FEWEST: usize = 3;

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    for id in 0..tree.len() {
        let why = match tree.kind(id) {
            "match_statement" if falls_through(tree, id) => {
                "the match has no case for all other values"
            }
            "if_statement" if chain(tree, id) => {
                "the function returns nothing for values that no branch names"
            }
            "if_statement" if leaves_unset(tree, id) => {
                "what is used next has no value where no branch names the value"
            }
            "call" if dispatches(tree, id) => {
                "what a table has for a value is called, also where it has nothing"
            }
            _ => continue,
        };
        flaws.push(Flaw::new("missing-default", tree.line(id), why));
    }
}

/// The statement after `id` in its block.
fn next(tree: &Tree, id: Id) -> Option<Id> {
    let after = tree.end(id);
    (tree.parent(after) == tree.parent(id) && after < tree.len()).then_some(after)
}

fn falls_through(tree: &Tree, id: Id) -> bool {
    let cases: Vec<Id> = tree
        .within(id)
        .filter(|at| tree.kind(*at) == "case_clause" && choice_of(tree, *at) == id)
        .collect();
    let mut flags = Vec::new();
    for case in &cases {
        let guard = tree.below(*case).find(|part| tree.kind(*part) == "if_clause");
        let patterns: Vec<Id> =
            tree.below(*case).filter(|part| tree.kind(*part) == "case_pattern").collect();
        let all = |pattern: &Id| {
            let text = tree.text(*pattern);
            let plain =
                !text.contains('.') && text.chars().all(|c| c.is_alphanumeric() || c == '_');
            let first = text.chars().next().unwrap_or('0');
            let last = text.rsplit('|').next().unwrap_or_default().trim();
            (plain && !first.is_ascii_digit() && !matches!(text, "None" | "True" | "False"))
                || last == "_"
                || text.ends_with("as other") && text.starts_with('_')
        };
        if guard.is_none() && patterns.len() == 1 && patterns.iter().all(all) {
            return false;
        }
        // What is told apart by its shape is often known to have one of them.
        let shaped = |pattern: &Id| {
            tree.within(*pattern).any(|at| {
                matches!(tree.kind(at), "class_pattern" | "dict_pattern" | "splat_pattern")
            })
        };
        if patterns.iter().any(shaped) {
            return false;
        }
        flags.extend(patterns.iter().map(|pattern| tree.text(*pattern)));
    }
    let both = flags.contains(&"True") && flags.contains(&"False");
    if cases.is_empty() || both || covers_enumeration(tree, &flags) {
        return false;
    }
    let returns = |case: &Id| tree.within(*case).any(|at| tree.kind(at) == "return_statement");
    if cases.iter().any(returns) && follows(tree, id) {
        return false;
    }
    // Each case gives a name another value than it has: that is the default.
    let given = |case: &Id| {
        tree.within(*case)
            .find(|at| tree.kind(*at) == "assignment")
            .and_then(|at| tree.child(at, "left"))
    };
    let names: Option<Vec<&str>> =
        cases.iter().map(|case| given(case).map(|left| tree.text(left))).collect();
    let before = names.and_then(|names| {
        let first =
            names.first().copied().filter(|first| names.iter().all(|name| name == first))?;
        let values = tree.assigned.get(&(tree.scope(id), first))?;
        values.iter().find(|value| **value < id).copied()
    });
    before.is_none()
}

fn choice_of(tree: &Tree, case: Id) -> Id {
    tree.parents(case).find(|above| tree.kind(*above) == "match_statement").unwrap_or(0)
}

/// Whether something is returned or raised after the choice.
fn follows(tree: &Tree, id: Id) -> bool {
    let mut at = id;
    while let Some(after) = next(tree, at) {
        if matches!(tree.kind(after), "return_statement" | "raise_statement") {
            return true;
        }
        at = after;
    }
    false
}

/// Whether all members of an enumeration of the source have a case.
fn covers_enumeration(tree: &Tree, patterns: &[&str]) -> bool {
    let Some((class, _)) = patterns.first().and_then(|first| first.split_once('.')) else {
        return false;
    };
    if !tree.work(tree.len()) {
        return true;
    }
    let definition = (0..tree.len()).find(|id| {
        tree.kind(*id) == "class_definition"
            && tree.child(*id, "name").is_some_and(|name| tree.text(name) == class)
    });
    let body = definition.and_then(|definition| tree.child(definition, "body"));
    let members = body.map_or(usize::MAX, |body| {
        tree.within(body).filter(|at| tree.kind(*at) == "assignment").count()
    });
    patterns.len() >= members
}

/// Whether each branch of a chain over one value gives the same name its only value, which the next
/// statement uses.
fn leaves_unset(tree: &Tree, id: Id) -> bool {
    let mut branches = vec![id];
    for other in tree.all_below(id).filter(|part| tree.field(*part) == "alternative") {
        if tree.kind(other) == "else_clause" {
            return false;
        }
        branches.push(other);
    }
    if branches.len() < FEWEST || tree.scope(id) == 0 {
        return false;
    }
    let branch = |at: &Id| {
        let test = tree.child(*at, "condition").and_then(|test| subject(tree, test))?;
        let block = tree.child(*at, "consequence")?;
        let mut statements = tree.below(block);
        let given = statements.next().and_then(|statement| tree.below(statement).next())?;
        let left = tree.child(given, "left").filter(|left| tree.kind(*left) == "identifier")?;
        (statements.next().is_none() && tree.kind(given) == "assignment")
            .then(|| (test, tree.text(left)))
    };
    let all: Option<Vec<(&str, &str)>> = branches.iter().map(branch).collect();
    let Some((first, name)) = all.as_ref().and_then(|all| Some((*all.first()?, all.first()?.1)))
    else {
        return false;
    };
    let alike = all.is_some_and(|all| all.iter().all(|one| *one == first));
    let elsewhere = tree
        .assigned
        .get(&(tree.scope(id), name))
        .is_some_and(|values| values.iter().any(|value| *value < id))
        || tree.functions.get(tree.scope(id)).is_some_and(|function| {
            function.parameters.iter().any(|(own, _)| *own == name)
                || tree.within(function.at).any(|at| {
                    matches!(
                        tree.kind(at),
                        "global_statement"
                            | "nonlocal_statement"
                            | "while_statement"
                            | "for_statement"
                    )
                })
        });
    alike
        && !elsewhere
        && next(tree, id).is_some_and(|after| {
            tree.within(after).any(|at| tree.kind(at) == "identifier" && tree.text(at) == name)
        })
}

/// Whether `id` is a chain of branches over one value, each of which returns something, at the end of
/// a function that returns nothing otherwise.
fn chain(tree: &Tree, id: Id) -> bool {
    let Some(body) = Some(tree.parent(id)).filter(|body| tree.kind(*body) == "block") else {
        return false;
    };
    if tree.kind(tree.parent(body)) != "function_definition" || next(tree, id).is_some() {
        return false;
    }
    let mut subjects = Vec::new();
    let mut branch = |at: Id| {
        let test = tree.child(at, "condition");
        let block = tree.child(at, "consequence");
        let last = block.and_then(|block| tree.below(block).last());
        let returns = last.is_some_and(|last| {
            tree.kind(last) == "return_statement" && tree.below(last).next().is_some()
        });
        subjects.push(test.and_then(|test| subject(tree, test)));
        returns
    };
    let mut whole = branch(id);
    for other in tree.all_below(id).filter(|part| tree.field(*part) == "alternative") {
        if tree.kind(other) == "else_clause" {
            return false;
        }
        whole &= branch(other);
    }
    let mut at = id;
    // Branches one by one, each of which returns, are a chain as well.
    loop {
        let before = tree.below(body).take_while(|statement| *statement < at).last();
        let Some(before) = before.filter(|before| tree.kind(*before) == "if_statement") else {
            break;
        };
        if tree.all_below(before).any(|part| tree.field(part) == "alternative") || !branch(before) {
            break;
        }
        at = before;
    }
    let first = subjects.first().copied().flatten();
    whole
        && first.is_some()
        && subjects.len() >= FEWEST
        && subjects.iter().all(|each| *each == first)
}

/// What is compared with a constant.
fn subject<'s>(tree: &Tree<'s, '_>, test: Id) -> Option<&'s str> {
    let parts: Vec<Id> = tree.below(test).collect();
    let constant = |id: &&Id| {
        matches!(
            tree.kind(**id),
            "string" | "integer" | "float" | "list" | "tuple" | "set" | "attribute"
        )
    };
    match (tree.kind(test), parts.as_slice()) {
        ("comparison_operator", all) => {
            let names: Vec<&Id> = all.iter().filter(|id| !constant(id)).collect();
            match names.as_slice() {
                [only] => Some(tree.text(**only)),
                _ => None,
            }
        }
        ("boolean_operator", [first, ..]) => tree.nested(|| subject(tree, *first)).flatten(),
        ("parenthesized_expression", [inner]) => tree.nested(|| subject(tree, *inner)).flatten(),
        _ => None,
    }
}

/// `{"a": f, "b": g}.get(value)()`.
fn dispatches(tree: &Tree, id: Id) -> bool {
    let Some(callee) = tree.child(id, "function") else { return false };
    let got = match tree.kind(callee) {
        "call" => Some(callee),
        "identifier" => match tree.given(tree.scope(callee), tree.text(callee)).as_slice() {
            [only] if tree.kind(*only) == "call" => Some(*only),
            _ => None,
        },
        _ => None,
    };
    let Some(got) = got.filter(|got| tree.arguments(*got).len() == 1) else { return false };
    let object = tree
        .child(got, "function")
        .filter(|get| tree.child(*get, "attribute").is_some_and(|name| tree.text(name) == "get"));
    let table = object.and_then(|get| tree.child(get, "object"));
    let checked = tree.kind(callee) == "identifier" && {
        let name = tree.text(callee);
        let function = tree.functions.get(tree.scope(id)).map_or(0, |function| function.at);
        let tests = tree.within(function).filter(|at| tree.field(*at) == "condition");
        tests.into_iter().any(|test| tree.text(test).contains(name)) || tree.scope(id) == 0
    };
    !checked
        && table.is_some_and(|table| {
            tree.reach_while(table, |at| tree.kind(at) == "identifier")
                .iter()
                .any(|at| tree.kind(*at) == "dictionary" && tree.below(*at).count() >= 2)
        })
}
