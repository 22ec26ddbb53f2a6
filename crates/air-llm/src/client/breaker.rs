//! Leaves a provider alone that fails again and again.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::model::ModelError;

/// Closed, until it has seen too many failures in a row; then open for a while; then one call tries.
#[derive(Debug)]
pub(super) struct Breaker {
    failures: u32,
    rest: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
    trying: bool,
}

impl Breaker {
    pub(super) fn new(failures: u32, rest: Duration) -> Arc<Self> {
        Arc::new(Self { failures: failures.max(1), rest, state: Mutex::default() })
    }

    /// Lets a call pass, or says why not.
    pub(super) fn pass(self: &Arc<Self>, now: Instant) -> Result<Pass, ModelError> {
        let mut state = self.state();
        let pass = |trial| Pass { breaker: Arc::clone(self), trial };
        let Some(until) = state.until else { return Ok(pass(false)) };
        if now < until || state.trying {
            let wait = until.saturating_duration_since(now);
            return Err(ModelError::Open { failures: state.failures, wait });
        }
        state.trying = true;
        Ok(pass(true))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that was let pass. Dropped without a word, it has proved nothing.
#[derive(Debug)]
pub(super) struct Pass {
    breaker: Arc<Breaker>,
    trial: bool,
}

impl Pass {
    /// What became of it.
    pub(super) fn settle<T>(self, result: &Result<T, ModelError>, now: Instant) {
        // A limit of ours says nothing of the provider.
        if matches!(result, Err(ModelError::Spent(_))) {
            return;
        }
        let mut state = self.breaker.state();
        let failed = matches!(
            result,
            Err(ModelError::Timeout(_)
                | ModelError::Connection(_)
                | ModelError::Overloaded { .. }
                | ModelError::Server { .. })
        );
        // Whoever refuses a request, or answers it badly, is there.
        if !failed {
            (state.failures, state.until) = (0, None);
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures >= self.breaker.failures {
            state.until = Some(now + self.breaker.rest);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.trial {
            self.breaker.state().trying = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_after_failures_in_a_row_and_one_call_tries() {
        let rest = Duration::from_secs(30);
        let breaker = Breaker::new(3, rest);
        let begin = Instant::now();
        let failed = || Err::<(), _>(ModelError::Connection(String::new()));
        let fine = Ok::<(), ModelError>(());
        for result in [failed(), failed(), fine.clone(), failed(), failed(), failed()] {
            breaker.pass(begin).unwrap().settle(&result, begin);
        }
        let open = ModelError::Open { failures: 3, wait: rest };
        assert_eq!(breaker.pass(begin).unwrap_err(), open);

        let later = begin + rest;
        let abandoned = breaker.pass(later).unwrap();
        assert!(breaker.pass(later).is_err(), "a second call tried as well");
        drop(abandoned);
        breaker.pass(later).unwrap().settle(&failed(), later);
        assert!(breaker.pass(later).is_err(), "it closed on a failure");

        let much_later = later + rest;
        breaker.pass(much_later).unwrap().settle(&fine, much_later);
        for _ in 0..2 {
            breaker.pass(much_later).unwrap().settle(&failed(), much_later);
        }
        assert!(breaker.pass(much_later).is_ok(), "old failures were counted");
    }
}
