//! What is dirty, looked at again, gives what a full scan gives.

mod law;

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
};

use air_checkpoint::{Dirty, Place, Root, Scanner, Tree, Watch};
use rustix::fs::{CWD, Mode, OFlags, openat};

struct Here {
    dir: tempfile::TempDir,
    roots: Vec<Root>,
    watch: Watch,
    tree: Tree,
    /// Look at the places that are named, and no other.
    only_places: bool,
}

fn scanner<'a>(roots: &'a [Root], known: &'a Tree) -> Scanner<'a> {
    Scanner { roots, known, store: None, retained_file_bytes: 1 << 20, entries: 1 << 20 }
}

impl Here {
    fn new(fill: impl FnOnce(&Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let host = dir.path().join("root");
        fs::create_dir(&host).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        fill(&host);
        let roots = vec![Root { host, agent: PathBuf::from("/w") }];
        let watch = Watch::start(&roots, &dir.path().join("private")).unwrap();
        let tree = scanner(&roots, &Tree::default()).scan();
        Self { dir, roots, watch, tree, only_places: false }
    }

    fn root(&self) -> PathBuf {
        self.roots[0].host.clone()
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    /// Looks at what is dirty, and proves that nothing else has changed.
    fn look(&mut self) -> Dirty {
        let dirty = self.watch.dirty();
        let known = self.tree.clone();
        let look = scanner(&self.roots, &known);
        match &dirty {
            Dirty::Places { alone, below } if self.only_places => {
                for place in below {
                    look.look_below(place, &mut self.tree);
                }
                for place in alone {
                    look.look_at(place, &mut self.tree);
                }
            }
            _ => dirty.look(&look, &mut self.tree),
        }
        let empty = Tree::default();
        let full = scanner(&self.roots, &empty).scan();
        for (place, entry) in &full.entries {
            assert_eq!(self.tree.entries.get(place), Some(entry), "{place:?} {dirty:?}");
        }
        for place in self.tree.entries.keys() {
            assert!(full.entries.contains_key(place), "{place:?} is gone {dirty:?}");
        }
        assert_eq!(self.tree.unread, full.unread);
        dirty
    }

    fn looks(&mut self) -> (BTreeSet<Place>, BTreeSet<Place>) {
        match self.look() {
            Dirty::Places { alone, below } => (alone, below),
            Dirty::Everything(why) => panic!("{why}"),
        }
    }

    fn everything(&mut self) -> String {
        match self.look() {
            Dirty::Everything(why) => why,
            dirty @ Dirty::Places { .. } => panic!("{dirty:?}"),
        }
    }
}

fn places(paths: &[&str]) -> BTreeSet<Place> {
    paths.iter().map(|path| (0, path.as_bytes().to_vec())).collect()
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn nothing_is_dirty_where_nothing_happened() {
    let mut here = Here::new(|root| fs::write(root.join("a"), "1").unwrap());
    for _ in 0..3 {
        assert_eq!(here.looks(), (places(&[]), places(&[])));
        fs::read(here.root().join("a")).unwrap();
    }
    assert_eq!(fs::read_dir(here.dir.path().join("private")).unwrap().count(), 0);
}

#[test]
fn one_write_is_one_place() {
    let mut here = Here::new(|root| {
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/a"), "1").unwrap();
    });
    append(&here.root().join("d/a"), "2");
    assert_eq!(here.looks(), (places(&["d/a"]), places(&[])));
    // While it is open as well.
    let mut open = OpenOptions::new().append(true).open(here.root().join("d/a")).unwrap();
    here.looks();
    open.write_all(b"3").unwrap();
    assert_eq!(here.looks(), (places(&["d/a"]), places(&[])));
}

#[test]
fn what_a_new_directory_held_before_it_was_watched_is_seen() {
    let mut here = Here::new(|_| {});
    fs::create_dir_all(here.root().join("a/b/c/d")).unwrap();
    fs::write(here.root().join("a/b/c/d/f"), "1").unwrap();
    assert_eq!(here.looks(), (places(&[""]), places(&["a"])));
    append(&here.root().join("a/b/c/d/f"), "2");
    assert_eq!(here.looks(), (places(&["a/b/c/d/f"]), places(&[])));
}

#[test]
fn a_renamed_directory_is_dirty_at_both_ends_and_stays_watched() {
    let mut here = Here::new(|root| {
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir(root.join("a-b")).unwrap();
        fs::create_dir(root.join("c")).unwrap();
        fs::write(root.join("a/b/f"), "1").unwrap();
    });
    fs::rename(here.root().join("a"), here.root().join("c/z")).unwrap();
    assert_eq!(here.looks(), (places(&["", "c"]), places(&["a", "c/z"])));
    append(&here.root().join("c/z/b/f"), "2");
    fs::write(here.root().join("a-b/f"), "2").unwrap();
    assert_eq!(here.looks(), (places(&["c/z/b/f", "a-b", "a-b/f"]), places(&[])));
    // Out of the roots, and changed there.
    fs::rename(here.root().join("c/z"), here.outside().join("z")).unwrap();
    here.looks();
    append(&here.outside().join("z/b/f"), "3");
    assert_eq!(here.looks(), (places(&[]), places(&[])));
    fs::rename(here.outside().join("z"), here.root().join("back")).unwrap();
    here.looks();
    append(&here.root().join("back/b/f"), "4");
    assert_eq!(here.looks(), (places(&["back/b/f"]), places(&[])));
}

#[test]
fn more_events_than_the_queue_holds_make_everything_dirty() {
    let mut here = Here::new(|root| {
        fs::write(root.join("a"), "").unwrap();
        fs::write(root.join("b"), "").unwrap();
    });
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    if limit > 1 << 20 {
        return eprintln!("skipped: {limit} queued events");
    }
    let open = |name| OpenOptions::new().append(true).open(here.root().join(name)).unwrap();
    let (mut a, mut b) = (open("a"), open("b"));
    for _ in 0..limit {
        a.write_all(b"1").unwrap();
        b.write_all(b"1").unwrap();
    }
    assert!(here.everything().contains("fs.inotify.max_queued_events"));
    here.looks();
    a.write_all(b"1").unwrap();
    assert_eq!(here.looks(), (places(&["a"]), places(&[])));
}

#[test]
fn a_root_that_was_replaced_makes_everything_dirty_once() {
    let mut here = Here::new(|root| fs::write(root.join("a"), "1").unwrap());
    fs::rename(here.root(), here.dir.path().join("old")).unwrap();
    fs::create_dir(here.root()).unwrap();
    fs::write(here.root().join("b"), "1").unwrap();
    here.everything();
    assert_eq!(here.looks(), (places(&[]), places(&[])));
    append(&here.root().join("b"), "2");
    assert_eq!(here.looks(), (places(&["b"]), places(&[])));
    // Gone: nothing is known until it is back.
    fs::remove_dir_all(here.root()).unwrap();
    here.everything();
    here.everything();
    fs::create_dir(here.root()).unwrap();
    here.everything();
    here.looks();
}

#[test]
fn a_root_whose_parent_was_renamed_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let host = dir.path().join("p/root");
    fs::create_dir_all(&host).unwrap();
    let roots = [Root { host: host.clone(), agent: "/w".into() }];
    let mut watch = Watch::start(&roots, &dir.path().join("private")).unwrap();
    fs::rename(dir.path().join("p"), dir.path().join("q")).unwrap();
    assert!(matches!(watch.dirty(), Dirty::Everything(_)));
    fs::create_dir_all(&host).unwrap();
    assert!(matches!(watch.dirty(), Dirty::Everything(_)));
    assert!(matches!(watch.dirty(), Dirty::Places { .. }));
}

#[test]
fn links_are_not_followed() {
    let mut here = Here::new(|root| {
        symlink("../outside", root.join("l")).unwrap();
        symlink("/etc", root.join("etc")).unwrap();
    });
    fs::write(here.outside().join("f"), "1").unwrap();
    assert_eq!(here.looks(), (places(&[]), places(&[])));
    // A directory whose place a link takes.
    fs::create_dir(here.root().join("d")).unwrap();
    fs::write(here.root().join("d/f"), "1").unwrap();
    here.looks();
    fs::remove_dir_all(here.root().join("d")).unwrap();
    symlink("../outside", here.root().join("d")).unwrap();
    here.looks();
    fs::write(here.outside().join("g"), "1").unwrap();
    assert_eq!(here.looks(), (places(&[]), places(&[])));
    // A root must be the directory itself.
    let link = here.dir.path().join("link");
    symlink(here.root(), &link).unwrap();
    let roots = [Root { host: link, agent: "/w".into() }];
    assert!(Watch::start(&roots, &here.dir.path().join("private")).is_err());
}

#[test]
fn names_that_are_no_text_are_places() {
    let name = OsStr::from_bytes(b"\xff\x01\n");
    let mut here = Here::new(|root| fs::create_dir(root.join(name)).unwrap());
    fs::write(here.root().join(name).join(name), "1").unwrap();
    let place = |path: &[u8]| (0, path.to_vec());
    let expected = [place(b"\xff\x01\n"), place(b"\xff\x01\n/\xff\x01\n")];
    assert_eq!(here.looks().0, BTreeSet::from(expected));
}

#[test]
fn other_names_of_a_file_are_looked_at() {
    let mut here = Here::new(|root| {
        for name in ["d", "e"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("d/a"), "1").unwrap();
    });
    fs::hard_link(here.root().join("d/a"), here.root().join("e/b")).unwrap();
    here.look();
    append(&here.root().join("d/a"), "2");
    here.look();
    fs::remove_file(here.root().join("d/a")).unwrap();
    here.look();
    // A name outside: its writes are seen as long as there are two.
    fs::hard_link(here.root().join("e/b"), here.outside().join("c")).unwrap();
    append(&here.root().join("e/b"), "3");
    here.look();
    append(&here.outside().join("c"), "4");
    here.look();
}

#[test]
fn a_name_that_came_and_went_may_have_been_another_file() {
    let mut here = Here::new(|root| {
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("a"), "1").unwrap();
    });
    let through = |here: &Here, name: &str, remove: &dyn Fn(&Path)| {
        let other = here.root().join(name);
        fs::create_dir_all(other.parent().unwrap()).unwrap();
        fs::hard_link(here.root().join("a"), &other).unwrap();
        append(&other, "2");
        remove(&other);
    };
    let delete = |path: &Path| fs::remove_file(path).unwrap();
    let outside = here.outside();
    through(&here, "b", &delete);
    here.everything();
    through(&here, "b", &|path| {
        fs::rename(path, path.with_file_name("c")).unwrap();
        delete(&path.with_file_name("c"));
    });
    here.everything();
    through(&here, "b", &|path| {
        fs::write(path.with_file_name("c"), "").unwrap();
        fs::rename(path.with_file_name("c"), path).unwrap();
    });
    here.everything();
    through(&here, "c", &|path| {
        fs::rename(path, outside.join("c")).unwrap();
        delete(&outside.join("c"));
    });
    here.everything();
    // Where nothing is watched yet, or no longer.
    through(&here, "new/b", &delete);
    assert_eq!(here.looks().1, places(&["new"]));
    fs::rename(here.root().join("d"), here.root().join("e")).unwrap();
    through(&here, "e/b", &delete);
    here.look();
    here.looks();
}

#[test]
fn a_write_through_a_name_that_is_gone_makes_everything_dirty() {
    let mut here = Here::new(|root| fs::write(root.join("a"), "1").unwrap());
    let mut open = OpenOptions::new().append(true).open(here.root().join("a")).unwrap();
    fs::hard_link(here.root().join("a"), here.root().join("b")).unwrap();
    fs::remove_file(here.root().join("a")).unwrap();
    open.write_all(b"2").unwrap();
    here.everything();
    open.write_all(b"3").unwrap();
    here.everything();
    drop(open);
    here.everything();
    here.looks();
    // A file that got its name after it was opened.
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o600);
    let mut unnamed = fs::File::from(openat(CWD, here.root(), flags, mode).unwrap());
    let itself = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&unnamed));
    let follow = rustix::fs::AtFlags::SYMLINK_FOLLOW;
    rustix::fs::linkat(CWD, itself, CWD, here.root().join("c"), follow).unwrap();
    here.look();
    unnamed.write_all(b"1").unwrap();
    here.everything();
}

