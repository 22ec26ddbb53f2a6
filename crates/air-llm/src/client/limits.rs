//! How long a client waits, how much it reads, how often it tries.

use std::{
    fmt,
    time::{Duration, Instant},
};

use air_core::port::BoxFuture;

/// What one provider may take. All models of a client share the concurrency and the failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Until a call has failed, retries included, where it names no deadline. Default 120 s.
    pub deadline: Duration,
    /// Until a connection is made. Default 10 s.
    pub connect: Duration,
    /// Between two pieces of an answer: some models think for long. Default 120 s.
    pub idle: Duration,
    /// Longest answer, in bytes on the wire. Default 32 MB.
    pub answer_bytes: u64,
    /// Calls at once; others wait. Default 8, at least 1.
    pub concurrency: usize,
    /// Failed calls in a row until the provider is left alone. Default 5, at least 1.
    pub failures: u32,
    /// For how long it is left alone. Then one call tries whether it is back. Default 30 s.
    pub rest: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_mins(2),
            connect: Duration::from_secs(10),
            idle: Duration::from_mins(2),
            answer_bytes: 32_000_000,
            concurrency: 8,
            failures: 5,
            rest: Duration::from_secs(30),
        }
    }
}

/// When a request is sent again. Waits double, with jitter; a provider that says how long to wait is
/// heeded. None goes past the call's deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Requests for one call, the first included. Default 4.
    pub tries: u32,
    /// Longest first wait. Default 500 ms.
    pub first: Duration,
    /// Longest wait. Default 30 s.
    pub most: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { tries: 4, first: Duration::from_millis(500), most: Duration::from_secs(30) }
    }
}

/// The time, for back-off and for providers that are left alone.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Now.
    fn now(&self) -> Instant;

    /// Ready when `time` has passed.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;
}

/// The real time.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }
}
