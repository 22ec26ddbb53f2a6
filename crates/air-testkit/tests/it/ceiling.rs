//! How often the shipped rules take ordinary code for an attack: over files of Python's standard
//! library and of the system's shell scripts, read as if an agent had passed them to a tool.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use air_core::{
    fact::{Facts, Root},
    outcome::Outcome,
    port::Alone,
    rule::{Rule, RuleKind},
    value::Value,
};
use air_facts::{CodeParser, LabelTable};
use serde_json::json;

use crate::classes::{tell, workspace};

/// Files that are read.
const SAMPLE: usize = 1000;
/// How many of them may be an incident.
const CEILING: usize = SAMPLE / 100;
/// Longer files are no call of an agent.
const LONGEST: u64 = 256 * 1024;
/// Makes it a failure where there are not enough files.
const REQUIRE: &str = "AIR_REQUIRE_CEILING";

#[test]
fn ordinary_code_is_no_incident() {
    let mut files = python();
    files.extend(shell());
    files.sort_by_cached_key(|(_, path)| order(path));
    files.truncate(SAMPLE);
    if files.len() < SAMPLE {
        let required = std::env::var(REQUIRE).is_ok_and(|value| !value.is_empty());
        assert!(!required, "{} files, and {REQUIRE} is set", files.len());
        skipped(files.len());
        return;
    }
    let rules = shipped();
    let half = files.len().div_ceil(2);
    let found: Vec<String> = std::thread::scope(|scope| {
        let halves: Vec<_> =
            files.chunks(half).map(|half| scope.spawn(|| incidents(half, &rules))).collect();
        halves.into_iter().flat_map(|half| half.join().expect("no panic")).collect()
    });
    assert!(
        found.len() <= CEILING,
        "{} of {SAMPLE} files are an incident, {CEILING} may be\n{}",
        found.len(),
        found.join("\n")
    );
    told(&found);
}

#[expect(clippy::print_stderr, reason = "what was not tested is to be seen")]
fn skipped(files: usize) {
    eprintln!("skipped: {files} files are not enough; {REQUIRE}=1 makes this a failure");
}

#[expect(clippy::print_stderr, reason = "who mends a rule wants to see what it still flags")]
fn told(found: &[String]) {
    eprintln!("{} of {SAMPLE} files are an incident\n{}", found.len(), found.join("\n"));
}

/// Chance that is always the same: FNV-1a of the last parts of the path, so that the place of an
/// installation does not matter.
fn order(path: &Path) -> u64 {
    let mut last: Vec<_> = path.iter().rev().take(3).collect();
    last.reverse();
    let bytes = last.iter().flat_map(|part| part.as_encoded_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn python() -> Vec<(&'static str, PathBuf)> {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.base_prefix)"]).output();
    let Ok(answer) = asked else { return Vec::new() };
    let prefix = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    let mut found = Vec::new();
    for entry in fs::read_dir(Path::new(&prefix).join("lib")).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("python3.") {
            walk(&entry.path(), &mut found);
        }
    }
    found.into_iter().map(|path| ("python_repl", path)).collect()
}

fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().expect("its kind");
        let installed = name == "site-packages" || name == "dist-packages";
        if kind.is_dir() && !installed {
            walk(&path, found);
        } else if kind.is_file() && path.extension().is_some_and(|end| end == "py") {
            found.push(path);
        }
    }
}

fn shell() -> Vec<(&'static str, PathBuf)> {
    let mut found = Vec::new();
    for directory in ["/usr/bin", "/usr/sbin", "/etc/init.d", "/var/lib/dpkg/info"] {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
            if plain && fs::read(&path).is_ok_and(|text| is_shell(&text)) {
                found.push(("bash", path));
            }
        }
    }
    found
}

fn is_shell(text: &[u8]) -> bool {
    let first = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    first.starts_with("#!")
        && ["sh", "bash", "dash"]
            .iter()
            .any(|name| first.split(['/', ' ', '!']).any(|part| part == *name))
}

/// The AIR rules that ship.
pub(crate) fn shipped() -> Vec<Rule> {
    let mut rules = Vec::new();
    for entry in fs::read_dir(workspace().join("rules")).expect("the rules").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a file of rules");
        rules.extend(air_lang::parse(&text).into_rules());
    }
    rules.retain(|rule| matches!(rule.kind, RuleKind::Incident { .. }));
    assert!(rules.len() > 12, "{} rules", rules.len());
    rules
}

/// The files that are an incident, with the rules that say so and what they were read as.
fn incidents(files: &[(&str, PathBuf)], rules: &[Rule]) -> Vec<String> {
    let parser = CodeParser::new();
    let labels = Arc::new(LabelTable::built_in().expect("the table"));
    let mut found = Vec::new();
    for (tool, path) in files {
        let Ok(text) = fs::read(path) else { continue };
        if fs::metadata(path).is_ok_and(|file| file.len() > LONGEST) {
            continue;
        }
        let text = String::from_utf8_lossy(&text);
        let arguments =
            if *tool == "bash" { json!({"command": text}) } else { json!({"code": text}) };
        let arguments = arguments.as_object().expect("an object");
        let code = parser.read(tool, arguments, &Alone);
        let nothing = || Value::list([]);
        let unseen = || Value::unknown("it was not run");
        let facts = Facts::new(Arc::<LabelTable>::clone(&labels))
            .with(Root::Tool, Value::from(*tool))
            .with(Root::Code, code.to_value(&*labels))
            .with(Root::Taint, nothing())
            .with(Root::History, nothing())
            .with(Root::Effects, unseen());
        let hold = rules.iter().filter(|rule| {
            let condition = rule.decision.sufficient();
            condition.is_some_and(|it| it.evaluate(&facts) == Outcome::Satisfied)
        });
        let names: Vec<String> = hold.map(|rule| format!("@{}", rule.name)).collect();
        if !names.is_empty() {
            let mut line = format!("{}: {}\n", path.display(), names.join(" "));
            if std::env::var_os("AIR_TELL_FACTS").is_some() {
                tell(&code, &mut line);
            }
            found.push(line.trim_end().to_owned());
        }
    }
    found
}
