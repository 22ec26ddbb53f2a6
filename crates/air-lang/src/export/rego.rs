//! Rego (Open Policy Agent, v1 syntax).

use std::fmt::Write as _;

use air_core::{guardrail::Guardrail, rule::Trigger};

use super::{Candidate, Export, candidate, comment, hit_name, scope::Scope};
use crate::expr::{Tree, TreeNode as Node};

const HEADER: &str = "\
# Guardrails of AIR. `input` holds the facts under the names that conditions have: `input.tool`,
# `input.args`, `input.code` and so on. A decision is AIR's where every fact that the condition names
# is present and whole; elsewhere AIR's would be undetermined, which nothing here says.
package air.guardrails

import rego.v1
";

/// Translates guardrails to Rego: sets `block`, `ask` and `warn` of the names of those that hold.
pub fn rego(guardrails: &[Guardrail]) -> Export {
    let mut export = Export { text: HEADER.to_owned(), left_out: Vec::new() };
    for (number, guardrail) in (1..).zip(guardrails) {
        match candidate(guardrail).and_then(|found| policy(number, guardrail, &found)) {
            Ok(text) => {
                let _ = write!(export.text, "\n{text}");
            }
            Err(why) => {
                let lost =
                    format!("left out: {} version {}: {why}", guardrail.id, guardrail.version);
                let _ = write!(export.text, "\n{}", comment("#", &lost));
                export.left_out.push((guardrail.id.to_string(), why));
            }
        }
    }
    export
}

fn policy(number: usize, guardrail: &Guardrail, found: &Candidate) -> Result<String, String> {
    let mut writer = Writer { prefix: format!("g{number}"), helpers: String::new(), count: 0 };
    let activated = trigger(&found.rule.trigger, &mut writer)?;
    let body = writer.body(&found.condition, &Scope::default(), &[])?;
    let name = text(&found.rule.name.to_string());
    let about = format!("{} version {}: {}", guardrail.id, guardrail.version, found.rule.check);
    let set = hit_name(found.hit);
    let lines: Vec<String> =
        activated.into_iter().chain(body).map(|line| format!("\t{line}\n")).collect();
    let (comment, lines, helpers) = (comment("#", &about), lines.concat(), writer.helpers);
    Ok(format!("{comment}{set} contains {name} if {{\n{lines}}}\n{helpers}"))
}

/// Helper rules, named after the guardrail.
struct Writer {
    prefix: String,
    helpers: String,
    count: usize,
}

impl Writer {
    /// A rule that is true if one of the bodies is, with the loop variables as its arguments.
    fn helper(&mut self, bodies: &[Vec<String>], variables: &[String]) -> String {
        self.count += 1;
        let name = format!("{}_{}", self.prefix, self.count);
        let call =
            if variables.is_empty() { name } else { format!("{name}({})", variables.join(", ")) };
        for body in bodies {
            let lines: Vec<String> = body.iter().map(|line| format!("\t{line}\n")).collect();
            let _ = write!(self.helpers, "\n{call} if {{\n{}}}\n", lines.concat());
        }
        call
    }

    /// The lines of a body that holds where the condition does.
    fn body(
        &mut self,
        tree: &Tree,
        scope: &Scope,
        variables: &[String],
    ) -> Result<Vec<String>, String> {
        match &tree.node {
            Node::Operator { operator: "&&", operands } => {
                let mut all = Vec::new();
                for operand in operands {
                    all.extend(self.body(operand, scope, variables)?);
                }
                Ok(all)
            }
            Node::Operator { operator: "||", operands } => {
                let mut bodies = Vec::new();
                for operand in operands {
                    bodies.push(self.body(operand, scope, variables)?);
                }
                Ok(vec![self.helper(&bodies, variables)])
            }
            Node::Operator { operator: "!", operands } => {
                let [operand] = operands.as_slice() else { return Err(unsaid("`!`")) };
                let body = self.body(operand, scope, variables)?;
                Ok(vec![format!("not {}", self.helper(&[body], variables))])
            }
            Node::Call { function, target: Some(list), arguments }
                if matches!(function.as_str(), "exists" | "all") =>
            {
                self.quantified(function, list, arguments, scope, variables)
            }
            Node::Literal { value: serde_json::Value::Bool(truth) } => Ok(vec![truth.to_string()]),
            _ => test(tree, scope).map(|line| vec![line]),
        }
    }

    fn quantified(
        &mut self,
        function: &str,
        list: &Tree,
        arguments: &[Tree],
        scope: &Scope,
        variables: &[String],
    ) -> Result<Vec<String>, String> {
        let ([variable, body], Some(item)) = (arguments, scope.item(list)) else {
            return Err(unsaid("a loop over what is no list of the schema"));
        };
        let Node::Name { name } = &variable.node else { return Err(unsaid("this loop")) };
        if scope.is_variable(name) {
            return Err(unsaid("a variable that hides another"));
        }
        let mut inner = variables.to_vec();
        inner.push(local(name));
        let body = self.body(body, &scope.with(name, item), &inner)?;
        let (place, variable) = (path(list, scope)?, local(name));
        if function == "all" {
            let holds = self.helper(&[body], &inner);
            return Ok(vec![format!("every {variable} in {place} {{ {holds} }}")]);
        }
        let mut lines = vec![format!("some {variable} in {place}")];
        lines.extend(body);
        // In a rule of its own, so that the next loop may have the same variable.
        Ok(vec![self.helper(&[lines], variables)])
    }
}

