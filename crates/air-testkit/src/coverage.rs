//! Which rules, and which of their clauses, the cases exercise.
//!
//! Conditions are replaced by ones that remember what they answered. What is asked while an incident
//! is being responded to does not count: it is AIR's own verification, and no case.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use air_core::{
    condition::{Budget, Condition},
    fact::{Facts, Roots},
    incident::{Incident, IncidentEvent},
    outcome::Outcome,
    port::{RuleReader, action_id},
    requirement::{FactPath, Requirement},
    rule::{Decision, Rule, RuleKind},
};
use air_lang::expr::{self, Moment};

use crate::suite::Case;

/// What all cases together have exercised.
#[derive(Debug, Default)]
pub struct Coverage {
    rules: BTreeMap<(String, usize), Probed>,
    responding: Arc<AtomicBool>,
}

/// The coverage of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCoverage {
    /// The file that it stands in.
    pub file: String,
    /// Its line there, from 1.
    pub line: usize,
    /// Its name.
    pub rule: String,
    /// What there is to be seen of it, in the order of its clauses.
    pub points: Vec<Point>,
}

/// Something that a case can show of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// What, for a person.
    pub what: String,
    /// Whether a case showed it.
    pub seen: bool,
    /// Whether it counts. That a condition cannot be told may be impossible to show.
    pub counts: bool,
}

#[derive(Debug)]
struct Probed {
    rule: Rule,
    probe: Arc<RuleProbe>,
}

/// What was seen of one rule.
#[derive(Debug)]
pub(crate) struct RuleProbe {
    rule: Rule,
    triggered: AtomicBool,
    clauses: Vec<Arc<Probe>>,
    actions: Vec<(&'static str, AtomicBool)>,
}

/// A condition that remembers its answers, and those of its parts.
#[derive(Debug)]
struct Probe {
    clause: &'static str,
    inner: Arc<dyn Condition>,
    answers: Answers,
    /// `conjunct` or `disjunct`.
    kind: &'static str,
    parts: Vec<Part>,
    responding: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Part {
    condition: Arc<dyn Condition>,
    answers: Answers,
}

#[derive(Debug, Default)]
struct Answers {
    yes: AtomicBool,
    no: AtomicBool,
    unknown: AtomicBool,
}

impl Answers {
    fn add(&self, outcome: &Outcome) {
        let seen = match outcome {
            Outcome::Satisfied => &self.yes,
            Outcome::Unsatisfied => &self.no,
            Outcome::Undetermined(_) => &self.unknown,
        };
        seen.store(true, Ordering::Relaxed);
    }
}

impl Condition for Probe {
    fn source(&self) -> &str {
        self.inner.source()
    }

    fn reads(&self) -> Roots {
        self.inner.reads()
    }

    fn paths(&self) -> &[FactPath] {
        self.inner.paths()
    }

    /// Nothing: an answer that is clear beforehand is to be remembered as well.
    fn requires(&self) -> &Requirement {
        const { &Requirement::NONE }
    }

    fn evaluate_within(&self, facts: &Facts, budget: &mut Budget) -> Outcome {
        let outcome = self.inner.evaluate_within(facts, budget);
        if self.clause == "verify" || !self.responding.load(Ordering::Relaxed) {
            self.answers.add(&outcome);
            for part in &self.parts {
                part.answers.add(&part.condition.evaluate(facts));
            }
        }
        outcome
    }
}

impl Coverage {
    /// The rules of a case of the suite `file`, made to remember.
    pub(crate) fn probed(&mut self, case: &Case, file: &str) -> (Vec<Rule>, Vec<Arc<RuleProbe>>) {
        let responding = &self.responding;
        let places = case.texts.iter().flat_map(|text| {
            let place = text.file.as_deref().unwrap_or(file).to_owned();
            text.rules().iter().map(move |rule| ((place.clone(), text.line_of(rule)), rule))
        });
        let probed = places.map(|(place, rule)| {
            let probed = self.rules.entry(place).or_insert_with(|| probe(rule, responding));
            (probed.rule.clone(), Arc::clone(&probed.probe))
        });
        probed.unzip()
    }

    /// Set while AIR responds to an incident.
    pub(crate) fn responding(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.responding)
    }

