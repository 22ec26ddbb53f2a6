//! Takes back what sessions did to the user's files.

use std::{collections::BTreeMap, path::Path};

use air_core::{
    effects::Effects,
    id::{CheckpointId, IncidentId, SessionId, Timestamp},
    incident::Ending,
    port::{Clock as _, Durability, Event, Journal as _, Record, Stream},
    session::SessionEvent,
    step::CompletedStep,
};
use air_runtime::{Hosted, RuntimeError};
use air_workspace::{LocalWorkspace, Span, UndoRequest, Undone, UndoneAs, Unsettled};

use crate::{Air, AirError, SystemClock, records};

/// What a person wants to take back.
#[derive(Debug, Clone, Default)]
pub struct Undo {
    /// Of this session. `None`: the one of the incident, or the last that has ended.
    pub session: Option<SessionId>,
    /// Only what this step did. `None`: all steps.
    pub step: Option<u32>,
    /// Only what the step of this incident did.
    pub incident: Option<IncidentId>,
    /// Only these files, or what is below these directories. Empty: all.
    pub files: Vec<String>,
    /// Say only what would be done.
    pub dry_run: bool,
    /// Take the last undo back.
    pub redo: bool,
}

/// What was taken back.
#[derive(Debug, Clone)]
pub struct UndoReport {
    /// Of which session.
    pub session: SessionId,
    /// What became of the files.
    pub undone: Undone,
}

impl Air {
    /// Takes back what a session did that AIR ran. What somebody else changed since is kept: the two are
    /// merged where they are texts, and the file is left alone and named where that cannot be done.
    ///
    /// # Errors
    ///
    /// [`AirError::NothingToUndo`] with what was looked for; [`AirError::Open`] if the session has
    /// not ended; or if nothing could be changed.
    pub async fn undo(&self, what: &Undo) -> Result<UndoReport, AirError> {
        let _lock = self.lock()?;
        let (session, step) = self.aim(what).await?;
        let machine = records::session(&*self.journal, &session).await?;
        if *machine.status() != air_core::session::Status::Terminated {
            return Err(AirError::Open(session));
        }
        let workspace = LocalWorkspace::open_ended(self.sandbox(&session))?;
        workspace.recover().map_err(RuntimeError::from)?;
        Undoing { air: self, session, workspace, hosted: None }.run(what, step).await
    }

    /// The last session that has changed something, of those beside hosts that are about `tree`, what is
    /// below it or what it is in. `None` as the tree: of all.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read.
    pub async fn last_session(&self, tree: Option<&Path>) -> Result<Option<Last>, AirError> {
        let mut all = Vec::new();
        for stream in self.journal.streams().await? {
            let Stream::Session(id) = stream else { continue };
            let records = self.journal.read(&Stream::Session(id.clone())).await?;
            let Some(first) = records.first() else { continue };
            if tree.is_none_or(|tree| is_about(&first.event, tree)) {
                all.push((first.at, id));
            }
        }
        all.sort();
        let mut last = None;
        for (began, id) in all.into_iter().rev() {
            // One that was refused before it changed anything is not what is meant.
            let has_changed = self.has_changed(&id).await?;
            let found = Last { id, has_changed, began };
            if has_changed {
                return Ok(Some(found));
            }
            last.get_or_insert(found);
        }
        Ok(last)
    }

    /// Whether a session has changed anything, or may have.
    async fn has_changed(&self, id: &SessionId) -> Result<bool, AirError> {
        let events = records::session_events(&*self.journal, id).await?;
        let is_beside =
            matches!(events.first(), Some(SessionEvent::Opened { beside: Some(_), .. }));
        let own = if is_beside { self.own(&events).await? } else { BTreeMap::new() };
        let layered = self.sandbox(id).session_dir.join("shown").exists();
        Ok(events.iter().any(|event| match event {
            SessionEvent::Published { publication } => publication.changed > 0,
            SessionEvent::StepStarted { index, .. } => {
                !layered && own.get(index).is_none_or(|paths| !paths.is_empty())
            }
            _ => false,
        }))
    }

    /// Whether this is the store of sessions beside hosts.
    pub fn is_of_hosts(&self) -> bool {
        self.settings.workspace == self.settings.state
    }

    /// Whether a session beside a host is about a directory, something below it, or what it is in.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read.
    pub async fn is_about(&self, session: &SessionId, directory: &Path) -> Result<bool, AirError> {
        let records = self.journal.read(&Stream::Session(session.clone())).await?;
        Ok(records.first().is_some_and(|first| is_about(&first.event, directory)))
    }

