//! `airctl undo` as a user meets it.

use std::{fs, path::Path, process::Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    airctl,
    story::{run, said, tree},
};

const RULES: &str = "rules/starter.air";

/// What a session does: one shell command a step.
pub(crate) fn script(dir: &Path, commands: &[&str]) -> String {
    let mut text = "task = \"t\"\n".to_owned();
    for command in commands {
        let command = command.replace('\\', "\\\\").replace('"', "\\\"");
        text += "[[step]]\nplan = \"p\"\ntool = \"bash\"\n";
        text += &["args = { command = \"", &command, "\" }\n"].concat();
    }
    let path = dir.join("session.toml");
    fs::write(&path, text).expect("a script");
    path.display().to_string()
}

/// A project, as its user left it.
pub(crate) fn project() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let ws = dir.path().join("ws");
    fs::create_dir_all(ws.join("src")).expect("a directory");
    let lines = (1..=9).fold(String::new(), |lines, number| lines + &format!("line {number}\n"));
    for (name, text) in
        [("notes.md", lines.as_str()), ("src/main.py", "print(1)\n"), ("old", "o\n")]
    {
        fs::write(ws.join(name), text).expect("a file");
    }
    dir
}

/// A session of these commands in the project, to its end.
fn session(dir: &Path, commands: &[&str], direct: bool) {
    let mut command = run(dir, &script(dir, commands), RULES);
    if direct {
        command.arg("--direct");
    }
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

fn undo(dir: &Path, args: &[&str]) -> Output {
    let mut command = airctl(dir);
    command.args(["undo", "--workspace", "ws"]).args(args).output().expect("it runs")
}

fn store(dir: &Path, args: &[&str]) -> Output {
    let mut command = airctl(dir);
    command.args(["store", "--workspace", "ws"]).args(args).output().expect("it runs")
}

/// It ends with this code.
#[track_caller]
fn ends(output: &Output, code: i32) -> String {
    let text = said(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("a document")
}

fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join("ws").join(name)).expect("a file")
}

fn write(dir: &Path, name: &str, text: &str) {
    fs::write(dir.join("ws").join(name), text).expect("a file");
}

const SESSION: [&str; 3] = [
    "sed -i 's/line 2/LINE 2/' notes.md; mkdir made; echo new > made/file; ln -s made link",
    "echo 'print(2)' > src/main.py; chmod 700 src/main.py; echo draft > draft; mv draft final",
    "echo log > made/log",
];

#[test]
fn the_last_session_is_undone_and_redone() {
    for direct in [false, true] {
        let dir = project();
        let (ws, dir) = (dir.path().join("ws"), dir.path());
        let start = tree(&ws);
        session(dir, &SESSION, direct);
        let end = tree(&ws);
        assert_ne!(start, end);

        let dry = ends(&undo(dir, &["--dry-run"]), 0);
        for part in ["would be done", "-LINE 2", "+line 2", "notes.md", "-print(2)", "+print(1)"] {
            assert!(dry.contains(part), "no `{part}` in:\n{dry}");
        }
        assert!(!dry.contains("--redo"), "{dry}");
        assert_eq!(tree(&ws), end, "a dry run changes nothing");

        let text = ends(&undo(dir, &[]), 0);
        assert!(text.contains("notes.md") && text.contains("airctl undo --redo"), "{text}");
        assert_eq!(tree(&ws), start, "{text}");
        let text = ends(&undo(dir, &[]), 0);
        assert!(text.contains("nothing to do"), "{text}");

        let dry = ends(&undo(dir, &["--redo", "--dry-run"]), 0);
        assert!(dry.contains("+LINE 2"), "{dry}");
        assert_eq!(tree(&ws), start);
        let text = ends(&undo(dir, &["--redo"]), 0);
        assert_eq!(tree(&ws), end, "{text}");
        // What was taken back can be done once more.
        ends(&undo(dir, &[]), 0);
        assert_eq!(tree(&ws), start);
    }
}

#[test]
fn one_step_or_one_file_is_undone() {
    for direct in [false, true] {
        let dir = project();
        let dir = dir.path();
        session(dir, &SESSION, direct);
        let text = ends(&undo(dir, &["--step", "2"]), 0);
        assert_eq!(read(dir, "src/main.py"), "print(1)\n", "{text}");
        assert!(read(dir, "notes.md").contains("LINE 2"));
        assert!(!dir.join("ws/final").exists() && dir.join("ws/made/log").exists(), "{text}");
        ends(&undo(dir, &["--file", "notes.md"]), 0);
        assert!(read(dir, "notes.md").contains("line 2"));
        assert!(dir.join("ws/made/file").exists());
        ends(&undo(dir, &["--file", "made"]), 0);
        assert!(!dir.join("ws/made").exists() && dir.join("ws/link").is_symlink());
        let text = ends(&undo(dir, &["--file", "no-such-file"]), 2);
        assert!(text.contains("changed nothing that is called no-such-file"), "{text}");
        let text = ends(&undo(dir, &["--step", "9"]), 2);
        assert!(text.contains("no step 9"), "{text}");
    }
}

