//! What sessions of one workspace tell later ones of it, so that these need not read all of it again.
//! Only where tools work on the user's directory itself: above a layer nothing is read.

use std::path::PathBuf;

use air_checkpoint::{Tree, known};

use super::{Layers, WORKSPACE};

/// What is known of the workspace beside this session's own looks.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Where it is kept; `None` where nothing is.
    path: Option<PathBuf>,
    /// Until the first look.
    pub(super) tree: Option<Tree>,
    /// The last checkpoint when it was kept.
    at: Option<String>,
}

impl Layers {
    /// Takes over what an earlier session knew, and keeps at `path` what this one knows.
    pub(crate) fn share(&mut self, path: PathBuf) {
        if self.layer.is_some() {
            return;
        }
        if self.timeline.last().is_none() {
            self.known.tree = known::recall(&path, &self.store);
        }
        self.known.path = Some(path);
    }

    /// Keeps what the first look found, for sessions that begin before this one ends.
    pub(super) fn remember_first(&mut self) {
        if self.known.at.is_none() {
            let earlier = self.known.tree.take();
            self.remember_roots(earlier.as_ref());
        }
    }

    fn remember_roots(&mut self, earlier: Option<&Tree>) {
        let Some(path) = &self.known.path else { return };
        let now = self.timeline.tree();
        let sure = now.entries.iter().filter(|(place, _)| place.0 == WORKSPACE);
        let sure = sure.filter(|(place, _)| !self.mapped.contains_key(*place));
        let entries = sure.map(|(place, entry)| (place.clone(), entry.clone())).collect();
        let tree = Tree { scanned_ns: now.scanned_ns, entries, unread: Vec::new() };
        if earlier.is_none_or(|earlier| earlier.entries != tree.entries) {
            // Without it the next session reads all of it.
            let _ = known::remember(path, &tree);
        }
        self.known.at = self.timeline.last().map(str::to_owned);
    }
}

impl Drop for Layers {
    fn drop(&mut self) {
        if self.has_scanned && self.known.at.as_deref() != self.timeline.last() {
            self.remember_roots(None);
        }
    }
}
