//! Puts the watched roots back as they were.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use air_checkpoint::{
    Entry, Place, Root, Tree,
    apply::{Applied, Applier, Change, Fate},
    beneath, differences,
    overlay::Shown,
};
use air_core::{id::CheckpointId, port::WorkspaceError};

use crate::{
    effects::agent_path,
    layers::{Layers, Writers},
    shared::put_back,
    spans::{Plan, retain},
    workspace::{Inner, Running, counted, failed, few},
};

impl Inner {
    /// Ends all processes and restores what `to` remembers. What somebody else changed since the
    /// agent's call is merged, or left and named. `only`: of these paths, as the agent calls them.
    pub(crate) fn rollback(
        &self,
        to: &CheckpointId,
        only: Option<&[String]>,
    ) -> Result<String, WorkspaceError> {
        let only = only.map(|paths| {
            let place = |path: &String| self.view.place(&self.roots, &self.view.meant(path));
            paths.iter().filter_map(place).collect::<BTreeSet<Place>>()
        });
        let mut running = self.running();
        let target = running.layers.held(to).map_err(failed)?;
        let left = Self::processes_of(&mut running).map_or(true, |left| !left.is_empty());
        let runs_on = running.runs_on || left;
        let left_by = running.left.clone();
        let Running { network, sandbox, .. } = &mut *running;
        network.keep(sandbox.as_mut(), to);
        running.services.is_replaced |= running.sandbox.take().is_some();
        let layers = &mut running.layers;
        let beside = self.config.beside.is_some();
        // What changed since the call was changed by somebody else, unless the agent's processes ran
        // on, a tool ran since, or the layer is the agent's alone.
        let is_known = !runs_on && !layers.is_layered() && layers.is_current() && !beside;
        let mut left_behind = match left_by.filter(|_| is_known) {
            Some(last) => Some(match layers.after(&last).map_err(failed)? {
                Some(tree) => tree,
                // It left nothing.
                None => layers.held(&last).map_err(failed)?,
            }),
            None => None,
        };
        if left_behind.is_none() {
            layers.look(&Writers::default());
        }
        if layers.open_up(&target) {
            left_behind = None;
        }
        let shown = layers.differing(to).map_err(failed)?;
        let Plan { changes: mut wanted, mut torn } = if beside {
            of_calls(layers, &target, to)?
        } else {
            let now = left_behind.as_ref().unwrap_or_else(|| layers.timeline.tree());
            Plan { changes: changes(&target, now), torn: BTreeSet::new() }
        };
        retain(&mut wanted, only.as_ref());
        torn.retain(|place| only.as_ref().is_none_or(|only| only.contains(place)));
        let shared = put_back(layers, &wanted);
        if shared.has_changed {
            layers.look(&Writers::default());
            if beside {
                is_there_already(&mut wanted, layers.timeline.tree());
            } else {
                wanted = changes(&target, layers.timeline.tree());
                retain(&mut wanted, only.as_ref());
            }
        }
        let now = left_behind.as_ref().unwrap_or_else(|| layers.timeline.tree());
        let mut refused = blind(layers, &target, now, only.as_ref());
        let applied = self.apply(layers, &wanted, &target)?;
        layers.look_after(&applied);
        if !applied.complete {
            let why = "not restored: it came to no end, as there is no space left on the disk or it \
                       fails; make room and try again";
            return Err(WorkspaceError::Incomplete(why.to_owned()));
        }
        // On a layer nobody else can have changed anything.
        if layers.is_layered() {
            let rest = layers.differing(to).map_err(failed)?;
            let more: Vec<String> = rest
                .shown
                .iter()
                // An index of a database is made anew.
                .filter(|shown| !shown.place.1.ends_with(b"-shm"))
                .map(|shown| agent_path(layers.roots(), &shown.place))
                .chain(
                    rest.unread_now
                        .iter()
                        .filter(|unread| !rest.unread_before.contains(unread))
                        .map(|unread| unread.why.clone()),
                )
                .collect();
            if !more.is_empty() {
                let why = format!("not restored, or not seen: {}", few(&more));
                return Err(WorkspaceError::Incomplete(why));
            }
        }
        let late = match late(layers.roots(), &self.restores(), &applied) {
            late if late.is_empty() => String::new(),
            late => format!("; changed meanwhile: {}", late.join(", ")),
        };
        refused.extend(shared.left);
        refused.extend(torn.iter().map(|place| {
            let path = agent_path(layers.roots(), place);
            format!("{path}: somebody else changed it since")
        }));
        refused.extend(held_back(layers, &applied));
        if !refused.is_empty() {
            let why = format!("not restored: {}{late}", few(&refused));
            return Err(WorkspaceError::Incomplete(why));
        }
        let of_them = |shown: &&Shown| only.as_ref().is_none_or(|only| only.contains(&shown.place));
        let all = shown.shown.iter().filter(of_them).count();
        let removed = shown.shown.iter().filter(of_them).filter(|shown| shown.before.is_none());
        let removed = removed.count();
        Ok(format!("{}{late}", said(all - removed, removed)))
    }

