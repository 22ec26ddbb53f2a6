//! Small changes of an expression, to see whether a test notices.

use std::{collections::HashSet, ops::Range};

use super::{Tree, TreeNode as Node, tree};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// What is done.
    pub(crate) what: &'static str,
    /// The bytes that are replaced.
    pub(crate) span: Range<usize>,
    /// By what.
    pub(crate) by: String,
}

/// The changes of an expression. None of them, and no two, come to the same expression; whether they
/// compile is not looked at.
pub(crate) fn changes(source: &str) -> Vec<Change> {
    let Ok(tree) = tree(source) else { return Vec::new() };
    let mut all = Vec::new();
    for truth in ["true", "false"] {
        let what = if truth == "true" { "always true" } else { "always false" };
        all.push(Change { what, span: 0..source.len(), by: truth.to_owned() });
    }
    visit(source, &tree, true, &mut all);
    let mut seen = HashSet::from([tree.canonical()]);
    all.retain(|change| {
        let changed = apply(source, change);
        super::tree(&changed).is_ok_and(|tree| seen.insert(tree.canonical()))
    });
    all
}

/// The expression with a change.
pub(crate) fn apply(source: &str, change: &Change) -> String {
    let before = source.get(..change.span.start).unwrap_or_default();
    let after = source.get(change.span.end..).unwrap_or_default();
    format!("{before}{}{after}", change.by)
}

fn visit(source: &str, tree: &Tree, whole: bool, all: &mut Vec<Change>) {
    let text = |part: &Tree| source.get(part.span.clone()).unwrap_or_default();
    let mut add = |what, by: String| all.push(Change { what, span: tree.span.clone(), by });
    // A chain keeps its place among its neighbours.
    let kept = |by: String| if whole { by } else { format!("({by})") };
    match &tree.node {
        Node::Operator { operator: "&&", operands } => {
            let mut add = |what, by| add(what, kept(by));
            chain(" && ", " || ", operands, &text, &mut add, ["drop a conjunct", "`&&` to `||`"]);
        }
        Node::Operator { operator: "||", operands } => {
            let mut add = |what, by| add(what, kept(by));
            chain(" || ", " && ", operands, &text, &mut add, ["drop a disjunct", "`||` to `&&`"]);
        }
        Node::Operator { operator: "!", operands } => {
            if let [operand] = operands.as_slice() {
                add("drop a negation", bracketed(operand, &text, false));
            }
        }
        Node::Operator { operator, operands } => {
            if let (Some((other, what)), [left, right]) = (opposite(operator), operands.as_slice())
            {
                let [left, right] = [left, right].map(|part| bracketed(part, &text, true));
                add(what, format!("{left} {other} {right}"));
            }
        }
        Node::Call { function, target: Some(target), arguments } => {
            match (function.as_str(), arguments.as_slice()) {
                ("exists" | "all", [variable, body]) => {
                    let (list, variable, body) = (text(target), text(variable), text(body));
                    add("negate what is asked of each", {
                        format!("{list}.{function}({variable}, !({body}))")
                    });
                    let (other, what) = match function.as_str() {
                        "exists" => ("all", "`exists` to `all`"),
                        _ => ("exists", "`all` to `exists`"),
                    };
                    add(what, format!("{list}.{other}({variable}, {body})"));
                }
                ("contains" | "startsWith" | "endsWith" | "matches", _) => {
                    add("negate a test", format!("!{}", text(tree)));
                }
                _ => {}
            }
        }
        Node::Call { function, target: None, .. }
            if matches!(function.as_str(), "has" | "glob" | "under") =>
        {
            add("negate a test", format!("!{}", text(tree)));
        }
        Node::Literal { value } => {
            let by = match value {
                serde_json::Value::String(text) => {
                    serde_json::Value::String(format!("{text}~")).to_string()
                }
                serde_json::Value::Number(number) => match number.as_i64() {
                    Some(number) => number.wrapping_add(1).to_string(),
                    None => "0.5".to_owned(),
                },
                serde_json::Value::Bool(truth) => (!truth).to_string(),
                _ => return,
            };
            all.push(Change { what: "another value", span: tree.span.clone(), by });
        }
        _ => {}
    }
    for part in tree.parts() {
        visit(source, part, false, all);
    }
}

fn chain<'t>(
    joint: &str,
    other: &str,
    operands: &'t [Tree],
    text: &impl Fn(&'t Tree) -> &'t str,
    add: &mut impl FnMut(&'static str, String),
    [dropped, turned]: [&'static str; 2],
) {
    let texts: Vec<String> =
        operands.iter().map(|operand| bracketed(operand, text, false)).collect();
    for at in 0..texts.len() {
        let rest = texts.iter().enumerate().filter(|(other, _)| *other != at);
        let rest: Vec<&str> = rest.map(|(_, text)| text.as_str()).collect();
        add(dropped, rest.join(joint));
    }
    for at in 1..texts.len() {
        let (before, after) = texts.split_at(at);
        let side = |side: &[String]| match side {
            [one] => one.clone(),
            more => format!("({})", more.join(joint)),
        };
        add(turned, format!("{}{other}{}", side(before), side(after)));
    }
}

/// A part, in brackets where an operator beside it could take it apart; `tight`: one that binds
/// as comparisons do.
fn bracketed<'t>(part: &'t Tree, text: &impl Fn(&'t Tree) -> &'t str, tight: bool) -> String {
    match part.node {
        Node::Operator { operator, .. } if tight && !matches!(operator, "[" | "!") => {
            format!("({})", text(part))
        }
        Node::Operator { operator: "&&" | "||" | "?", .. } => format!("({})", text(part)),
        _ => text(part).to_owned(),
    }
}

fn opposite(operator: &str) -> Option<(&'static str, &'static str)> {
    Some(match operator {
        "==" => ("!=", "`==` to `!=`"),
        "!=" => ("==", "`!=` to `==`"),
        "<" => ("<=", "`<` to `<=`"),
        "<=" => ("<", "`<=` to `<`"),
        ">" => (">=", "`>` to `>=`"),
        ">=" => (">", "`>=` to `>`"),
        _ => return None,
    })
}
