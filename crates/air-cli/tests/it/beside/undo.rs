//! `airctl undo` beside a host.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Output};

use serde_json::Value;

use super::machine::{Agent, Machine, RULES};
use crate::story::{said, tree};

#[track_caller]
fn ends(output: &Output, code: i32) -> String {
    let text = said(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

fn result<'d>(document: &'d Value, name: &str) -> &'d Value {
    let paths = document["paths"].as_array().expect("a list");
    let found = paths.iter().find(|item| item["path"].as_str().unwrap_or("").ends_with(name));
    found.unwrap_or_else(|| panic!("no {name} in {document:#}"))
}

#[test]
fn what_an_agent_deleted_and_rewrote_comes_back_while_it_goes_on() {
    let machine = Machine::attended(RULES);
    let project = machine.path("project");
    fs::set_permissions(project.join("src/a"), fs::Permissions::from_mode(0o640)).expect("a mode");
    let before = tree(&project);
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "rm -r src; sed -i 's/line 2/LINE 2/' notes.md");
    agent.call("t2", "echo made > made");
    let after = tree(&project);
    assert_ne!(after, before);

    let dry = ends(&machine.here(&["undo", "--dry-run"]), 0);
    assert!(dry.contains("would be done") && dry.contains("-LINE 2"), "{dry}");
    assert_eq!(tree(&project), after);
    let text = ends(&machine.here(&["undo", "--step", "2"]), 0);
    assert!(!project.join("made").exists() && !project.join("src").exists(), "{text}");
    let text = ends(&machine.here(&["undo"]), 0);
    assert_eq!(tree(&project), before, "{text}");
    ends(&machine.here(&["undo", "--redo"]), 0);
    assert!(!project.join("src").exists() && machine.read("notes.md").contains("LINE 2"));
    ends(&machine.here(&["undo", "--file", "project/src"]), 0);
    assert_eq!(machine.read("src/a"), "a\n");
    assert!(machine.read("notes.md").contains("LINE 2"));

    // The agent goes on, and what was undone is no deed of its own.
    agent.call("t3", "echo more > more");
    let text = ends(&machine.here(&["undo", "--step", "3"]), 0);
    assert!(!project.join("more").exists() && project.join("src/a").exists(), "{text}");
}

#[test]
fn what_somebody_else_changed_since_stays() {
    let machine = Machine::attended(RULES);
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "rm src/a src/b; sed -i 's/line 2/LINE 2/' notes.md");
    let edited = machine.read("notes.md").replace("line 8", "the user's line 8");
    machine.write("notes.md", &edited);
    machine.write("src/b", "the user's\n");
    agent.call("t2", "true");
    let document = machine.json(&["undo"]);
    assert_eq!(result(&document, "notes.md")["result"], "merged");
    assert_eq!(result(&document, "src/a")["result"], "restored");
    assert_eq!(result(&document, "src/b")["result"], "refused");
    assert_eq!(machine.read("src/b"), "the user's\n");
    let merged = machine.read("notes.md");
    assert!(merged.contains("\nline 2\n") && merged.contains("the user's line 8"), "{merged}");
}

#[test]
fn calls_that_run_at_once_are_undone_together() {
    let machine = Machine::attended(RULES);
    let before = tree(&machine.path("project"));
    let mut agent = Agent::new(&machine, "s1");
    for (id, command) in [("t1", "rm src/a"), ("t2", "echo x > src/b")] {
        agent.before(id, command);
    }
    let text = ends(&machine.here(&["undo"]), 2);
    assert!(text.contains("a call of session"), "{text}");
    agent.shell("rm src/a");
    agent.shell("echo x > src/b");
    agent.after("t2", "echo x > src/b");
    agent.after("t1", "rm src/a");
    agent.call("t3", "rm notes.md");
    let text = ends(&machine.here(&["undo"]), 0);
    assert_eq!(tree(&machine.path("project")), before, "{text}");
}

#[test]
fn without_a_daemon_it_is_undone_all_the_same() {
    let machine = Machine::attended(RULES);
    let before = tree(&machine.path("project"));
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "rm -r src");
    machine.stop();
    let text = ends(&machine.here(&["undo"]), 0);
    assert_eq!(tree(&machine.path("project")), before, "{text}");
    ends(&machine.here(&["undo", "--redo"]), 0);
    assert!(!machine.path("project/src").exists());
    // The next daemon knows.
    machine.start();
    let text = ends(&machine.here(&["undo"]), 0);
    assert_eq!(tree(&machine.path("project")), before, "{text}");
}

#[test]
fn a_call_whose_host_has_ended_is_examined_first() {
    let machine = Machine::attended(RULES);
    let before = tree(&machine.path("project"));
    let mut agent = Agent::new(&machine, "s1");
    agent.before("t1", "rm -r src");
    agent.shell("rm -r src");
    agent.leave();
    let text = ends(&machine.here(&["undo"]), 0);
    assert_eq!(tree(&machine.path("project")), before, "{text}");
}

#[test]
fn the_session_of_this_workspace_is_meant() {
    let machine = Machine::attended(RULES);
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "rm src/a");
    let text = ends(&machine.air(&["undo", "--workspace", "elsewhere"]), 2);
    assert!(text.contains("no session has worked"), "{text}");
    // By its id it is found from anywhere.
    let document = machine.json(&["undo", "--dry-run"]);
    let id = document["session"].as_str().expect("an id");
    ends(&machine.air(&["undo", "--workspace", "elsewhere", "--session", id]), 0);
    assert_eq!(machine.read("src/a"), "a\n");
}

#[test]
fn a_later_session_that_only_looked_is_not_the_one_that_is_meant() {
    let machine = Machine::attended(RULES);
    let mut one = Agent::new(&machine, "s1");
    one.call("t1", "rm src/a");
    let mut two = Agent::new(&machine, "s2");
    two.call("t1", "cat notes.md");
    let text = ends(&machine.here(&["undo"]), 0);
    assert_eq!(machine.read("src/a"), "a\n", "{text}");
}
