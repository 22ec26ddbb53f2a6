//! Somebody edits while changes are applied. Whatever an editor was told to be written is in the
//! file, or in a copy that the report names.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Seek, Write},
    path::Path,
    sync::Barrier,
    thread,
};

use air_checkpoint::apply::{self, Applied, Fate, changes};

use crate::apply_world::{World, fate, quick, refusal};

const RUNS: u64 = 500;

#[derive(Debug, Clone, Copy)]
enum Style {
    InPlace,
    Rename,
    Append,
    Held,
}

fn lines(first: &str) -> String {
    format!("{first}\n2\n3\n4\n5\n6\n7\n")
}

/// Spends a while that differs from run to run.
fn linger(run: u64) {
    let rounds = run.wrapping_mul(6_364_136_223_846_793_005) >> 33;
    for round in 0..rounds % 200_000 {
        std::hint::black_box(round);
    }
}

fn edit(style: Style, path: &Path, mark: &str, held: Option<File>) {
    match style {
        Style::InPlace => {
            let text = fs::read_to_string(path).unwrap_or_default();
            fs::write(path, format!("{text}{mark}\n")).unwrap();
        }
        Style::Rename => {
            let text = fs::read_to_string(path).unwrap_or_default();
            let new = path.with_extension("new");
            fs::write(&new, format!("{text}{mark}\n")).unwrap();
            fs::rename(&new, path).unwrap();
        }
        Style::Append => {
            let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
            writeln!(file, "{mark}").unwrap();
        }
        Style::Held => {
            let mut file = held.unwrap();
            file.seek(std::io::SeekFrom::End(0)).unwrap();
            writeln!(file, "{mark}").unwrap();
        }
    }
}

fn is_kept(world: &World, applied: &Applied, mark: &str) -> bool {
    let late = applied.late.iter().map(|late| world.directory.join(&late.kept));
    let paths = late.chain([world.path("f")]);
    paths.into_iter().any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(mark)))
}

#[test]
fn no_edit_is_lost_while_changes_are_applied() {
    race();
}

#[test]
fn no_edit_is_lost_where_names_cannot_be_exchanged() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "apply_races::no_edit_is_lost_while_changes_are_applied"]);
    let output = child.env("AIR_FAILPOINT", "apply:0:no-exchange").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}

fn race() {
    let world = World::within(quick());
    let path = world.path("f");
    let mut ends = [0_u32; 3];
    for run in 0..RUNS {
        let style = [Style::InPlace, Style::Rename, Style::Append, Style::Held][(run % 4) as usize];
        let removes = run % 5 == 0;
        let _ = fs::remove_file(&path);
        if !removes {
            world.write("f", lines("1"));
        }
        let before = world.scan();
        world.write("f", lines("agent"));
        let after = world.scan();
        let undo = changes(&after, &before);
        let mark = format!("edit {run}");
        let held = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let held = matches!(style, Style::Held).then_some(held);
        let start = Barrier::new(2);
        let applied = thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                linger(run);
                edit(style, &path, &mark, held);
            });
            start.wait();
            world.apply(&undo)
        });
        let end = match fate(&applied, "f") {
            Fate::Refused(_) => 0,
            Fate::Merged => 1,
            Fate::Done | Fate::Already => 2,
        };
        ends[end] += 1;
        assert!(is_kept(&world, &applied, &mark), "{run} {style:?}: {applied:?}");
        assert!(applied.complete && world.left().is_empty(), "{run} {style:?}");
        world.applier().forget(&applied.id).unwrap();
    }
    assert!(ends[0] > 0 && ends[2] > 0, "no race took place: {ends:?}");
}

#[test]
fn a_file_that_is_open_for_writing_is_left_alone() {
    let world = World::new();
    world.write("a", "old");
    let before = world.scan();
    world.write("a", "new");
    world.write("made", "made");
    let after = world.scan();
    let writers =
        ["a", "made"].map(|name| OpenOptions::new().append(true).open(world.path(name)).unwrap());
    let changes = changes(&after, &before);
    let applied = world.apply(&changes);
    assert!(refusal(&applied, "a").contains("open for writing"));
    assert!(refusal(&applied, "made").contains("open for writing"));
    assert_eq!((world.read("a"), world.read("made")), ("new".to_owned(), "made".to_owned()));
    drop(writers);
    let applied = world.apply(&changes);
    assert!(applied.fates.iter().all(|(_, fate)| *fate == Fate::Done), "{applied:?}");
}

#[test]
fn a_late_write_through_an_old_descriptor_is_kept() {
    let world = World::new();
    world.write("a", "old");
    let before = world.scan();
    world.write("a", "new");
    let after = world.scan();
    let mut reader = File::open(world.path("a")).unwrap();
    let applied = world.apply(&changes(&after, &before));
    assert_eq!(world.read("a"), "old");
    let by_reader = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    fs::write(by_reader, "late").unwrap();
    let (_, kept) = &applied.displaced[0];
    assert_eq!(fs::read_to_string(world.directory.join(kept)).unwrap(), "late");
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "late");
}

#[test]
fn what_was_done_long_ago_is_forgotten_but_for_late_writes() {
    let world = World::new();
    for name in ["a", "b"] {
        world.write(name, "old");
    }
    let before = world.scan();
    let mut ids = Vec::new();
    let mut reader = None;
    for name in ["a", "b"] {
        world.write(name, "new");
        reader = Some(File::open(world.path(name)).unwrap());
        ids.push(world.apply(&changes(&world.scan(), &before)).id);
    }
    let ns = |id: &str| i64::from_str_radix(id.split('-').next().unwrap(), 16).unwrap();
    let records = || world.applier().records().unwrap();
    apply::forget_before(&world.directory, ns(&ids[0])).unwrap();
    assert_eq!(records(), ids);
    assert!(apply::displaced_bytes(&world.directory).unwrap() > 0);
    apply::forget_before(&world.directory, ns(&ids[1])).unwrap();
    assert_eq!(records(), [&*ids[1]]);
    assert!(!world.directory.join("displaced").join(&ids[0]).exists());
    assert!(apply::displaced_bytes(&world.directory).unwrap() > 0);
    let reader = reader.unwrap();
    let by_reader = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    fs::write(&by_reader, "late").unwrap();
    apply::forget_before(&world.directory, i64::MAX).unwrap();
    assert_eq!(records(), [&*ids[1]], "somebody's change is nowhere else");
    fs::write(&by_reader, "new").unwrap();
    apply::forget_before(&world.directory, i64::MAX).unwrap();
    assert!(records().is_empty());
    assert_eq!(apply::displaced_bytes(&world.directory).unwrap(), 0);
}
