//! Calls of several sessions that run at the same time, perhaps in the same directory.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use air_core::id::{CallId, SessionId};

/// How many calls that have ended are kept. One that has run for longer than so many others knows of these
/// no more.
const KEPT: usize = 4096;

/// What the calls of all sessions of a process say that they change while they run, and what they have changed
/// as long as a call runs that began before they ended.
#[derive(Debug, Default)]
pub struct Concurrent {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Counts up.
    clock: u64,
    calls: BTreeMap<(SessionId, CallId), Call>,
}

/// What a call says of itself, as it began: where its relative paths lead depends on when that is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// The paths that it names. Absolute, as all of them.
    pub(crate) named: Vec<String>,
    /// Those that it says that it changes.
    pub(crate) changes: Vec<String>,
    /// All that it can change, where it says that; `None`: it may reach anything.
    pub(crate) reach: Option<Vec<String>>,
}

/// What another call answers for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Other {
    /// What it changes, or has changed. Absolute.
    pub(crate) paths: Vec<String>,
    /// Whether all that happens to them while this one runs is seen when that one is examined. Not so where it
    /// began later.
    pub(crate) is_seen: bool,
}

#[derive(Debug)]
struct Call {
    began: u64,
    /// Whether an incident was found on it.
    is_found: bool,
    said: Said,
    ended: Option<u64>,
    paths: Vec<String>,
}

impl Concurrent {
    /// A call begins.
    pub(crate) fn begin(&self, session: &SessionId, call: &CallId, said: Said) {
        let mut inner = self.inner();
        let began = inner.tick();
        let key = (session.clone(), call.clone());
        let paths = said.changes.clone();
        inner.calls.insert(key, Call { began, ended: None, is_found: false, said, paths });
    }

    /// What a call said of itself when it began, where this process let it pass.
    pub(crate) fn said(&self, session: &SessionId, call: &CallId) -> Option<Said> {
        let inner = self.inner();
        let known = inner.calls.get(&(session.clone(), call.clone()))?;
        (known.ended.is_none() && !known.is_found).then(|| known.said.clone())
    }

    /// What a call was found to have done is its own until it [ends](Self::end), and so is what AIR does to
    /// take it back.
    pub(crate) fn claim(&self, session: &SessionId, call: &CallId, paths: Vec<String>) {
        let mut inner = self.inner();
        let began = inner.tick();
        let key = (session.clone(), call.clone());
        let began = inner.calls.get(&key).map_or(began, |known| known.began);
        let said = Said::default();
        inner.calls.insert(key, Call { began, ended: None, is_found: true, said, paths });
    }

    /// A call has ended, and was found to have changed these paths.
    pub(crate) fn end(&self, session: &SessionId, call: &CallId, did: Vec<String>) {
        let mut inner = self.inner();
        let now = inner.tick();
        if let Some(call) = inner.calls.get_mut(&(session.clone(), call.clone())) {
            (call.ended, call.paths) = (Some(now), did);
        }
        inner.forget();
    }

    /// Nothing of a session runs any more.
    pub(crate) fn leave(&self, session: &SessionId) {
        let mut inner = self.inner();
        let now = inner.tick();
        let own = inner.calls.iter_mut().filter(|((other, _), _)| other == session);
        own.for_each(|(_, call)| _ = call.ended.get_or_insert(now));
        inner.forget();
    }

    /// What calls of other sessions that have run at the same time as this one answer for.
    pub(crate) fn beside(&self, session: &SessionId, call: &CallId) -> Vec<Other> {
        let inner = self.inner();
        let own = inner.calls.get(&(session.clone(), call.clone()));
        let began = own.map(|own| own.began);
        let others = inner.calls.iter().filter(|((other, _), _)| other != session);
        others
            // Of one that nobody asked about, it is not known when it began.
            .filter(|(_, other)| {
                other.ended.is_none_or(|ended| began.is_some_and(|own| ended > own))
            })
            .map(|(_, other)| Other {
                paths: other.paths.clone(),
                is_seen: other.ended.is_some()
                    || other.is_found
                    || began.is_some_and(|own| other.began < own),
            })
            .collect()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn forget(&mut self) {
        let running = self.calls.values().filter(|call| call.ended.is_none());
        let oldest = running.map(|call| call.began).min().unwrap_or(u64::MAX);
        self.calls.retain(|_, call| call.ended.is_none_or(|ended| ended > oldest));
        let mut ended: Vec<u64> = self.calls.values().filter_map(|call| call.ended).collect();
        if ended.len() > KEPT {
            ended.sort_unstable();
            let until = ended.get(ended.len() - KEPT).copied().unwrap_or_default();
            self.calls.retain(|_, call| call.ended.is_none_or(|ended| ended >= until));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(calls: &Concurrent, session: &str, call: &str) -> Vec<(String, bool)> {
        let others = calls.beside(&session.into(), &call.into()).into_iter();
        others.map(|other| (other.paths.join(" "), other.is_seen)).collect()
    }

    fn begin(calls: &Concurrent, session: &str, call: &str) {
        let changes = vec![format!("/{session}/{call}")];
        calls.begin(&session.into(), &call.into(), Said { changes, ..Said::default() });
    }

    fn end(calls: &Concurrent, session: &str, call: &str, did: &[&str]) {
        let did = did.iter().map(|path| (*path).to_owned()).collect();
        calls.end(&session.into(), &call.into(), did);
    }

    fn is(path: &str, seen: bool) -> (String, bool) {
        (path.to_owned(), seen)
    }

    #[test]
    fn calls_of_other_sessions_count_that_ran_at_the_same_time() {
        let calls = Concurrent::default();
        begin(&calls, "b", "before");
        end(&calls, "b", "before", &["/x"]);
        begin(&calls, "c", "earlier");
        begin(&calls, "a", "own");
        begin(&calls, "a", "other");
        begin(&calls, "b", "within");
        end(&calls, "b", "within", &["/did"]);
        begin(&calls, "c", "later");
        let others = [is("/did", true), is("/c/earlier", true), is("/c/later", false)];
        assert_eq!(seen(&calls, "a", "own"), others);
        end(&calls, "a", "own", &[]);
        end(&calls, "a", "other", &[]);
        calls.leave(&"c".into());
        begin(&calls, "d", "new");
        assert_eq!(seen(&calls, "d", "new"), []);
        end(&calls, "d", "new", &[]);
        assert!(calls.inner().calls.is_empty(), "nothing runs, and nothing is kept");
    }

    #[test]
    fn what_an_incident_took_is_its_own_until_it_is_over() {
        let calls = Concurrent::default();
        begin(&calls, "a", "own");
        begin(&calls, "b", "harm");
        calls.claim(&"b".into(), &"harm".into(), vec!["/deleted".into()]);
        assert_eq!(seen(&calls, "a", "own"), [is("/deleted", true)]);
        calls.leave(&"b".into());
        assert_eq!(seen(&calls, "a", "own"), [is("/deleted", true)]);
        begin(&calls, "c", "later");
        assert_eq!(seen(&calls, "c", "later"), [is("/a/own", true)]);
    }
}
