//! What the session's tools have changed so far: the watched roots over time, seen as the agent
//! sees them.
//!
//! Tools work either on the user's directory itself, or on a layer above it (an overlay). In the
//! second case the first root is that layer, and what it shows is derived from both.

mod known;
mod look;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use air_checkpoint::{
    Aspect, Difference, Done, Entry, Kind, Looker, Place, Position, Root, Scanner, Scope, Store,
    Timeline, TimelineError, Tree, Unread, beneath,
    overlay::{Lower, Shown},
};
use air_core::id::CheckpointId;

use self::known::Known;
pub(crate) use self::look::Writers;
use crate::{config::Limits, undo::Span};

/// The root that belongs to the user.
pub(crate) const WORKSPACE: usize = 0;

/// The largest file that is shown in a diff, in bytes.
const SHOWN_BYTES: u64 = 1 << 20;

/// The watched roots over time.
#[derive(Debug)]
pub(crate) struct Layers {
    roots: Vec<Root>,
    store: Store,
    retained_file_bytes: u64,
    entries: usize,
    /// What the roots hold.
    pub(crate) timeline: Timeline,
    layer: Option<Layer>,
    is_current: bool,
    /// Says what changed, where tools work on the user's directory itself.
    watch: Option<Looker>,
    /// Looks since the last one at everything.
    partial: u32,
    has_scanned: bool,
    known: Known,
    /// Files that were mapped at the last look, with what they are: their content may have changed
    /// without a trace.
    mapped: BTreeMap<Place, BTreeSet<(u64, u64)>>,
}

/// The layer that tools work on, above the user's files.
#[derive(Debug)]
struct Layer {
    /// The user's directory, as the only root of its own list.
    lower: [Root; 1],
    /// What the agent sees where it differs, or did, from the user's files; a whiteout where it sees
    /// nothing.
    shown: Timeline,
    /// What the user's files were at those places when the agent began to differ.
    bases: Timeline,
    /// The layer as it was when `shown` was last brought up to date.
    recorded: Tree,
    /// What could not be compared with the user's files then.
    unread: Vec<Unread>,
}

/// What differs, as the agent sees it.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) shown: Vec<Shown>,
    /// What could not be looked at before.
    pub(crate) unread_before: Vec<Unread>,
    /// What could not be looked at now.
    pub(crate) unread_now: Vec<Unread>,
}

impl Layers {
    /// Goes on with what `session` holds. `lower` is the user's directory where `roots` begin with a
    /// layer above it.
    pub(crate) fn open(
        session: &Path,
        roots: Vec<Root>,
        lower: Option<PathBuf>,
        store: Store,
        limits: &Limits,
    ) -> Result<Self, TimelineError> {
        let timeline = Timeline::open(&session.join("timeline"))?;
        let layer = match lower {
            Some(host) => {
                let agent = roots.first().map(|root| root.agent.clone()).unwrap_or_default();
                Some(Layer {
                    lower: [Root { host, agent }],
                    shown: Timeline::open(&session.join("shown"))?,
                    bases: Timeline::open(&session.join("bases"))?,
                    recorded: Tree::default(),
                    unread: Vec::new(),
                })
            }
            None => None,
        };
        let mut layers = Self {
            roots,
            store,
            retained_file_bytes: limits.retained_file_bytes,
            entries: limits.entries,
            timeline,
            layer,
            is_current: false,
            watch: None,
            partial: 0,
            has_scanned: false,
            known: Known::default(),
            mapped: BTreeMap::new(),
        };
        // What is behind is derived anew from the layer.
        let is_behind = layers
            .layer
            .as_ref()
            .is_some_and(|layer| layer.shown.is_behind() || layer.bases.is_behind());
        if !is_behind {
            layers.remember();
        }
        Ok(layers)
    }

    pub(crate) fn roots(&self) -> &[Root] {
        &self.roots
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The directory that the user calls the workspace.
    pub(crate) fn workspace(&self) -> Option<&Root> {
        match &self.layer {
            Some(layer) => layer.lower.first(),
            None => self.roots.first(),
        }
    }

    pub(crate) fn is_layered(&self) -> bool {
        self.layer.is_some()
    }

    fn scanner(&self) -> Scanner<'_> {
        Scanner {
            roots: &self.roots,
            known: self.timeline.tree(),
            store: Some(&self.store),
            retained_file_bytes: self.retained_file_bytes,
            entries: self.entries,
        }
    }

