//! Takes back what a session did to the user's files: after it has ended, or beside a host while none
//! of its calls runs.

use std::{collections::HashSet, fs, path::Path};

use air_checkpoint::{
    Entry, Place, Tree,
    apply::{Applied, Applier, ApplyError, Change, Fate, Planned, describe},
};
use air_core::{
    id::CheckpointId,
    port::{BoxFuture, WorkspaceError},
};
use serde::{Deserialize, Serialize};

use crate::{
    bwrap,
    config::Shape,
    layers::{Layers, WORKSPACE},
    rollback::late,
    spans::Plan,
    workspace::{Inner, LocalWorkspace, failed, off_thread},
};

/// The longest diff of a dry run, in bytes.
const DIFF_BYTES: usize = 1 << 20;

/// What is to be taken back.
#[derive(Debug, Clone)]
pub struct UndoRequest {
    /// What was done, oldest first; none overlaps another.
    pub spans: Vec<Span>,
    /// Only these paths and what is below them, as the agent calls them or relative to the
    /// workspace. Empty: all.
    pub only: Vec<String>,
    /// Whether to say only what would happen.
    pub dry_run: bool,
}

/// One step, or several that ran at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The state before the first of them.
    pub before: CheckpointId,
    /// The state before the one that was examined last.
    pub last: CheckpointId,
    /// Whether all of them were examined.
    pub is_examined: bool,
    /// The state before the next step, which counts where that is not so. `None`: the session's last
    /// state.
    pub next: Option<CheckpointId>,
    /// The paths that they have changed, as the agent calls them, where others may have changed more.
    /// `None`: all that differs was their doing.
    pub own: Option<Vec<String>>,
}

impl Span {
    /// What one step did that began at a state and was examined.
    pub(crate) fn examined(before: CheckpointId) -> Self {
        Self { is_examined: true, ..Self::between(before, None) }
    }

    /// What was done between two states, by whomever. `None`: to the session's last state.
    pub fn between(before: CheckpointId, next: Option<CheckpointId>) -> Self {
        Self { last: before.clone(), before, is_examined: false, next, own: None }
    }
}

/// What became of it.
#[derive(Debug, Clone, Default)]
pub struct Undone {
    /// Its name, to be undone in turn; `None` of a dry run, or where there was nothing to do.
    pub id: Option<String>,
    /// Of each path, as the agent calls it: what was, or would be, done.
    pub paths: Vec<(String, UndoneAs)>,
    /// What would change, as a diff. Of a dry run only.
    pub diff: String,
    /// Where somebody's late changes are, with the reason.
    pub late: Vec<String>,
}

/// What became of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoneAs {
    /// It is as it was before.
    Restored,
    /// It was made by what is taken back, and is gone.
    Removed,
    /// It was so already.
    Unchanged,
    /// What was done is taken back, and what somebody else did since is kept.
    Merged,
    /// It was left as it is, and why.
    Refused(String),
}

impl LocalWorkspace {
    /// Takes back what the session did in the spans of the request. A file that somebody changed
    /// since is merged, or left as it is and named.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::UnknownCheckpoint`] if the state before or after is not held;
    /// [`WorkspaceError::Failed`] if nothing could be changed.
    pub fn undo(&self, request: UndoRequest) -> BoxFuture<'_, Result<Undone, WorkspaceError>> {
        let inner = self.inner();
        Box::pin(off_thread(move || inner.undo(&request)))
    }

    /// Takes back an undo, by its name.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError::Incomplete`] if there is none of that name.
    pub fn undo_again(
        &self,
        id: String,
        dry_run: bool,
    ) -> BoxFuture<'_, Result<Undone, WorkspaceError>> {
        let inner = self.inner();
        Box::pin(off_thread(move || inner.undo_again(&id, dry_run)))
    }

    /// Goes on with what a process that ended began to change, to its end.
    ///
    /// # Errors
    ///
    /// If what it intended cannot be read.
    pub fn recover(&self) -> Result<(), WorkspaceError> {
        let inner = self.inner();
        let running = inner.running();
        inner.with_applier(&running.layers, |applier| applier.recover().map(drop))
    }

    /// The undo of this session that was done, and by the process that did it never
    /// [settled](Self::settle).
    ///
    /// # Errors
    ///
    /// If its record cannot be read.
    pub fn unsettled(&self) -> Result<Option<Unsettled>, WorkspaceError> {
        let inner = self.inner();
        let running = inner.running();
        let Ok(marker) = fs::read(inner.config.session_dir.join(MARKER)) else { return Ok(None) };
        // One that is not whole was written by a process that then did nothing.
        let Ok(begun) = serde_json::from_slice::<Begun>(&marker) else { return Ok(None) };
        let applied = inner.with_applier(&running.layers, |applier| {
            let all = applier.records()?;
            let process = format!("{:x}", begun.process);
            let is_it = |id: &&String| {
                begun.last.as_ref().is_none_or(|last| *id > last)
                    && id.split('-').nth(1) == Some(&process)
            };
            all.iter().find(is_it).map_or(Ok(None), |id| applier.record(id))
        })?;
        Ok(applied.map(|applied| Unsettled {
            undone: inner.told_of(&running.layers, applied),
            redo_of: begun.redo_of,
        }))
    }

    /// What was undone is known to whoever asked for it.
    pub fn settle(&self) {
        // One that stays is reported once more.
        let _ = fs::remove_file(self.inner().config.session_dir.join(MARKER));
    }
}

