//! What an append costs, and how long a long journal takes to come back.
#![expect(clippy::unwrap_used, reason = "a benchmark ends at the first error")]

use air_core::{
    id::{SessionId, Timestamp},
    port::{Durability, Event, Journal, Record, Stream},
    session::SessionEvent,
};
use air_journal::SqliteJournal;
use criterion::{Criterion, criterion_group, criterion_main};
use futures::executor::block_on;

fn record() -> Record {
    Record { at: Timestamp(1), event: Event::Session(SessionEvent::Released) }
}

fn append(c: &mut Criterion) {
    for (name, durability) in
        [("append, undurable", Durability::Process), ("append, durable", Durability::Power)]
    {
        let dir = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(&dir.path().join("journal.sqlite")).unwrap();
        let stream = Stream::Session(SessionId::from("bench"));
        let mut count = 0;
        c.bench_function(name, |b| {
            b.iter(|| {
                block_on(journal.append(&stream, count, &[record()], durability)).unwrap();
                count += 1;
            });
        });
    }
}

fn recover(c: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.sqlite");
    let stream = Stream::Session(SessionId::from("bench"));
    let records = vec![record(); 20_000];
    let journal = SqliteJournal::open(&path).unwrap();
    block_on(journal.append(&stream, 0, &records, Durability::Power)).unwrap();
    drop(journal);
    c.bench_function("open and read 20,000 records", |b| {
        b.iter(|| block_on(SqliteJournal::open(&path).unwrap().read(&stream)).unwrap().len());
    });
    let journal = SqliteJournal::open(&path).unwrap();
    c.bench_function("verify 20,000 records", |b| b.iter(|| journal.verify().unwrap().records));
}

criterion_group!(benches, append, recover);
criterion_main!(benches);
