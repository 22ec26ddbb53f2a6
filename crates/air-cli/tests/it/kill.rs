//! `kill -9` in the middle of a checkpoint, a rollback, a publication and an undo: the next command
//! brings it to its end. The failpoints are there in debug builds only.
#![cfg(debug_assertions)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use crate::{
    airctl,
    story::{run, said, tree},
    undo::{project, script},
};

const RULES: &str = "rules/starter.air";
/// Creates, modifies, deletes, links, renames, changes a mode.
const WORK: [&str; 2] = [
    "mkdir -p out/in; echo made > out/in/made; ln -sf in/made out/link; echo 'print(2)' > src/main.py",
    "chmod 700 src; sed -i 's/line 2/LINE 2/' notes.md; echo two > two; ln two three; rm -f two; \
     mv -f three four",
];
/// The last step puts a credential where it does not belong, and more.
const HARM: [&str; 2] = [
    "echo fine > fine",
    "cp .env env.txt; mkdir d; cp .env d/copy; echo x >> notes.md; rm -r src; chmod 600 old",
];

type Tree = Vec<(PathBuf, u32, Vec<u8>)>;

/// `airctl` in the project, which may be killed.
fn command(dir: &Path, args: &[&str], failpoint: Option<String>) -> Output {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(RULES);
    let mut command = airctl(dir);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(args).args(["--workspace", "ws"]);
    if args.first() == Some(&"resume") {
        command.arg("--rules").arg(rules);
    }
    command.envs(failpoint.map(|point| ("AIR_FAILPOINT", point))).output().expect("it runs")
}

fn session(dir: &Path, commands: &[&str], direct: bool, failpoint: Option<String>) -> Output {
    let mut command = run(dir, &script(dir, commands), RULES);
    if direct {
        command.arg("--direct");
    }
    command.envs(failpoint.map(|point| ("AIR_FAILPOINT", point))).output().expect("it runs")
}

fn secret(dir: &Path) {
    fs::write(dir.join("ws/.env"), "API_TOKEN=example-not-a-real-token\n").expect("a file");
}

/// Whether it was killed; otherwise it must have ended well.
#[track_caller]
fn killed(output: &Output, code: i32, point: &str) -> bool {
    let ended = output.status.code();
    assert!(ended.is_none() || ended == Some(code), "{point}: {}", said(output));
    ended.is_none()
}

#[track_caller]
fn same(found: &Tree, expected: &Tree, point: &str) {
    let only = |one: &Tree, other: &Tree| {
        let missing = one.iter().filter(|entry| !other.contains(entry));
        missing.map(|(path, mode, _)| format!("{} {mode:o}", path.display())).collect::<Vec<_>>()
    };
    let (more, less) = (only(found, expected), only(expected, found));
    assert!(more.is_empty() && less.is_empty(), "{point}: found {more:?}, not {less:?}");
}

#[track_caller]
fn fine(output: &Output, point: &str) {
    assert_eq!(output.status.code(), Some(0), "{point}: {}", said(output));
}

/// Kills at `first`, and then at every `stride`-th point, until it is not killed any more; how often
/// it was.
fn at_points(first: usize, stride: usize, mut kills: impl FnMut(&str, usize) -> bool) -> usize {
    let mut times = 0;
    let mut point = first;
    while kills(&format!("point {point}"), point) {
        times += 1;
        point += stride;
        assert!(times < 40, "it does not end");
    }
    times
}

fn rollback_killed(direct: bool, first: usize, stride: usize) {
    let times = at_points(first, stride, |point, number| {
        let dir = project();
        let (ws, dir) = (dir.path().join("ws"), dir.path());
        secret(dir);
        let start = tree(&ws);
        let output = session(dir, &HARM, direct, Some(format!("apply:{number}")));
        let killed = killed(&output, 1, point);
        fine(&command(dir, &["resume"], None), point);
        let fresh = |entry: &(PathBuf, u32, Vec<u8>)| entry.0 != Path::new("fine");
        let found = tree(&ws);
        let rest: Tree = found.iter().filter(|entry| fresh(entry)).cloned().collect();
        same(&rest, &start, point);
        assert_eq!(rest.len() + 1, found.len(), "{point}: what was fine stays");
        fine(&command(dir, &["undo"], None), point);
        same(&tree(&ws), &start, point);
        killed
    });
    assert!(times >= 3, "{times}");
}

#[test]
fn a_rollback_of_a_layer_is_finished() {
    rollback_killed(false, 1, 4);
}

