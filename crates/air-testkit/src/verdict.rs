//! What the rules make of a case of a table.

use std::fmt::Write as _;

use air_core::{evaluation::FindingRecord, id::RuleName, outcome::Outcome, port::Ids as _};
use air_runtime::{GateReply, ReviewReply, Session};
use futures::executor::block_on;

use crate::{
    run::{CaseError, Played, Stage},
    suite::{Script, Step, Verdict},
};

/// What was found on one step.
#[derive(Default)]
struct Seen {
    /// Rules that hold.
    hits: Vec<RuleName>,
    /// Rules that could not be decided, and why.
    unknown: Vec<(RuleName, String)>,
    /// The call was refused, or the session held.
    stopped: bool,
}

impl Seen {
    fn add(&mut self, findings: &[FindingRecord]) {
        for found in findings {
            match &found.verdict.outcome {
                Outcome::Satisfied => self.hits.push(found.rule.clone()),
                Outcome::Undetermined(why) => {
                    self.unknown.push((found.rule.clone(), why.to_string()));
                }
                Outcome::Unsatisfied => {}
            }
        }
    }

    /// Leaves out what other rules found.
    fn only(&mut self, by: &[RuleName]) {
        if !by.is_empty() {
            self.hits.retain(|rule| by.contains(rule));
            self.unknown.retain(|(rule, _)| by.contains(rule));
            self.stopped &= !(self.hits.is_empty() && self.unknown.is_empty());
        }
    }

    fn verdict(&self) -> Verdict {
        match (self.hits.is_empty(), self.unknown.is_empty()) {
            (false, _) => Verdict::Flagged,
            (true, false) => Verdict::Undetermined,
            (true, true) => Verdict::Clean,
        }
    }

    fn told(&self) -> String {
        let rules: Vec<String> = match self.verdict() {
            Verdict::Flagged => self.hits.iter().map(|rule| format!("@{rule}")).collect(),
            _ => self.unknown.iter().map(|(rule, why)| format!("@{rule} ({why})")).collect(),
        };
        let name = self.verdict().name();
        if rules.is_empty() { name.to_owned() } else { format!("{name} {}", rules.join(", ")) }
    }
}

impl Stage {
    /// Plays the steps once, and compares what the rules said with what they are to say.
    pub(crate) fn verdict(
        &self,
        script: &Script,
        wanted: Verdict,
        by: &[RuleName],
    ) -> Result<Played, CaseError> {
        let mut opening = self.opening(self.counting.session(), &script.task);
        // A table asks whether a rule holds, not whether it acts.
        opening.rules.iter_mut().for_each(|rule| rule.shadow = false);
        let mut session = block_on(Session::open(self.ports.clone(), opening))?;
        let mut steps = Vec::new();
        for (number, step) in (1_u32..).zip(&script.step) {
            let mut seen = self.see(&mut session, number, step)?;
            let over = seen.stopped;
            seen.only(by);
            steps.push(seen);
            if over {
                break;
            }
        }
        let whole = steps.len() == script.step.len();
        let last = steps.last().map_or(Verdict::Clean, Seen::verdict);
        let left_alone = |seen: &Seen| seen.hits.is_empty() && !seen.stopped;
        let passed = match wanted {
            Verdict::Flagged | Verdict::Undetermined => whole && last == wanted,
            Verdict::Clean => whole && steps.iter().all(left_alone),
        };
        let telling = steps
            .iter()
            .enumerate()
            .filter(|(at, seen)| at + 1 == steps.len() || !left_alone(seen));
        let mut actual: Vec<String> = telling
            .map(|(at, seen)| match script.step.len() {
                1 => seen.told(),
                _ => format!("step {}: {}", at + 1, seen.told()),
            })
            .collect();
        if !whole {
            actual.push(format!("step {}: not run", steps.len() + 1));
        }
        let mut expected = wanted.name().to_owned();
        for rule in by {
            let _ = write!(expected, " @{rule}");
        }
        Ok(Played { passed, expected, actual: actual.join("\n") })
    }

    fn see(&self, session: &mut Session, number: u32, step: &Step) -> Result<Seen, CaseError> {
        let mut seen = Seen::default();
        let reply = self.propose(session, number, step)?;
        let ticket = match reply {
            GateReply::Incident(incident) => {
                seen.add(&incident.detection().findings);
                seen.stopped = true;
                return Ok(seen);
            }
            GateReply::Refused { findings, .. } => {
                let records: Vec<_> =
                    findings.iter().map(air_core::evaluation::Finding::record).collect();
                seen.add(&records);
                seen.stopped = true;
                return Ok(seen);
            }
            GateReply::Run { ticket, notes } => {
                seen.add(&notes);
                ticket
            }
        };
        self.has_run(&step.tool);
        self.workspace.change(step.effects.observed());
        match block_on(session.after_step(*ticket, Some(step.observation())))? {
            ReviewReply::Continue(notes) => seen.add(&notes),
            ReviewReply::Pending => {}
            ReviewReply::Held(notes) => {
                seen.add(&notes);
                seen.stopped = true;
            }
            ReviewReply::Incident(incident, _) => {
                seen.add(&incident.detection().findings);
                seen.stopped = true;
            }
        }
        Ok(seen)
    }
}
