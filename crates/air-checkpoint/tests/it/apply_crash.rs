//! `kill -9` before every system change, then [`Applier::recover`]. The child is this test binary,
//! run again for one test.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::unix::{fs::symlink, process::ExitStatusExt},
    path::Path,
    process::Command,
};

use air_checkpoint::{
    Tree,
    apply::{Applied, Change, Fate, changes},
};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

use crate::apply_world::{World, fate, quick, refusal};

const TIME: std::time::SystemTime = std::time::SystemTime::UNIX_EPOCH;

fn set(world: &World, name: &str, text: impl AsRef<[u8]>, seconds: u64) {
    world.write(name, text);
    let time = TIME + std::time::Duration::from_secs(seconds);
    fs::File::options().write(true).open(world.path(name)).unwrap().set_modified(time).unwrap();
}

fn link(world: &World, target: &str, seconds: i64) {
    symlink(target, world.path("link")).unwrap();
    let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, world.path("link"), &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

fn lines(first: &str, last: &str) -> String {
    format!("{first}\n2\n3\n4\n5\n6\n7\n{last}\n")
}

/// One of everything, as it shall be, as it is expected, and what a person did since.
fn prepare(world: &World) -> (Tree, Tree) {
    set(world, "changed", "old", 1);
    set(world, "mode", "mode", 2);
    set(world, "removed", "removed", 3);
    set(world, "merged", lines("1", "8"), 4);
    set(world, "conflict", "1\n", 5);
    set(world, "one", "named twice", 6);
    fs::hard_link(world.path("one"), world.path("two")).unwrap();
    set(world, "db", "old database", 7);
    set(world, "db-wal", "old log", 8);
    fs::create_dir(world.path("was directory")).unwrap();
    set(world, "was directory/file", "in it", 9);
    set(world, "was file", "file", 10);
    link(world, "old", 23);
    fs::create_dir(world.path("kept directory")).unwrap();
    world.mode("kept directory", 0o750);
    // So many that they are written ahead.
    for number in 0..4 {
        set(world, &format!("many {number}"), number.to_string(), 25);
    }
    let before = world.scan();

    for number in 0..4 {
        fs::remove_file(world.path(&format!("many {number}"))).unwrap();
    }
    set(world, "changed", "new", 11);
    world.mode("mode", 0o777);
    fs::remove_file(world.path("removed")).unwrap();
    set(world, "merged", lines("agent", "8"), 12);
    set(world, "conflict", "agent\n", 13);
    fs::remove_file(world.path("two")).unwrap();
    set(world, "two", "alone", 14);
    set(world, "db", "new database", 15);
    set(world, "db-wal", "new log", 16);
    set(world, "db-shm", 3_007_000_u32.to_ne_bytes(), 17);
    fs::remove_dir_all(world.path("was directory")).unwrap();
    set(world, "was directory", "now a file", 18);
    fs::remove_file(world.path("was file")).unwrap();
    fs::create_dir(world.path("was file")).unwrap();
    set(world, "was file/new", "new", 19);
    fs::remove_file(world.path("link")).unwrap();
    link(world, "new", 24);
    world.mode("kept directory", 0o700);
    set(world, "kept directory/made", "made", 20);
    let after = world.scan();

    set(world, "merged", lines("agent", "person"), 21);
    set(world, "conflict", "person\n", 22);
    (before, after)
}

fn store(path: &Path, changes: &[Change]) {
    fs::write(path.join("changes"), postcard::to_stdvec(changes).unwrap()).unwrap();
}

fn load(path: &Path) -> Vec<Change> {
    postcard::from_bytes(&fs::read(path.join("changes")).unwrap()).unwrap()
}

#[test]
fn child() {
    let Some(path) = std::env::var_os("AIR_TEST_CHILD") else { return };
    let path = Path::new(&path);
    let world = World::at(path);
    if std::env::var_os("AIR_TEST_RECOVERS").is_some() {
        world.applier().recover().unwrap();
    } else {
        world.apply(&load(path));
    }
}

/// Whether the child came to its end.
fn run(path: &Path, point: &str, recovers: bool) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "apply_crash::child"]).env("AIR_TEST_CHILD", path);
    command.env("AIR_FAILPOINT", format!("apply:{point}"));
    if recovers {
        command.env("AIR_TEST_RECOVERS", "1");
    }
    let output = command.output().unwrap();
    let ended = output.status.success();
    assert!(ended || output.status.signal() == Some(9), "{output:?}");
    ended
}

/// Times of what is merged are those of the merge.
fn picture(world: &World) -> BTreeMap<String, String> {
    let mut picture = world.picture();
    let merged = picture.get_mut("merged").unwrap();
    *merged = merged.split("Some(").take(2).collect();
    picture
}

fn outcome(applied: &Applied) -> Vec<(Vec<u8>, Fate)> {
    applied.fates.iter().map(|((_, path), fate)| (path.clone(), fate.clone())).collect()
}

