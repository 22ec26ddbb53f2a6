//! A rule that quotes a case finds that case only.

use std::{collections::BTreeSet, fs};

use air_core::port::Alone;
use air_facts::CodeParser;
use air_testkit::suite::{Expect, Verdict};

use crate::classes::{classes, workspace};

#[test]
fn no_rule_quotes_a_path_a_host_or_a_name_of_the_corpus() {
    let known = names_of_cases();
    let mut quoted = Vec::new();
    for entry in fs::read_dir(workspace().join("rules")).expect("the rules").flatten() {
        // It is measured by cases of its own, and looks for words that commands have, as any case has.
        if entry.file_name() == "coding.air" {
            continue;
        }
        let text = fs::read_to_string(entry.path()).expect("a file of rules");
        for literal in literals(&text) {
            for part in literal.split(['|', '(', ')', '^', '$', '\\']) {
                if known.contains(part) {
                    quoted.push(format!("{}: {literal:?}", entry.path().display()));
                }
            }
        }
    }
    assert!(known.len() > 200, "{} names", known.len());
    assert!(quoted.is_empty(), "{}", quoted.join("\n"));
}

/// String literals of conditions; text of `check` and comments are no conditions.
fn literals(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let clause = line.split(' ').next().unwrap_or_default();
        inside = match clause {
            "decide" | "when" | "evidence" | "verify" => true,
            "" => inside,
            _ => false,
        };
        if inside && !line.starts_with('#') {
            found.extend(line.split('"').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

/// What is special to single spellings: paths, their last parts, hosts, targets, and names that
/// sources give.
fn names_of_cases() -> BTreeSet<String> {
    let parser = CodeParser::new();
    let mut names = BTreeSet::new();
    for case in classes().into_values().flatten() {
        if !matches!(case.expect, Expect::Verdict { verdict: Verdict::Flagged, .. }) {
            continue;
        }
        for step in &case.script.step {
            let code = parser.read(&step.tool, &step.args, &Alone);
            // Directories at the top are those of every system.
            let own = |path: &&String| path.rfind('/').is_none_or(|slash| slash > 0);
            names.extend(code.paths.iter().filter(own).cloned());
            let below = code.paths.iter().filter(|path| path.trim_matches('/').contains('/'));
            names.extend(below.filter_map(|path| path.rsplit('/').next()).map(str::to_owned));
            names.extend(code.urls);
            let things = code.operations.into_iter().filter(|done| done.place().is_some());
            names.extend(things.map(|done| done.target));
            names.extend(air_testkit::rename::names(step));
        }
    }
    // Labels are what rules are to speak of.
    let table = fs::read_to_string(workspace().join("crates/air-facts/labels.toml"));
    let table = table.expect("the table");
    names.retain(|name| {
        name.chars().any(char::is_alphanumeric)
            && !table.contains(&format!("labels = [\"{name}\"]"))
    });
    names
}