/// An undo whose process ended before it could say so.
#[derive(Debug, Clone)]
pub struct Unsettled {
    /// What was done.
    pub undone: Undone,
    /// The undo that it took back, if it was to do that.
    pub redo_of: Option<String>,
}

/// In the session's directory: what is about to be undone.
const MARKER: &str = "undoing.json";

#[derive(Serialize, Deserialize)]
struct Begun {
    /// The last record before it.
    last: Option<String>,
    process: u32,
    redo_of: Option<String>,
}

impl Inner {
    fn undo(&self, request: &UndoRequest) -> Result<Undone, WorkspaceError> {
        let mut running = self.running();
        running.sandbox = None;
        let layers = &mut running.layers;
        let place = |path: &String| self.view.place(&self.roots, &self.view.meant(path));
        let Plan { mut changes, mut torn } = Plan::of(layers, &request.spans, &place)?;
        let wanted = self.wanted(layers, &request.only)?;
        let is_wanted =
            |place: &Place| wanted.is_empty() || wanted.iter().any(|path| below(path, place));
        changes.retain(|change| is_wanted(&change.place));
        torn.retain(&is_wanted);
        if changes.is_empty() && !wanted.is_empty() {
            let paths = request.only.join(", ");
            let why = format!("the session changed nothing that is called {paths}");
            return Err(WorkspaceError::Incomplete(why));
        }
        let tree = match request.spans.first() {
            Some(span) => layers.original(&span.before).map_err(failed)?,
            None => Tree::default(),
        };
        let mut undone = self.carry_out(layers, &changes, request.dry_run, (None, &tree))?;
        layers.outdate();
        let root = layers.workspace();
        undone.paths.extend(torn.iter().filter_map(|place| {
            let why = "somebody else changed it between two steps: only what was done after that is \
                       taken back; `--step` takes back one step";
            Some((root?.shown(&place.1), UndoneAs::Refused(why.to_owned())))
        }));
        Ok(undone)
    }

    fn undo_again(&self, id: &str, dry_run: bool) -> Result<Undone, WorkspaceError> {
        let mut running = self.running();
        running.sandbox = None;
        let layers = &mut running.layers;
        let record = self.with_applier(layers, |applier| applier.record(id))?;
        let unknown = || WorkspaceError::Incomplete(format!("there is no undo `{id}`"));
        let inverse = record.ok_or_else(unknown)?.inverse;
        let undone = self.carry_out(layers, &inverse, dry_run, (Some(id), &Tree::default()))?;
        layers.outdate();
        Ok(undone)
    }

