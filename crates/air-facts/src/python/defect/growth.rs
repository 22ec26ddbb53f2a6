//! `unbounded-growth` and `amplification`: much is made of little, and kept or sent.

use super::{
    Flaw,
    size::OBJECT,
    tree::{Id, Tree},
};

/// More bytes than that are kept for no use.
const MUCH: f64 = 8e6;
/// One value of so many bytes is far beyond need.
const HUGE: f64 = 3e7;
/// So many bytes are made of a few.
const LOUD: f64 = 1000.0;
/// What is kept less often than that was meant to be.
const FEWEST: f64 = 40.0;
/// No datagram holds more.
const DATAGRAM: f64 = 65_507.0;

/// Methods that keep what they are given.
const KEEPS: [&str; 16] = [
    "append",
    "add",
    "extend",
    "insert",
    "appendleft",
    "push",
    "put",
    "setdefault",
    "update",
    "store",
    "set",
    "enqueue",
    "save",
    "cache",
    "register",
    "remember",
];
/// Functions that send what they are given: by name, the place of what is sent.
const SENDS: [(&str, usize, &str); 16] = [
    ("send", 0, "data"),
    ("sendall", 0, "data"),
    ("sendto", 0, "data"),
    ("sendmsg", 0, "data"),
    ("post", 1, "data"),
    ("put", 1, "data"),
    ("patch", 1, "data"),
    ("send_message", 0, "data"),
    ("sendmail", 2, "msg"),
    ("publish", 1, "payload"),
    ("send_bytes", 0, "data"),
    ("urlopen", 1, "data"),
    ("send_string", 0, "data"),
    ("request", 2, "body"),
    ("send_text", 0, "data"),
    ("Request", 1, "data"),
];

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    kept(tree, flaws);
    sent(tree, flaws);
}

/// How often the function runs that `id` is in, by the loops around its calls.
fn outer_loops(tree: &Tree, id: Id) -> f64 {
    let Some(function) = tree.functions.get(tree.scope(id)).filter(|_| tree.scope(id) != 0) else {
        return 1.0;
    };
    let calls = tree.calls.get(function.name).map(Vec::as_slice).unwrap_or_default();
    calls.iter().take(16).map(|call| tree.loops(*call)).fold(1.0, f64::max)
}

/// What is kept in a loop.
fn kept(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let mut total = 0.0;
    let mut line = None;
    for id in 0..tree.len() {
        let value = match tree.kind(id) {
            "call" => keeps(tree, id),
            "assignment" => tree.child(id, "left").and_then(|left| {
                let held = tree.kind(left) == "subscript"
                    || tree.kind(left) == "attribute" && tree.text(left).contains(".next");
                held.then(|| tree.child(id, "right")).flatten()
            }),
            "list_comprehension" | "set_comprehension" | "dictionary_comprehension" => {
                let size = tree.size(id) + tree.length(id).unwrap_or(1.0) * OBJECT;
                if size >= MUCH && size.is_finite() && named(tree, id) {
                    push(tree, id, flaws);
                    return;
                }
                None
            }
            "binary_operator" if named(tree, id) => {
                let large =
                    tree.child(id, "operator").is_some_and(|operator| tree.text(operator) == "*")
                        && tree.amount(id).is_none()
                        && tree.size(id) >= HUGE;
                if large {
                    push(tree, id, flaws);
                    return;
                }
                None
            }
            _ => None,
        };
        let Some(value) = value else { continue };
        let times = loops_kept(tree, id);
        let outside = outer_loops(tree, id);
        if times * outside < FEWEST {
            continue;
        }
        total += times * outside * (tree.size(value) + OBJECT);
        line.get_or_insert(id);
        if total >= MUCH {
            push(tree, id, flaws);
            return;
        }
    }
}

/// Rounds after which what is kept is still there: a list that is made anew in each round is gone.
fn loops_kept(tree: &Tree, id: Id) -> f64 {
    let container = tree
        .child(id, "function")
        .and_then(|callee| tree.child(callee, "object"))
        .or_else(|| tree.child(id, "left").and_then(|left| tree.child(left, "value")));
    let all = tree.loops(id);
    let Some(container) = container.filter(|object| tree.kind(*object) == "identifier") else {
        return all;
    };
    let name = tree.text(container);
    let handed = tree
        .every_call
        .iter()
        .any(|call| tree.arguments(*call).into_iter().any(|(_, value)| tree.text(value) == name));
    let made = tree
        .given(tree.scope(id), name)
        .into_iter()
        .find(|value| tree.kind(tree.parent(*value)) == "assignment" && *value < id);
    match made {
        Some(made) if !handed && tree.scope(made) == tree.scope(id) => {
            all / tree.loops(made).max(1.0)
        }
        _ => all,
    }
}

