//! What `airctl` tells the shell.

use std::process::ExitCode;

/// How a command ended. The numbers are a promise to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// It did what was asked, and found nothing.
    Fine = 0,
    /// It did what was asked, and found something: an error in a rule file, an incident.
    Findings = 1,
    /// It could not do all that was asked. Also the code of wrong arguments.
    CouldNotRun = 2,
    /// It ran, and came to other results than the reference.
    Differs = 3,
}

impl Exit {
    /// Its number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
