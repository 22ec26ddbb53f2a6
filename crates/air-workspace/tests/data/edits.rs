//! What the user's programs write meanwhile is never lost: it is in the file, or in a place that the
//! result names.

use std::{
    fs::{self, File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    sync::Barrier,
    thread,
};

use air_workspace::{Span, UndoRequest, UndoneAs};

use super::*;

#[derive(Debug, Clone, Copy)]
enum Style {
    InPlace,
    Rename,
    Append,
    Held,
}

const STYLES: [Style; 4] = [Style::InPlace, Style::Rename, Style::Append, Style::Held];
/// Edited by the agent, by the user, and by both at once.
const FILES: [&str; 4] = ["a.txt", "b.txt", "c.txt", "d.txt"];
const OTHER: &str = "other.txt";
/// What the agent does.
const STEP: &str = "sed -i '1s/.*/agent/' a.txt b.txt c.txt d.txt; echo made > made.txt";

fn lines(first: &str) -> String {
    format!("{first}\n2\n3\n4\n5\n6\n7\n")
}

fn edit(style: Style, path: &Path, mark: &str, held: Option<File>) {
    let text = || fs::read_to_string(path).unwrap_or_default();
    match style {
        Style::InPlace => fs::write(path, format!("{}{mark}\n", text())).unwrap(),
        Style::Rename => {
            let new = path.with_extension("new");
            fs::write(&new, format!("{}{mark}\n", text())).unwrap();
            fs::rename(&new, path).unwrap();
        }
        Style::Append => {
            let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
            writeln!(file, "{mark}").unwrap();
        }
        Style::Held => {
            let mut file = held.unwrap();
            file.seek(SeekFrom::End(0)).unwrap();
            writeln!(file, "{mark}").unwrap();
        }
    }
}

fn hold(style: Style, path: &Path) -> Option<File> {
    let open = || OpenOptions::new().read(true).write(true).open(path).unwrap();
    matches!(style, Style::Held).then(open)
}

/// Edits of the user at moments that are spread over the time that `act` takes.
struct Race {
    chance: Chance,
    takes: Duration,
    runs: u32,
    /// How many edits are in the file, and how many in a place that was named.
    ends: [u32; 2],
}

impl Race {
    fn new(seed: u64) -> Self {
        Self { chance: Chance(seed), takes: Duration::from_millis(20), runs: 0, ends: [0; 2] }
    }

    /// `act` says what it has to say of files.
    fn run(&mut self, workspace: &Path, act: impl FnOnce() -> Vec<String>) {
        let turn = self.runs as usize;
        let files = FILES.into_iter().chain([OTHER]).enumerate();
        let edits: Vec<_> = files
            .map(|(at, name)| {
                let style = STYLES[(at + turn) % STYLES.len()];
                let mark = format!("edit {} of {name} by {style:?}", self.runs);
                let share = f64::from(u32::try_from(self.chance.next() % 1000).unwrap()) / 900.0;
                let path = workspace.join(name);
                (style, mark, self.takes.mul_f64(share), hold(style, &path), path)
            })
            .collect();
        let marks: Vec<_> =
            edits.iter().map(|(_, mark, _, _, path)| (mark.clone(), path.clone())).collect();
        let start = Barrier::new(edits.len() + 1);
        let said = thread::scope(|scope| {
            for (style, mark, wait, held, path) in edits {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    thread::sleep(wait);
                    edit(style, &path, &mark, held);
                });
            }
            start.wait();
            let begun = Instant::now();
            let said = act();
            self.takes = begun.elapsed();
            said
        });
        for (mark, path) in marks {
            let has = |path: &Path| fs::read_to_string(path).is_ok_and(|text| text.contains(&mark));
            if has(&path) {
                self.ends[0] += 1;
            } else {
                let named = said.iter().filter_map(|said| said.split_once("; see "));
                let named = named.map(|(_, place)| place.split(", ").next().unwrap());
                assert!(named.into_iter().any(|place| has(place.as_ref())), "{mark}: {said:?}");
                self.ends[1] += 1;
            }
            self.runs += 1;
        }
    }
}

fn fill(workspace: &Path) {
    for name in FILES.into_iter().chain([OTHER]) {
        write(&workspace.join(name), lines("1"), 0o644);
    }
}

fn while_rolled_back(mode: Mode, rounds: u32) {
    let Some(bench) = Bench::open(mode, fill) else { return };
    let mut race = Race::new(1);
    for _ in 0..rounds {
        fill(&bench.path(""));
        let before = bench.checkpoint();
        bench.bash(STEP);
        bench.effects(&before);
        race.run(&bench.path(""), || {
            let said = bench.try_rollback(&before);
            let said = said.unwrap_or_else(|error| error.to_string());
            said.split("changed meanwhile: ").map(str::to_owned).collect()
        });
    }
    assert_eq!(race.runs, rounds * 5);
}

#[test]
fn no_edit_is_lost_while_a_step_is_rolled_back() {
    while_rolled_back(Mode::Direct, 24);
    while_rolled_back(Mode::Landlock, 10);
}

#[test]
fn no_edit_is_lost_while_a_session_is_handed_over() {
    let mut race = Race::new(2);
    for _ in 0..34 {
        let Some(bench) = Bench::open(Mode::Layered, fill) else { return };
        let before = bench.checkpoint();
        bench.bash(STEP);
        bench.effects(&before);
        race.run(&bench.path(""), || {
            let published = block_on(bench.workspace.publish()).unwrap().unwrap();
            assert!(published.changed > 0);
            published.held_back
        });
    }
}

