//! How a daemon begins.

use std::{fs, process::Output, thread};

use super::machine::{Agent, Machine, RULES};
use crate::story::said;

fn start(machine: &Machine, state: &std::path::Path) -> Output {
    let mut command = crate::airctl(machine.root());
    command.env("AIR_STATE", state).args(["daemon", "start"]).output().expect("it runs")
}

#[test]
fn several_that_are_started_at_once_are_one() {
    let machine = Machine::new(RULES);
    let all: Vec<Output> = thread::scope(|scope| {
        let started: Vec<_> =
            (0..4).map(|_| scope.spawn(|| start(&machine, &machine.path("state")))).collect();
        started.into_iter().map(|one| one.join().expect("it ends")).collect()
    });
    for output in &all {
        assert!(output.status.success(), "{}", said(output));
    }
    let again = machine.air(&["daemon", "run"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("another process attends to"), "{}", said(&again));
}

#[test]
fn what_an_ended_daemon_left_is_no_hindrance() {
    let machine = Machine::new(RULES);
    fs::create_dir_all(machine.path("state/hosts/run")).expect("a directory");
    fs::write(machine.path("state/hosts/run/air.sock"), "").expect("written");
    fs::write(machine.path("state/hosts/run/agents.json"), "not json").expect("written");
    assert!(said(&machine.air(&["daemon", "status"])).contains("no daemon runs"));
    machine.start();
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "true");
}

#[test]
fn the_state_may_lie_deep() {
    let machine = Machine::new(RULES);
    let deep = machine.path(&["a-directory-with-a-long-name"; 8].join("/"));
    let output = start(&machine, &deep);
    assert!(output.status.success(), "{}", said(&output));
    let mut command = crate::airctl(machine.root());
    let stopped = command.env("AIR_STATE", &deep).args(["daemon", "stop"]).output();
    assert!(stopped.expect("it runs").status.success());
}

#[test]
fn a_state_that_cannot_be_had_is_an_error_that_says_so() {
    let machine = Machine::new(RULES);
    fs::write(machine.path("state"), "a file").expect("written");
    let output = machine.air(&["daemon", "start"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("cannot make"), "{}", said(&output));
}
