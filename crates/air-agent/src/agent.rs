//! A task, done step by step.

use std::{future, sync::Arc};

use air_core::{
    port::ToolInfo,
    step::{Arguments, Image, Observation},
};
use air_llm::{Call, Listener, Model, ModelError, Purpose, prompts};
use air_wire::{Answer, Message, Part, Request, Role, Stop, Tool, ToolCall};
use futures::future::{Either, select};

use crate::{
    blocks::{self, Found},
    conversation::{Conversation, OBSERVATION},
};

/// What an agent acts through. AIR stands here.
pub trait Environment {
    /// The tools that it may use.
    fn tools(&self) -> Vec<ToolInfo>;

    /// One step: plan, tool, arguments. An error ends the task.
    fn act(
        &mut self,
        plan: &str,
        tool: &str,
        arguments: Arguments,
    ) -> impl Future<Output = Result<Acted, String>>;

    /// Waits, while the model plans, until there is something for [`Self::take_up`]; by default for ever.
    /// It may be dropped at any time.
    fn news(&mut self) -> impl Future<Output = ()> {
        future::pending()
    }

    /// Takes up what [`Self::news`] has waited for. Why the task is over, where it is; an error ends it,
    /// too.
    fn take_up(&mut self) -> impl Future<Output = Result<Option<String>, String>> {
        future::ready(Ok(None))
    }

    /// Hears what is said as it is said: so that it can be shown, and kept.
    fn heard(&mut self, _what: Heard<'_>) {}
}

/// Something that was said.
#[derive(Debug)]
pub enum Heard<'a> {
    /// The model's turn is over. The conversation has it.
    Turn(&'a Conversation),
}

/// What became of a step.
#[derive(Debug)]
pub enum Acted {
    /// It ran.
    Seen(Observation),
    /// It was refused, and why.
    Refused(String),
    /// The task is over: the step was an incident, or nothing may run any more.
    Over(String),
}

/// How an agent acts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// It calls tools.
    #[default]
    ReAct,
    /// It writes code.
    CodeAct,
}

/// What a task may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Steps, those that are refused included.
    pub steps: u32,
    /// Refusals in a row.
    pub refusals: u32,
    /// Answers in a row from which nothing follows.
    pub idle: u32,
    /// Tokens of one answer.
    pub output_tokens: u32,
    /// Bytes of one observation that the model sees: both its ends.
    pub observation_bytes: usize,
    /// Bytes of the whole conversation, by [`Conversation::fit`].
    pub conversation_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 50,
            refusals: 3,
            idle: 2,
            output_tokens: 8192,
            observation_bytes: 16 << 10,
            conversation_bytes: 512 << 10,
        }
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The agent says that it is done.
    Answered(String),
    /// A step ended it.
    Over(String),
    /// A limit ended it.
    Limit(String),
}

/// The agent could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The model gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The step could not be made.
    #[error("{0}")]
    Environment(String),
}

/// A model with a style and limits.
#[derive(Clone)]
pub struct Agent {
    /// The model.
    pub model: Arc<dyn Model>,
    /// How it acts.
    pub style: Style,
    /// What a task may take.
    pub limits: Limits,
    /// What its requests are for.
    pub purpose: Purpose,
    /// In the place of the style's own instructions.
    pub instructions: Option<String>,
    /// Hears the model while it speaks.
    pub listener: Option<Listener>,
    /// Texts made at random for this task: a recording does not tell requests apart by them.
    pub nonces: Vec<String>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.model)
            .field("style", &self.style)
            .finish_non_exhaustive()
    }
}

/// A turn that wants something done.
struct Wanted {
    plan: String,
    calls: Vec<ToolCall>,
}

/// How far a task is.
#[derive(Debug, Default)]
struct Pace {
    steps: u32,
    refusals: u32,
    idle: u32,
}

/// What a model is told of a call.
struct Told {
    content: String,
    is_error: bool,
    images: Vec<Image>,
}

impl Told {
    fn error(content: String) -> Self {
        Self { content, is_error: true, images: Vec::new() }
    }
}

/// What became of a call.
enum Stepped {
    Told(Told),
    Limit(String),
    Over(String),
}

