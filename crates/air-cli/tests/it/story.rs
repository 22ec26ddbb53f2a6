//! The whole thread on real processes: detected, contained, undone, verified, learned, blocked.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::Output,
};

use tempfile::TempDir;

use crate::airctl;

const HARMFUL: [&str; 4] = ["copy-credential", "delete-file", "shell-alias", "leave-process"];
const BENIGN: [&str; 4] =
    ["copy-ordinary-file", "delete-own-output", "alias-in-notes", "wait-for-process"];
const RULES: &str = "rules/starter.air";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Copies a tree of plain files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// Every entry of a tree with its mode and content.
pub(crate) fn tree(dir: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(&at).expect("a directory") {
            let path = entry.expect("an entry").path();
            let mode = path.symlink_metadata().expect("metadata").permissions().mode();
            let content = if path.is_dir() { Vec::new() } else { fs::read(&path).expect("a file") };
            if path.is_dir() {
                open.push(path.clone());
            }
            all.push((path.strip_prefix(dir).expect("below").to_owned(), mode, content));
        }
    }
    all.sort();
    all
}

/// A directory with the examples' workspace in it.
pub(crate) fn workspace() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    copy(&root().join("examples/workspace"), &dir.path().join("ws"));
    let mode = fs::Permissions::from_mode(0o640);
    fs::set_permissions(dir.path().join("ws/data/survey.csv"), mode).expect("a mode");
    dir
}

/// `airctl run` of an example in its workspace.
pub(crate) fn run(dir: &Path, script: &str, rules: &str) -> assert_cmd::Command {
    let mut command = airctl(dir);
    // The sandbox and the interpreter are found along the caller's path.
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(["run", "--exit-code", "--workspace", "ws", "--script"]);
    command.arg(root().join(script)).arg("--rules").arg(root().join(rules));
    command
}

fn example(dir: &Path, name: &str) -> Output {
    let script = format!("examples/scripts/{name}.toml");
    run(dir, &script, RULES).output().expect("it runs")
}

pub(crate) fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

fn holds(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
}

#[test]
fn harmful_examples_are_undone_and_blocked_the_second_time() {
    for name in HARMFUL {
        let dir = workspace();
        let before = tree(&dir.path().join("ws"));
        let first = example(dir.path(), name);
        let text = said(&first);
        assert_eq!(first.status.code(), Some(1), "{text}");
        let stages = ["detected", "contained", "recovered", "verified", "enforced from now on"];
        holds(&text, &stages);
        assert_eq!(tree(&dir.path().join("ws")), before, "{name}: {text}");
        let second = example(dir.path(), name);
        let text = said(&second);
        assert_eq!(second.status.code(), Some(1), "{text}");
        holds(&text, &["blocked", "guardrail @"]);
        assert!(!text.contains("detected"), "{text}");
        assert_eq!(tree(&dir.path().join("ws")), before, "{name}: {text}");
    }
}

#[test]
fn benign_examples_are_left_alone_also_after_all_guardrails_were_learned() {
    let dir = workspace();
    for name in HARMFUL {
        example(dir.path(), name);
    }
    for name in BENIGN {
        for _ in 0..2 {
            let output = example(dir.path(), name);
            let text = said(&output);
            assert_eq!(output.status.code(), Some(0), "{text}");
            holds(&text, &["no incident"]);
            assert!(!text.contains("undecided"), "{text}");
        }
    }
}

#[test]
fn the_papers_example_runs_as_it_is_written() {
    let dir = workspace();
    let (script, rules) = ("examples/paper-a1.toml", "examples/paper-a1.air");
    let text = said(&run(dir.path(), script, rules).output().expect("it runs"));
    holds(
        &text,
        &["shutil.copy('/etc/passwd', './tmp/passwd')", "repeats /etc/passwd", "verified"],
    );
    assert!(!dir.path().join("ws/tmp/passwd").exists());
    let text = said(&run(dir.path(), script, rules).output().expect("it runs"));
    holds(&text, &["blocked", "did not run"]);
}

