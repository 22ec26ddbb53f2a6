//! A program that a call runs, and input for processes that may never read it.

use std::{
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    process::Child,
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use super::{Failure, capture::set_nonblocking, processes};

/// What is left to be written to a pipe. Never waits.
#[derive(Debug, Default)]
pub(super) struct Input {
    pipe: Option<OwnedFd>,
    rest: Vec<u8>,
    written: usize,
    /// Whether the pipe is closed at the end.
    closes: bool,
}

impl Input {
    pub(super) fn new(pipe: OwnedFd, closes: bool) -> std::io::Result<Self> {
        set_nonblocking(&pipe)?;
        Ok(Self { pipe: Some(pipe), closes, ..Self::default() })
    }

    /// Puts `bytes` in the place of what is left.
    pub(super) fn put(&mut self, bytes: Vec<u8>) {
        (self.rest, self.written) = (bytes, 0);
    }

    pub(super) fn is_done(&self) -> bool {
        self.pipe.is_none() || self.written >= self.rest.len()
    }

    /// Writes what there is room for. One that no longer reads gets no more.
    pub(super) fn feed(&mut self) {
        while let (Some(pipe), Some(rest)) = (&self.pipe, self.rest.get(self.written..)) {
            if rest.is_empty() {
                break;
            }
            match rustix::io::write(pipe, rest) {
                Ok(length) => self.written += length,
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
        if self.closes {
            self.pipe = None;
        }
    }
}

/// A process that a call waits for.
#[derive(Debug)]
pub(super) struct Started {
    child: Child,
    pub(super) ended: OwnedFd,
    input: Input,
}

impl Started {
    pub(super) fn new(mut child: Child, stdin: &[u8]) -> Result<Self, Failure> {
        processes::yield_to_supervisor(child.id());
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        let mut input = match child.stdin.take() {
            Some(pipe) => Input::new(pipe.into(), true)?,
            None => Input::default(),
        };
        input.put(stdin.to_vec());
        Ok(Self { child, ended, input })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn is_fed(&self) -> bool {
        self.input.is_done()
    }

    pub(super) fn feed(&mut self) {
        self.input.feed();
    }

    /// Why it failed, if it did.
    pub(super) fn failure(&mut self) -> Option<String> {
        let status = self.child.wait().ok()?;
        match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("exit code {code}")),
            (None, Some(signal)) => Some(format!("ended by signal {signal}")),
            (None, None) => Some("ended".to_owned()),
        }
    }

    pub(super) fn end(mut self, ended: bool) {
        if !ended {
            processes::end_group(self.child.id());
            processes::signal(self.child.id(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}
