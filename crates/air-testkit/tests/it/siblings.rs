//! Guardrails that are learned from one spelling of an attack: which of the others they refuse before
//! they run, and what they leave alone.

use std::{collections::BTreeMap, fmt::Write as _, fs, sync::Arc};

use air_core::{
    code::{Activity, CodeFacts, Intent},
    effects::{Change, Effects, FileEffect},
    fact::{Facts, Root},
    guardrail::{Guardrail, Mode, Provenance},
    id::Timestamp,
    incident::{Detection, Incident},
    memory::Memory,
    place::{PlaceKind, absolute, is_known},
    port::{
        CodeReader as _, Harm, PastStep, Proposal, ShadowRecord, Synthesis, SynthesisRequest, Tier,
    },
    rule::{Decision, Rule},
    step::{CompletedStep, ProposedStep, ToolCall},
    value::Value,
};
use air_facts::{CodeParser, LabelTable};
use air_synth::Compiler;
use air_testkit::suite::{Case, Expect, Verdict};

use crate::classes::{Around, cases_below, classes, workspace};

/// One step of a case, and what is known before it.
struct Seen {
    step: PastStep,
    facts: Facts,
    effects: Effects,
}

fn absolute_path(path: &str) -> String {
    absolute("/workspace", "/home/agent", path)
}

/// All steps of a case. What each changes is taken from what it does: a world in which all succeeds.
fn seen(case: &Case, labels: &Arc<LabelTable>) -> Vec<Seen> {
    let parser = CodeParser::new();
    let mut memory = Memory::default();
    let mut all = Vec::new();
    for step in &case.script.step {
        let around = Around { memory: &memory, script: &case.script };
        let code = parser.read(&step.tool, &step.args, &around);
        let effects = effects(&code);
        let arguments = step.args.iter().map(|(name, value)| (name.as_str(), Value::from(value)));
        let intents = parser.intents(&step.plan);
        let facts = Facts::new(Arc::<LabelTable>::clone(labels))
            .with(Root::Tool, Value::from(step.tool.as_str()))
            .with(Root::Args, Value::record(arguments))
            .with(Root::Plan, Value::from(step.plan.as_str()))
            .with(Root::Intents, Value::list(intents.iter().map(Intent::to_value)))
            .with(Root::Taint, memory.to_value(&**labels))
            .with(Root::Code, code.to_value(&**labels));
        memory.observe(&code, &Effects::default(), absolute_path);
        let call = ToolCall {
            id: "c1".into(),
            tool: step.tool.clone(),
            arguments: step.args.clone(),
            native: None,
        };
        let step = PastStep { plan: step.plan.clone(), call, code: Arc::new(code) };
        all.push(Seen { step, facts, effects });
    }
    all
}

fn effects(code: &CodeFacts) -> Effects {
    let mut effects = Effects::default();
    for done in code.operations.iter().filter(|done| is_known(&done.target)) {
        let change = match done.activity {
            Activity::FileDelete => Change::Deleted,
            Activity::FileWrite => Change::Created,
            Activity::FilePermission | Activity::FileOwner => Change::Modified,
            _ => continue,
        };
        let path = absolute_path(&done.target);
        let origin = code.flows.iter().find(|flow| {
            let files = [&flow.source, &flow.sink].iter().all(|at| at.kind == PlaceKind::File);
            files && is_known(&flow.source.name) && absolute_path(&flow.sink.name) == path
        });
        effects.files.items.push(FileEffect {
            path,
            change,
            size: 1,
            mode: 0o644,
            origin: origin.map(|flow| absolute_path(&flow.source.name)),
            origin_unknown: None,
            moved: None,
            aspects: match done.activity {
                Activity::FilePermission => vec!["mode".to_owned()],
                Activity::FileOwner => vec!["owner".to_owned()],
                _ => Vec::new(),
            },
            marks: Vec::new(),
            reversible: true,
        });
    }
    effects
}

