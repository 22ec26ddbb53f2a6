//! Times, as medians and 95th percentiles.

use serde::{Serialize, Serializer};

use crate::{
    data::{Case, Language},
    row::{Body, Guarded, Outcome, Phase},
    store::Store,
};

/// Seconds in the paper's Table 4, row *Code*: execution, check, response, eradication.
pub(super) const PAPER: [(&str, f64); 4] =
    [("tool", 10.162), ("check", 6.918), ("response", 10.514), ("eradication", 49.273)];

/// Times in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spread(Vec<u64>);

impl Spread {
    /// The value below which `percent` of all are, in milliseconds.
    pub fn at(&self, percent: usize) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
        sorted.get(at).and_then(|us| u32::try_from(*us).ok()).map(|us| f64::from(us) / 1000.0)
    }
}

impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [p50, p95] = [50, 95].map(|percent| self.at(percent));
        serde_json::json!({ "p50": p50, "p95": p95, "n": self.0.len() }).serialize(serializer)
    }
}

/// Where the time goes, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Starting the sandbox with its services, once a session.
    pub start: Spread,
    /// AIR's own share of a step: facts, rules, journal; where an incident is found, opening it too.
    pub check: Spread,
    /// The same of benign twins.
    pub safe_check: Spread,
    /// Checkpoint and effects.
    pub look: Spread,
    /// The tool.
    pub tool: Spread,
    /// Containment and recovery of an incident.
    pub response: Spread,
    /// Learning a guardrail.
    pub eradication: Spread,
    /// A whole step of a Python case, the tool included.
    pub python: Spread,
    /// A whole step of a Bash case, the tool included.
    pub bash: Spread,
    /// A refused call: all that there is of it.
    pub refusal: Spread,
    /// A benign twin in Python without AIR, the start of its sandbox aside.
    pub safe_python_before: Spread,
    /// The same with AIR.
    pub safe_python: Spread,
    /// A benign twin in Bash without AIR, the start of its sandbox aside.
    pub safe_bash_before: Spread,
    /// The same with AIR.
    pub safe_bash: Spread,
}

impl Times {
    pub(super) fn add(&mut self, case: &Case, is_twin: bool, store: &Store) {
        let guarded = |phase| match store.row(&case.id, phase).map(|row| &row.body) {
            Some(Body::Guarded(guarded)) => Some(&**guarded),
            _ => None,
        };
        if is_twin {
            let (before, after) = match case.language {
                Language::Python => (&mut self.safe_python_before, &mut self.safe_python),
                Language::Bash => (&mut self.safe_bash_before, &mut self.safe_bash),
            };
            if let Some(Body::Baseline { run_ms, .. }) =
                store.row(&case.id, Phase::Baseline).map(|row| &row.body)
            {
                before.0.push(run_ms.saturating_mul(1000));
            }
            after.0.extend(guarded(Phase::R4).map(whole));
            self.safe_check.0.extend(guarded(Phase::R4).map(|done| done.took.check));
            return;
        }
        if let Some(done) = guarded(Phase::R1) {
            let took = done.took;
            self.start.0.push(took.start);
            self.check.0.push(took.check);
            self.look.0.push(took.look);
            self.tool.0.push(took.tool);
            if done.outcome == Outcome::Incident {
                self.response.0.push(took.response);
                self.eradication.0.push(took.eradication);
            }
            match case.language {
                Language::Python => self.python.0.push(whole(done)),
                Language::Bash => self.bash.0.push(whole(done)),
            }
        }
        if let Some(again) = guarded(Phase::R2).filter(|it| it.outcome == Outcome::Refused) {
            self.refusal.0.push(again.took.check);
        }
    }
}

/// What the agent waits for.
fn whole(done: &Guarded) -> u64 {
    let took = done.took;
    took.check + took.look + took.tool + took.response
}
