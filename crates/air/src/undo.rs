//! Takes back what sessions did to the user's files.

use air_core::{
    id::{CheckpointId, IncidentId, SessionId},
    incident::Ending,
    port::{Clock as _, Durability, Event, Journal as _, Record, Stream},
    session::SessionEvent,
};
use air_runtime::RuntimeError;
use air_workspace::{LocalWorkspace, UndoRequest, Undone, UndoneAs, Unsettled};

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
    /// Takes back what a session did. What somebody else changed since is kept: the two are merged
    /// where they are texts, and the file is left alone and named where that cannot be done.
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
        if let Some(left) = workspace.unsettled().map_err(RuntimeError::from)? {
            self.finished(&session, &left).await?;
            workspace.settle();
            // It is done by now; done again, it would be taken back.
            if what.redo && left.redo_of.is_some() && !what.dry_run {
                return Ok(UndoReport { session, undone: left.undone });
            }
        }
        let events = records::session_events(&*self.journal, &session).await?;
        if what.redo {
            let last = events.iter().rev().find_map(|event| match event {
                SessionEvent::Undone { change, .. } => Some(change.clone()),
                _ => None,
            });
            let none =
                || AirError::NothingToUndo(format!("nothing of session {session} was undone"));
            let last = last.ok_or_else(none)?;
            let undone = workspace.undo_again(last.clone(), what.dry_run).await;
            let undone = undone.map_err(RuntimeError::from)?;
            let report = self.done(session, undone, Some(last)).await?;
            workspace.settle();
            return Ok(report);
        }
        let restored = self.restored(&events).await?;
        let spans = spans(&events, step, &restored);
        if spans.is_empty() {
            let which = step.map_or_else(String::new, |step| format!(" {step}"));
            let why = format!("session {session} has no step{which} that could have changed files");
            return Err(AirError::NothingToUndo(why));
        }
        let request = UndoRequest { spans, only: what.files.clone(), dry_run: what.dry_run };
        let undone = workspace.undo(request).await.map_err(RuntimeError::from)?;
        let report = self.done(session, undone, None).await?;
        workspace.settle();
        Ok(report)
    }

    /// Journals an undo whose process ended before it did.
    async fn finished(&self, session: &SessionId, left: &Unsettled) -> Result<(), AirError> {
        let Some(id) = &left.undone.id else { return Ok(()) };
        let events = records::session_events(&*self.journal, session).await?;
        let is_it = |event: &SessionEvent| matches!(event, SessionEvent::Undone { change, .. } if change == id);
        if !events.iter().any(is_it) {
            let summary = "finished what an ended process had begun".to_owned();
            self.note(session, id.clone(), left.redo_of.clone(), summary).await?;
        }
        Ok(())
    }

    async fn done(
        &self,
        session: SessionId,
        undone: Undone,
        redo_of: Option<String>,
    ) -> Result<UndoReport, AirError> {
        if let Some(change) = undone.id.clone() {
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
            self.note(&session, change, redo_of, summary).await?;
        }
        Ok(UndoReport { session, undone })
    }

    async fn note(
        &self,
        session: &SessionId,
        change: String,
        redo_of: Option<String>,
        summary: String,
    ) -> Result<(), AirError> {
        let expected = records::session(&*self.journal, session).await?.revision();
        let event = Event::Session(SessionEvent::Undone { change, redo_of, summary });
        let record = Record { at: SystemClock.now(), event };
        let stream = Stream::Session(session.clone());
        self.journal.append(&stream, expected, &[record], Durability::Power).await?;
        Ok(())
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

    /// The session that is meant, and the step.
    async fn aim(&self, what: &Undo) -> Result<(SessionId, Option<u32>), AirError> {
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
        let mut last = None;
        for stream in self.journal.streams().await? {
            let Stream::Session(id) = stream else { continue };
            let records = self.journal.read(&Stream::Session(id.clone())).await?;
            let Some(first) = records.first() else { continue };
            // One that was refused before it changed anything is not what is meant.
            let layered = self.sandbox(&id).session_dir.join("shown").exists();
            let has_changed = records.iter().any(|record| match &record.event {
                Event::Session(SessionEvent::Published { publication }) => publication.changed > 0,
                Event::Session(SessionEvent::StepStarted { .. }) => !layered,
                _ => false,
            });
            let key = (has_changed, first.at);
            if last.as_ref().is_none_or(|(known, _)| *known <= key) {
                last = Some((key, id));
            }
        }
        let none = || {
            let why = "no session has worked in this workspace; `--workspace` names another";
            AirError::NothingToUndo(why.to_owned())
        };
        Ok((last.ok_or_else(none)?.1, what.step))
    }
}

/// Before and after each step, or the one that is wanted.
fn spans(
    events: &[SessionEvent],
    wanted: Option<u32>,
    restored: &[u32],
) -> Vec<(CheckpointId, Option<CheckpointId>)> {
    let steps: Vec<(u32, &CheckpointId)> = events
        .iter()
        .filter_map(|event| match event {
            SessionEvent::StepStarted { index, checkpoint, .. } => Some((*index, checkpoint)),
            _ => None,
        })
        .collect();
    let is_wanted = |index: u32| match wanted {
        Some(wanted) => wanted == index,
        None => !restored.contains(&index),
    };
    let spans = steps.iter().enumerate().filter(|(_, (index, _))| is_wanted(*index));
    let spans = spans.map(|(at, (_, before))| {
        let after = steps.get(at + 1).map(|(_, after)| (*after).clone());
        ((*before).clone(), after)
    });
    spans.collect()
}
