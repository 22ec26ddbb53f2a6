//! Databases go with what lies beside them.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use air_checkpoint::apply::{Change, Fate, changes};
use rustix::fs::{FlockOperation, fcntl_lock};

use crate::apply_world::{World, fate, refusal};

fn world() -> (World, Vec<Change>) {
    let world = World::new();
    world.write("db", "old database");
    world.write("db-wal", "old log");
    let before = world.scan();
    world.write("db", "new database");
    world.write("db-wal", "new log");
    let after = world.scan();
    let changes = changes(&after, &before);
    world.write("db-shm", [&3_007_000_u32.to_ne_bytes()[..], b"index of the new log"].concat());
    (world, changes)
}

#[test]
fn a_database_its_log_and_its_index_go_together() {
    let (world, changes) = world();
    let applied = world.apply(&changes);
    assert!(applied.fates.iter().all(|(_, fate)| *fate == Fate::Done), "{applied:?}");
    assert_eq!((world.read("db"), world.read("db-wal")), ("old database".into(), "old log".into()));
    assert!(!world.path("db-shm").exists());
    let undone = world.apply(&applied.inverse);
    assert!(undone.fates.iter().all(|(_, fate)| !matches!(fate, Fate::Refused(_))), "{undone:?}");
    assert_eq!((world.read("db"), world.read("db-wal")), ("new database".into(), "new log".into()));
    assert!(!world.path("db-shm").exists());
}

#[test]
fn a_database_of_which_a_part_is_refused_stays() {
    let (world, changes) = world();
    world.write("db-wal", "\0a person's log");
    let applied = world.apply(&changes);
    assert!(refusal(&applied, "db-wal").contains("changed since"));
    assert!(refusal(&applied, "db").contains("`db-wal` belongs to the same database"));
    assert!(refusal(&applied, "db-shm").contains("`db-wal` belongs to the same database"));
    assert_eq!(world.read("db"), "new database");
    assert!(world.path("db-shm").exists());
}

#[test]
fn a_database_that_is_open_stays() {
    let (world, changes) = world();
    let writer = File::options().append(true).open(world.path("db")).unwrap();
    let applied = world.apply(&changes);
    assert!(refusal(&applied, "db").contains("has the database open"), "{applied:?}");
    assert!(refusal(&applied, "db-wal").contains("has the database open"));
    assert_eq!(world.read("db-wal"), "new log");
    drop(writer);
    assert_eq!(fate(&world.apply(&changes), "db"), &Fate::Done);
}

/// Holds the lock of a reader until its input ends.
#[test]
fn reader() {
    let Some(path) = std::env::var_os("AIR_TEST_CHILD") else { return };
    let file = File::open(path).unwrap();
    fcntl_lock(&file, FlockOperation::NonBlockingLockShared).unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "\nlocked").unwrap();
    out.flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Applies while another process has the lock of a reader, and once more without it.
fn apply_beside_a_reader(world: &World, changes: &[Change]) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "apply_sqlite::reader", "--nocapture"])
        .env("AIR_TEST_CHILD", world.path("db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == "locked"));
    let applied = world.apply(changes);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(refusal(&applied, "db").contains("has the database open"), "{applied:?}");
    assert_eq!(fate(&world.apply(changes), "db"), &Fate::Done);
}

#[test]
fn a_database_that_is_read_stays() {
    let (world, changes) = world();
    apply_beside_a_reader(&world, &changes);
}

#[test]
fn a_database_without_side_files_is_known_by_its_header() {
    let world = World::new();
    world.write("db", "SQLite format 3\0old");
    let before = world.scan();
    world.write("db", "SQLite format 3\0new");
    apply_beside_a_reader(&world, &changes(&world.scan(), &before));
}

#[test]
fn an_index_that_was_read_is_removed_all_the_same() {
    let (world, mut changes) = world();
    let index = [&3_007_000_u32.to_ne_bytes()[..], b"read by somebody"].concat();
    let known = world.scan().entries.remove(&(0, b"db-shm".to_vec()));
    changes.push(Change { place: (0, b"db-shm".to_vec()), from: known.clone(), to: known });
    world.write("db-shm", index);
    assert_eq!(fate(&world.apply(&changes), "db-shm"), &Fate::Done);
    assert!(!world.path("db-shm").exists());
}

#[test]
fn nothing_is_taken_for_a_database_that_is_none() {
    let world = World::new();
    world.write("notes", "old");
    let before = world.scan();
    world.write("notes", "new");
    world.write("notes-shm", "a person's");
    let after = world.scan();
    let mut changes = changes(&after, &before);
    changes.retain(|change| change.place.1 == b"notes");
    let applied = world.apply(&changes);
    assert_eq!(applied.fates, [((0, b"notes".to_vec()), Fate::Done)]);
    assert!(world.path("notes-shm").exists());
}