impl Agent {
    /// An agent of this style, with usual limits.
    pub fn new(model: Arc<dyn Model>, style: Style) -> Self {
        let limits = Limits::default();
        Self {
            model,
            style,
            limits,
            purpose: Purpose::Agent,
            instructions: None,
            listener: None,
            nonces: Vec::new(),
        }
    }

    /// Works until it answers, or something ends it. `conversation` begins with the task, and goes on
    /// where it stands.
    ///
    /// # Errors
    ///
    /// If the model or the environment failed.
    pub async fn work(
        &self,
        conversation: &mut Conversation,
        environment: &mut impl Environment,
    ) -> Result<Ended, AgentError> {
        let mut pace = Pace::default();
        loop {
            if pace.idle > self.limits.idle {
                return Ok(Ended::Limit(format!("{} answers led nowhere", pace.idle)));
            }
            conversation.fit(self.limits.conversation_bytes);
            let answer = match self.heeding(conversation, environment).await? {
                Ok(answer) => answer,
                Err(why) => return Ok(Ended::Over(why)),
            };
            conversation
                .messages
                .push(Message { role: Role::Assistant, parts: answer.parts.clone() });
            environment.heard(Heard::Turn(conversation));
            let wanted = match self.wanted(&answer) {
                Ok(Some(wanted)) => wanted,
                Ok(None) => return Ok(Ended::Answered(answer.text())),
                Err(why) => {
                    pace.idle += 1;
                    conversation.close(&why);
                    if answer.calls().next().is_none() {
                        conversation.say(why);
                    }
                    continue;
                }
            };
            let mut results = Vec::new();
            let mut end = None;
            for call in &wanted.calls {
                let told = match &end {
                    Some(why) => Told::error(format!("not run: {why}")),
                    None => match self.step(&mut pace, &wanted.plan, call, environment).await? {
                        Stepped::Told(told) => told,
                        Stepped::Limit(why) => {
                            let told = Told::error(format!("not run: {why}"));
                            end = Some(why);
                            told
                        }
                        Stepped::Over(why) => return Ok(Ended::Over(why)),
                    },
                };
                results.push((call, told));
            }
            conversation.messages.push(self.results(results));
            environment.heard(Heard::Turn(conversation));
            if pace.refusals >= self.limits.refusals {
                end = end.or(Some(format!("{} calls were refused", pace.refusals)));
            }
            if let Some(why) = end {
                return Ok(Ended::Limit(why));
            }
        }
    }

    /// The model's answer, or why the task is over before it has come.
    async fn heeding(
        &self,
        conversation: &Conversation,
        environment: &mut impl Environment,
    ) -> Result<Result<Answer, String>, AgentError> {
        let mut asked = Box::pin(self.ask(conversation, environment.tools()));
        loop {
            let news = Box::pin(environment.news());
            match select(asked, news).await {
                Either::Left((answer, _)) => return Ok(Ok(answer?)),
                Either::Right(((), going)) => asked = going,
            }
            let over = environment.take_up().await.map_err(AgentError::Environment)?;
            if let Some(why) = over {
                return Ok(Err(why));
            }
        }
    }

    /// One call that the model wants made.
    async fn step(
        &self,
        pace: &mut Pace,
        plan: &str,
        call: &ToolCall,
        environment: &mut impl Environment,
    ) -> Result<Stepped, AgentError> {
        let told = |content| Stepped::Told(Told::error(content));
        if pace.steps >= self.limits.steps {
            return Ok(Stepped::Limit(format!("{} steps were made", pace.steps)));
        }
        let arguments = match call.parsed() {
            Ok(arguments) => arguments,
            Err(why) => {
                pace.idle += 1;
                return Ok(told(format!("not run: {why}")));
            }
        };
        if !environment.tools().iter().any(|tool| tool.name == call.name) {
            pace.idle += 1;
            return Ok(told(format!("there is no tool `{}`", call.name)));
        }
        pace.steps += 1;
        pace.idle = 0;
        let acted = environment.act(plan, &call.name, arguments).await;
        Ok(match acted.map_err(AgentError::Environment)? {
            Acted::Seen(seen) => {
                pace.refusals = 0;
                let content = shown(&seen, self.limits.observation_bytes);
                let is_error = seen.error.is_some();
                Stepped::Told(Told { content, is_error, images: seen.images })
            }
            Acted::Refused(why) => {
                pace.refusals += 1;
                told(format!("refused: {why}"))
            }
            Acted::Over(why) => Stepped::Over(why),
        })
    }