    /// Steps whose incident was recovered from: there is nothing to take back.
    async fn restored(&self, events: &[SessionEvent]) -> Result<Vec<u32>, AirError> {
        let mut restored = Vec::new();
        for event in events {
            let SessionEvent::ResponseStarted { incident, index } = event else { continue };
            let record = records::incident(&*self.journal, incident).await?;
            if record.incident.endings().recovery == Some(Ending::Done) {
                restored.push(*index);
            }
        }
        Ok(restored)
    }

    /// Of each step that was examined, the paths that it was found to have changed, where all of them are
    /// known.
    async fn own(&self, events: &[SessionEvent]) -> Result<BTreeMap<u32, Vec<String>>, AirError> {
        let mut own = BTreeMap::new();
        for event in events {
            let (index, effects) = match event {
                SessionEvent::StepReviewed { index, done, .. } => {
                    let done = self.journal.payload(done).await?;
                    let done = done.and_then(|json| serde_json::from_slice(&json).ok());
                    let Some((_, effects)): Option<(CompletedStep, Effects)> = done else {
                        continue;
                    };
                    (*index, effects)
                }
                SessionEvent::ResponseStarted { index, incident } => {
                    let record = records::incident(&*self.journal, incident).await?;
                    let effects = &record.incident.detection().effects;
                    let effects = self.journal.payload(effects).await?;
                    let effects = effects.and_then(|json| serde_json::from_slice(&json).ok());
                    let Some(effects) = effects else { continue };
                    (*index, effects)
                }
                _ => continue,
            };
            if effects.files.incomplete.is_none() {
                let paths = effects.files.items.into_iter().map(|file| file.path);
                own.insert(index, paths.collect());
            }
        }
        Ok(own)
    }

    /// The session that is meant, and the step.
    pub(crate) async fn aim(&self, what: &Undo) -> Result<(SessionId, Option<u32>), AirError> {
        if let Some(incident) = &what.incident {
            let record = records::incident(&*self.journal, incident).await?;
            let detection = record.incident.detection();
            return Ok((detection.session.clone(), Some(detection.index)));
        }
        if let Some(session) = &what.session {
            if self.journal.read(&Stream::Session(session.clone())).await?.is_empty() {
                return Err(AirError::UnknownSession(session.clone()));
            }
            return Ok((session.clone(), what.step));
        }
        let none = || {
            let why = "no session has worked in this workspace; `--workspace` names another";
            AirError::NothingToUndo(why.to_owned())
        };
        Ok((self.last_session(None).await?.ok_or_else(none)?.id, what.step))
    }
}

/// A session that may be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Last {
    /// Its id.
    pub id: SessionId,
    /// Whether it has changed anything, or may have.
    pub has_changed: bool,
    /// When it began.
    pub began: Timestamp,
}

impl Last {
    /// The greater one is meant.
    pub fn key(&self) -> (bool, Timestamp) {
        (self.has_changed, self.began)
    }
}

/// Whether a session beside a host is about a directory, something below it, or what it is in.
fn is_about(opened: &Event, directory: &Path) -> bool {
    let Event::Session(SessionEvent::Opened { beside: Some(beside), .. }) = opened else {
        return false;
    };
    let tree = Path::new(&beside.tree);
    tree.starts_with(directory) || directory.starts_with(tree)
}

/// One undo, of one session.
pub(crate) struct Undoing<'a> {
    pub(crate) air: &'a Air,
    pub(crate) session: SessionId,
    pub(crate) workspace: LocalWorkspace,
    /// The session, where it goes on: it journals by itself.
    pub(crate) hosted: Option<&'a mut Hosted>,
}

