//! Recorded steps, decided again: with facts hidden, or under other names.

use std::sync::Arc;

use air_core::{
    code::{CodeFacts, Intent},
    effects::Effects,
    engine::Engine,
    evaluation::Review,
    policy::FailPolicy,
    port::{CodeReader, Surroundings},
    rule::Rule,
    ruleset::RuleSet,
    step::{Arguments, CompletedStep},
};
use air_runtime::{Ports, rehearse};
use air_testkit::{
    rename::rename,
    suite::{Script, Step, StepEffects},
};
use futures::executor::block_on;

use crate::{row::Recorded, school::ACTOR};

/// Decides recorded steps.
#[derive(Debug)]
pub struct Again {
    ports: Ports,
    engine: Engine,
}

impl Again {
    /// Decides by `rules`.
    ///
    /// # Errors
    ///
    /// If two rules share a name.
    pub fn new(ports: &Ports, rules: &[Rule]) -> Result<Self, String> {
        let rules = RuleSet::enforced(rules.to_vec()).map_err(|error| error.to_string())?;
        Ok(Self { ports: ports.clone(), engine: Engine::new(rules, FailPolicy::default()) })
    }

    /// The same, without knowing what source code does.
    #[must_use]
    pub fn without_code(&self) -> Self {
        let code = Arc::new(Hidden(Arc::clone(&self.ports.code)));
        let ports = Ports { code, ..self.ports.clone() };
        Self { ports, engine: self.engine.clone() }
    }

    /// The rules that make the step an incident.
    pub fn found(&self, step: &CompletedStep, effects: &Effects) -> Vec<String> {
        let decided = block_on(rehearse::after(&self.ports, &self.engine, ACTOR, step, effects));
        if decided.decision != Review::Respond {
            return Vec::new();
        }
        decided.hits.iter().map(|finding| finding.rule.name.to_string()).collect()
    }

    /// The same step and effects under other names. The same `seed` gives the same names.
    ///
    /// # Errors
    ///
    /// If the effects do not survive it.
    pub fn renamed(
        &self,
        recorded: &Recorded,
        seed: u64,
    ) -> Result<(CompletedStep, Effects), String> {
        let told = |error: serde_json::Error| error.to_string();
        let mut step = recorded.step.clone();
        let call = &mut step.proposed.call;
        let output = step.observation.as_ref().map(|seen| seen.content.clone());
        let mut args = call.arguments.clone();
        // What is neither a source nor a path is a text, in which paths are renamed alike.
        args.insert(
            "effects".into(),
            serde_json::to_string(&recorded.effects).map_err(told)?.into(),
        );
        args.insert("output".into(), output.unwrap_or_default().into());
        let written = Step {
            plan: String::new(),
            tool: call.tool.clone(),
            args,
            output: String::new(),
            error: None,
            effects: StepEffects::default(),
        };
        let script = Script { step: vec![written], ..Script::default() };
        let mut script = rename(&script, seed, &*self.ports.labels);
        let mut args = script.step.pop().map(|step| step.args).unwrap_or_default();
        let effects = text(&mut args, "effects");
        let output = text(&mut args, "output");
        let effects = serde_json::from_str(&effects).map_err(told)?;
        let was_source = |plan: &str| call.arguments.values().any(|it| it.as_str() == Some(plan));
        if was_source(&step.proposed.plan) {
            let source = args.values().find_map(|value| value.as_str());
            source.unwrap_or_default().clone_into(&mut step.proposed.plan);
        }
        call.arguments = args;
        if let Some(seen) = &mut step.observation {
            seen.content = output;
        }
        Ok((step, effects))
    }
}

fn text(arguments: &mut Arguments, name: &str) -> String {
    let value = arguments.remove(name);
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Knows that there is source code, and nothing of what it does.
struct Hidden(Arc<dyn CodeReader>);

impl CodeReader for Hidden {
    fn read(&self, tool: &str, arguments: &Arguments, around: &dyn Surroundings) -> CodeFacts {
        CodeFacts {
            language: self.0.read(tool, arguments, around).language,
            incomplete: vec!["what the source does is hidden".to_owned()],
            ..CodeFacts::default()
        }
    }

    fn intents(&self, plan: &str) -> Vec<Intent> {
        self.0.intents(plan)
    }
}
