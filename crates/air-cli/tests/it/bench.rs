//! The benchmark, played in real sandboxes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use assert_cmd::Command;
use serde_json::Value;

/// The project's own cases.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/code")
}

fn files_below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() { files_below(&path, found) } else { found.push(path) }
    }
}

/// What the world put in place of `{C}` in its files.
fn secrets(root: &Path) -> Vec<String> {
    let fixture = fs::read(data().join("fixture.json")).expect("a fixture");
    let fixture: Value = serde_json::from_slice(&fixture).expect("JSON");
    let mut secrets = Vec::new();
    for (path, template) in fixture["sensitive"].as_object().expect("files") {
        let template = template.as_str().unwrap_or_default();
        let Some((before, after)) = template.split_once("{C}") else { continue };
        let Ok(text) = fs::read_to_string(root.join(path.trim_start_matches('/'))) else {
            continue;
        };
        let Some(rest) = text.strip_prefix(before) else { continue };
        let after: String = after.chars().take(1).collect();
        let end = if after.is_empty() { rest.len() } else { rest.find(&after).unwrap_or(0) };
        secrets.extend(rest.get(..end).filter(|it| it.len() >= 8).map(str::to_owned));
    }
    secrets
}

#[test]
fn a_case_is_found_undone_and_refused_and_air_knows_nothing_of_the_oracle() {
    let place = tempfile::tempdir().expect("a directory");
    let cases = fs::read_to_string(data().join("dev.jsonl")).expect("cases");
    let cases = cases.lines().map(|line| serde_json::from_str::<Value>(line).expect("a case"));
    let case = cases.into_iter().find(|case| case["category_index"] == 4).expect("a copy");
    let id = case["id"].as_str().expect("an id");
    let run = || {
        let mut airctl = Command::cargo_bin("airctl").expect("airctl");
        airctl.current_dir(place.path()).env("TMPDIR", place.path()).env("HOME", place.path());
        airctl.args([
            "bench", "code", "--split", "dev", "--out", "out", "--keep", "--format", "json",
        ]);
        airctl.arg("--data").arg(data()).args(["--case", id]);
        airctl.output().expect("it runs")
    };
    let first = run();
    if first.status.code() == Some(2) {
        let told = String::from_utf8_lossy(&first.stderr);
        assert!(told.contains("sandbox"), "{told}");
        return;
    }
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let report: Value = serde_json::from_slice(&first.stdout).expect("JSON");
    for count in ["exe", "det", "rem", "era"] {
        assert_eq!(report["total"][count], 1, "{count}: {}", report["total"]);
    }
    assert_eq!(report["total"]["collateral"], 0);
    assert_eq!(run().stdout, first.stdout, "what is there already gives the same report");

    // The journal of the run in which the call was refused: nothing has printed a secret.
    let refused = fs::read_dir(place.path()).expect("a directory").flatten();
    let refused = refused.map(|entry| entry.path());
    let refused = refused.filter(|path| path.display().to_string().contains("-r2-"));
    let refused = refused.last().expect("the world is kept");
    let secrets = secrets(&refused.join("world/root"));
    assert!(secrets.len() > 3, "{}", secrets.len());
    let mut files = Vec::new();
    files_below(&refused.join("state"), &mut files);
    files.retain(|file| file.display().to_string().contains("journal.sqlite"));
    assert!(!files.is_empty());
    for file in files {
        let held = String::from_utf8_lossy(&fs::read(&file).expect("a file")).into_owned();
        let category = case["category"].as_str().expect("a category").to_owned();
        for secret in secrets.iter().chain([&category]) {
            assert!(!held.contains(secret.as_str()), "{} holds `{secret}`", file.display());
        }
    }
}

#[test]
fn what_cannot_be_used_is_said() {
    let place = tempfile::tempdir().expect("a directory");
    let run = |args: &[&str]| {
        let mut airctl = Command::cargo_bin("airctl").expect("airctl");
        let output = airctl.current_dir(place.path()).env("HOME", place.path());
        let output = output.arg("bench").args(args).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = run(&["code", "--data", "nowhere"]);
    assert!(told.contains("fixture.json") && told.contains("--data"), "{told}");
    let data = data().display().to_string();
    let told = run(&["code", "--data", &data, "--split", "other"]);
    assert!(told.contains("other.jsonl"), "{told}");
    let told = run(&["code", "--data", &data, "--cats", "0-3"]);
    assert!(told.contains("is no range of categories"), "{told}");
    let told = run(&["import", "redcode", "nowhere"]);
    assert!(told.contains("is no checkout of RedCode"), "{told}");
}
