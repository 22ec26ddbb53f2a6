//! One conversation with one model: the question, what it looks up, and its answer, repaired once.

use std::{fmt::Write as _, sync::Arc};

use air_core::{
    id::CallId,
    port::{ReadOnly, ToolBox as _},
    question::QuestionKind,
    rule::Rule,
    step::ToolCall,
};
use air_wire::{Message, Part, Request, Role, Stop, Tool, ToolChoice};

use super::{
    answer::{self, Answers},
    ask,
    data::Data,
    likelihood::likelihoods,
    random::Secrets,
    settings::{Confidence, JudgeSettings},
    text::Bounded,
};
use crate::{Call, Model, ModelError, Purpose, prompts};

/// A tool whose description or parameters are longer is not offered as it is, in bytes.
const MOST_DESCRIPTION: usize = 1 << 10;
const MOST_PARAMETERS: usize = 16 << 10;
const MOST_TOOLS: usize = 64;

/// What is asked.
pub(super) struct Question {
    pub(super) kind: QuestionKind,
    pub(super) rules: Vec<Arc<Rule>>,
    pub(super) data: Arc<Data>,
    pub(super) look: Option<ReadOnly>,
    pub(super) purpose: Purpose,
}

/// What was answered, and what it may rest on.
pub(super) struct Round {
    pub(super) answers: Answers,
    /// The data as the model saw it.
    pub(super) shown: String,
    pub(super) secrets: Secrets,
    /// It looked at something that is not in the question.
    pub(super) looked: bool,
}

/// Asks `model`, lets it look, and reads its answer.
///
/// # Errors
///
/// The model gave no answer at all.
pub(super) async fn ask(
    model: &dyn Model,
    question: &Question,
    settings: &JudgeSettings,
    secrets: Secrets,
) -> Result<Round, ModelError> {
    let tools = question.look.as_ref().map(tools).unwrap_or_default();
    let looks = !tools.is_empty() && settings.look_rounds > 0 && settings.look_calls > 0;
    let (kind, rules) = (question.kind, &question.rules);
    let mut request = ask::request(kind, rules, &question.data, &secrets, settings, looks);
    if looks {
        request.tools = tools;
    }
    if settings.confidence == Confidence::LogProbabilities {
        request.top_logprobs = Some(5);
    }
    let shown = shown(&request);
    let round = Round { answers: Vec::new(), shown, secrets, looked: false };
    let talk = Talk { model, question, settings, request, round, calls: 0, unknown: false };
    talk.run(looks).await
}

struct Talk<'a> {
    model: &'a dyn Model,
    question: &'a Question,
    settings: &'a JudgeSettings,
    request: Request,
    round: Round,
    calls: u32,
    /// It has called a tool that does not exist.
    unknown: bool,
}