    /// Every rule, in the order of files and lines.
    pub fn rules(&self) -> Vec<RuleCoverage> {
        let rules = self.rules.iter().map(|((file, line), probed)| RuleCoverage {
            file: file.clone(),
            line: *line,
            rule: probed.rule.name.to_string(),
            points: probed.probe.points(),
        });
        rules.collect()
    }
}

/// Reads rules that are made to remember as what they were made: a response works on texts.
#[derive(Debug)]
pub(crate) struct ProbedRules(pub(crate) Vec<Rule>);

impl RuleReader for ProbedRules {
    fn rule(&self, text: &str) -> Result<Rule, String> {
        match self.0.iter().find(|rule| rule.source.as_ref() == text) {
            Some(probed) => Ok(probed.clone()),
            None => air_lang::LangRules.rule(text),
        }
    }
}

/// How many points count, and how many of them were seen.
pub fn totals(rules: &[RuleCoverage]) -> (usize, usize) {
    let points = rules.iter().flat_map(|rule| &rule.points).filter(|point| point.counts);
    points.fold((0, 0), |(all, seen), point| (all + 1, seen + usize::from(point.seen)))
}

fn probe(rule: &Rule, responding: &Arc<AtomicBool>) -> Probed {
    let mut clauses = Vec::new();
    let moment = match rule.kind {
        RuleKind::Guardrail { .. } => Moment::Before,
        RuleKind::Incident { .. } => Moment::After,
    };
    let mut wrap = |clause: &'static str, inner: &Arc<dyn Condition>| -> Arc<dyn Condition> {
        let (kind, parts) = parts(inner.source(), moment);
        let (answers, inner) = (Answers::default(), Arc::clone(inner));
        let responding = Arc::clone(responding);
        let probe = Arc::new(Probe { clause, inner, answers, kind, parts, responding });
        clauses.push(Arc::clone(&probe));
        probe
    };
    let mut probed = rule.clone();
    probed.decision = match &rule.decision {
        Decision::Decide(condition) => Decision::Decide(wrap("decide", condition)),
        Decision::Bounds { when, evidence } => Decision::Bounds {
            when: when.as_ref().map(|condition| wrap("when", condition)),
            evidence: evidence.as_ref().map(|condition| wrap("evidence", condition)),
        },
    };
    let mut actions = Vec::new();
    if let RuleKind::Incident { verify, respond, .. } = &mut probed.kind {
        *verify = verify.as_ref().map(|condition| wrap("verify", condition));
        actions = respond.iter().map(|action| (action.keyword(), AtomicBool::default())).collect();
    }
    let triggered = AtomicBool::default();
    let probe = Arc::new(RuleProbe { rule: rule.clone(), triggered, clauses, actions });
    Probed { rule: probed, probe }
}

/// The outermost conjuncts or disjuncts of a condition, if it has more than one.
fn parts(source: &str, moment: Moment) -> (&'static str, Vec<Part>) {
    let Ok(tree) = expr::tree(source) else { return ("", Vec::new()) };
    for (operator, kind) in [("&&", "conjunct"), ("||", "disjunct")] {
        let chain = tree.chain(operator);
        if chain.len() > 1 {
            let parts = chain.iter().filter_map(|part| {
                let text = source.get(part.span.clone())?;
                let (condition, answers) = (expr::compile(text, moment).ok()?, Answers::default());
                Some(Part { condition, answers })
            });
            return (kind, parts.collect());
        }
    }
    ("", Vec::new())
}

impl RuleProbe {
    /// A call to `tool` has come to the point at which rules of this kind are decided.
    pub(crate) fn activated(&self, tool: &str, before: bool) {
        if before == matches!(self.rule.kind, RuleKind::Guardrail { .. })
            && self.rule.trigger.matches(tool)
        {
            self.triggered.store(true, Ordering::Relaxed);
        }
    }

    /// What an incident did for the rule, if the rule found it.
    pub(crate) fn responded(&self, incident: &Incident, events: &[IncidentEvent]) {
        if !incident.detection().findings.iter().any(|found| found.rule == self.rule.name) {
            return;
        }
        for (number, planned) in (1..).zip(&incident.detection().response) {
            let id = action_id(incident.id(), number);
            let started = events.iter().any(|event| match event {
                IncidentEvent::ActionStarted { action, .. } => *action == id,
                _ => false,
            });
            for (keyword, run) in &self.actions {
                if started && *keyword == planned.action.keyword() {
                    run.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        let mut add = |what: String, seen: &AtomicBool, counts: bool| {
            points.push(Point { what, seen: seen.load(Ordering::Relaxed), counts });
        };
        add("triggered".to_owned(), &self.triggered, true);
        for probe in &self.clauses {
            let Probe { clause, kind, answers, parts, .. } = probe.as_ref();
            add(format!("{clause} true"), &answers.yes, true);
            if *clause != "verify" {
                add(format!("{clause} false"), &answers.no, true);
                add(format!("{clause} undetermined"), &answers.unknown, false);
            }
            for Part { condition, answers } in parts {
                let text = condition.source().split_whitespace().collect::<Vec<_>>().join(" ");
                add(format!("{clause}: {kind} `{text}` true"), &answers.yes, true);
                add(format!("{clause}: {kind} `{text}` false"), &answers.no, true);
            }
        }
        for (at, (keyword, run)) in self.actions.iter().enumerate() {
            let many = self.actions.iter().filter(|(other, _)| other == keyword).count() > 1;
            let number = if many { format!(" ({})", at + 1) } else { String::new() };
            add(format!("respond: {keyword}{number} done"), run, true);
        }
        points
    }
}
