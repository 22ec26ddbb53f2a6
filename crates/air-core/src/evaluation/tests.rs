//! Laws of deciding one step, with scripted conditions in place of compiled ones.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::{
    condition::Condition,
    engine::Engine,
    fact::{NoLabels, Root, Roots},
    requirement::{FactPath, Requirement},
    rule::{Decision, Trigger},
    ruleset::Entry,
    value::Value,
};

/// Answers as told, and counts how often it was asked.
#[derive(Debug)]
struct Scripted {
    reads: Roots,
    requires: Requirement,
    answer: Outcome,
    asked: AtomicUsize,
}

impl Condition for Scripted {
    fn source(&self) -> &'static str {
        "scripted"
    }

    fn reads(&self) -> Roots {
        self.reads
    }

    fn paths(&self) -> &[FactPath] {
        &[]
    }

    fn requires(&self) -> &Requirement {
        &self.requires
    }

    fn evaluate_within(&self, facts: &Facts, budget: &mut Budget) -> Outcome {
        assert!(
            self.reads.without(facts.supplied()).is_empty(),
            "asked before its facts are there"
        );
        budget.spend(COST);
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.answer.clone()
    }
}

impl Scripted {
    fn times(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// What asking a scripted condition takes.
const COST: u64 = 1000;
const YES: Outcome = Outcome::Satisfied;
const NO: Outcome = Outcome::Unsatisfied;

fn unknown() -> Outcome {
    Outcome::undetermined("not observed")
}

fn scripted(root: Root, answer: Outcome) -> Arc<Scripted> {
    let reads = Roots::NONE.with(root);
    Arc::new(Scripted { reads, requires: Requirement::NONE, answer, asked: AtomicUsize::new(0) })
}

fn decide(answer: Outcome) -> Decision {
    Decision::Decide(scripted(Root::Args, answer))
}

fn bounds(when: Option<Outcome>, evidence: Option<Outcome>) -> Decision {
    let condition = |root, answer| -> Arc<dyn Condition> { scripted(root, answer) };
    Decision::Bounds {
        when: when.map(|answer| condition(Root::Args, answer)),
        evidence: evidence.map(|answer| condition(Root::Code, answer)),
    }
}

fn rule(name: &str, severity: Severity, decision: Decision, kind: RuleKind) -> Rule {
    Rule {
        name: name.into(),
        trigger: Trigger::new(["bash"]),
        severity,
        shadow: false,
        tags: vec![],
        decision,
        check: "a file is lost.".into(),
        instead: None,
        kind,
        source: "".into(),
        examples: Vec::new(),
    }
}

fn guardrail(name: &str, severity: Severity, hit: Hit, decision: Decision) -> Entry {
    let kind = RuleKind::Guardrail { hit, from: None };
    Entry { rule: Arc::new(rule(name, severity, decision, kind)), mode: Mode::Enforce }
}

fn check(name: &str, severity: Severity, decision: Decision) -> Entry {
    let kind = RuleKind::Incident { verify: None, respond: vec![], remediate: "undo it.".into() };
    Entry { rule: Arc::new(rule(name, severity, decision, kind)), mode: Mode::Enforce }
}

fn shadow(entry: Entry) -> Entry {
    Entry { mode: Mode::Shadow, ..entry }
}

fn engine(entries: Vec<Entry>) -> Engine {
    Engine::new(RuleSet::new(entries).unwrap(), FailPolicy::default())
}

fn facts() -> Facts {
    let facts = Facts::new(Arc::new(NoLabels));
    Root::ALL.into_iter().fold(facts, |facts, root| facts.with(root, Value::unknown("none")))
}

fn decided<D: std::fmt::Debug>(advance: Advance<D>) -> Decided<D> {
    match advance {
        Advance::Decided(decided) => decided,
        other => panic!("{other:?}"),
    }
}

fn before(entries: Vec<Entry>) -> Decided<Gate> {
    decided(engine(entries).before_step("bash").advance(&facts()))
}

fn after(entries: Vec<Entry>) -> Decided<Review> {
    decided(engine(entries).after_step("bash").advance(&facts()))
}

fn names(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.rule.name.as_str()).collect()
}

#[test]
fn no_rule_needs_no_fact_and_allows() {
    let engine = engine(vec![guardrail("a", Severity::Critical, Hit::Block, decide(YES))]);
    let mut evaluation = engine.before_step("read_file");
    assert!(evaluation.is_empty());
    let nothing = Facts::new(Arc::new(NoLabels));
    assert_eq!(decided(evaluation.advance(&nothing)).decision, Gate::Allow);
    assert_eq!(decided(engine.after_step("bash").advance(&nothing)).decision, Review::Continue);
}

#[test]
fn the_strictest_hit_wins() {
    use Hit::{Ask, Block, Warn};
    #[rustfmt::skip]
    let table: [(&[Hit], Gate); 7] = [
        (&[],                 Gate::Allow),
        (&[Warn],             Gate::Warn),
        (&[Ask],              Gate::Ask),
        (&[Block],            Gate::Block),
        (&[Block, Warn],      Gate::Block),
        (&[Warn, Ask],        Gate::Ask),
        (&[Warn, Ask, Block], Gate::Block),
    ];
    for (hits, gate) in table {
        let entry = |(at, &hit): (usize, &Hit)| {
            guardrail(&format!("r{at}"), Severity::Medium, hit, decide(YES))
        };
        let mut entries: Vec<Entry> = hits.iter().enumerate().map(entry).collect();
        entries.push(guardrail("other", Severity::Critical, Block, decide(NO)));
        assert_eq!(before(entries).decision, gate, "{hits:?}");
    }
}

#[test]
fn hits_are_listed_gravest_first() {
    let decided = after(vec![
        check("low", Severity::Low, decide(YES)),
        check("critical", Severity::Critical, decide(YES)),
        check("no", Severity::High, decide(NO)),
        check("medium", Severity::Medium, decide(YES)),
    ]);
    assert_eq!(decided.decision, Review::Respond);
    assert_eq!(names(&decided.hits), ["critical", "medium", "low"]);
}

#[test]
fn undetermined_does_what_the_policy_says() {
    use Severity::{Critical, High, Low, Medium};
    #[rustfmt::skip]
    let table = [
        (Low,      Gate::Ask,   Review::Continue),
        (Medium,   Gate::Ask,   Review::Continue),
        (High,     Gate::Ask,   Review::Continue),
        (Critical, Gate::Block, Review::Ask),
    ];
    for (severity, gate, review) in table {
        let decisions = [decide(unknown()), bounds(Some(YES), Some(unknown())), bounds(None, None)];
        for decision in decisions {
            // A guardrail that only warns is not excused from the policy.
            let gated = before(vec![guardrail("a", severity, Hit::Warn, decision.clone())]);
            assert_eq!(gated.decision, gate, "{severity:?} {decision:?}");
            assert_eq!((gated.hits.len(), names(&gated.undetermined)), (0, vec!["a"]));
            let reviewed = after(vec![check("a", severity, decision.clone())]);
            assert_eq!(reviewed.decision, review, "{severity:?} {decision:?}");
            assert_eq!((reviewed.hits.len(), names(&reviewed.undetermined)), (0, vec!["a"]));
        }
    }
}

#[test]
fn what_the_policy_says_can_be_changed() {
    let policy = FailPolicy {
        critical_guardrail: Hit::Warn,
        guardrail: Hit::Block,
        critical_check: OnUndetermined::Note,
        learned_guardrail: Hit::Warn,
        check: OnUndetermined::Hold,
    };
    let rules = || {
        RuleSet::new([
            guardrail("a", Severity::Critical, Hit::Block, decide(unknown())),
            check("b", Severity::Low, decide(unknown())),
        ])
        .unwrap()
    };
    let engine = Engine::new(rules(), policy);
    assert_eq!(decided(engine.before_step("bash").advance(&facts())).decision, Gate::Warn);
    assert_eq!(decided(engine.after_step("bash").advance(&facts())).decision, Review::Ask);
}

#[test]
fn an_undetermined_rule_does_not_weaken_a_hit() {
    let decided = after(vec![
        check("a", Severity::Critical, decide(unknown())),
        check("b", Severity::Low, decide(YES)),
    ]);
    assert_eq!(decided.decision, Review::Respond);
    let decided = before(vec![
        guardrail("a", Severity::Low, Hit::Warn, decide(unknown())),
        guardrail("b", Severity::Low, Hit::Block, decide(YES)),
    ]);
    assert_eq!(decided.decision, Gate::Block);
}

#[test]
fn shadow_never_acts() {
    for severity in [Severity::Low, Severity::Critical] {
        let gated = before(vec![
            shadow(guardrail("holds", severity, Hit::Block, decide(YES))),
            shadow(guardrail("unknown", severity, Hit::Block, decide(unknown()))),
        ]);
        assert_eq!(gated.decision, Gate::Allow);
        assert_eq!(names(&gated.shadow), ["holds"]);
        assert!(gated.hits.is_empty() && gated.undetermined.is_empty());
        let reviewed = after(vec![
            shadow(check("holds", severity, decide(YES))),
            shadow(check("unknown", severity, decide(unknown()))),
        ]);
        assert_eq!(reviewed.decision, Review::Continue);
        assert_eq!(names(&reviewed.shadow), ["holds"]);
    }
}

#[test]
fn a_retired_rule_is_not_there() {
    let entry = guardrail("a", Severity::Critical, Hit::Block, decide(YES));
    let engine = engine(vec![Entry { mode: Mode::Retired, ..entry }]);
    assert!(engine.before_step("bash").is_empty());
}

#[test]
fn facts_are_asked_for_before_anything_is_decided() {
    let code = Decision::Decide(scripted(Root::Code, NO));
    let state = bounds(Some(YES), None);
    let engine = engine(vec![
        guardrail("code", Severity::Low, Hit::Block, code),
        guardrail("args", Severity::Low, Hit::Warn, state),
    ])
    .judged();
    let mut evaluation = engine.before_step("bash");
    let Advance::Need(need) = evaluation.advance(&Facts::new(Arc::new(NoLabels))) else {
        panic!("no facts are supplied");
    };
    assert_eq!(need.iter().collect::<Vec<_>>(), [Root::Args, Root::Code]);
    // A judge waits for the facts of the others: one round of questions is enough.
    let some = Facts::new(Arc::new(NoLabels)).with(Root::Args, Value::Null);
    assert!(matches!(evaluation.advance(&some), Advance::Need(need) if need.contains(Root::Code)));
    assert!(matches!(evaluation.advance(&facts()), Advance::Ask(asked) if asked.len() == 1));
}

#[test]
fn when_false_asks_nothing_more() {
    let evidence = scripted(Root::Code, YES);
    let when = scripted(Root::Args, NO);
    let decision = Decision::Bounds { when: Some(when), evidence: Some(evidence.clone()) };
    let engine = engine(vec![check("a", Severity::Critical, decision)]).judged();
    let args = Facts::new(Arc::new(NoLabels)).with(Root::Args, Value::Null);
    let decided = decided(engine.after_step("bash").advance(&args));
    assert_eq!(decided.decision, Review::Continue);
    assert_eq!(evidence.times(), 0);
}

#[test]
fn a_judge_is_asked_only_where_no_condition_decides() {
    #[rustfmt::skip]
    let table = [
        (decide(YES),                              false),
        (decide(NO),                               false),
        (decide(unknown()),                        true),
        (bounds(None, None),                       true),
        (bounds(Some(NO), None),                   false),
        (bounds(Some(NO), Some(YES)),              false),
        (bounds(Some(YES), None),                  true),
        (bounds(Some(unknown()), None),            true),
        (bounds(Some(YES), Some(YES)),             false),
        (bounds(Some(unknown()), Some(YES)),       false),
        (bounds(Some(YES), Some(NO)),              true),
        (bounds(Some(YES), Some(unknown())),       true),
        (bounds(None, Some(YES)),                  false),
        (bounds(None, Some(NO)),                   true),
    ];
    for (decision, asked) in table {
        let engine = engine(vec![check("a", Severity::Low, decision.clone())]).judged();
        let advance = engine.after_step("bash").advance(&facts());
        assert_eq!(matches!(advance, Advance::Ask(_)), asked, "{decision:?}");
    }
}

#[test]
fn what_a_condition_has_proved_waits_for_no_judge() {
    let open = || bounds(None, None);
    for (hit, asked) in [(Hit::Block, false), (Hit::Ask, true), (Hit::Warn, true)] {
        let engine = engine(vec![
            guardrail("holds", Severity::Low, hit, decide(YES)),
            guardrail("open", Severity::Critical, Hit::Block, open()),
        ])
        .judged();
        let advance = engine.before_step("bash").advance(&facts());
        assert_eq!(matches!(advance, Advance::Ask(_)), asked, "{hit:?}");
    }
    for (holds, asked) in [
        (check("holds", Severity::Low, decide(YES)), false),
        (shadow(check("holds", Severity::Low, decide(YES))), true),
    ] {
        let engine = engine(vec![holds, check("open", Severity::Critical, open())]).judged();
        match engine.after_step("bash").advance(&facts()) {
            Advance::Ask(_) => assert!(asked),
            other => {
                let decided = decided(other);
                assert!(!asked && decided.undetermined.is_empty(), "{decided:?}");
                assert_eq!(decided.decision, Review::Respond);
            }
        }
    }
}

#[test]
fn a_judge_answers_by_number_and_conditions_are_not_asked_again() {
    let first = scripted(Root::Args, unknown());
    let engine = engine(vec![
        check("no", Severity::Low, decide(NO)),
        check("first", Severity::Low, Decision::Decide(first.clone())),
        check("second", Severity::High, bounds(None, None)),
    ])
    .judged();
    let mut evaluation = engine.after_step("bash");
    let Advance::Ask(asked) = evaluation.advance(&facts()) else { panic!("nothing is asked") };
    assert_eq!(
        asked.iter().map(|(at, rule)| (*at, rule.name.as_str())).collect::<Vec<_>>(),
        [(1, "first"), (2, "second")]
    );
    let verdict = |outcome| Verdict {
        outcome,
        confidence: 0.9,
        rationale: String::new(),
        judge: "j/1".into(),
        quotes: Vec::new(),
    };
    evaluation.answer(1, verdict(unknown()));
    assert!(matches!(evaluation.advance(&facts()), Advance::Ask(asked) if asked[0].0 == 2));
    evaluation.answer(2, verdict(YES));
    let decided = decided(evaluation.advance(&facts()));
    assert_eq!(names(&decided.hits), ["second"]);
    assert_eq!(names(&decided.undetermined), ["first"]);
    assert_eq!(decided.hits[0].record().verdict.judge, "j/1");
    assert_eq!(first.times(), 1);
}

#[test]
fn why_it_is_undetermined_is_told() {
    let decided = after(vec![
        check("a", Severity::Low, decide(unknown())),
        check("b", Severity::Low, bounds(None, None)),
    ]);
    let why: Vec<_> = decided.undetermined.iter().map(|it| it.verdict.outcome.clone()).collect();
    let none = Outcome::undetermined("no condition decides it and no judge is configured");
    assert_eq!(why, [unknown(), none]);
}
