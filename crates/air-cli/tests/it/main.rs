//! The binary as a user meets it: exit code, standard output, standard error.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod bench;
mod bench_model;
mod beside;
mod check;
mod conformance;
mod convert;
mod corpus;
mod crash;
mod daemon;
mod drafts;
mod examples;
mod fmt;
mod guardrails;
mod install;
mod kill;
mod model;
mod other;
mod rule_tests;
mod rules;
mod starter;
mod story;
mod system;
mod undo;

use std::{fmt::Write as _, fs, path::Path};

use tempfile::TempDir;

/// One use of the binary.
#[derive(Default)]
struct Case<'c> {
    /// Names its snapshot.
    name: &'c str,
    /// Files that are there, by path and content.
    files: &'c [(&'c str, &'c str)],
    /// What follows `airctl`.
    args: &'c [&'c str],
    stdin: &'c str,
    /// Environment variables beside `HOME`, which is the directory `home`.
    env: &'c [(&'c str, &'c str)],
    /// Files that are shown afterwards.
    show: &'c [&'c str],
}

/// Runs each case in a directory of its own and compares what a user sees with its snapshot.
#[track_caller]
fn check_all(group: &str, cases: &[Case<'_>]) {
    for case in cases {
        let directory = directory(case.files);
        let name = format!("{group}-{}", case.name);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, transcript(case, directory.path()));
        });
    }
}

/// A new directory with these files.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    directory
}

/// The binary, in `directory`, with an environment that is always the same.
fn airctl(directory: &Path) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_airctl"));
    command.current_dir(directory).env_clear().env("HOME", directory.join("home"));
    command
}

fn transcript(case: &Case<'_>, directory: &Path) -> String {
    let mut command = airctl(directory);
    let env = case.env.iter().copied();
    let output = command.args(case.args).envs(env).write_stdin(case.stdin).output();
    let output = output.expect("the binary runs");
    let mut text = format!("$ airctl {}\n", case.args.join(" "));
    let code = output.status.code().expect("an exit code");
    writeln!(text, "exit code {code}").expect("a string");
    for (title, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            let shown = String::from_utf8_lossy(bytes);
            writeln!(text, "--- {title}\n{}", shown.trim_end()).expect("a string");
        }
    }
    for name in case.show {
        let shown = fs::read_to_string(directory.join(name)).expect("the file");
        writeln!(text, "--- {name}\n{}", shown.trim_end()).expect("a string");
    }
    text.replace(&directory.display().to_string(), "[DIR]")
}
