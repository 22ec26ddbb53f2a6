//! What a server turns out not to understand, and how to ask without it.

use air_wire::{Answer, Request, Stop, ToolChoice};
use serde_json::Value;

/// One thing that is left out, or said in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quirk {
    /// It does not know how to demand a certain tool: any is demanded, and only that one offered.
    AnyTool,
    /// `max_tokens` is called `max_completion_tokens`.
    NewTokenLimit,
    /// And the other way round.
    OldTokenLimit,
    /// No temperature but its own.
    Temperature,
    /// No seed.
    Seed,
    /// No probabilities.
    Probabilities,
    /// No form of the answer: whoever reads it checks it anyway.
    Form,
    /// No account of tokens in a stream.
    StreamUsage,
}

/// What is known of a model, in the order in which it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Quirks(Vec<Quirk>);

impl Quirks {
    /// These, and the one that a refusal tells; `None` if it tells none that is new.
    pub(super) fn learn(
        &self,
        request: &Request,
        body: &Value,
        status: u16,
        said: &str,
    ) -> Option<Self> {
        if !matches!(status, 400 | 422 | 501) {
            return None;
        }
        let said = said.to_ascii_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let unknown = names(&UNKNOWN);
        let sends = |field| body.get(field).is_some();
        #[rustfmt::skip]
        let table = [
            (Quirk::AnyTool,       matches!(request.tool_choice, ToolChoice::Named(_)) && names(&["tool_choice", "toolchoice", "tool choice"])),
            (Quirk::NewTokenLimit, sends("max_tokens") && names(&["max_completion_tokens"])),
            (Quirk::OldTokenLimit, sends("max_completion_tokens") && unknown && names(&["max_completion_tokens"])),
            (Quirk::Temperature,   request.temperature.is_some() && unknown && names(&["temperature"])),
            (Quirk::Seed,          request.seed.is_some() && unknown && names(&["seed"])),
            (Quirk::Probabilities, request.top_logprobs.is_some() && (unknown || names(&["requires"])) && names(&["logprobs"])),
            (Quirk::Form,          request.output.is_some() && unknown && names(&FORM)),
            (Quirk::StreamUsage,   sends("stream_options") && unknown && names(&["stream_options"])),
        ];
        let (quirk, _) =
            table.into_iter().find(|(quirk, told)| *told && !self.0.contains(quirk))?;
        let mut more = self.clone();
        more.0.push(quirk);
        Some(more)
    }

    /// These, and that a demand for a certain tool is ignored, if `answer` shows that and it is new.
    pub(super) fn notice(&self, request: &Request, answer: &Answer) -> Option<Self> {
        let named = matches!(request.tool_choice, ToolChoice::Named(_));
        let ignored = named && answer.stop == Stop::End && answer.calls().next().is_none();
        (ignored && !self.0.contains(&Quirk::AnyTool)).then(|| {
            let mut more = self.clone();
            more.0.push(Quirk::AnyTool);
            more
        })
    }

    /// All of both.
    pub(super) fn add(&mut self, other: Self) {
        let new = other.0.into_iter().filter(|quirk| !self.0.contains(quirk)).collect::<Vec<_>>();
        self.0.extend(new);
    }

    /// The request without what is not understood.
    pub(super) fn soften(&self, request: &Request) -> Request {
        let mut request = request.clone();
        for quirk in &self.0 {
            match quirk {
                Quirk::AnyTool => {
                    if let ToolChoice::Named(name) = &request.tool_choice {
                        request.tools.retain(|tool| tool.name == *name);
                        request.tool_choice = ToolChoice::Required;
                    }
                }
                Quirk::Temperature => request.temperature = None,
                Quirk::Seed => request.seed = None,
                Quirk::Probabilities => request.top_logprobs = None,
                Quirk::Form => request.output = None,
                _ => {}
            }
        }
        request
    }

    /// The same, for what only a dialect knows.
    pub(super) fn rewrite(&self, body: &mut Value) {
        let Some(body) = body.as_object_mut() else { return };
        for quirk in &self.0 {
            let (old, new) = match quirk {
                Quirk::NewTokenLimit => ("max_tokens", Some("max_completion_tokens")),
                Quirk::OldTokenLimit => ("max_completion_tokens", Some("max_tokens")),
                Quirk::StreamUsage => ("stream_options", None),
                _ => continue,
            };
            if let Some(value) = body.remove(old)
                && let Some(new) = new
            {
                body.insert(new.to_owned(), value);
            }
        }
    }
}

/// How servers say that they do not know something, as opposed to what is wrong with it.
const UNKNOWN: [&str; 12] = [
    "unsupported",
    "not supported",
    "n't support",
    "not support",
    "unknown",
    "unrecognized",
    "unexpected",
    "extra inputs",
    "not permitted",
    "not allowed",
    "not available",
    "deprecated",
];

const FORM: [&str; 8] = [
    "response_format",
    "json_schema",
    "responseschema",
    "response_schema",
    "responsejsonschema",
    "output_format",
    "output_config",
    "text.format",
];
