//! The scripted agent at work.

use std::sync::Arc;

use air::{Air, Host, Nobody, StepOutcome};
use air_core::step::ToolCall;
use air_workspace::Tools;
use futures::executor::block_on;

use crate::{
    context::Context,
    error::CliError,
    script::{Script, ScriptStep},
    tell::{End, Teller, steps},
};

/// Runs a script to its end.
///
/// # Errors
///
/// If the script names a tool that is not there, or AIR itself failed: then nothing more has run.
pub fn play(air: &Air, script: &Script, context: &mut Context<'_>) -> Result<End, CliError> {
    for step in &script.steps {
        let (tool, arguments) = (step.tool.clone(), step.arguments.clone());
        let call = ToolCall { id: "script".into(), tool, arguments, native: None };
        Tools::check(&call).map_err(|error| CliError::Usage {
            what: format!("line {}: {error}", step.line),
            hint: format!("tools are {}", Tools::names().collect::<Vec<_>>().join(", ")),
        })?;
    }
    let mut host = block_on(air.host(&script.task, "script", Arc::new(Nobody)))?;
    let mut teller = Teller::new(context, air);
    teller.session(&host)?;
    let mut end = End::DONE;
    for (at, it) in script.steps.iter().enumerate() {
        if let Some(over) = step(&mut host, &mut teller, at + 1, it)? {
            end = over;
            break;
        }
    }
    let end = teller.end(&mut host, end)?;
    teller.ended(&end, script.steps.len())?;
    Ok(end)
}

/// One step. What it ended, if it ended anything.
fn step(
    host: &mut Host,
    teller: &mut Teller<'_, '_>,
    number: usize,
    step: &ScriptStep,
) -> Result<Option<End>, CliError> {
    teller.step(number, &step.tool, &step.arguments)?;
    let outcome = block_on(host.step(&step.plan, &step.tool, step.arguments.clone()))?;
    teller.late(host)?;
    teller.came(number, &step.tool, &outcome)?;
    Ok(match outcome {
        StepOutcome::Ran { .. } => None,
        StepOutcome::Held { .. } => Some(End::Held { step: number }),
        StepOutcome::Refused { findings, .. } if findings.is_empty() && host.session().held() => {
            Some(End::Held { step: steps(host) })
        }
        StepOutcome::Refused { findings, .. } => {
            let guardrails = findings.iter().map(|found| found.rule.to_string()).collect();
            Some(End::Blocked { step: number, guardrails })
        }
        StepOutcome::Incident { incident, .. } | StepOutcome::Overtaken { incident } => {
            Some(teller.whole_incident(host, &incident)?)
        }
    })
}
