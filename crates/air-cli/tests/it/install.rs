//! `airctl install` and `airctl uninstall`, in homes of their own.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::Output,
};

use tempfile::TempDir;

use crate::{airctl, directory};

/// What somebody has in the settings: comments, odd indentation, a trailing comma, no last line end.
const SETTINGS: &str = "{\n    // mine\n    \"model\": \"opus\", // large\n    \"hooks\": {\n        \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"./mine.sh\" }] }],\n    },\n}";
const PLAIN: &str = "{\n  \"model\": \"opus\",\n  \"hooks\": {}\n}\n";
const HOSTS: [(&str, &str); 6] = [
    ("claude-code", "home/.claude/settings.json"),
    ("codex", "home/.codex/hooks.json"),
    ("copilot", "home/.copilot/hooks/air.json"),
    ("gemini", "home/.gemini/settings.json"),
    ("opencode", "home/.config/opencode/plugin/air.js"),
    ("cursor", "home/.cursor/hooks.json"),
];

/// A directory with these files and a shim.
fn home(files: &[(&str, &str)]) -> TempDir {
    let home = directory(files);
    program(home.path(), "bin/air-hook", "#!/bin/sh\n");
    home
}

fn program(home: &Path, name: &str, text: &str) {
    let path = home.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(&path, text).expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

fn run(home: &Path, args: &[&str]) -> Output {
    airctl(home).args(args).output().expect("it runs")
}

fn install(home: &Path, host: &str) -> Output {
    run(home, &["install", host, "--hook", "bin/air-hook"])
}

fn shown(home: &Path, output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr].map(|stream| String::from_utf8_lossy(stream));
    streams.concat().replace(&home.display().to_string(), "[DIR]")
}

/// Every file below `at`, with what is in it.
fn tree(at: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(at).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.push((path.display().to_string(), Vec::new()));
            found.extend(tree(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap_or_default()));
        }
    }
    found.retain(|(name, _)| !name.contains("/.local"));
    found.sort();
    found
}

#[test]
fn every_host_comes_back_byte_for_byte() {
    for (host, file) in HOSTS {
        for before in [None, Some(PLAIN), Some(SETTINGS), Some("{}"), Some("\r\n")] {
            if host == "opencode" && before.is_some() {
                continue;
            }
            let home = home(&before.map(|text| (file, text)).into_iter().collect::<Vec<_>>());
            let path = home.path().join(file);
            fs::create_dir_all(home.path().join("home")).expect("a directory");
            let all = tree(home.path());
            let first = install(home.path(), host);
            assert_ne!(first.status.code(), Some(2), "{}", shown(home.path(), &first));
            let installed = fs::read(&path).expect("the file");
            assert!(String::from_utf8_lossy(&installed).contains(if host == "opencode" {
                "hosts/run/address.json"
            } else {
                "bin/air-hook"
            }));
            let second = install(home.path(), host);
            assert!(shown(home.path(), &second).contains("unchanged"));
            assert_eq!(fs::read(&path).expect("the file"), installed);
            let out = run(home.path(), &["uninstall", host]);
            assert_eq!(out.status.code(), Some(0), "{}", shown(home.path(), &out));
            assert_eq!(tree(home.path()), all, "{host}: {before:?}");
            // Again, with nothing there.
            assert_eq!(run(home.path(), &["uninstall", host]).status.code(), Some(0));
            assert_eq!(tree(home.path()), all);
        }
    }
}

#[test]
fn what_somebody_changed_since_stays() {
    let (host, file) = HOSTS[0];
    let home = home(&[(file, PLAIN)]);
    let path = home.path().join(file);
    assert_eq!(install(home.path(), host).status.code(), Some(0));
    let changed = fs::read_to_string(&path).expect("the file").replace("opus", "sonnet");
    fs::write(&path, &changed).expect("the file");
    // It is up to date, and what is remembered of it stays.
    assert!(shown(home.path(), &install(home.path(), host)).contains("unchanged"));
    let out = run(home.path(), &["uninstall", host]);
    assert_eq!(out.status.code(), Some(0));
    assert_eq!(fs::read_to_string(&path).expect("the file"), PLAIN.replace("opus", "sonnet"));
    let backup = shown(home.path(), &out);
    assert!(backup.contains("claude-code-settings.json.air-backup-2"), "{backup}");
}

#[test]
fn a_shim_that_moved_is_replaced() {
    let (host, file) = HOSTS[3];
    let home = home(&[(file, SETTINGS)]);
    program(home.path(), "new bin/air-hook", "#!/bin/sh\n");
    assert_ne!(install(home.path(), host).status.code(), Some(2));
    let out = run(home.path(), &["install", host, "--hook", "new bin/air-hook"]);
    assert_ne!(out.status.code(), Some(2), "{}", shown(home.path(), &out));
    let text = fs::read_to_string(home.path().join(file)).expect("the file");
    assert!(text.contains("new bin/air-hook' gemini") && !text.contains("/bin/air-hook gemini"));
    run(home.path(), &["uninstall", host]);
    assert_eq!(fs::read_to_string(home.path().join(file)).expect("the file"), SETTINGS);
}

