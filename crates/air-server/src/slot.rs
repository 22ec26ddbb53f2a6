//! One session of a host: its place in the journal, and what is known of it beside that.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use air::Joined;
use air_core::session::Status;
use air_protocol::{Answer, Decision, Event, Point};
use tokio::sync::{Mutex as AsyncMutex, Notify};

use crate::beat::now;

/// Answers that are kept, so that a question that comes twice is answered once.
const KEPT: usize = 256;

/// A host and its own id of the session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) host: String,
    pub(crate) session: String,
}

/// One session of a host.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    /// One event at a time. `None`: it is not in memory.
    pub(crate) work: AsyncMutex<Work>,
    /// Somebody has answered a question of it.
    pub(crate) answered: Notify,
    touched: AtomicU64,
}

/// What one event at a time works on.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) joined: Option<Joined>,
    /// Whether an event is being worked on; left so by one that failed.
    pub(crate) is_torn: bool,
    /// Of the rules in force when they were last taken.
    pub(crate) generation: u64,
    /// When the host said that the session has ended, while a call of it still ran.
    pub(crate) ending: Option<Instant>,
    answers: VecDeque<(String, Digest, Answer)>,
}

/// How long a call may run on after its session has ended, before it is examined for the last time.
const GRACE: Duration = Duration::from_mins(1);

/// Of what a question is about.
type Digest = [u8; 32];

impl Work {
    /// Whether calls of it run, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        self.joined.as_ref().is_some_and(|joined| !joined.hosted.machine().open_steps().is_empty())
    }

    /// Whether what it has done so far is all that it will do: the host has said so, and no call runs any
    /// more that could still tell of itself.
    pub(crate) fn has_ended(&self) -> bool {
        self.ending.is_some_and(|since| !self.is_open() || since.elapsed() > GRACE)
    }

    /// Answers anew what was answered before.
    pub(crate) fn forget(&mut self) {
        self.answers.clear();
    }

    /// Begins an event. What one that failed has left is not gone on with: the journal knows.
    pub(crate) fn begin(&mut self) {
        if std::mem::replace(&mut self.is_torn, true) {
            self.joined = None;
        }
    }

    /// What was answered to the same question. An id is the host's, or that of a model: where another call
    /// has it, or the same one is made once more, the question is another one.
    pub(crate) fn answered(&self, event: &Event) -> Option<&Answer> {
        let asked = digest(event);
        let mut known = self.answers.iter().rev();
        let (.., answer) = known.find(|(id, about, _)| *id == event.id && *about == asked)?;
        let machine = self.joined.as_ref().map(|joined| joined.hosted.machine());
        let call = event.tool.as_ref().and_then(|tool| tool.call_id.as_deref());
        if let (Some(machine), Some(call)) = (machine, call)
            && *machine.status() == Status::Monitoring
        {
            let runs = machine.open_steps().values().any(|open| open.call.as_str() == call);
            let is_another = match event.point {
                Point::PreToolCall => answer.decision == Decision::Allow && !runs,
                Point::PostToolCall => runs,
                _ => false,
            };
            if is_another {
                return None;
            }
        }
        Some(answer)
    }

    pub(crate) fn keep(&mut self, event: &Event, answer: &Answer) {
        if event.id.is_empty() {
            return;
        }
        self.answers.push_back((event.id.clone(), digest(event), answer.clone()));
        if self.answers.len() > KEPT {
            self.answers.pop_front();
        }
    }
}

fn digest(event: &Event) -> Digest {
    let tool = event.tool.as_ref().map(|tool| (&tool.native, &tool.args));
    let json = serde_json::to_vec(&(event.point, tool)).unwrap_or_default();
    *blake3::hash(&json).as_bytes()
}

impl Slot {
    pub(crate) fn touch(&self) {
        self.touched.store(now(), Ordering::Relaxed);
    }

    pub(crate) fn touched(&self) -> u64 {
        self.touched.load(Ordering::Relaxed)
    }
}
