//! Plays a case and writes its transcript.

use std::{fmt::Write as _, sync::Arc};

use air_core::{
    evaluation::FindingRecord,
    fact::PathLabels,
    id::SessionId,
    incident::{Ending, Incident, IncidentEvent, State},
    port::{Event, Ids as _, Journal as _, Stream},
    rule::Rule,
};
use air_facts::{CodeParser, LabelTable};
use air_runtime::{GateReply, Opening, Ports, ReviewReply, Session};
use air_synth::Compiler;
use futures::executor::block_on;

use crate::{
    scripted::{Counting, MemoryStore, ScriptedTools, ScriptedWorkspace},
    suite::Case,
};

/// A case that could not be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// Its rules have errors; the diagnostics refer to the rules' text.
    #[error("{} of its rules: {first}", if *.count == 1 { "1 error".to_owned() } else { format!("{} errors", .count) })]
    Rules {
        /// How many.
        count: usize,
        /// The first one.
        first: String,
    },
    /// The engine failed.
    #[error(transparent)]
    Runtime(#[from] air_runtime::RuntimeError),
    /// The label table is broken.
    #[error("labels: {0}")]
    Labels(#[from] air_facts::LabelError),
}

/// Plays the steps, lets AIR respond, and plays them once more with what was learned. The transcript
/// has a line for each step of both runs, one for the events of the session, and one for those of
/// each incident.
///
/// # Errors
///
/// If the rules have errors, or the engine failed.
pub fn run(case: &Case) -> Result<String, CaseError> {
    let stage = Stage::new(&case.rules, ScriptedWorkspace::default())?;
    let mut transcript = String::new();
    stage.play(case, "step", &mut transcript)?;
    stage.journal(&mut transcript)?;
    stage.play(case, "again", &mut transcript)?;
    Ok(transcript)
}

fn rules(text: &str) -> Result<Vec<Rule>, CaseError> {
    let parsed = air_lang::parse(text);
    let errors: Vec<_> = parsed
        .diagnostics()
        .iter()
        .filter(|found| found.severity == air_lang::Severity::Error)
        .collect();
    match errors.first() {
        Some(first) => Err(CaseError::Rules { count: errors.len(), first: first.message.clone() }),
        None => Ok(parsed.into_rules()),
    }
}

/// Scripted ports, put together.
#[derive(Debug)]
pub struct Stage {
    rules: Vec<Rule>,
    /// The journal and the guardrails.
    pub store: Arc<MemoryStore>,
    /// Where tools act.
    pub workspace: Arc<ScriptedWorkspace>,
    /// The tools of responses.
    pub tools: Arc<ScriptedTools>,
    counting: Arc<Counting>,
    /// All of them, for a session.
    pub ports: Ports,
}

impl Stage {
    /// A stage with these rules, in the rule language, over this workspace.
    ///
    /// # Errors
    ///
    /// If the rules have errors.
    pub fn new(text: &str, workspace: ScriptedWorkspace) -> Result<Self, CaseError> {
        let rules = rules(text)?;
        let store = Arc::new(MemoryStore::default());
        let workspace = Arc::new(workspace);
        let tools = Arc::new(ScriptedTools::default());
        let counting = Arc::new(Counting::default());
        let code = Arc::new(CodeParser::new());
        let labels: Arc<dyn PathLabels> = Arc::new(LabelTable::built_in()?);
        let synthesizer = Compiler::new(Arc::<CodeParser>::clone(&code), Arc::clone(&labels));
        let ports = Ports {
            journal: Arc::<MemoryStore>::clone(&store),
            guardrails: Arc::<MemoryStore>::clone(&store),
            workspace: Arc::<ScriptedWorkspace>::clone(&workspace),
            tools: Arc::<ScriptedTools>::clone(&tools),
            code,
            rules: Arc::new(air_lang::LangRules),
            labels,
            operator: Arc::<Counting>::clone(&counting),
            clock: Arc::<Counting>::clone(&counting),
            ids: Arc::<Counting>::clone(&counting),
            inspector: None,
            judge: None,
            synthesizer: Some(Arc::new(synthesizer)),
        };
        Ok(Self { rules, store, workspace, tools, counting, ports })
    }

    /// How a session begins under these rules.
    pub fn opening(&self, session: SessionId, task: &str) -> Opening {
        Opening {
            session,
            task: task.to_owned(),
            agent: "case".to_owned(),
            rules: self.rules.clone(),
            rules_digest: String::new(),
            policy: air_core::policy::FailPolicy::default(),
        }
    }

    fn play(&self, case: &Case, word: &str, out: &mut String) -> Result<(), CaseError> {
        let opening = self.opening(self.counting.session(), &case.script.task);
        let mut session = block_on(Session::open(self.ports.clone(), opening))?;
        for (number, step) in (1_u32..).zip(&case.script.step) {
            let call = format!("call-{number}");
            let reply = block_on(session.before_step(
                call.as_str().into(),
                step.plan.clone(),
                step.tool.clone(),
                step.args.clone(),
            ))?;
            let line = match reply {
                GateReply::Refused { findings, .. } if findings.is_empty() => "not run".to_owned(),
                GateReply::Refused { findings, .. } => {
                    let records: Vec<FindingRecord> =
                        findings.iter().map(air_core::evaluation::Finding::record).collect();
                    format!("block{}", names(&records))
                }
                GateReply::Run { ticket, notes } => {
                    self.workspace.change(step.effects.observed());
                    let seen = Some(step.observation());
                    let gate = if notes.is_empty() { "allow" } else { "warn" };
                    let gate = format!("{gate}{}", names(&notes));
                    match block_on(session.after_step(*ticket, seen))? {
                        ReviewReply::Continue(notes) if notes.is_empty() => {
                            format!("{gate}, continue")
                        }
                        ReviewReply::Continue(notes) => {
                            format!("{gate}, undetermined{}", names(&notes))
                        }
                        ReviewReply::Held(notes) => format!("{gate}, hold{}", names(&notes)),
                        ReviewReply::Incident(incident) => {
                            block_on(session.idle())?;
                            let found = &incident.detection().findings;
                            format!("{gate}, respond{}", names(found))
                        }
                    }
                }
            };
            let _ = writeln!(out, "{word} {number}: {line}");
        }
        block_on(session.end())?;
        Ok(())
    }

    fn journal(&self, out: &mut String) -> Result<(), CaseError> {
        for stream in block_on(self.store.streams()).map_err(air_runtime::RuntimeError::from)? {
            let records =
                block_on(self.store.read(&stream)).map_err(air_runtime::RuntimeError::from)?;
            let subject = match &stream {
                Stream::Session(_) => "session",
                Stream::Incident(_) => "incident",
            };
            let mut events = Vec::new();
            let mut incident = Vec::new();
            for record in records {
                match record.event {
                    Event::Session(event) => events.push(event.name().to_owned()),
                    Event::Incident(event) => {
                        events.extend(told(&event));
                        incident.push(event);
                    }
                }
            }
            let _ = writeln!(out, "{subject}: {}", events.join(", "));
            if let Stream::Incident(id) = stream {
                let incident =
                    Incident::replay(id, &incident).map_err(air_runtime::RuntimeError::from)?;
                self.guardrail(&incident, out)?;
            }
        }
        Ok(())
    }

    fn guardrail(&self, incident: &Incident, out: &mut String) -> Result<(), CaseError> {
        use air_core::port::GuardrailStore as _;
        let Some(adopted) = incident.adopted() else { return Ok(()) };
        let history =
            block_on(self.store.history(&adopted.id)).map_err(air_runtime::RuntimeError::from)?;
        let text = history.last().map_or("", |guardrail| guardrail.text.as_str());
        let decide = text.lines().find(|line| line.starts_with("decide"));
        let _ = writeln!(out, "guardrail: {}", decide.unwrap_or("none"));
        Ok(())
    }
}

/// The part of an incident's event that a case expects.
fn told(event: &IncidentEvent) -> Option<String> {
    Some(match event {
        IncidentEvent::ActionStarted { .. } | IncidentEvent::Preserved { .. } => return None,
        IncidentEvent::ActionFinished { result: Ok(done), .. } => done.clone(),
        IncidentEvent::ActionFinished { result: Err(why), .. } => format!("failed: {why}"),
        IncidentEvent::Detected(_) => "detected".to_owned(),
        IncidentEvent::OrderGiven { .. } => "order given".to_owned(),
        IncidentEvent::AgentAnswered => "agent answered".to_owned(),
        IncidentEvent::TryFailed { phase, .. } => format!("{} again", phase.name()),
        IncidentEvent::PhaseEnded { phase, ending, .. } => {
            let ending = match ending {
                Ending::Done => "done",
                Ending::NotApplicable => "n.a.",
                Ending::Off => "off",
                Ending::Failed { .. } => "failed",
            };
            format!("{} {ending}", phase.name())
        }
        IncidentEvent::Escalated { .. } => "escalated".to_owned(),
        IncidentEvent::Resumed { .. } => "resumed".to_owned(),
        IncidentEvent::Closed { classification } => {
            State::Closed(*classification).name().to_owned()
        }
        IncidentEvent::GivenUp { .. } => "given up".to_owned(),
    })
}

fn names(findings: &[FindingRecord]) -> String {
    findings.iter().fold(String::new(), |mut names, found| {
        let _ = write!(names, " @{}", found.rule);
        names
    })
}
