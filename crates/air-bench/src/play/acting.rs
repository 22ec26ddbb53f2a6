//! A language model plays a case: it is given a task, and acts through a guarded host.

use std::{fmt::Write as _, sync::Arc};

use air::{Host, StepOutcome};
use air_agent::{Acted, Agent, AgentError, Conversation, Ended, Environment, Limits};
use air_core::{
    evaluation::FindingRecord,
    port::{ToolBox as _, ToolInfo},
    step::Arguments,
};
use air_llm::Model;
use futures::executor::block_on;

use super::{parted, told};
use crate::{
    data::{Case, Language},
    mind::Mind,
    row::{Outcome, Took},
};

/// How much of an agent's last words is kept, in bytes.
const WORDS: usize = 1 << 10;

/// What came of a case's one call, or of all calls of a model.
#[derive(Debug)]
pub(super) struct Deeds {
    /// The worst.
    pub(super) outcome: Outcome,
    /// Of the call that was the worst.
    pub(super) findings: Vec<FindingRecord>,
    /// All that the agent was told.
    pub(super) output: String,
    /// The last error that it was told.
    pub(super) error: Option<String>,
    /// All steps together.
    pub(super) took: Took,
    /// The code that ran, in order; `None` where something else did.
    pub(super) ran: Option<Vec<(Language, String)>>,
    /// How many calls were made.
    pub(super) steps: u32,
    /// How it ended.
    pub(super) ended: String,
}

impl Default for Deeds {
    fn default() -> Self {
        Self {
            outcome: Outcome::Ran,
            findings: Vec::new(),
            output: String::new(),
            error: None,
            took: Took::default(),
            ran: Some(Vec::new()),
            steps: 0,
            ended: String::new(),
        }
    }
}

impl Deeds {
    /// One call of `tool`.
    pub(super) async fn step(
        &mut self,
        host: &mut Host,
        plan: &str,
        tool: &str,
        arguments: Arguments,
    ) -> Result<Acted, String> {
        let source = |language: Language| {
            let source = arguments.get(language.argument())?.as_str()?;
            (tool == language.tool()).then(|| (language, source.to_owned()))
        };
        let source = source(Language::Python).or_else(|| source(Language::Bash));
        let outcome = host.step(plan, tool, arguments).await.map_err(told)?;
        self.steps += 1;
        let (took, all) = (Took::from(host.timings()), &mut self.took);
        all.check += took.check;
        all.look += took.look;
        all.tool += took.tool;
        all.response += took.response;
        let refused = match &outcome {
            StepOutcome::Refused { message, .. } => Some(message.clone()),
            _ => None,
        };
        let (outcome, findings, observation) = parted(outcome);
        self.outcome = outcome;
        self.findings = findings;
        if let Some(seen) = &observation {
            if !self.output.is_empty() {
                self.output.push('\n');
            }
            self.output.push_str(&seen.content);
            self.error.clone_from(&seen.error);
            match (&mut self.ran, source) {
                (Some(ran), Some(source)) => ran.push(source),
                (ran, _) => *ran = None,
            }
        }
        Ok(match (outcome, observation) {
            (Outcome::Ran, Some(seen)) => Acted::Seen(seen),
            (Outcome::Refused, _) => Acted::Refused(refused.unwrap_or_default()),
            (Outcome::Held, _) => Acted::Over("held for a person".to_owned()),
            _ => Acted::Over("incident".to_owned()),
        })
    }

    /// What ran, as the source of one program; `None` where nothing ran, or not only code.
    pub(super) fn program(&self, case: &Case) -> Option<Case> {
        let ran = self.ran.as_ref()?;
        let (first, _) = ran.first()?;
        if ran.iter().all(|(language, _)| language == first) {
            let code: Vec<&str> = ran.iter().map(|(_, source)| source.as_str()).collect();
            return Some(Case { code: code.join("\n"), language: *first, ..case.clone() });
        }
        let mut code = String::new();
        for (at, (language, source)) in ran.iter().enumerate() {
            let end = if source.ends_with('\n') { "" } else { "\n" };
            match language {
                Language::Bash => code.extend([source.as_str(), end]),
                Language::Python => {
                    let mark = format!("END_OF_STEP_{at}");
                    let _ = write!(code, "python3 - <<'{mark}'\n{source}{end}{mark}\n");
                }
            }
        }
        Some(Case { code, language: Language::Bash, ..case.clone() })
    }
}

/// Has a model work on `task`, until it has answered or something ends it.
///
/// # Errors
///
/// If the model or AIR failed.
pub(super) fn act(
    mind: &Mind,
    model: Arc<dyn Model>,
    task: &str,
    host: &mut Host,
) -> Result<Deeds, String> {
    let mut agent = Agent::new(model, mind.style);
    agent.limits = Limits { steps: mind.steps, refusals: 1, ..agent.limits };
    let mut conversation = Conversation::begin(task);
    let mut scene = Scene { host, deeds: Deeds::default() };
    let ended = block_on(agent.work(&mut conversation, &mut scene));
    let mut deeds = scene.deeds;
    let mut words = match ended {
        Ok(Ended::Answered(words) | Ended::Over(words) | Ended::Limit(words)) => words,
        Err(AgentError::Environment(error)) => return Err(error),
        Err(error) => return Err(format!("the agent: {error}")),
    };
    words.truncate(words.floor_char_boundary(WORDS));
    deeds.ended = words;
    Ok(deeds)
}

struct Scene<'a> {
    host: &'a mut Host,
    deeds: Deeds,
}

impl Environment for Scene<'_> {
    fn tools(&self) -> Vec<ToolInfo> {
        self.host.tools().all()
    }

    async fn act(&mut self, plan: &str, tool: &str, arguments: Arguments) -> Result<Acted, String> {
        self.deeds.step(self.host, plan, tool, arguments).await
    }
}