impl Undoing<'_> {
    pub(crate) async fn run(
        mut self,
        what: &Undo,
        step: Option<u32>,
    ) -> Result<UndoReport, AirError> {
        if let Some(left) = self.workspace.unsettled().map_err(RuntimeError::from)? {
            self.finished(&left).await?;
            self.workspace.settle();
            // It is done by now; done again, it would be taken back.
            if what.redo && left.redo_of.is_some() && !what.dry_run {
                return Ok(UndoReport { session: self.session, undone: left.undone });
            }
        }
        let session = &self.session;
        let events = records::session_events(&*self.air.journal, session).await?;
        let (undone, redo_of) = if what.redo {
            let last = events.iter().rev().find_map(|event| match event {
                SessionEvent::Undone { change, .. } => Some(change.clone()),
                _ => None,
            });
            let none =
                || AirError::NothingToUndo(format!("nothing of session {session} was undone"));
            let last = last.ok_or_else(none)?;
            (self.workspace.undo_again(last.clone(), what.dry_run).await, Some(last))
        } else {
            let restored = self.air.restored(&events).await?;
            let own = match self.hosted {
                Some(_) => self.air.own(&events).await?,
                None => BTreeMap::new(),
            };
            let spans = spans(&events, step, &restored, &own);
            if spans.is_empty() {
                let which = step.map_or_else(String::new, |step| format!(" {step}"));
                let why =
                    format!("session {session} has no step{which} that could have changed files");
                return Err(AirError::NothingToUndo(why));
            }
            let (only, dry_run) = (what.files.clone(), what.dry_run);
            (self.workspace.undo(UndoRequest { spans, only, dry_run }).await, None)
        };
        let undone = undone.map_err(RuntimeError::from)?;
        self.done(&undone, redo_of).await?;
        self.workspace.settle();
        Ok(UndoReport { session: self.session, undone })
    }

    /// Journals an undo whose process ended before it did.
    async fn finished(&mut self, left: &Unsettled) -> Result<(), AirError> {
        let Some(id) = &left.undone.id else { return Ok(()) };
        let events = records::session_events(&*self.air.journal, &self.session).await?;
        let is_it = |event: &SessionEvent| matches!(event, SessionEvent::Undone { change, .. } if change == id);
        if !events.iter().any(is_it) {
            let summary = "finished what an ended process had begun".to_owned();
            self.note(id.clone(), left.redo_of.clone(), summary).await?;
        }
        Ok(())
    }

    async fn done(&mut self, undone: &Undone, redo_of: Option<String>) -> Result<(), AirError> {
        let Some(change) = undone.id.clone() else { return Ok(()) };
        let count = |which: fn(&UndoneAs) -> bool| {
            undone.paths.iter().filter(|(_, done)| which(done)).count()
        };
        let summary = format!(
            "{} restored, {} removed, {} merged, {} refused",
            count(|done| matches!(done, UndoneAs::Restored)),
            count(|done| matches!(done, UndoneAs::Removed)),
            count(|done| matches!(done, UndoneAs::Merged)),
            count(|done| matches!(done, UndoneAs::Refused(_))),
        );
        self.note(change, redo_of, summary).await
    }

    async fn note(
        &mut self,
        change: String,
        redo_of: Option<String>,
        summary: String,
    ) -> Result<(), AirError> {
        if let Some(hosted) = &mut self.hosted {
            return Ok(hosted.undone(change, redo_of, summary).await?);
        }
        let journal = &self.air.journal;
        let expected = records::session(&**journal, &self.session).await?.revision();
        let event = Event::Session(SessionEvent::Undone { change, redo_of, summary });
        let record = Record { at: SystemClock.now(), event };
        let stream = Stream::Session(self.session.clone());
        journal.append(&stream, expected, &[record], Durability::Power).await?;
        Ok(())
    }
}

/// Before and after each step, or the one that is wanted. Beside a host several may run at the same time:
/// they are one span. `own` are the paths that each of them changed, as far as that is known.
fn spans(
    events: &[SessionEvent],
    wanted: Option<u32>,
    restored: &[u32],
    own: &BTreeMap<u32, Vec<String>>,
) -> Vec<Span> {
    let is_wanted = |index: u32| match wanted {
        Some(wanted) => wanted == index,
        None => !restored.contains(&index),
    };
    let mut spans: Vec<Span> = Vec::new();
    let mut open: BTreeMap<u32, &CheckpointId> = BTreeMap::new();
    // What has changed nothing began at no state of its own.
    let is_own = |index: &u32| own.get(index).is_none_or(|paths| !paths.is_empty());
    for event in events {
        match event {
            SessionEvent::StepStarted { index, checkpoint, .. } if is_own(index) => {
                if let Some(last) = spans.last_mut().filter(|last| last.next.is_none()) {
                    last.next = Some(checkpoint.clone());
                }
                if !is_wanted(*index) {
                    continue;
                }
                match spans.last_mut().filter(|_| !open.is_empty()) {
                    Some(span) => (span.next, span.is_examined) = (None, false),
                    None => spans.push(Span {
                        own: Some(Vec::new()),
                        ..Span::between(checkpoint.clone(), None)
                    }),
                }
                open.insert(*index, checkpoint);
            }
            SessionEvent::StepReviewed { index, .. }
            | SessionEvent::ResponseStarted { index, .. } => {
                let Some(checkpoint) = open.remove(index) else { continue };
                if let Some(span) = spans.last_mut() {
                    span.last = checkpoint.clone();
                    span.is_examined = open.is_empty();
                    // Of one of them it may not be known: then not of all.
                    span.own = match (span.own.take(), own.get(index)) {
                        (Some(known), Some(paths)) => Some([known, paths.clone()].concat()),
                        _ => None,
                    };
                }
            }
            _ => {}
        }
    }
    spans.iter_mut().filter(|span| !span.is_examined).for_each(|span| span.own = None);
    spans
}
