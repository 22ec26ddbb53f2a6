//! A model that writes one rule: the request, and what is taken for its text.

use std::fmt::Write as _;

use air_wire::{Message, Request, Schema, Stop, json_of};
use serde_json::{Value, json};

use crate::{
    Call, Model, ModelError, Purpose,
    judge::{Bounded, Randomness, Secrets, section},
    prompts,
};

/// A longer rule is refused unread, in bytes.
const MOST_RULE: usize = 16 << 10;
/// A longer answer is not looked at, in bytes.
const MOST_ANSWER: usize = 256 << 10;
/// How much of a refused rule, and of why, is said back, in bytes.
const MOST_SAID_BACK: usize = 8 << 10;
const MOST_TOKENS: u32 = 4096;

/// No rule was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The model gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Its answer holds no rule.
    #[error("{0}")]
    Answer(String),
}

/// A message under way: what the operator says, and sections of data.
pub(crate) struct Letter {
    secrets: Secrets,
    text: String,
}

impl Letter {
    /// # Errors
    ///
    /// There is no randomness for a mark.
    pub(crate) fn new(random: &dyn Randomness) -> Result<Self, WriteError> {
        let secrets = Secrets::new(random).map_err(WriteError::Answer)?;
        let text = format!("MARK of this request: {}\n", secrets.mark);
        Ok(Self { secrets, text })
    }

    /// A line of the operator's.
    pub(crate) fn say(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    /// Data.
    pub(crate) fn show(&mut self, name: &str, data: &Bounded) {
        let mark = &self.secrets.mark;
        let _ = write!(self.text, "{}", section(name, &data.harmless(mark), mark));
    }

    /// Sends it with `instructions`; `refused` is an earlier rule, and why it was refused.
    ///
    /// # Errors
    ///
    /// Why there is no rule text.
    pub(crate) async fn send(
        self,
        model: &dyn Model,
        purpose: Purpose,
        instructions: &str,
        refused: Option<(&str, &str)>,
    ) -> Result<String, WriteError> {
        let mut messages = vec![Message::user(self.text)];
        if let Some((rule, why)) = refused {
            let said = Bounded::new(rule, MOST_SAID_BACK).harmless("");
            messages.push(Message::assistant(json!({ "rule": said }).to_string()));
            let mark = &self.secrets.mark;
            let why = Bounded::new(why, MOST_SAID_BACK).harmless(mark);
            let why = section("diagnostics", &why, mark);
            messages.push(Message::user(format!("{}{why}", prompts::REWRITE.text)));
        }
        let request = Request {
            system: instructions.to_owned(),
            messages,
            output: Some(schema()),
            max_output_tokens: Some(MOST_TOKENS),
            ..Request::default()
        };
        let mut call = Call::new(purpose, request);
        call.nonces = vec![self.secrets.mark];
        let answer = model.answer(call).await?;
        let rule = match answer.stop {
            Stop::Refused(_) => Err("the model declined to answer".to_owned()),
            Stop::Length => Err("the answer is cut off".to_owned()),
            _ => rule_of(&answer.text()),
        };
        rule.map_err(WriteError::Answer)
    }
}

/// The form of an answer.
fn schema() -> Schema {
    Schema {
        name: "rule".to_owned(),
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["rule"],
            "properties": { "rule": { "type": "string", "description": "the rule's whole text" } },
        }),
    }
}

/// The rule in an answer: the field of the one object, or the text itself where a model has left the
/// form out.
fn rule_of(answer: &str) -> Result<String, String> {
    if answer.len() > MOST_ANSWER {
        return Err(format!("the answer is longer than {MOST_ANSWER} bytes"));
    }
    let bare = unfenced(answer.trim());
    let text = if bare.starts_with("rule ") {
        bare.to_owned()
    } else {
        match json_of(answer).map_err(|error| error.to_string())? {
            Value::Object(mut fields) => match fields.remove("rule") {
                Some(Value::String(text)) => unfenced(text.trim()).to_owned(),
                _ => return Err("the answer has no text `rule`".to_owned()),
            },
            _ => return Err("the answer is no object".to_owned()),
        }
    };
    match text.len() {
        0 => Err("the rule is empty".to_owned()),
        length if length > MOST_RULE => Err(format!("the rule is longer than {MOST_RULE} bytes")),
        _ => Ok(format!("{text}\n")),
    }
}

/// What is in a code fence, where all of the text is one.
fn unfenced(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let lines = inside.and_then(|inside| inside.split_once('\n')).map(|(_, lines)| lines.trim());
    lines.filter(|lines| !lines.contains("```")).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::rule_of;

    #[test]
    fn what_surrounds_a_rule_is_left_out() {
        let rule = "rule @x\nend\n";
        for answer in [
            r#"{"rule": "rule @x\nend\n"}"#,
            "Here it is:\n```json\n{\"rule\": \"rule @x\\nend\"}\n```\nDone.",
            "```\nrule @x\nend\n```",
            "rule @x\nend",
            r#"{"rule": "```air\nrule @x\nend\n```"}"#,
        ] {
            assert_eq!(rule_of(answer).as_deref(), Ok(rule), "{answer}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        let two = r#"{"rule": "rule @x\nend"} or {"rule": "rule @y\nend"}"#;
        let long = format!(r#"{{"rule": "{}"}}"#, "x".repeat(20 << 10));
        let longer = "x".repeat(300 << 10);
        for answer in [
            "",
            "I cannot do that.",
            r#"{"rule": 3}"#,
            r#"{"rule": ""}"#,
            r#"{"text": "rule"}"#,
            r#"{"rule": "rule @x"#,
            "[1]",
            two,
            &long,
            &longer,
        ] {
            assert!(rule_of(answer).is_err(), "{}", answer.get(..40).unwrap_or(answer));
        }
    }
}