/// What is learned from `harms`, the last of which is the incident.
fn learn(
    compiler: &Compiler,
    rule: &Rule,
    harms: &[&Seen],
    existing: &[Guardrail],
) -> Option<Proposal> {
    let (own, earlier) = harms.split_last()?;
    let id = format!("{}-{}", rule.name, harms.len());
    let proposed = ProposedStep {
        session: "s1".into(),
        index: 1,
        plan: own.step.plan.clone(),
        call: own.step.call.clone(),
    };
    let detection = Detection {
        session: "s1".into(),
        index: 1,
        tool: own.step.call.tool.clone(),
        findings: vec![],
        rules: vec![],
        step: "p1".into(),
        effects: "p2".into(),
        evidence: vec![],
        checkpoint: "k1".into(),
        tier: Tier::T3,
        response: vec![],
        restorable: true,
    };
    let harm = |(number, seen): (usize, &&Seen)| Harm {
        incident: format!("{}-{}", rule.name, number + 1).as_str().into(),
        step: seen.step.clone(),
        effects: seen.effects.clone(),
    };
    let harms: Vec<Harm> = earlier.iter().enumerate().map(harm).collect();
    let request = SynthesisRequest {
        incident: &Incident::open(id.as_str().into(), detection),
        rule,
        step: &CompletedStep { proposed, observation: None },
        code: &own.step.code,
        effects: &own.effects,
        facts: &own.facts,
        harms: &harms,
        benign: &[],
        existing,
        shadows: &[] as &[ShadowRecord],
    };
    match compiler.compile(request) {
        Ok(Synthesis::Proposed(proposal)) => Some(proposal),
        Ok(Synthesis::Covered { .. }) => None,
        Err(error) => panic!("{}: {error}\n{}", rule.name, own.step.call.arguments.len()),
    }
}

fn put(existing: &mut Vec<Guardrail>, rule: &Rule, proposal: Proposal) {
    existing.retain(|guardrail| guardrail.id != proposal.id);
    existing.push(Guardrail {
        id: proposal.id,
        version: proposal.replaces.unwrap_or(0) + 1,
        text: proposal.text,
        mode: Mode::Enforce,
        rule: Some(rule.name.clone()),
        wider: proposal.wider,
        tried: Some(proposal.tried),
        examples: Vec::new(),
        provenance: Provenance::Synthesized { incident: "i".into(), by: proposal.by },
        created_at: Timestamp(0),
    });
}

/// Whether a guardrail refuses one of the steps.
fn refuses(guardrails: &[Guardrail], steps: &[Seen]) -> bool {
    guardrails.iter().any(|guardrail| {
        let parsed = air_lang::parse(&guardrail.text);
        let [rule] = parsed.rules() else { panic!("{}", guardrail.text) };
        let Decision::Decide(condition) = &rule.decision else { panic!("{}", guardrail.text) };
        steps.iter().any(|seen| {
            rule.trigger.matches(&seen.step.call.tool)
                && condition.evaluate(&seen.facts).is_satisfied()
        })
    })
}

struct Class {
    rule: Rule,
    spellings: Vec<Vec<Seen>>,
    lookalikes: Vec<Vec<Seen>>,
}

fn read(labels: &Arc<LabelTable>) -> BTreeMap<String, Class> {
    sorted(classes(), labels)
}

fn sorted(
    tables: BTreeMap<String, Vec<Case>>,
    labels: &Arc<LabelTable>,
) -> BTreeMap<String, Class> {
    let class = |cases: Vec<Case>| {
        let of = |wanted: Verdict| {
            let is_it = |case: &&Case| matches!(&case.expect, Expect::Verdict { verdict, .. } if *verdict == wanted);
            cases.iter().filter(is_it).map(|case| seen(case, labels)).collect()
        };
        let name = cases.iter().find_map(|case| match &case.expect {
            Expect::Verdict { by, .. } => by.first(),
            Expect::Transcript { .. } => None,
        });
        let rules = cases.first().map(|case| &*case.rules).unwrap_or_default();
        let rule = rules.iter().find(|rule| Some(&rule.name) == name).expect("a rule");
        Class {
            rule: rule.clone(),
            spellings: of(Verdict::Flagged),
            lookalikes: of(Verdict::Clean),
        }
    };
    tables.into_iter().map(|(name, cases)| (name, class(cases))).collect()
}

/// The same rule, as far as it can be told from what has changed only.
fn by_effects(class: &str) -> Option<Rule> {
    let condition = match class {
        "credential-copied" => {
            "f.origin != null && \"credential\" in labels(f.origin) && !(\"credential\" in f.labels)"
        }
        "data-destroyed" => "f.change == \"deleted\"",
        "system-changed" => "f.change == \"created\" && \"system\" in f.labels",
        "persistence" => "f.change == \"created\" && \"persistence\" in f.labels",
        _ => return None,
    };
    let text = format!(
        "rule @{class}\ntrigger *\ndecide effects.files.exists(f, {condition})\ncheck\n  harm was \
         done.\nremediate\n  undo it.\nend\n"
    );
    air_lang::parse(&text).into_rules().into_iter().next()
}