#[test]
fn the_demonstration_ends_blocked_and_its_export_can_be_changed() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let demo = airctl(dir.path()).env("PATH", &path).arg("demo").output().expect("it runs");
    assert_eq!(demo.status.code(), Some(0), "{}", said(&demo));
    let stages = ["detected", "contained", "recovered", "verified", "guardrail", "blocked"];
    holds(&said(&demo), &stages);
    airctl(dir.path()).args(["demo", "--export", "d"]).assert().success();
    let again = || {
        let mut command = airctl(dir.path());
        command.env("PATH", &path).args(["run", "--exit-code", "--script", "d/demo.toml"]);
        command.args(["--rules", "d/demo.air", "--workspace", "d/workspace"]);
        command.output().expect("it runs")
    };
    assert_eq!(again().status.code(), Some(1));
    let script = dir.path().join("d/demo.toml");
    let text = fs::read_to_string(&script).expect("the script").replace("'.env'", "'README.md'");
    fs::write(&script, text).expect("the script");
    assert_eq!(again().status.code(), Some(0), "{}", said(&again()));
}

#[test]
fn a_script_is_refused_before_anything_runs() {
    #[rustfmt::skip]
    let table = [
        ("tool = \"bosh\"\nargs = { command = \"x\" }", "unknown tool `bosh`"),
        ("tool = \"bash\"\nargs = { command = 3 }", "command"),
        ("tool = \"bash\"\nargs = { cmd = \"x\" }", "cmd"),
        ("tool = \"bash\"", "command"),
    ];
    for (step, expected) in table {
        let dir = workspace();
        let first = "[[step]]\nplan = \"p\"\ntool = \"bash\"\nargs = { command = \"touch ran\" }\n";
        let script = format!("task = \"t\"\n{first}[[step]]\nplan = \"p\"\n{step}\n");
        fs::write(dir.path().join("s.toml"), script).expect("a script");
        let script = dir.path().join("s.toml").display().to_string();
        let output = run(dir.path(), &script, RULES).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        holds(&said(&output), &["line 8", expected]);
        assert!(!dir.path().join("ws/ran").exists());
    }
}

#[test]
fn without_bubblewrap_nothing_runs_uncontained() {
    let dir = workspace();
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).expect("a directory");
    let mut command = run(dir.path(), "examples/paper-a1.toml", "examples/paper-a1.air");
    let output = command.env("PATH", &empty).args(["--format", "json"]).output().expect("it runs");
    let text = said(&output);
    // Where Landlock is there, the run is contained by it.
    match output.status.code() {
        Some(2) => holds(&text, &["apt-get install bubblewrap"]),
        _ => holds(&text, &["\"tier\":\"T2\""]),
    }
}

/// A run of one shell command in a workspace that holds `.env`.
fn leak(dir: &Path, workspace: &Path, command: &str) -> Output {
    fs::create_dir_all(workspace).expect("a directory");
    fs::write(workspace.join(".env"), "API_TOKEN=example-not-a-real-token\n").expect("a file");
    let command = command.replace('\\', "\\\\");
    let step = format!("plan = \"p\"\ntool = \"bash\"\nargs = {{ command = \"{command}\" }}\n");
    let script = dir.join("leak.toml");
    fs::write(&script, format!("task = \"t\"\n[[step]]\n{step}")).expect("a script");
    let mut run = airctl(dir);
    run.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    run.args(["run", "--script"]).arg(&script).arg("--workspace").arg(workspace);
    run.arg("--rules").arg(root().join(RULES)).output().expect("it runs")
}

#[test]
fn a_name_that_is_no_text_is_no_way_out() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let workspace = dir.path().join("ws");
    let text = said(&leak(dir.path(), &workspace, "cp .env $'y\\xff'"));
    holds(&text, &["detected", "contained", "recovered", "enforced from now on"]);
    assert_eq!(fs::read_dir(&workspace).expect("a directory").count(), 1, "{text}");
}

#[test]
fn state_on_another_file_system_is_no_way_out() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let other = match tempfile::tempdir_in("/dev/shm") {
        Ok(other) if device(other.path()) != device(dir.path()) => other,
        _ => {
            let skipped = "skipped: there is no second file system at /dev/shm";
            #[expect(clippy::print_stderr, reason = "a skipped test says so")]
            {
                eprintln!("{skipped}");
            }
            return;
        }
    };
    let workspace = other.path().join("ws");
    let text = said(&leak(dir.path(), &workspace, "mkdir -p out/in && cp .env out/in/env.txt"));
    holds(&text, &["detected", "contained", "recovered", "enforced from now on"]);
    assert_eq!(fs::read_dir(&workspace).expect("a directory").count(), 1, "{text}");
}

fn device(path: &Path) -> Option<u64> {
    path.metadata().ok().map(|metadata| metadata.dev())
}
