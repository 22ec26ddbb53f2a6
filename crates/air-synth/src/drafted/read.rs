//! What is taken of a draft's text, before anybody is asked.

use air_core::{
    fact::Root,
    outcome::Outcome,
    rule::{Decision, Hit, Rule, RuleKind, Trigger, glob},
};
use air_lang::{Code, Diagnostic, Severity, expr, lint};

use super::{Draft, Words, words};
use crate::{
    candidate::is_secret,
    compiler::{Frame, fits, validate},
    form::{Form, Reach},
};

/// A longer draft is refused unread, in bytes.
const MOST_BYTES: usize = 16 << 10;
/// How much is told of what is wrong, in bytes.
const MOST_TOLD: usize = 4 << 10;
/// Ways to write a letter as something else.
const ESCAPES: [&str; 5] = ["\\u", "\\U", "\\x", "\\X", "\\0"];
/// What keeps a draft from being taken although it could be loaded.
const FAULTS: [Code; 8] = [
    Code::AlwaysFalse,
    Code::AlwaysTrue,
    Code::HiddenCharacter,
    Code::LookAlike,
    Code::PastInGuardrail,
    Code::PatternMatchesAll,
    Code::SelfDenying,
    Code::TooAbstract,
];

/// What is used of `text`.
///
/// # Errors
///
/// Why nothing is.
pub(super) fn read(text: &str, frame: &Frame<'_>) -> Result<Draft, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("it is longer than {MOST_BYTES} bytes"));
    }
    if is_secret(text) {
        return Err("it holds what looks like a secret".to_owned());
    }
    if ESCAPES.iter().any(|escape| text.contains(escape)) {
        return Err("it holds escapes; write letters as they are".to_owned());
    }
    let rule = rule(text)?;
    if rule.name.as_str() != frame.name {
        return Err(format!("its name is not @{}", frame.name));
    }
    let RuleKind::Guardrail { hit, .. } = rule.kind else {
        return Err("it is a rule for after a step; a guardrail has `block`".to_owned());
    };
    if hit != Hit::Block {
        return Err("it does not block".to_owned());
    }
    triggered(&rule.trigger, frame)?;
    let of_any_tool = rule.trigger.patterns().iter().any(|pattern| &**pattern == "*");
    let tool = &frame.case.request.step.proposed.call.tool;
    let said = || -> Result<Words, String> {
        let text = words::sound(&rule.check, frame)?;
        Ok(Words { text, only: (!of_any_tool).then(|| Words::only(tool)) })
    };
    let form = |condition: &str| tried(condition, of_any_tool, frame);
    match &rule.decision {
        Decision::Decide(condition) => {
            Ok(Draft { form: Some(form(condition.source())?), words: None })
        }
        Decision::Bounds { when: Some(_), .. } => Err("it has `when`; leave it out".to_owned()),
        Decision::Bounds { when: None, evidence: Some(condition) } => {
            // The condition does without the words.
            Ok(Draft { form: Some(form(condition.source())?), words: said().ok() })
        }
        Decision::Bounds { when: None, evidence: None } => {
            Ok(Draft { form: None, words: Some(said()?) })
        }
    }
}

/// The one rule in `text`.
fn rule(text: &str) -> Result<Rule, String> {
    let parsed = air_lang::parse(text);
    if parsed.has_errors() {
        return Err(told(parsed.diagnostics(), text));
    }
    let files = [("draft", parsed)];
    let found = lint(&files, &lint::Settings::default()).into_iter().flatten();
    let faults: Vec<Diagnostic> =
        found.filter(|it| it.severity <= Severity::Warning && FAULTS.contains(&it.code)).collect();
    if !faults.is_empty() {
        return Err(told(&faults, text));
    }
    let [(_, parsed)] = files;
    let mut rules = parsed.into_rules();
    match (rules.pop(), rules.is_empty()) {
        (Some(rule), true) => Ok(rule),
        (None, _) => Err("it holds no rule".to_owned()),
        (Some(_), false) => Err("it holds more than one rule".to_owned()),
    }
}

fn told(diagnostics: &[Diagnostic], text: &str) -> String {
    let mut told = air_lang::render(diagnostics, "draft", text, false);
    told.truncate(told.floor_char_boundary(MOST_TOLD));
    told
}

/// It is asked about the incident's tool, and about no more than that or what the incident's rule is.
fn triggered(trigger: &Trigger, frame: &Frame<'_>) -> Result<(), String> {
    let request = &frame.case.request;
    let tool = &request.step.proposed.call.tool;
    if !trigger.matches(tool) {
        return Err(format!("its trigger is not the tool `{tool}` of the incident"));
    }
    // A `*` of the draft stands for itself here, and only a `*` of the rule covers it.
    let rule = request.rule.trigger.patterns();
    let covered = |pattern: &str| rule.iter().any(|known| glob(known, pattern));
    let wide = trigger.patterns().iter().find(|it| it.as_ref() != tool && !covered(it));
    match wide {
        Some(_) => Err("its trigger is wider than that of the incident's rule".to_owned()),
        None => Ok(()),
    }
}

/// The condition as a form, once it was tried on everything that is known.
fn tried(condition: &str, of_any_tool: bool, frame: &Frame<'_>) -> Result<Form, String> {
    let parts = expr::alternatives(condition);
    if parts.is_empty() {
        return Err("the condition cannot be written on one line".to_owned());
    }
    let mut form =
        Form::new(format!("({})", parts.join(" || ")), "fits a condition that was drafted".into());
    form.reach = Reach::Class;
    form.any_tool &= of_any_tool;
    let case = &frame.case;
    let own = case.request.facts;
    validate(&form, own, case)?;
    if !case.harms.iter().all(|(_, harm)| fits(&form, harm, own)) {
        return Err("it misses an earlier incident of the same rule".to_owned());
    }
    let concerned =
        case.ordinary().filter(|it| form.any_tool || it.get(Root::Tool) == own.get(Root::Tool));
    let answers: Vec<Outcome> = concerned.map(|facts| form.holds(facts)).collect();
    let unknown = answers.iter().filter(|it| matches!(it, Outcome::Undetermined(_))).count();
    // Some sources are never read whole. What is mostly unknown speaks of something else than the call.
    if unknown * 2 > answers.len() {
        return Err("it cannot be told of ordinary steps".to_owned());
    }
    Ok(form)
}