#[test]
fn what_the_user_edited_since_is_merged_or_left_alone() {
    for direct in [false, true] {
        let dir = project();
        let dir = dir.path();
        session(dir, &SESSION, direct);
        let edited = read(dir, "notes.md").replace("line 8", "the user's line 8");
        write(dir, "notes.md", &edited);
        write(dir, "src/main.py", "print('the user')\n");
        let dry = ends(&undo(dir, &["--dry-run"]), 1);
        assert!(dry.contains("merged") && dry.contains("refused"), "{dry}");
        let output = undo(dir, &["--format", "json"]);
        ends(&output, 1);
        let document = json(&output);
        let of = |name: &str| {
            let paths = document["paths"].as_array().expect("a list");
            let found =
                paths.iter().find(|item| item["path"].as_str().unwrap_or("").ends_with(name));
            found.unwrap_or_else(|| panic!("no {name} in {document:#}")).clone()
        };
        assert_eq!(of("notes.md")["result"], "merged");
        assert_eq!(of("src/main.py")["result"], "refused");
        assert!(!of("src/main.py")["why"].as_str().unwrap_or_default().is_empty(), "{document}");
        assert_eq!(of("final")["result"], "removed");
        assert_eq!((&document["version"], &document["dry_run"]), (&1.into(), &false.into()));
        let merged = read(dir, "notes.md");
        assert!(merged.contains("\nline 2\n") && merged.contains("the user's line 8"), "{merged}");
        assert_eq!(read(dir, "src/main.py"), "print('the user')\n");
        let text = ends(&undo(dir, &[]), 1);
        assert!(text.contains("refused") && text.contains("src/main.py"), "{text}");
        // The redo keeps what the user wrote, too.
        ends(&undo(dir, &["--redo"]), 0);
        assert_eq!(read(dir, "notes.md"), edited);
    }
}

#[test]
fn there_may_be_nothing_to_undo() {
    let dir = project();
    let dir = dir.path();
    let text = ends(&undo(dir, &[]), 2);
    assert!(text.contains("no session"), "{text}");
    session(dir, &["ls"], false);
    let text = ends(&undo(dir, &[]), 0);
    assert!(text.contains("nothing to do"), "{text}");
    let text = ends(&undo(dir, &["--redo"]), 2);
    assert!(text.contains("undone"), "{text}");
    let text = ends(&undo(dir, &["--session", "nobody"]), 2);
    assert!(text.contains("nobody"), "{text}");
    let text = ends(&undo(dir, &["--incident", "nothing"]), 2);
    assert!(text.contains("nothing"), "{text}");
}

#[test]
fn an_earlier_session_is_undone_by_its_name() {
    let dir = project();
    let dir = dir.path();
    session(dir, &["echo one > one"], false);
    let output = undo(dir, &["--dry-run", "--format", "json"]);
    let first = json(&output)["session"].as_str().expect("a name").to_owned();
    session(dir, &["echo two > two"], false);
    ends(&undo(dir, &["--session", &first]), 0);
    assert!(!dir.join("ws/one").exists() && dir.join("ws/two").exists());
    ends(&undo(dir, &["--redo", "--session", &first]), 0);
    assert!(dir.join("ws/one").exists());
    ends(&undo(dir, &[]), 0);
    assert!(dir.join("ws/one").exists() && !dir.join("ws/two").exists());
}

#[test]
fn the_step_of_an_incident_is_shown_and_undone() {
    let dir = project();
    let dir = dir.path();
    // Without a way back of its own: nothing is restored but by the user.
    let rules = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(RULES));
    let rules = rules.expect("rules").replace("  rollback\n", "  isolate\n");
    fs::write(dir.join("own.air"), rules).expect("rules");
    let script = script(dir, &["echo fine > fine", "rm old; sed -i 's/line 5/LINE 5/' notes.md"]);
    let own = dir.join("own.air").display().to_string();
    let text = said(&run(dir, &script, &own).arg("--direct").output().expect("it runs"));
    assert!(text.contains("detected"), "{text}");
    let mut command = airctl(dir);
    let output = command.args(["incidents", "--workspace", "ws", "--format", "json"]);
    let output = output.output().expect("it runs");
    let id = json(&output)["incidents"][0]["id"].as_str().expect("an id").to_owned();
    let mut command = airctl(dir);
    let shown = command.args(["explain", &id, "--show", "changes.diff", "--workspace", "ws"]);
    let shown = said(&shown.output().expect("it runs"));
    assert!(shown.contains("-line 5") && shown.contains("+LINE 5"), "{shown}");
    assert!(shown.contains("old"), "{shown}");
    let mut command = airctl(dir);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let args = ["resume", &id, "--dismiss", "benign", "--workspace", "ws", "--rules", &own];
    let text = said(&command.args(args).output().expect("it runs"));
    assert!(text.contains("closed") && text.contains("stays in force"), "{text}");
    let text = ends(&undo(dir, &["--incident", &id]), 0);
    assert_eq!(read(dir, "old"), "o\n", "{text}");
    assert!(read(dir, "notes.md").contains("line 5") && dir.join("ws/fine").exists(), "{text}");
}

#[test]
fn what_is_not_needed_goes_and_what_is_needed_stays() {
    for direct in [false, true] {
        let dir = project();
        let dir = dir.path();
        let start = tree(&dir.join("ws"));
        session(dir, &SESSION, direct);
        let output = store(dir, &["--collect", "--verify"]);
        let text = ends(&output, 0);
        assert!(text.contains("removed") && text.contains("0 damaged"), "{text}");
        ends(&undo(dir, &[]), 0);
        assert_eq!(tree(&dir.join("ws")), start);
    }
}