    /// Changes files of the watched roots; `tree` tells which names belong to one file.
    pub(crate) fn apply(
        &self,
        layers: &Layers,
        changes: &[Change],
        tree: &Tree,
    ) -> Result<Applied, WorkspaceError> {
        let names = tree.names_by_file();
        let siblings = |entry: &Entry| -> Vec<Place> {
            let places = names.get(&(entry.device, entry.inode));
            places.into_iter().flatten().map(|place| (*place).clone()).collect()
        };
        let directory = self.restores();
        let applier = self.applier(layers, layers.roots(), &directory);
        let applier = Applier { siblings: Some(&siblings), ..applier };
        applier.apply(changes).map_err(failed)
    }

    /// Where changes of the user's own files are written down: beside a host, sessions of many
    /// directories share a state.
    pub(crate) fn published_in(&self) -> PathBuf {
        if self.config.beside.is_some() {
            return self.restores();
        }
        self.config.state.join("applied")
    }

    /// Where the restores of this session are written down.
    pub(crate) fn restores(&self) -> PathBuf {
        self.config.session_dir.join("applied")
    }
}

/// Where each change is that somebody made while changes were applied, with the reason.
pub(crate) fn late(roots: &[Root], directory: &Path, applied: &Applied) -> Vec<String> {
    let late = applied.late.iter().map(|late| {
        let path = agent_path(roots, &late.place);
        format!("{path}: {}; see {}", late.why, directory.join(&late.kept).display())
    });
    late.collect()
}

/// What takes back what the session's calls did since `to`, whenever they were examined: beside a host people
/// work there too. What no call was seen to leave so, somebody else did.
fn of_calls(layers: &Layers, target: &Tree, to: &CheckpointId) -> Result<Plan, WorkspaceError> {
    let spans = layers.spans(to).map_err(failed)?;
    let mut plan = Plan::of(layers, &spans, &|_| None)?;
    let known: BTreeSet<&Place> = plan.changes.iter().map(|change| &change.place).collect();
    let others = differences(target, layers.timeline.tree()).into_iter();
    let others = others.map(|difference| difference.place.clone());
    plan.torn.extend(others.filter(|place| !known.contains(place)));
    Ok(plan)
}

/// Of some files the content was put back already.
fn is_there_already(changes: &mut [Change], now: &Tree) {
    for change in changes {
        if let (Some(now), Some(to)) = (now.entries.get(&change.place), &change.to)
            && now.is_same(to)
        {
            change.from = Some(now.clone());
        }
    }
}

/// What differs from what could not be read at the checkpoint, with the reason.
fn blind(
    layers: &Layers,
    target: &Tree,
    now: &Tree,
    only: Option<&BTreeSet<Place>>,
) -> Vec<String> {
    let unread = target.blind();
    let differing = differences(target, now).into_iter();
    differing
        .filter(|difference| unread.covers(difference.place))
        .filter(|difference| only.is_none_or(|only| only.contains(difference.place)))
        .map(|difference| {
            let path = agent_path(layers.roots(), difference.place);
            format!("{path}: it could not be read at the checkpoint")
        })
        .collect()
}

/// What makes `now` be as `target` was, times of change too.
fn changes(target: &Tree, now: &Tree) -> Vec<Change> {
    let blind = target.blind();
    let differing = differences(target, now).into_iter();
    let differing = differing.filter(|difference| !blind.covers(difference.place));
    let mut changes: Vec<Change> = differing
        .map(|difference| Change {
            place: difference.place.clone(),
            from: difference.now.cloned(),
            to: difference.before.cloned(),
        })
        .collect();
    let places: BTreeSet<Place> = changes.iter().map(|change| change.place.clone()).collect();
    // What is done in a directory changes its time.
    let parents: BTreeSet<Place> =
        places.iter().map(|(at, path)| (*at, beneath::split(path).0.to_vec())).collect();
    for (place, entry) in &target.entries {
        let differs = |now: &&Entry| now.mtime_ns != entry.mtime_ns || parents.contains(place);
        let now = now.entries.get(place).filter(differs);
        if let (Some(now), false) = (now, places.contains(place)) {
            let (from, to) = (Some(now.clone()), Some(entry.clone()));
            changes.push(Change { place: place.clone(), from, to });
        }
    }
    changes
}

fn held_back(layers: &Layers, applied: &Applied) -> Vec<String> {
    let refused = applied.fates.iter().filter_map(|(place, fate)| match fate {
        Fate::Refused(why) => Some(format!("{}: {why}", agent_path(layers.roots(), place))),
        Fate::Done | Fate::Already | Fate::Merged => None,
    });
    refused.collect()
}

fn said(restored: usize, removed: usize) -> String {
    match (restored, removed) {
        (0, 0) => "nothing differed".to_owned(),
        (_, 0) => format!("restored {}", counted(restored, "file")),
        (0, _) => format!("removed {}", counted(removed, "file")),
        _ => format!("restored {}, removed {removed}", counted(restored, "file")),
    }
}