    fn carry_out(
        &self,
        layers: &Layers,
        changes: &[Change],
        dry_run: bool,
        (redo_of, tree): (Option<&str>, &Tree),
    ) -> Result<Undone, WorkspaceError> {
        if changes.is_empty() {
            return Ok(Undone::default());
        }
        if dry_run {
            let mut undone = Undone::default();
            let roots: Vec<_> = layers.workspace().cloned().into_iter().collect();
            let shown =
                |place: &Place| roots.first().map(|root| root.shown(&place.1)).unwrap_or_default();
            let directory = self.published_in();
            let planned = self.applier(layers, &roots, &directory).plan(changes);
            let content = |plan: &Planned, entry: &Entry| layers.content(&plan.place, entry);
            undone.diff = describe(&roots, &planned, &content, DIFF_BYTES);
            undone.paths = planned
                .iter()
                .map(|one| (shown(&one.place), of_fate(&one.fate, one.then.is_none())))
                .collect();
            return Ok(undone);
        }
        let last = self.with_applier(layers, |applier| Ok(applier.records()?.pop()))?;
        let begun = Begun { last, process: std::process::id(), redo_of: redo_of.map(Into::into) };
        let marker = serde_json::to_vec(&begun).map_err(failed)?;
        fs::write(self.config.session_dir.join(MARKER), marker).map_err(failed)?;
        let applied = self.apply_to_workspace(layers, changes, tree)?;
        Ok(self.told_of(layers, applied))
    }

    fn told_of(&self, layers: &Layers, applied: Applied) -> Undone {
        let root = layers.workspace();
        let shown = |place: &Place| root.map(|root| root.shown(&place.1)).unwrap_or_default();
        // What changed nothing is nothing to take back.
        let acted = |fate: &Fate| matches!(fate, Fate::Done | Fate::Merged);
        let acted = applied.fates.iter().any(|(_, fate)| acted(fate));
        let removed: HashSet<&Place> = applied
            .inverse
            .iter()
            .filter(|change| change.from.is_none())
            .map(|change| &change.place)
            .collect();
        let roots: Vec<_> = root.cloned().into_iter().collect();
        let late = late(&roots, &self.published_in(), &applied);
        let fates = applied.fates.iter();
        Undone {
            paths: fates
                .map(|(place, fate)| (shown(place), of_fate(fate, removed.contains(place))))
                .collect(),
            diff: String::new(),
            late,
            id: acted.then_some(applied.id),
        }
    }

    /// What changes the user's own files.
    fn with_applier<T>(
        &self,
        layers: &Layers,
        work: impl FnOnce(&Applier<'_>) -> Result<T, ApplyError>,
    ) -> Result<T, WorkspaceError> {
        let roots: Vec<_> = layers.workspace().cloned().into_iter().collect();
        let directory = self.published_in();
        work(&self.applier(layers, &roots, &directory)).map_err(failed)
    }

    /// Places below the workspace that a person named.
    fn wanted(&self, layers: &Layers, only: &[String]) -> Result<Vec<Vec<u8>>, WorkspaceError> {
        use std::os::unix::ffi::OsStrExt;
        let Some(root) = layers.workspace() else { return Ok(Vec::new()) };
        let agent = root.agent.as_path();
        let names = match self.config.shape {
            Shape::Directory => vec![root.host.as_path(), agent, Path::new(bwrap::WORKSPACE)],
            Shape::System => vec![root.host.as_path()],
        };
        let paths = only.iter().map(|path| {
            let full = self.view.meant(path);
            let below = names.iter().find_map(|name| full.strip_prefix(name).ok());
            if let Some(below) = below {
                return Ok(below.as_os_str().as_bytes().to_vec());
            }
            match self.view.place(layers.roots(), &full) {
                Some((WORKSPACE, below)) if self.config.shape == Shape::System => Ok(below),
                _ => {
                    let why = self.view.why_nowhere(&full);
                    let why = format!("`{path}` is not in the workspace: {why}");
                    Err(WorkspaceError::Incomplete(why))
                }
            }
        });
        paths.collect()
    }
}

fn below(outer: &[u8], place: &Place) -> bool {
    let rest = place.1.strip_prefix(outer);
    rest.is_some_and(|rest| outer.is_empty() || rest.is_empty() || rest.starts_with(b"/"))
}

fn of_fate(fate: &Fate, is_removal: bool) -> UndoneAs {
    match fate {
        Fate::Done if is_removal => UndoneAs::Removed,
        Fate::Done => UndoneAs::Restored,
        Fate::Already => UndoneAs::Unchanged,
        Fate::Merged => UndoneAs::Merged,
        Fate::Refused(why) => UndoneAs::Refused(why.clone()),
    }
}
