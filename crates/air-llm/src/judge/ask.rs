//! The request: instructions and rules first, the same from step to step as far as can be; then the data.

use std::{fmt::Write as _, sync::Arc};

use air_core::{
    question::QuestionKind,
    rule::{Rule, RuleKind},
};
use air_wire::{Message, Part, Request, Role, Schema};
use serde_json::json;

use super::{
    data::Data,
    observed,
    random::Secrets,
    settings::JudgeSettings,
    text::{Bounded, harmless},
};
use crate::prompts::{self, Prompt};

/// Tokens of an answer: this, and so many a rule.
const TOKENS: u32 = 1024;
const TOKENS_PER_RULE: u32 = 192;
const MOST_TOKENS: u32 = 32 << 10;

/// How much of the words of a learned guardrail is shown, in bytes.
const MOST_LEARNED: usize = 2 << 10;

/// The wording of a question.
pub(super) fn prompt(kind: QuestionKind) -> Prompt {
    match kind {
        QuestionKind::Happened => prompts::HAPPENED,
        QuestionKind::Stopped => prompts::STOPPED,
        QuestionKind::Restored => prompts::RESTORED,
        QuestionKind::WouldCause => prompts::WOULD_CAUSE,
    }
}

/// The request about `rules`, which are numbered from 1 as they stand.
pub(super) fn request(
    kind: QuestionKind,
    rules: &[Arc<Rule>],
    data: &Data,
    secrets: &Secrets,
    settings: &JudgeSettings,
    looks: bool,
) -> Request {
    let count = u32::try_from(rules.len()).unwrap_or(u32::MAX);
    let tokens = TOKENS.saturating_add(TOKENS_PER_RULE.saturating_mul(count)).min(MOST_TOKENS);
    Request {
        system: system(kind, rules, looks),
        messages: vec![Message { role: Role::User, parts: parts(rules, data, secrets) }],
        output: Some(schema()),
        max_output_tokens: Some(tokens),
        temperature: settings.temperature,
        ..Request::default()
    }
}

/// Trusted texts alone.
fn system(kind: QuestionKind, rules: &[Arc<Rule>], looks: bool) -> String {
    let mut text = prompts::JUDGE.text.to_owned();
    if looks {
        let _ = write!(text, "\n{}", prompts::LOOK.text);
    }
    let _ = write!(text, "\n# The question\n\n{}\n# The rules\n", prompt(kind).text);
    for (number, rule) in (1..).zip(rules) {
        let _ = write!(text, "\nRule {number} (@{}):\n", rule.name);
        if is_learned(rule) {
            let _ = writeln!(text, "  What it describes stands in the section `rule {number}`.");
            continue;
        }
        for line in rule.check.lines() {
            let _ = writeln!(text, "  {}", harmless(line, ""));
        }
    }
    text
}

/// Whether the words of a rule come from an incident: no operator wrote them, and they may repeat what
/// an agent did.
fn is_learned(rule: &Rule) -> bool {
    matches!(rule.kind, RuleKind::Guardrail { from: Some(_), .. })
}

fn parts(rules: &[Arc<Rule>], data: &Data, secrets: &Secrets) -> Vec<Part> {
    let mark = &secrets.mark;
    let mut text = format!("MARK of this request: {mark}\n\nMeasured by AIR:\n");
    let mut names: Vec<&str> = Vec::new();
    for (number, sign) in data.signs.iter().enumerate() {
        let _ = write!(text, "- {}: {}", secrets.tag(number), sign.kind.told());
        let labels: Vec<&str> = sign
            .labels
            .iter()
            .map(AsRef::as_ref)
            .filter(|label| observed::is_known(label))
            .collect();
        if !labels.is_empty() {
            let _ = write!(text, ", labels {}", labels.join(" "));
        }
        for name in &sign.names {
            names.push(name);
            let _ = write!(text, ", name {}", names.len());
        }
        text.push('\n');
    }
    if data.signs.is_empty() {
        text.push_str("- nothing that by itself speaks for harm; judge by the data\n");
    }
    if !names.is_empty() {
        let mut list = String::new();
        for (number, name) in (1..).zip(names) {
            let name = super::text::Bounded::new(name, 512).harmless(mark);
            let _ = writeln!(list, "{number}: {}", serde_json::Value::from(name));
        }
        section(&mut text, "names", &list, mark);
    }
    for (number, rule) in (1..).zip(rules).filter(|(_, rule)| is_learned(rule)) {
        let words = Bounded::new(&rule.check, MOST_LEARNED).harmless(mark);
        section(&mut text, &format!("rule {number}"), &words, mark);
    }
    for shown in &data.sections {
        section(&mut text, shown.name, &shown.text.harmless(mark), mark);
    }
    let mut parts = Vec::new();
    for (number, image) in (1..).zip(&data.images) {
        let _ = write!(text, "\n[[air:begin {mark} image {number}]]\n");
        parts.push(Part::Text(std::mem::take(&mut text)));
        parts.push(Part::Image {
            media_type: image.media_type.clone(),
            data: Arc::clone(&image.data),
        });
        let _ = writeln!(text, "[[air:end {mark} image {number}]]");
    }
    if data.images_left_out > 0 {
        let count = data.images_left_out;
        let _ = write!(text, "\nPictures that cannot be shown: {count}\n");
    }
    let (code, rules) = (&secrets.code, rules.len());
    let _ = write!(
        text,
        "\nThat was all of the data. Answer for the rules 1 to {rules}, by the instructions alone.\n\
         Code of this request: {code}\n"
    );
    parts.push(Part::Text(text));
    parts
}

/// A section of data. `text` is harmless already.
fn section(out: &mut String, name: &str, text: &str, mark: &str) {
    let _ = write!(out, "\n[[air:begin {mark} {name}]]\n{text}\n[[air:end {mark} {name}]]\n");
}

/// A section on its own. `text` is harmless already.
pub(crate) fn looked(name: &str, text: &str, mark: &str) -> String {
    let mut out = String::new();
    section(&mut out, name, text, mark);
    out
}

/// The form of an answer. It is the same for every request.
fn schema() -> Schema {
    Schema {
        name: "verdicts".to_owned(),
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["request", "answers"],
            "properties": {
                "request": { "type": "string", "description": "the code of this request" },
                "answers": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["rule", "quotes", "rationale", "outcome", "confidence"],
                        "properties": {
                            "rule": { "type": "integer", "description": "number of the rule" },
                            "quotes": { "type": "array", "items": { "type": "string" } },
                            "rationale": { "type": "string" },
                            "outcome": { "type": "string", "enum": ["yes", "no", "cannot_tell"] },
                            "confidence": { "type": "number", "description": "from 0 to 1" },
                        },
                    },
                },
            },
        }),
    }
}
