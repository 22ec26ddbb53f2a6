//! `privilege-kept`: privileges are raised, and not lowered on every path.

use super::{
    Flaw, names, said,
    tree::{Function, Id, Tree},
};

const RAISES: [&str; 15] = [
    "raise", "raised", "elevate", "escalate", "gain", "acquire", "enable", "obtain", "become",
    "increase", "promote", "assume", "set", "grant", "enter",
];
const LOWERS: [&str; 18] = [
    "lower",
    "lowered",
    "drop",
    "revoke",
    "relinquish",
    "reset",
    "restore",
    "release",
    "disable",
    "reduce",
    "demote",
    "remove",
    "unset",
    "deescalate",
    "de",
    "decrease",
    "leave",
    "exit",
];
const RIGHTS: [&str; 9] = [
    "privilege",
    "priv",
    "root",
    "admin",
    "superuser",
    "sudo",
    "permission",
    "capability",
    "right",
];

/// Words of texts that tell of either.
const RAISED: [&str; 12] = [
    "raised",
    "raising",
    "elevated",
    "elevating",
    "escalated",
    "escalating",
    "gained",
    "gaining",
    "acquired",
    "acquiring",
    "obtained",
    "increased",
];
const LOWERED: [&str; 12] = [
    "lowered",
    "lowering",
    "dropped",
    "dropping",
    "revoked",
    "revoking",
    "relinquished",
    "restored",
    "restoring",
    "released",
    "reduced",
    "reset",
];

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Change {
    Raise,
    Lower,
}

/// What a call does to privileges.
pub(crate) fn change(tree: &Tree, call: Id) -> Option<Change> {
    let callee = tree.callee(call);
    if matches!(
        callee.as_str(),
        "os.seteuid" | "os.setuid" | "os.setreuid" | "os.setresuid" | "os.setegid"
    ) {
        let all = tree.arguments(call);
        let user = all.iter().rev().map(|(_, id)| tree.amount(*id));
        let root = user.into_iter().any(|user| user == Some(0.0));
        return Some(if root { Change::Raise } else { Change::Lower });
    }
    let last = callee.rsplit('.').next().unwrap_or_default();
    named(last).or_else(|| {
        let runs = tree.defined(last);
        runs.into_iter().filter_map(|at| tree.functions.get(at)).find_map(|run| told(tree, run))
    })
}

/// What a function says that it does to privileges.
fn told(tree: &Tree, function: &Function) -> Option<Change> {
    said::announces(tree, function).find_map(|text| {
        let words = names::words(&text);
        let holds = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let rights = ["privilege", "privileges", "superuser", "root", "capabilities"];
        if words.len() > 7 || !holds(&rights) {
            return None;
        }
        match (holds(&RAISED), holds(&LOWERED)) {
            (true, false) => Some(Change::Raise),
            (false, true) => Some(Change::Lower),
            _ => None,
        }
    })
}

pub(crate) fn named(name: &str) -> Option<Change> {
    let words = names::words(name);
    let right = |word: &String| {
        RIGHTS.contains(&word.as_str())
            || word.strip_suffix('s').is_some_and(|word| RIGHTS.contains(&word))
    };
    let first = words.first()?.as_str();
    if words.len() == 1 {
        return match first {
            "elevate" | "escalate" => Some(Change::Raise),
            "relinquish" | "demote" | "deescalate" | "deelevate" | "unelevate" | "lower"
            | "drop" | "restore" => Some(Change::Lower),
            _ => None,
        };
    }
    if !words.iter().any(right) || words.len() < 2 {
        return None;
    }
    if LOWERS.contains(&first) {
        Some(Change::Lower)
    } else if RAISES.contains(&first) && !words.iter().any(|word| LOWERS.contains(&word.as_str())) {
        Some(Change::Raise)
    } else {
        None
    }
}

/// What may hold after a part of the source.
#[derive(Clone, Copy, Default)]
struct State {
    /// It goes on with privileges raised since this line.
    raised: Option<u32>,
    /// It may go on at all.
    ends: bool,
    /// It returns, or an error leaves it, with privileges raised.
    leaves: Option<u32>,
    /// Something in it may fail while they are raised.
    fails: Option<u32>,
}

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let raises = tree.every_call.iter().any(|call| change(tree, *call) == Some(Change::Raise));
    if !raises {
        return;
    }
    let bodies = tree.functions.iter().enumerate().filter(|(_, function)| {
        // What raises them for its caller leaves them raised.
        named(function.name).is_none()
            && told(tree, function).is_none()
            && !matches!(function.name, "__enter__" | "__exit__")
    });
    for (at, function) in bodies {
        let block = if at == 0 { Some(0) } else { tree.child(function.at, "body") };
        let Some(block) = block else { continue };
        let after = run(tree, block, State::default(), 0);
        let passed_over = || after.fails.filter(|_| at != 0 && outlived(tree, function));
        if let Some(line) = after.leaves.or(after.raised).or_else(passed_over) {
            let why = "privileges are raised here, and not lowered on every path";
            flaws.push(Flaw::new("privilege-kept", line, why));
        }
    }
}

/// Whether the program goes on after an error of the function: a call of it is in a `try` that
/// handles the error and does not end.
fn outlived(tree: &Tree, function: &Function) -> bool {
    let calls = tree.calls.get(function.name).map(Vec::as_slice).unwrap_or_default();
    calls.iter().take(16).any(|call| {
        let mut below = *call;
        tree.parents(*call).any(|above| {
            let inside = tree.kind(above) == "try_statement" && tree.field(below) == "body";
            below = above;
            inside
                && tree.below(above).any(|clause| {
                    tree.kind(clause) == "except_clause"
                        && !tree.within(clause).any(|at| {
                            tree.kind(at) == "raise_statement"
                                || tree.kind(at) == "call" && tree.callee(at).ends_with("exit")
                        })
                })
        })
    })
}

