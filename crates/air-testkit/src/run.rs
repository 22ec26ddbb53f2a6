//! Plays a case, and says whether what came is what was expected.

use std::sync::{Arc, OnceLock, atomic::Ordering};

use air_core::{
    fact::PathLabels,
    id::{CallId, SessionId},
    incident::{Incident, IncidentEvent},
    port::{Event, Journal as _, Stream},
    rule::Rule,
};
use air_facts::{CodeParser, LabelTable};
use air_runtime::{GateReply, Opening, Ports, Session};
use air_synth::Compiler;
use futures::executor::block_on;

use crate::{
    coverage::{Coverage, ProbedRules, RuleProbe},
    scripted::{Counting, MemoryStore, ScriptedTools, ScriptedWorkspace},
    suite::{Case, Expect, Step},
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

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// Whether it is what was expected.
    pub passed: bool,
    /// What was expected: a transcript, or a verdict.
    pub expected: String,
    /// What came.
    pub actual: String,
}

/// Plays a case under its rules.
///
/// # Errors
///
/// If the engine failed.
pub fn run(case: &Case) -> Result<Played, CaseError> {
    run_under(case, &case.rules)
}

/// Plays a case under other rules than its own.
///
/// # Errors
///
/// If the engine failed.
pub fn run_under(case: &Case, rules: &[Rule]) -> Result<Played, CaseError> {
    let workspace = ScriptedWorkspace::with_files(case.script.files.clone());
    play(case, &Stage::with_rules(rules.to_vec(), workspace)?)
}

/// Plays a case of the suite `file` under its rules, and remembers what it exercises.
///
/// # Errors
///
/// If the engine failed.
pub fn run_covered(case: &Case, file: &str, coverage: &mut Coverage) -> Result<Played, CaseError> {
    let (rules, probes) = coverage.probed(case, file);
    let mut workspace = ScriptedWorkspace::with_files(case.script.files.clone());
    workspace.responding = coverage.responding();
    let mut stage = Stage::with_rules(rules.clone(), workspace)?;
    stage.ports.rules = Arc::new(ProbedRules(rules));
    stage.probes = probes;
    let played = play(case, &stage)?;
    stage.cover()?;
    Ok(played)
}

fn play(case: &Case, stage: &Stage) -> Result<Played, CaseError> {
    match &case.expect {
        Expect::Transcript { text, .. } => {
            let actual = stage.transcript(&case.script)?;
            let passed = actual.trim() == text.trim();
            Ok(Played { passed, expected: text.clone(), actual })
        }
        Expect::Verdict { verdict, by } => stage.verdict(&case.script, *verdict, by),
    }
}

/// The built-in labels: read once, for cases are many.
fn labels() -> Result<Arc<LabelTable>, air_facts::LabelError> {
    static LABELS: OnceLock<Arc<LabelTable>> = OnceLock::new();
    if let Some(labels) = LABELS.get() {
        return Ok(Arc::clone(labels));
    }
    let labels = Arc::new(LabelTable::built_in()?);
    Ok(Arc::clone(LABELS.get_or_init(|| labels)))
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
    /// Its ids and its clock.
    pub counting: Arc<Counting>,
    probes: Vec<Arc<RuleProbe>>,
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
        Self::with_rules(rules(text)?, workspace)
    }

    /// A stage with these rules over this workspace.
    ///
    /// # Errors
    ///
    /// If the built-in label table is broken.
    pub fn with_rules(rules: Vec<Rule>, workspace: ScriptedWorkspace) -> Result<Self, CaseError> {
        let store = Arc::new(MemoryStore::default());
        let workspace = Arc::new(workspace);
        let tools = Arc::new(ScriptedTools::default());
        let counting = Arc::new(Counting::default());
        let code = Arc::new(CodeParser::new());
        let labels: Arc<dyn PathLabels> = labels()?;
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
            background: None,
            responder: None,
            spendings: None,
            repairer: None,
            synthesizer: Some(Arc::new(synthesizer)),
        };
        Ok(Self { rules, store, workspace, tools, counting, probes: Vec::new(), ports })
    }

    /// A step begins: may it run?
    pub(crate) fn propose(
        &self,
        session: &mut Session,
        number: u32,
        step: &Step,
    ) -> Result<GateReply, CaseError> {
        self.workspace.responding.store(false, Ordering::Relaxed);
        self.probes.iter().for_each(|probe| probe.activated(&step.tool, true));
        let call = CallId::from(format!("call-{number}").as_str());
        let Step { plan, tool, args, .. } = step.clone();
        Ok(block_on(session.before_step(call, plan, tool, args))?)
    }

    /// Its call has run.
    pub(crate) fn has_run(&self, tool: &str) {
        self.probes.iter().for_each(|probe| probe.activated(tool, false));
    }

    /// Remembers what the incidents did.
    fn cover(&self) -> Result<(), CaseError> {
        for stream in block_on(self.store.streams()).map_err(air_runtime::RuntimeError::from)? {
            let Stream::Incident(id) = &stream else { continue };
            let records =
                block_on(self.store.read(&stream)).map_err(air_runtime::RuntimeError::from)?;
            let events: Vec<IncidentEvent> = records
                .into_iter()
                .filter_map(|record| match record.event {
                    Event::Incident(event) => Some(event),
                    Event::Session(_) => None,
                })
                .collect();
            let incident =
                Incident::replay(id.clone(), &events).map_err(air_runtime::RuntimeError::from)?;
            self.probes.iter().for_each(|probe| probe.responded(&incident, &events));
        }
        Ok(())
    }

    /// How a session begins under these rules.
    pub fn opening(&self, session: SessionId, task: &str) -> Opening {
        Opening {
            beside: None,
            engine: None,
            concurrent: Arc::default(),
            session,
            task: task.to_owned(),
            agent: "case".to_owned(),
            rules: self.rules.clone(),
            rules_digest: String::new(),
            policy: air_core::policy::FailPolicy::default(),
            enforce: true,
            respond: true,
            models: air_runtime::Models::default(),
            judge: None,
        }
    }
}
