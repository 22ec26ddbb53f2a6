//! Hands what the session changed in its layer over to the user's files.

use std::{
    cell::OnceCell,
    collections::BTreeSet,
    ffi::OsStr,
    fmt::Write,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use air_checkpoint::{
    Entry, Kind, Place, Root, Tree,
    apply::{Applied, Applier, Change, Fate},
    beneath,
    store::private_directory,
};
use air_core::port::{Publication, WorkspaceError};
use rustix::fs::{CWD, renameat};
use serde::{Deserialize, Serialize};

use crate::{
    archive::remove_all,
    effects::agent_path,
    escape::{escape, unescape},
    layers::{Layers, Side, WORKSPACE, Writers, nothing},
    rollback::late,
    workspace::{Inner, failed},
};

/// In the session's directory: that its changes have been handed over.
const PUBLISHED: &str = "published.json";
/// Places that could not be looked at and are named one by one.
const UNREAD: usize = 100;

/// What was handed over, as the marker says it.
#[derive(Debug, Serialize, Deserialize)]
struct HandedOver {
    publication: Publication,
    /// Files of the layer that were not, escaped.
    refused: Vec<String>,
    /// Whether all of the layer could be looked at.
    whole: bool,
}

impl Inner {
    /// Ends the sandbox and applies the layer to the user's directory. Done again, it changes
    /// nothing. Without a layer it remembers only what the session leaves, to undo it from there.
    pub(crate) fn publish(&self) -> Result<Option<Publication>, WorkspaceError> {
        let mut running = self.running();
        let ran = running.sandbox.take().is_some();
        let layers = &mut running.layers;
        if !layers.is_layered() {
            // What others did after a process ended is not the session's.
            if ran {
                layers.look(&Writers::default());
            }
            layers.checkpoint().map_err(failed)?;
            return Ok(None);
        }
        let marker = self.config.session_dir.join(PUBLISHED);
        if let Ok(done) = fs::read(&marker) {
            let done: HandedOver = serde_json::from_slice(&done).map_err(failed)?;
            return Ok(self.clear(layers, done));
        }
        if let Some(missing) = layers.missing() {
            return Err(WorkspaceError::Incomplete(format!(
                "nothing was handed over: `{}` is not there; put it back and try again",
                missing.display()
            )));
        }
        // A restore that came to no end is brought to it first.
        let restores = self.restores();
        self.applier(layers, layers.roots(), &restores).recover().map_err(failed)?;
        layers.look(&Writers::default());
        layers.open_up(&Tree::default());
        layers.checkpoint().map_err(failed)?;
        let mut large = Vec::new();
        let changes: Vec<Change> = layers
            .own(None)
            .map_err(failed)?
            .into_iter()
            .filter(|own| own.base != own.seen)
            .map(|mut own| {
                if self.keep_large(layers, &own.place, &mut own.seen) {
                    large.extend(own.seen.clone().map(|seen| (own.place.clone(), seen)));
                }
                Change { place: own.place, from: own.base, to: own.seen }
            })
            .collect();
        layers.learn(Side::Shown, large.into_iter()).map_err(failed)?;
        let (mut publication, mut refused) = (Publication::default(), Vec::new());
        let mut as_before = Vec::new();
        if !changes.is_empty() {
            let applied = self.apply_to_workspace(layers, &changes, &Tree::default())?;
            if !applied.complete {
                let why = "not handed over wholly: there is no space left on the disk, or it fails; \
                           make room and run `airctl resume`";
                return Err(WorkspaceError::Incomplete(why.to_owned()));
            }
            let inverse = applied.inverse.iter();
            let bases =
                inverse.filter_map(|change| Some((change.place.clone(), change.to.clone()?)));
            layers.learn(Side::Bases, bases).map_err(failed)?;
            (publication, refused) = self.told(layers, &applied);
            // What was not handed over is nothing that could be taken back.
            let held: BTreeSet<&Place> = applied
                .fates
                .iter()
                .filter(|(_, fate)| matches!(fate, Fate::Refused(_)))
                .map(|(place, _)| place)
                .collect();
            let held = changes.iter().filter(|change| held.contains(&change.place));
            as_before.extend(
                held.map(|change| {
                    (change.place.clone(), change.from.clone().unwrap_or_else(nothing))
                }),
            );
        }
        let unread = layers.timeline.tree().unread.iter().chain(layers.unread_below());
        let unread: Vec<_> = unread.filter(|unread| unread.place.0 == WORKSPACE).collect();
        let whole = unread.is_empty();
        publication.held_back.extend(unread.into_iter().take(UNREAD).map(|unread| {
            let path = agent_path(layers.roots(), &unread.place);
            let layer = layers.roots().first().map(|root| root.host.display().to_string());
            let layer = layer.unwrap_or_default();
            format!("{path}: {}; what the agent made there is below {layer}", unread.why)
        }));
        let done = HandedOver { publication, refused, whole };
        let unfinished = marker.with_extension("new");
        let told = serde_json::to_vec(&done).map_err(failed)?;
        fs::write(&unfinished, told)
            .and_then(|()| fs::rename(unfinished, marker))
            .map_err(failed)?;
        // After the marker: before it, this would hide what is still to be moved aside.
        layers.learn(Side::Shown, as_before.into_iter()).map_err(failed)?;
        Ok(self.clear(layers, done))
    }

    /// Moves aside what was held back, and removes the layer: what it held is in the store by now, so
    /// that it can be undone. Done again, it goes on where it ended.
    fn clear(&self, layers: &Layers, done: HandedOver) -> Option<Publication> {
        let moved = done.refused.iter().all(|path| {
            let path = unescape(path);
            self.move_aside(layers, &path).is_ok()
        });
        if let (Some(overlay), true) = (&self.config.overlay, done.whole && moved) {
            // What stays goes with the session.
            let _ = remove_all(&overlay.upper);
            let _ = remove_all(&overlay.work);
        }
        (done.publication != Publication::default()).then_some(done.publication)
    }

    /// Keeps what was too large for a checkpoint: it is handed over all the same. Whether it did.
    fn keep_large(&self, layers: &Layers, place: &Place, seen: &mut Option<Entry>) -> bool {
        let Some(entry) = seen.as_mut().filter(|entry| entry.kind == Kind::File && !entry.kept)
        else {
            return false;
        };
        let file = layers.roots().get(WORKSPACE).and_then(|root| open(root, &place.1).ok());
        let limit = self.config.limits.file_bytes;
        let Some(Ok(digest)) = file.map(|file| layers.store().keep_at_most(&file, limit)) else {
            return false;
        };
        (entry.digest, entry.kept) = (Some(digest), true);
        true
    }

    /// Changes the user's own files. `tree` tells which names belonged to one file.
    pub(crate) fn apply_to_workspace(
        &self,
        layers: &Layers,
        changes: &[Change],
        tree: &Tree,
    ) -> Result<Applied, WorkspaceError> {
        let roots: Vec<_> = layers.workspace().cloned().into_iter().collect();
        let directory = self.published_in();
        // A name that nobody changed is still there: one that comes back is tied to it again.
        let there = OnceCell::new();
        let siblings = |entry: &Entry| -> Vec<Place> {
            let there = there.get_or_init(|| layers.glance(&roots));
            let is_name = |other: &Entry| {
                other.kind == Kind::File
                    && (other.device, other.inode) == (entry.device, entry.inode)
            };
            let all = there.entries.iter().chain(&tree.entries);
            let names = all.filter(|(place, other)| place.0 == WORKSPACE && is_name(other));
            names.map(|(place, _)| place.clone()).collect()
        };
        let applier = self.applier(layers, &roots, &directory);
        Applier { siblings: Some(&siblings), ..applier }.apply(changes).map_err(failed)
    }

    /// Changes what is below `roots`, with its records in `directory`.
    pub(crate) fn applier<'a>(
        &self,
        layers: &'a Layers,
        roots: &'a [Root],
        directory: &'a Path,
    ) -> Applier<'a> {
        Applier {
            roots,
            store: layers.store(),
            directory,
            merge: true,
            siblings: None,
            retained_file_bytes: self.config.limits.retained_file_bytes,
        }
    }

    /// What became of it, and the files of the layer that are to be moved aside, escaped.
    fn told(&self, layers: &Layers, applied: &Applied) -> (Publication, Vec<String>) {
        let (mut publication, mut refused) = (Publication::default(), Vec::new());
        for (place, fate) in &applied.fates {
            let path = agent_path(layers.roots(), place);
            match fate {
                Fate::Done => publication.changed += 1,
                Fate::Already => {}
                Fate::Merged => {
                    publication.changed += 1;
                    publication.merged.push(path);
                }
                Fate::Refused(why) => {
                    let entry = layers.timeline.tree().entries.get(place);
                    let is_content =
                        |entry: &Entry| matches!(entry.kind, Kind::File | Kind::Link(_));
                    let mut line = format!("{path}: {why}");
                    if entry.is_some_and(is_content) {
                        let kept = self.aside(&place.1);
                        let _ = write!(line, "; the agent's version is {}", kept.display());
                        refused.push(escape(&place.1));
                    }
                    publication.held_back.push(line);
                }
            }
        }
        let roots: Vec<Root> = layers.workspace().cloned().into_iter().collect();
        publication.held_back.extend(late(&roots, &self.published_in(), applied));
        (publication, refused)
    }

    /// Where the agent's version of a file is that was not handed over.
    fn aside(&self, path: &[u8]) -> PathBuf {
        self.config.session_dir.join("held-back").join(as_path(path))
    }

    fn move_aside(&self, layers: &Layers, path: &[u8]) -> io::Result<()> {
        let target = self.aside(path);
        if target.symlink_metadata().is_ok() {
            return Ok(());
        }
        let root = layers.roots().get(WORKSPACE).ok_or(io::ErrorKind::NotFound)?;
        let (parent, name) = beneath::split(path);
        let directory = beneath::directory(&beneath::root(&root.host)?, parent)?;
        if let Some(folder) = target.parent() {
            private_directory(folder)?;
        }
        // The layer and AIR's own directory are on one file system.
        Ok(renameat(&directory, OsStr::from_bytes(name), CWD, &target)?)
    }
}

fn open(root: &Root, path: &[u8]) -> io::Result<fs::File> {
    let (parent, name) = beneath::split(path);
    let directory = beneath::directory(&beneath::root(&root.host)?, parent)?;
    Ok(fs::File::from(beneath::file(&directory, name)?))
}

fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}
