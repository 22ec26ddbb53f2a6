//! Compiles incidents into guardrails.

use std::{
    future,
    sync::{Arc, OnceLock},
};

use air_core::{
    fact::{Facts, PathLabels, Root},
    guardrail::{Guardrail, Mode, Tried},
    id::IncidentId,
    outcome::Outcome,
    port::{
        BoxFuture, CodeReader, Harm, PastStep, Proposal, Synthesis, SynthesisError,
        SynthesisRequest, Synthesizer,
    },
    rule::{Decision, Hit, Rule, RuleKind},
    value::Value,
};

use crate::{
    candidate::{self, is_secret, wrapped},
    cause::{Effect, Parts},
    drafted::{Draft, Words},
    evidence,
    form::{Form, Reach},
    learn, merge,
};

/// What derived a guardrail, with its version.
pub(crate) const BY: &str = "compiler/1";
/// Ways past this many are a program, not a cause.
const MAX_WAYS: usize = 8;
/// Effects past this many are not tried one by one.
pub(crate) const MAX_EFFECTS: usize = 256;
/// A class is enforced at once where, with 95 % confidence, at most this share of benign steps fit it.
const MOST_FALSE: f64 = 0.05;
/// A wider form is enforced once it has foretold so many incidents, and no step that was benign.
const CLEAN_HITS: u32 = 2;

/// Derives guardrails that hold on what led to incidents, and on as little else as can be proved.
#[derive(Clone)]
pub struct Compiler {
    reader: Arc<dyn CodeReader>,
    pub(crate) labels: Arc<dyn PathLabels>,
    shipped: Arc<OnceLock<Vec<PastStep>>>,
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiler").field("labels", &self.labels).finish_non_exhaustive()
    }
}

impl Synthesizer for Compiler {
    fn synthesize<'a>(
        &'a self,
        request: SynthesisRequest<'a>,
    ) -> BoxFuture<'a, Result<Synthesis, SynthesisError>> {
        Box::pin(future::ready(self.compile(request)))
    }
}

/// Everything that is known of one rule's incidents.
pub(crate) struct Case<'a> {
    pub(crate) request: SynthesisRequest<'a>,
    pub(crate) harms: Vec<(Harm, Facts)>,
    /// Steps that nothing objected to.
    pub(crate) benign: Vec<Facts>,
    /// Ordinary work, whatever the session has seen of it.
    pub(crate) shipped: Vec<Facts>,
}

impl Case<'_> {
    /// All that nobody objects to.
    pub(crate) fn ordinary(&self) -> impl Iterator<Item = &Facts> {
        self.benign.iter().chain(&self.shipped)
    }

    /// Whether enough ordinary work is known for more than what was seen to be enforced at once.
    fn may_be_class(&self) -> bool {
        let benign = u32::try_from(self.benign.len() + self.shipped.len()).unwrap_or(u32::MAX);
        Tried { incidents: 0, benign }.false_positive_bound() <= MOST_FALSE
    }
}

/// What is known of a rule's incidents, unless nothing is to be derived.
pub(crate) enum Begun<'a> {
    Covered(Synthesis),
    Frame(Box<Frame<'a>>),
}

/// All but the conditions of a guardrail.
pub(crate) struct Frame<'a> {
    pub(crate) case: Case<'a>,
    /// What the version that is replaced refuses.
    earlier: Vec<Form>,
    /// And in words.
    words: Option<Words>,
    id: String,
    replaces: Option<u32>,
    pub(crate) name: String,
}

impl Compiler {
    /// A compiler that reads calls with `reader`, and evaluates with `labels`.
    pub fn new(reader: Arc<dyn CodeReader>, labels: Arc<dyn PathLabels>) -> Self {
        Self { reader, labels, shipped: Arc::default() }
    }

    /// A guardrail for this incident. The same request gives the same guardrail.
    ///
    /// # Errors
    ///
    /// Where the text would hold a secret, and where nothing that can be said holds on the incident's
    /// call and on no benign one.
    pub fn compile(&self, request: SynthesisRequest<'_>) -> Result<Synthesis, SynthesisError> {
        match self.begin(request)? {
            Begun::Covered(covered) => Ok(covered),
            Begun::Frame(frame) => self.finish(&frame, None).map(Synthesis::Proposed),
        }
    }

