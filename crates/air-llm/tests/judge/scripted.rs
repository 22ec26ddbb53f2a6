//! A model that answers by a function of the request, and what a model sees of a request.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use air_core::port::BoxFuture;
use air_llm::{Call, Model, ModelError, Purpose};
use air_wire::{Answer, Part, Request, Stop, ToolCall};
use serde_json::{Value, json};

type Script = dyn Fn(&Seen) -> Result<Answer, ModelError> + Send + Sync;

/// A model that answers by a function, and remembers what it was asked.
pub(crate) struct Scripted {
    name: &'static str,
    script: Box<Script>,
    calls: Mutex<Vec<Call>>,
}

impl Scripted {
    pub(crate) fn new(
        name: &'static str,
        script: impl Fn(&Seen) -> Result<Answer, ModelError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { name, script: Box::new(script), calls: Mutex::default() })
    }

    /// One that answers with a text.
    pub(crate) fn says(
        name: &'static str,
        script: impl Fn(&Seen) -> String + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::new(name, move |seen| Ok(text(script(seen))))
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.calls.lock().unwrap().iter().map(|call| call.request.clone()).collect()
    }

    pub(crate) fn purposes(&self) -> Vec<Purpose> {
        self.calls.lock().unwrap().iter().map(|call| call.purpose).collect()
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn answer(&self, call: Call) -> BoxFuture<'static, Result<Answer, ModelError>> {
        let nth = self.calls.lock().unwrap().len();
        let seen = Seen::new(&call.request, nth);
        self.calls.lock().unwrap().push(call);
        Box::pin(std::future::ready((self.script)(&seen)))
    }
}

pub(crate) fn text(text: impl Into<String>) -> Answer {
    Answer { parts: vec![Part::Text(text.into())], ..Answer::default() }
}

pub(crate) fn calls(calls: &[(&str, Value)]) -> Answer {
    let parts = calls.iter().enumerate().map(|(at, (name, arguments))| {
        Part::ToolCall(ToolCall {
            id: format!("call_{at}"),
            name: (*name).to_owned(),
            arguments: arguments.to_string(),
        })
    });
    Answer { parts: parts.collect(), stop: Stop::ToolUse, ..Answer::default() }
}

/// A request as a model reads it.
pub(crate) struct Seen {
    /// How many requests came before.
    pub(crate) nth: usize,
    pub(crate) request: Request,
    pub(crate) mark: String,
    pub(crate) code: String,
    /// Tags of measurements.
    pub(crate) tags: Vec<String>,
    /// Sections of data by name.
    pub(crate) sections: Vec<(String, String)>,
    /// All that is said outside of sections, the instructions aside.
    pub(crate) outside: String,
}

impl Seen {
    pub(crate) fn new(request: &Request, nth: usize) -> Self {
        let mut said = String::new();
        for part in request.messages.iter().flat_map(|message| &message.parts) {
            match part {
                Part::Text(text) => said.push_str(text),
                Part::ToolResult { content, .. } => said.push_str(content),
                Part::Image { .. } => said.push_str("(picture)\n"),
                Part::ToolCall(_) | Part::Opaque { .. } => {}
            }
        }
        let after = |name: &str| {
            let rest = said.split(name).nth(1).unwrap_or_default();
            rest.chars().take_while(char::is_ascii_hexdigit).collect::<String>()
        };
        let mark = after("MARK of this request: ");
        let (mut sections, mut outside) = (Vec::<(String, String)>::new(), String::new());
        let mut open: Option<String> = None;
        for line in said.lines() {
            let begun = line.strip_prefix(&format!("[[air:begin {mark} "));
            if let Some(name) = &open {
                if line == format!("[[air:end {mark} {name}]]") {
                    outside.push_str(line);
                    outside.push('\n');
                    open = None;
                } else {
                    let (_, text) = sections.last_mut().expect("an open section");
                    text.push_str(line);
                    text.push('\n');
                }
            } else {
                if let Some(name) = begun.and_then(|begun| begun.strip_suffix("]]")) {
                    open = Some(name.to_owned());
                    sections.push((name.to_owned(), String::new()));
                }
                outside.push_str(line);
                outside.push('\n');
            }
        }
        assert!(open.is_none(), "a section is not closed: {open:?}");
        let code = outside.rsplit("Code of this request: ").next().unwrap_or_default();
        let code = code.chars().take_while(char::is_ascii_hexdigit).collect();
        let tags = outside.lines().filter_map(|line| line.strip_prefix("- m-"));
        let tags = tags.map(|line| format!("m-{}", line.split(':').next().unwrap_or_default()));
        let tags = tags.collect();
        Self { nth, request: request.clone(), mark, code, tags, sections, outside }
    }

    /// How many rules there are.
    pub(crate) fn rules(&self) -> usize {
        self.request.system.lines().filter(|line| line.starts_with("Rule ")).count()
    }

    /// The number of the rule of that name.
    pub(crate) fn number(&self, rule: &str) -> usize {
        let lines = self.request.system.lines();
        let line = lines.into_iter().find(|line| line.contains(&format!("(@{rule})")));
        let number = line.expect("the rule").split([' ']).nth(1).expect("a number");
        number.parse().expect("a number")
    }

    pub(crate) fn section(&self, name: &str) -> &str {
        let found = self.sections.iter().find(|(section, _)| section == name);
        &found.unwrap_or_else(|| panic!("no section `{name}`")).1
    }

    /// All data.
    pub(crate) fn data(&self) -> String {
        self.sections.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The same answer for all rules.
    pub(crate) fn all(&self, outcome: &str, confidence: f64, rationale: &str) -> String {
        let one = |rule| (rule, outcome.to_owned(), confidence, rationale.to_owned(), Vec::new());
        self.answer((1..=self.rules()).map(one).collect())
    }

    pub(crate) fn answer(&self, answers: Vec<(usize, String, f64, String, Vec<String>)>) -> String {
        let answers: Vec<Value> = answers
            .into_iter()
            .map(|(rule, outcome, confidence, rationale, quotes)| {
                json!({
                    "rule": rule, "outcome": outcome, "confidence": confidence,
                    "rationale": rationale, "quotes": quotes,
                })
            })
            .collect();
        json!({ "request": self.code, "answers": answers }).to_string()
    }
}
