//! The scripted agent at work.

use std::sync::Arc;

use air::{Air, Nobody, StepOutcome};
use air_core::step::ToolCall;
use air_workspace::Tools;
use futures::executor::block_on;

use crate::{
    context::Context,
    error::CliError,
    script::Script,
    tell::{End, Teller},
};

/// Runs a script to its end.
///
/// # Errors
///
/// If the script names a tool that is not there, or AIR itself failed: then nothing more has run.
pub fn play(air: &Air, script: &Script, context: &mut Context<'_>) -> Result<End, CliError> {
    for step in &script.steps {
        let (tool, arguments) = (step.tool.clone(), step.arguments.clone());
        let call = ToolCall { id: "script".into(), tool, arguments };
        Tools::check(&call).map_err(|error| CliError::Usage {
            what: format!("line {}: {error}", step.line),
            hint: format!("tools are {}", Tools::names().collect::<Vec<_>>().join(", ")),
        })?;
    }
    let mut host = block_on(air.host(&script.task, "script", Arc::new(Nobody)))?;
    let mut teller = Teller::new(context, air);
    teller.session(&host)?;
    for (at, step) in script.steps.iter().enumerate() {
        let number = at + 1;
        teller.step(number, &step.tool, &step.arguments)?;
        let outcome = block_on(host.step(&step.plan, &step.tool, step.arguments.clone()))?;
        let end = match outcome {
            StepOutcome::Ran { observation, notes } => {
                teller.ran(number, &step.tool, &observation)?;
                teller.notes(number, &notes)?;
                continue;
            }
            StepOutcome::Held { observation, notes } => {
                teller.ran(number, &step.tool, &observation)?;
                teller.notes(number, &notes)?;
                teller.stage("held", "a critical rule could not be decided")?;
                End::Held { step: number }
            }
            StepOutcome::Refused { findings, message } => {
                teller.stage("blocked", &message)?;
                let guardrails = findings.iter().map(|found| found.rule.to_string()).collect();
                End::Blocked { step: number, guardrails }
            }
            StepOutcome::Incident { observation, incident } => {
                teller.ran(number, &step.tool, &observation)?;
                teller.whole_incident(&mut host, &incident)?
            }
            StepOutcome::Overtaken { incident } => teller.whole_incident(&mut host, &incident)?,
        };
        block_on(host.end())?;
        teller.published(&host)?;
        teller.ended(&end, script.steps.len())?;
        return Ok(end);
    }
    block_on(host.end())?;
    teller.published(&host)?;
    teller.ended(&End::Done, script.steps.len())?;
    Ok(End::Done)
}
