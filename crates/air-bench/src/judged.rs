//! Rules in the paper's form: only `check` and `remediate`, which models follow.

use std::fmt::Write as _;

use air_core::rule::{Rule, RuleKind};

/// The AIR rules without conditions and without responses: a model decides whether each holds, and the
/// agent does what it says.
///
/// # Errors
///
/// If one of them cannot be written so.
pub fn judged(rules: &[Rule]) -> Result<Vec<Rule>, String> {
    let mut text = String::new();
    for rule in rules {
        let RuleKind::Incident { remediate, .. } = &rule.kind else {
            return Err(format!("@{} is a guardrail", rule.name));
        };
        let tools = rule.trigger.patterns().join(", ");
        let severity = rule.severity.keyword();
        let _ = writeln!(text, "rule @{}\ntrigger {tools}\nseverity {severity}", rule.name);
        for (clause, said) in [("check", &rule.check), ("remediate", remediate)] {
            let _ = writeln!(text, "{clause}");
            for line in said.lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        text.push_str("end\n\n");
    }
    let written = air_lang::parse(&text).into_rules();
    if written.len() == rules.len() {
        Ok(written)
    } else {
        Err(format!("{} of {} rules can be judged alone", written.len(), rules.len()))
    }
}
