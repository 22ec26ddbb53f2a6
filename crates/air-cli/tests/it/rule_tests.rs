//! `airctl test`: coverage, mutation, watching.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    sync::mpsc,
    time::Duration,
};

use crate::{Case, airctl, check_all, directory};

const RULES: &str = r#"rule @removal
trigger bash
decide args.command.startsWith("rm") && !args.command.contains("build")
check
  the step removes files.
block
end

rule @created
trigger bash
when effects.files.exists(f, f.change == "created")
evidence effects.files.exists(f, f.change == "created" && f.path.contains("/public/"))
check
  a file was published.
respond
  quarantine
  rollback
remediate
  delete it.
end
"#;

const SUITE: &str = r#"# Cases

```rules-from
rules.air
```

```flagged
[default]
tool = "bash"

[[case]]
name = "removed"
args = { command = "rm x" }

[[case]]
name = "published"
args = { command = "touch public/x" }
effects.files = [{ path = "/w/public/x", change = "created" }]
```

```clean
[[case]]
name = "listed"
tool = "bash"
args = { command = "ls" }
```
"#;

#[test]
fn what_no_case_exercises_or_notices_is_shown() {
    let files = [("rules.air", RULES), ("case.md", SUITE)];
    let failing = [("rules.air", RULES), ("case.md", &SUITE.replace("rm x", "ls x"))];
    #[rustfmt::skip]
    let cases = [
        Case { name: "coverage",         args: &["test", "case.md", "--coverage"], files: &files, ..Case::default() },
        Case { name: "coverage-low",     args: &["test", "case.md", "--min-coverage", "90"], files: &files, ..Case::default() },
        Case { name: "coverage-json",    args: &["test", "case.md", "--coverage", "--format", "json"], files: &files, ..Case::default() },
        Case { name: "mutate",           args: &["test", "case.md", "--mutate"], files: &files, ..Case::default() },
        Case { name: "mutate-low",       args: &["test", "case.md", "--min-score", "100", "--max-mutants", "4"], files: &files, ..Case::default() },
        Case { name: "mutate-json",      args: &["test", "case.md", "--mutate", "--max-mutants", "3", "--format", "json"], files: &files, ..Case::default() },
        Case { name: "mutate-a-failure", args: &["test", "case.md", "--mutate"], files: &failing, ..Case::default() },
        Case { name: "percent",          args: &["test", "case.md", "--min-score", "101"], files: &files, ..Case::default() },
    ];
    check_all("test", &cases);
}

/// Ends the process with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lines(stream: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (say, said) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let _ = say.send(line);
        }
    });
    said
}

fn wait(said: &mpsc::Receiver<String>, wanted: &str) {
    let mut before = Vec::new();
    loop {
        let line = said.recv_timeout(Duration::from_mins(1));
        let line = line.unwrap_or_else(|_| panic!("no `{wanted}` in {before:?}"));
        if line.contains(wanted) {
            return;
        }
        before.push(line);
    }
}

#[test]
fn a_change_of_a_test_or_rule_file_runs_the_tests_again() {
    let directory = directory(&[("rules.air", RULES), ("case.md", SUITE)]);
    let mut command = std::process::Command::new(airctl(directory.path()).get_program());
    command.args(["test", "case.md", "--watch"]).current_dir(directory.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().expect("it starts"));
    let out = lines(running.0.stdout.take().expect("its output"));
    let err = lines(running.0.stderr.take().expect("its errors"));
    let until = |wanted: &str| wait(&out, wanted);
    let file = |name: &str, text: &str| {
        wait(&err, "waiting for a change");
        fs::write(directory.path().join(name), text).expect("a file");
    };
    until("3 passed, 0 failed");
    file("rules.air", &RULES.replace("\"rm\"", "\"unlink\""));
    until("2 passed, 1 failed");
    file("case.md", "# nothing\n");
    wait(&err, "no case was found");
    file("case.md", &SUITE.replace("rm x", "unlink x"));
    until("3 passed, 0 failed");
}
