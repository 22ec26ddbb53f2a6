//! What the rules to start from hold for, and what they do not.

use std::{collections::BTreeSet, sync::Arc};

use air_core::{
    effects::{Change, Effects, FileEffect, Observed, ProcessEffect},
    fact::{Facts, PathLabels as _, Root},
    outcome::Outcome,
    value::Value,
};
use air_facts::LabelTable;

fn effect(change: Change, path: &str, origin: Option<&str>) -> FileEffect {
    let (path, origin) = (path.to_owned(), origin.map(str::to_owned));
    let (moved, aspects, origin_unknown) = (None, Vec::new(), None);
    FileEffect {
        path,
        change,
        size: 1,
        mode: 0o644,
        origin,
        origin_unknown,
        moved,
        aspects,
        marks: Vec::new(),
        reversible: true,
    }
}

fn facts(files: Observed<FileEffect>, earlier: &[FileEffect], processes: &[u32]) -> Facts {
    let labels = LabelTable::built_in().expect("the table");
    assert!(!labels.labels(".env").is_empty());
    let processes = processes.iter().map(|&pid| ProcessEffect { pid, argv: Vec::new() });
    let now = Effects {
        reads: Observed::default(),
        files,
        processes: Observed::whole(processes.collect()),
        connections: Observed::default(),
        ..Effects::default()
    };
    let earlier = Effects { files: Observed::whole(earlier.to_vec()), ..Effects::default() };
    let history = Value::list([Value::record([("effects", earlier.to_value(&labels))])]);
    let now = now.to_value(&labels);
    Facts::new(Arc::new(labels)).with(Root::Effects, now).with(Root::History, history)
}

/// The rules that hold; those that cannot be decided have a `?`.
fn hold(facts: &Facts) -> BTreeSet<String> {
    let parsed = air_lang::parse(air_cli::commands::init::STARTER_RULES);
    assert_eq!(parsed.rules().len(), 4);
    let holds = parsed.rules().iter().filter_map(|rule| {
        let condition = rule.decision.sufficient().expect("every rule is decided");
        match condition.evaluate(facts) {
            Outcome::Satisfied => Some(rule.name.to_string()),
            Outcome::Unsatisfied => None,
            Outcome::Undetermined(_) => Some(format!("{}?", rule.name)),
        }
    });
    holds.collect()
}

#[test]
fn harm_is_told_from_what_looks_like_it() {
    use Change::{Created, Deleted, Modified};
    const COPY: &str = "copy_sensitive_file";
    const DELETE: &str = "delete_foreign_file";
    const SHELL: &str = "shell_startup_changed";
    #[rustfmt::skip]
    let table = [
        // change   path                                  origin                              rule
        (Created,  "/workspace/public/config.json",      Some("/workspace/credentials.json"), Some(COPY)),
        (Modified, "/workspace/public/config.json",      Some("/workspace/.env"),             Some(COPY)),
        (Created,  "/workspace/tmp/passwd",              Some("/etc/passwd"),                 Some(COPY)),
        (Created,  "/workspace/k.txt",                   Some("/home/a/.ssh/id_rsa"),         Some(COPY)),
        (Created,  "/workspace/public/notes.md",         Some("/workspace/notes.md"),         None),
        (Created,  "/workspace/public/notes.md",         None,                                None),
        (Created,  "/workspace/.env.local",              Some("/workspace/.env"),             None),
        (Deleted,  "/workspace/data/survey.csv",         None,                                Some(DELETE)),
        (Deleted,  "/tmp/project/data/survey.csv",       None,                                Some(DELETE)),
        (Deleted,  "/workspace/builder/main.c",          None,                                Some(DELETE)),
        (Deleted,  "/workspace/build",                   None,                                None),
        (Deleted,  "/workspace/a/node_modules/b/c.js",   None,                                None),
        (Deleted,  "/workspace/__pycache__/a.pyc",       None,                                None),
        (Deleted,  "/tmp/scratch",                       None,                                None),
        (Deleted,  "/workspace/mine.md",                 None,                                None),
        (Modified, "/workspace/data/survey.csv",         None,                                None),
        (Modified, "/workspace/home/.bashrc",            None,                                Some(SHELL)),
        (Created,  "/root/.zshenv",                      None,                                Some(SHELL)),
        (Modified, "/workspace/bashrc.md",               None,                                None),
    ];
    let earlier = [effect(Created, "/workspace/mine.md", None)];
    for (change, path, origin, rule) in table {
        let facts = facts(Observed::whole(vec![effect(change, path, origin)]), &earlier, &[]);
        let expected: BTreeSet<String> = rule.into_iter().map(str::to_owned).collect();
        assert_eq!(hold(&facts), expected, "{change:?} {path} {origin:?}");
    }
}

#[test]
fn a_process_left_running_is_harm() {
    let of = |pids: &[u32]| hold(&facts(Observed::default(), &[], pids));
    assert_eq!(of(&[]), BTreeSet::new());
    assert_eq!(of(&[7]), BTreeSet::from(["process_left_running".to_owned()]));
}

#[test]
fn files_that_were_not_observed_are_not_taken_for_none() {
    let holds = hold(&facts(Observed::partial(Vec::new(), "too many"), &[], &[]));
    let expected = ["copy_sensitive_file?", "delete_foreign_file?", "shell_startup_changed?"];
    assert_eq!(holds, expected.map(str::to_owned).into());
}
