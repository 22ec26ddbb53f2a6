//! Ports that are too small for a crate of their own.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::{SystemTime, UNIX_EPOCH},
};

use air_core::{
    id::{ApprovalId, IncidentId, SessionId, Timestamp},
    port::{BoxFuture, Clock, Ids, Operator},
};

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Random identifiers of eight characters that are hard to misread.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl RandomIds {
    fn mint(prefix: char) -> String {
        /// No vowels, so that no words come out; no `l`, `o`, `0` and `1`.
        const ALPHABET: &[u8; 28] = b"23456789bcdfghjkmnpqrstvwxyz";
        // Its keys come from the system's random source, once a thread, and differ each time.
        let mut random = RandomState::new().build_hasher().finish();
        let mut id = String::from(prefix);
        for _ in 0..7 {
            let at = usize::try_from(random % 28).unwrap_or_default();
            id.push(char::from(ALPHABET.get(at).copied().unwrap_or(b'x')));
            random /= 28;
        }
        id
    }
}

impl Ids for RandomIds {
    fn session(&self) -> SessionId {
        Self::mint('s').as_str().into()
    }

    fn incident(&self) -> IncidentId {
        Self::mint('i').as_str().into()
    }

    fn approval(&self) -> ApprovalId {
        Self::mint('a').as_str().into()
    }
}

/// Nobody can be asked: what would be held is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Operator for Nobody {
    fn approve<'a>(&'a self, _question: &'a str) -> BoxFuture<'a, Option<bool>> {
        Box::pin(async { None })
    }
}
