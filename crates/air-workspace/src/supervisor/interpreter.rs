//! The session's Python. What it answers is untrusted.

use std::{
    os::fd::{AsFd, OwnedFd},
    process::{Child, Command, Stdio},
};

use rustix::{
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{Pid, PidfdFlags, Signal, pidfd_open},
};
use serde::Deserialize;

use super::{
    capture::{Capture, set_nonblocking},
    processes,
    started::Input,
};
use crate::protocol::Python;

/// An answer of more than this is none.
const ANSWER_LIMIT_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Interpreter {
    child: Child,
    pub(super) ended: OwnedFd,
    requests: Input,
    pub(super) answers: OwnedFd,
    pub(super) output: Capture,
    answer: Vec<u8>,
}

/// What the driver says of a step.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) error: Option<String>,
    pub(super) ended: bool,
}

impl Interpreter {
    pub(super) fn start(command: &mut Command, output_limit_bytes: u64) -> std::io::Result<Self> {
        let (output, write_output) = pipe_with(PipeFlags::CLOEXEC)?;
        let (answers, write_answers) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::from(write_answers))
            .stderr(Stdio::from(write_output))
            .spawn()?;
        // It holds the ends that the interpreter has.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        processes::yield_to_supervisor(child.id());
        let pid = Pid::from_child(&child);
        let requests = child.stdin.take().ok_or_else(|| std::io::Error::other("no pipe"))?;
        set_nonblocking(&answers)?;
        Ok(Self {
            ended: pidfd_open(pid, PidfdFlags::empty())?,
            child,
            requests: Input::new(requests.into(), false)?,
            answers,
            output: Capture::new(output, output_limit_bytes)?,
            answer: Vec::new(),
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it runs no more.
    pub(super) fn has_ended(&self) -> bool {
        super::is_ready(self.ended.as_fd())
    }

    /// Hands it a step, of which it is fed what it reads.
    pub(super) fn ask(&mut self, step: &Python) -> std::io::Result<()> {
        self.answer.clear();
        self.output.limit(step.output_limit_bytes);
        let mut line =
            serde_json::to_vec(&serde_json::json!({ "source": step.source, "path": step.path }))?;
        line.push(b'\n');
        self.requests.put(line);
        Ok(())
    }

    pub(super) fn feed(&mut self) {
        self.requests.feed();
    }

    pub(super) fn is_fed(&self) -> bool {
        self.requests.is_done()
    }

    /// The answer, once it is there; an error when there will be none.
    pub(super) fn answer(&mut self) -> Result<Option<Answer>, String> {
        let mut buffer = [0_u8; 4096];
        loop {
            match rustix::io::read(&self.answers, &mut buffer) {
                Ok(0) => return Err("it closed its connection".to_owned()),
                Ok(length) => self.answer.extend(buffer.iter().take(length)),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(error.to_string()),
            }
            if self.answer.contains(&b'\n') {
                let answer = serde_json::from_slice(&self.answer);
                return answer.map(Some).map_err(|_| "its answer is not one".to_owned());
            }
            if self.answer.len() > ANSWER_LIMIT_BYTES {
                return Err("its answer is too long".to_owned());
            }
        }
    }

    /// Ends it and its process group.
    pub(super) fn end(mut self) {
        processes::end_group(self.pid());
        processes::signal(self.pid(), Signal::KILL);
        // It may have been reaped before.
        let _ = self.child.wait();
    }
}
