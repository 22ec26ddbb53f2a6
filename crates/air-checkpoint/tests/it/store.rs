//! Kept contents: the same, or an error.

mod child;

use std::{
    collections::HashSet,
    fs::{self, File, Permissions},
    io::{self, Write},
    os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant, SystemTime},
};

use air_checkpoint::{Budget, Digest, Store, StoreError, store};
use proptest::prelude::*;
use tempfile::{NamedTempFile, TempDir};

fn new() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    (dir, store)
}

fn file(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file
}

fn digest(content: &[u8]) -> Digest {
    Digest(*blake3::hash(content).as_bytes())
}

fn read(store: &Store, digest: &Digest) -> Result<Vec<u8>, StoreError> {
    let mut content = Vec::new();
    store.read(digest, &mut content).map(|()| content)
}

/// Where an object is, in one form or the other.
fn raw(dir: &Path, digest: &Digest) -> PathBuf {
    let name = digest.to_string();
    dir.join("objects").join(&name[..2]).join(&name[2..])
}

fn packed(dir: &Path, digest: &Digest) -> PathBuf {
    raw(dir, digest).with_extension("zst")
}

fn noise(length: usize) -> Vec<u8> {
    let mut content = vec![0; length];
    blake3::Hasher::new().finalize_xof().fill(&mut content);
    content
}

fn make_old(path: &Path) {
    let then = SystemTime::now() - Duration::from_mins(10);
    let then = rustix::fs::Timespec {
        tv_sec: then.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().try_into().unwrap(),
        tv_nsec: 0,
    };
    let times = rustix::fs::Timestamps { last_access: then, last_modification: then };
    let flags = rustix::fs::AtFlags::empty();
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, flags).unwrap();
}

/// Files below, the lock files aside.
fn files_in(dir: &Path) -> usize {
    let mut count = 0;
    for item in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if item.file_type().unwrap().is_dir() {
            count += files_in(&item.path());
        } else if item.file_name() != "lock" {
            count += 1;
        }
    }
    count
}

fn all_private(path: &Path) {
    let found = path.symlink_metadata().unwrap();
    assert_eq!(found.mode() & 0o077, 0, "{}", path.display());
    if found.is_dir() {
        for item in fs::read_dir(path).unwrap() {
            all_private(&item.unwrap().path());
        }
    }
}

#[derive(Debug, Clone)]
enum Part {
    Bytes(Vec<u8>),
    Repeated(u8, usize),
    Hole(usize),
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..5000).prop_map(Part::Bytes),
        (any::<u8>(), 0..300_000_usize).prop_map(|(byte, length)| Part::Repeated(byte, length)),
        (0..700_000_usize).prop_map(Part::Hole),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_is_read_in_either_form(parts in prop::collection::vec(part(), 0..6)) {
        let (_dir, store) = new();
        let file = tempfile::tempfile().unwrap();
        let mut content = Vec::new();
        for part in parts {
            let at = content.len() as u64;
            match part {
                Part::Bytes(bytes) => {
                    file.write_all_at(&bytes, at).unwrap();
                    content.extend(bytes);
                }
                Part::Repeated(byte, length) => {
                    file.write_all_at(&vec![byte; length], at).unwrap();
                    content.resize(content.len() + length, byte);
                }
                Part::Hole(length) => content.resize(content.len() + length, 0),
            }
            file.set_len(content.len() as u64).unwrap();
        }
        let kept = store.keep(&file).unwrap();
        prop_assert_eq!(kept, digest(&content));
        prop_assert_eq!(store::digest_of(&file, u64::MAX).unwrap(), kept);
        prop_assert!(read(&store, &kept).unwrap() == content);
        prop_assert!(store.settle());
        prop_assert!(store.holds(&kept));
        prop_assert!(read(&store, &kept).unwrap() == content);
        prop_assert_eq!(store.keep(&file).unwrap(), kept);
        prop_assert_eq!(store.usage().unwrap().objects, 1);
    }
}

#[test]
fn compression_comes_later_and_where_it_pays() {
    let (dir, store) = new();
    let text = "one line of text\n".repeat(10_000).into_bytes();
    let cases = [(text, true), (noise(100_000), false), (b"short ".repeat(100), false)];
    let kept = cases.map(|(content, pays)| (store.keep(&file(&content)).unwrap(), pays));
    assert!(store.settle());
    for (digest, pays) in kept {
        assert_eq!(packed(dir.path(), &digest).exists(), pays, "{digest}");
        assert_eq!(raw(dir.path(), &digest).exists(), !pays, "{digest}");
        let path = if pays { packed(dir.path(), &digest) } else { raw(dir.path(), &digest) };
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o400);
    }
    let usage = store.usage().unwrap();
    assert_eq!(usage.objects, 3);
    assert!(usage.bytes < 120_000, "{usage:?}");
    // Nothing unfinished stays.
    assert_eq!(files_in(&dir.path().join("objects/new")), 0);
}

