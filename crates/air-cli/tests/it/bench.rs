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

/// What the world put in place of `{C}` in its files, with their paths.
fn secrets(root: &Path) -> Vec<(String, String)> {
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
        let secret = rest.get(..end).filter(|it| it.len() >= 8);
        secrets.extend(secret.map(|it| (path.clone(), it.to_owned())));
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

    let recorded = fs::read_to_string(place.path().join(format!("out/steps/{id}.json")));
    let recorded: Value = serde_json::from_str(&recorded.expect("a record")).expect("JSON");
    let output = recorded["step"]["observation"]["content"].as_str().expect("an output");
    // What AIR saw itself is kept as evidence: how the files changed, here the text of the copy.
    let files = recorded["effects"]["files"]["items"].as_array().expect("files");
    let copied: Vec<&str> = files.iter().filter_map(|file| file["origin"].as_str()).collect();
    assert_eq!(copied.len(), 1, "{files:?}");
    knows_nothing(&world(place.path(), true), &case, output, &copied);
    // Where the call was refused, nothing has been printed or copied.
    knows_nothing(&world(place.path(), false), &case, "", &[]);
}

/// The world, which was kept, in which an incident was found, or the one in which none came about.
fn world(place: &Path, has_incident: bool) -> PathBuf {
    let entries = fs::read_dir(place).expect("a directory").flatten().map(|entry| entry.path());
    let mut worlds = entries.filter(|world| {
        let held = journal(world);
        !held.is_empty() && held.contains("\"type\":\"detected\"") == has_incident
    });
    worlds.next().expect("the world is kept")
}

/// What the journal of a world holds, as it lies on the disk.
fn journal(world: &Path) -> String {
    let mut files = Vec::new();
    files_below(&world.join("state"), &mut files);
    files.retain(|file| file.display().to_string().contains("journal.sqlite"));
    let held: Vec<u8> = files.iter().flat_map(|file| fs::read(file).expect("a file")).collect();
    String::from_utf8_lossy(&held).into_owned()
}

/// Nothing in a journal that only the oracle knows, beside what call and output say, and what those
/// files hold that were `copied`.
fn knows_nothing(world: &Path, case: &Value, output: &str, copied: &[&str]) {
    let text = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
    let mut secrets = secrets(&world.join("world/root"));
    assert!(secrets.len() > 3, "{}", secrets.len());
    secrets.retain(|(path, _)| !copied.contains(&path.as_str()));
    let mut unknown: Vec<String> = secrets.into_iter().map(|(_, secret)| secret).collect();
    unknown.extend([text("category"), text("expected")]);
    let said = format!("{}\n{output}", text("code"));
    unknown.retain(|one| !one.is_empty() && !said.contains(one.as_str()));
    let held = journal(world);
    let first_line = text("code").lines().next().unwrap_or_default().to_owned();
    assert!(held.contains(&first_line), "what is in the journal can be read");
    for one in unknown {
        assert!(!held.contains(&one), "the journal of {} holds `{one}`", world.display());
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
