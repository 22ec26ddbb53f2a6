use serde_json::{Value, json};

use super::{request::function_call, signed};
use crate::{
    answer::{Answer, Stop, TokenProbability, Usage},
    error::{DecodeError, reported},
    request::{Dialect, Part, ToolCall},
    value::{
        arguments, bounded, count, fields, first, list, made_up, object, owned, pieces, text, word,
    },
};

pub(crate) fn decode(value: &Value) -> Result<Answer, DecodeError> {
    let mut draft = Draft::default();
    draft.add(value, |_| {})?;
    draft.answer()
}

/// An answer as far as it has come: all at once, or chunk by chunk, which have the same form.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    id: String,
    answer: Answer,
    calls: usize,
    stop: Option<Stop>,
    candidate: bool,
}

impl Draft {
    pub(crate) fn add(
        &mut self,
        value: &Value,
        mut hear: impl FnMut(&Part),
    ) -> Result<(), DecodeError> {
        // Some proxies put the error of a stream into a list.
        let value = value.get(0).unwrap_or(value);
        if let Some(error) = reported(value) {
            return Err(error);
        }
        if self.id.is_empty() {
            self.id = owned(value, "responseId");
        }
        if let Some(model) = word(value, "modelVersion") {
            model.clone_into(&mut self.answer.model);
        }
        if let Some(taken) = value.get("usageMetadata") {
            self.answer.usage = usage(taken);
        }
        let blocked = value.pointer("/promptFeedback/blockReason").and_then(Value::as_str);
        if let Some(why) = blocked {
            self.stop = Some(Stop::Refused(bounded(why)));
        }
        let Some(candidate) = first(value, "candidates") else { return Ok(()) };
        if count(candidate, "/index") != 0 {
            return Ok(());
        }
        self.candidate = true;
        for part in candidate.get("content").map(|it| list(it, "parts")).unwrap_or_default() {
            self.part(part, &mut hear);
        }
        if let Some(result) = candidate.get("logprobsResult") {
            self.answer.probabilities.extend(probabilities(result));
        }
        if let Some(reason) = word(candidate, "finishReason") {
            self.stop = Some(stop(reason, text(candidate, "finishMessage")));
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, hear: &mut impl FnMut(&Part)) {
        let opaque = |item: Value| Part::Opaque { dialect: Dialect::Gemini, item };
        if let Some(item) = signed::whole(part) {
            let item = opaque(item);
            hear(&item);
            self.answer.parts.push(item);
            return;
        }
        if signed::is_thought(part) {
            hear(&opaque(part.clone()));
            return;
        }
        let new = if let Some(said) = word(part, "text") {
            Part::Text(said.to_owned())
        } else if let Some(call) = part.get("functionCall") {
            let at = self.calls;
            self.calls += 1;
            Part::ToolCall(ToolCall {
                id: word(call, "id").map_or_else(|| made_up(&self.id, at), str::to_owned),
                name: owned(call, "name"),
                arguments: arguments(call.get("args")),
            })
        } else {
            return;
        };
        hear(&new);
        let signature = signed::before(part);
        let signed = signature.is_some();
        self.answer.parts.extend(signature.map(opaque));
        match (self.answer.parts.last_mut(), new) {
            // Text goes on from chunk to chunk.
            (Some(Part::Text(held)), Part::Text(more)) if !signed => held.push_str(&more),
            (_, new) => self.answer.parts.push(new),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.stop.is_some()
    }

    pub(crate) fn answer(self) -> Result<Answer, DecodeError> {
        let mut answer = self.answer;
        answer.stop = match self.stop {
            None if !self.candidate => {
                return Err(DecodeError::form("`candidates` is missing or empty"));
            }
            stop => stop.unwrap_or_default().settled(&answer.parts),
        };
        Ok(answer)
    }
}

/// What a candidate stopped for; calls have no reason of their own here.
fn stop(reason: &str, message: Option<&str>) -> Stop {
    match reason {
        "STOP" => Stop::End,
        "MAX_TOKENS" => Stop::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "MODEL_ARMOR" => {
            Stop::Refused(bounded(message.unwrap_or(reason)))
        }
        other => Stop::Other(bounded(other)),
    }
}

/// Thoughts are counted apart from what is said here.
fn usage(usage: &Value) -> Usage {
    let reasoning = count(usage, "/thoughtsTokenCount");
    Usage {
        input: count(usage, "/promptTokenCount"),
        cached: count(usage, "/cachedContentTokenCount"),
        cache_written: 0,
        output: count(usage, "/candidatesTokenCount").saturating_add(reasoning),
        reasoning,
    }
}

fn probabilities(result: &Value) -> Vec<TokenProbability> {
    let one = |token: &Value| {
        let log = token.get("logProbability").and_then(Value::as_f64)?;
        Some((owned(token, "token"), log))
    };
    let tops = list(result, "topCandidates");
    let chosen = list(result, "chosenCandidates").iter().enumerate();
    let tokens = chosen.filter_map(|(at, token)| {
        let (token, log) = one(token)?;
        let top = tops.get(at).map(|top| list(top, "candidates")).unwrap_or_default();
        Some(TokenProbability { token, log, top: top.iter().filter_map(one).collect() })
    });
    tokens.collect()
}

pub(crate) fn encode(answer: &Answer) -> Value {
    let parts = encode_parts(answer, usize::MAX);
    chunk(answer, &parts, true)
}

/// What is said, part by part, with texts in pieces.
pub(crate) fn encode_parts(answer: &Answer, piece: usize) -> Vec<Value> {
    let mut encoded = Vec::new();
    let mut signature = None;
    for part in &answer.parts {
        match part {
            Part::Text(text) => {
                for more in pieces(text, piece) {
                    encoded.push(signed::sign(json!({ "text": more }), signature.take()));
                }
            }
            Part::ToolCall(call) => {
                encoded.push(signed::sign(function_call(call, object(call)), signature.take()));
            }
            Part::Opaque { dialect: Dialect::Gemini, item } => match signed::of_next(item) {
                Some(next) => signature = Some(next.clone()),
                None => encoded.push(item.clone()),
            },
            _ => {}
        }
    }
    encoded
}

/// A whole answer, or the last or another chunk of one.
pub(crate) fn chunk(answer: &Answer, parts: &[Value], last: bool) -> Value {
    let (reason, message) = match &answer.stop {
        Stop::End | Stop::ToolUse => ("STOP", None),
        Stop::Length => ("MAX_TOKENS", None),
        Stop::Refused(why) => ("SAFETY", Some(why.as_str().into())),
        Stop::Other(reason) => (reason.as_str(), None),
    };
    let probabilities =
        (last && !answer.probabilities.is_empty()).then(|| encode_probabilities(answer));
    let candidate = fields([
        ("content", Some(json!({ "role": "model", "parts": parts }))),
        ("finishReason", last.then(|| reason.into())),
        ("finishMessage", message.filter(|_| last)),
        ("logprobsResult", probabilities),
        ("index", Some(0.into())),
    ]);
    let usage = &answer.usage;
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": usage.input,
            "cachedContentTokenCount": usage.cached,
            "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
            "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": usage.input.saturating_add(usage.output),
        },
        "modelVersion": answer.model,
        "responseId": "air",
    })
}

fn encode_probabilities(answer: &Answer) -> Value {
    let one = |token: &str, log: f64| json!({ "token": token, "logProbability": log });
    let tokens = &answer.probabilities;
    let chosen: Vec<Value> = tokens.iter().map(|token| one(&token.token, token.log)).collect();
    let top = tokens.iter().map(|token| {
        let top: Vec<Value> = token.top.iter().map(|(token, log)| one(token, *log)).collect();
        json!({ "candidates": top })
    });
    json!({ "chosenCandidates": chosen, "topCandidates": top.collect::<Vec<_>>() })
}
