//! Cedar policies.

use std::fmt::Write as _;

use air_core::{
    fact::Type,
    guardrail::Guardrail,
    rule::{Hit, Trigger},
};

use super::{Candidate, Export, candidate, comment, scope::Scope};
use crate::expr::{Tree, TreeNode as Node};

const HEADER: &str = "\
// Guardrails of AIR. `context` holds the facts under the names that conditions have: `context.tool`,
// `context.args`, `context.code` and so on; lists are sets. A decision is AIR's where every fact that
// the condition names is present and whole: Cedar skips a policy that fails, AIR's would be
// undetermined. These policies only forbid: what may be done at all is for other ones to permit.
";

/// Translates guardrails that block to `forbid` policies.
pub fn cedar(guardrails: &[Guardrail]) -> Export {
    let mut export = Export { text: HEADER.to_owned(), left_out: Vec::new() };
    for guardrail in guardrails {
        match candidate(guardrail).and_then(|found| policy(guardrail, &found)) {
            Ok(text) => {
                let _ = write!(export.text, "\n{text}");
            }
            Err(why) => {
                let lost =
                    format!("left out: {} version {}: {why}", guardrail.id, guardrail.version);
                let _ = write!(export.text, "\n{}", comment("//", &lost));
                export.left_out.push((guardrail.id.to_string(), why));
            }
        }
    }
    export
}

fn policy(guardrail: &Guardrail, found: &Candidate) -> Result<String, String> {
    match found.hit {
        Hit::Block => {}
        Hit::Ask | Hit::Warn => return Err("only `block` has a counterpart".to_owned()),
    }
    let (trigger, condition) =
        (trigger(&found.rule.trigger), test(&found.condition, &Scope::default())?);
    let about = format!("{} version {}: {}", guardrail.id, guardrail.version, found.rule.check);
    Ok(format!(
        "{}@id({})\nforbid (principal, action, resource)\nwhen {{ {trigger} }}\nwhen {{ {condition} }};\n",
        comment("//", &about),
        text(&found.rule.name.to_string()),
    ))
}

fn trigger(trigger: &Trigger) -> String {
    let patterns = trigger.patterns().iter().map(|pattern| {
        if pattern.contains('*') {
            format!("context.tool like {}", text(pattern))
        } else {
            format!("context.tool == {}", text(pattern))
        }
    });
    patterns.collect::<Vec<_>>().join(" || ")
}

fn test(tree: &Tree, scope: &Scope) -> Result<String, String> {
    match &tree.node {
        Node::Literal { value: serde_json::Value::Bool(truth) } => Ok(truth.to_string()),
        Node::Operator { operator: operator @ ("&&" | "||"), operands } => {
            let parts: Result<Vec<String>, String> =
                operands.iter().map(|operand| test(operand, scope)).collect();
            Ok(format!("({})", parts?.join(&format!(" {operator} "))))
        }
        Node::Operator { operator: "!", operands } => match operands.as_slice() {
            [operand] => Ok(format!("!({})", test(operand, scope)?)),
            _ => Err(unsaid("`!`")),
        },
        Node::Operator { operator: operator @ ("==" | "!="), operands } => {
            let [left, right] = operands.as_slice() else { return Err(unsaid(operator)) };
            Ok(format!("{} {operator} {}", value(left)?, value(right)?))
        }
        Node::Operator { operator: operator @ ("<" | "<=" | ">" | ">="), operands } => {
            let [left, right] = operands.as_slice() else { return Err(unsaid(operator)) };
            if [left, right].iter().any(|part| scope.ty(part) != Some(Type::Int)) {
                return Err(unsaid("an order of what may be no number"));
            }
            Ok(format!("{} {operator} {}", value(left)?, value(right)?))
        }
        Node::Operator { operator: "in", operands } => {
            let [item, list] = operands.as_slice() else { return Err(unsaid("`in`")) };
            if !matches!(list.node, Node::List { .. }) && scope.item(list) != Some(Type::String) {
                return Err(unsaid("`in` of what is no list of texts"));
            }
            Ok(format!("{}.contains({})", value(list)?, value(item)?))
        }
        Node::Call { function, target: Some(target), arguments } => {
            let ([part], true) =
                (arguments.as_slice(), scope.is_text(target) || scope.is_free(target))
            else {
                return Err(unsaid(&format!("`{function}`")));
            };
            let Node::Literal { value: serde_json::Value::String(part) } = &part.node else {
                return Err(unsaid(&format!("`{function}` of a text that is not written out")));
            };
            // A star in the text is no wildcard.
            let quoted = text(part).replace('*', "\\*");
            let part = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
            let pattern = match function.as_str() {
                "contains" => format!("*{part}*"),
                "startsWith" => format!("{part}*"),
                "endsWith" => format!("*{part}"),
                other => return Err(unsaid(&format!("`{other}`"))),
            };
            Ok(format!("{} like \"{pattern}\"", value(target)?))
        }
        Node::Call { function, target: None, arguments } if function == "has" => {
            match arguments.as_slice() {
                [Tree { node: Node::Field { of, name }, .. }] => {
                    Ok(format!("{} has {}", value(of)?, text(name)))
                }
                _ => Err(unsaid("`has`")),
            }
        }
        Node::Call { function, .. } => Err(unsaid(&format!("`{function}`"))),
        Node::Operator { operator, .. } => Err(unsaid(&format!("`{operator}`"))),
        _ => Err(unsaid("a condition that is a value")),
    }
}

fn value(tree: &Tree) -> Result<String, String> {
    match &tree.node {
        Node::Literal { value } if value.is_f64() || value.is_null() => {
            Err(unsaid(&format!("`{value}`")))
        }
        Node::Literal { value: serde_json::Value::String(literal) } => Ok(text(literal)),
        Node::Literal { value } => Ok(value.to_string()),
        Node::List { items } => {
            let items: Result<Vec<String>, String> = items.iter().map(value).collect();
            Ok(format!("[{}]", items?.join(", ")))
        }
        Node::Name { name } => Ok(format!("context.{name}")),
        Node::Field { of, name } => Ok(format!("{}[{}]", value(of)?, text(name))),
        Node::Operator { operator, .. } => Err(unsaid(&format!("`{operator}` within a value"))),
        Node::Call { function, .. } => Err(unsaid(&format!("`{function}`"))),
        Node::Map { .. } => Err(unsaid("a map")),
    }
}

/// A string of Cedar, whose escapes are Rust's.
fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.extend(c.escape_unicode()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn unsaid(what: &str) -> String {
    format!("{what} cannot be said exactly")
}
