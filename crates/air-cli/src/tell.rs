//! What is told of an agent at work, as it happens: each step, what it was found to be, and each stage of
//! an incident.

mod ending;
mod incident;
mod speech;

use air::{Air, Host, StepOutcome};
use air_core::{evaluation::FindingRecord, outcome::Outcome};
use serde::Serialize;

pub use self::{
    ending::steps,
    incident::{classification_name, state_name},
};
use crate::{args::Format, context::Context, error::CliError};

/// How much of a tool's output a person is shown, in lines.
const MOST_LINES: usize = 8;

/// How much of a call, and of a line of output, a person is shown, in characters.
const MOST_SHOWN: usize = 90;

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum End {
    /// The agent came to its end, and no incident was found.
    Done {
        /// Calls that were refused on the way. They did not run.
        #[serde(skip_serializing_if = "is_zero")]
        refused: usize,
    },
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

impl End {
    /// The agent came to its end, and nothing was found.
    pub const DONE: Self = Self::Done { refused: 0 };
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
        /// Guardrails that were not read.
        unread: u64,
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
                self.held()
            }
            StepOutcome::Refused { message, .. } => self.stage("blocked", message),
            StepOutcome::Incident { observation, .. } => self.ran(number, tool, observation),
            StepOutcome::Overtaken { .. } => {
                self.stage("not run", "the step before is an incident")
            }
        }
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
            End::Done { refused } => format!("{}, no incident", ran(steps, *refused)),
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn ran(steps: usize, refused: usize) -> String {
    match refused {
        0 => format!("{steps} steps ran"),
        1 => format!("{steps} steps ran, 1 call was refused"),
        more => format!("{steps} steps ran, {more} calls were refused"),
    }
}

/// Untrusted text without what a terminal would obey.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}