    /// What is below `roots`, without contents.
    pub(crate) fn glance(&self, roots: &[Root]) -> Tree {
        let known = Tree::default();
        let (store, retained_file_bytes, entries) = (None, 0, self.entries);
        Scanner { roots, known: &known, store, retained_file_bytes, entries }.scan()
    }

    /// Remembers the latest look.
    pub(crate) fn checkpoint(&mut self) -> Result<CheckpointId, TimelineError> {
        self.follow()?;
        // In this order: a crash in between leaves more known of the layer than of the roots, and
        // the next look makes that good.
        let shown = match &mut self.layer {
            Some(layer) => Some(layer.shown.checkpoint()?),
            None => None,
        };
        let name = self.timeline.checkpoint()?;
        self.remember_first();
        let name = shown.map_or(name.clone(), |shown| format!("{name}.{shown}"));
        Ok(CheckpointId::from(name.as_str()))
    }

    /// What differs between a checkpoint and the latest look.
    pub(crate) fn since(&mut self, id: &CheckpointId) -> Result<Changes, TimelineError> {
        self.follow()?;
        self.differing(id)
    }

    /// As [`Self::since`], of what is about to be as it was: what the user's files are is not taken
    /// down.
    pub(crate) fn differing(&self, id: &CheckpointId) -> Result<Changes, TimelineError> {
        let (name, _) = parts(id);
        let unread_now = self.timeline.tree().unread.clone();
        let Some(layer) = &self.layer else {
            return self.timeline.since(name, |differences, unread| Changes {
                shown: differences.iter().map(as_shown).collect(),
                unread_before: unread.to_vec(),
                unread_now,
            });
        };
        let before = self.timeline.load_tree(name)?;
        let mut changes = Changes { unread_now, ..Changes::default() };
        changes.unread_before.clone_from(&before.unread);
        if let Some(missing) = self.missing() {
            let why = format!("`{}` is not there", missing.display());
            changes.unread_now.push(Unread { place: (WORKSPACE, Vec::new()), why });
        }
        let now = self.timeline.tree();
        let empty = Tree::default();
        changes.shown = self.lower(layer, &empty).shown(&before, now, &mut changes.unread_now);
        let others = air_checkpoint::differences(&before, now);
        let others = others.iter().filter(|difference| difference.place.0 != WORKSPACE);
        changes.shown.extend(others.map(as_shown));
        Ok(changes)
    }

