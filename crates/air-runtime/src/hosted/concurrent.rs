//! Calls of several sessions that run at the same time, perhaps in the same directory.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use air_core::id::{CallId, SessionId};

/// How many calls that have ended are kept. One that has run for longer than so many others knows of these
/// no more.
const KEPT: usize = 4096;

/// What the calls of all sessions of a process name, while they run and as long as a call runs that began
/// before they ended.
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

#[derive(Debug)]
struct Call {
    began: u64,
    ended: Option<u64>,
    paths: Vec<String>,
}

impl Concurrent {
    /// A call begins, which names these paths. They are absolute.
    pub(crate) fn begin(&self, session: &SessionId, call: &CallId, paths: Vec<String>) {
        let mut inner = self.inner();
        let began = inner.tick();
        let key = (session.clone(), call.clone());
        inner.calls.insert(key, Call { began, ended: None, paths });
    }

    /// What a call was found to have done is its own until it [ends](Self::end), and so is what AIR does to
    /// take it back.
    pub(crate) fn claim(&self, session: &SessionId, call: &CallId, paths: Vec<String>) {
        let mut inner = self.inner();
        let began = inner.tick();
        let new = Call { began, ended: None, paths: Vec::new() };
        let call = inner.calls.entry((session.clone(), call.clone())).or_insert(new);
        call.ended = None;
        call.paths.extend(paths);
    }

    /// A call has ended, and what followed from it.
    pub(crate) fn end(&self, session: &SessionId, call: &CallId) {
        let mut inner = self.inner();
        let now = inner.tick();
        if let Some(call) = inner.calls.get_mut(&(session.clone(), call.clone())) {
            call.ended.get_or_insert(now);
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

    /// The paths that calls of other sessions name, each call's by themselves, which have run at the same
    /// time as this one.
    pub(crate) fn beside(&self, session: &SessionId, call: &CallId) -> Vec<Vec<String>> {
        let inner = self.inner();
        let own = inner.calls.get(&(session.clone(), call.clone()));
        // Of one that nobody asked about, it is not known when it began.
        let began = own.map_or(0, |own| own.began);
        let others = inner.calls.iter().filter(|((other, _), _)| other != session);
        others
            .filter(|(_, other)| other.ended.is_none_or(|ended| ended > began))
            .map(|(_, other)| other.paths.clone())
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

    fn names(calls: &Concurrent, session: &str, call: &str) -> Vec<Vec<String>> {
        calls.beside(&session.into(), &call.into())
    }

    fn begin(calls: &Concurrent, session: &str, call: &str) {
        calls.begin(&session.into(), &call.into(), vec![format!("/{session}/{call}")]);
    }

    #[test]
    fn calls_of_other_sessions_count_that_ran_at_the_same_time() {
        let calls = Concurrent::default();
        begin(&calls, "b", "before");
        calls.end(&"b".into(), &"before".into());
        begin(&calls, "a", "own");
        begin(&calls, "a", "other");
        begin(&calls, "b", "within");
        calls.end(&"b".into(), &"within".into());
        begin(&calls, "c", "runs");
        assert_eq!(names(&calls, "a", "own"), [["/b/within"], ["/c/runs"]]);
        calls.end(&"a".into(), &"own".into());
        calls.end(&"a".into(), &"other".into());
        assert_eq!(
            names(&calls, "c", "runs"),
            [["/a/own"], ["/a/other"]]
                .map(|it| it.map(str::to_owned))
                .iter()
                .rev()
                .cloned()
                .collect::<Vec<_>>()
        );
        calls.leave(&"c".into());
        begin(&calls, "d", "new");
        assert_eq!(names(&calls, "d", "new"), Vec::<Vec<String>>::new());
        calls.end(&"d".into(), &"new".into());
        assert!(calls.inner().calls.is_empty(), "nothing runs, and nothing is kept");
    }

    #[test]
    fn what_an_incident_took_is_its_own_until_it_is_over() {
        let calls = Concurrent::default();
        begin(&calls, "b", "harm");
        calls.claim(&"b".into(), &"harm".into(), vec!["/deleted".into()]);
        begin(&calls, "a", "own");
        assert_eq!(names(&calls, "a", "own"), [["/b/harm", "/deleted"]]);
    }
}
