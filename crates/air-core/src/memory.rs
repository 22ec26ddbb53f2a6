//! What a session's steps have put where: variables of its interpreters and files. So an attack that is
//! split over steps is seen as one.
//!
//! Bounded; every step costs what it adds, whatever came before.

use std::collections::{HashMap, VecDeque};

use crate::{
    code::CodeFacts,
    effects::{Change, Effects},
    fact::PathLabels,
    place::{Held, Place, PlaceKind},
    value::Value,
};

/// Places that are remembered; the oldest are forgotten first.
const MOST_PLACES: usize = 4096;
/// Sources that are remembered of one place.
const MOST_SOURCES: usize = 16;
/// Bytes of texts that are remembered, all places together.
const MOST_TEXT: usize = 4 << 20;

/// What is where.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    held: HashMap<Place, (u64, Held)>,
    /// When places were written, oldest first; what is not so any more is skipped. Those of which no
    /// more than a text is known are apart: without it nothing is missed.
    order: [VecDeque<(u64, Place)>; 2],
    writes: u64,
    text: usize,
    forgotten: bool,
}

impl Memory {
    /// What is at that place, as far as is known.
    pub fn held(&self, place: &Place) -> Option<&Held> {
        self.held.get(place).map(|(_, held)| held)
    }

    /// Whether something that would tell where contents come from is missing.
    pub fn forgets(&self) -> bool {
        self.forgotten
    }

    /// Something is missing from now on.
    pub fn forget(&mut self) {
        self.forgotten = true;
    }

    /// A step has run: what its source leaves, and what it was seen to change. Paths of effects are
    /// absolute; those of sources are brought into that form by `absolute`.
    pub fn observe(
        &mut self,
        code: &CodeFacts,
        effects: &Effects,
        absolute: impl Fn(&str) -> String,
    ) {
        for (place, held) in &code.leaves {
            let mut place = place.clone();
            if place.kind == PlaceKind::File {
                place.name = absolute(&place.name);
            }
            let before = self.held(&place).cloned().unwrap_or_default();
            self.put(place, before.then(held.clone()));
        }
        for file in &effects.files.items {
            let place = Place::new(PlaceKind::File, file.path.as_str());
            if file.change == Change::Deleted {
                self.remove(&place);
                continue;
            }
            let from = file.moved.as_ref().map(|from| Place::new(PlaceKind::File, from.as_str()));
            let mut held = self.held(&place).cloned().unwrap_or_default();
            if let Some(before) = from.and_then(|from| self.held(&from)) {
                held.sources.extend(before.sources.iter().cloned());
            }
            if let Some(origin) = &file.origin {
                held.sources.push(Place::new(PlaceKind::File, origin.as_str()));
            }
            self.put(place, held);
        }
    }

    fn put(&mut self, place: Place, mut held: Held) {
        held.sources.sort_unstable();
        held.sources.dedup();
        if held.sources.len() > MOST_SOURCES {
            held.sources.truncate(MOST_SOURCES);
            self.forgotten = true;
        }
        self.remove(&place);
        if held.is_empty() {
            return;
        }
        self.text += held.text.as_ref().map_or(0, String::len);
        self.writes += 1;
        let kind = usize::from(!held.is_text());
        let [texts, others] = &mut self.order;
        (if held.is_text() { texts } else { others }).push_back((self.writes, place.clone()));
        self.held.insert(place, (self.writes, held));
        while self.held.len() > MOST_PLACES || self.text > MOST_TEXT {
            let [texts, others] = &mut self.order;
            let Some((written, oldest)) = texts.pop_front().or_else(|| others.pop_front()) else {
                break;
            };
            // It may have been written again since, or be gone.
            let last = self.held.get(&oldest).filter(|(last, _)| *last == written);
            let is_text = last.map(|(_, held)| held.is_text());
            if is_text.is_some() && self.remove(&oldest) {
                self.forgotten |= is_text == Some(false);
            }
        }
        // As many writes pass before this is needed again, so that each costs the same.
        let held = &self.held;
        if let Some(order) = self.order.get_mut(kind).filter(|order| order.len() > 2 * MOST_PLACES)
        {
            order.retain(|(at, place)| held.get(place).is_some_and(|(last, _)| last == at));
        }
    }

    fn remove(&mut self, place: &Place) -> bool {
        let Some((_, held)) = self.held.remove(place) else { return false };
        self.text -= held.text.as_ref().map_or(0, String::len);
        true
    }

    /// The fact `taint`: what comes from a place with labels, and where it is now. Incomplete once
    /// something was forgotten.
    pub fn to_value(&self, labels: &dyn PathLabels) -> Value {
        let mut found: Vec<(&Place, &Place)> = Vec::new();
        for (place, (_, held)) in &self.held {
            found.extend(held.sources.iter().map(|source| (source, place)));
        }
        found.sort_unstable();
        let items = found.into_iter().filter_map(|(source, place)| {
            let labels = source.labels(labels);
            (!labels.is_empty()).then(|| {
                Value::record([
                    ("origin", source.name_value()),
                    ("origin_kind", Value::from(source.kind.name())),
                    ("labels", Value::list(labels.into_iter().map(Value::string))),
                    ("place", place.name_value()),
                    ("place_kind", Value::from(place.kind.name())),
                ])
            })
        });
        let reason = self.forgotten.then_some("older contents are not remembered");
        Value::list_with(items, reason)
    }
}

#[cfg(test)]
mod tests;
