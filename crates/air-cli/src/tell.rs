//! What is told of an agent at work, as it happens: each step, what it was found to be, and each stage of
//! an incident.

use air::{Air, Host, StepOutcome};
use air_core::{
    evaluation::FindingRecord,
    incident::{Ending, Incident, IncidentEvent, Phase, State},
    outcome::Outcome,
    port::GuardrailStore as _,
};
use air_llm::{Spent, dollars};
use futures::executor::block_on;
use serde::Serialize;

use crate::{args::Format, context::Context, error::CliError};

/// How much of a tool's output a person is shown, in lines.
const MOST_LINES: usize = 8;

/// How much of a call, and of a line of output, a person is shown, in characters.
const MOST_SHOWN: usize = 90;

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// Every step ran and nothing was found.
    Done,
    /// A step was refused; the ones after it did not run.
    Blocked {
        /// Its position in the script, from 1.
        step: usize,
        /// The guardrails that refused it.
        guardrails: Vec<String>,
    },
    /// A step was an incident; the ones after it did not run.
    Incident {
        /// Its position in the script, from 1.
        step: usize,
        /// The incident.
        incident: String,
    },
    /// A critical rule could not be decided after a step; the ones after it did not run.
    Held {
        /// Its position in the script, from 1.
        step: usize,
    },
    /// The agent did not come to an end by itself.
    Limit {
        /// What ended it.
        why: String,
    },
}

/// One line of `--format json`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'l> {
    Session {
        version: u32,
        session: &'l str,
        tier: String,
    },
    Step {
        step: usize,
        tool: &'l str,
        output: &'l str,
        error: Option<&'l str>,
    },
    Note {
        step: usize,
        rule: &'l str,
        why: &'l str,
    },
    Stage {
        stage: &'l str,
        text: &'l str,
    },
    Plan {
        step: usize,
        tool: &'l str,
        plan: &'l str,
    },
    Answer {
        text: &'l str,
    },
    Spent {
        purpose: &'l str,
        calls: u64,
        input_tokens: u64,
        cached_tokens: u64,
        output_tokens: u64,
        micro_usd: Option<u64>,
    },
    Ended {
        #[serde(flatten)]
        end: &'l End,
    },
}

/// Tells of one session.
#[derive(Debug)]
pub struct Teller<'t, 'w> {
    context: &'t mut Context<'w>,
    air: &'t Air,
    /// What the model has said of a line that is not whole yet.
    line: String,
}

impl<'t, 'w> Teller<'t, 'w> {
    /// A teller of what happens in this store.
    pub fn new(context: &'t mut Context<'w>, air: &'t Air) -> Self {
        Self { context, air, line: String::new() }
    }

    /// Where it tells.
    pub fn context(&mut self) -> &mut Context<'w> {
        self.context
    }
}

