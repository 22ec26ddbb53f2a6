//! Ways of which one is gone.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use air_core::place::{Place, PlaceKind};

use super::{ast, interpret::Interpreter, value::Value};

impl Interpreter<'_, '_> {
    /// Goes each of the ways from here; afterwards a name has any of the values that they gave it.
    pub(super) fn branches(&mut self, ways: &[Vec<ast::Statement>]) {
        self.ways(ways.len(), |this, way| this.block(ways.get(way).map_or(&[], Vec::as_slice)));
    }

    /// What may not be gone through.
    pub(super) fn perhaps(&mut self, mut go: impl FnMut(&mut Self)) {
        self.ways(2, |this, way| {
            if way == 0 {
                go(this);
            }
        });
    }

    /// The source ends here, if it comes here.
    pub(super) fn end(&mut self) {
        self.may_end |= self.conditions > 0 && self.active.is_empty();
    }

    fn ways(&mut self, count: usize, mut go: impl FnMut(&mut Self, usize)) {
        // What functions bound that were called on the way is out of sight again.
        let scopes = self.heap.scopes.len();
        let mut ends: HashMap<(usize, Rc<str>), Vec<Value>> = HashMap::new();
        let mut order = Vec::new();
        self.conditions += 1;
        for way in 0..count {
            let start = self.trail.len();
            go(self, way);
            let mut seen: HashSet<(usize, Rc<str>)> = HashSet::new();
            for (scope, name, before) in self.trail.split_off(start).into_iter().rev() {
                if scope >= scopes {
                    continue;
                }
                let Some(names) = self.heap.scopes.get_mut(scope) else { continue };
                let end = match before {
                    Some(before) => names.names.insert(Rc::clone(&name), before),
                    None => names.names.remove(&name),
                };
                let key = (scope, name);
                if seen.insert(key.clone())
                    && let Some(end) = end
                {
                    let all = ends.entry(key.clone()).or_default();
                    if all.is_empty() {
                        order.push(key);
                    }
                    all.push(end);
                }
            }
        }
        self.conditions -= 1;
        for key in order {
            let given = ends.remove(&key).unwrap_or_default();
            let (scope, name) = key;
            let before = self.heap.scopes.get(scope).and_then(|names| names.names.get(&name));
            let mut before = before.filter(|_| given.len() < count).cloned();
            if before.is_none() && scope == self.module && given.len() < count {
                // An earlier step may have left it.
                let held = self.out.held(&Place::new(PlaceKind::Variable, &*name));
                before = held.map(|held| self.restore(&held));
            }
            self.bind_in(scope, &name, Value::any(before.into_iter().chain(given)));
        }
    }
}