#[test]
fn a_link_and_the_mode_of_its_target_are_kept() {
    let (host, file) = HOSTS[0];
    let home = home(&[("dotfiles/claude.json", PLAIN)]);
    let (target, link) = (home.path().join("dotfiles/claude.json"), home.path().join(file));
    fs::create_dir_all(link.parent().expect("a parent")).expect("a directory");
    symlink("../../dotfiles/claude.json", &link).expect("a link");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).expect("a mode");
    assert_eq!(install(home.path(), host).status.code(), Some(0));
    assert!(link.is_symlink());
    assert!(fs::read_to_string(&target).expect("the target").contains("air-hook"));
    assert_eq!(fs::metadata(&target).expect("the target").permissions().mode() & 0o777, 0o600);
    assert_eq!(run(home.path(), &["uninstall", host]).status.code(), Some(0));
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&target).expect("the target"), PLAIN);
}

#[test]
fn what_cannot_be_changed_is_left_alone() {
    let (host, file) = HOSTS[0];
    let mut told = Vec::new();
    let mut check = |what: &str, home: &TempDir| {
        let before = tree(home.path());
        let output = install(home.path(), host);
        assert_eq!(output.status.code(), Some(2), "{what}");
        assert_eq!(tree(home.path()), before, "{what}");
        told.push(format!("{what}:\n{}", shown(home.path(), &output)));
    };
    check("syntax error", &home(&[(file, "{\n  \"model\": \"opus\"\n  \"hooks\": {}\n}\n")]));
    check("twice", &home(&[(file, "{\"hooks\": {}, \"hooks\": {}}")]));
    check("hooks is a list", &home(&[(file, "{\"hooks\": []}")]));
    let read_only = home(&[(file, PLAIN)]);
    let mode = fs::Permissions::from_mode(0o444);
    fs::set_permissions(read_only.path().join(file), mode).expect("a mode");
    check("read-only", &read_only);
    let directory = home(&[(file, PLAIN)]);
    let place = directory.path().join("home/.claude");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o555)).expect("a mode");
    check("read-only directory", &directory);
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).expect("a mode");
    let dangling = home(&[]);
    fs::create_dir_all(dangling.path().join("home/.claude")).expect("a directory");
    symlink("nowhere.json", dangling.path().join(file)).expect("a link");
    check("dangling link", &dangling);
    let folder = home(&[]);
    fs::create_dir_all(folder.path().join(file)).expect("a directory");
    check("directory", &folder);
    let binary = home(&[]);
    fs::create_dir_all(binary.path().join("home/.claude")).expect("a directory");
    fs::write(binary.path().join(file), b"{\"a\": \"\xff\"}").expect("a file");
    check("not UTF-8", &binary);
    insta::assert_snapshot!("install-refused", told.join("\n"));
}

#[test]
fn a_plugin_of_somebody_else_is_not_overwritten() {
    let (host, file) = HOSTS[4];
    let home = home(&[(file, "export const Mine = 1;\n")]);
    assert_eq!(install(home.path(), host).status.code(), Some(2));
    assert_eq!(run(home.path(), &["uninstall", host]).status.code(), Some(2));
    let text = fs::read_to_string(home.path().join(file)).expect("the file");
    assert_eq!(text, "export const Mine = 1;\n");
}

