//! What is kept of sessions that have ended, so that it can be undone, and when it goes.

use air_core::{
    id::{SessionId, Timestamp},
    port::{Journal as _, Stream},
    session::{Session, Status},
};
use air_workspace::{Archive, Collected};

use crate::{Air, AirError, records};

impl Air {
    /// The contents and checkpoints of this workspace.
    ///
    /// # Errors
    ///
    /// If others may look into them.
    pub fn archive(&self) -> Result<Archive, AirError> {
        Ok(Archive::open(&self.settings.state, &self.settings.limits)?)
    }

    /// Removes what is kept of a session that has ended, or whose files cannot be opened any more;
    /// its story and its evidence stay.
    ///
    /// # Errors
    ///
    /// [`AirError::Open`] if it has not ended and can be resumed.
    pub async fn forget(&self, id: &SessionId) -> Result<Collected, AirError> {
        let _lock = self.lock()?;
        if self.journal.read(&Stream::Session(id.clone())).await?.is_empty() {
            return Err(AirError::UnknownSession(id.clone()));
        }
        let session = records::session(&*self.journal, id).await?;
        if *session.status() != Status::Terminated && self.workspace(id).is_ok() {
            return Err(AirError::Open(id.clone()));
        }
        let archive = self.archive()?;
        archive.forget(id.as_str())?;
        Ok(archive.collect()?)
    }

    /// Removes contents that no session needs.
    ///
    /// # Errors
    ///
    /// If it cannot be told what is needed.
    pub fn collect(&self) -> Result<Collected, AirError> {
        let _lock = self.lock()?;
        Ok(self.archive()?.collect()?)
    }

    /// Whether half of the budget is used.
    pub(crate) fn is_crowded(&self) -> Result<bool, AirError> {
        let usage = self.archive()?.usage()?;
        Ok(usage.bytes >= usage.budget / 2)
    }

    /// Makes room before a session begins: once half of the budget is used, the sessions that ended
    /// longest ago are forgotten, until it is free again. Spared are those whose files were held back.
    pub(crate) async fn make_room(&self) -> Result<(), AirError> {
        self.make_room_of(&|session, _| *session.status() == Status::Terminated).await
    }

    /// The same, of the sessions of which nothing is wanted any more, going by how they stand and when
    /// something was last journaled of them. No other may be worked on meanwhile.
    pub(crate) async fn make_room_of(
        &self,
        is_over: &(dyn Fn(&Session, Timestamp) -> bool + Sync),
    ) -> Result<(), AirError> {
        if !self.is_crowded()? {
            return Ok(());
        }
        let archive = self.archive()?;
        // What cannot be done for one session must not keep the next from beginning: it keeps less.
        let _ = archive.collect();
        let mut ended: Vec<(Timestamp, String)> = Vec::new();
        for name in archive.sessions()? {
            let id = SessionId::from(name.as_str());
            if archive.holds_back(&name) {
                continue;
            }
            let records = self.journal.read(&Stream::Session(id.clone())).await?;
            let Ok(session) = records::session(&*self.journal, &id).await else { continue };
            if let Some(last) = records.last().filter(|last| is_over(&session, last.at)) {
                ended.push((last.at, name));
            }
        }
        ended.sort();
        for (_, name) in ended {
            if !self.is_crowded()? {
                break;
            }
            if archive.forget(&name).is_ok() {
                let _ = archive.collect();
            }
        }
        Ok(())
    }
}
