//! What Claude Code's shell did to the files is taken back.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Output},
};

use air_testkit::server::{Reply, Script};

use crate::{
    clients::Client,
    stage::{Setup, Stage},
};

/// Nothing of what is done here is an incident.
const RULE: &str = "rule @never
trigger shell.exec
severity low
decide args.command == \"never\"
check
  it never holds.
remediate
  nothing.
end
";

fn project() -> Option<Stage> {
    let client = Client::Claude;
    let script = Script::default()
        .turn(client.shell("rm one.txt two.txt run.sh; echo rewritten > notes.txt"))
        .otherwise(Reply::text("Done."));
    let stage = Stage::set_up(client, RULE, Setup { away: true, ..Setup::default() }, script)?;
    let project = stage.project();
    for (name, text) in [("one.txt", "one\n"), ("two.txt", "two\n"), ("run.sh", "#!/bin/sh\n")] {
        fs::write(project.join(name), text).expect("written");
    }
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.join("run.sh"), mode).expect("set");
    let ran = stage.task("clean up", None);
    assert!(!stage.has("one.txt") && !stage.has("two.txt") && !stage.has("run.sh"), "{}", ran.said);
    assert_eq!(read(&stage, "notes.txt"), "rewritten\n", "{}", ran.said);
    Some(stage)
}

fn read(stage: &Stage, name: &str) -> String {
    fs::read_to_string(stage.project().join(name)).unwrap_or_default()
}

fn undo(stage: &Stage) -> (Output, String) {
    let mut command: Command = stage.command(env!("CARGO_BIN_EXE_airctl").as_ref());
    let output = command.arg("undo").output().expect("airctl runs");
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output, String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn what_claude_code_deleted_and_rewrote_is_back() {
    let Some(stage) = project() else { return };
    let (output, said) = undo(&stage);
    assert!(output.status.success(), "{said}");
    assert_eq!(read(&stage, "one.txt"), "one\n", "{said}");
    assert_eq!(read(&stage, "two.txt"), "two\n", "{said}");
    assert_eq!(read(&stage, "notes.txt"), "keep me\n", "{said}");
    assert_eq!(read(&stage, "run.sh"), "#!/bin/sh\n", "{said}");
    let mode = fs::metadata(stage.project().join("run.sh")).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o755, "{said}");
}

#[test]
fn what_somebody_has_edited_since_stays() {
    let Some(stage) = project() else { return };
    fs::write(stage.project().join("notes.txt"), "a person's own\n").expect("written");
    let (output, said) = undo(&stage);
    assert!(!output.status.success(), "it is told: {said}");
    assert!(said.contains("notes.txt"), "it says which: {said}");
    assert_eq!(read(&stage, "notes.txt"), "a person's own\n", "{said}");
    assert_eq!(read(&stage, "one.txt"), "one\n", "the others are back: {said}");
}