#[test]
fn a_shim_that_is_missing_is_missed() {
    let (host, file) = HOSTS[0];
    let home = home(&[(file, PLAIN)]);
    let output = run(home.path(), &["install", host, "--hook", "no/air-hook"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(shown(home.path(), &output).contains("[DIR]/no/air-hook` is not there"));
}

#[test]
fn what_the_host_would_not_read_is_a_finding() {
    let (host, file) = HOSTS[0];
    let home = home(&[(file, SETTINGS)]);
    let output = install(home.path(), host);
    assert_eq!(output.status.code(), Some(1));
    let shown = shown(home.path(), &output);
    assert!(shown.contains("claude-code does not read this file"), "{shown}");
}

#[test]
fn a_dry_run_changes_nothing() {
    let (host, file) = HOSTS[0];
    let home = home(&[(file, PLAIN)]);
    let before = tree(home.path());
    let output = run(home.path(), &["install", host, "--hook", "bin/air-hook", "--dry-run"]);
    assert_eq!(tree(home.path()), before);
    assert!(!home.path().join("home/.local").exists());
    insta::assert_snapshot!("install-dry-run", shown(home.path(), &output));
    let args = ["install", host, "--hook", "bin/air-hook", "--format", "json"];
    let output = run(home.path(), &args);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(document["files"][0]["change"], "changed");
}

#[test]
fn projects_have_their_own() {
    let home = home(&[(".claude/settings.json", PLAIN)]);
    for (scope, file) in
        [("--project", ".claude/settings.json"), ("--local", ".claude/settings.local.json")]
    {
        let args = ["install", "claude-code", scope, "--hook", "bin/air-hook"];
        assert_eq!(run(home.path(), &args).status.code(), Some(0));
        let text = fs::read_to_string(home.path().join(file)).expect("the file");
        assert!(text.contains("air-hook"));
    }
    assert!(!home.path().join("home/.claude").exists());
    for scope in ["--project", "--local"] {
        assert_eq!(run(home.path(), &["uninstall", "claude-code", scope]).status.code(), Some(0));
    }
    let text = fs::read_to_string(home.path().join(".claude/settings.json")).expect("the file");
    assert_eq!(text, PLAIN);
    assert!(!home.path().join(".claude/settings.local.json").exists());
    let output = run(home.path(), &["install", "codex", "--local", "--hook", "bin/air-hook"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_run_that_was_killed_leaves_nothing_behind() {
    let (host, file) = HOSTS[0];
    let home = home(&[(file, PLAIN)]);
    // What it had written before the file took its name, and after AIR had noted it.
    assert_eq!(install(home.path(), host).status.code(), Some(0));
    fs::write(home.path().join(file), PLAIN).expect("the file");
    let left = home.path().join("home/.claude/.settings.json.air-tmp-x1y2");
    fs::write(&left, "{\"hal").expect("a file");
    assert_eq!(run(home.path(), &["uninstall", host]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(home.path().join(file)).expect("the file"), PLAIN);
    assert_eq!(install(home.path(), host).status.code(), Some(0));
    assert!(!left.exists());
    assert_eq!(run(home.path(), &["uninstall", host]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(home.path().join(file)).expect("the file"), PLAIN);
}

#[test]
fn many_at_once_are_as_one() {
    let (host, file) = HOSTS[0];
    let home = home(&[(file, PLAIN)]);
    let codes: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6).map(|_| scope.spawn(|| install(home.path(), host))).collect();
        runs.into_iter().map(|run| run.join().expect("it ends").status.code()).collect()
    });
    assert_eq!(codes, [Some(0); 6]);
    let text = fs::read_to_string(home.path().join(file)).expect("the file");
    assert_eq!(text.matches("air-hook claude-code").count(), 10);
    assert_eq!(run(home.path(), &["uninstall", host]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(home.path().join(file)).expect("the file"), PLAIN);
}

#[test]
fn without_a_memory_the_hooks_still_go() {
    let (host, file) = HOSTS[0];
    let home = home(&[(file, "{\n  \"model\": \"opus\"\n}\n")]);
    assert_eq!(install(home.path(), host).status.code(), Some(0));
    fs::remove_dir_all(home.path().join("home/.local")).expect("the state");
    assert_eq!(run(home.path(), &["uninstall", host]).status.code(), Some(0));
    let text = fs::read_to_string(home.path().join(file)).expect("the file");
    assert_eq!(text, "{\n  \"model\": \"opus\"\n}\n");
}

/// A codex that sees the hooks of `hooks.json`, and trusts what `config.toml` names.
const CODEX: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then echo "codex-cli 0.169.0"; exit; fi
state=untrusted
grep -q 'trusted_hash = "sha256:1"' "$CODEX_HOME/config.toml" 2>/dev/null && state=trusted
while read -r line; do
  case "$line" in
    *hooks/list*) printf '{"method":"noise"}\n{"id":2,"result":{"data":[{"hooks":[{"key":"%s:stop:0:0","command":"%s codex","sourcePath":"%s","currentHash":"sha256:1","trustStatus":"%s"}]}]}}\n' "$CODEX_HOME/hooks.json" "$AIR_HOOK" "$CODEX_HOME/hooks.json" "$state" ;;
  esac
done
"#;

#[test]
fn codex_is_told_whom_to_trust_if_that_is_wanted() {
    let config = "model = \"x\" # mine\n";
    let home = home(&[("home/.codex/config.toml", config)]);
    program(home.path(), "hosts/codex", CODEX);
    let path = format!("{}:/usr/bin:/bin", home.path().join("hosts").display());
    let run = |args: &[&str]| {
        let shim = home.path().join("bin/air-hook");
        let mut command = airctl(home.path());
        command.env("PATH", &path).env("AIR_HOOK", shim).args(args).output().expect("it runs")
    };
    let args = ["install", "codex", "--hook", "bin/air-hook"];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(1));
    assert!(shown(home.path(), &output).contains("--trust"));
    let output = run(&[&args[..], &["--trust"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", shown(home.path(), &output));
    let told = fs::read_to_string(home.path().join("home/.codex/config.toml")).expect("the file");
    assert!(told.starts_with(config) && told.contains("sha256:1"), "{told}");
    assert_eq!(run(&args).status.code(), Some(0), "it is trusted");
    let output = run(&["install", "--list"]);
    insta::assert_snapshot!("install-list", shown(home.path(), &output));
    assert_eq!(run(&["uninstall", "codex"]).status.code(), Some(0));
    let told = fs::read_to_string(home.path().join("home/.codex/config.toml")).expect("the file");
    assert_eq!(told, config);
    assert!(!home.path().join("home/.codex/hooks.json").exists());
}

#[test]
fn the_doctor_sees_what_keeps_hooks_from_running() {
    let (host, file) = HOSTS[0];
    let theirs = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./mine.sh"}]}]}}"#;
    let home =
        home(&[(file, theirs), ("work/.claude/settings.json", "{\"disableAllHooks\": true}")]);
    assert_eq!(install(home.path(), host).status.code(), Some(0));
    let told = |workspace: &str| {
        let output = run(home.path(), &["doctor", "--workspace", workspace, "--format", "json"]);
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
        let text = told["hosts"][0].to_string();
        text.replace(&home.path().display().to_string(), "[DIR]")
    };
    let there = told("bin");
    assert!(there.contains(r#""faults":[]"#), "{there}");
    assert!(there.contains("Stop in `[DIR]/home/.claude/settings.json`: ./mine.sh"), "{there}");
    assert!(told("work").contains("`disableAllHooks` is true"));
    fs::remove_file(home.path().join("bin/air-hook")).expect("the shim");
    assert!(told("bin").contains("`[DIR]/bin/air-hook` is not there"));
    fs::write(home.path().join(file), theirs).expect("the file");
    assert!(told("bin").contains("no longer in `[DIR]/home/.claude/settings.json`"));
}

#[test]
fn what_becomes_of_a_call_while_air_is_away_is_installed_and_kept() {
    for (host, file) in HOSTS {
        let home = home(&[]);
        let path = home.path().join(file);
        let text = || fs::read_to_string(&path).expect("the file");
        let says = |policy: &str| {
            let text = text();
            if host == "opencode" {
                return text.contains(&format!("const AWAY = \"{policy}\""));
            }
            let count = text.matches(&format!("--away {policy}")).count();
            assert!(count == 0 || count == text.matches("bin/air-hook").count(), "{host}: {text}");
            if policy == "closed" { !text.contains("--away") } else { count > 0 }
        };
        let put = |more: &[&str]| {
            let output =
                run(home.path(), &[&["install", host, "--hook", "bin/air-hook"], more].concat());
            assert_ne!(output.status.code(), Some(2), "{host}: {}", shown(home.path(), &output));
            shown(home.path(), &output)
        };
        put(&[]);
        assert!(says("closed"), "{host}: {}", text());
        for policy in ["critical", "open", "closed", "critical"] {
            put(&["--away", policy]);
            assert!(says(policy), "{host} {policy}: {}", text());
            assert!(put(&[]).contains("unchanged"), "{host} {policy}: it stays");
            let listed = run(home.path(), &["install", "--list", "--format", "json"]);
            let listed: serde_json::Value =
                serde_json::from_slice(&listed.stdout).expect("a document");
            let all = listed["hosts"].as_array().expect("a list");
            let own = all.iter().find(|report| report["host"] == host).expect("the host");
            assert_eq!(own["installed"][0]["away"], policy, "{own}");
        }
        assert_eq!(run(home.path(), &["uninstall", host]).status.code(), Some(0));
        assert!(!path.exists(), "{host}");
    }
}

#[test]
fn over_http_the_host_holds_or_lets_pass() {
    let (host, file) = HOSTS[0];
    let home = home(&[]);
    let text = || fs::read_to_string(home.path().join(file)).expect("the file");
    let url = "http://127.0.0.1:8711/hook/claude-code";
    let http = ["install", host, "--hook", "bin/air-hook", "--http", url];
    let put = |more: &[&str]| run(home.path(), &[&http, more].concat()).status.code();
    assert_ne!(put(&["--away", "open"]), Some(2));
    assert!(!text().contains("onFailure") && text().contains("--away open"), "{}", text());
    assert_ne!(put(&[]), Some(2));
    assert!(!text().contains("onFailure"), "it stays: {}", text());
    assert_ne!(put(&["--away", "closed"]), Some(2));
    assert!(text().contains("onFailure") && !text().contains("--away"), "{}", text());
    let before = text();
    assert_eq!(put(&["--away", "critical"]), Some(2));
    assert_eq!(text(), before);
}