    fn lower<'a>(&'a self, layer: &'a Layer, known: &'a Tree) -> Lower<'a> {
        let scanner = |store, retained_file_bytes| Scanner {
            roots: &layer.lower,
            known,
            store,
            retained_file_bytes,
            entries: self.entries,
        };
        Lower {
            reading: scanner(Some(&self.store), self.retained_file_bytes),
            glancing: scanner(None, 0),
            upper: WORKSPACE,
        }
    }

    /// Brings what the agent sees up to date with the layer. What the user's files were is taken
    /// down the first time that a place differs.
    fn follow(&mut self) -> Result<(), TimelineError> {
        let empty = Tree::default();
        let Some(layer) = &self.layer else { return Ok(()) };
        if self.missing().is_some() {
            // Another look makes that good, if both are there again.
            return Ok(());
        }
        let now = self.timeline.tree();
        let mut unread = Vec::new();
        let shown = self.lower(layer, &empty).shown(&layer.recorded, now, &mut unread);
        let seen_ns = layer.recorded.scanned_ns;
        let Some(layer) = &mut self.layer else { return Ok(()) };
        let (mut places, mut new) = (BTreeSet::new(), BTreeSet::new());
        let (mut entries, mut bases) = (Tree::default(), Tree::default());
        for change in shown {
            let place = change.place;
            let known = layer.shown.tree().entries.contains_key(&place);
            if let (Some(before), false) = (change.before, known) {
                let mut base = before;
                if base.ctime_ns > seen_ns && seen_ns > 0 {
                    // Somebody changed it while the agent did: what the agent began with is gone.
                    (base.digest, base.inode, base.kept) = (None, 0, false);
                }
                bases.entries.insert(place.clone(), base);
                new.insert(place.clone());
            }
            entries.entries.insert(place.clone(), change.now.unwrap_or_else(nothing));
            places.insert(place);
        }
        layer.bases.observe(&Scope::Places(new, BTreeSet::new()), bases);
        layer.shown.observe(&Scope::Places(places, BTreeSet::new()), entries);
        layer.bases.checkpoint()?;
        layer.unread = unread;
        // What could not be compared is compared again at the next look.
        if layer.unread.is_empty() {
            self.remember();
        }
        Ok(())
    }

    /// What of the user's files could not be compared with the layer.
    pub(crate) fn unread_below(&self) -> &[Unread] {
        self.layer.as_ref().map_or(&[], |layer| layer.unread.as_slice())
    }

    /// Of the user's directory and the layer above it, what is not there.
    pub(crate) fn missing(&self) -> Option<&Path> {
        let layer = self.layer.as_ref()?;
        let both = layer.lower.iter().chain(self.roots.first());
        both.map(|root| root.host.as_path()).find(|host| !host.is_dir())
    }

    fn remember(&mut self) {
        let now = self.timeline.tree();
        let entries = now.entries.iter().filter(|(place, _)| place.0 == WORKSPACE);
        let entries = entries.map(|(place, entry)| (place.clone(), entry.clone())).collect();
        let recorded = Tree { scanned_ns: now.scanned_ns, entries, unread: Vec::new() };
        if let Some(layer) = &mut self.layer {
            layer.recorded = recorded;
        }
    }

    /// Remembers the latest look as what the call that began at a checkpoint left. On a layer, nobody
    /// else changes anything.
    pub(crate) fn mark_after(&mut self, id: &CheckpointId) -> Result<(), TimelineError> {
        if self.layer.is_none() {
            self.timeline.checkpoint_after(parts(id).0)?;
        }
        Ok(())
    }

    /// What calls did from a checkpoint on, oldest first. Of those that ran at once it is not told apart.
    pub(crate) fn spans(&self, from: &CheckpointId) -> Result<Vec<Span>, TimelineError> {
        let done = self.timeline.done(parts(from).0)?;
        let mut spans: Vec<(Position, Span)> = Vec::new();
        for Done { began, ended, before } in done {
            let span = Span::examined(CheckpointId::from(before.as_str()));
            match spans.last_mut().filter(|(until, _)| began < *until) {
                Some((until, known)) if ended > *until => (*until, known.last) = (ended, span.last),
                Some(_) => {}
                None => spans.push((ended, span)),
            }
        }
        if let Some((_, first)) = spans.first_mut() {
            // One that ran before goes back only as far.
            let position = |id: &CheckpointId| self.timeline.position_of(parts(id).0);
            if position(&first.before)? < position(from)? {
                first.before = from.clone();
            }
        }
        Ok(spans.into_iter().map(|(_, span)| span).collect())
    }

    /// The checkpoint of what the last call that began at one left. A layer keeps none.
    pub(crate) fn name_after(
        &self,
        id: &CheckpointId,
    ) -> Result<Option<CheckpointId>, TimelineError> {
        let name = self.timeline.after(parts(id).0)?;
        Ok(name.map(|name| CheckpointId::from(name.as_str())))
    }

    /// What the roots held when the call that began at a checkpoint had ended.
    pub(crate) fn after(&self, id: &CheckpointId) -> Result<Option<Tree>, TimelineError> {
        match self.timeline.after(parts(id).0)? {
            Some(name) => self.timeline.load_tree(&name).map(Some),
            None => Ok(None),
        }
    }

    /// What the roots held at a checkpoint.
    pub(crate) fn held(&self, id: &CheckpointId) -> Result<Tree, TimelineError> {
        self.timeline.load_tree(parts(id).0)
    }

    /// What the user's files were where the session differed, and what the agent saw there at a
    /// checkpoint, or sees now. Only places of the workspace.
    pub(crate) fn own(&self, at: Option<&CheckpointId>) -> Result<Vec<Own>, TimelineError> {
        let Some(layer) = &self.layer else { return Ok(Vec::new()) };
        let loaded;
        let shown = match at {
            None => layer.shown.tree(),
            Some(id) => {
                let (_, name) = parts(id);
                let name = name.ok_or_else(|| TimelineError::Unknown(id.as_str().to_owned()))?;
                loaded = layer.shown.load_tree(name)?;
                &loaded
            }
        };
        let bases = &layer.bases.tree().entries;
        let all = shown.entries.iter().map(|(place, seen)| Own {
            place: place.clone(),
            base: bases.get(place).cloned(),
            seen: (seen.kind != Kind::Whiteout).then(|| seen.clone()),
        });
        Ok(all.collect())
    }

    /// What the user's files were at the places of `own`, or all of them at a checkpoint.
    pub(crate) fn original(&self, at: &CheckpointId) -> Result<Tree, TimelineError> {
        match &self.layer {
            Some(layer) => Ok(layer.bases.tree().clone()),
            None => self.held(at),
        }
    }

    /// The content of a file, if it is kept or still there as it was.
    pub(crate) fn content(&self, place: &Place, entry: &Entry) -> Option<Vec<u8>> {
        if entry.size > SHOWN_BYTES {
            return None;
        }
        if let Some(digest) = entry.digest.filter(|digest| self.store.holds(digest)) {
            let mut content = Vec::new();
            return self.store.read(&digest, &mut content).ok().map(|()| content);
        }
        let root =
            if place.0 == WORKSPACE { self.workspace()? } else { self.roots.get(place.0)? };
        let (parent, name) = beneath::split(&place.1);
        let directory = beneath::directory(&beneath::root(&root.host).ok()?, parent).ok()?;
        let file = File::from(beneath::file(&directory, name).ok()?);
        let meta = file.metadata().ok()?;
        let changed = meta.ctime().checked_mul(1_000_000_000)?.checked_add(meta.ctime_nsec())?;
        let same = (meta.dev(), meta.ino(), changed) == (entry.device, entry.inode, entry.ctime_ns);
        let mut content = Vec::new();
        file.take(SHOWN_BYTES).read_to_end(&mut content).ok()?;
        let digest = || air_checkpoint::store::digest(&mut content.as_slice()).ok();
        (same || entry.digest.is_some() && digest() == entry.digest).then_some(content)
    }

    /// Replaces what is known of the user's files, or of what the agent saw: contents are held now.
    pub(crate) fn learn(
        &mut self,
        of: Side,
        entries: impl Iterator<Item = (Place, Entry)>,
    ) -> Result<(), TimelineError> {
        let Some(layer) = &mut self.layer else { return Ok(()) };
        let timeline = match of {
            Side::Bases => &mut layer.bases,
            Side::Shown => &mut layer.shown,
        };
        let found = Tree { entries: entries.collect(), ..Tree::default() };
        let places = found.entries.keys().cloned().collect();
        timeline.observe(&Scope::Places(places, BTreeSet::new()), found);
        timeline.checkpoint()?;
        Ok(())
    }
}