fn run(tree: &Tree, block: Id, mut state: State, depth: usize) -> State {
    if depth > 32 {
        return state;
    }
    for statement in tree.below(block) {
        if state.ends {
            break;
        }
        state = step(tree, statement, state, depth);
    }
    state
}

fn both(one: State, other: State) -> State {
    State {
        raised: one.raised.filter(|_| !one.ends).or(other.raised.filter(|_| !other.ends)),
        ends: one.ends && other.ends,
        leaves: one.leaves.or(other.leaves),
        fails: one.fails.or(other.fails),
    }
}

fn step(tree: &Tree, statement: Id, state: State, depth: usize) -> State {
    let branch = |block: Option<Id>, state: State| {
        block.map_or(state, |block| run(tree, block, state, depth + 1))
    };
    match tree.kind(statement) {
        "function_definition" | "class_definition" | "decorated_definition" => state,
        "if_statement" => {
            let start =
                tree.child(statement, "condition").map_or(state, |test| calls(tree, test, state));
            let mut after = branch(tree.child(statement, "consequence"), start);
            let mut whole = false;
            for other in tree.all_below(statement).filter(|part| tree.field(*part) == "alternative")
            {
                whole |= tree.kind(other) == "else_clause";
                let block = tree.child(other, "consequence").or_else(|| tree.child(other, "body"));
                after = both(after, branch(block, start));
            }
            if whole { after } else { both(after, start) }
        }
        "for_statement" | "while_statement" => {
            let body = branch(tree.child(statement, "body"), state);
            both(State { ends: false, ..body }, state)
        }
        "with_statement" => branch(tree.child(statement, "body"), state),
        "match_statement" => tree
            .within(statement)
            .filter(|at| tree.kind(*at) == "case_clause")
            .map(|case| branch(tree.child(case, "consequence"), state))
            .fold(state, both),
        "try_statement" => attempt(tree, statement, state, depth),
        // The next round begins with privileges raised.
        "continue_statement" => {
            State { leaves: state.leaves.or(state.raised), ends: true, raised: None, ..state }
        }
        "return_statement" | "raise_statement" => {
            let mut after = calls(tree, statement, state);
            let fails = tree.kind(statement) == "raise_statement";
            if fails {
                after.fails = after.fails.or(after.raised);
            }
            State { leaves: after.leaves.or(after.raised), ends: true, raised: None, ..after }
        }
        _ => calls(tree, statement, state),
    }
}

fn calls(tree: &Tree, id: Id, mut state: State) -> State {
    for at in std::iter::once(id).chain(tree.within(id)).filter(|at| tree.kind(*at) == "call") {
        match change(tree, at) {
            Some(Change::Raise) => state.raised = Some(tree.line(at)),
            Some(Change::Lower) => state.raised = None,
            // Nothing of it may fail.
            None if matches!(tree.callee(at).as_str(), "print" | "str" | "len") => {}
            None => {
                state.fails = state.fails.or(state.raised);
                let callee = tree.callee(at);
                if matches!(callee.as_str(), "sys.exit" | "exit" | "quit" | "os._exit") {
                    state.leaves = state.leaves.or(state.raised);
                    state.ends = true;
                }
            }
        }
    }
    state
}

fn attempt(tree: &Tree, statement: Id, state: State, depth: usize) -> State {
    let before = State { leaves: None, fails: None, ..state };
    let body =
        tree.child(statement, "body").map_or(before, |block| run(tree, block, before, depth + 1));
    let clause_block = |clause: Id| tree.below(clause).find(|part| tree.kind(*part) == "block");
    let mut normal = body;
    let mut handled = false;
    for clause in tree.below(statement) {
        match tree.kind(clause) {
            "except_clause" | "except_group_clause" => {
                handled = true;
                // It may have failed while they were raised, before the body began too.
                let failed = State {
                    raised: body.fails.or(state.raised),
                    ends: false,
                    leaves: None,
                    fails: None,
                };
                let after = clause_block(clause)
                    .map_or(failed, |block| run(tree, block, failed, depth + 1));
                normal = both(normal, after);
            }
            "else_clause" => {
                let block = tree.child(clause, "body").or_else(|| clause_block(clause));
                normal = block.map_or(normal, |block| run(tree, block, normal, depth + 1));
            }
            _ => {}
        }
    }
    // An error that is raised within is caught.
    if handled && body.leaves.is_some() && body.leaves == body.fails && !returns(tree, statement) {
        let kept = normal.raised;
        normal.leaves = if normal.ends { kept } else { None };
    }
    let last = tree.below(statement).find(|part| tree.kind(*part) == "finally_clause");
    if let Some(block) = last.and_then(clause_block) {
        let probe = State { raised: Some(1), ..State::default() };
        let after = run(tree, block, probe, depth + 1);
        if after.raised.is_none() {
            normal = State { raised: None, leaves: None, fails: None, ..normal };
        }
    }
    State {
        leaves: state.leaves.or(normal.leaves),
        fails: state.fails.or(if handled { None } else { normal.fails }),
        ..normal
    }
}

/// Whether the body of a `try` returns something itself.
fn returns(tree: &Tree, statement: Id) -> bool {
    tree.within(statement).any(|at| tree.kind(at) == "return_statement")
}