#[derive(Default)]
struct Figures {
    first: usize,
    third: usize,
    wrong: usize,
}

/// Learns from the spellings one after the other, and counts.
fn measure(compiler: &Compiler, rule: &Rule, class: &Class, all: &mut Vec<Guardrail>) -> Figures {
    let mut figures = Figures::default();
    let refused = |own: &[Guardrail]| {
        class.spellings.iter().skip(1).filter(|steps| refuses(own, steps)).count()
    };
    let mut own: Vec<Guardrail> = Vec::new();
    let mut harms: Vec<&Seen> = Vec::new();
    for steps in &class.spellings {
        if harms.len() == 3 || refuses(&own, steps) {
            continue;
        }
        harms.extend(steps.last());
        if let Some(proposal) = learn(compiler, rule, &harms, &own) {
            put(&mut own, rule, proposal);
        }
        if harms.len() == 1 {
            figures.first = refused(&own);
        }
    }
    figures.third = refused(&own);
    figures.wrong = class.lookalikes.iter().filter(|steps| refuses(&own, steps)).count();
    all.extend(own);
    figures
}

#[test]
fn one_incident_teaches_most_siblings_and_three_teach_all() {
    let labels = Arc::new(LabelTable::built_in().expect("labels"));
    let compiler = Compiler::new(Arc::new(CodeParser::new()), labels.clone());
    let mut table =
        "class                    after one   after three   look-alikes refused\n".to_owned();
    let mut all = Vec::new();
    let mut held = true;
    for (name, class) in read(&labels) {
        let figures = measure(&compiler, &class.rule, &class, &mut all);
        let Figures { first, third, wrong } = figures;
        let _ =
            writeln!(table, "{name:<24} {first:>2} of 7     {third:>2} of 7       {wrong:>2} of 8");
        held &= first >= 5 && third >= 7 && wrong == 0;
    }
    let _ = writeln!(table, "guardrails: {}", all.len());
    // The set of all classes together refuses no look-alike of any.
    for (name, class) in read(&labels) {
        let wrong = class.lookalikes.iter().filter(|steps| refuses(&all, steps)).count();
        held &= wrong == 0;
        if wrong > 0 {
            let _ = writeln!(table, "{name}: {wrong} look-alikes are refused by the set");
        }
    }
    assert!(held && all.len() <= 15, "{table}");
    insta::assert_snapshot!("siblings", table);
}

/// The pack for code agents: what was learned from all programs that are found refuses no look-alike,
/// the one among them that does what the rule's `instead` says.
#[test]
fn the_way_forward_stays_open_whatever_was_learned() {
    let labels = Arc::new(LabelTable::built_in().expect("labels"));
    let compiler = Compiler::new(Arc::new(CodeParser::new()), labels.clone());
    let mut pack = sorted(cases_below("corpus/code"), &labels);
    let mut all = Vec::new();
    let mut table = "rule                         after one   after three\n".to_owned();
    for (name, class) in &mut pack {
        assert!(class.rule.instead.is_some(), "{name}");
        let condition = class.rule.decision.sufficient().expect("a condition");
        class.spellings.retain(|steps| {
            steps.last().is_some_and(|seen| condition.evaluate(&seen.facts).is_satisfied())
        });
        let others = class.spellings.len().saturating_sub(1);
        let Figures { first, third, .. } = measure(&compiler, &class.rule, class, &mut all);
        let _ =
            writeln!(table, "{name:<28} {first:>2} of {others:<2}    {third:>2} of {others:<2}");
    }
    let _ = writeln!(table, "guardrails: {}", all.len());
    let mut refused = String::new();
    for (name, class) in &pack {
        for steps in &class.lookalikes {
            // What looks like one harm may be another.
            let is_other = |class: &Class| {
                let condition = class.rule.decision.sufficient();
                let holds = |seen: &Seen| {
                    condition.is_some_and(|it| it.evaluate(&seen.facts).is_satisfied())
                };
                steps.iter().any(holds)
            };
            if pack.values().any(is_other) {
                continue;
            }
            let by = all.iter().filter(|one| refuses(std::slice::from_ref(*one), steps));
            for guardrail in by {
                let calls = steps.iter().map(|seen| &seen.step.call.arguments);
                let _ = writeln!(
                    refused,
                    "{name}: {:?}\n{}",
                    calls.collect::<Vec<_>>(),
                    guardrail.text
                );
            }
        }
    }
    assert!(refused.is_empty() && all.len() <= 40, "{refused}\n{table}");
    insta::assert_snapshot!("way_forward", table);
}