#[test]
fn what_was_left_to_do_is_done_when_it_is_opened_again() {
    let (dir, store) = new();
    let text = "text ".repeat(10_000).into_bytes();
    let kept = store.keep(&file(&text)).unwrap();
    store.settle();
    drop(store);
    // As after a crash between two steps.
    fs::remove_file(packed(dir.path(), &kept)).unwrap();
    fs::write(raw(dir.path(), &kept), &text).unwrap();
    // As after a power failure: names, but not what they should name.
    let lost = [digest(b"small"), digest(&noise(50_000))];
    for digest in &lost {
        fs::create_dir_all(raw(dir.path(), digest).parent().unwrap()).unwrap();
        fs::write(raw(dir.path(), digest), "").unwrap();
        fs::set_permissions(raw(dir.path(), digest), Permissions::from_mode(0o600)).unwrap();
    }
    fs::set_permissions(raw(dir.path(), &kept), Permissions::from_mode(0o600)).unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert!(store.settle());
    assert!(packed(dir.path(), &kept).exists());
    assert_eq!(read(&store, &kept).unwrap(), text);
    for digest in &lost {
        assert!(matches!(read(&store, digest), Err(StoreError::Missing(_))));
    }
    assert_eq!(store.keep(&file(b"small")).unwrap(), lost[0]);
    assert_eq!(read(&store, &lost[0]).unwrap(), b"small");
}

#[test]
fn an_object_that_was_cut_is_kept_anew() {
    let (dir, store) = new();
    let kept = store.keep(&file(b"content")).unwrap();
    store.settle();
    fs::remove_file(raw(dir.path(), &kept)).unwrap();
    fs::write(raw(dir.path(), &kept), "cont").unwrap();
    assert_eq!(store.keep(&file(b"content")).unwrap(), kept);
    assert_eq!(read(&store, &kept).unwrap(), b"content");
}

#[test]
fn damage_is_an_error_and_set_aside() {
    for pays in [true, false] {
        for cut in [0, 10, 2000] {
            let (dir, store) = new();
            let content = if pays { "text ".repeat(10_000).into() } else { noise(5000) };
            let kept = store.keep(&file(&content)).unwrap();
            assert!(store.settle());
            let path = if pays { packed(dir.path(), &kept) } else { raw(dir.path(), &kept) };
            let mut bytes = fs::read(&path).unwrap();
            match cut {
                0 => bytes.clear(),
                10 => bytes.truncate(bytes.len() - 10),
                _ => *bytes.last_mut().unwrap() ^= 1,
            }
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
            if cut == 10 {
                assert_eq!(store.verify().unwrap().damaged, [kept]);
            } else {
                let damaged = read(&store, &kept);
                assert!(
                    matches!(damaged, Err(StoreError::Damaged(of)) if of == kept),
                    "{damaged:?}"
                );
            }
            assert!(!store.holds(&kept));
            assert_eq!(files_in(&dir.path().join("objects/damaged")), 1);
            assert_eq!(store.keep(&file(&content)).unwrap(), kept);
            assert_eq!(read(&store, &kept).unwrap(), content);
            assert_eq!(store.verify().unwrap().intact, 1);
            assert!(store.erase(&kept).unwrap());
            assert_eq!(files_in(&dir.path().join("objects")), 0);
        }
    }
}

#[test]
fn what_is_erased_is_gone_and_stays_gone() {
    let (dir, store) = new();
    let content = "secret ".repeat(100_000).into_bytes();
    for settled in [true, false] {
        let kept = store.keep(&file(&content)).unwrap();
        if settled {
            store.settle();
        }
        assert!(store.erase(&kept).unwrap());
        assert!(!store.erase(&kept).unwrap());
        store.settle();
        assert!(!store.holds(&kept));
        assert!(matches!(read(&store, &kept), Err(StoreError::Missing(_))));
        assert_eq!(files_in(&dir.path().join("objects")), 0);
    }
}

#[test]
fn only_what_is_old_and_not_live_is_collected() {
    let (dir, store) = new();
    let [live, old, young, again] =
        [b"live", b"old_", b"new_", b"keep"].map(|content| store.keep(&file(content)).unwrap());
    store.settle();
    for digest in [&live, &old, &again] {
        make_old(&raw(dir.path(), digest));
    }
    // Held already: it was needed a moment ago all the same.
    store.keep(&file(b"keep")).unwrap();
    let collected = store.collect(&HashSet::from([live])).unwrap();
    assert_eq!((collected.objects, store.usage().unwrap().objects), (1, 3));
    assert!(store.holds(&live) && store.holds(&young) && store.holds(&again));
    assert!(!store.holds(&old));
}

