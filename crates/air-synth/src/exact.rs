//! The exact generalisation of what happened, validated.

use std::{future, sync::Arc};

use air_core::{
    code::CodeFacts,
    fact::{Facts, PathLabels, Root},
    guardrail::Mode,
    id::IncidentId,
    outcome::Outcome,
    port::{BoxFuture, CodeReader, Synthesis, SynthesisError, SynthesisRequest, Synthesizer},
    rule::{Decision, Hit, Rule, RuleKind},
    step::ToolCall,
    value::Value,
};

use crate::{
    candidate::{Candidate, candidates},
    cause::{Effect, Parts},
};

/// What derived a guardrail, with its version.
const BY: &str = "exact/1";
/// Ways past this many are a program, not a cause.
const MAX_WAYS: usize = 8;
/// Effects past this many are not tried one by one.
const MAX_EFFECTS: usize = 256;

/// Derives guardrails that hold on the incident's calls and on as little else as can be said.
#[derive(Clone)]
pub struct ExactSynthesizer {
    reader: Arc<dyn CodeReader>,
    labels: Arc<dyn PathLabels>,
}

impl std::fmt::Debug for ExactSynthesizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExactSynthesizer").field("labels", &self.labels).finish_non_exhaustive()
    }
}

impl Synthesizer for ExactSynthesizer {
    fn synthesize<'a>(
        &'a self,
        request: SynthesisRequest<'a>,
    ) -> BoxFuture<'a, Result<Synthesis, SynthesisError>> {
        Box::pin(future::ready(self.derive(request)))
    }
}

impl ExactSynthesizer {
    /// A synthesizer that reads calls with `reader`, and evaluates with `labels`.
    pub fn new(reader: Arc<dyn CodeReader>, labels: Arc<dyn PathLabels>) -> Self {
        Self { reader, labels }
    }

    /// A guardrail for this incident. The same request gives the same guardrail.
    ///
    /// # Errors
    ///
    /// Where one is there already, where the text would hold a secret, and where nothing that can be
    /// said holds on the incident's call and on no benign one.
    pub fn derive(&self, request: SynthesisRequest<'_>) -> Result<Synthesis, SynthesisError> {
        let error = |why: String| Err(SynthesisError(why));
        let call = &request.step.proposed.call;
        let facts = self.facts(call, request.code, Some(&request.step.proposed.plan), &request);
        let id = format!("g-{}", request.incident.id());
        if let Some(other) = covering(&request, &facts, &id) {
            return error(format!("already covered by guardrail `{other}`"));
        }
        if !is_word(&call.tool) || !is_word(request.incident.id().as_str()) {
            return error(format!("tool `{}` cannot be named in a rule", call.tool));
        }
        let benign: Vec<Facts> = request
            .benign
            .iter()
            .filter(|benign| benign.call.tool == call.tool)
            .map(|benign| self.facts(&benign.call, &benign.code, None, &request))
            .collect();
        let ways = self.ways(&request, &facts);
        let mut why = "the call has no arguments to tell it by".to_owned();
        for candidate in candidates(call, request.code, &ways) {
            if candidate.secret {
                "the call cannot be told without what looks like a secret".clone_into(&mut why);
                continue;
            }
            let text = rule_text(&request, &candidate);
            match validate(&text, &facts, &benign) {
                Ok(()) => return Ok(Synthesis { id: id.as_str().into(), text, by: BY.to_owned() }),
                Err(found) => why = found,
            }
        }
        error(why)
    }