    /// What is known before anything is derived.
    pub(crate) fn begin<'a>(
        &self,
        request: SynthesisRequest<'a>,
    ) -> Result<Begun<'a>, SynthesisError> {
        let call = &request.step.proposed.call;
        if let Some(known) = covering(&request) {
            let (id, version) = (known.id.clone(), known.version);
            return Ok(Begun::Covered(Synthesis::Covered { id, version }));
        }
        let incident = request.incident.id();
        if !is_word(&call.tool) || !is_word(incident.as_str()) {
            return Err(SynthesisError(format!("tool `{}` cannot be named in a rule", call.tool)));
        }
        let before = predecessor(&request);
        let name = before.and_then(|it| merge::name(&it.text));
        Ok(Begun::Frame(Box::new(Frame {
            case: self.case(request),
            earlier: before.map(|it| merge::forms(&it.text)).unwrap_or_default(),
            words: before.and_then(|it| merge::words(&it.text)),
            id: before.map_or_else(|| format!("g-{incident}"), |it| it.id.to_string()),
            replaces: before.map(|it| it.version),
            name: name.unwrap_or_else(|| format!("{}.{}", request.rule.name, suffix(incident))),
        })))
    }

    /// The guardrail, with what was drafted and has been tried beside what is derived.
    pub(crate) fn finish(
        &self,
        frame: &Frame<'_>,
        draft: Option<&Draft>,
    ) -> Result<Proposal, SynthesisError> {
        let (case, request) = (&frame.case, &frame.case.request);
        let mut why = "the call has no arguments to tell it by".to_owned();
        let drafted = draft.and_then(|draft| draft.form.as_ref());
        let (at_once, in_shadow) =
            if case.may_be_class() { (drafted, None) } else { (None, drafted) };
        let derived = self.enforced(case, &frame.earlier, &mut why);
        let mut enforced = match (derived, at_once) {
            (Some(derived), _) => derived,
            (None, Some(_)) => frame.earlier.clone(),
            (None, None) => return Err(SynthesisError(why)),
        };
        if let Some(form) = at_once
            && !enforced.iter().any(|it| it.condition == form.condition)
        {
            enforced.push(form.clone());
        }
        // The rule's own words may hold on ordinary work, which is then no proof of anything.
        let own = &request.facts;
        let held = |facts: &Facts| enforced.iter().any(|form| fits(form, facts, own));
        let ordinary = if case.shipped.iter().any(held) { 0 } else { case.shipped.len() };
        let tried = Tried {
            incidents: u32::try_from(case.harms.len()).unwrap_or(u32::MAX),
            benign: u32::try_from(case.benign.len() + ordinary).unwrap_or(u32::MAX),
        };
        let words = draft.and_then(|draft| draft.words.as_ref()).or(frame.words.as_ref());
        let name = &frame.name;
        Ok(Proposal {
            id: frame.id.as_str().into(),
            replaces: frame.replaces,
            text: rule_text(request, name, &enforced, words),
            wider: self.wider(case, &enforced, in_shadow, &format!("{name}.wider")),
            tried,
            by: BY.to_owned(),
        })
    }

    fn case<'a>(&self, request: SynthesisRequest<'a>) -> Case<'a> {
        let own = Harm {
            incident: request.incident.id().clone(),
            step: PastStep {
                plan: request.step.proposed.plan.clone(),
                call: request.step.proposed.call.clone(),
                code: Arc::clone(request.code),
            },
            effects: request.effects.clone(),
        };
        let earlier = request.harms.iter().filter(|harm| harm.incident != own.incident);
        let mut harms: Vec<(Harm, Facts)> =
            earlier.map(|harm| (harm.clone(), self.facts(&harm.step))).collect();
        harms.push((own, request.facts.clone()));
        let shipped = self.shipped.get_or_init(|| evidence::shipped(&*self.reader));
        Case {
            harms,
            benign: request.benign.iter().map(|step| self.facts(step)).collect(),
            shipped: shipped.iter().map(|step| self.facts(step)).collect(),
            request,
        }
    }

    /// What is enforced from now on: forms of which one suffices, and that all incidents fit.
    fn enforced(&self, case: &Case<'_>, earlier: &[Form], why: &mut String) -> Option<Vec<Form>> {
        let own = &case.harms.last()?.1;
        let is_clean = |form: &Form| {
            // By the rule's own words every step that fits is an incident, so ordinary work counts only
            // where it was seen and nothing objected.
            let shipped =
                form.reach != Reach::Rule && case.shipped.iter().any(|it| fits(form, it, own));
            !shipped && !case.benign.iter().any(|facts| fits(form, facts, own))
        };
        let mut forms = learn::fulfilled(case);
        forms.extend(promoted(case));
        let classes = self.classes(case);
        if case.may_be_class() {
            forms.extend(classes.iter().filter(|form| form.reach != Reach::Exact).cloned());
        }
        forms.extend(classes.into_iter().filter(|form| form.reach == Reach::Exact));
        forms.retain(|form| !form.is_secret && is_clean(form));
        if !forms.iter().any(|form| form.holds(own).is_satisfied()) {
            forms.extend(self.told_by_the_call(case, why));
        }
        let mut all: Vec<Form> = forms;
        all.extend(earlier.iter().cloned());
        let facts: Vec<&Facts> = case.harms.iter().map(|(_, facts)| facts).collect();
        let mut chosen = merge::cover(all, &facts);
        if !chosen.iter().any(|form| form.holds(own).is_satisfied()) {
            return None;
        }
        if let Some(words) = self.in_words(case) {
            chosen.push(words);
        }
        Some(chosen)
    }

    /// The wider form that is tried in shadow, as a rule.
    fn wider(
        &self,
        case: &Case<'_>,
        enforced: &[Form],
        drafted: Option<&Form>,
        name: &str,
    ) -> Option<String> {
        let own = &case.harms.last()?.1;
        let mut candidates: Vec<Form> = learn::whole_rule(case).into_iter().collect();
        candidates.extend(drafted.cloned());
        candidates.extend(self.classes(case).into_iter().filter(|form| form.reach != Reach::Exact));
        candidates.extend(self.kinds(case));
        let may_be = |form: &Form| {
            let none = !case.ordinary().any(|facts| fits(form, facts, own));
            none && !form.is_secret && form.holds(own).is_satisfied()
        };
        let known = |form: &Form| enforced.iter().any(|it| it.condition == form.condition);
        let form = candidates.into_iter().find(|form| !known(form) && may_be(form))?;
        // It includes what is enforced.
        let mut forms = vec![form];
        forms.extend(enforced.iter().cloned());
        Some(rule_text(&case.request, name, &forms, None))
    }

    /// What can be said of the call where no operation explains the incident.
    fn told_by_the_call(&self, case: &Case<'_>, why: &mut String) -> Option<Form> {
        let request = &case.request;
        let (_, facts) = case.harms.last()?;
        let ways = self.ways(request, facts);
        for form in candidate::forms(&request.step.proposed.call, request.code, &ways) {
            if form.is_secret {
                "the call cannot be told without what looks like a secret".clone_into(why);
                continue;
            }
            match validate(&form, facts, case) {
                Ok(()) => return Some(form),
                Err(found) => *why = found,
            }
        }
        None
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
        let alone = effects().filter(|effect| self.suffices(*effect, request.rule, facts));
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
    pub(crate) fn suffices(&self, effect: Effect<'_>, rule: &Rule, facts: &Facts) -> bool {
        let Some(condition) = rule.decision.sufficient() else { return false };
        let holds = |effects: &air_core::effects::Effects| {
            let facts = facts.clone().with(Root::Effects, effects.to_value(&*self.labels));
            condition.evaluate(&facts).is_satisfied()
        };
        !holds(&air_core::effects::Effects::default()) && holds(&effect.alone())
    }

    /// What could be known before a recorded step.
    fn facts(&self, step: &PastStep) -> Facts {
        let unknown = || Value::unknown("not recorded with the call");
        let arguments =
            step.call.arguments.iter().map(|(name, value)| (name.as_str(), value.into()));
        let intents = self.reader.intents(&step.plan);
        Facts::new(Arc::clone(&self.labels))
            .with(Root::Tool, Value::from(step.call.tool.as_str()))
            .with(Root::Args, Value::record(arguments))
            .with(Root::Plan, Value::from(step.plan.as_str()))
            .with(Root::Task, unknown())
            .with(Root::Agent, unknown())
            .with(Root::Session, unknown())
            .with(Root::Intents, Value::list(intents.iter().map(air_core::code::Intent::to_value)))
            .with(Root::Code, step.code.to_value(&*self.labels))
    }
}

