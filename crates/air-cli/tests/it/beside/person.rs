//! Who may tell AIR what to do, and what is told of sessions beside hosts.

use super::machine::{Agent, Machine, RULES};
use crate::story::said;

const AIRCTL: &str = env!("CARGO_BIN_EXE_airctl");

#[test]
fn an_agent_may_not_decide_for_its_user() {
    let machine = Machine::attended(RULES);
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "rm src/a");
    let refused = |agent: &mut Agent<'_>, running: bool| {
        for command in [
            "undo",
            "resume",
            "uninstall claude-code",
            "install claude-code",
            "guardrails retire g",
            "daemon stop",
            "daemon restart",
            "daemon run --rules /dev/null",
            "daemon start --rules /dev/null",
            "resume --release x",
        ] {
            let (text, code) = agent.shell(&format!("'{AIRCTL}' {command}"));
            assert_eq!(code, 2, "{command}: {text}");
            assert!(text.contains("below claude-code: an agent may not"), "{command}: {text}");
        }
        let (text, code) = agent.shell(&format!("'{AIRCTL}' incidents; '{AIRCTL}' undo --dry-run"));
        assert_eq!(code, 0, "to look is nobody's privilege: {text}");
        let (text, code) = agent.shell(&format!("'{AIRCTL}' approvals allow a1"));
        assert_eq!(code, 2, "{text}");
        assert_eq!(text.contains("an agent may not"), running, "{text}");
    };
    refused(&mut agent, true);
    machine.stop();
    refused(&mut agent, false);
    assert!(machine.here(&["undo"]).status.success());
    assert_eq!(machine.read("src/a"), "a\n");
}

#[test]
fn what_happened_beside_a_host_is_listed_and_told() {
    let machine = Machine::attended(RULES);
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "cp /etc/passwd passwd_copy");
    agent.hook("Stop", &serde_json::json!({}));
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let incident = loop {
        let all = machine.json(&["incidents"]);
        let one = all["incidents"][0].clone();
        if one["state"].as_str().is_some_and(|state| state.starts_with("closed")) {
            break one;
        }
        assert!(std::time::Instant::now() < until, "{all}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_eq!(incident["store"], "hosts");
    let id = incident["id"].as_str().expect("an id");
    // By its id it is found from anywhere, and in a list only where it happened.
    let told = said(&machine.air(&["explain", id, "--workspace", "elsewhere"]));
    assert!(told.contains("beside claude-code") && told.contains("passwd_copy"), "{told}");
    let elsewhere = said(&machine.air(&["incidents", "--workspace", "elsewhere"]));
    assert!(elsewhere.contains("no incidents"), "{elsewhere}");
    let learned = machine.json(&["guardrails"]);
    assert_eq!(learned["guardrails"][0]["store"], "hosts", "{learned}");

    // What a person decides about it holds for the running daemon.
    let mut next = Agent::new(&machine, "s2");
    let told = next.before("t1", "cp /etc/passwd passwd_copy");
    assert_eq!(told["hookSpecificOutput"]["permissionDecision"], "deny", "{told}");
    let guardrail = learned["guardrails"][0]["id"].as_str().expect("an id");
    let output = machine.here(&["guardrails", "retire", guardrail]);
    assert!(output.status.success(), "{}", said(&output));
    let told = next.before("t2", "cp /etc/passwd passwd_copy");
    assert_ne!(told["hookSpecificOutput"]["permissionDecision"], "deny", "{told}");
}
