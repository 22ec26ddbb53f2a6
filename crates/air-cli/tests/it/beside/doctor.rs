//! `airctl doctor` proves that the hooks of a host lead to AIR.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::Value;

use super::machine::{Machine, RULES};
use crate::story::said;

fn doctor(machine: &Machine, host: &str, code: i32) -> Value {
    let output = machine.here(&["doctor", host, "--format", "json"]);
    assert_eq!(output.status.code(), Some(code), "{}", said(&output));
    serde_json::from_slice(&output.stdout).expect("a document")
}

#[test]
fn hooks_that_were_just_installed_are_live() {
    let machine = Machine::attended(RULES);
    for host in ["claude-code", "copilot", "gemini", "cursor", "opencode"] {
        let output = machine.air(&["install", host]);
        assert!(output.status.success(), "{}", said(&output));
        let told = doctor(&machine, host, 0);
        let canary = &told["hosts"][0]["canary"];
        assert_eq!((&canary["refused"], &canary["control_allowed"]), (&true.into(), &true.into()));
        assert_eq!(told["hosts"][0]["heard"], Value::Null, "the doctor is no sign of life");
    }
    // It leaves nothing behind.
    let streams = machine.here(&["incidents", "--format", "json"]);
    assert!(said(&streams).contains("\"incidents\":[]"), "{}", said(&streams));
    assert!(!machine.path("state/hosts/sessions").exists());
    let text = said(&machine.here(&["doctor"]));
    for part in ["live: a call that AIR refuses", "not heard of", "cooperative", "daemon   process"]
    {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    for host in ["claude-code", "copilot", "gemini", "cursor", "opencode"] {
        assert!(machine.air(&["uninstall", host]).status.success());
    }
}

#[test]
fn hooks_that_lead_nowhere_are_a_finding() {
    let machine = Machine::attended(RULES);
    let shim = machine.path("bin/air-hook");
    fs::create_dir_all(machine.path("bin")).expect("a directory");
    for (script, finding) in [
        ("#!/bin/sh\nexit 0\n", "it lets pass what AIR refuses"),
        ("#!/bin/sh\necho no >&2; exit 2\n", "it refuses what AIR lets pass: no"),
        ("#!/bin/sh\necho broken >&2; exit 7\n", "it failed: broken"),
    ] {
        fs::write(&shim, script).expect("written");
        fs::set_permissions(&shim, fs::Permissions::from_mode(0o755)).expect("a mode");
        let output = machine.air(&["install", "claude-code", "--hook", "bin/air-hook"]);
        assert!(output.status.success(), "{}", said(&output));
        let told = doctor(&machine, "claude-code", 1);
        assert_eq!(told["hosts"][0]["canary"]["fault"], finding);
    }
    assert!(said(&machine.here(&["doctor", "gemini"])).contains("airctl install gemini"));
}

#[test]
fn a_daemon_that_is_away_is_started_by_the_hook() {
    let machine = Machine::new(RULES);
    assert!(machine.air(&["install", "claude-code"]).status.success());
    let told = doctor(&machine, "claude-code", 0);
    assert!(told["daemon"]["status"]["pid"].is_u64(), "{told}");
}