#[test]
fn a_full_store_says_so_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let budget = Budget { bytes: 300_000, content_bytes: 250_000 };
    let store = Store::open_with(dir.path(), budget).unwrap();
    let large = noise(260_000);
    assert!(matches!(store.keep(&file(&large)), Err(StoreError::TooLarge { limit: 250_000 })));
    let kept = store.keep(&file(&large[..200_000])).unwrap();
    let refused = store.keep(&file(&large[..150_000]));
    assert!(matches!(refused, Err(StoreError::OverBudget { budget: 300_000, .. })), "{refused:?}");
    assert!(matches!(store.keep_at_most(&file(b"four"), 3), Err(StoreError::TooLarge { .. })));
    // What is held already costs nothing.
    assert_eq!(store.keep(&file(&large[..200_000])).unwrap(), kept);
    assert_eq!(files_in(&dir.path().join("objects")), 1);
    drop(store);
    // It is counted anew.
    let store = Store::open_with(dir.path(), budget).unwrap();
    assert!(matches!(store.keep(&file(&large[..150_000])), Err(StoreError::OverBudget { .. })));
    store.settle();
    make_old(&raw(dir.path(), &kept));
    store.collect(&HashSet::new()).unwrap();
    store.keep(&file(&large[..150_000])).unwrap();
}

#[test]
fn only_a_private_directory_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |path: &Path| match Store::open(path) {
        Err(StoreError::Exposed { .. }) => true,
        other => panic!("{other:?}"),
    };
    for (mode, inner) in [(0o770, 0o700), (0o702, 0o700), (0o700, 0o750), (0o700, 0o701)] {
        let path = dir.path().join(format!("{mode}-{inner}"));
        fs::create_dir_all(path.join("objects")).unwrap();
        for (path, mode) in [(path.join("objects"), inner), (path.clone(), mode)] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }
        assert!(refused(&path));
    }
    let store = dir.path().join("store");
    Store::open(&store).unwrap().keep(&file(b"1")).unwrap();
    symlink(&store, dir.path().join("link")).unwrap();
    assert!(refused(&dir.path().join("link")));
    let inner = dir.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::set_permissions(&inner, Permissions::from_mode(0o700)).unwrap();
    symlink(store.join("objects"), inner.join("objects")).unwrap();
    assert!(refused(&inner));
    // All that it makes is its owner's alone.
    all_private(&store);
}

#[test]
fn a_sparse_file_stays_sparse_and_is_bounded() {
    let (dir, store) = new();
    let huge = tempfile::tempfile().unwrap();
    huge.set_len(20 << 30).unwrap();
    huge.write_all_at(b"end", (20 << 30) - 3).unwrap();
    let begin = Instant::now();
    assert!(matches!(store.keep_at_most(&huge, 1 << 20), Err(StoreError::TooLarge { .. })));
    assert!(matches!(store.keep(&huge), Err(StoreError::TooLarge { .. })));
    assert!(begin.elapsed() < Duration::from_secs(1));
    let large = tempfile::tempfile().unwrap();
    large.set_len(64 << 20).unwrap();
    large.write_all_at(b"middle", 32 << 20).unwrap();
    let kept = store.keep(&large).unwrap();
    store.settle();
    let object = fs::metadata(raw(dir.path(), &kept)).unwrap();
    assert_eq!(object.len(), 64 << 20);
    assert!(object.blocks() * 512 < 1 << 20);
    assert_eq!(store::digest(&mut File::open(raw(dir.path(), &kept)).unwrap()).unwrap(), kept);
    assert_eq!(store.verify().unwrap().intact, 1);
}

#[test]
fn many_threads_may_keep_the_same() {
    let (dir, store) = new();
    let contents: Vec<Vec<u8>> = (0..20_u8).map(|n| vec![n; 1000 * usize::from(n)]).collect();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            let (store, contents) = (store.clone(), &contents);
            scope.spawn(move || {
                for content in contents.iter().chain(contents) {
                    let kept = store.keep(&file(content)).unwrap();
                    assert_eq!(kept, digest(content));
                    assert_eq!(&read(&store, &kept).unwrap(), content);
                    store.collect(&HashSet::new()).unwrap();
                }
            });
        }
    });
    assert!(store.settle());
    let verified = store.verify().unwrap();
    assert_eq!((verified.intact, verified.damaged.len()), (20, 0));
    assert_eq!(files_in(&dir.path().join("objects")), 20);
}

#[test]
fn what_changes_while_it_is_read_is_never_kept_under_a_wrong_digest() {
    let (_dir, store) = new();
    let target = NamedTempFile::new().unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0..=u8::MAX {
                let length = if n % 2 == 0 { 3 << 20 } else { 1000 };
                let content = vec![n; length];
                target.as_file().write_all_at(&content, 0).unwrap();
                target.as_file().set_len(u64::from(n) * 10_000).unwrap();
            }
            ended.store(true, Ordering::Relaxed);
        });
        while !ended.load(Ordering::Relaxed) {
            store.keep(&target.reopen().unwrap()).unwrap();
        }
    });
    store.settle();
    let verified = store.verify().unwrap();
    assert!(verified.damaged.is_empty() && verified.unreadable.is_empty());
    assert!(verified.intact > 0);
}

#[test]
fn errors_of_the_reader_are_not_damage() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (_dir, store) = new();
    let kept = store.keep(&file(b"content")).unwrap();
    assert!(matches!(store.read(&kept, &mut Full), Err(StoreError::Io(_))));
    assert!(store.holds(&kept));
}
