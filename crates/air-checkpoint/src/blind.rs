//! Whether places lie below any of many others, without asking each.

use std::cmp::Ordering;

use crate::tree::{Place, Tree, contains};

/// Places, with all that is below them.
#[derive(Debug, Default)]
pub struct Covered<'a> {
    /// None is below another; in the order of [`by_name`].
    outer: Vec<&'a Place>,
}

impl Covered<'_> {
    /// Whether `place` is one of them, or below one.
    pub fn covers(&self, place: &Place) -> bool {
        // Between a directory and what is in it there is only what is in it.
        let after = self.outer.partition_point(|outer| by_name(outer, place).is_le());
        let last = after.checked_sub(1).and_then(|at| self.outer.get(at));
        last.is_some_and(|outer| contains(outer, place))
    }
}

impl<'a> FromIterator<&'a Place> for Covered<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Place>>(places: I) -> Self {
        let mut outer: Vec<&Place> = places.into_iter().collect();
        outer.sort_unstable_by(|one, other| by_name(one, other));
        outer.dedup_by(|place, before| contains(before, place));
        Self { outer }
    }
}

impl Tree {
    /// Where entries may be there and not in the tree. For many questions: see
    /// [`Self::is_blind_at`].
    pub fn blind(&self) -> Covered<'_> {
        self.unread.iter().map(|unread| &unread.place).collect()
    }
}

/// Orders by one name after the other: all that is below a place follows it at once.
fn by_name(one: &Place, other: &Place) -> Ordering {
    let rank = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    let paths = || one.1.iter().map(rank).cmp(other.1.iter().map(rank));
    one.0.cmp(&other.0).then_with(paths)
}
