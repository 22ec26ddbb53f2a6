//! Turns the `respond` clauses of the rules that hold into a plan that outlives them.

use std::sync::Arc;

use air_core::{
    code::CodeFacts,
    condition::CallTemplate,
    effects::{Change, Effects},
    evaluation::Finding,
    fact::Facts,
    incident::{Action, Phase, PlannedAction},
    redact::redact,
    rule::{ResponseAction, Rule, RuleKind},
    step::CompletedStep,
};

use crate::{
    Ports,
    decide::payload,
    models::{Models, Remediation},
    repair,
    session::RuntimeError,
};

/// What AIR will do by itself, in order, each once.
///
/// Everything is frozen and the evidence kept first; then all that runs is ended: nothing shows that
/// the harm has stopped while it does. Where no rule says how to respond, the agent is told to; without
/// one, AIR takes what the step created out of reach and puts the workspace back.
pub(crate) async fn response(
    findings: &[Finding],
    effects: &Effects,
    (step, code): (&CompletedStep, &CodeFacts),
    facts: &Facts,
    (ports, models): (&Ports, &Models),
) -> Result<Vec<PlannedAction>, RuntimeError> {
    let mut plan = Vec::new();
    let mut add = |phase: Phase, action: Action| {
        let planned = PlannedAction { phase, action };
        if !plan.contains(&planned) {
            plan.push(planned);
        }
    };
    let quarantine = || Action::Quarantine { paths: created(effects) };
    add(Phase::Containment, Action::Preserve);
    add(Phase::Containment, Action::Kill);
    let mut lines: Vec<&ResponseAction> =
        findings.iter().flat_map(|finding| respond(&finding.rule)).collect();
    let fallback = models.remediation != Remediation::Alone;
    if !fallback {
        lines.clear();
    }
    let by_agent = ports.responder.is_some() && models.remediation != Remediation::Air;
    if lines.is_empty() && by_agent {
        add(Phase::Recovery, Action::Order { told: models.told, fallback });
    } else if lines.is_empty() {
        if !created(effects).is_empty() {
            add(Phase::Containment, quarantine());
        }
        add(Phase::Recovery, Action::Rollback);
    }
    for line in lines {
        let phase = if line.contains() { Phase::Containment } else { Phase::Recovery };
        match line {
            ResponseAction::Kill => add(phase, Action::Kill),
            ResponseAction::Isolate => add(phase, Action::Isolate),
            ResponseAction::Quarantine => add(phase, quarantine()),
            ResponseAction::Rollback => add(phase, Action::Rollback),
            ResponseAction::Restart => add(phase, Action::Restart),
            ResponseAction::Repair => {
                if let Some(action) = repair::plan(ports, step, code).await? {
                    add(phase, action);
                }
            }
            ResponseAction::Call { tool, template, .. } => {
                for action in calls(tool, &**template, facts, ports).await? {
                    add(phase, action);
                }
            }
        }
    }
    Ok(plan)
}

fn respond(rule: &Rule) -> &[ResponseAction] {
    match &rule.kind {
        RuleKind::Incident { respond, .. } => respond,
        RuleKind::Guardrail { .. } => &[],
    }
}

async fn calls(
    tool: &Arc<str>,
    template: &dyn CallTemplate,
    facts: &Facts,
    ports: &Ports,
) -> Result<Vec<Action>, RuntimeError> {
    let Some(info) = ports.tools.tool(tool) else {
        return Ok(vec![Action::Impossible { why: format!("unknown tool `{tool}`") }]);
    };
    let all = match template.expand(facts) {
        Ok(all) => all,
        Err(why) => return Ok(vec![Action::Impossible { why: redact(&why) }]),
    };
    let mut actions = Vec::new();
    for arguments in all {
        actions.push(Action::Call {
            tool: info.name.clone(),
            arguments: payload(ports, &arguments).await?,
            idempotent: info.idempotent,
        });
    }
    Ok(actions)
}

fn created(effects: &Effects) -> Vec<String> {
    let files = effects.files.items.iter();
    files.filter(|file| file.change == Change::Created).map(|file| file.path.clone()).collect()
}

/// Lines for a person, one an effect, without secrets.
pub(crate) fn evidence(effects: &Effects) -> Vec<String> {
    const MOST: usize = 20;
    let files = effects.files.items.iter().map(|file| {
        let origin = file.origin.as_ref().map(|origin| format!(", repeats {origin}"));
        format!("{} {}{}", file.change.name(), file.path, origin.unwrap_or_default())
    });
    let processes = effects.processes.items.iter();
    let processes = processes.map(|process| format!("left running: {}", process.argv.join(" ")));
    let connections = effects.connections.items.iter().map(|connection| {
        let (host, port) = (&connection.host, connection.port);
        let sent = match (connection.bytes_sent, &connection.payload_origin) {
            (0, _) => String::new(),
            (sent, None) => format!(", {sent} bytes"),
            (sent, Some(origin)) => format!(", {sent} bytes, repeats {origin}"),
        };
        format!("connection {} {host}:{port}{sent}", connection.direction)
    });
    let all: Vec<String> = files.chain(processes).chain(connections).collect();
    let more = all.len().saturating_sub(MOST);
    let mut lines: Vec<String> = all.iter().take(MOST).map(|line| redact(line)).collect();
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}
