//! AIR's own corpus, by the runner that users have.

use std::{fs, path::Path};

use crate::{airctl, story::said};

#[test]
fn every_case_of_the_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let dir = tempfile::tempdir().expect("a temporary directory");
    // What is in `code` is measured where the rules are, and not all of it is found.
    let entries = fs::read_dir(&corpus).expect("the corpus").flatten().map(|entry| entry.path());
    let tables = entries.filter(|path| !path.ends_with("code") && !path.ends_with("intents.toml"));
    let output = airctl(dir.path()).arg("test").args(tables).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn a_case_that_does_not_hold_is_a_finding_and_can_be_updated() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let case = "# one\n```toml\n[[step]]\ntool = \"bash\"\n```\n```expect\nstep 1: block\n```\n";
    fs::write(dir.path().join("case.md"), case).expect("a case");
    let test = |args: &[&str]| {
        let output = airctl(dir.path()).args(["test", "case.md"]).args(args).output();
        output.expect("it runs")
    };
    let failed = test(&[]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(said(&failed).contains("+ step 1: allow, continue"), "{}", said(&failed));
    assert_eq!(test(&["--update"]).status.code(), Some(0));
    assert_eq!(test(&[]).status.code(), Some(0));
}

#[test]
fn a_suite_that_tests_nothing_is_refused() {
    #[rustfmt::skip]
    let table = [
        ("# one\n", "no case was found"),
        ("# one\n```toml\n[[step]]\ntool = \"bash\"\n```\n", "no `expect` block"),
        ("# one\n```toml\n[[step]]\ntol = 1\n```\n```expect\n```\n", "line 4"),
        ("# one\n```air\nrule\n```\n```toml\n[[step]]\ntool = \"x\"\n```\n```expect\n```\n", "more in its rules"),
    ];
    for (text, expected) in table {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("case.md"), text).expect("a case");
        let output = airctl(dir.path()).args(["test", "case.md"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let said = said(&output).replace("case.md:4", "line 4");
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn the_examples_of_the_documentation_hold() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/testing-rules.md");
    let page = fs::read_to_string(page).expect("the page");
    let examples: Vec<&str> = page
        .split("````markdown\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("````").map(|(example, _)| example))
        .collect();
    assert_eq!(examples.len(), 2);
    let dir = tempfile::tempdir().expect("a temporary directory");
    for example in examples {
        fs::write(dir.path().join("case.md"), example).expect("a case");
        let output = airctl(dir.path()).args(["test", "case.md"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
}

#[test]
fn rules_come_from_files_beside_the_suite() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let rule = "rule @r\ntrigger bash\ndecide args.command == \"x\"\ncheck\n  x.\nblock\nend\n";
    let case = "# one\n```rules-from\n../rules/\n```\n```flagged\n[[case]]\nname = \"x\"\n\
                tool = \"bash\"\nargs = { command = \"x\" }\n```\n";
    for (path, text) in [("rules/r.air", rule), ("tests/case.md", case)] {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    let test = || airctl(dir.path()).args(["test", "tests"]).output().expect("it runs");
    assert_eq!(test().status.code(), Some(0), "{}", said(&test()));
    fs::remove_file(dir.path().join("rules/r.air")).expect("removed");
    assert_eq!(test().status.code(), Some(2));
    assert!(said(&test()).contains("tests/case.md:3: "), "{}", said(&test()));
}
