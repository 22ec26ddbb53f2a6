//! What takes back what a session did, step by step.

use std::collections::{BTreeMap, BTreeSet};

use air_checkpoint::{Entry, Place, TimelineError, Tree, apply::Change, differences};
use air_core::{id::CheckpointId, port::WorkspaceError};

use crate::{
    layers::{Layers, WORKSPACE},
    workspace::failed,
};

/// A state before, and the next one; `None`: the last that there is.
pub(crate) type Span = (CheckpointId, Option<CheckpointId>);

/// What takes some spans back.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// One a place.
    pub(crate) changes: Vec<Change>,
    /// Places that somebody else changed between two spans: they go back only as far as that.
    pub(crate) torn: BTreeSet<Place>,
}

impl Plan {
    /// The latest span is taken back first, so that a place goes back through what it was.
    pub(crate) fn of(layers: &Layers, spans: &[Span]) -> Result<Self, WorkspaceError> {
        let mut all: BTreeMap<Place, Change> = BTreeMap::new();
        let mut torn = BTreeSet::new();
        // Between the steps on a layer nobody changes anything: they are one span.
        let whole = match (spans.first(), spans.last()) {
            (Some((first, _)), Some((_, last))) if layers.is_layered() => {
                vec![(first.clone(), last.clone())]
            }
            _ => spans.to_vec(),
        };
        for (before, after) in whole.iter().rev() {
            if after.as_ref() == Some(before) {
                continue;
            }
            for change in span(layers, before, after.as_ref())? {
                if torn.contains(&change.place) {
                    continue;
                }
                match all.get_mut(&change.place) {
                    None => {
                        all.insert(change.place.clone(), change);
                    }
                    Some(known) if is_same(known.to.as_ref(), change.from.as_ref()) => {
                        known.to = change.to;
                    }
                    Some(_) => {
                        torn.insert(change.place);
                    }
                }
            }
        }
        Ok(Self { changes: all.into_values().collect(), torn })
    }
}

fn is_same(one: Option<&Entry>, another: Option<&Entry>) -> bool {
    match (one, another) {
        (Some(one), Some(another)) => one.is_same(another),
        (None, None) => true,
        _ => false,
    }
}

/// What takes back what was done in one span, in the workspace.
fn span(
    layers: &Layers,
    before: &CheckpointId,
    after: Option<&CheckpointId>,
) -> Result<Vec<Change>, WorkspaceError> {
    let failed = |error: TimelineError| match error {
        TimelineError::Unknown(_) => WorkspaceError::UnknownCheckpoint(before.clone()),
        other => failed(other),
    };
    if layers.is_layered() {
        let earlier = layers.own(Some(before)).map_err(failed)?.into_iter();
        let mut earlier: BTreeMap<Place, Option<Entry>> =
            earlier.map(|own| (own.place, own.seen)).collect();
        let later = layers.own(after).map_err(failed)?;
        let changes = later.into_iter().filter_map(|later| {
            // What the agent had not yet changed then was as the user's files were.
            let to = earlier.remove(&later.place).unwrap_or_else(|| later.base.clone());
            (to != later.seen).then_some(Change { place: later.place, from: later.seen, to })
        });
        return Ok(changes.collect());
    }
    let earlier = layers.held(before).map_err(failed)?;
    // What others did between this step and the next one is theirs.
    let later = match (layers.after(before).map_err(failed)?, after) {
        (Some(left), _) => left,
        (None, Some(after)) => layers.held(after).map_err(failed)?,
        (None, None) => layers.timeline.tree().clone(),
    };
    let changes = differences(&later, &earlier)
        .into_iter()
        .filter(|difference| difference.place.0 == WORKSPACE)
        .map(|difference| Change {
            place: difference.place.clone(),
            from: difference.before.cloned(),
            to: difference.now.cloned(),
        });
    Ok(changes.chain(touched(&earlier, &later)).collect())
}

/// Gives the times back of what is otherwise the same.
fn touched<'a>(earlier: &'a Tree, later: &'a Tree) -> impl Iterator<Item = Change> + use<'a> {
    let there = later.entries.iter().filter(|(place, _)| place.0 == WORKSPACE);
    there.filter_map(|(place, now)| {
        let then = earlier.entries.get(place)?;
        let is_touched = then.mtime_ns != now.mtime_ns && then.is_same(now);
        is_touched.then(|| Change {
            place: place.clone(),
            from: Some(now.clone()),
            to: Some(then.clone()),
        })
    })
}