fn assert_same(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>, point: &str) {
    let names = one.keys().chain(other.keys());
    let different: Vec<_> = names
        .filter(|name| one.get(*name) != other.get(*name))
        .map(|name| (name, one.get(name), other.get(name)))
        .collect();
    assert!(different.is_empty(), "{point}: {different:#?}");
}

/// A picture, and the fates.
type Expected = (BTreeMap<String, String>, Vec<(Vec<u8>, Fate)>);

fn check(world: &World, expected: &Expected, point: &str) {
    assert_same(&picture(world), &expected.0, point);
    assert_eq!(world.left(), Vec::<String>::new(), "{point}");
    let records = fs::read_dir(world.directory.join("records")).unwrap();
    let mut ids: Vec<_> =
        records.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    ids.sort();
    let applied = world.applier().record(&ids[0]).unwrap().unwrap();
    assert_eq!(ids.len(), 1, "{point}");
    assert_eq!(outcome(&applied), expected.1, "{point}");
    assert!(applied.late.is_empty(), "{point}: {applied:?}");
    let kept = fs::read_dir(world.directory.join("displaced").join(&ids[0])).unwrap();
    for file in kept {
        let name = file.unwrap().file_name().into_string().unwrap();
        let is_named = applied.displaced.iter().any(|(_, kept)| kept.ends_with(&name));
        assert!(is_named, "{point}: {name}: {applied:?}");
    }
}

fn crash_everywhere(mode: &str) {
    let first = quick();
    let world = World::at(first.path());
    let (before, after) = prepare(&world);
    let persons = picture(&world);
    let applied = world.apply(&changes(&after, &before));
    assert_eq!(fate(&applied, "merged"), &Fate::Merged);
    assert!(refusal(&applied, "conflict").contains("by hand"));
    assert_eq!(world.read("merged"), lines("1", "person"));
    assert!(!world.path("db-shm").exists());
    let others = |(path, fate): &(Vec<u8>, Fate)| {
        matches!(path.as_slice(), b"merged" | b"conflict" | b"one") || *fate == Fate::Done
    };
    let expected = (picture(&world), outcome(&applied));
    assert!(expected.1.iter().all(others), "{:?}", expected.1);
    let undone = world.apply(&applied.inverse);
    assert!(undone.fates.iter().all(|(_, fate)| !matches!(fate, Fate::Refused(_))), "{undone:?}");
    let mut redone = picture(&world);
    // It is not put back.
    redone.insert("db-shm".to_owned(), persons["db-shm"].clone());
    assert_eq!(redone, persons);

    let mut ended = false;
    let mut point = 0;
    while !ended {
        point += 1;
        let dir = quick();
        let world = World::at(dir.path());
        let (before, after) = prepare(&world);
        store(dir.path(), &changes(&after, &before));
        ended = run(dir.path(), &format!("{point}{mode}"), false);
        // Recovery dies as well, somewhere else each time.
        if point % 3 == 0 {
            run(dir.path(), &format!("{}{mode}", point % 17), true);
        }
        let recovered = world.applier().recover().unwrap();
        if recovered.is_empty() && !world.directory.join("records").exists()
            || fs::read_dir(world.directory.join("records")).unwrap().next().is_none()
        {
            assert_same(&picture(&world), &persons, &format!("nothing was intended yet: {point}"));
            continue;
        }
        check(&world, &expected, &format!("{point}{mode}"));
    }
    assert!(point > 50, "{point}");
}

/// A person edits after the crash: what they wrote is there, or where the report says.
#[test]
fn what_is_edited_after_a_crash_is_kept() {
    let mut point = 0;
    let mut ended = false;
    while !ended {
        point += 1;
        let dir = quick();
        let world = World::at(dir.path());
        let (before, after) = prepare(&world);
        store(dir.path(), &changes(&after, &before));
        let mode = if point % 2 == 0 { "" } else { ":no-exchange" };
        ended = run(dir.path(), &format!("{point}{mode}"), false);
        let names =
            ["changed", "mode", "merged", "one", "db", "was directory", "kept directory/made"];
        let mut edited = Vec::new();
        for (number, name) in names.iter().enumerate() {
            let mark = format!("edit {number}");
            let file = fs::OpenOptions::new().append(true).open(world.path(name));
            if file.and_then(|mut file| writeln!(file, "{mark}")).is_ok() {
                edited.push((name, mark));
            }
        }
        let recovered = world.applier().recover().unwrap();
        let late = recovered.iter().flat_map(|applied| &applied.late);
        let late: Vec<_> = late.map(|late| world.directory.join(&late.kept)).collect();
        for (name, mark) in edited {
            let mut places = late.iter().cloned().chain([world.path(name)]);
            let has_mark = |path| fs::read_to_string(path).is_ok_and(|text| text.contains(&mark));
            assert!(places.any(has_mark), "{point}{mode}: {name}: {recovered:?}");
        }
        assert_eq!(world.left(), Vec::<String>::new(), "{point}{mode}");
    }
}

#[test]
fn a_crash_anywhere_is_gone_on_with() {
    crash_everywhere("");
}

#[test]
fn a_crash_anywhere_is_gone_on_with_where_names_cannot_be_exchanged() {
    crash_everywhere(":no-exchange");
}
