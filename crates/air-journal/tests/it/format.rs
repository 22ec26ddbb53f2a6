//! Journals of other versions. The files under `fixtures/` are never written again: a journal of any
//! released version opens for ever. `AIR_WRITE_FIXTURE=1` writes the one of a version that has none.

use std::{fs, path::Path};

use air_core::port::{Durability, GuardrailStore as _, Journal};
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

/// A store that holds these versions of guardrails, each with its format.
fn guardrails(rows: &[(&str, u32, i64, &str)]) -> (tempfile::TempDir, SqliteJournal) {
    let (dir, path) = place();
    drop(SqliteJournal::open(&path).unwrap());
    for (id, version, format, body) in rows {
        raw(&path)
            .execute(
                "INSERT INTO guardrails (id, version, format, body) VALUES (?1, ?2, ?3, ?4)",
                (id, version, format, body),
            )
            .unwrap();
    }
    let journal = SqliteJournal::open(&path).unwrap();
    (dir, journal)
}

#[test]
fn guardrails_of_format_1_are_read() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/guardrails-1.jsonl");
    let lines = fs::read_to_string(fixture).unwrap();
    let rows: Vec<_> = (1..).zip(lines.lines()).map(|(n, body)| ("g-i1", n, 1, body)).collect();
    let (_dir, journal) = guardrails(&rows);
    let history = block_on(journal.history(&"g-i1".into())).unwrap();
    assert_eq!(history.len(), 3);
    insta::assert_snapshot!(
        history.iter().map(|one| format!("{:?}", one.provenance)).collect::<Vec<_>>().join("\n"),
        @r#"
    Synthesized { incident: IncidentId("i1"), by: "air-synth 0.1" }
    Refined { replaces: 1, incident: Some(IncidentId("i2")) }
    Authored { by: "someone" }
    "#
    );
    assert_eq!(block_on(journal.current()).unwrap(), history[2..]);
    assert_eq!(block_on(journal.damaged()).unwrap(), []);
}

#[test]
fn the_last_good_version_of_a_guardrail_is_current_and_the_damage_is_said() {
    let body = |id: &str, version: u32| {
        format!(
            r#"{{"id":"{id}","version":{version},"text":"t","mode":"enforce","provenance":{{"kind":"authored","by":"b"}},"created_at":1}}"#
        )
    };
    let (one, two, three) = (body("a", 1), body("a", 2), body("b", 1));
    let (_dir, journal) = guardrails(&[
        ("a", 1, 1, &one),
        ("a", 2, 1, &two),
        ("b", 1, 1, &three),
        ("a", 3, 1, "{"),
        ("b", 2, 9, &body("b", 2)),
        ("c", 1, 1, &body("b", 1)),
    ]);
    let current = block_on(journal.current()).unwrap();
    let told: Vec<_> = current.iter().map(|held| (held.id.as_str(), held.version)).collect();
    assert_eq!(told, [("a", 2), ("b", 1)]);
    let damaged = block_on(journal.damaged()).unwrap();
    let told = damaged.iter().map(|one| format!("{} {}: {}", one.id, one.version, one.why));
    insta::assert_snapshot!(
        told.collect::<Vec<_>>().join("\n"),
        @r"
    a 3: its record is damaged (EOF while parsing an object at line 1 column 1); restore a backup
    b 2: a newer version of air wrote it; upgrade air
    c 1: its record is that of another version; restore a backup
    "
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
