//! Scripts in files.
//!
//! ```json
//! {"rules": [{"if": {"last": "regex", "any": "regex", "model": "regex", "tool_offered": "bash"},
//!             "once": true, "reply": REPLY}],
//!  "turns": [REPLY], "turns_need_tools": true, "default": REPLY}
//! ```
//!
//! A reply is `{"text": "..."}`, `{"tool": "bash", "args": {}}`, `{"calls": [{"tool": "bash", "args": {}}]}`
//! or `{"error": 529, "body": {}}`, with `"sleep_ms"` where it takes time. A tool may be a list: the first
//! that is offered is called. `${last}` in arguments is the text of the last turn.

use std::{sync::Arc, time::Duration};

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use super::{
    reply::Reply,
    script::{Replies, Script, When},
    seen::Seen,
};

/// A script cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// It is no JSON, or not of this form.
    #[error("the script cannot be read: {0}")]
    Form(#[from] serde_json::Error),
    /// A pattern is wrong.
    #[error("the script has a wrong pattern: {0}")]
    Pattern(#[from] regex::Error),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rules: Vec<Entry>,
    #[serde(default)]
    turns: Vec<Said>,
    #[serde(default = "yes")]
    turns_need_tools: bool,
    default: Option<Said>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default, rename = "if")]
    when: Condition,
    #[serde(default)]
    once: bool,
    reply: Said,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Condition {
    last: Option<String>,
    any: Option<String>,
    model: Option<String>,
    tool_offered: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    text: Option<String>,
    tool: Option<Name>,
    args: Option<Value>,
    calls: Option<Vec<Called>>,
    error: Option<u16>,
    body: Option<Value>,
    #[serde(default)]
    sleep_ms: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Called {
    tool: Name,
    args: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Name {
    One(String),
    FirstOf(Vec<String>),
}

impl Script {
    /// Reads a script file.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let file: File = serde_json::from_str(text)?;
        let mut script = Self::default();
        for Entry { when, once, reply } in file.rules {
            script = script.with_rule(when.read()?, once, reply.replies());
        }
        for turn in file.turns {
            script = script.with_turn(turn.replies());
        }
        if !file.turns_need_tools {
            script = script.turns_without_tools();
        }
        Ok(match file.default {
            Some(reply) => script.with_otherwise(reply.replies()),
            None => script,
        })
    }
}

impl Condition {
    fn read(self) -> Result<When, regex::Error> {
        let regex = |pattern: &str| -> Result<Regex, regex::Error> {
            RegexBuilder::new(pattern).dot_matches_new_line(true).build()
        };
        let mut when = When::any();
        if let Some(last) = &self.last {
            when = when.last(regex(last)?);
        }
        if let Some(any) = &self.any {
            when = when.body(regex(any)?);
        }
        if let Some(model) = &self.model {
            when = when.model(regex(model)?);
        }
        if let Some(tool) = self.tool_offered {
            when = when.tool(tool);
        }
        Ok(when)
    }
}

impl Said {
    fn replies(self) -> Replies {
        Arc::new(move |seen| self.reply(seen))
    }

    fn reply(&self, seen: &Seen) -> Reply {
        let reply = match self.error {
            Some(status) => Reply::error(status, "scripted").body(self.body.clone()),
            None => self.answer(seen),
        };
        reply.after(Duration::from_millis(self.sleep_ms))
    }

    fn answer(&self, seen: &Seen) -> Reply {
        let one = self.tool.clone().map(|tool| Called { tool, args: self.args.clone() });
        let calls: Vec<Called> =
            self.calls.clone().unwrap_or_default().into_iter().chain(one).collect();
        let mut reply = match &self.text {
            None if !calls.is_empty() => Reply::answer(air_wire::Answer::default()),
            text => Reply::text(text.clone().unwrap_or_default()),
        };
        for Called { tool, args } in calls {
            let mut args = args.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
            fill(&mut args, &seen.last());
            reply = reply.and_call(tool.chosen(seen), &args);
        }
        reply
    }
}

impl Name {
    fn chosen(self, seen: &Seen) -> String {
        match self {
            Self::One(name) => name,
            Self::FirstOf(names) => {
                let offered = names.iter().find(|name| seen.offers(name)).or(names.first());
                offered.cloned().unwrap_or_default()
            }
        }
    }
}

fn fill(value: &mut Value, last: &str) {
    match value {
        Value::String(text) => *text = text.replace("${last}", last),
        Value::Array(values) => values.iter_mut().for_each(|value| fill(value, last)),
        Value::Object(fields) => fields.values_mut().for_each(|value| fill(value, last)),
        _ => {}
    }
}
