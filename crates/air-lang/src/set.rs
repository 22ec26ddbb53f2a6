//! Several files as one rule set.

use std::{collections::HashMap, ops::Range};

use air_core::{id::RuleName, rule::Rule};

use crate::{
    diagnostic::{Code, Diagnostic, Severity, Sink, quoted},
    parsed::Parsed,
};

/// A rule set was refused: a set with an error is never loaded in part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} in the rule set", if .errors.len() == 1 { "1 error".to_owned() } else { format!("{} errors", .errors.len()) })]
pub struct SetError {
    /// Each error, with the index of its file.
    pub errors: Vec<(usize, Diagnostic)>,
}

/// The rules of all files, in order, given the name of each file.
///
/// # Errors
///
/// Every error of every file, and every name that two files share.
pub fn rule_set<P: AsRef<str>>(files: &[(P, Parsed)]) -> Result<Vec<Rule>, SetError> {
    let mut errors = Vec::new();
    let mut names: HashMap<&RuleName, &str> = HashMap::new();
    for (index, (path, parsed)) in files.iter().enumerate() {
        let found = parsed.diagnostics().iter().filter(|found| found.severity == Severity::Error);
        errors.extend(found.map(|found| (index, found.clone())));
        for (rule, span) in parsed.rules().iter().zip(&parsed.names) {
            match names.get(&rule.name) {
                Some(other) => {
                    let found = duplicate(rule, span.clone(), parsed, other);
                    errors.extend(found.into_iter().map(|found| (index, found)));
                }
                None => {
                    names.insert(&rule.name, path.as_ref());
                }
            }
        }
    }
    if errors.is_empty() {
        Ok(files.iter().flat_map(|(_, parsed)| parsed.rules()).cloned().collect())
    } else {
        Err(SetError { errors })
    }
}

fn duplicate(rule: &Rule, span: Range<usize>, parsed: &Parsed, other: &str) -> Vec<Diagnostic> {
    let name = format!("@{}", rule.name);
    let message = format!("{} is the name of another rule", quoted(&name));
    let hint = format!("the other one is in {}; names are unique in a rule set", quoted(other));
    let mut sink = Sink::default();
    sink.error(Code::DuplicateName, span, message, hint);
    sink.finish(&parsed.text())
}