    async fn ask(
        &self,
        conversation: &Conversation,
        tools: Vec<ToolInfo>,
    ) -> Result<Answer, ModelError> {
        let (own, tools) = match self.style {
            Style::ReAct => (prompts::REACT.text, tools.into_iter().map(offered).collect()),
            Style::CodeAct => (prompts::CODEACT.text, Vec::new()),
        };
        let request = Request {
            system: self.instructions.clone().unwrap_or_else(|| own.to_owned()),
            messages: conversation.messages.clone(),
            tools,
            max_output_tokens: Some(self.limits.output_tokens),
            stream: self.listener.is_some(),
            ..Request::default()
        };
        let call = Call {
            listener: self.listener.clone(),
            nonces: self.nonces.clone(),
            ..Call::new(self.purpose, request)
        };
        self.model.answer(call).await
    }

    /// What the answer wants done; `None` where it is the last one.
    ///
    /// # Errors
    ///
    /// What to say to a model whose answer cannot be followed.
    fn wanted(&self, answer: &Answer) -> Result<Option<Wanted>, String> {
        let text = answer.text();
        let cut = answer.stop == Stop::Length;
        let refused = matches!(answer.stop, Stop::Refused(_));
        match self.style {
            Style::ReAct => {
                let calls: Vec<ToolCall> = answer.calls().cloned().collect();
                // Of calls that were cut off nobody knows what they would have been.
                if cut {
                    return Err(
                        "Your answer was cut off, and nothing of it was run. Be shorter.".into()
                    );
                }
                if !calls.is_empty() {
                    return Ok(Some(Wanted { plan: text, calls }));
                }
            }
            Style::CodeAct => match blocks::first(&text) {
                Found::Block(block) => {
                    let arguments = serde_json::json!({ block.argument: block.source });
                    let call = ToolCall {
                        id: String::new(),
                        name: block.tool.to_owned(),
                        arguments: arguments.to_string(),
                    };
                    return Ok(Some(Wanted { plan: block.plan, calls: vec![call] }));
                }
                Found::Unfinished => {
                    return Err(
                        "Your code was cut off and did not run. Write a shorter block.".into()
                    );
                }
                Found::Nothing => {}
            },
        }
        if text.trim().is_empty() && !refused {
            return Err("You said nothing. Go on with the task, or say that it is done.".into());
        }
        Ok(None)
    }

    fn results(&self, results: Vec<(&ToolCall, Told)>) -> Message {
        let mut parts = Vec::new();
        let mut pictures = Vec::new();
        for (call, Told { content, is_error, images }) in results {
            parts.push(match self.style {
                Style::ReAct => Part::ToolResult {
                    call: call.id.clone(),
                    name: call.name.clone(),
                    content,
                    is_error,
                },
                Style::CodeAct => Part::Text(format!("{OBSERVATION}{content}")),
            });
            pictures.extend(images);
        }
        // Results of tools are texts in some dialects; pictures follow them in all.
        let picture = |Image { media_type, data }| Part::Image { media_type, data };
        parts.extend(pictures.into_iter().map(picture));
        Message { role: Role::User, parts }
    }
}

pub(crate) fn offered(tool: ToolInfo) -> Tool {
    Tool { name: tool.name, description: tool.description, parameters: tool.parameters }
}

/// An observation as a model sees it: both ends of it.
pub(crate) fn shown(seen: &Observation, most: usize) -> String {
    let output = seen.output();
    if output.len() <= most {
        return output;
    }
    let head = output.floor_char_boundary(most / 2);
    let tail = output.ceil_char_boundary(output.len() - most / 2);
    let left_out = tail - head;
    let (first, last) = (output.get(..head), output.get(tail..));
    format!(
        "{}\n[{left_out} bytes are left out]\n{}",
        first.unwrap_or_default(),
        last.unwrap_or_default()
    )
}