/// What a session did is taken back, and taken back again, and so on.
fn while_undone(mode: Mode, rounds: u32) {
    let Some(bench) = Bench::open(mode, fill) else { return };
    let before = bench.checkpoint();
    bench.bash(STEP);
    bench.effects(&before);
    bench.checkpoint();
    block_on(bench.workspace.publish()).unwrap();
    let mut race = Race::new(3);
    let mut last = None;
    for round in 0..rounds {
        let is_undo = round % 2 == 0;
        race.run(&bench.path(""), || {
            let request = UndoRequest {
                spans: vec![Span::between(before.clone(), None)],
                only: vec![],
                dry_run: false,
            };
            let undone = match last.take() {
                None => block_on(bench.workspace.undo(request)).unwrap(),
                Some(id) => block_on(bench.workspace.undo_again(id, false)).unwrap(),
            };
            last = undone.id;
            undone.late
        });
        // As the session, or the undo, left them: the next race is for them again.
        for path in FILES.map(|name| bench.path(name)) {
            fs::write(path, lines(if is_undo { "1" } else { "agent" })).unwrap();
        }
        if is_undo {
            let _ = fs::remove_file(bench.path("made.txt"));
        } else {
            fs::write(bench.path("made.txt"), "made\n").unwrap();
            last = None;
        }
    }
}

#[test]
fn no_edit_is_lost_while_a_session_is_undone() {
    while_undone(Mode::Layered, 24);
    while_undone(Mode::Direct, 24);
}

/// Edits after the agent's step, in files that the agent changed too, in each style.
fn edit_between(bench: &Bench) {
    for (style, name) in STYLES.into_iter().zip(FILES) {
        let path = bench.path(name);
        let held = hold(style, &path);
        edit(style, &path, "by the user", held);
    }
    edit(Style::Append, &bench.path(OTHER), "by the user", None);
    fs::write(bench.path("new.txt"), "by the user").unwrap();
}

fn expect(bench: &Bench, first: &str) {
    for name in FILES {
        let text = fs::read_to_string(bench.path(name)).unwrap();
        assert_eq!(text, format!("{}by the user\n", lines(first)), "{:?} {name}", bench.mode);
    }
    let other = fs::read_to_string(bench.path(OTHER)).unwrap();
    assert_eq!(other, format!("{}by the user\n", lines("1")));
    assert_eq!(fs::read_to_string(bench.path("new.txt")).unwrap(), "by the user");
    assert_eq!(bench.path("made.txt").exists(), first == "agent");
}

#[test]
fn edits_between_a_step_and_its_rollback_are_merged() {
    for mode in [Mode::Direct, Mode::Landlock] {
        let Some(bench) = Bench::open(mode, fill) else { continue };
        let before = bench.checkpoint();
        bench.bash(STEP);
        bench.effects(&before);
        edit_between(&bench);
        bench.rollback(&before);
        expect(&bench, "1");
    }
}

#[test]
fn edits_between_a_step_and_the_end_of_the_session_are_merged() {
    let Some(bench) = Bench::open(Mode::Layered, fill) else { return };
    let before = bench.checkpoint();
    bench.bash(STEP);
    bench.effects(&before);
    bench.checkpoint();
    edit_between(&bench);
    let published = block_on(bench.workspace.publish()).unwrap().unwrap();
    assert_eq!((published.merged.len(), published.held_back.len()), (4, 0), "{published:?}");
    expect(&bench, "agent");
    // A rollback of the layer leaves the user's files alone.
    bench.rollback(&before);
    expect(&bench, "agent");
}

#[test]
fn edits_between_a_session_and_its_undo_are_merged() {
    for mode in [Mode::Layered, Mode::Direct] {
        let Some(bench) = Bench::open(mode, fill) else { return };
        let before = bench.checkpoint();
        bench.bash(STEP);
        bench.effects(&before);
        bench.checkpoint();
        block_on(bench.workspace.publish()).unwrap();
        edit_between(&bench);
        let request =
            UndoRequest { spans: vec![Span::between(before, None)], only: vec![], dry_run: false };
        let undone = block_on(bench.workspace.undo(request)).unwrap();
        let merged = undone.paths.iter().filter(|(_, how)| *how == UndoneAs::Merged).count();
        assert_eq!((merged, undone.late.len()), (4, 0), "{mode:?} {undone:?}");
        expect(&bench, "1");
        let again = block_on(bench.workspace.undo_again(undone.id.unwrap(), false)).unwrap();
        assert!(again.paths.iter().all(|(_, how)| !matches!(how, UndoneAs::Refused(_))));
        expect(&bench, "agent");
    }
}

/// The same line, changed by both: the user's stays, and the result says so.
#[test]
fn an_edit_of_the_same_line_stays_and_is_named() {
    for mode in MODES {
        let Some(bench) = Bench::open(mode, fill) else { continue };
        let before = bench.checkpoint();
        bench.bash(STEP);
        bench.effects(&before);
        bench.checkpoint();
        fs::write(bench.path("a.txt"), lines("the user's")).unwrap();
        let said = if mode == Mode::Layered {
            block_on(bench.workspace.publish()).unwrap().unwrap().held_back.join(", ")
        } else {
            bench.try_rollback(&before).unwrap_err().to_string()
        };
        assert!(said.contains(&format!("{}: ", bench.inside("a.txt"))), "{said}");
        assert_eq!(fs::read_to_string(bench.path("a.txt")).unwrap(), lines("the user's"));
        if mode == Mode::Layered {
            let (_, kept) = said.split_once("the agent's version is ").unwrap();
            assert_eq!(fs::read_to_string(kept).unwrap(), lines("agent"));
        }
    }
}
