//! The agent responds to its own incident, in a conversation of its own.
//!
//! It does not go on with the conversation of the task: what led the agent to do harm may stand in it.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError},
};

use air_core::{
    port::{BoxFuture, Hands, HandsError, Order, Report, Responder, ResponderError, ToolInfo},
    step::{Arguments, Observation},
};
use air_llm::{
    Fence, Model, Purpose,
    judge::{Randomness, SystemRandomness},
    prompts,
};
use serde_json::json;

use crate::{
    agent::{Acted, Agent, AgentError, Ended, Environment, Limits, Style},
    conversation::Conversation,
};

/// The tool that ends a response.
const REPORT: &str = "report";
/// How much of the incident's step an agent is shown, in bytes.
const MOST_SHOWN: usize = 16 << 10;

/// Follows orders by a model.
#[derive(Clone)]
pub struct AgentResponder {
    model: Arc<dyn Model>,
    random: Arc<dyn Randomness>,
}

impl std::fmt::Debug for AgentResponder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentResponder").field("model", &self.model).finish_non_exhaustive()
    }
}

impl AgentResponder {
    /// A responder on this model.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self::with_randomness(model, Arc::new(SystemRandomness))
    }

    /// The same, with randomness from elsewhere than the system.
    pub fn with_randomness(model: Arc<dyn Model>, random: Arc<dyn Randomness>) -> Self {
        Self { model, random }
    }
}

impl Responder for AgentResponder {
    fn respond<'a>(
        &'a self,
        order: &'a Order,
        hands: &'a mut dyn Hands,
    ) -> BoxFuture<'a, Result<Report, ResponderError>> {
        Box::pin(async move {
            let fence =
                Fence::new(&*self.random).map_err(|why| ResponderError::Failed(why.into()))?;
            let limits = Limits { steps: order.max_calls.saturating_add(1), ..Limits::default() };
            let agent = Agent {
                purpose: Purpose::Response,
                instructions: Some(prompts::RESPOND.text.to_owned()),
                limits,
                nonces: vec![fence.mark().to_owned(), order.incident.to_string()],
                ..Agent::new(Arc::clone(&self.model), Style::ReAct)
            };
            let mut conversation = Conversation::begin(text(order, &fence));
            let mut room = Room { hands, report: Mutex::default(), failed: None };
            let ended = agent.work(&mut conversation, &mut room).await;
            if let Some(report) = room.take() {
                return Ok(report);
            }
            if let Some(error) = room.failed.take() {
                return Err(ResponderError::Ended(error));
            }
            match ended {
                Err(AgentError::Model(error)) => Err(ResponderError::Failed(Box::new(error))),
                Err(error) => Err(ResponderError::Failed(Box::new(error))),
                Ok(Ended::Limit(why) | Ended::Over(why)) => Err(ResponderError::Limit(why)),
                Ok(Ended::Answered(_)) => Err(ResponderError::Silent),
            }
        })
    }
}

/// The tools of the response, and `report`.
struct Room<'a> {
    hands: &'a mut dyn Hands,
    report: Mutex<Option<Report>>,
    failed: Option<HandsError>,
}

impl Room<'_> {
    fn take(&self) -> Option<Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Environment for Room<'_> {
    fn tools(&self) -> Vec<ToolInfo> {
        let mut tools = self.hands.tools();
        tools.retain(|tool| tool.name != REPORT);
        tools.push(ToolInfo {
            description: "Ends the response: what was done, and how sure you are.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "summary": { "type": "string", "description": "what was done" },
                    "confidence": {
                        "type": "number",
                        "description": "from 0 to 1: that the harm has stopped and the state is restored",
                    },
                },
                "required": ["summary", "confidence"],
                "additionalProperties": false,
            }),
            ..ToolInfo::unknown(REPORT)
        });
        tools
    }

    async fn act(&mut self, plan: &str, tool: &str, arguments: Arguments) -> Result<Acted, String> {
        if tool == REPORT {
            let Some(report) = report(&arguments) else {
                let error = Some("`report` takes a summary and a confidence".to_owned());
                return Ok(Acted::Seen(Observation { error, ..Observation::default() }));
            };
            *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
            return Ok(Acted::Over("reported".to_owned()));
        }
        match self.hands.call(plan, tool, arguments).await {
            Ok(seen) => Ok(Acted::Seen(seen)),
            Err(HandsError::Limit(why)) => Ok(Acted::Refused(format!("{why}; report now"))),
            Err(error) => {
                let why = error.to_string();
                self.failed = Some(error);
                Ok(Acted::Over(why))
            }
        }
    }
}

fn report(arguments: &Arguments) -> Option<Report> {
    let summary = arguments.get("summary")?.as_str()?.to_owned();
    let confidence = arguments.get("confidence")?.as_f64()?;
    Some(Report { summary, confidence })
}

/// What the agent is told. What the rules say is the operator's word; all else is data.
fn text(order: &Order, fence: &Fence) -> String {
    let mark = fence.mark();
    let mut text = format!("Incident {}. The mark of data is {mark}.\n", order.incident);
    let names = order.rules.iter().map(|rule| format!("@{}", rule.name));
    let _ = writeln!(text, "\nRules that hold: {}.", names.collect::<Vec<_>>().join(", "));
    for rule in &order.rules {
        let _ = writeln!(text, "- @{}: {}", rule.name, one_line(&rule.check));
    }
    match order.remediate.as_slice() {
        [] => {
            text.push_str("\nNo rule says what is to be done: find out by yourself, and do it.\n");
        }
        told => {
            text.push_str("\nDo this:\n");
            for what in told {
                let _ = writeln!(text, "- {}", one_line(what));
            }
        }
    }
    let step = &order.step.proposed;
    let call = serde_json::Value::Object(step.call.arguments.clone()).to_string();
    let seen = order.step.observation.as_ref().map(Observation::output).unwrap_or_default();
    let sections = [
        ("task", order.task.clone()),
        ("plan", step.plan.clone()),
        ("call", format!("{} {call}", step.call.tool)),
        ("returned", seen),
        ("evidence", order.evidence.join("\n")),
        ("earlier tries", order.failures.join("\n")),
    ];
    for (name, data) in sections {
        if !data.is_empty() {
            text.push_str(&fence.section(name, &data, MOST_SHOWN));
        }
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
