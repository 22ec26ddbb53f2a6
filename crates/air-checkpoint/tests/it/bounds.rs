//! What an agent makes large, deep or unreadable is bounded, and said to be unread.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use air_checkpoint::{
    Place, Root, Scanner, Tree, Unread,
    apply::changes,
    overlay::{Lower, Shown},
};
use rustix::{
    fs::{CWD, Mode, OFlags, XattrFlags, mkdirat, openat, setxattr},
    process::geteuid,
};

fn roots(host: &Path) -> Vec<Root> {
    vec![Root { host: host.to_path_buf(), agent: PathBuf::from("/w") }]
}

fn scanner<'a>(roots: &'a [Root], known: &'a Tree) -> Scanner<'a> {
    Scanner { roots, known, store: None, retained_file_bytes: 1 << 20, entries: 1 << 20 }
}

fn scan(host: &Path) -> Tree {
    scanner(&roots(host), &Tree::default()).scan()
}

fn place(path: &str) -> Place {
    (0, path.as_bytes().to_vec())
}

#[test]
fn what_is_too_deep_is_unread() {
    const LEVELS: usize = 90;
    let dir = tempfile::tempdir().unwrap();
    let name = "d".repeat(200);
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(CWD, dir.path(), flags, Mode::empty()).unwrap();
    for _ in 0..LEVELS {
        for name in ["a", "z", &name] {
            mkdirat(&at, name, Mode::RWXU).unwrap();
        }
        for name in ["a/inner", "z/inner"] {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            openat(&at, name, flags, Mode::RUSR).unwrap();
        }
        at = openat(&at, &*name, flags, Mode::empty()).unwrap();
    }
    let tree = scan(dir.path());
    let [unread] = &tree.unread[..] else { panic!("{:?}", tree.unread) };
    assert!(unread.why.contains("16 KiB"), "{}", unread.why);
    let length = unread.place.1.len();
    assert!((16 << 10..(16 << 10) + 201).contains(&length), "{length}");
    assert!(tree.is_blind_at(&(0, [&unread.place.1[..], b"/a"].concat())));
    // The root, and five entries in each directory that was listed.
    let listed = unread.place.1.split(|byte| *byte == b'/').count();
    assert_eq!(tree.entries.len(), 1 + 5 * listed);
    let known = tree.clone();
    let mut again = tree.clone();
    scanner(&roots(dir.path()), &known).look_below(&place(&name), &mut again);
    assert_eq!((again.entries, again.unread), (tree.entries, tree.unread));
}

/// A directory where extended attributes may be many, which few file systems allow.
fn spacious() -> Option<tempfile::TempDir> {
    let dirs = [tempfile::tempdir().ok(), tempfile::tempdir_in("/dev/shm").ok()];
    let found = dirs.into_iter().flatten().find(|dir| {
        let probe = dir.path().join("probe");
        fs::create_dir(&probe).unwrap();
        let fits = (0..270).all(|at| set(&probe, &long(at), b"").is_ok());
        fs::remove_dir(&probe).unwrap();
        fits
    });
    if found.is_none() {
        println!("skipped: no file system here takes many extended attributes");
    }
    found
}

fn long(at: usize) -> String {
    format!("user.{at:0>245}")
}

fn set(path: &Path, name: &str, value: &[u8]) -> rustix::io::Result<()> {
    setxattr(path, name, value, XattrFlags::empty())
}

fn shown(lower: &Path, before: &Tree, now: &Tree) -> Vec<Shown> {
    let (lower, known) = (roots(lower), Tree::default());
    let glancing = Scanner { retained_file_bytes: 0, ..scanner(&lower, &known) };
    let lower = Lower { reading: scanner(&lower, &known), glancing, upper: 0 };
    lower.shown(before, now, &mut Vec::new())
}

#[test]
fn many_attributes_hide_neither_themselves_nor_a_deletion() {
    let Some(dir) = spacious() else { return };
    let (lower, upper) = (dir.path().join("lower"), dir.path().join("upper"));
    fs::create_dir_all(lower.join("d")).unwrap();
    fs::write(lower.join("d/kept"), "user's").unwrap();
    fs::create_dir(&upper).unwrap();
    let before = scan(&upper);
    fs::create_dir(upper.join("d")).unwrap();
    set(&upper.join("d"), "user.overlay.opaque", b"y").unwrap();
    for at in 0..270 {
        set(&upper.join("d"), &long(at), b"").unwrap();
    }
    let now = scan(&upper);
    assert!(now.is_blind_at(&place("d")), "{:?}", now.unread);
    assert!(now.unread[0].why.contains("attributes cannot be read"), "{:?}", now.unread);
    let shown = shown(&lower, &before, &now);
    let gone = shown.iter().find(|shown| shown.place == place("d/kept")).unwrap();
    assert!(gone.before.is_some() && gone.now.is_none());
    let roots = roots(&upper);
    scanner(&roots, &now).entry_of(&place("d")).unwrap_err();
}

