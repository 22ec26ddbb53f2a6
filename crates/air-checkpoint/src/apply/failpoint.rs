//! Where crash tests may kill the process: `AIR_FAILPOINT=apply:<n>` before the n-th system change,
//! `checkpoint:<n>` before the n-th file of a checkpoint or of a content gets its name.
//! `apply:<n>:no-exchange` after it takes the file systems to be unable to exchange names. Release builds have
//! none of it.

/// A system change is about to happen.
#[cfg(debug_assertions)]
pub(super) fn reached() {
    use std::sync::atomic::AtomicU64;

    // Over all appliers of the process, as a test cannot tell them apart from outside.
    static REACHED: AtomicU64 = AtomicU64::new(0);
    count(&REACHED, "apply:");
}

/// A file of a checkpoint or of a content is about to get its name.
#[cfg(debug_assertions)]
pub(crate) fn keeps() {
    use std::sync::atomic::AtomicU64;

    static REACHED: AtomicU64 = AtomicU64::new(0);
    count(&REACHED, "checkpoint:");
}

#[cfg(debug_assertions)]
fn count(reached: &std::sync::atomic::AtomicU64, kind: &str) {
    use std::sync::atomic::Ordering;

    use rustix::process::{Signal, getpid, kill_process};

    let number = reached.fetch_add(1, Ordering::SeqCst) + 1;
    let point = armed(kind);
    let point = point.as_deref().and_then(|point| point.split(':').next());
    if point.and_then(|point| point.parse().ok()) == Some(number) {
        let _ = kill_process(getpid(), Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}

#[cfg(debug_assertions)]
pub(super) fn cannot_exchange() -> bool {
    armed("apply:").is_some_and(|point| point.ends_with(":no-exchange"))
}

// Points of other crates share the variable: what is not ours is not an error.
#[cfg(debug_assertions)]
fn armed(kind: &str) -> Option<String> {
    Some(std::env::var("AIR_FAILPOINT").ok()?.strip_prefix(kind)?.to_owned())
}

#[cfg(not(debug_assertions))]
pub(super) fn reached() {}

#[cfg(not(debug_assertions))]
pub(crate) fn keeps() {}

#[cfg(not(debug_assertions))]
pub(super) fn cannot_exchange() -> bool {
    false
}
