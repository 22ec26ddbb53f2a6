//! Laws of the index: it finds what looking at every rule would find, and asks no others.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use proptest::prelude::*;

use super::*;
use crate::{
    condition::{Budget, Condition},
    engine::Engine,
    evaluation::{Advance, Decided, Gate, MAX_UNDETERMINED},
    fact::{Facts, NoLabels, Root, Roots},
    outcome::Outcome,
    policy::FailPolicy,
    requirement::{FactPath, Need, Needle, Requirement, Step},
    rule::{Decision, Hit, Severity, Trigger},
    value::Value,
};

/// Holds where its requirement is not unmet, and counts how often any such was asked.
#[derive(Debug)]
struct Needy {
    requires: Requirement,
    cost: u64,
    asked: Arc<AtomicUsize>,
}

impl Condition for Needy {
    fn source(&self) -> &'static str {
        "needy"
    }

    fn reads(&self) -> Roots {
        let needs = self.requires.clauses().iter().flatten();
        needs.map(|need| need.place.root).collect()
    }

    fn paths(&self) -> &[FactPath] {
        &[]
    }

    fn requires(&self) -> &Requirement {
        &self.requires
    }

    fn evaluate_within(&self, facts: &Facts, budget: &mut Budget) -> Outcome {
        self.asked.fetch_add(1, Ordering::Relaxed);
        budget.spend(self.cost);
        if self.requires.is_unmet(facts) { Outcome::Unsatisfied } else { Outcome::Satisfied }
    }
}

#[derive(Default)]
struct Rules {
    asked: Arc<AtomicUsize>,
    entries: Vec<Entry>,
}

impl Rules {
    fn add(&mut self, triggers: &[&str], requires: Requirement, cost: u64) {
        let asked = Arc::clone(&self.asked);
        let rule = Rule {
            name: format!("r{}", self.entries.len()).as_str().into(),
            trigger: Trigger::new(triggers.iter().copied()),
            severity: Severity::Medium,
            shadow: false,
            tags: vec![],
            decision: Decision::Decide(Arc::new(Needy { requires, cost, asked })),
            check: "".into(),
            instead: None,
            kind: RuleKind::Guardrail { hit: Hit::Block, from: None },
            source: "".into(),
            examples: Vec::new(),
        };
        self.entries.push(Entry { rule: Arc::new(rule), mode: Mode::Enforce });
    }

