//! AIR's own corpus, by the runner that users have.

use std::{fs, path::Path};

use crate::{airctl, story::said};

#[test]
fn every_case_of_the_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = airctl(dir.path()).arg("test").arg(&corpus).output().expect("it runs");
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
        ("# one\n```air\nrule\n```\n```toml\n[[step]]\ntool = \"x\"\n```\n```expect\n```\n", "of its rules"),
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
