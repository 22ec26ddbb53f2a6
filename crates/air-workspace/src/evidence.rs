//! What tells later what happened, taken down while everything stands still.

use air_checkpoint::{
    Entry,
    apply::{Fate, Planned, describe},
    overlay::Shown,
};
use air_core::{
    id::CheckpointId,
    port::{Evidence, WorkspaceError},
};
use serde::Serialize;

use crate::{
    effects,
    layers::Layers,
    network::Seen,
    workspace::{Inner, Running, counted, failed},
};

/// The longest diff that is kept, in bytes.
const DIFF_BYTES: usize = 4 << 20;

impl Inner {
    /// Freezes every process, cuts the network, and takes down what differs since `since`, what
    /// runs, and what was connected to. What fails, or is seen in part, is said, and nothing of it is fatal: containment
    /// goes on.
    pub(crate) fn preserve(&self, since: &CheckpointId) -> Evidence {
        let mut said = Vec::new();
        let mut evidence = Evidence::default();
        let mut running = self.running();
        if self.config.beside.is_some() {
            said.push("the host's processes and its network are left alone".to_owned());
        } else {
            match Self::freeze_in(&mut running) {
                Ok(done) => said.push(done),
                Err(error) => said.push(format!("not frozen: {error}")),
            }
            match self.isolate_in(&mut running) {
                Ok(done) => said.push(done),
                Err(error) => said.push(format!("network not cut: {error}")),
            }
        }
        let mut keep = |name: &str, content: Vec<u8>| {
            if !content.is_empty() {
                evidence.exhibits.push((name.to_owned(), content));
            }
        };
        match self.changes(&mut running, since) {
            Ok((number, diff, unread)) => {
                said.push(format!("kept what differs at {}", counted(number, "place")));
                said.extend(unread.map(|why| format!("files are incomplete: {why}")));
                keep("changes.diff", diff);
            }
            Err(error) => said.push(format!("what differs was not kept: {error}")),
        }
        if self.config.beside.is_some() {
            evidence.summary = said.join("; ");
            return evidence;
        }
        match Self::processes_of(&mut running) {
            Ok(processes) => {
                said.push(format!("kept {}", counted(processes.len(), "process")));
                keep("processes.json", json(&processes));
            }
            Err(error) => said.push(format!("no list of processes was kept: {error}")),
        }
        let Running { network, sandbox, .. } = &mut *running;
        let seen = network.since(sandbox.as_mut(), since);
        said.push(format!("kept {}", counted(seen.items.len(), "connection")));
        if let Some(why) = &seen.incomplete {
            said.push(format!("connections are incomplete: {why}"));
        }
        let incomplete = seen.incomplete.map(|incomplete| Told::Missing { incomplete });
        let seen: Vec<Told> = seen.items.into_iter().map(Told::Seen).chain(incomplete).collect();
        keep("connections.json", json(&seen));
        evidence.summary = said.join("; ");
        evidence
    }

    /// What differs, as a diff that a person can read. The contents are held by a checkpoint from now
    /// on, whatever is restored.
    fn changes(
        &self,
        running: &mut Running,
        since: &CheckpointId,
    ) -> Result<(usize, Vec<u8>, Option<String>), WorkspaceError> {
        self.look(running);
        let changes = running.layers.since(since).map_err(failed)?;
        running.layers.checkpoint().map_err(failed)?;
        let mut diff = diff(&running.layers, &changes.shown);
        let mut unread = changes.unread_before;
        unread.extend(changes.unread_now);
        let unread = effects::unread(running.layers.roots(), &unread);
        if let Some(why) = &unread {
            diff.extend_from_slice(format!("incomplete: {}\n", why.escape_debug()).as_bytes());
        }
        Ok((changes.shown.len(), diff, unread))
    }
}

fn json(items: &[impl Serialize]) -> Vec<u8> {
    if items.is_empty() {
        return Vec::new();
    }
    serde_json::to_vec_pretty(items).unwrap_or_default()
}

/// An entry of `connections.json`.
#[derive(Serialize)]
#[serde(untagged)]
enum Told {
    Seen(Seen),
    /// Why some are missing.
    Missing {
        incomplete: String,
    },
}

fn diff(layers: &Layers, shown: &[Shown]) -> Vec<u8> {
    let planned: Vec<Planned> = shown
        .iter()
        .map(|shown| Planned {
            place: shown.place.clone(),
            fate: Fate::Done,
            now: shown.before.clone(),
            then: shown.now.clone(),
            merged: None,
        })
        .collect();
    let content = |plan: &Planned, entry: &Entry| layers.content(&plan.place, entry);
    describe(layers.roots(), &planned, &content, DIFF_BYTES).into_bytes()
}
