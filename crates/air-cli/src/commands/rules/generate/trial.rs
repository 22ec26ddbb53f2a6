//! What is wrong with a draft: by its text, and by what it would have done on recorded steps.

use std::path::PathBuf;

use air::{Air, Change, Trial};
use air_core::{
    id::SessionId,
    port::{Journal as _, Stream},
    redact::holds_secret,
    rule::{Rule, RuleKind},
};
use air_lang::{Diagnostic, Severity, lint};
use futures::executor::block_on;
use serde::Serialize;

use super::Read;
use crate::{
    context::Context,
    error::CliError,
    guard::{self, Target},
};

/// Why a draft is returned.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Fault {
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// What a draft did on recorded steps.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Tried {
    /// Steps that were recorded.
    steps: usize,
    /// Incidents on which it holds too.
    foretold: usize,
    /// Steps on which it holds although nothing objected.
    ordinary: usize,
    /// Steps of which no condition can tell.
    undetermined: usize,
}

/// A draft's text, and all that is wrong with it.
pub(super) fn read(text: String, name: &str, settings: &lint::Settings) -> Read {
    let parsed = air_lang::parse(&text);
    let errors = parsed.diagnostics().iter().filter(|it| it.severity == Severity::Error);
    let mut faults: Vec<Fault> = errors.map(fault).collect();
    if faults.is_empty() {
        let files = [("draft", parsed.clone())];
        let found = lint(&files, settings).into_iter().flatten();
        faults.extend(found.filter(|it| it.severity <= Severity::Warning).map(|it| fault(&it)));
    }
    let own = |code: &'static str, message: &str| Fault { code, message: message.to_owned() };
    if holds_secret(&text) {
        faults.push(own("secret", "it holds what looks like a secret"));
    }
    let mut rules = parsed.into_rules();
    let rule = rules.pop();
    match &rule {
        _ if !rules.is_empty() => faults.push(own("several-rules", "it holds more than one rule")),
        None if faults.is_empty() => faults.push(own("no-rule", "it holds no rule")),
        None => {}
        Some(rule) => {
            if rule.name.as_str() != name {
                faults.push(own("wrong-name", &format!("its name is not @{name}")));
            }
            if matches!(rule.kind, RuleKind::Guardrail { .. }) {
                faults.push(own("guardrail", "it is a guardrail, and no rule for after a step"));
            }
        }
    }
    Read { text, rule, faults }
}

fn fault(found: &Diagnostic) -> Fault {
    let hint = found.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    let message = format!("line {}: {}{hint}", found.start.line, found.message);
    Fault { code: found.code.as_str(), message }
}

/// Recorded steps of a workspace.
pub(super) struct Records {
    air: Air,
    session: Option<SessionId>,
}

impl Records {
    pub(super) fn open(
        session: &str,
        workspace: Option<PathBuf>,
        context: &Context<'_>,
    ) -> Result<Self, CliError> {
        let target = Target { workspace, ..Target::default() };
        let air = guard::open_read_only(context, &target)?.ok_or_else(|| CliError::Usage {
            what: "no session has been recorded in this workspace".to_owned(),
            hint: "leave `--recorded` out, or name another workspace with `--workspace`".to_owned(),
        })?;
        if session == "all" {
            return Ok(Self { air, session: None });
        }
        let streams = block_on(air.journal().streams())?;
        let sessions = streams.into_iter().filter_map(|stream| match stream {
            Stream::Session(id) => Some(id),
            Stream::Incident(_) => None,
        });
        let found = guard::by_prefix(sessions.collect(), |id| id.as_str(), session, "session");
        let session = found.map_err(|error| CliError::Usage {
            what: error.to_string(),
            hint: "`airctl replay --all` names those that there are".to_owned(),
        })?;
        Ok(Self { air, session: Some(session) })
    }

    pub(super) fn try_on(&self, rule: &Rule) -> Result<Tried, CliError> {
        let trial = Trial::Beside(vec![rule.clone()]);
        let steps = block_on(self.air.replay(trial, self.session.as_ref()))?;
        let mut tried = Tried { steps: steps.len(), ..Tried::default() };
        for step in steps {
            let holds = step.now.iter().any(|found| found.verdict.outcome.is_satisfied());
            let ordinary = step.incident.is_none() && step.then.is_empty();
            match step.change {
                _ if holds && !ordinary => tried.foretold += 1,
                Change::NewlyFlagged | Change::NewlyBlocked if holds => tried.ordinary += 1,
                Change::Unknown(_) => tried.undetermined += 1,
                _ if !step.undetermined.is_empty() => tried.undetermined += 1,
                _ => {}
            }
        }
        Ok(tried)
    }
}

impl Tried {
    pub(super) fn fault(&self) -> Option<Fault> {
        let Self { steps, ordinary, .. } = self;
        (*ordinary > 0).then(|| Fault {
            code: "holds-on-ordinary-steps",
            message: format!(
                "it holds on {ordinary} of {steps} recorded steps that were no incident"
            ),
        })
    }

    /// In short, for the table.
    pub(super) fn told(&self) -> String {
        let Self { steps, foretold, ordinary, undetermined } = self;
        format!(
            "{steps} recorded steps: {foretold} incidents found, {ordinary} ordinary steps, \
             {undetermined} cannot be told"
        )
    }
}