/// Wider forms that have proved themselves in shadow.
fn promoted(case: &Case<'_>) -> Vec<Form> {
    let Some(before) = predecessor(&case.request) else { return Vec::new() };
    let Some(text) = &before.wider else { return Vec::new() };
    let name = merge::name(text);
    let record = case.request.shadows.iter().find(|it| Some(it.rule.as_str()) == name.as_deref());
    let own = case.harms.last().is_some_and(|(_, facts)| {
        merge::forms(text).iter().any(|form| form.holds(facts).is_satisfied())
    });
    let foretold = record.map_or(0, |it| it.incidents).max(u32::from(own));
    let clean = record.is_none_or(|it| it.benign == 0);
    if clean && foretold >= CLEAN_HITS { merge::forms(text) } else { Vec::new() }
}

/// The guardrail that refuses the call already.
fn covering<'a>(request: &SynthesisRequest<'a>) -> Option<&'a Guardrail> {
    let tool = &request.step.proposed.call.tool;
    let own = format!("g-{}", request.incident.id());
    // One of this very incident does not count: a crash after it was stored must derive it again.
    let mut others =
        request.existing.iter().filter(|it| it.mode == Mode::Enforce && it.id.as_str() != own);
    let refuses = |rule: &Rule| {
        let blocks = matches!(rule.kind, RuleKind::Guardrail { hit: Hit::Block, .. });
        blocks && rule.trigger.matches(tool) && holds(rule, request.facts).is_satisfied()
    };
    others.find(|it| air_lang::parse(&it.text).rules().iter().any(refuses))
}