#[test]
fn a_temporary_file_makes_not_everything_dirty() {
    let mut here = Here::new(|root| fs::write(root.join("a"), "1").unwrap());
    let temporary = here.root().join("a.tmp");
    for text in ["2", "3"] {
        fs::write(&temporary, text).unwrap();
        fs::rename(&temporary, here.root().join("a")).unwrap();
        assert_eq!(here.looks(), (places(&["", "a", "a.tmp"]), places(&[])));
    }
    fs::write(&temporary, "4").unwrap();
    here.looks();
    append(&temporary, "5");
    fs::remove_file(&temporary).unwrap();
    here.looks();
}

#[test]
fn a_missing_directory_for_barriers_makes_everything_dirty_once() {
    let mut here = Here::new(|root| fs::write(root.join("a"), "1").unwrap());
    fs::remove_dir_all(here.dir.path().join("private")).unwrap();
    here.everything();
    append(&here.root().join("a"), "2");
    assert_eq!(here.looks(), (places(&["a"]), places(&[])));
}

#[test]
fn the_directory_for_barriers_lies_outside() {
    let here = Here::new(|_| {});
    let error = Watch::start(&here.roots, &here.root().join("air")).unwrap_err();
    assert!(error.to_string().contains("outside"), "{error}");
}

#[test]
fn file_systems_that_do_not_report_all_changes_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let roots = [Root { host: "/proc/self/task".into(), agent: "/w".into() }];
    let error = Watch::start(&roots, dir.path()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported, "{error}");
}

