//! What is special about some files.

use std::{
    fs::{self, File},
    os::unix::{
        fs::{FileExt, MetadataExt, symlink},
        net::UnixListener,
    },
};

use air_checkpoint::{
    Kind,
    apply::{Applier, Fate, changes},
};
use rustix::{
    fs::{CWD, FileType, IFlags, Mode, ioctl_getflags, ioctl_setflags, mknodat},
    process::geteuid,
};

use crate::apply_world::{World, fate, ran_as_nobody, refusal};

#[test]
fn pipes_links_and_whiteouts_come_back_and_sockets_only_go() {
    let world = World::new();
    symlink("to", world.path("link")).unwrap();
    mknodat(CWD, world.path("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    mknodat(CWD, world.path("whiteout"), FileType::CharacterDevice, Mode::RUSR, 0).unwrap();
    let old = UnixListener::bind(world.path("old socket")).unwrap();
    let before = world.scan();
    let picture = world.picture();
    for name in ["link", "pipe", "whiteout", "old socket"] {
        fs::remove_file(world.path(name)).unwrap();
    }
    drop(old);
    let _new = UnixListener::bind(world.path("new socket")).unwrap();
    let after = world.scan();
    let applied = world.apply(&changes(&after, &before));
    assert!(refusal(&applied, "old socket").contains("socket"));
    assert_eq!(fate(&applied, "new socket"), &Fate::Done);
    let now = world.picture();
    assert_eq!(now.get("pipe"), picture.get("pipe"));
    assert_eq!(now.get("link"), picture.get("link"));
    assert_eq!(now.get("whiteout"), picture.get("whiteout"));
    assert!(!now.contains_key("new socket"));
}

#[test]
fn a_directory_with_foreign_files_stays() {
    let world = World::new();
    fs::create_dir(world.path("was file")).unwrap();
    fs::remove_dir(world.path("was file")).unwrap();
    world.write("was file", "file");
    let before = world.scan();
    fs::remove_file(world.path("was file")).unwrap();
    for name in ["made", "was file"] {
        fs::create_dir(world.path(name)).unwrap();
        world.write(&format!("{name}/agent's"), "agent's");
    }
    let after = world.scan();
    world.write("made/person's", "person's");
    world.write("was file/person's", "person's");
    let changes = changes(&after, &before);
    let applied = world.apply(&changes);
    assert_eq!(refusal(&applied, "made"), "it still holds `person's`");
    assert_eq!(refusal(&applied, "was file"), "it still holds `person's`");
    assert_eq!(world.read("made/person's"), "person's");
    assert_eq!(world.read("was file/person's"), "person's");
    assert_eq!(fate(&applied, "made/agent's"), &Fate::Done);
    assert_eq!(world.left(), Vec::<String>::new());
}

#[test]
fn a_root_that_has_gone_is_made_again() {
    let world = World::new();
    fs::create_dir(world.path("d")).unwrap();
    world.write("d/a", "text");
    let before = world.scan();
    let picture = world.picture();
    fs::remove_dir_all(&world.root).unwrap();
    let after = world.scan();
    let applied = world.apply(&changes(&after, &before));
    assert!(applied.fates.iter().all(|(_, fate)| *fate == Fate::Done), "{applied:?}");
    assert_eq!(world.picture(), picture);
}

#[test]
fn flags_are_not_cleared_in_silence() {
    if !geteuid().is_root() {
        return;
    }
    let world = World::new();
    world.write("a", "old");
    world.write("log", "old");
    let before = world.scan();
    world.write("a", "new");
    world.write("log", "new");
    let after = world.scan();
    let files = [("a", IFlags::IMMUTABLE), ("log", IFlags::APPEND)];
    let files = files.map(|(name, flag)| (File::open(world.path(name)).unwrap(), flag));
    let set = |is_set: bool| {
        files.iter().all(|(file, flag)| {
            let flags = ioctl_getflags(file).unwrap_or(IFlags::empty());
            let flags = if is_set { flags | *flag } else { flags - *flag };
            ioctl_setflags(file, flags).is_ok()
        })
    };
    if !set(true) {
        return;
    }
    let applied = world.apply(&changes(&after, &before));
    assert!(set(false));
    assert!(refusal(&applied, "a").contains("chattr -i"), "{applied:?}");
    assert!(refusal(&applied, "log").contains("chattr -a"), "{applied:?}");
    assert_eq!(world.read("a"), "new");
}

#[test]
fn owners_and_special_modes_come_back() {
    if !geteuid().is_root() {
        return;
    }
    let world = World::new();
    world.write("a", "old");
    std::os::unix::fs::chown(world.path("a"), Some(12), Some(34)).unwrap();
    world.mode("a", 0o6755);
    let before = world.scan();
    fs::remove_file(world.path("a")).unwrap();
    world.write("a", "new");
    let after = world.scan();
    let applied = world.apply(&changes(&after, &before));
    assert_eq!(fate(&applied, "a"), &Fate::Done);
    let now = fs::metadata(world.path("a")).unwrap();
    assert_eq!((now.uid(), now.gid(), now.mode() & 0o7777), (12, 34, 0o6755));
}

#[test]
fn holes_stay_holes() {
    let mut world = World::new();
    world.retained = 64 << 20;
    let file = File::create(world.path("a")).unwrap();
    file.write_at(b"begin", 0).unwrap();
    file.write_at(b"end", 16 << 20).unwrap();
    drop(file);
    let before = world.scan();
    fs::remove_file(world.path("a")).unwrap();
    let after = world.scan();
    world.apply(&changes(&after, &before));
    let now = fs::metadata(world.path("a")).unwrap();
    assert_eq!(now.len(), (16 << 20) + 3);
    assert!(now.blocks() * 512 < 1 << 20, "{}", now.blocks());
    assert!(
        world.scan().entries[&(0, b"a".to_vec())].is_same(&before.entries[&(0, b"a".to_vec())])
    );
}

#[test]
fn what_was_not_kept_is_refused_and_what_is_large_is_kept_as_it_is() {
    let mut world = World::new();
    world.retained = 10;
    world.write("lost", "more than ten bytes");
    world.write("mode", "more than ten bytes");
    let before = world.scan();
    world.write("lost", "other ten bytes and more");
    world.mode("mode", 0o600);
    world.write("made", "made of more than ten bytes");
    let after = world.scan();
    let applied = world.apply(&changes(&after, &before));
    assert_eq!(refusal(&applied, "lost"), "its content was not kept");
    assert_eq!(fate(&applied, "mode"), &Fate::Done);
    assert_eq!(fate(&applied, "made"), &Fate::Done);
    assert!(!world.path("made").exists());
    let (_, kept) = &applied.displaced[0];
    let text = fs::read_to_string(world.directory.join(kept)).unwrap();
    assert_eq!(text, "made of more than ten bytes");
    world.write("lost", "touched since, and of another length");
    let applied = world.apply(&changes(&after, &before));
    assert!(refusal(&applied, "lost").contains("changed since"), "{applied:?}");
}

#[test]
fn names_outside_of_the_changes_are_found_by_the_lookup() {
    let world = World::new();
    world.write("a", "text");
    fs::hard_link(world.path("a"), world.path("b")).unwrap();
    let before = world.scan();
    fs::remove_file(world.path("b")).unwrap();
    let after = world.scan();
    let mut changes = changes(&after, &before);
    changes.retain(|change| change.place.1 == b"b");
    let siblings = |_: &_| vec![(0, b"a".to_vec())];
    let applier = Applier { siblings: Some(&siblings), ..world.applier() };
    assert_eq!(applier.apply(&changes).unwrap().fates[0].1, Fate::Done);
    let inode = |name| fs::metadata(world.path(name)).unwrap().ino();
    assert_eq!(inode("a"), inode("b"));
}

#[test]
fn a_name_is_not_given_to_what_was_refused() {
    let world = World::new();
    world.write("a", "text");
    fs::hard_link(world.path("a"), world.path("b")).unwrap();
    let before = world.scan();
    fs::remove_file(world.path("a")).unwrap();
    world.write("a", "agent's");
    fs::remove_file(world.path("b")).unwrap();
    let after = world.scan();
    let writer = File::options().append(true).open(world.path("a")).unwrap();
    let applied = world.apply(&changes(&after, &before));
    drop(writer);
    assert!(refusal(&applied, "a").contains("open for writing"));
    assert_eq!((world.read("a"), world.read("b")), ("agent's".to_owned(), "text".to_owned()));
    let applied = world.apply(&changes(&world.scan(), &before));
    assert!(applied.fates.iter().all(|(_, fate)| !matches!(fate, Fate::Refused(_))), "{applied:?}");
    let inode = |name| fs::metadata(world.path(name)).unwrap().ino();
    assert_eq!((world.read("a"), inode("a")), ("text".to_owned(), inode("b")));
}

#[test]
fn a_link_in_the_place_of_a_directory_is_not_followed() {
    let world = World::new();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(world.path("d")).unwrap();
    world.write("d/a", "old");
    let before = world.scan();
    world.write("d/a", "new");
    let after = world.scan();
    fs::write(outside.path().join("a"), "new").unwrap();
    fs::rename(world.path("d"), world.path("moved")).unwrap();
    symlink(outside.path(), world.path("d")).unwrap();
    let applied = world.apply(&changes(&after, &before));
    assert!(matches!(fate(&applied, "d/a"), Fate::Refused(_)), "{applied:?}");
    assert_eq!(fs::read_to_string(outside.path().join("a")).unwrap(), "new");
}

#[test]
fn closed_directories_are_opened_up_and_closed_again() {
    if ran_as_nobody("apply_kinds::closed_directories_are_opened_up_and_closed_again") {
        return;
    }
    let world = World::new();
    fs::create_dir_all(world.path("kept/closed")).unwrap();
    world.write("kept/closed/a", "old");
    fs::create_dir(world.path("changed")).unwrap();
    world.write("changed/a", "old");
    world.mode("kept/closed", 0o500);
    let before = world.scan();
    let picture = world.picture();
    world.mode("kept/closed", 0o700);
    world.write("kept/closed/a", "new");
    world.write("changed/a", "new");
    fs::create_dir(world.path("made")).unwrap();
    world.write("made/a", "new");
    world.mode("kept/closed", 0o500);
    let after = world.scan();
    let changes = changes(&after, &before);
    world.mode("changed", 0);
    world.mode("made", 0);
    assert!(world.plan(&changes).iter().all(|plan| plan.fate == Fate::Done));
    let applied = world.apply(&changes);
    world.mode("changed", 0o755);
    assert!(applied.fates.iter().all(|(_, fate)| *fate == Fate::Done), "{applied:?}");
    let was_closed = applied.inverse.iter().find(|change| change.place.1 == b"made").unwrap();
    assert_eq!(was_closed.to.as_ref().map(|made| made.mode), Some(0));
    assert_eq!(world.picture(), picture);
}

#[test]
fn owners_that_cannot_be_given_are_refused() {
    if ran_as_nobody("apply_kinds::owners_that_cannot_be_given_are_refused") {
        return;
    }
    let world = World::new();
    world.write("a", "old");
    let mut before = world.scan();
    before.entries.values_mut().filter(|entry| entry.kind == Kind::File).for_each(|a| a.uid = 0);
    fs::remove_file(world.path("a")).unwrap();
    let applied = world.apply(&changes(&world.scan(), &before));
    assert!(refusal(&applied, "a").contains("as root"));
}

#[test]
fn what_cannot_be_read_is_replaced_and_kept() {
    if ran_as_nobody("apply_kinds::what_cannot_be_read_is_replaced_and_kept") {
        return;
    }
    let (apart, _root) = World::apart();
    for world in [World::new(), apart] {
        world.write("a", "old");
        let before = world.scan();
        world.write("a", "new");
        world.mode("a", 0);
        world.write("made", "made");
        world.mode("made", 0);
        let after = world.scan();
        let applied = world.apply(&changes(&after, &before));
        assert!(applied.fates.iter().all(|(_, fate)| *fate == Fate::Done), "{applied:?}");
        assert!(applied.complete && world.read("a") == "old");
        assert_eq!(applied.displaced.len(), 2);
        assert_eq!(world.left(), Vec::<String>::new());
    }
}

#[test]
fn what_could_not_be_seen_is_not_taken_to_be_missing() {
    if ran_as_nobody("apply_kinds::what_could_not_be_seen_is_not_taken_to_be_missing") {
        return;
    }
    let world = World::new();
    fs::create_dir(world.path("d")).unwrap();
    world.write("d/a", "text");
    world.mode("d", 0);
    let before = world.scan();
    world.mode("d", 0o755);
    let changes = changes(&world.scan(), &before);
    let places: Vec<_> = changes.iter().map(|change| change.place.1.as_slice()).collect();
    assert_eq!(places, [b"d"]);
    world.apply(&changes);
    world.mode("d", 0o700);
    assert_eq!(world.read("d/a"), "text");
}