impl Teller<'_, '_> {
    /// The model says something more. Whole lines are shown: a secret may come in pieces.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn says(&mut self, text: &str) -> Result<(), CliError> {
        self.line.push_str(text);
        while let Some(end) = self.line.find('\n') {
            let line: String = self.line.drain(..=end).collect();
            self.words(line.trim_end())?;
        }
        Ok(())
    }

    /// The model has said what it had to say.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn said(&mut self) -> Result<(), CliError> {
        let line = std::mem::take(&mut self.line);
        if line.trim().is_empty() { Ok(()) } else { self.words(line.trim_end()) }
    }

    /// The model's last words, where they were not shown as they came.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn answer(&mut self, text: &str) -> Result<(), CliError> {
        let text = air_core::redact::redact(text);
        if self.json() {
            return self.context.json(&Line::Answer { text: &text });
        }
        text.lines().try_for_each(|line| self.words(line))
    }

    fn words(&mut self, line: &str) -> Result<(), CliError> {
        let style = self.context.style(anstyle::Style::new().italic());
        let line = plain(&air_core::redact::redact(line));
        Ok(writeln!(self.context.streams.out, "{style}{line}{style:#}")?)
    }

    /// What the agent says before a step. A person has read it already.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn planned(&mut self, step: usize, plan: &str, tool: &str) -> Result<(), CliError> {
        if !self.json() {
            return Ok(());
        }
        let plan = &air_core::redact::redact(plan);
        self.context.json(&Line::Plan { step, tool, plan })
    }

    /// What became of a step, but for an incident, which is told when it is worked on.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn came(
        &mut self,
        number: usize,
        tool: &str,
        outcome: &StepOutcome,
    ) -> Result<(), CliError> {
        match outcome {
            StepOutcome::Ran { observation, notes } => {
                self.ran(number, tool, observation)?;
                self.notes(number, notes)
            }
            StepOutcome::Held { observation, notes } => {
                self.ran(number, tool, observation)?;
                self.notes(number, notes)?;
                self.stage("held", "a critical rule could not be decided")
            }
            StepOutcome::Refused { message, .. } => self.stage("blocked", message),
            StepOutcome::Incident { observation, .. } => self.ran(number, tool, observation),
            StepOutcome::Overtaken { .. } => {
                self.stage("not run", "the step before is an incident")
            }
        }
    }

    /// What models took, by purpose.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn spent(&mut self, spent: &Spent) -> Result<(), CliError> {
        for (purpose, tally) in spent.iter() {
            let (purpose, usage) = (purpose.name(), tally.usage);
            let (calls, micro_usd) = (tally.calls, tally.cost());
            if self.json() {
                self.context.json(&Line::Spent {
                    purpose,
                    calls,
                    input_tokens: usage.input,
                    cached_tokens: usage.cached,
                    output_tokens: usage.output,
                    micro_usd,
                })?;
                continue;
            }
            let cost = micro_usd.map_or_else(|| "price unknown".to_owned(), dollars);
            let text = format!(
                "{purpose}: {calls} {}, {} tokens in ({} cached), {} out, {cost}",
                if calls == 1 { "call" } else { "calls" },
                usage.input,
                usage.cached,
                usage.output,
            );
            self.stage("model", &text)?;
        }
        Ok(())
    }

    /// Something that a person should know.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn warn(&mut self, text: &str) -> Result<(), CliError> {
        Ok(writeln!(self.context.streams.err, "warning: {}", plain(text))?)
    }

    fn json(&self) -> bool {
        self.context.format == Format::Json
    }

    /// Which session it is, and what is missing of its confinement.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn session(&mut self, host: &Host) -> Result<(), CliError> {
        let tier = host.tier();
        if self.json() {
            let session = host.session().id().as_str();
            return self.context.json(&Line::Session {
                version: 1,
                session,
                tier: tier.to_string(),
            });
        }
        if tier == air_core::port::Tier::T1 {
            let text = "the agent's code runs with your rights: nothing contains it (T1)";
            writeln!(self.context.streams.err, "warning: {text}")?;
        }
        if let Some(why) = host.without_layer() {
            let text = "tools change the workspace at once, without a layer above it";
            writeln!(self.context.streams.err, "warning: {text}: {}", plain(why))?;
        }
        Ok(())
    }

    /// A step is about to be examined.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn step(
        &mut self,
        number: usize,
        tool: &str,
        arguments: &air_core::step::Arguments,
    ) -> Result<(), CliError> {
        if self.json() {
            return Ok(());
        }
        let shown = ["code", "command", "path"].iter().find_map(|name| arguments.get(*name));
        let shown = shown.and_then(serde_json::Value::as_str).unwrap_or_default();
        let lines = shown.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = air_core::redact::redact(&lines.collect::<Vec<_>>().join("; "));
        let more = if line.chars().nth(MOST_SHOWN).is_some() { " …" } else { "" };
        let line: String = line.chars().take(MOST_SHOWN).collect();
        Ok(writeln!(self.context.streams.out, "step {number}  {tool}  {}{more}", plain(&line))?)
    }

    /// What a tool returned.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn ran(
        &mut self,
        number: usize,
        tool: &str,
        seen: &air_core::step::Observation,
    ) -> Result<(), CliError> {
        if self.json() {
            let output = &air_core::redact::redact(&seen.content);
            let error = seen.error.as_deref().map(air_core::redact::redact);
            let error = error.as_deref();
            return self.context.json(&Line::Step { step: number, tool, output, error });
        }
        let lines: Vec<&str> = seen.content.lines().collect();
        for line in lines.iter().take(MOST_LINES) {
            let shown: String = line.chars().take(MOST_SHOWN).collect();
            let more = if shown.len() < line.len() { " …" } else { "" };
            let shown = plain(&air_core::redact::redact(&shown));
            writeln!(self.context.streams.out, "  | {shown}{more}")?;
        }
        if lines.len() > MOST_LINES {
            writeln!(self.context.streams.out, "  | … {} more lines", lines.len() - MOST_LINES)?;
        }
        if let Some(error) = &seen.error {
            let error = air_core::redact::redact(error);
            self.stage("failed", error.lines().last().unwrap_or_default())?;
        }
        Ok(())
    }

    /// Rules that warn, or could not be decided.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn notes(&mut self, number: usize, notes: &[FindingRecord]) -> Result<(), CliError> {
        for note in notes {
            let (stage, why) = match &note.verdict.outcome {
                Outcome::Undetermined(why) => ("undecided", why.as_ref()),
                Outcome::Satisfied | Outcome::Unsatisfied => ("warned", "it holds, and warns only"),
            };
            if self.json() {
                self.context.json(&Line::Note { step: number, rule: note.rule.as_str(), why })?;
            } else {
                self.stage(stage, &format!("@{}: {why}", note.rule))?;
            }
        }
        Ok(())
    }

    /// Tells an incident, has it worked on to its rest, and tells that.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn whole_incident(
        &mut self,
        host: &mut Host,
        incident: &Incident,
    ) -> Result<End, CliError> {
        self.incident(incident, 0)?;
        if let Some(done) = block_on(host.idle())? {
            self.incident(&done, incident.revision())?;
        }
        let step = usize::try_from(incident.detection().index).unwrap_or(usize::MAX);
        Ok(End::Incident { step, incident: incident.id().to_string() })
    }

    /// Tells what happened to an incident after its first `told` events.
    fn incident(&mut self, incident: &Incident, told: u64) -> Result<(), CliError> {
        let record = block_on(air::records::incident(self.air.journal(), incident.id()))?;
        let skip = usize::try_from(told).unwrap_or(usize::MAX);
        for (_, event) in
            record.events.iter().skip(skip).take(
                usize::try_from(incident.revision()).unwrap_or(usize::MAX).saturating_sub(skip),
            )
        {
            self.event(incident, event)?;
        }
        Ok(())
    }

    fn event(&mut self, incident: &Incident, event: &IncidentEvent) -> Result<(), CliError> {
        match event {
            IncidentEvent::Detected(detection) => {
                let rules: Vec<String> = detection
                    .findings
                    .iter()
                    .map(|found| format!("@{} ({})", found.rule, found.severity.keyword()))
                    .collect();
                self.stage(
                    "detected",
                    &format!("{}: incident {}", rules.join(", "), incident.id()),
                )?;
                for line in &detection.evidence {
                    self.stage("", line)?;
                }
            }
            IncidentEvent::ActionFinished { result, .. } => match result {
                Ok(done) => self.stage("action", done)?,
                Err(why) => self.stage("failed", why)?,
            },
            IncidentEvent::TryFailed { phase, why } => {
                self.stage("again", &format!("{}: {why}", phase.name()))?;
            }
            IncidentEvent::PhaseEnded { phase, ending, verdict, adopted } => {
                let proof = verdict.as_ref().map(|verdict| verdict.rationale.as_str());
                self.phase(*phase, ending, proof)?;
                if let Some(adopted) = adopted {
                    let store = block_on(self.air.journal().current())?;
                    let text = store.iter().find(|guardrail| guardrail.id == adopted.id);
                    let text = text.map_or("", |guardrail| guardrail.text.as_str());
                    let line = text.lines().next().unwrap_or_default();
                    let id = &adopted.id;
                    self.stage("guardrail", &format!("{id} is enforced from now on: {line}"))?;
                }
            }
            IncidentEvent::Escalated { failed } => {
                let failed: Vec<&str> = failed.iter().map(|phase| phase.name()).collect();
                let (id, failed) = (incident.id(), failed.join(", "));
                let way = format!(
                    "look at it, then `airctl resume {id} --dismiss AS` or `--give-up WHY`"
                );
                self.stage("escalated", &format!("a person is needed: {failed}; {way}"))?;
            }
            IncidentEvent::AgentActed { tool, refused, .. } => match refused {
                None => self.stage("response", &format!("the agent called `{tool}`"))?,
                Some(why) => self.stage("refused", &format!("`{tool}`: {why}"))?,
            },
            IncidentEvent::AgentReported { summary, confidence, .. } => {
                self.stage("reported", &format!("{summary} (confidence {confidence:.2})"))?;
            }
            IncidentEvent::OrderGiven { .. }
            | IncidentEvent::AgentAnswered
            | IncidentEvent::ActionStarted { .. }
            | IncidentEvent::Preserved { .. }
            | IncidentEvent::Resumed { .. }
            | IncidentEvent::Closed { .. }
            | IncidentEvent::GivenUp { .. } => {}
        }
        Ok(())
    }

    fn phase(
        &mut self,
        phase: Phase,
        ending: &Ending,
        proof: Option<&str>,
    ) -> Result<(), CliError> {
        let done = match phase {
            Phase::Containment => "contained",
            Phase::Recovery => "recovered",
            Phase::Eradication => return self.eradication(ending),
        };
        match ending {
            Ending::Done => {
                self.stage(done, "")?;
                self.stage("verified", proof.unwrap_or_default())
            }
            Ending::NotApplicable if phase == Phase::Containment => {
                self.stage(done, "nothing is left to contain")
            }
            Ending::NotApplicable => self.stage(done, "not applicable: only past events prove it"),
            Ending::Off => self.stage(done, "switched off"),
            Ending::Failed { why } => self.stage("failed", &format!("{}: {why}", phase.name())),
        }
    }

    fn eradication(&mut self, ending: &Ending) -> Result<(), CliError> {
        match ending {
            Ending::Failed { why } => self.stage("failed", &format!("eradication: {why}")),
            Ending::Off => self.stage("guardrail", "none: learning is off"),
            Ending::Done | Ending::NotApplicable => Ok(()),
        }
    }

    /// One stage, with a word in front.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn stage(&mut self, stage: &str, text: &str) -> Result<(), CliError> {
        if self.json() {
            return self.context.json(&Line::Stage { stage, text });
        }
        let style = self.context.style(match stage {
            "detected" | "failed" | "escalated" | "held" => {
                anstyle::AnsiColor::Red.on_default().bold()
            }
            "blocked" | "guardrail" => anstyle::AnsiColor::Cyan.on_default().bold(),
            "contained" | "recovered" | "verified" => anstyle::AnsiColor::Green.on_default().bold(),
            _ => anstyle::Style::new().dimmed(),
        });
        let text = plain(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        let line = format!("  {style}{stage:<10}{style:#} {text}");
        Ok(writeln!(self.context.streams.out, "{}", line.trim_end())?)
    }

    /// What became of the changes that were made on a layer.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn published(&mut self, host: &Host) -> Result<(), CliError> {
        let Some(publication) = host.session().publication() else { return Ok(()) };
        let (changed, id) = (publication.changed, host.session().id());
        let text = match changed {
            0 => "nothing".to_owned(),
            1 => format!("1 path in the workspace; `airctl undo --session {id}` takes that back"),
            _ => format!(
                "{changed} paths in the workspace; `airctl undo --session {id}` takes that back"
            ),
        };
        self.stage("published", &text)?;
        for path in &publication.merged {
            self.stage("merged", &format!("{path}: somebody else had changed it, too"))?;
        }
        for path in &publication.held_back {
            self.stage("held back", path)?;
        }
        Ok(())
    }

    /// How it ended, after so many steps.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn ended(&mut self, end: &End, steps: usize) -> Result<(), CliError> {
        if self.json() {
            return self.context.json(&Line::Ended { end });
        }
        let rest = |step: usize| match steps - step {
            0 => String::new(),
            1 => ", and 1 later step did not run".to_owned(),
            more => format!(", and {more} later steps did not run"),
        };
        let text = match end {
            End::Done => format!("{steps} steps ran, no incident"),
            End::Blocked { step, .. } => format!("blocked: step {step} did not run{}", rest(*step)),
            End::Incident { step, incident } => {
                format!("incident {incident}: the task was ended after step {step}{}", rest(*step))
            }
            End::Limit { why } => format!("stopped after {steps} steps: {}", plain(why)),
            End::Held { step } => format!("held after step {step}{}", rest(*step)),
        };
        Ok(writeln!(self.context.streams.out, "{text}")?)
    }
}

/// Untrusted text without what a terminal would obey.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// A state for a person.
pub fn state_name(state: &State) -> String {
    match state {
        State::Closed(classification) => {
            format!("closed ({})", classification_name(*classification))
        }
        State::Escalated(failed) => {
            let failed: Vec<&str> = failed.iter().map(|phase| phase.name()).collect();
            format!("escalated ({})", failed.join(", "))
        }
        other => other.name().to_owned(),
    }
}

/// A classification for a person.
pub fn classification_name(classification: air_core::incident::Classification) -> &'static str {
    use air_core::incident::Classification as C;
    match classification {
        C::TruePositive => "true positive",
        C::BenignPositive => "benign positive",
        C::FalsePositive => "false positive",
        C::Undetermined => "undetermined",
    }
}