#[test]
fn a_rollback_of_the_directory_is_finished() {
    rollback_killed(true, 2, 4);
}

#[test]
fn a_publication_is_finished() {
    let calm = project();
    fine(&session(calm.path(), &WORK, false, None), "undisturbed");
    let end = tree(&calm.path().join("ws"));
    let times = at_points(1, 3, |point, number| {
        let dir = project();
        let (ws, dir) = (dir.path().join("ws"), dir.path());
        let start = tree(&ws);
        let output = session(dir, &WORK, false, Some(format!("apply:{number}")));
        let killed = killed(&output, 0, point);
        // The user goes on meanwhile, elsewhere.
        fs::write(ws.join("users"), point).expect("a file");
        fine(&command(dir, &["resume"], None), point);
        assert_eq!(fs::read_to_string(ws.join("users")).expect("the user's"), point);
        fs::remove_file(ws.join("users")).expect("a file");
        same(&tree(&ws), &end, point);
        fine(&command(dir, &["undo"], None), point);
        same(&tree(&ws), &start, point);
        fine(&command(dir, &["undo", "--redo"], None), point);
        same(&tree(&ws), &end, point);
        killed
    });
    assert!(times >= 5, "{times}");
}

fn undo_killed(direct: bool) {
    let dir = project();
    let (ws, dir) = (dir.path().join("ws"), dir.path());
    let start = tree(&ws);
    fine(&session(dir, &WORK, direct, None), "undisturbed");
    let end = tree(&ws);
    for kind in ["apply:", "journal.append:"] {
        let mut left = [true, true];
        let mut times = 0;
        for number in 1.. {
            for (at, args) in [&["undo"][..], &["undo", "--redo"]].into_iter().enumerate() {
                let goal = if at == 0 { &start } else { &end };
                let point = format!("{args:?} {kind}{number}");
                let when = if kind == "apply:" { "" } else { ":before" };
                if left[at] {
                    let output = command(dir, args, Some(format!("{kind}{number}{when}")));
                    left[at] = killed(&output, 0, &point);
                    times += usize::from(left[at]);
                }
                if left[at] || tree(&ws) != *goal {
                    fine(&command(dir, args, None), &point);
                }
                same(&tree(&ws), goal, &point);
            }
            if left == [false, false] {
                break;
            }
        }
        assert!(times >= if kind == "apply:" { 30 } else { 2 }, "{kind}{times}");
    }
}

#[test]
fn an_undo_of_what_was_handed_over_is_finished() {
    undo_killed(false);
}

#[test]
fn an_undo_of_what_was_done_in_place_is_finished() {
    undo_killed(true);
}

#[test]
fn an_unfinished_checkpoint_of_a_layer_loses_nothing() {
    checkpoint_killed(false, 6);
}

#[test]
fn an_unfinished_checkpoint_of_the_directory_loses_nothing() {
    checkpoint_killed(true, 3);
}

fn checkpoint_killed(direct: bool, stride: usize) {
    let times = at_points(1, stride, |point, number| {
        let dir = project();
        let (ws, dir) = (dir.path().join("ws"), dir.path());
        let start = tree(&ws);
        fine(&session(dir, &["echo first > first"], direct, None), point);
        let output = session(dir, &WORK, direct, Some(format!("checkpoint:{number}")));
        let killed = killed(&output, 0, point);
        fine(&command(dir, &["resume"], None), point);
        fine(&session(dir, &WORK, direct, None), point);
        assert!(ws.join("four").exists() && ws.join("first").exists(), "{point}");
        // One after the other, the latest first; the oldest checkpoints are still there.
        for (at, id) in sessions_of(dir).iter().enumerate().rev() {
            let undone = command(dir, &["undo", "--session", id], None);
            // The one that was killed may not have come to its first step.
            if at != 1 || undone.status.code() != Some(2) {
                fine(&undone, point);
            }
        }
        same(&tree(&ws), &start, point);
        killed
    });
    assert!(times >= 3, "{times}");
}

/// The sessions of the project, oldest first.
fn sessions_of(dir: &Path) -> Vec<String> {
    let mut pending = vec![dir.join("home")];
    let mut found = Vec::new();
    while let Some(at) = pending.pop() {
        for item in fs::read_dir(&at).expect("a directory").map(|item| item.expect("an entry")) {
            if at.ends_with("sessions") {
                let made = item.metadata().expect("metadata").created().expect("a time");
                found.push((made, item.file_name().into_string().expect("a name")));
            } else if item.file_type().expect("a type").is_dir() {
                pending.push(item.path());
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}
