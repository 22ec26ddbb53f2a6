//! Calls by which AIR puts an incident right through the agent's own tools, where what the incident did
//! says by itself which: what it created is removed.
//!
//! They are calls of the response like the agent's own: asked about, let pass, observed and verified.
//! They are issued once for an incident. What they have not put right is the agent's to do.

use std::{collections::BTreeSet, path::Path};

use air_core::{
    effects::{Change, Effects, FileEffect},
    id::IncidentId,
    incident::{Action, Incident, IncidentEvent},
    port::{Event, Stream},
    step::{Arguments, ProposedStep, ToolCall},
};
use serde_json::Value;

use super::{Hosted, response, scope};
use crate::{respond::Case, session::RuntimeError};

/// Paths that one call removes at most. Past that the agent, or a person, should have a look.
const MOST_PATHS: usize = 32;
/// Bytes of a command at most.
const MOST_BYTES: usize = 4096;
/// The canonical tool.
const SHELL: &str = "shell.exec";

/// What a host can be given beside a call that came back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// Words for its agent.
    #[default]
    Words,
    /// Calls that it makes through its agent's tools.
    Calls,
}

/// A call that AIR wants made through the agent's tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// The canonical name of the tool.
    pub tool: String,
    /// Canonical.
    pub arguments: Arguments,
}

/// What is known of calls that were issued. A new process knows of those that were made: by the journal.
#[derive(Debug, Default)]
pub(super) struct Issuing {
    reach: Reach,
    issued: BTreeSet<IncidentId>,
}

impl Hosted {
    /// What can be given to the host with the next answer.
    pub fn reach(&mut self, reach: Reach) {
        self.issuing.reach = reach;
    }

    /// The calls that put the incident right, where the host can make them and none was made yet.
    pub(super) async fn issue(
        &mut self,
        incident: &Incident,
        case: &Case,
        now: &Effects,
    ) -> Result<Vec<Issued>, RuntimeError> {
        if self.issuing.reach == Reach::Words
            || self.issuing.issued.contains(incident.id())
            || !is_helped(incident)
            || self.was_acted(incident).await?
        {
            return Ok(Vec::new());
        }
        let absolute = |path: &str| self.session.ports.workspace.absolute(path);
        let code = response::read(&self.session, &case.step.proposed);
        let mut named = self.session.named(&code);
        named.extend(code.operations.iter().map(|operation| absolute(&operation.target)));
        let Some(command) = removal(&case.effects, now, &named) else { return Ok(Vec::new()) };
        let arguments = Arguments::from_iter([("command".to_owned(), Value::from(command))]);
        let step = ProposedStep {
            session: self.session.id().clone(),
            index: incident.detection().index,
            plan: String::new(),
            call: ToolCall {
                id: "issued".into(),
                tool: SHELL.to_owned(),
                arguments: arguments.clone(),
                native: None,
            },
        };
        let code = response::read(&self.session, &step);
        if scope::outside(&code, &case.effects, &absolute).is_some() {
            return Ok(Vec::new());
        }
        self.issuing.issued.insert(incident.id().clone());
        Ok(vec![Issued { tool: SHELL.to_owned(), arguments }])
    }

    /// Whether a call of the response was made, or was to be.
    async fn was_acted(&self, incident: &Incident) -> Result<bool, RuntimeError> {
        let stream = Stream::Incident(incident.id().clone());
        let records = self.session.ports.journal.read(&stream).await?;
        Ok(records.iter().any(|record| {
            matches!(
                record.event,
                Event::Incident(
                    IncidentEvent::AgentActing { .. }
                        | IncidentEvent::AgentActed { .. }
                        | IncidentEvent::TryFailed { .. }
                )
            )
        }))
    }
}

/// Whether AIR takes part in putting it right at all: an agent that is on its own gets no help.
fn is_helped(incident: &Incident) -> bool {
    let response = &incident.detection().response;
    response
        .iter()
        .any(|planned| matches!(planned.action, Action::Order { told: true, fallback: true }))
}

/// The command that removes what the incident created, its call `named`, and nobody has touched since.
/// What it did not name may be somebody else's. `None`: there is nothing of that kind, or something that
/// no removal mends, or that cannot be told.
fn removal(of_incident: &Effects, now: &Effects, named: &[String]) -> Option<String> {
    if now.files.incomplete.is_some()
        || of_incident.files.incomplete.is_some()
        || !of_incident.processes.items.is_empty()
        || !of_incident.connections.items.is_empty()
    {
        return None;
    }
    let all = &of_incident.files.items;
    let holds = |file: &FileEffect| {
        let mut others = all.iter().filter(|other| other.path != file.path);
        others.any(|other| Path::new(&other.path).starts_with(&file.path))
    };
    // Of a directory that was there before, the rest is somebody else's.
    let own = |path: &str| {
        let mut made = all.iter().filter(|made| Path::new(path).starts_with(&made.path));
        made.any(|made| named.contains(&made.path))
    };
    let mut paths = Vec::new();
    for file in all {
        let Some(left) = now.files.items.iter().find(|left| left.path == file.path) else {
            // Somebody has put it right already.
            continue;
        };
        if file.change != Change::Created {
            return None;
        }
        if holds(file) || !own(&file.path) {
            continue;
        }
        if left != file || !is_plain(&file.path) {
            return None;
        }
        paths.push(quoted(&file.path));
    }
    let command = format!("rm -f -- {}", paths.join(" "));
    let fits = (1..=MOST_PATHS).contains(&paths.len()) && command.len() <= MOST_BYTES;
    fits.then_some(command)
}

