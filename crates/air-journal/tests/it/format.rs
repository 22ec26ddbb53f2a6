//! Journals of other versions. The files under `fixtures/` are never written again: a journal of any
//! released version opens for ever. `AIR_WRITE_FIXTURE=1` writes the one of a version that has none.

use std::{fs, path::Path};

use air_core::port::{Durability, Journal};
use air_journal::{OpenError, SqliteJournal};
use futures::executor::block_on;

use super::{append, place, raw, read, record, session};

#[test]
fn a_journal_of_version_1_is_read_and_continued() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1");
    let (_dir, path) = place();
    if std::env::var_os("AIR_WRITE_FIXTURE").is_some() && !fixture.join("journal.sqlite").exists() {
        let journal = SqliteJournal::open(&fixture.join("journal.sqlite")).unwrap();
        let records: Vec<_> = (0..4).map(record).collect();
        block_on(journal.append(&session("a"), 0, &records, Durability::Power)).unwrap();
        block_on(journal.put_payload(b"payload")).unwrap();
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for name in ["journal.sqlite", "key"] {
        fs::copy(fixture.join(name), path.with_file_name(name)).unwrap();
    }
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(read(&journal, &session("a")), (0..4).map(record).collect::<Vec<_>>());
    let id = block_on(journal.put_payload(b"payload")).unwrap();
    assert_eq!(
        raw(&path).query_row("SELECT id FROM payloads", [], |row| row.get(0)),
        Ok(id.to_string())
    );
    append(&journal, &session("a"), 4).unwrap();
    assert_eq!(journal.verify().unwrap().records, 5);
}

#[test]
fn a_newer_journal_is_refused() {
    let (_dir, path) = place();
    drop(SqliteJournal::open(&path).unwrap());
    raw(&path).pragma_update(None, "user_version", 9).unwrap();
    let error = SqliteJournal::open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 9, supported: 1 }));
    insta::assert_snapshot!(
        error,
        @"journal has schema version 9, but this version of air supports 1; upgrade air"
    );
}

#[test]
fn a_newer_record_is_refused() {
    let (_dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    append(&journal, &session("a"), 0).unwrap();
    raw(&path)
        .execute_batch("DROP TRIGGER records_no_update; UPDATE records SET version = 2, body = '?'")
        .unwrap();
    insta::assert_snapshot!(
        block_on(journal.read(&session("a"))).unwrap_err(),
        @"record 0 of `session/a` was written by a newer version of air (format 2, but 1 is the last one known here); upgrade air"
    );
}
