//! Guardrail text, taken apart and put together: the set stays small.

use air_core::{
    fact::Facts,
    rule::{Decision, Rule},
};
use air_lang::expr;

use crate::{drafted::Words, form::Form, pattern};

/// A guardrail with so many alternatives is not added to.
pub(crate) const MOST_FORMS: usize = 8;

/// The name of the rule in `text`.
pub(crate) fn name(text: &str) -> Option<String> {
    let parsed = air_lang::parse(text);
    parsed.rules().first().map(|rule| rule.name.to_string())
}

/// The alternatives of a stored guardrail.
pub(crate) fn forms(text: &str) -> Vec<Form> {
    let parsed = air_lang::parse(text);
    let Some(rule) = parsed.rules().first() else { return Vec::new() };
    let Some(condition) = rule.decision.sufficient() else { return Vec::new() };
    // What is drafted in words tells of no form.
    let check = if words_of(rule).is_some() { "" } else { &rule.check };
    let said = check.split_once("the step ").map_or("", |(_, said)| said);
    let said = said.rsplit_once(", as in incident").map_or(said, |(said, _)| said);
    // Each form but that of the words is told, in order. Text was unindented when it was read.
    let mut said = said.split(",\nor ").map(|said| said.replace('\n', "\n  "));
    let alternatives = expr::alternatives(condition.source()).into_iter();
    let form = |condition: String| {
        let mut form = Form::new(condition, String::new());
        if !is_in_words(&form) {
            form.said = said.next().unwrap_or_default();
        }
        form
    };
    alternatives.map(form).collect()
}

/// What a judge reads of a stored guardrail.
pub(crate) fn words(text: &str) -> Option<Words> {
    words_of(air_lang::parse(text).rules().first()?)
}

fn words_of(rule: &Rule) -> Option<Words> {
    let Decision::Bounds { when, .. } = &rule.decision else { return None };
    let only = match (when, rule.trigger.patterns()) {
        (Some(when), _) => expr::alternatives(when.source()).into_iter().next(),
        (None, [tool]) if &**tool != "*" => Some(Words::only(tool)),
        (None, _) => None,
    };
    Some(Words { text: rule.check.to_string(), only })
}

/// As few forms as every one of `harms` fits that fits any of `all`. Forms further in front are
/// preferred. A form that fits none of them stays: what it answers is not known any more.
pub(crate) fn cover(all: Vec<Form>, harms: &[&Facts]) -> Vec<Form> {
    let mut left: Vec<(Form, Vec<bool>)> = Vec::new();
    let mut kept: Vec<Form> = Vec::new();
    for form in all {
        let fits: Vec<bool> = harms.iter().map(|facts| form.holds(facts).is_satisfied()).collect();
        let known = left.iter().map(|(form, _)| form).chain(&kept);
        if known.into_iter().any(|it| it.condition == form.condition) || is_in_words(&form) {
            continue;
        }
        if fits.contains(&true) { left.push((form, fits)) } else { kept.push(form) }
    }
    let mut open = vec![true; harms.len()];
    let mut chosen: Vec<Form> = Vec::new();
    loop {
        let gain =
            |fits: &[bool]| fits.iter().zip(&open).filter(|(fit, open)| **fit && **open).count();
        // Of several that gain the most, the first.
        let best = left.iter().enumerate().rev().max_by_key(|(_, (_, fits))| gain(fits));
        let Some(at) = best.filter(|(_, (_, fits))| gain(fits) > 0).map(|(at, _)| at) else {
            break;
        };
        let (form, fits) = left.remove(at);
        for (open, fit) in open.iter_mut().zip(fits) {
            *open &= !fit;
        }
        chosen.push(form);
    }
    chosen.extend(kept);
    chosen
}

fn is_in_words(form: &Form) -> bool {
    pattern::is_in_words(&form.condition)
}

/// The condition and the trigger of a guardrail of these forms, for a call to `tool`.
pub(crate) fn join(forms: &[Form], tool: &str) -> (String, String) {
    if !forms.iter().any(|form| form.any_tool) {
        let all: Vec<&str> = forms.iter().map(|form| form.condition.as_str()).collect();
        return (all.join(" || "), tool.to_owned());
    }
    let part = |form: &Form| {
        // What speaks of arguments speaks of those of one tool.
        if form.any_tool || form.condition.starts_with("tool == ") {
            form.condition.clone()
        } else {
            format!("tool == {} && ({})", crate::candidate::quoted(tool), form.condition)
        }
    };
    (forms.iter().map(part).collect::<Vec<_>>().join(" || "), "*".to_owned())
}