/// Whether the value is bound to a name: what is used at once is gone.
fn named(tree: &Tree, id: Id) -> bool {
    tree.kind(tree.parent(id)) == "assignment"
}

fn push(tree: &Tree, id: Id, flaws: &mut Vec<Flaw>) {
    let why = "megabytes are kept that nothing needs";
    flaws.push(Flaw::new("unbounded-growth", tree.line(id), why));
}

/// What a call keeps of what it is given.
fn keeps(tree: &Tree, call: Id) -> Option<Id> {
    let callee = tree.child(call, "function")?;
    let largest = || {
        let values = tree.arguments(call).into_iter().map(|(_, value)| value);
        values.max_by(|a, b| tree.size(*a).total_cmp(&tree.size(*b)))
    };
    if tree.kind(callee) == "attribute" {
        let name = tree.child(callee, "attribute").map(|name| tree.text(name))?;
        return KEEPS.contains(&name).then(largest).flatten();
    }
    let keeps = |function: usize| {
        tree.functions.get(function).is_some_and(|function| {
            tree.within(function.at).any(|at| match tree.kind(at) {
                "call" => tree.child(at, "function").is_some_and(|callee| {
                    let name = tree.child(callee, "attribute").map(|name| tree.text(name));
                    name.is_some_and(|name| KEEPS.contains(&name))
                }),
                "assignment" => {
                    tree.child(at, "left").is_some_and(|left| tree.kind(left) == "subscript")
                }
                _ => false,
            })
        })
    };
    let runs = tree.loops(call) >= 2.0 && tree.runs(call).into_iter().any(keeps);
    runs.then(largest).flatten()
}

fn sent(tree: &Tree, flaws: &mut Vec<Flaw>) {
    for call in &tree.every_call {
        let callee = tree.callee(*call);
        let (object, last) = callee.rsplit_once('.').unwrap_or_default();
        let Some((_, place, name)) = SENDS.iter().find(|(name, ..)| *name == last) else {
            continue;
        };
        let payload =
            tree.argument(*call, *place, name).or_else(|| tree.argument(*call, *place, "json"));
        let Some(payload) = payload.filter(|_| !object.is_empty()) else { continue };
        if object.ends_with("Queue()") || !repeats(tree, payload) {
            continue;
        }
        let size = tree.size(payload) * tree.loops(*call);
        let datagram = last == "sendto" || tree.source.contains("SOCK_DGRAM");
        let fits = !datagram || tree.size(payload) <= DATAGRAM;
        if size >= LOUD && fits {
            let why = "a few bytes of input become thousands that are sent";
            flaws.push(Flaw::new("amplification", tree.line(*call), why));
            return;
        }
    }
}

/// Whether something that is not written there is repeated in it very often.
fn repeats(tree: &Tree, payload: Id) -> bool {
    let often = |times: Option<f64>| times.is_some_and(|times| times >= 100.0);
    let data = |id: Id| {
        std::iter::once(id)
            .chain(tree.within(id))
            .any(|at| tree.kind(at) == "identifier" && !tree.imports.contains_key(tree.text(at)))
    };
    tree.reach(payload).into_iter().any(|at| match tree.kind(at) {
        "binary_operator" => {
            let operator = tree.child(at, "operator").map(|operator| tree.text(operator));
            let (Some("*"), Some(left), Some(right)) =
                (operator, tree.child(at, "left"), tree.child(at, "right"))
            else {
                return false;
            };
            often(tree.amount(left)) && data(right) || often(tree.amount(right)) && data(left)
        }
        "generator_expression" | "list_comprehension" => {
            often(tree.length(at)) && tree.child(at, "body").is_some_and(data)
        }
        "call" => {
            let times = tree.argument(at, 1, "times").and_then(|times| tree.amount(times));
            tree.callee(at).ends_with("repeat") && often(times)
        }
        "identifier" => {
            let given = tree.given(tree.scope(at), tree.text(at));
            given.into_iter().any(|value| {
                matches!(tree.kind(tree.parent(value)), "augmented_assignment" | "argument_list")
                    && often(Some(tree.loops(value)))
            })
        }
        _ => false,
    })
}
