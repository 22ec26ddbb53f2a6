//! What takes back what a session did, step by step.

use std::collections::{BTreeMap, BTreeSet};

use air_checkpoint::{Entry, Place, TimelineError, Tree, apply::Change, beneath, differences};
use air_core::port::WorkspaceError;

use crate::{
    layers::{Layers, WORKSPACE},
    undo::Span,
    workspace::failed,
};

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
    pub(crate) fn of(
        layers: &Layers,
        spans: &[Span],
        place: &dyn Fn(&String) -> Option<Place>,
    ) -> Result<Self, WorkspaceError> {
        let mut all: BTreeMap<Place, Change> = BTreeMap::new();
        let mut torn = BTreeSet::new();
        // Between the steps on a layer nobody changes anything: they are one span.
        let whole = match (spans.first(), spans.last()) {
            (Some(first), Some(last)) if layers.is_layered() => {
                vec![Span { before: first.before.clone(), ..last.clone() }]
            }
            _ => spans.to_vec(),
        };
        for one in whole.iter().rev() {
            let own = one.own.as_ref();
            let own = own.map(|own| own.iter().filter_map(place).collect::<BTreeSet<Place>>());
            let mut changes = span(layers, one)?;
            retain(&mut changes, own.as_ref());
            for change in changes {
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

/// Only these places, and what changes of a directory when they do.
pub(crate) fn retain(changes: &mut Vec<Change>, only: Option<&BTreeSet<Place>>) {
    let Some(only) = only else { return };
    let parents: BTreeSet<Place> =
        only.iter().map(|(at, path)| (*at, beneath::split(path).0.to_vec())).collect();
    changes.retain(|change| only.contains(&change.place) || parents.contains(&change.place));
}

fn is_same(one: Option<&Entry>, another: Option<&Entry>) -> bool {
    match (one, another) {
        (Some(one), Some(another)) => one.is_same(another),
        (None, None) => true,
        _ => false,
    }
}

/// What takes back what was done in one span, in the workspace.
fn span(layers: &Layers, span: &Span) -> Result<Vec<Change>, WorkspaceError> {
    let Span { before, last, is_examined, next, own: _ } = span;
    let failed = |error: TimelineError| match error {
        TimelineError::Unknown(_) => WorkspaceError::UnknownCheckpoint(before.clone()),
        other => failed(other),
    };
    if layers.is_layered() {
        let earlier = layers.own(Some(before)).map_err(failed)?.into_iter();
        let mut earlier: BTreeMap<Place, Option<Entry>> =
            earlier.map(|own| (own.place, own.seen)).collect();
        let later = layers.own(next.as_ref()).map_err(failed)?;
        let changes = later.into_iter().filter_map(|later| {
            // What the agent had not yet changed then was as the user's files were.
            let to = earlier.remove(&later.place).unwrap_or_else(|| later.base.clone());
            (to != later.seen).then_some(Change { place: later.place, from: later.seen, to })
        });
        return Ok(changes.collect());
    }
    let earlier = layers.held(before).map_err(failed)?;
    // What others did between this step and the next one is theirs.
    let later = match (layers.after(last).map_err(failed)?, next) {
        (Some(left), _) => left,
        // It left nothing of its own.
        (None, _) if *is_examined => layers.held(last).map_err(failed)?,
        (None, Some(next)) => layers.held(next).map_err(failed)?,
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
