//! Journals that are not whole, not ours, or held by someone else.

use std::{fs, path::Path, sync::OnceLock};

use air_core::port::Journal;
use air_journal::{BreakKind, ChainError, OpenError, SqliteJournal};
use futures::executor::block_on;
use proptest::prelude::*;
use tempfile::TempDir;

use super::{append, crash, place, raw, read, record, session};

fn with_records(count: u64) -> (TempDir, std::path::PathBuf) {
    let (dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    for n in 0..count {
        append(&journal, &session("a"), n).unwrap();
    }
    drop(journal);
    (dir, path)
}

fn says(path: &Path, error: &impl ToString) -> String {
    error.to_string().replace(path.parent().unwrap().to_str().unwrap(), "D")
}

#[test]
fn the_chain_names_its_first_break() {
    #[rustfmt::skip]
    let table = [
        ("UPDATE records SET body = replace(body, 'n 1', 'n 9') WHERE seq = 2", 2, BreakKind::Content),
        ("UPDATE records SET at = at + 1 WHERE seq = 3",                        3, BreakKind::Content),
        ("UPDATE records SET hash = zeroblob(32) WHERE seq = 4",                4, BreakKind::Content),
        ("DELETE FROM records WHERE seq = 2",                                   3, BreakKind::Predecessor),
        ("DELETE FROM records WHERE seq = 1",                                   2, BreakKind::Predecessor),
    ];
    for (sql, at, expected) in table {
        let (_dir, path) = with_records(4);
        let raw = raw(&path);
        let triggers = "DROP TRIGGER records_no_update; DROP TRIGGER records_no_delete;";
        raw.execute_batch(&format!("{triggers} {sql}")).unwrap();
        drop(raw);
        let error = SqliteJournal::open(&path).unwrap().verify().unwrap_err();
        let ChainError::Broken { seq, stream, kind } = error else { panic!("{error}") };
        assert_eq!((seq, stream.as_str(), kind), (at, "session/a", expected), "{sql}");
    }
}

#[test]
fn a_cut_chain_is_told_by_its_exported_head() {
    let (_dir, path) = with_records(4);
    let head = SqliteJournal::open(&path).unwrap().head().unwrap().unwrap();
    let raw = raw(&path);
    raw.execute_batch("DROP TRIGGER records_no_delete; DELETE FROM records WHERE seq = 4").unwrap();
    drop(raw);
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(journal.verify().unwrap().records, 3);
    assert!(matches!(journal.verify_against(&head), Err(ChainError::Rewritten(_))));
    let head = journal.head().unwrap().unwrap();
    append(&journal, &session("a"), 3).unwrap();
    assert_eq!(journal.verify_against(&head).unwrap().records, 4);
}

#[test]
fn a_missing_record_is_not_skipped() {
    let (_dir, path) = with_records(3);
    raw(&path)
        .execute_batch("DROP TRIGGER records_no_delete; DELETE FROM records WHERE seq = 2")
        .unwrap();
    let journal = SqliteJournal::open(&path).unwrap();
    insta::assert_snapshot!(
        block_on(journal.read(&session("a"))).unwrap_err(),
        @"record 1 of `session/a` is missing; restore a backup of the journal"
    );
}

#[test]
fn what_is_not_a_journal_is_left_as_it_is() {
    let (_dir, path) = with_records(1);
    fs::write(&path, b"not a database at all ".repeat(100)).unwrap();
    let before = fs::read(&path).unwrap();
    insta::assert_snapshot!(
        says(&path, &SqliteJournal::open(&path).unwrap_err()),
        @"journal `D/journal.sqlite` is damaged: file is not a database; nothing has been changed: restore a backup, or move the file and those beside it that begin with its name away to start a new one"
    );
    assert_eq!(fs::read(&path).unwrap(), before);

    let (_dir, path) = place();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    raw(&path).execute_batch("CREATE TABLE other (x)").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(SqliteJournal::open(&path), Err(OpenError::Foreign { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn what_cannot_be_written_is_said() {
    // Modes do not bind root, who may run the tests: places that nobody can write instead.
    let (dir, path) = place();
    fs::create_dir_all(&path).unwrap();
    assert!(matches!(SqliteJournal::open(&path), Err(OpenError::NotAFile { .. })));
    let none = dir.path().join("none");
    assert!(matches!(SqliteJournal::open_read_only(&none), Err(OpenError::Missing { .. })));
    assert!(!none.exists());
    let nowhere = Path::new("/proc/air/journal.sqlite");
    assert!(matches!(SqliteJournal::open(nowhere), Err(OpenError::Directory { .. })));
    let nowhere = Path::new("/proc/self/journal.sqlite");
    assert!(matches!(SqliteJournal::open(nowhere), Err(OpenError::ReadOnly { .. })));
}

#[test]
fn a_lost_or_wrong_key_is_said() {
    let (_dir, path) = with_records(1);
    let key = path.with_file_name("key");
    fs::write(&key, [7; 32]).unwrap();
    insta::assert_snapshot!(
        says(&path, &SqliteJournal::open(&path).unwrap_err()),
        @"`D/key` is not the key of this journal: it belongs to another journal; restore the key from the backup of the journal, or move the journal away to start a new one"
    );
    fs::write(&key, [7; 3]).unwrap();
    assert!(matches!(SqliteJournal::open(&path), Err(OpenError::KeyWrong { .. })));
    fs::remove_file(&key).unwrap();
    assert!(matches!(SqliteJournal::open(&path), Err(OpenError::KeyUnreadable { .. })));
    assert!(!key.exists());
}

#[test]
fn a_lock_held_elsewhere_is_said_after_a_while() {
    let (_dir, path) = with_records(1);
    let holder = raw(&path);
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(read(&journal, &session("a")).len(), 1);
    insta::assert_snapshot!(
        says(&path, &append(&journal, &session("a"), 1).unwrap_err()),
        @"journal is locked by another process: `D/journal.sqlite`; end that process, or try again when it is done"
    );
    holder.execute_batch("ROLLBACK").unwrap();
    append(&journal, &session("a"), 1).unwrap();
}

#[test]
fn a_full_log_beside_an_empty_file_is_kept() {
    let (_dir, path) = place();
    crash::run(&path, "journal.append:4:after");
    fs::write(&path, b"").unwrap();
    let log = path.with_file_name("journal.sqlite-wal");
    let before = fs::read(&log).unwrap();
    assert!(!before.is_empty());
    assert!(matches!(SqliteJournal::open(&path), Err(OpenError::Damaged { .. })));
    assert_eq!(fs::read(&log).unwrap(), before);
}

/// Database, log and key after five appends and a crash.
fn crashed() -> &'static [Vec<u8>; 3] {
    static FILES: OnceLock<[Vec<u8>; 3]> = OnceLock::new();
    FILES.get_or_init(|| {
        let (_dir, path) = place();
        crash::run(&path, "journal.append:5:after");
        ["journal.sqlite", "journal.sqlite-wal", "key"]
            .map(|name| fs::read(path.with_file_name(name)).unwrap())
    })
}

/// A prefix of five records, or a typed error; never a panic.
fn holds_a_prefix(path: &Path) -> Result<(), TestCaseError> {
    if let Ok(journal) = SqliteJournal::open(path)
        && let Ok(records) = block_on(journal.read(&session("a")))
    {
        let expected: Vec<_> = (0..5).map(record).take(records.len()).collect();
        prop_assert_eq!(records, expected);
        let _ = journal.verify();
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_prefix_of_the_log_holds_a_prefix_of_the_records(cut in 0.0..1.0_f64) {
        let [database, log, key] = crashed();
        let (_dir, path) = place();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, database).unwrap();
        fs::write(path.with_file_name("key"), key).unwrap();
        let cut = part(log, cut);
        fs::write(path.with_file_name("journal.sqlite-wal"), cut).unwrap();
        holds_a_prefix(&path)?;
    }

    #[test]
    fn any_prefix_of_the_file_holds_a_prefix_or_is_refused(cut in 0.0..1.0_f64) {
        let (_dir, path) = with_records(5);
        let whole = fs::read(&path).unwrap();
        let cut = part(&whole, cut);
        fs::write(&path, cut).unwrap();
        holds_a_prefix(&path)?;
        if !cut.is_empty() {
            prop_assert_eq!(fs::read(&path).unwrap(), cut);
        }
    }

    #[test]
    fn any_flipped_byte_is_refused_or_found_or_harmless(at in 0.0..1.0_f64, bits in 1..=255_u8) {
        let (_dir, path) = with_records(5);
        let mut bytes = fs::read(&path).unwrap();
        let at = part(&bytes, at).len();
        bytes[at] ^= bits;
        fs::write(&path, &bytes).unwrap();
        if let Ok(journal) = SqliteJournal::open_read_only(&path)
            && let Ok(report) = journal.verify()
            && report.records == 5
            && let Ok(records) = block_on(journal.read(&session("a")))
        {
            prop_assert_eq!(records, (0..5).map(record).collect::<Vec<_>>());
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "files are small"
)]
fn part(bytes: &[u8], share: f64) -> &[u8] {
    &bytes[..(bytes.len() as f64 * share) as usize]
}