impl Talk<'_> {
    async fn run(mut self, looks: bool) -> Result<Round, ModelError> {
        let rules = self.question.rules.len();
        let (mut purpose, mut looks_left, mut repaired) = (self.question.purpose, looks, false);
        let mut rounds = 0;
        loop {
            if !looks_left && !self.request.tools.is_empty() {
                self.request.tool_choice = ToolChoice::None;
            }
            let mut call = Call::new(purpose, self.request.clone());
            call.deadline = self.settings.deadline;
            call.nonces = self.round.secrets.nonces(self.question.data.signs.len());
            let answer = self.model.answer(call).await?;
            if let Stop::Refused(why) = &answer.stop {
                let why = Bounded::new(why, 200).harmless(&self.round.secrets.mark);
                self.round.answers =
                    vec![Err(format!("the model declined to answer: {why}")); rules];
                return Ok(self.round);
            }
            let calls: Vec<_> = answer.calls().cloned().collect();
            if looks_left && !calls.is_empty() {
                rounds += 1;
                let known = self.look(answer.parts, calls).await;
                // Said back once; whoever goes on with it has no use for tools.
                looks_left = rounds < self.settings.look_rounds
                    && self.calls < self.settings.look_calls
                    && (known || !self.unknown);
                self.unknown |= !known;
                if purpose != Purpose::Probe {
                    purpose = Purpose::Inspection;
                }
                continue;
            }
            let text = answer.text();
            match answer::read(&text, &self.round.secrets.code, rules) {
                Ok(mut answers) => {
                    if self.settings.confidence == Confidence::LogProbabilities {
                        believe(&mut answers, &likelihoods(&answer.probabilities));
                    }
                    self.round.answers = answers;
                    return Ok(self.round);
                }
                Err(why) if repaired => {
                    let why = format!("the judge gave no usable answer, twice: {why}");
                    self.round.answers = vec![Err(why); rules];
                    return Ok(self.round);
                }
                Err(why) => {
                    (repaired, looks_left) = (true, false);
                    self.repair(&text, &why, answer.stop == Stop::Length);
                }
            }
        }
    }

    fn repair(&mut self, text: &str, why: &str, cut_off: bool) {
        let start = text.get(..text.floor_char_boundary(4 << 10)).unwrap_or_default();
        // An empty turn is refused by some providers.
        let said = if start.trim().is_empty() { "(no text)" } else { start };
        self.request.messages.push(Message::assistant(said));
        let asked = prompts::REPAIR.text.replace("{error}", why);
        let code = &self.round.secrets.code;
        let asked = format!("{asked}\nCode of this request: {code}\n");
        self.request.messages.push(Message::user(asked));
        if cut_off {
            let tokens = self.request.max_output_tokens;
            self.request.max_output_tokens = tokens.map(|tokens| tokens.saturating_mul(2));
        }
    }

    /// Calls what it wants called; whether all of these tools exist.
    async fn look(&mut self, said: Vec<Part>, calls: Vec<air_wire::ToolCall>) -> bool {
        let mut results = Vec::new();
        let mut known = true;
        for call in calls {
            let (text, is_error) = if self.calls >= self.settings.look_calls {
                ("no further call is made: answer by what you have seen".to_owned(), true)
            } else {
                self.calls += 1;
                match self.look_at(&call).await {
                    Ok(text) => (text, false),
                    Err(Missed::NoTool) => {
                        known = false;
                        ("there is no such tool among those that are offered".to_owned(), true)
                    }
                    Err(Missed::Failed(text)) => (text, true),
                }
            };
            results.push(Part::ToolResult {
                call: call.id,
                name: call.name,
                content: text,
                is_error,
            });
        }
        self.request.messages.push(Message { role: Role::Assistant, parts: said });
        self.request.messages.push(Message { role: Role::User, parts: results });
        known
    }

    async fn look_at(&mut self, call: &air_wire::ToolCall) -> Result<String, Missed> {
        let offered = self.request.tools.iter().any(|tool| tool.name == call.name);
        let Some(look) = self.question.look.as_ref().filter(|_| offered) else {
            return Err(Missed::NoTool);
        };
        let arguments = call.parsed().map_err(Missed::Failed)?;
        let id = CallId::from(call.id.as_str());
        let wanted = ToolCall { id, tool: call.name.clone(), arguments, native: None };
        let mark = &self.round.secrets.mark;
        let limit = self.settings.look_bytes;
        self.round.looked = true;
        let (text, failed) = match look.call(&wanted).await {
            Ok(seen) => (seen.output(), seen.error.is_some()),
            Err(error) => (error.to_string(), true),
        };
        let text = ask::looked("result", &Bounded::new(&text, limit).harmless(mark), mark);
        let _ = write!(self.round.shown, "{text}");
        if failed { Err(Missed::Failed(text)) } else { Ok(text) }
    }
}

enum Missed {
    NoTool,
    Failed(String),
}

/// The tools that change nothing, as a model sees them.
fn tools(look: &ReadOnly) -> Vec<Tool> {
    let offered = look.all().into_iter().take(MOST_TOOLS).map(|tool| {
        let described = Bounded::new(&tool.description, MOST_DESCRIPTION);
        let small = tool.parameters.to_string().len() <= MOST_PARAMETERS;
        let any = serde_json::json!({ "type": "object" });
        Tool {
            name: tool.name,
            description: described.harmless(""),
            parameters: if small { tool.parameters } else { any },
        }
    });
    offered.collect()
}

/// All texts of the first turn.
fn shown(request: &Request) -> String {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Puts the probability of each answer in the place of what the model says of it.
fn believe(answers: &mut Answers, likelihoods: &[(&'static str, f64)]) {
    for given in answers.iter_mut().flatten() {
        let outcome = match given.yes {
            Some(true) => "yes",
            Some(false) => "no",
            None => "cannot_tell",
        };
        match likelihoods.get(given.at) {
            Some((said, likelihood)) if *said == outcome => given.confidence = *likelihood,
            _ => {}
        }
    }
}
