//! Functions that call themselves: whether going through them again could say more.

use super::{
    call::Given,
    interpret::Interpreter,
    value::{GAP, Sources, Text, Value, What},
};

/// Calls past this many are not gone through later.
const MOST_DEFERRED: usize = 64;

impl Interpreter<'_, '_> {
    /// A call that lies too deep is gone through at the end.
    pub(super) fn defer(&mut self, id: usize, given: &Given, line: u32) {
        let same = |(known, before, _): &(usize, Given, u32)| {
            *known == id && self.gives_same(before, given)
        };
        if self.deferred.iter().any(same) {
            return;
        }
        if self.deferred.len() == MOST_DEFERRED {
            return self.out.incomplete_at(line, "calls within calls are followed no deeper");
        }
        self.deferred.push((id, given.clone(), line));
    }

    /// Goes through the calls that lay too deep.
    pub(super) fn go_on(&mut self) {
        let mut next = 0;
        while let Some((id, given, line)) = self.deferred.get(next).cloned() {
            if !self.work(1) {
                return;
            }
            let mut known = Sources::default();
            given.values().for_each(|value| known.add(&self.heap.sources(value)));
            let made = self.function(id, given, line);
            // What it gave was not known where it was called.
            let from = self.heap.sources(&made);
            let lost = from.places().iter().any(|place| !known.places().contains(place));
            let runs = |value: &Value| {
                matches!(value.what, What::Name(_) | What::Partial(_) | What::Function(_))
            };
            if lost || made.each().iter().any(runs) {
                self.out.incomplete_at(line, "calls within calls are followed no deeper");
            }
            next += 1;
        }
    }

    fn gives_same(&self, before: &Given, given: &Given) -> bool {
        let by_place = given.positional.iter().enumerate().all(|(index, value)| {
            self.covers(before.positional.get(index), value, before.rest.is_some())
        });
        let by_name = given
            .named
            .iter()
            .all(|(name, value)| self.covers(before.named(name), value, before.rest.is_some()));
        by_place && by_name
    }

    /// Whether the function is being gone through with values that stand for these.
    pub(super) fn is_covered(&self, id: usize, given: &Given) -> bool {
        let mut passed =
            self.active.iter().zip(&self.arguments).filter(|(active, _)| **active == id);
        passed.any(|(_, passed)| self.gives_same(passed, given))
    }

    fn covers(&self, before: Option<&Value>, value: &Value, open: bool) -> bool {
        let known = before.map(|before| self.heap.sources(before)).unwrap_or_default();
        let from = self.heap.sources(value);
        if !from.places().iter().all(|place| known.places().contains(place)) {
            return false;
        }
        self.says_nothing(value, 0)
            || match before {
                None => open,
                Some(before) => value.each().iter().all(|value| {
                    before.each().iter().any(|before| Self::stands_for(before, value))
                }),
            }
    }

    fn stands_for(before: &Value, value: &Value) -> bool {
        match (&before.what, &value.what) {
            (What::Unknown | What::Made(_), What::Text(_) | What::Path(_)) => true,
            (What::Text(before) | What::Path(before), What::Text(now) | What::Path(now)) => {
                before.text == now.text || has_form(before, now)
            }
            (before, now) => before == now,
        }
    }

    /// Whether nothing is done with `value` that depends on what it is.
    fn says_nothing(&self, value: &Value, depth: usize) -> bool {
        let inner = |items: &[Value]| {
            depth < 3 && items.iter().all(|item| self.says_nothing(item, depth + 1))
        };
        match &value.what {
            What::Unknown
            | What::Number(_)
            | What::Bool(_)
            | What::None
            | What::Made(_)
            | What::Instance(_) => true,
            What::Text(text) | What::Path(text) => &*text.text == GAP || text.text.is_empty(),
            What::Any(values) => inner(values),
            What::List(id) => self.heap.lists.get(*id).is_some_and(|list| inner(&list.items)),
            What::Dict(id) => self.heap.dicts.get(*id).is_some_and(|dict| {
                dict.items.iter().all(|(_, item)| inner(std::slice::from_ref(item)))
            }),
            _ => false,
        }
    }
}

/// Whether what is computed in `before` can be what `now` has there.
fn has_form(before: &Text, now: &Text) -> bool {
    match (before.text.split_once(GAP), before.text.rsplit_once(GAP)) {
        (Some((start, _)), Some((_, end))) => {
            now.text.len() >= start.len() + end.len()
                && now.text.starts_with(start)
                && now.text.ends_with(end)
        }
        _ => false,
    }
}
