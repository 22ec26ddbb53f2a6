//! What it costs to know what changed, and to keep it: 100 MB in 10,000 files and 500 directories.
#![expect(clippy::unwrap_used, reason = "a benchmark ends at the first error")]

use std::{fs, path::Path};

use air_checkpoint::{Budget, Root, Scanner, Store, Tree, Watch};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

const DIRECTORIES: usize = 500;
const FILES: usize = 20;
const BYTES: usize = 10_000;

fn fill(root: &Path) {
    for directory in 0..DIRECTORIES {
        let directory = root.join(directory.to_string());
        fs::create_dir_all(&directory).unwrap();
        for file in 0..FILES {
            let path = directory.join(file.to_string());
            let line = format!("{} is a line of this file\n", path.display());
            fs::write(&path, line.repeat(BYTES / line.len() + 1)).unwrap();
        }
    }
}

fn scanner<'a>(roots: &'a [Root], known: &'a Tree, store: Option<&'a Store>) -> Scanner<'a> {
    Scanner { roots, known, store, retained_file_bytes: 1 << 20, entries: 1 << 20 }
}

fn checkpoint(c: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let host = dir.path().join("root");
    fill(&host);
    let roots = [Root { host: host.clone(), agent: "/w".into() }];
    let private = dir.path().join("private");
    let mut group = c.benchmark_group("10,000 files");
    group.sample_size(10);

    group.bench_function("watch all", |b| b.iter(|| Watch::start(&roots, &private).unwrap()));

    let empty = Tree::default();
    group.bench_function("scan, nothing known", |b| {
        b.iter(|| scanner(&roots, &empty, None).scan());
    });
    // Long enough ago to be believed.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let known = scanner(&roots, &empty, None).scan();
    group.bench_function("scan, all known", |b| b.iter(|| scanner(&roots, &known, None).scan()));

    let store = Store::open(&dir.path().join("state")).unwrap();
    let mut watch = Watch::start(&roots, &private).unwrap();
    let mut tree = scanner(&roots, &known, Some(&store)).scan();
    assert!(tree.unread.is_empty());
    store.settle();
    let mut count = 0;
    group.bench_function("one file changed: dirty and look", |b| {
        b.iter(|| {
            count += 1;
            fs::write(host.join("250/7"), format!("{count}")).unwrap();
            let known = Tree::default();
            watch.dirty().look(&scanner(&roots, &known, Some(&store)), &mut tree);
        });
    });
    group.bench_function("nothing changed: dirty", |b| b.iter(|| watch.dirty()));

    group.bench_function("first keep of 100 MB", |b| {
        b.iter_batched(
            || {
                let dir = tempfile::tempdir().unwrap();
                let store = Store::open_with(dir.path(), Budget::default()).unwrap();
                store.settle();
                (dir, store)
            },
            |(dir, store)| {
                let tree = scanner(&roots, &empty, Some(&store)).scan();
                assert_eq!(tree.entries.len(), 1 + DIRECTORIES + DIRECTORIES * FILES);
                (dir, store)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, checkpoint);
criterion_main!(benches);
