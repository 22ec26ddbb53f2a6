//! A process that dies in the middle. The child is this test binary, run again for one test.

use std::{fs, path::Path, process::Command};

use air_core::port::JournalError;
use air_journal::SqliteJournal;

use super::{append, place, read, session};

/// Five appends, in a process of their own; stops at the first error.
#[test]
fn child() {
    let Some(path) = std::env::var_os("AIR_TEST_CHILD") else { return };
    let journal = SqliteJournal::open(Path::new(&path)).unwrap();
    for n in 0..5 {
        if let Err(error) = append(&journal, &session("a"), n) {
            assert!(matches!(error, JournalError::Unusable(_)), "{error}");
            assert!(append(&journal, &session("b"), 0).is_err());
            return;
        }
    }
}

pub(super) fn run(path: &Path, failpoint: &str) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "crash::child"]).env("AIR_TEST_CHILD", path);
    command.env("AIR_FAILPOINT", failpoint);
    command.env("AIR_FAILPOINT_TRACE", path.with_extension("trace"));
    command.output().unwrap().status.success()
}

#[test]
fn a_crash_keeps_what_was_committed_and_nothing_else() {
    for point in 1..=5_usize {
        for (moment, kept) in [("before", point - 1), ("after", point), ("panic", point - 1)] {
            let (_dir, path) = place();
            let ended = run(&path, &format!("journal.append:{point}:{moment}"));
            assert_eq!(ended, moment == "panic", "{point} {moment}");
            let journal = SqliteJournal::open(&path).unwrap();
            assert_eq!(read(&journal, &session("a")).len(), kept, "{point} {moment}");
            assert_eq!(journal.verify().unwrap().records, kept as u64);
        }
    }
}

#[test]
fn the_trace_names_every_point() {
    let (_dir, path) = place();
    assert!(run(&path, "something.else:1:before"));
    insta::assert_snapshot!(fs::read_to_string(path.with_extension("trace")).unwrap(), @r"
    1 session/a session.released
    2 session/a incident.given_up
    3 session/a session.released
    4 session/a incident.given_up
    5 session/a session.released
    ");
}