/// Whether a path stands for one file alone, and a person who is shown it sees what it is.
fn is_plain(path: &str) -> bool {
    let is_odd = |letter: char| letter.is_control() || letter == char::REPLACEMENT_CHARACTER;
    path.starts_with('/') && !path.chars().any(is_odd)
}

/// As one word of a POSIX shell.
fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use air_core::effects::{ConnectionEffect, Observed, ProcessEffect};

    use super::*;

    fn file(path: &str, change: Change) -> FileEffect {
        FileEffect {
            path: path.to_owned(),
            change,
            size: 1,
            mode: 0o644,
            origin: None,
            origin_unknown: None,
            moved: None,
            aspects: Vec::new(),
            marks: Vec::new(),
            reversible: true,
        }
    }

    fn effects(files: &[FileEffect]) -> Effects {
        Effects { files: Observed::whole(files.to_vec()), ..Effects::default() }
    }

    fn created(paths: &[&str]) -> Effects {
        let all: Vec<_> = paths.iter().map(|path| file(path, Change::Created)).collect();
        effects(&all)
    }

    /// Of an incident that named all that it did.
    fn removed(of_incident: &Effects, now: &Effects) -> Option<String> {
        let named: Vec<String> =
            of_incident.files.items.iter().map(|file| file.path.clone()).collect();
        removal(of_incident, now, &named)
    }

    #[test]
    fn what_was_created_is_removed() {
        let all = created(&["/r/a", "/r/with space", "/r/it's", "/r/-f", "/r/$(x)`y`\\"]);
        assert_eq!(
            removed(&all, &all).expect("a command"),
            r"rm -f -- '/r/a' '/r/with space' '/r/it'\''s' '/r/-f' '/r/$(x)`y`\'"
        );
    }

    #[test]
    fn what_others_made_or_removed_since_is_none_of_it() {
        let now = created(&["/r/a", "/r/mine"]);
        let command = removed(&created(&["/r/a", "/r/gone"]), &now);
        assert_eq!(command.as_deref(), Some("rm -f -- '/r/a'"));
        assert_eq!(removed(&created(&["/r/gone"]), &now), None);
    }

    #[test]
    fn what_the_call_did_not_name_may_be_another_s() {
        let all = created(&["/r/a", "/r/d/x", "/r/d/y", "/r/ab"]);
        let named = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            removal(&all, &all, &paths)
        };
        assert_eq!(named(&["/r/a"]).as_deref(), Some("rm -f -- '/r/a'"));
        assert_eq!(named(&["/r/d/y"]).as_deref(), Some("rm -f -- '/r/d/y'"));
        for none in [&[][..], &["/r"], &["/r/d"], &["/"]] {
            assert_eq!(named(none), None, "{none:?} was there before");
        }
    }

    #[test]
    fn of_a_directory_its_files_are_removed() {
        let all = created(&["/r/d", "/r/d/e", "/r/d/e/x", "/r/dd"]);
        assert_eq!(removed(&all, &all).expect("a command"), "rm -f -- '/r/d/e/x' '/r/dd'");
        let below = removal(&all, &all, &["/r/d".to_owned()]);
        assert_eq!(below.expect("a command"), "rm -f -- '/r/d/e/x'");
    }

    #[test]
    fn what_no_removal_mends_is_left_to_the_agent() {
        let copy = || file("/r/a", Change::Created);
        for other in [file("/r/b", Change::Modified), file("/r/b", Change::Deleted)] {
            let all = effects(&[copy(), other]);
            assert_eq!(removed(&all, &all), None);
        }
        let all = effects(&[copy()]);
        let edited = effects(&[FileEffect { size: 2, ..copy() }]);
        assert_eq!(removed(&all, &edited), None, "somebody has written to it since");
        let partly =
            Effects { files: Observed::partial(vec![copy()], "too much"), ..Effects::default() };
        assert_eq!(removed(&all, &partly), None);
        assert_eq!(removed(&partly, &all), None);
        let process = ProcessEffect { pid: 7, argv: vec!["sleep".to_owned()] };
        let runs = Effects { processes: Observed::whole(vec![process]), ..all.clone() };
        assert_eq!(removed(&runs, &all), None);
        let connection: ConnectionEffect = serde_json::from_value(serde_json::json!({
            "host": "example.com", "port": 443, "direction": "out", "bytes_sent": 1,
        }))
        .expect("a connection");
        let sent = Effects { connections: Observed::whole(vec![connection]), ..all.clone() };
        assert_eq!(removed(&sent, &all), None);
        assert_eq!(removed(&effects(&[]), &all), None, "nothing was created");
    }

    #[test]
    fn what_is_too_much_or_cannot_be_named_is_left_to_the_agent() {
        let paths: Vec<String> = (0..=MOST_PATHS).map(|at| format!("/r/{at}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let all = created(&paths);
        assert_eq!(removed(&all, &all), None);
        let most = created(&paths[1..]);
        assert!(removed(&most, &most).is_some());
        let long = format!("/r/{}", "x".repeat(MOST_BYTES));
        for path in [long.as_str(), "/r/a\nb", "/r/a\u{1b}[2K", "/r/\u{fffd}", "relative"] {
            let all = created(&[path]);
            assert_eq!(removed(&all, &all), None, "{path:?}");
        }
    }
}