#[test]
fn roots_may_overlap() {
    let mut here = Here::new(|root| fs::create_dir(root.join("d")).unwrap());
    here.roots.push(Root { host: here.root().join("d"), agent: "/d".into() });
    here.watch = Watch::start(&here.roots, &here.dir.path().join("private")).unwrap();
    here.tree = scanner(&here.roots, &Tree::default()).scan();
    fs::write(here.root().join("d/a"), "1").unwrap();
    let expected = [(0, "d"), (0, "d/a"), (1, ""), (1, "a")];
    let expected = expected.map(|(root, path)| (root, path.as_bytes().to_vec()));
    assert_eq!(here.looks().0, BTreeSet::from(expected));
}

#[test]
fn permissions_and_attributes_are_changes() {
    let mut here = Here::new(|root| {
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/a"), "1").unwrap();
    });
    for mode in [0o700, 0o755] {
        for path in ["d", "d/a", ""] {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(here.root().join(path), permissions).unwrap();
            assert_eq!(here.looks(), (places(&[path]), places(&[])));
        }
    }
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(here.root().join("d/a"), "user.a", b"1", flags).is_ok() {
        assert_eq!(here.looks(), (places(&["d/a"]), places(&[])));
    }
}

#[test]
fn a_directory_that_cannot_be_read_for_a_while_is_watched_again() {
    if rustix::process::geteuid().is_root() {
        return eprintln!("skipped: root reads everything");
    }
    let mut here = Here::new(|root| {
        fs::create_dir_all(root.join("d/e")).unwrap();
        fs::write(root.join("d/e/a"), "1").unwrap();
    });
    for mode in [0o000, 0o700, 0o000, 0o700] {
        fs::set_permissions(here.root().join("d"), fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(here.looks().1, places(&["d"]));
    }
    append(&here.root().join("d/e/a"), "2");
    assert_eq!(here.looks(), (places(&["d/e/a"]), places(&[])));
}

#[test]
fn a_directory_renamed_back_and_forth_stays_watched() {
    let mut here = Here::new(|root| fs::create_dir(root.join("a")).unwrap());
    for n in 0..100_u32 {
        fs::rename(here.root().join("a"), here.root().join("b")).unwrap();
        fs::rename(here.root().join("b"), here.root().join("a")).unwrap();
        if n % 30 == 0 {
            assert_eq!(here.looks(), (places(&[""]), places(&["a", "b"])));
            fs::write(here.root().join("a/f"), n.to_string()).unwrap();
            assert!(here.looks().0.contains(&(0, b"a/f".to_vec())));
        }
    }
}

/// The tests of limits run this in a user namespace with few watches.
#[test]
fn child() {
    if std::env::var_os("AIR_TEST_CHILD").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (host, private) = (dir.path().join("root"), dir.path().join("private"));
    fs::create_dir_all(host.join("1/2")).unwrap();
    let roots = [Root { host: host.clone(), agent: "/w".into() }];
    let mut watch = Watch::start(&roots, &private).unwrap();
    fs::create_dir_all(host.join("a/b/c/d/e/f/g/h")).unwrap();
    for _ in 0..2 {
        let Dirty::Everything(why) = watch.dirty() else { panic!("not everything") };
        assert!(why.contains("max_user_watches"), "{why}");
    }
    let error = Watch::start(&roots, &private).unwrap_err();
    assert!(error.to_string().contains("max_user_watches"));
    fs::remove_dir_all(host.join("a")).unwrap();
    assert!(matches!(watch.dirty(), Dirty::Everything(_)));
    assert!(matches!(watch.dirty(), Dirty::Places { .. }));
}

#[test]
fn a_lack_of_watches_says_what_to_raise_and_ends_with_the_lack() {
    let limit = "echo 8 > /proc/sys/user/max_inotify_watches || exit 77; exec \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-Ur", "sh", "-c", limit]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "watch::child"]).env("AIR_TEST_CHILD", "1");
    let output = command.output();
    let Some(output) = output.ok().filter(|output| matches!(output.status.code(), Some(0 | 101)))
    else {
        return eprintln!("skipped: no user namespaces");
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn writes_through_an_overlay_are_seen_in_its_upper_directory() {
    let mut here = Here::new(|root| fs::write(root.join("f"), "1").unwrap());
    let dir = here.dir.path();
    for name in ["lower/d", "work", "merged"] {
        fs::create_dir_all(dir.join(name)).unwrap();
    }
    fs::write(dir.join("lower/d/g"), "1").unwrap();
    let script = "mount -t overlay overlay -o lowerdir=lower,upperdir=root,workdir=work merged \
                  || exit 77; cd merged; echo 2 >> f; echo 2 >> d/g; mkdir e; echo 1 > e/h; rm f";
    let mut command = Command::new("unshare");
    command.args(["-Um", "--map-root-user", "sh", "-c", script]).current_dir(dir);
    if command.output().ok().and_then(|output| output.status.code()) != Some(0) {
        return eprintln!("skipped: no overlays in user namespaces");
    }
    let (alone, below) = here.looks();
    assert!(alone.contains(&(0, b"f".to_vec())), "{alone:?} {below:?}");
    assert!(below.contains(&(0, b"e".to_vec())), "{alone:?} {below:?}");
}