/// One line that is true or not.
fn test(tree: &Tree, scope: &Scope) -> Result<String, String> {
    match &tree.node {
        Node::Operator { operator: operator @ ("==" | "!="), operands } => {
            let [left, right] = operands.as_slice() else { return Err(unsaid(operator)) };
            Ok(format!("{} {operator} {}", value(left, scope)?, value(right, scope)?))
        }
        Node::Operator { operator: operator @ ("<" | "<=" | ">" | ">="), operands } => {
            let [left, right] = operands.as_slice() else { return Err(unsaid(operator)) };
            let known =
                |part| matches!(scope.ty(part), Some(air_core::fact::Type::Int)) || is_size(part);
            if !(known(left) && known(right)) {
                return Err(unsaid("an order of what may be no number"));
            }
            Ok(format!("{} {operator} {}", value(left, scope)?, value(right, scope)?))
        }
        Node::Operator { operator: "in", operands } => {
            let [item, list] = operands.as_slice() else { return Err(unsaid("`in`")) };
            let place = match &list.node {
                Node::List { .. } => value(list, scope)?,
                _ if scope.item(list).is_some() => path(list, scope)?,
                _ => return Err(unsaid("`in` of what is no list of the schema")),
            };
            Ok(format!("{} in {place}", value(item, scope)?))
        }
        Node::Call { function, target: Some(target), arguments } => {
            let builtin = match function.as_str() {
                "contains" => "contains",
                "startsWith" => "startswith",
                "endsWith" => "endswith",
                other => return Err(unsaid(&format!("`{other}`"))),
            };
            let [part] = arguments.as_slice() else { return Err(unsaid(function)) };
            let texts = [target.as_ref(), part];
            if !texts.iter().all(|text| scope.is_text(text) || scope.is_free(text)) {
                return Err(unsaid(&format!("`{function}` of what may be no text")));
            }
            Ok(format!("{builtin}({}, {})", value(target, scope)?, value(part, scope)?))
        }
        Node::Call { function, target: None, arguments } if function == "has" => {
            let [field] = arguments.as_slice() else { return Err(unsaid("`has`")) };
            match &field.node {
                Node::Field { of, name } if scope.is_free(field) => {
                    Ok(format!("{} in object.keys({})", text(name), path(of, scope)?))
                }
                _ => Err(unsaid("`has` of a field of the schema")),
            }
        }
        Node::Call { function, .. } => Err(unsaid(&format!("`{function}`"))),
        Node::Operator { operator, .. } => Err(unsaid(&format!("`{operator}`"))),
        _ => Err(unsaid("a condition that is a value")),
    }
}

fn is_size(tree: &Tree) -> bool {
    matches!(&tree.node, Node::Call { function, .. } if function == "size")
}

fn value(tree: &Tree, scope: &Scope) -> Result<String, String> {
    match &tree.node {
        Node::Literal { value } if value.is_f64() => Err(unsaid("a number with a fraction")),
        Node::Literal { value } => Ok(value.to_string()),
        Node::List { items } => {
            let items: Result<Vec<String>, String> =
                items.iter().map(|item| value(item, scope)).collect();
            Ok(format!("[{}]", items?.join(", ")))
        }
        Node::Call { function, target, arguments } if function == "size" => {
            let of = target.as_deref().or(arguments.first()).ok_or_else(|| unsaid("`size`"))?;
            if scope.is_text(of) || scope.item(of).is_some() {
                Ok(format!("count({})", path(of, scope)?))
            } else {
                Err(unsaid("`size` of what may be neither text nor list"))
            }
        }
        _ => path(tree, scope),
    }
}

/// A fact or a variable, and its fields.
fn path(tree: &Tree, scope: &Scope) -> Result<String, String> {
    match &tree.node {
        Node::Name { name } if scope.is_variable(name) => Ok(local(name)),
        Node::Name { name } => Ok(format!("input.{name}")),
        Node::Field { of, name } => Ok(format!("{}[{}]", path(of, scope)?, text(name))),
        Node::Operator { operator, .. } => Err(unsaid(&format!("`{operator}` within a value"))),
        Node::Call { function, .. } => Err(unsaid(&format!("`{function}`"))),
        _ => Err(unsaid("this value")),
    }
}

/// A variable under a name that no keyword has.
fn local(name: &str) -> String {
    format!("each_{name}")
}

fn trigger(trigger: &Trigger, writer: &mut Writer) -> Result<Option<String>, String> {
    let mut bodies = Vec::new();
    for pattern in trigger.patterns() {
        let body = match pattern.split('*').collect::<Vec<_>>().as_slice() {
            [name] => format!("input.tool == {}", text(name)),
            ["", ""] => return Ok(None),
            [before, ""] => format!("startswith(input.tool, {})", text(before)),
            ["", after] => format!("endswith(input.tool, {})", text(after)),
            _ => return Err(format!("trigger `{pattern}` cannot be said exactly")),
        };
        bodies.push(vec![body]);
    }
    Ok(match bodies.as_slice() {
        [only] => only.first().cloned(),
        _ => Some(writer.helper(&bodies, &[])),
    })
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn unsaid(what: &str) -> String {
    format!("{what} cannot be said exactly")
}
