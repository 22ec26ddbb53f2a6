//! A journal of any bytes, or a good one with some bytes changed: whatever is wrong with it is an
//! error. The first byte says which: even, the rest is the database; odd, the rest are changes of the
//! fixture, each three bytes of place and one of content.
#![no_main]

use std::{fs, path::Path};

use air_core::port::{GuardrailStore, Journal};
use air_journal::SqliteJournal;
use futures::executor::block_on;
use libfuzzer_sys::fuzz_target;

const GOOD: &[u8] = include_bytes!("../../crates/air-journal/tests/fixtures/v1/journal.sqlite");
const KEY: &[u8] = include_bytes!("../../crates/air-journal/tests/fixtures/v1/key");

fn database(bytes: &[u8]) -> Vec<u8> {
    match bytes.split_first() {
        Some((first, changes)) if first % 2 == 1 => {
            let mut good = GOOD.to_vec();
            for change in changes.chunks_exact(4) {
                let place = change[..3].iter().fold(0, |place, &byte| place << 8 | usize::from(byte));
                let length = good.len();
                good[place % length] = change[3];
            }
            good
        }
        Some((_, rest)) => rest.to_vec(),
        None => Vec::new(),
    }
}

fn read(path: &Path) {
    let Ok(journal) = SqliteJournal::open_read_only(path) else { return };
    if let Ok(streams) = block_on(journal.streams()) {
        for stream in streams {
            drop(block_on(journal.read(&stream)));
        }
    }
    drop(block_on(journal.current()));
    drop(journal.verify());
    drop(journal.head());
}

fuzz_target!(|bytes: &[u8]| {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("journal.sqlite");
    fs::write(&path, database(bytes)).expect("it is written");
    fs::write(directory.path().join("key"), KEY).expect("it is written");
    read(&path);
    if SqliteJournal::open(&path).is_ok() {
        read(&path);
    }
});
