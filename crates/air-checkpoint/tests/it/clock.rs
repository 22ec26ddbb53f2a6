//! Clocks that are wrong. No test can set one: what is known from before is made to say what it
//! would say had the clock been another.

use std::{fs, path::PathBuf};

use air_checkpoint::{Digest, Root, Scanner, Tree};

const HOUR_NS: i64 = 3_600_000_000_000;

fn scan(roots: &[Root], known: &Tree) -> Tree {
    let store = None;
    Scanner { roots, known, store, retained_file_bytes: 1 << 20, entries: 100 }.scan()
}

/// What is looked at an hour after it was last changed, by a clock that is `late` nanoseconds off.
fn known(roots: &[Root], off_ns: i64) -> Tree {
    let mut tree = scan(roots, &Tree::default());
    tree.scanned_ns += off_ns;
    // Tells whether the file was read again.
    for entry in tree.entries.values_mut().filter(|entry| entry.digest.is_some()) {
        entry.digest = Some(Digest([7; 32]));
    }
    tree
}

#[test]
fn what_was_changed_in_the_future_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), "one").unwrap();
    let roots = [Root { host: dir.path().to_owned(), agent: PathBuf::from("/w") }];
    let place = (0, b"f".to_vec());
    let truth = scan(&roots, &Tree::default()).entries[&place].digest;
    let found = |off_ns| scan(&roots, &known(&roots, off_ns)).entries[&place].digest;
    // With a clock that is right, what was looked at long after the change is not read again.
    assert_eq!(found(HOUR_NS), Some(Digest([7; 32])));
    // After the clock was set back, the file is one of the future; or it was changed right now.
    assert_eq!(found(-HOUR_NS), truth);
    assert_eq!(found(0), truth);
}

#[test]
fn a_clock_that_was_set_back_hides_no_change() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    fs::write(&path, "one").unwrap();
    let roots = [Root { host: dir.path().to_owned(), agent: PathBuf::from("/w") }];
    let place = (0, b"f".to_vec());
    let mut before = scan(&roots, &Tree::default());
    // It was last changed and looked at while the clock was an hour ahead.
    before.scanned_ns += HOUR_NS;
    let entry = before.entries.get_mut(&place).unwrap();
    (entry.ctime_ns, entry.mtime_ns) = (entry.ctime_ns + HOUR_NS / 2, entry.mtime_ns);
    let modified = path.metadata().unwrap().modified().unwrap();
    fs::write(&path, "two").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    let now = scan(&roots, &before);
    assert_ne!(now.entries[&place].digest, before.entries[&place].digest);
}
