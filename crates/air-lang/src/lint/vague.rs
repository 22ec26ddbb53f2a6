//! Checks that are too abstract to be decided: they name no act and no state that one could look for.

use std::sync::LazyLock;

use super::{
    Lint, RuleView,
    lexicon::{DONE, EMPTY, VAGUE},
    prose::Phrases,
};
use crate::{
    diagnostic::{Code, Severity},
    syntax::keyword::Keyword,
};

/// Ways to speak of what could follow instead of what is seen.
static COULD: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(
        "may|might|could|can|would ?also ?potentially cause|lead|result|be|pose|create|trigger|harm|damage|become|endanger|present
         something ?very bad|dangerous|harmful|wrong|unsafe|malicious|risky|suspicious|illegal|undesirable|unexpected
         anything ?very bad|dangerous|harmful|wrong|unsafe|malicious|risky|suspicious|illegal|undesirable|unexpected
         is|are|was|were ?a|an|very|potentially|too dangerous|unsafe|harmful|risky|hazardous|malicious|suspicious|bad|hazard|risk|threat|danger|problem
         a|an|some|the ... hazard|risk|danger|threat exists|arises|occurs|appears|happens
         poses|pose|creates|presents|causes a|an|some ... hazard|risk|danger|threat|problem|harm|damage
         potential|potentially ... harm|harmful|risk|danger|dangerous|threat|hazard|damage|unsafe
         violates|violate|violating|against ... policy|policies|rules|guidelines|safety|security",
    )
});

/// Looks at the check of `rule`, where nothing but the check decides.
pub(super) fn look(rule: &RuleView<'_>, lint: &mut Lint<'_>) {
    if !rule.formulas(&[Keyword::Decide, Keyword::Evidence]).is_empty() {
        return;
    }
    let content: Vec<_> = rule
        .check
        .words
        .iter()
        .filter(|word| !EMPTY.contains(&word.lower.as_str()) && word.lower.is_ascii())
        .collect();
    // Another language: nothing is known of its words.
    if content.is_empty() {
        return;
    }
    let done = |word: &str| DONE.iter().any(|stem| word.starts_with(stem)) && word != "runtime";
    let vague = |word: &str| VAGUE.contains(&word);
    let hint = "name the act and its object, as in `a liquid is poured onto an electrical appliance`, or add a condition";
    if content.iter().all(|word| vague(&word.lower)) {
        let span = rule.check.span(0..rule.check.words.len());
        let message = "the check names nothing that could be looked for";
        lint.add(Severity::Warning, Code::TooAbstract, span, message, hint);
        return;
    }
    let Some(found) = COULD.find(&rule.check) else { return };
    // What comes before says what is done; then the phrase only says why.
    let outside = rule.check.words.iter().enumerate().filter(|(at, _)| !found.contains(at));
    if outside.into_iter().any(|(_, word)| !vague(&word.lower) && done(&word.lower)) {
        return;
    }
    let span = rule.check.span(found);
    let message = format!("{} is too abstract to be decided", lint.quoted(&span));
    lint.add(Severity::Warning, Code::TooAbstract, span, message, hint);
}