/// The guardrail in force that earlier incidents of the same rule gave, if no person has changed it.
fn predecessor<'a>(request: &SynthesisRequest<'a>) -> Option<&'a Guardrail> {
    request.existing.iter().find(|it| {
        let of_the_rule = it.rule.as_ref() == Some(&request.rule.name);
        // One that is full stays as it is, and another one goes on.
        let has_place = || merge::forms(&it.text).len() < merge::MOST_FORMS;
        it.mode == Mode::Enforce && it.provenance.is_learned() && of_the_rule && has_place()
    })
}

/// Whether the conditions of `rule` hold.
pub(crate) fn holds(rule: &Rule, facts: &Facts) -> Outcome {
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

/// Whether a benign step fits. A form that speaks of arguments speaks of those of one tool.
pub(crate) fn fits(form: &Form, facts: &Facts, own: &Facts) -> bool {
    let same_tool = || facts.get(Root::Tool) == own.get(Root::Tool);
    (form.any_tool || same_tool()) && form.holds(facts).is_satisfied()
}

pub(crate) fn validate(form: &Form, own: &Facts, case: &Case<'_>) -> Result<(), String> {
    match form.holds(own) {
        Outcome::Satisfied => {}
        Outcome::Unsatisfied => {
            return Err("what was derived misses the incident's call".to_owned());
        }
        Outcome::Undetermined(why) => {
            return Err(format!("what was derived cannot be told of the incident's call: {why}"));
        }
    }
    if case.ordinary().any(|facts| fits(form, facts, own)) {
        return Err("a benign call is like the incident's".to_owned());
    }
    Ok(())
}

fn rule_text(
    request: &SynthesisRequest<'_>,
    name: &str,
    forms: &[Form],
    words: Option<&Words>,
) -> String {
    let (rule, incident) = (request.rule, request.incident.id());
    let severity = rule.severity.keyword();
    // What is told comes in the order of the forms, those that are not told last.
    let mut forms = forms.to_vec();
    forms.sort_by_key(|form| form.said.is_empty());
    let (condition, trigger) = merge::join(&forms, &request.step.proposed.call.tool);
    let (decision, check) = if let Some(words) = words {
        // Of other tools, what the conditions prove is refused, and no judge is asked.
        let only = words.only.as_ref().filter(|_| trigger == "*");
        let when = only.map(|only| format!("when {only} || {condition}\n")).unwrap_or_default();
        (format!("{when}evidence {condition}"), wrapped(&words.text))
    } else {
        let told = forms.iter().map(|form| form.said.as_str());
        let said: Vec<&str> = told.filter(|said| !said.is_empty()).collect();
        let said = said.join(",\n  or ");
        (format!("decide {condition}"), format!("the step {said}, as in incident {incident}."))
    };
    format!(
        "rule @{name}\ntrigger {trigger}\nseverity {severity}\nfrom incident {incident}\n\
         {decision}\ncheck\n  {check}\nblock\n{}end\n",
        way_forward(rule),
    )
}

/// What the author of the rule says is to be done in its place.
fn way_forward(rule: &Rule) -> String {
    let Some(instead) = &rule.instead else { return String::new() };
    let lines = instead.lines().map(|line| format!("  {line}\n"));
    format!("instead\n{}", lines.collect::<String>())
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

/// Whether one of the texts must not be kept.
pub(crate) fn any_secret(texts: &[String]) -> bool {
    texts.iter().any(|text| is_secret(text))
}
