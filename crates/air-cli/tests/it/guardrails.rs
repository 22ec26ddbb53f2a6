//! `airctl guardrails` and `airctl replay` on what a real run has left.

use std::{fmt::Write as _, fs, path::Path};

use tempfile::TempDir;

use crate::{
    airctl,
    story::{run, said, workspace},
};

const SCRIPT: &str = "examples/scripts/delete-file.toml";
const RULES: &str = "rules/starter.air";

/// A workspace in which one guardrail was learned, and its id.
fn learned() -> (TempDir, String) {
    let dir = workspace();
    let output = run(dir.path(), SCRIPT, RULES).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let listed = tell(dir.path(), &["guardrails"]).0;
    let id = listed.split_whitespace().next().expect("a guardrail").to_owned();
    (dir, id)
}

/// What `airctl` writes in the workspace, to standard output and error.
fn tell(dir: &Path, args: &[&str]) -> (String, String) {
    let output = airctl(dir).args(args).args(["--workspace", "ws"]).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// The text with ids and times that differ each time made the same.
fn same(text: &str, id: &str) -> String {
    let incident = id.trim_start_matches("g-");
    let text = text.replace(id, "g-ID").replace(incident, "iID");
    let words = text.split(' ').map(|word| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        match word {
            _ if digits == 8 && word.contains('-') => "DATE",
            _ if digits == 6 && word.contains(':') => "TIME",
            _ => word,
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_person_decides_and_every_decision_is_a_version() {
    let (dir, id) = learned();
    let rule = tell(dir.path(), &["guardrails", "show", &id]).0;
    let name = rule.lines().nth(1).expect("a name");
    let rule = format!(
        "{name}\ntrigger bash\ndecide \"rm\" in code.strings\ncheck\n  it removes.\nblock\nend\n"
    );
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("a file");
    write("first.air", &rule);
    write("wider.air", &rule.replace("\"rm\" in code.strings", "args.command.contains(\"rm\")"));
    write("broken.air", &rule.replace("decide", "decide 1 +"));
    write("renamed.air", &rule.replace("rule @", "rule @other_"));
    let table: [&[&str]; 16] = [
        &["replace", &id, "first.air"],
        &["shadow", &id, "--why", "it is too wide"],
        &["shadow", &id],
        &["promote", &id],
        &["retire", &id, "--why", "token=sk-aaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
        &["rollback", &id],
        &["rollback", &id, "--to", "9"],
        &["replace", &id, "wider.air", "--why", "the name is another"],
        &["diff", &id],
        &["diff", &id, "2", "3"],
        &["replace", &id, "broken.air"],
        &["replace", &id, "renamed.air"],
        &["rollback", &id, "--to", "2"],
        &["list"],
        &["show", "x"],
        &["export", "--to", "cedar", &id],
    ];
    let mut told = String::new();
    for args in table {
        let mut all = vec!["guardrails"];
        all.extend(args);
        let (out, err) = tell(dir.path(), &all);
        writeln!(told, "$ {}\n{out}{err}", all.join(" ")).expect("a string");
    }
    insta::assert_snapshot!(same(&told, &id));
    let json = tell(dir.path(), &["guardrails", "history", &id, "--format", "json"]).0;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let versions = json["guardrails"].as_array().expect("versions");
    let kinds: Vec<_> = versions
        .iter()
        .map(|version| version["provenance"]["kind"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(
        kinds,
        [
            "synthesized",
            "edited",
            "decided",
            "decided",
            "decided",
            "rolled_back",
            "edited",
            "rolled_back"
        ]
    );
}

/// The structure of what is exported is a snapshot elsewhere; where the engines are installed, they
/// are asked as well.
#[test]
fn exported_policies_are_accepted_by_their_engines() {
    let (dir, id) = learned();
    let rule = "rule @x\ntrigger bash\ndecide \"rm\" in code.strings && !args.command.endsWith(\"*\")\n\
                check\n  it removes.\nblock\nend\n";
    let name = tell(dir.path(), &["guardrails", "show", &id]).0;
    let name = name.lines().nth(1).expect("a name").to_owned();
    fs::write(dir.path().join("x.air"), rule.replace("rule @x", &name)).expect("a file");
    tell(dir.path(), &["guardrails", "replace", &id, "x.air"]);
    let engines: [(&str, &str, &[&str]); 2] = [
        ("rego", "opa", &["check", "--strict", "exported.rego"]),
        ("cedar", "cedar", &["check-parse", "--policies", "exported.cedar"]),
    ];
    for (language, engine, args) in engines {
        let (out, err) = tell(dir.path(), &["guardrails", "export", "--to", language]);
        assert_eq!(err, "", "{language}");
        fs::write(dir.path().join(format!("exported.{language}")), out).expect("a file");
        let asked = std::process::Command::new(engine).args(args).current_dir(dir.path()).output();
        match asked {
            Ok(output) => assert!(output.status.success(), "{engine}: {}", said(&output)),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{engine}"),
        }
    }
}

#[test]
fn a_guardrail_in_shadow_lets_the_call_pass_and_a_promoted_one_does_not() {
    let (dir, id) = learned();
    for (word, expected) in [("shadow", "detected"), ("promote", "blocked")] {
        tell(dir.path(), &["guardrails", word, &id]);
        let output = run(dir.path(), SCRIPT, RULES).output().expect("it runs");
        assert!(said(&output).contains(expected), "{word}: {}", said(&output));
    }
}

#[test]
fn a_broken_guardrail_is_said_and_its_last_good_version_stays_in_force() {
    let (dir, id) = learned();
    tell(dir.path(), &["guardrails", "promote", &id]);
    let state = dir.path().join("home/.local/share/air");
    let file = walk(&state).into_iter().find(|path| path.ends_with("journal/journal.sqlite"));
    let sql = format!(
        "INSERT INTO guardrails (id, version, format, body) SELECT id, 2, 1, \
         replace(replace(body, '\"version\":1', '\"version\":2'), 'decide', 'decide 1 +') \
         FROM guardrails WHERE id = '{id}'"
    );
    let python =
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()";
    let done = std::process::Command::new("python3")
        .args(["-c", python])
        .arg(file.expect("a journal"))
        .arg(sql)
        .output()
        .expect("python3 runs");
    assert!(done.status.success(), "{}", said(&done));
    let output = run(dir.path(), SCRIPT, RULES).output().expect("it runs");
    let text = said(&output);
    let warning = format!("warning: guardrail `{id}` version 2 cannot be used: ");
    assert!(text.contains(&warning) && text.contains("version 1 stays in force"), "{text}");
    assert!(text.contains("blocked"), "{text}");
    assert!(tell(dir.path(), &["guardrails"]).1.contains(&warning));
    assert!(tell(dir.path(), &["doctor"]).0.contains("broken   guardrail"));
    let (out, err) = tell(dir.path(), &["guardrails", "promote", &id]);
    assert!(err.contains("is broken"), "{out}{err}");
    tell(dir.path(), &["guardrails", "rollback", &id]);
    assert_eq!(tell(dir.path(), &["guardrails"]).1, "");
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        if entry.path().is_dir() {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn what_rules_would_have_changed_is_shown() {
    let (dir, id) = learned();
    let second = run(dir.path(), SCRIPT, RULES).output().expect("it runs");
    assert!(said(&second).contains("blocked"), "{}", said(&second));
    let lists = "rule @lists\ntrigger bash\ndecide code.calls.exists(c, c.name == \"ls\")\ncheck\n  \
                 it lists.\nwarn\nend\n";
    let blocks = lists.replace("warn", "block");
    for (name, text) in [("warns.air", lists), ("blocks.air", &blocks), ("none.air", "# none\n")] {
        fs::write(dir.path().join(name), text).expect("a file");
    }
    let table: [&[&str]; 6] = [
        &["replay", "--candidate", "blocks.air"],
        &["replay", "--candidate", "warns.air", "--all"],
        &["replay", "--rules", "none.air"],
        &["replay", "--guardrail", &id],
        &["replay"],
        &["replay", "--session", "x", "--rules", "none.air"],
    ];
    let mut told = String::new();
    for args in table {
        let (out, err) = tell(dir.path(), args);
        writeln!(told, "$ {}\n{out}{err}", args.join(" ")).expect("a string");
    }
    let json = tell(dir.path(), &["replay", "--rules", "none.air", "--all", "--format", "json"]).0;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    for step in json["steps"].as_array().expect("steps") {
        let session = step["session"].as_str().expect("a session");
        let name = if step["incident"].is_null() { "second" } else { "first" };
        if step["step"] == 2 {
            told = told.replace(session, name);
        }
    }
    insta::assert_snapshot!(same(&told, &id));
    let code = |args: &[&str]| {
        let mut command = airctl(dir.path());
        let output = command.args(args).args(["--workspace", "ws"]).output().expect("it runs");
        output.status.code()
    };
    assert_eq!(code(&["replay", "--guardrail", &id, "--exit-code"]), Some(1));
    assert_eq!(code(&["replay", "--candidate", "warns.air", "--exit-code"]), Some(0));
}
