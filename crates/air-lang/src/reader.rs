//! Rule text as the core asks for it: one rule.

use air_core::{port::RuleReader, rule::Rule};

use crate::{Severity, parse};

/// Compiles rule text.
#[derive(Debug, Clone, Copy, Default)]
pub struct LangRules;

impl RuleReader for LangRules {
    fn rule(&self, text: &str) -> Result<Rule, String> {
        let parsed = parse(text);
        let mut found = parsed.diagnostics().iter();
        if let Some(error) = found.find(|found| found.severity == Severity::Error) {
            return Err(error.message.clone());
        }
        let mut rules = parsed.into_rules();
        match (rules.pop(), rules.is_empty()) {
            (Some(rule), true) => Ok(rule),
            (None, _) => Err("it holds no rule".into()),
            (Some(_), false) => Err("it holds more than one rule".into()),
        }
    }
}