#[test]
fn large_attributes_are_unread_until_they_are_gone() {
    let Some(dir) = spacious() else { return };
    let file = dir.path().join("file");
    fs::write(&file, "text").unwrap();
    let value = vec![7; 60_000];
    let set_all = || (0..20).try_for_each(|at| set(&file, &long(at), &value));
    if set_all().is_err() {
        println!("skipped: no file system here takes large extended attributes");
        return;
    }
    let tree = scan(dir.path());
    assert!(tree.is_blind_at(&place("file")));
    assert!(tree.unread[0].why.contains("1 MiB"), "{:?}", tree.unread);
    assert!(tree.entries[&place("file")].attributes.is_empty());
    // What is known to be unread is looked at again, however large its content.
    let roots = roots(dir.path());
    for retained_file_bytes in [1 << 20, 0] {
        let again = Scanner { retained_file_bytes, ..scanner(&roots, &tree) }.scan();
        assert_eq!(again.unread, tree.unread);
    }
    for at in 1..20 {
        rustix::fs::removexattr(&file, &*long(at)).unwrap();
    }
    let again = scanner(&roots, &tree).scan();
    assert_eq!(again.unread, []);
    assert_eq!(again.entries[&place("file")].attributes.len(), 1);
}

/// Does it as somebody whom modes hold back.
fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            if geteuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work()
        });
        worker.join().unwrap()
    })
}

#[test]
fn many_unreadable_files_are_one_unread_root() {
    const FILES: usize = 50_000;
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let first = dir.path().join("f0");
    fs::write(&first, "text").unwrap();
    fs::set_permissions(&first, fs::Permissions::from_mode(0o000)).unwrap();
    for file in 1..FILES {
        fs::hard_link(&first, dir.path().join(format!("f{file}"))).unwrap();
    }
    let (roots, empty) = (roots(dir.path()), Tree::default());
    let (tree, again) = as_nobody(|| {
        let tree = scanner(&roots, &empty).scan();
        let mut again = tree.clone();
        let all = tree.entries.keys().cloned().collect();
        scanner(&roots, &tree).look_at_each(&all, &mut again);
        (tree, again)
    });
    assert_eq!(tree.entries.len(), FILES + 1);
    assert_eq!(tree.unread.len(), 10_001);
    let all = tree.unread.iter().find(|unread| unread.place == place("")).unwrap();
    assert!(all.why.contains("more than 10000"), "{}", all.why);
    assert!(tree.blind().covers(&place("nothing")));
    assert_eq!(again.entries.len(), FILES + 1);
    assert!(again.is_blind_at(&place("f0")));
}

#[test]
fn many_changes_among_many_unread_places() {
    const PLACES: usize = 50_000;
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("one"), "text").unwrap();
    let entry = scan(dir.path()).entries[&place("one")].clone();
    let mut from = Tree::default();
    for at in 0..PLACES {
        from.entries.insert(place(&format!("d{at}/file")), entry.clone());
        from.entries.insert(place(&format!("d{at}-b")), entry.clone());
    }
    let unread =
        (0..PLACES).map(|at| Unread { place: place(&format!("d{at}")), why: String::new() });
    let to = Tree { unread: unread.collect(), ..Tree::default() };
    let changes = changes(&from, &to);
    assert_eq!(changes.len(), PLACES);
    assert!(changes.iter().all(|change| change.place.1.ends_with(b"-b")));
}

#[test]
fn an_index_of_unread_places_answers_as_each_of_them_does() {
    let names = ["", "a", "a/b", "a-b", "a/b/c", "ab", "a.b/c", "b", "b/a", "b\u{1}", "b/a/a"];
    let places: Vec<Place> =
        (0..2).flat_map(|root| names.map(|name| (root, name.as_bytes().to_vec()))).collect();
    for one in &places {
        for other in &places {
            let unread =
                [one, other].map(|place| Unread { place: place.clone(), why: String::new() });
            let tree = Tree { unread: unread.to_vec(), ..Tree::default() };
            for asked in &places {
                assert_eq!(
                    tree.blind().covers(asked),
                    tree.is_blind_at(asked),
                    "{tree:?} {asked:?}"
                );
            }
        }
    }
}
