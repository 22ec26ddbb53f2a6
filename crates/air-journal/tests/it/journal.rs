//! Appending, reading, payloads, guardrails, concurrency.

use std::os::unix::fs::PermissionsExt;

use air_core::{
    guardrail::{Guardrail, Mode, Provenance},
    id::{GuardrailId, IncidentId, Timestamp},
    port::{Durability, GuardrailStore, Journal, JournalError, Stream},
};
use air_journal::SqliteJournal;
use futures::{executor::block_on, future::join_all};

use super::{append, place, raw, read, record, session};

#[test]
fn what_is_appended_is_read_back_in_order() {
    let (_dir, path) = place();
    let (a, b) = (session("a"), Stream::Incident(IncidentId::from("b/c")));
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(read(&journal, &a), []);
    let records = [record(0), record(1)];
    block_on(journal.append(&a, 0, &records, Durability::Power)).unwrap();
    append(&journal, &b, 0).unwrap();
    append(&journal, &a, 2).unwrap();
    drop(journal);
    for journal in
        [SqliteJournal::open(&path).unwrap(), SqliteJournal::open_read_only(&path).unwrap()]
    {
        assert_eq!(read(&journal, &a), [record(0), record(1), record(2)]);
        assert_eq!(block_on(journal.streams()).unwrap(), [a.clone(), b.clone()]);
        assert_eq!(journal.verify().unwrap().head, journal.head().unwrap());
    }
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&path.with_file_name("key")), 0o600);
    let _open = SqliteJournal::open(&path).unwrap();
    assert_eq!(mode(&path.with_file_name("journal.sqlite-wal")), 0o600);
    assert_eq!(mode(&path.with_file_name("journal.sqlite-shm")), 0o600);
}

#[test]
fn a_conflict_appends_nothing() {
    let (_dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    append(&journal, &session("a"), 0).unwrap();
    for expected in [0, 2] {
        let error = append(&journal, &session("a"), expected).unwrap_err();
        assert!(
            matches!(error, JournalError::Conflict { expected: e, actual: 1 } if e == expected)
        );
    }
    assert_eq!(read(&journal, &session("a")).len(), 1);
    let reader = SqliteJournal::open_read_only(&path).unwrap();
    insta::assert_snapshot!(
        append(&reader, &session("a"), 1).unwrap_err().to_string().replace(path.to_str().unwrap(), "J"),
        @"journal `J` was opened for reading only; open it for writing"
    );
}

#[test]
fn a_conflict_in_a_group_spares_the_others() {
    let (_dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    let streams: Vec<_> = (0..50).map(|n| session(&n.to_string())).collect();
    let one = [record(0)];
    let all = streams
        .iter()
        .enumerate()
        .map(|(n, stream)| journal.append(stream, u64::from(n % 5 == 0), &one, Durability::Power));
    let done = block_on(join_all(all));
    assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 40);
    assert_eq!(journal.verify().unwrap().records, 40);
}

#[test]
fn eight_threads_and_two_handles_lose_nothing() {
    let (_dir, path) = place();
    let handles = [SqliteJournal::open(&path).unwrap(), SqliteJournal::open(&path).unwrap()];
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let journal = &handles[thread % 2];
            scope.spawn(move || {
                let own = session(&format!("own-{thread}"));
                for n in 0..40 {
                    append(journal, &own, n).unwrap();
                    // One stream that all want: exactly one wins each place.
                    while let Err(error) = append(journal, &session("all"), n) {
                        match error {
                            JournalError::Conflict { actual, .. } if actual > n => break,
                            JournalError::Conflict { .. } => {}
                            other => panic!("{other}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(read(&handles[0], &session("all")).len(), 40);
    assert_eq!(handles[1].verify().unwrap().records, 9 * 40);
}

#[test]
fn many_handles_may_make_the_same_journal_at_once() {
    let (_dir, path) = place();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let path = &path;
            scope.spawn(move || {
                append(&SqliteJournal::open(path).unwrap(), &session(&n.to_string()), 0).unwrap();
            });
        }
    });
    assert_eq!(SqliteJournal::open(&path).unwrap().verify().unwrap().records, 8);
}

#[test]
fn records_and_guardrails_cannot_be_changed() {
    let (_dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    append(&journal, &session("a"), 0).unwrap();
    block_on(journal.put(&guardrail(1, "a"))).unwrap();
    let raw = raw(&path);
    for sql in [
        "UPDATE records SET at = 1",
        "DELETE FROM records",
        "INSERT OR REPLACE INTO records SELECT * FROM records",
        "UPDATE guardrails SET body = ''",
        "DELETE FROM guardrails",
        "INSERT OR REPLACE INTO guardrails SELECT * FROM guardrails",
    ] {
        let error = raw.execute_batch(sql).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{sql}: {error}");
    }
}

#[test]
fn an_erased_payload_leaves_the_chain_whole_and_no_trace() {
    let (_dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    let secret = b"a secret that must go".repeat(500);
    let id = block_on(journal.put_payload(&secret)).unwrap();
    assert_eq!(id.as_str().len(), 32);
    assert_eq!(block_on(journal.put_payload(&secret)).unwrap(), id);
    append(&journal, &session("a"), 0).unwrap();
    assert_eq!(block_on(journal.payload(&id)).unwrap(), Some(secret));
    assert!(block_on(journal.erase_payload(&id)).unwrap());
    assert!(!block_on(journal.erase_payload(&id)).unwrap());
    assert_eq!(block_on(journal.payload(&id)).unwrap(), None);
    assert_eq!(journal.verify().unwrap().records, 1);
    drop(journal);
    let file = std::fs::read(&path).unwrap();
    assert!(!file.windows(8).any(|bytes| bytes == b"a secret"));
    // Another journal names the same content otherwise.
    let (_dir, other) = place();
    let other = SqliteJournal::open(&other).unwrap();
    assert_ne!(block_on(other.put_payload(&b"a secret that must go".repeat(500))).unwrap(), id);
}

fn guardrail(version: u32, text: &str) -> Guardrail {
    Guardrail {
        rule: None,
        wider: None,
        tried: None,
        examples: Vec::new(),
        id: GuardrailId::from("g"),
        version,
        text: text.to_owned(),
        mode: Mode::Enforce,
        provenance: Provenance::Authored { by: "someone".to_owned() },
        created_at: Timestamp(7),
    }
}

#[test]
fn guardrails_have_versions_without_gaps() {
    let (_dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    let put = |version, text| block_on(journal.put(&guardrail(version, text)));
    put(1, "a").unwrap();
    put(1, "a").unwrap();
    assert!(matches!(put(1, "b"), Err(JournalError::Conflict { expected: 0, actual: 1 })));
    assert!(matches!(put(3, "b"), Err(JournalError::Conflict { expected: 2, actual: 1 })));
    assert!(matches!(put(0, "b"), Err(JournalError::Unusable(_))));
    put(2, "b").unwrap();
    let other = Guardrail { id: GuardrailId::from("a"), ..guardrail(1, "c") };
    block_on(journal.put(&other)).unwrap();
    assert_eq!(block_on(journal.current()).unwrap(), [guardrail(2, "b"), other]);
    let history = block_on(journal.history(&GuardrailId::from("g"))).unwrap();
    assert_eq!(history, [guardrail(1, "a"), guardrail(2, "b")]);
}
