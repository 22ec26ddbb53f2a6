//! The end of a task: the verdict on its last step may come only now.

use air::Host;
use futures::executor::block_on;

use super::{End, Teller};
use crate::error::CliError;

impl Teller<'_, '_> {
    /// Waits for the verdict on the last step, and tells it. What it ends, if it ends anything.
    ///
    /// # Errors
    ///
    /// If AIR failed, or it cannot be told.
    pub fn settled(&mut self, host: &mut Host) -> Result<Option<End>, CliError> {
        let incident = block_on(host.idle())?;
        self.late(host)?;
        if let Some(incident) = incident {
            return self.whole_incident(host, &incident).map(Some);
        }
        if !host.session().held() {
            return Ok(None);
        }
        self.held()?;
        Ok(Some(End::Held { step: steps(host) }))
    }

    /// Ends the session, where nothing holds it, and tells how that went.
    ///
    /// # Errors
    ///
    /// If AIR failed, or it cannot be told.
    pub fn end(&mut self, host: &mut Host, end: End) -> Result<End, CliError> {
        let end = if matches!(end, End::Incident { .. } | End::Held { .. }) {
            self.late(host)?;
            end
        } else {
            self.settled(host)?.unwrap_or(end)
        };
        block_on(host.end())?;
        self.published(host)?;
        Ok(end)
    }

    /// Rules that could not be decided on earlier steps, as it turned out later.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn late(&mut self, host: &mut Host) -> Result<(), CliError> {
        for (number, note) in host.late() {
            self.notes(usize::try_from(number).unwrap_or(usize::MAX), &[note])?;
        }
        Ok(())
    }

    /// A person must look first.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn held(&mut self) -> Result<(), CliError> {
        self.stage("held", "a critical rule could not be decided")
    }
}

/// Steps that ran so far.
pub fn steps(host: &Host) -> usize {
    usize::try_from(host.session().next_index().saturating_sub(1)).unwrap_or(usize::MAX)
}
