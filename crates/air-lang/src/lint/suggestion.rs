//! Suggestions that the rule itself would refuse.

use std::{collections::BTreeMap, sync::Arc};

use air_core::{
    fact::{Facts, NoLabels, Root},
    outcome::Outcome,
    value::Value,
};

use super::{Lint, RuleView};
use crate::{
    diagnostic::{Code, Severity, quoted},
    syntax::keyword::Keyword,
};

/// Arguments in which a suggestion could be given to a tool.
const ARGUMENTS: [&str; 5] = ["command", "code", "path", "content", "url"];

/// Looks at what `instead` has in backticks.
pub(super) fn look(rule: &RuleView<'_>, lint: &mut Lint<'_>) {
    let Some(instead) = &rule.rule.instead else { return };
    let Some(condition) = rule.rule.decision.sufficient() else { return };
    for text in instead.split('`').skip(1).step_by(2).take(8) {
        let tools = rule.rule.trigger.patterns().iter().take(8);
        let mut calls = tools.filter(|tool| !tool.contains('*')).flat_map(|tool| {
            ARGUMENTS.map(|argument| {
                let value = Value::string(text);
                let args = BTreeMap::from([(Arc::from(argument), value)]);
                Facts::new(Arc::new(NoLabels))
                    .with(Root::Tool, Value::string(Arc::clone(tool)))
                    .with(Root::Args, Value::Map(args.into()))
            })
        });
        let alone = condition.evaluate(&Facts::new(Arc::new(NoLabels)));
        let refused = |facts: Facts| condition.evaluate(&facts) == Outcome::Satisfied;
        if alone != Outcome::Satisfied && calls.any(refused) {
            let span = lint.place(rule.span(Keyword::Instead), text);
            let message = format!("{} is what this rule refuses", quoted(text));
            let hint = "suggest something that the rule lets pass";
            lint.add(Severity::Warning, Code::SelfDenying, span, message, hint);
            return;
        }
    }
}
