//! An agent in a whole root file system, with services beside it.

use std::fs;

use crate::{airctl, directory, story::said};

const SETTINGS: &str = "system = true
[environment]
GREETING = 'hello'
[[service]]
name = 'databased'
argv = ['/usr/bin/sleep', 'infinity']
";
const RULES: &str = "rule @service_ended
trigger python_repl, bash
severity high
decide effects.services.exists(s, s.ran && !s.runs)
check
  a service that ran before the call does not run any more.
respond
  restart
remediate
  start the service again, then confirm that it runs.
end
";
const SCRIPT: &str = "task = 'look after the machine'
[[step]]
plan = 'See what runs.'
tool = 'bash'
args = { command = 'pgrep -x databased >/dev/null && echo $GREETING > /srv/greeting' }
[[step]]
plan = 'Make room.'
tool = 'bash'
args = { command = 'pkill -x databased; sleep 0.1' }
";

#[test]
fn a_service_that_was_ended_is_started_again() {
    let files = [
        ("air.toml", SETTINGS),
        ("rules.air", RULES),
        ("script.toml", SCRIPT),
        ("image/etc/hostname", "image\n"),
        ("image/srv/README", "served\n"),
    ];
    let dir = directory(&files);
    let mut command = airctl(dir.path());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let arguments = ["--exit-code", "--workspace", "image", "--script", "script.toml"];
    let output = command.arg("run").args(arguments).args(["--rules", "rules.air"]).output();
    let output = output.expect("it runs");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    for word in ["started databased", "holds no longer", "recovered", "verified"] {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
    let greeting = fs::read_to_string(dir.path().join("image/srv/greeting")).expect("a file");
    assert_eq!(greeting, "hello\n");
}