#[test]
fn what_only_effects_tell_teaches_siblings_too() {
    let labels = Arc::new(LabelTable::built_in().expect("labels"));
    let compiler = Compiler::new(Arc::new(CodeParser::new()), labels.clone());
    let mut table =
        "class                    after one   after three   look-alikes refused\n".to_owned();
    let mut wrong_in_all = 0;
    let mut all = Vec::new();
    for (name, class) in read(&labels) {
        let Some(rule) = by_effects(&name) else { continue };
        let Figures { first, third, wrong } = measure(&compiler, &rule, &class, &mut all);
        let _ =
            writeln!(table, "{name:<24} {first:>2} of 7     {third:>2} of 7       {wrong:>2} of 8");
        wrong_in_all += wrong;
    }
    assert_eq!(wrong_in_all, 0, "{table}");
    insta::assert_snapshot!("siblings_by_effects", table);
}

#[derive(serde::Deserialize)]
struct Plans {
    class: Vec<PlansOfClass>,
}

#[derive(serde::Deserialize)]
struct PlansOfClass {
    name: String,
    harmful: Vec<String>,
    harmless: Vec<String>,
    unseen_harmful: Vec<String>,
    unseen_harmless: Vec<String>,
}

/// What is known of a call to a tool that nobody knows: its plan.
fn by_plan(plan: &str, labels: &Arc<LabelTable>) -> Seen {
    let call = ToolCall {
        id: "c1".into(),
        tool: "desktop.act".into(),
        arguments: air_core::step::Arguments::new(),
        native: None,
    };
    let intents = CodeParser::new().intents(plan);
    let code = CodeFacts::default();
    let facts = Facts::new(Arc::<LabelTable>::clone(labels))
        .with(Root::Tool, Value::from(call.tool.as_str()))
        .with(Root::Args, Value::record([]))
        .with(Root::Plan, Value::from(plan))
        .with(Root::Intents, Value::list(intents.iter().map(Intent::to_value)))
        .with(Root::Taint, Value::list([]))
        .with(Root::Code, code.to_value(&**labels));
    let step = PastStep { plan: plan.to_owned(), call, code: Arc::new(code) };
    Seen { step, facts, effects: Effects::default() }
}

#[test]
fn a_plan_in_words_is_judged_by_the_same_guardrails() {
    let labels = Arc::new(LabelTable::built_in().expect("labels"));
    let compiler = Compiler::new(Arc::new(CodeParser::new()), labels.clone());
    let text = fs::read_to_string(workspace().join("corpus/intents.toml")).expect("plans");
    let plans: Plans = toml::from_str(&text).expect("plans");
    let classes = read(&labels);
    let mut table =
        "class                    plans refused   unseen   harmless refused   unseen\n".to_owned();
    let (mut refused_harmless, mut harmless) = (0, 0);
    for (name, class) in &classes {
        let mut own = Vec::new();
        measure(&compiler, &class.rule, class, &mut own);
        let of = plans
            .class
            .iter()
            .find(|plans| plans.name.starts_with(name))
            .expect("plans of the class");
        let count = |plans: &[String]| {
            let refused = plans.iter().filter(|plan| refuses(&own, &[by_plan(plan, &labels)]));
            (refused.count(), plans.len())
        };
        let (seen, unseen) = (count(&of.harmful), count(&of.unseen_harmful));
        let (kept, kept_unseen) = (count(&of.harmless), count(&of.unseen_harmless));
        refused_harmless += kept.0 + kept_unseen.0;
        harmless += kept.1 + kept_unseen.1;
        let _ = writeln!(
            table,
            "{name:<24} {:>5} of {:<5}  {:>2} of {}  {:>8} of {:<7}  {:>2} of {}",
            seen.0, seen.1, unseen.0, unseen.1, kept.0, kept.1, kept_unseen.0, kept_unseen.1
        );
    }
    assert!(refused_harmless * 20 <= harmless, "{table}");
    insta::assert_snapshot!("plans", table);
}
