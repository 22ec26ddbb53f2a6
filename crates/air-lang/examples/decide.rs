//! Decides the steps of a JSON document by its rules, and says how long each took: for comparisons
//! with other guards.
//!
//! Standard input: `{"rules": TEXT, "steps": [{"tool": NAME, "args": {…}}], "rounds": N}`. Standard
//! output: `{"blocked": [[RULE, …], …], "nanoseconds": [[…], …]}`, one list a step.
#![expect(clippy::print_stdout, reason = "its answer is for the program that started it")]

use std::{collections::BTreeMap, io, sync::Arc, time::Instant};

use air_core::{
    engine::Engine,
    evaluation::{Advance, Decided, Gate},
    fact::{Facts, NoLabels, Root},
    policy::FailPolicy,
    port::Alone,
    ruleset::RuleSet,
    value::Value,
};
use air_facts::CodeParser;
use air_lang::parse;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

#[derive(Deserialize)]
struct Task {
    rules: String,
    steps: Vec<Step>,
    rounds: usize,
}

#[derive(Deserialize)]
struct Step {
    tool: String,
    args: Map<String, Json>,
}

fn decide(engine: &Engine, code: &CodeParser, step: &Step) -> Option<Decided<Gate>> {
    let mut facts = Facts::new(Arc::new(NoLabels));
    let mut evaluation = engine.before_step(&step.tool);
    loop {
        let need = match evaluation.advance(&facts) {
            Advance::Decided(decided) => return Some(decided),
            Advance::Need(need) => need,
            Advance::Ask(_) => return None,
        };
        for root in need.iter() {
            let value = match root {
                Root::Tool => Value::from(step.tool.as_str()),
                Root::Args => Value::record(
                    step.args.iter().map(|(name, value)| (name.as_str(), value.into())),
                ),
                Root::Code => code.read(&step.tool, &step.args, &Alone).to_value(&NoLabels),
                root => Value::unknown(format!("`{root}` is not there")),
            };
            facts.set(root, value);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let task: Task = serde_json::from_reader(io::stdin())?;
    let parsed = parse(&task.rules);
    if parsed.has_errors() {
        return Err(format!("the rules have errors: {:?}", parsed.diagnostics().first()).into());
    }
    let rules = RuleSet::enforced(parsed.into_rules())?;
    let (engine, code) = (Engine::new(rules, FailPolicy::default()), CodeParser::new());
    let (mut blocked, mut nanoseconds) = (Vec::new(), BTreeMap::<usize, Vec<u128>>::new());
    for step in &task.steps {
        let decided = decide(&engine, &code, step).ok_or("there is no judge to ask")?;
        let findings = decided.hits.iter().chain(&decided.undetermined);
        blocked.push(findings.map(|it| it.rule.name.to_string()).collect::<Vec<_>>());
    }
    for _ in 0..task.rounds {
        for (number, step) in task.steps.iter().enumerate() {
            let start = Instant::now();
            let decided = decide(&engine, &code, step);
            nanoseconds.entry(number).or_default().push(start.elapsed().as_nanos());
            drop(decided);
        }
    }
    let nanoseconds: Vec<_> = nanoseconds.into_values().collect();
    println!("{}", json!({"blocked": blocked, "nanoseconds": nanoseconds}));
    Ok(())
}
