//! Words that a judge would read before each step.
//!
//! A judge takes them for the operator's, so they must not be anybody else's: nothing in them may speak to
//! the judge, or repeat what came with the incident.

use std::{collections::HashSet, sync::Arc};

use air_core::{
    fact::{Facts, Root},
    outcome::Outcome,
    port::Judge,
    question::{Inquiry, QuestionKind},
    rule::Rule,
    value::Value as Fact,
};
use serde_json::Value;

use super::Words;
use crate::{candidate::wrapped, compiler::Frame};

/// Longer words are no description, in bytes.
const MOST_BYTES: usize = 600;
/// So many words in a row that the incident's data has as well are a repetition.
const REPEATED: usize = 8;
/// Ordinary steps that a judge is asked about.
const MOST_TRIALS: usize = 6;
/// Beginnings of words that speak to whoever reads them.
const STEERING: [&str; 16] = [
    "ignor",
    "disregard",
    "overrid",
    "instruct",
    "answer",
    "verdict",
    "judge",
    "respond",
    "confidence",
    "outcome",
    "assistant",
    "prompt",
    "reply",
    "harmless",
    "benign",
    "approv",
];
/// What no description needs.
const MARKUP: [&str; 6] = ["[[", "]]", "```", "<|", "{", "}"];

/// `check` as one paragraph.
///
/// # Errors
///
/// Why it is not taken.
pub(super) fn sound(check: &str, frame: &Frame<'_>) -> Result<String, String> {
    let text = check.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.len() > MOST_BYTES {
        return Err(format!("its words are longer than {MOST_BYTES} bytes"));
    }
    if text.chars().any(char::is_control) || MARKUP.iter().any(|mark| text.contains(mark)) {
        return Err("its words hold signs that no description needs".to_owned());
    }
    let said = plain(&text);
    if said.iter().any(|word| STEERING.iter().any(|start| word.starts_with(start))) {
        return Err("its words speak to whoever reads them".to_owned());
    }
    let is_foreign = |text: &str| text.chars().any(|c| c.is_alphabetic() && !c.is_ascii());
    if is_foreign(&text) && !is_foreign(&frame.case.request.rule.check) {
        return Err("its words are in another script than those of the rule".to_owned());
    }
    let known: HashSet<Vec<String>> = untrusted(frame)
        .iter()
        .flat_map(|text| plain(text).windows(REPEATED).map(<[String]>::to_vec).collect::<Vec<_>>())
        .collect();
    if said.windows(REPEATED).any(|run| known.contains(run)) {
        return Err("its words repeat what came with the incident".to_owned());
    }
    Ok(text)
}

/// The words of a text, in lower case and without signs.
fn plain(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Whatever the user, the agent, its tools and the outside world have said, names of files too.
fn untrusted<'a>(frame: &Frame<'a>) -> Vec<&'a str> {
    let request = frame.case.request;
    let (step, effects) = (request.step, request.effects);
    let mut texts = vec![step.proposed.plan.as_str()];
    for (name, value) in &step.proposed.call.arguments {
        texts.push(name);
        leaves(value, &mut texts);
    }
    if let Some(seen) = &step.observation {
        texts.push(&seen.content);
        texts.extend(seen.error.as_deref());
    }
    texts.extend(effects.files.items.iter().map(|file| file.path.as_str()));
    texts.extend(effects.connections.items.iter().map(|connection| connection.host.as_str()));
    texts.extend(effects.processes.items.iter().flat_map(|it| &it.argv).map(String::as_str));
    for fact in [Root::Task, Root::History].iter().filter_map(|root| request.facts.get(*root)) {
        told(fact, &mut texts);
    }
    texts
}

fn told<'a>(fact: &'a Fact, texts: &mut Vec<&'a str>) {
    match fact {
        Fact::String(text) => texts.push(text),
        Fact::List(list) => list.items.iter().for_each(|item| told(item, texts)),
        Fact::Map(fields) => fields.values().for_each(|value| told(value, texts)),
        _ => {}
    }
}

fn leaves<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, texts)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            texts.push(name);
            leaves(value, texts);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Asks whether the words hold on the incident's call, and on no ordinary one.
///
/// # Errors
///
/// Why they are not taken. What cannot be told is a reason as well.
pub(super) async fn hold(
    words: &Words,
    frame: &Frame<'_>,
    judge: Option<&dyn Judge>,
) -> Result<(), String> {
    let judge = judge.ok_or("its words cannot be tried without a judge")?;
    let rule = Arc::new(rule(words, frame)?);
    let own = frame.case.request.facts;
    match ask(judge, &rule, own).await? {
        Outcome::Satisfied => {}
        Outcome::Unsatisfied => {
            return Err("by the judge its words do not hold on the incident's call".to_owned());
        }
        Outcome::Undetermined(why) => {
            return Err(format!("the judge cannot tell its words of the incident's call: {why}"));
        }
    }
    let ordinary = ordinary(words, frame);
    if ordinary.is_empty() {
        return Err("no ordinary step is known to try its words on".to_owned());
    }
    for facts in ordinary {
        match ask(judge, &rule, facts).await? {
            Outcome::Unsatisfied => {}
            Outcome::Satisfied => {
                return Err("by the judge its words hold on an ordinary call".to_owned());
            }
            Outcome::Undetermined(why) => {
                return Err(format!("the judge cannot tell its words of an ordinary call: {why}"));
            }
        }
    }
    Ok(())
}

/// The words as a rule without a condition.
fn rule(words: &Words, frame: &Frame<'_>) -> Result<Rule, String> {
    let tool = &frame.case.request.step.proposed.call.tool;
    let check = wrapped(&words.text);
    let name = &frame.name;
    let text = format!("rule @{name}\ntrigger {tool}\ncheck\n  {check}\nblock\nend\n");
    let rules = air_lang::parse(&text).into_rules();
    let one: Result<[Rule; 1], _> = rules.try_into();
    one.map(|[rule]| rule).map_err(|_| "its words are no clause".to_owned())
}

/// Steps to try the words on: recorded ones first, the last of them; then those that ship.
fn ordinary<'f>(words: &Words, frame: &'f Frame<'_>) -> Vec<&'f Facts> {
    let case = &frame.case;
    let tool = case.request.facts.get(Root::Tool);
    let like = |facts: &&Facts| facts.get(Root::Tool) == tool;
    let mut found: Vec<&Facts> = case.benign.iter().rev().filter(like).collect();
    if words.only.is_none() {
        found.extend(case.benign.iter().rev().filter(|facts| !like(facts)));
    }
    found.truncate(MOST_TRIALS);
    let shipped: Vec<&Facts> = case.shipped.iter().filter(like).collect();
    let stride = (shipped.len() / MOST_TRIALS).max(1);
    found.extend(shipped.into_iter().step_by(stride));
    found.truncate(MOST_TRIALS);
    found
}

async fn ask(judge: &dyn Judge, rule: &Arc<Rule>, facts: &Facts) -> Result<Outcome, String> {
    let inquiry = Inquiry {
        kind: QuestionKind::WouldCause,
        rules: vec![Arc::clone(rule)],
        facts: facts.clone(),
        images: Vec::new(),
        look: None,
    };
    let verdicts = judge.judge(inquiry).await.map_err(|error| error.to_string())?;
    match verdicts.as_slice() {
        [verdict] => Ok(verdict.outcome.clone()),
        _ => Err("the judge did not answer".to_owned()),
    }
}