/// The user's files, or what the agent saw of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Bases,
    Shown,
}

/// One place of the workspace that the session has changed.
#[derive(Debug, Clone)]
pub(crate) struct Own {
    pub(crate) place: Place,
    /// What was there when the agent began to change it.
    pub(crate) base: Option<Entry>,
    /// What the agent saw there.
    pub(crate) seen: Option<Entry>,
}

/// What is nothing, in a tree that says so.
pub(crate) fn nothing() -> Entry {
    Entry {
        kind: Kind::Whiteout,
        mode: 0,
        uid: 0,
        gid: 0,
        size: 0,
        mtime_ns: 0,
        ctime_ns: 0,
        inode: 0,
        device: 0,
        links: 0,
        digest: None,
        kept: false,
        attributes: Vec::new(),
    }
}

fn as_shown(difference: &Difference<'_>) -> Shown {
    Shown {
        place: difference.place.clone(),
        before: difference.before.cloned(),
        below: false,
        now: difference.now.cloned(),
        aspects: difference.aspects.clone(),
    }
}

/// A checkpoint's name in the timeline of the roots, and in that of what the agent sees.
fn parts(id: &CheckpointId) -> (&str, Option<&str>) {
    match id.as_str().split_once('.') {
        Some((roots, shown)) => (roots, Some(shown)),
        None => (id.as_str(), None),
    }
}

/// The names of aspects, for facts.
pub(crate) fn names(aspects: &[Aspect]) -> Vec<String> {
    aspects.iter().map(|aspect| aspect.name().to_owned()).collect()
}