    /// The ways in which the incident came about: one suffices, all parts of it together.
    fn ways(&self, request: &SynthesisRequest<'_>, facts: &Facts) -> Vec<Parts> {
        let effects = || Effect::all(request.effects).take(MAX_EFFECTS);
        let mut ways: Vec<Parts> = Vec::new();
        let add = |effect: Effect<'_>, ways: &mut Vec<Parts>| {
            let parts = effect.causes(request.code);
            if !parts.is_empty() && !ways.contains(&parts) {
                ways.push(parts);
            }
        };
        let alone = effects().filter(|effect| self.suffices(*effect, request, facts));
        alone.for_each(|effect| add(effect, &mut ways));
        if !ways.is_empty() {
            ways.truncate(MAX_WAYS);
            return ways;
        }
        // No single effect is known to be enough, so all of them together are what happened.
        effects().for_each(|effect| add(effect, &mut ways));
        let mut together = Parts::new();
        for part in ways.into_iter().flatten() {
            if !together.contains(&part) && together.len() < MAX_WAYS {
                together.push(part);
            }
        }
        if together.is_empty() { Vec::new() } else { vec![together] }
    }

    /// Whether the incident's rule holds on this effect alone, and not without it.
    fn suffices(&self, effect: Effect<'_>, request: &SynthesisRequest<'_>, facts: &Facts) -> bool {
        let Some(condition) = request.rule.decision.sufficient() else { return false };
        let holds = |effects: &air_core::effects::Effects| {
            let facts = facts.clone().with(Root::Effects, effects.to_value(&*self.labels));
            condition.evaluate(&facts).is_satisfied()
        };
        !holds(&air_core::effects::Effects::default()) && holds(&effect.alone())
    }

    fn facts(
        &self,
        call: &ToolCall,
        code: &CodeFacts,
        plan: Option<&str>,
        request: &SynthesisRequest<'_>,
    ) -> Facts {
        let unknown = || Value::unknown("not recorded with the call");
        let arguments = call.arguments.iter().map(|(name, value)| (name.as_str(), value.into()));
        Facts::new(Arc::clone(&self.labels))
            .with(Root::Tool, Value::from(call.tool.as_str()))
            .with(Root::Args, Value::record(arguments))
            .with(Root::Plan, plan.map_or_else(unknown, Value::from))
            .with(Root::Task, unknown())
            .with(Root::Agent, unknown())
            .with(Root::Session, Value::from(request.step.proposed.session.as_str()))
            .with(Root::Code, code.to_value(&*self.labels))
    }
}

/// The guardrail that refuses the call already. One of this very incident does not count: a crash
/// after it was stored must derive the same one again.
fn covering<'a>(request: &SynthesisRequest<'a>, facts: &Facts, own: &str) -> Option<&'a str> {
    let tool = &request.step.proposed.call.tool;
    let others = request.existing.iter();
    let mut others = others.filter(|it| it.mode == Mode::Enforce && it.id.as_str() != own);
    let refuses = |rule: &Rule| {
        let blocks = matches!(rule.kind, RuleKind::Guardrail { hit: Hit::Block, .. });
        blocks && rule.trigger.matches(tool) && holds(rule, facts).is_satisfied()
    };
    let found = others.find(|it| air_lang::parse(&it.text).rules().iter().any(refuses));
    found.map(|it| it.id.as_str())
}

/// Whether the conditions of `rule` hold.
fn holds(rule: &Rule, facts: &Facts) -> Outcome {
    match &rule.decision {
        Decision::Decide(condition) => condition.evaluate(facts),
        Decision::Bounds { when, evidence } => {
            let not_excluded = when.as_ref().map_or(Outcome::Satisfied, |it| it.evaluate(facts));
            let open = || Outcome::undetermined("no condition decides it");
            let proved = evidence.as_ref().map_or_else(open, |it| it.evaluate(facts));
            not_excluded.and(proved)
        }
    }
}

fn validate(text: &str, incident: &Facts, benign: &[Facts]) -> Result<(), String> {
    let parsed = air_lang::parse(text);
    let (false, [rule]) = (parsed.has_errors(), parsed.rules()) else {
        let first = parsed.diagnostics().first().map(|found| found.message.clone());
        return Err(format!("what was derived is no rule: {}", first.unwrap_or_default()));
    };
    match holds(rule, incident) {
        Outcome::Satisfied => {}
        Outcome::Unsatisfied => {
            return Err("what was derived misses the incident's call".to_owned());
        }
        Outcome::Undetermined(why) => {
            return Err(format!("what was derived cannot be told of the incident's call: {why}"));
        }
    }
    for facts in benign {
        match holds(rule, facts) {
            Outcome::Unsatisfied => {}
            Outcome::Satisfied => {
                return Err("a benign call of this session is like the incident's".to_owned());
            }
            Outcome::Undetermined(why) => {
                return Err(format!("a benign call cannot be told from the incident's: {why}"));
            }
        }
    }
    Ok(())
}

fn rule_text(request: &SynthesisRequest<'_>, candidate: &Candidate) -> String {
    let (rule, incident) = (request.rule, request.incident.id());
    let tool = &request.step.proposed.call.tool;
    let severity = rule.severity.keyword();
    let Candidate { condition, check, .. } = candidate;
    format!(
        "rule @{}.{}\ntrigger {tool}\nseverity {severity}\nfrom incident {incident}\n\
         decide {condition}\ncheck\n  {check}, as in incident {incident}.\nblock\nend\n",
        rule.name,
        suffix(incident),
    )
}

/// The incident as a part of a rule's name.
fn suffix(incident: &IncidentId) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    incident.as_str().chars().map(plain).collect()
}

/// Whether `text` stands for itself as an argument of a clause.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:/".contains(c))
}
