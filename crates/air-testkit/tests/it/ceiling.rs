//! How often the shipped rules take ordinary code for an attack: over files of Python's standard
//! library and of the system's shell scripts, read as if an agent had passed them to a tool.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::{BufRead as _, BufReader, Read as _},
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
const LONGEST: u64 = 128 * 1024;
/// Makes it a failure where there are not enough files.
const REQUIRE: &str = "AIR_REQUIRE_CEILING";
/// Of the scripts that packages run as they are installed and removed, this many of a thousand may
/// be an incident: they are there to change the system, so most of these findings are right.
const MAINTAINERS: usize = 270;
/// Of ordinary files, this many of a thousand may be an incident of a rule about what a program that
/// the agent wrote is like.
const DEFECTS: usize = 5;
/// Libraries load pickles, run text that they are given, and their tests have keys twice on purpose:
/// these are there, and rightly said.
const REAL: [(&str, usize); 4] = [
    ("@unsafe_deserialization", 35),
    ("@data_evaluated", 20),
    ("@system_monitored", 12),
    ("@duplicate_key", 8),
];
/// Too many, and known: a large text that a test makes is taken for one that is sent to somebody.
const KNOWN_WRONG: [(&str, usize); 1] = [("@amplification", 6)];
/// Fewer of them are no measure.
const ENOUGH: usize = 100;

#[test]
fn ordinary_code_is_no_incident() {
    let files = ordinary();
    if let Some(found) = measured(&files, SAMPLE, &shipped(&["starter.air", "attacks.air"])) {
        assert!(found.len() <= CEILING, "{CEILING} may be\n{}", told(&found, files.len()));
    }
}

/// That pack is for agents that stay in their directory, and ordinary programs read the system's files;
/// what it says of the quality of a program has to hold for these as well.
#[test]
fn ordinary_code_has_few_defects() {
    let files = ordinary();
    let mut rules = shipped(&["code.air"]);
    rules.retain(|rule| rule.source.contains("code.defects"));
    if let Some(found) = measured(&files, SAMPLE, &rules) {
        let mut by: BTreeMap<&str, usize> = BTreeMap::new();
        for rule in found.iter().flat_map(|file| &file.rules) {
            *by.entry(rule).or_default() += 1;
        }
        by.retain(|rule, count| {
            let known = REAL.iter().chain(&KNOWN_WRONG).find(|(name, _)| name == rule);
            *count > known.map_or(DEFECTS, |(_, most)| *most)
        });
        assert!(by.is_empty(), "{DEFECTS} a rule may be: {by:?}\n{}", told(&found, files.len()));
    }
}

fn ordinary() -> Vec<(&'static str, PathBuf)> {
    let mut files = programs();
    files.extend(python());
    files.retain(|(_, path)| fs::metadata(path).is_ok_and(|file| file.len() <= LONGEST));
    files.sort_by_cached_key(|(_, path)| order(path));
    files.truncate(SAMPLE);
    files
}

#[test]
fn scripts_of_packages_are_incidents_no_more_often_than_known() {
    let mut files = Vec::new();
    scripts(Path::new("/var/lib/dpkg/info"), &mut files);
    if let Some(found) = measured(&files, ENOUGH, &shipped(&["starter.air", "attacks.air"])) {
        let most = files.len() * MAINTAINERS / 1000;
        assert!(found.len() <= most, "{most} may be\n{}", told(&found, files.len()));
    }
}

/// The files that are an incident, where there are at least `enough` of them.
fn measured(
    files: &[(&'static str, PathBuf)],
    enough: usize,
    rules: &[Rule],
) -> Option<Vec<Flagged>> {
    if files.len() < enough {
        let required = std::env::var(REQUIRE).is_ok_and(|value| !value.is_empty());
        assert!(!required, "{} files, and {REQUIRE} is set", files.len());
        say(&format!(
            "skipped: {} files are not enough; {REQUIRE}=1 makes this a failure",
            files.len()
        ));
        return None;
    }
    let half = files.len().div_ceil(2);
    let found: Vec<Flagged> = std::thread::scope(|scope| {
        let halves: Vec<_> =
            files.chunks(half).map(|half| scope.spawn(|| incidents(half, rules))).collect();
        halves.into_iter().flat_map(|half| half.join().expect("no panic")).collect()
    });
    say(&told(&found, files.len()));
    Some(found)
}

#[expect(clippy::print_stderr, reason = "a measure is to be seen")]
fn say(text: &str) {
    eprintln!("{text}");
}

/// A file that is an incident.
struct Flagged {
    rules: Vec<String>,
    /// Its path, and what it was read as where that was asked for.
    told: String,
}

/// How many files each rule flags, and which.
fn told(found: &[Flagged], files: usize) -> String {
    let mut by: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in found.iter().flat_map(|file| &file.rules) {
        *by.entry(rule).or_default() += 1;
    }
    let mut text = format!("{} of {files} files are an incident\n", found.len());
    for (rule, count) in by {
        let _ = writeln!(text, "{rule:<24} {count:>3}");
    }
    for file in found {
        let _ = writeln!(text, "{}: {}", file.rules.join(" "), file.told);
    }
    text
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

/// Scripts that somebody runs, or a service does; what packages run is none.
fn programs() -> Vec<(&'static str, PathBuf)> {
    let mut found = Vec::new();
    for directory in ["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/share", "/etc"] {
        scripts(Path::new(directory), &mut found);
    }
    // Below `/usr/share` are examples and templates too.
    let named = |path: &Path| path.extension().is_some_and(|end| end == "sh");
    found.retain(|(_, path)| !path.starts_with("/usr/share") || named(path));
    found
}

/// The shell scripts of a directory and below.
fn scripts(directory: &Path, found: &mut Vec<(&'static str, PathBuf)>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().expect("its kind"));
        if kind.is_dir() && path != Path::new("/usr/share/doc") {
            scripts(&path, found);
        } else if kind.is_file() && is_shell(&path) {
            found.push(("bash", path));
        }
    }
}

fn is_shell(path: &Path) -> bool {
    let mut first = Vec::new();
    let opened = fs::File::open(path).map(|file| BufReader::new(file.take(256)));
    if opened.and_then(|mut file| file.read_until(b'\n', &mut first)).is_err() {
        return false;
    }
    let first = String::from_utf8_lossy(&first);
    first.starts_with("#!")
        && ["sh", "bash", "dash"]
            .iter()
            .any(|name| first.split(['/', ' ', '!', '\n']).any(|part| part == *name))
}

/// The AIR rules of packs that ship.
fn shipped(packs: &[&str]) -> Vec<Rule> {
    let mut rules = Vec::new();
    for pack in packs {
        let text = fs::read_to_string(workspace().join("rules").join(pack));
        rules.extend(air_lang::parse(&text.expect("a file of rules")).into_rules());
    }
    rules.retain(|rule| matches!(rule.kind, RuleKind::Incident { .. }));
    assert!(rules.len() > 12, "{} rules", rules.len());
    rules
}

/// The files that are an incident, with the rules that say so and what they were read as.
fn incidents(files: &[(&str, PathBuf)], rules: &[Rule]) -> Vec<Flagged> {
    let parser = CodeParser::new();
    let labels = Arc::new(LabelTable::built_in().expect("the table"));
    let mut found = Vec::new();
    for (tool, path) in files {
        let Ok(text) = fs::read(path) else { continue };
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
            let mut line = format!("{}\n", path.display());
            if std::env::var_os("AIR_TELL_FACTS").is_some() {
                tell(&code, &mut line);
            }
            found.push(Flagged { rules: names, told: line.trim_end().to_owned() });
        }
    }
    found
}