    fn engine(&self) -> Engine {
        Engine::new(RuleSet::new(self.entries.clone()).unwrap(), FailPolicy::default())
    }

    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

fn args(field: &str) -> FactPath {
    FactPath::new(Root::Args).then(Step::Field(field.into()))
}

fn equals(place: FactPath, text: &str) -> Requirement {
    Requirement::any_of([Need { place, text: Needle::Equals(text.into()) }])
}

fn contains(place: FactPath, text: &str) -> Requirement {
    Requirement::any_of([Need { place, text: Needle::Contains(text.into()) }])
}

fn call(fields: &[(&str, Value)]) -> Facts {
    let args = Value::record(fields.iter().cloned());
    Facts::new(Arc::new(NoLabels)).with(Root::Args, args)
}

fn before(engine: &Engine, tool: &str, facts: &Facts) -> Decided<Gate> {
    match engine.before_step(tool).advance(facts) {
        Advance::Decided(decided) => decided,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_rules_that_a_text_does_not_exclude_are_asked() {
    let mut rules = Rules::default();
    for number in 0..1000 {
        rules.add(&["sh"], equals(args("path"), &format!("/{number}/")), 1);
        rules.add(&["sh"], contains(args("command"), &format!("Rm /{number}/")), 1);
    }
    let engine = rules.engine();
    #[rustfmt::skip]
    let table = [
        // path                   command                              asked  hits
        (Value::from("/7/"),      Value::from("ls"),                   1,     1),
        (Value::from("/7"),       Value::from("ls; RM /8/ && rm /9/"), 2,     2),
        (Value::from("x"),        Value::from("ls"),                   0,     0),
        (Value::Int(7),           Value::from("ls"),                   0,     0),
        (Value::unknown("-"),     Value::from("ls"),                   1000,  1000),
        (Value::from("x"),        Value::Null,                         1000,  1000),
    ];
    for (path, command, asked, hits) in table {
        let decided =
            before(&engine, "sh", &call(&[("path", path.clone()), ("command", command.clone())]));
        assert_eq!((rules.asked(), decided.hits.len()), (asked, hits), "{path:?} {command:?}");
    }
}

#[test]
fn an_absent_field_excludes_only_what_needs_it_to_be_there() {
    let mut rules = Rules::default();
    rules.add(&["sh"], equals(args("path"), "x"), 1);
    rules.add(&["sh"], equals(args("path"), "x").with_present(&args("path")), 1);
    assert_eq!(before(&rules.engine(), "sh", &call(&[])).hits.len(), 1);
    assert_eq!(rules.asked(), 1);
}

#[test]
fn the_rarest_text_is_looked_for() {
    let mut rules = Rules::default();
    for number in 0..100 {
        let rare = contains(args("command"), &format!("file{number}."));
        rules.add(&["sh"], equals(args("verb"), "rm").and(rare), 1);
    }
    let facts = call(&[("verb", "rm".into()), ("command", "file7.".into())]);
    assert_eq!(before(&rules.engine(), "sh", &facts).hits.len(), 1);
    assert_eq!(rules.asked(), 1);
}

#[test]
fn a_fact_that_costs_is_not_needed_where_one_at_hand_excludes() {
    let mut rules = Rules::default();
    let code = FactPath::new(Root::Code).then(Step::Field("strings".into())).then(Step::Items);
    rules.add(&["sh"], equals(code, "x").and(contains(args("command"), "curl")), 1);
    let engine = rules.engine();
    let mut evaluation = engine.before_step("sh");
    let advance = evaluation.advance(&call(&[("command", "ls".into())]));
    assert!(matches!(advance, Advance::Decided(decided) if decided.decision == Gate::Allow));
}

#[test]
fn past_the_budget_of_a_step_nothing_passes() {
    let mut rules = Rules::default();
    for _ in 0..10_000 {
        rules.add(&["sh"], equals(args("path"), "x"), 100_000);
    }
    let decided = before(&rules.engine(), "sh", &call(&[("path", "x".into())]));
    let asked = rules.asked();
    assert!(asked < 100, "{asked} were asked");
    // The one that spent the last of it is not believed.
    assert_eq!(decided.hits.len(), asked - 1);
    let undetermined = decided.undetermined.len() + decided.more_undetermined;
    assert_eq!(decided.hits.len() + undetermined, 10_000);
    assert_eq!(decided.undetermined.len(), MAX_UNDETERMINED);
}

#[test]
fn very_many_occurrences_are_not_counted_one_by_one() {
    let mut rules = Rules::default();
    for length in 1..200 {
        rules.add(&["sh"], contains(args("command"), &"a".repeat(length)), 1);
    }
    let command = "a".repeat(1_000_000);
    let decided = before(&rules.engine(), "sh", &call(&[("command", command.as_str().into())]));
    assert_eq!(decided.hits.len(), 199);
}

#[test]
fn a_step_that_activates_no_rule_allocates_nothing() {
    for count in [1, 1000, 100_000] {
        let mut rules = Rules::default();
        for number in 0..count {
            rules.add(&["sh", &format!("mcp.{number}.*")], equals(args("path"), "x"), 1);
        }
        let (engine, facts) = (rules.engine(), Facts::new(Arc::new(NoLabels)));
        for tool in ["read_file", "mcp.files.read", ""] {
            let counted = allocation_counter::measure(|| {
                let mut evaluation = engine.before_step(tool);
                assert!(matches!(evaluation.advance(&facts), Advance::Decided(_)));
            });
            assert_eq!(counted.count_total, 0, "{tool:?} among {count}");
        }
    }
}

fn pattern() -> impl Strategy<Value = String> {
    "[ab.*]{1,6}"
}

fn requirement() -> impl Strategy<Value = Requirement> {
    let need = (any::<bool>(), 0..2_usize, "[ab]{1,2}").prop_map(|(exact, field, text)| {
        let place = args(["f", "g"][field]);
        if exact { equals(place, &text) } else { contains(place, &text) }
    });
    let one = prop_oneof![Just(Requirement::NONE), need.clone(), need];
    one.prop_recursive(3, 8, 2, |inner| {
        (inner.clone(), inner, any::<bool>())
            .prop_map(|(left, right, both)| if both { left.and(right) } else { left.or(&right) })
    })
}

fn value() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        Just(None),
        Just(Some(Value::unknown("-"))),
        Just(Some(Value::Int(1))),
        "[abAB]{0,3}".prop_map(|text| Some(Value::from(text.as_str()))),
        "[abAB]{0,3}".prop_map(|text| Some(Value::from(text.as_str()))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_finds_what_a_look_at_each_rule_finds(
        rules in prop::collection::vec((prop::collection::vec(pattern(), 1..3), requirement()), 0..12),
        tool in "[ab.]{0,6}",
        (f, g) in (value(), value()),
    ) {
        let mut set = Rules::default();
        for (patterns, requires) in rules {
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            set.add(&patterns, requires, 1);
        }
        let fields: Vec<_> = [("f", f), ("g", g)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let facts = call(&fields);
        let activated = set.entries.iter().filter(|entry| entry.rule.trigger.matches(&tool));
        let names: Vec<_> = activated.clone().map(|entry| entry.rule.name.clone()).collect();
        let engine = set.engine();
        let listed: Vec<_> =
            engine.rules().guardrails(&tool).map(|entry| entry.rule.name.clone()).collect();
        prop_assert_eq!(listed, names);
        let hold = activated.filter(|entry| {
            let Decision::Decide(condition) = &entry.rule.decision else { return false };
            condition.evaluate(&facts).is_satisfied()
        });
        let hold: Vec<_> = hold.map(|entry| entry.rule.name.clone()).collect();
        let hits = before(&engine, &tool, &facts).hits;
        let hits: Vec<_> = hits.iter().map(|finding| finding.rule.name.clone()).collect();
        prop_assert_eq!(hits, hold);
    }
}
