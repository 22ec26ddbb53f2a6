//! What a person decides about an incident beside a host, and about a session that is held there: with a
//! daemon and without.

use std::{fs, process::Output};

use serde_json::{Value, json};

use super::machine::{Agent, Machine};
use crate::story::said;

/// The agent alone puts it right. And one that nothing decides.
const RULES: &str = "rule @copied
trigger shell.exec
severity high
decide effects.files.exists(f, f.change == \"created\" && f.path.endsWith(\"passwd_copy\"))
check
  a file of the system is now in the working directory.
remediate
  delete the copy.
end

rule @doubted
trigger shell.exec
severity critical
decide args.command.contains(\"doubt\") && effects.connections.exists(c, c.host == \"example.com\")
check
  something was sent away.
remediate
  ask for it back.
end

rule @asks
trigger shell.exec
decide args.command.startsWith(\"deploy\")
check
  something is deployed.
ask
end
";

const AIRCTL: &str = env!("CARGO_BIN_EXE_airctl");

/// A machine whose agents get no help of AIR's.
fn machine() -> Machine {
    let machine = Machine::new(RULES);
    let settings = machine.path("home/.config/air");
    fs::create_dir_all(&settings).expect("a directory");
    fs::write(settings.join("air.toml"), "[response]\nby = \"alone\"\n").expect("written");
    machine.start();
    machine
}

/// An agent that does harm, and puts nothing right. The incident, which waits for a person.
fn escalated(machine: &Machine, agent: &mut Agent<'_>) -> String {
    agent.call("t1", "cp /etc/passwd passwd_copy");
    for _ in 0..3 {
        agent.hook("Stop", &json!({}));
    }
    let incident = incident(machine);
    assert!(state(&incident).starts_with("escalated"), "{incident}");
    incident["id"].as_str().expect("an id").to_owned()
}

fn incident(machine: &Machine) -> Value {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let all = machine.json(&["incidents"]);
        let one = all["incidents"][0].clone();
        if ["closed", "escalated", "failed"].iter().any(|end| state(&one).starts_with(end)) {
            return one;
        }
        assert!(std::time::Instant::now() < until, "{all}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn state(incident: &Value) -> &str {
    incident["state"].as_str().unwrap_or_default()
}

#[track_caller]
fn ends(output: &Output, code: i32) -> String {
    let text = said(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

fn denied(told: &Value) -> bool {
    told["hookSpecificOutput"]["permissionDecision"] == "deny"
}

#[test]
fn a_response_that_is_tried_again_is_the_agent_s_while_its_host_is_there() {
    let machine = machine();
    let mut agent = Agent::new(&machine, "s1");
    let id = escalated(&machine, &mut agent);
    assert!(denied(&agent.before("t2", "rm passwd_copy")), "it waits for a person");
    let text = ends(&machine.here(&["resume", &id]), 1);
    assert!(text.contains("awaiting agent"), "{text}");
    assert!(denied(&agent.before("t3", "touch other")), "nothing but the response");
    let told = agent.before("t4", "rm passwd_copy");
    assert!(!denied(&told), "{told}");
    agent.shell("rm passwd_copy");
    let told = agent.after("t4", "rm passwd_copy");
    assert_eq!(told["continue"], false, "its task is over: {told}");
    assert!(state(&incident(&machine)).starts_with("closed (true positive)"));
    assert!(denied(&agent.before("t5", "ls")));
}

#[test]
fn what_a_person_has_put_right_by_hand_is_verified_and_closed() {
    for attended in [true, false] {
        let machine = machine();
        let mut agent = Agent::new(&machine, "s1");
        let id = escalated(&machine, &mut agent);
        agent.leave();
        if !attended {
            machine.stop();
        }
        let text = ends(&machine.here(&["resume", &id]), 1);
        assert!(text.contains("escalated (recovery)"), "it is still there: {text}");
        fs::remove_file(machine.path("project/passwd_copy")).expect("removed");
        let text = ends(&machine.here(&["resume", &id]), 0);
        assert!(text.contains("closed (true positive)"), "{text}");
        let text = ends(&machine.here(&["resume", &id]), 2);
        assert!(text.contains("is closed"), "{text}");
    }
}

#[test]
fn a_person_closes_an_incident_or_leaves_it_failed() {
    let ways: [(&[&str], i32, &str, bool); 3] = [
        (&["--dismiss", "false-positive"], 0, "closed (false positive)", false),
        (&["--dismiss", "benign"], 0, "closed (benign positive)", true),
        (&["--give-up", "nobody knows how"], 1, "failed", true),
    ];
    for (attended, (how, code, state, stays)) in
        [true, false].into_iter().flat_map(|attended| ways.map(|way| (attended, way)))
    {
        let machine = machine();
        let mut agent = Agent::new(&machine, "s1");
        let id = escalated(&machine, &mut agent);
        if !attended {
            machine.stop();
        }
        let text = ends(&machine.here(&[&["resume", id.as_str()], how].concat()), code);
        assert!(text.contains(state), "{attended} {how:?}: {text}");
        if !attended {
            machine.start();
        }
        // What was dismissed as none has taught nothing.
        let mut next = Agent::new(&machine, "s2");
        let told = next.before("t1", "cp /etc/passwd passwd_copy");
        assert_eq!(denied(&told), stays, "{attended} {how:?}: {told}");
        assert!(denied(&agent.before("t9", "ls")), "a session that is over stays so");
    }
}

#[test]
fn what_the_step_of_an_incident_did_is_taken_back() {
    for attended in [true, false] {
        let machine = machine();
        let mut agent = Agent::new(&machine, "s1");
        agent.call("t0", "echo before > before");
        let id = escalated(&machine, &mut agent);
        if !attended {
            machine.stop();
        }
        let dry = ends(&machine.here(&["undo", "--incident", &id, "--dry-run"]), 0);
        assert!(dry.contains("would be done") && dry.contains("passwd_copy"), "{dry}");
        assert!(machine.path("project/passwd_copy").exists());
        let text = ends(&machine.here(&["undo", "--incident", &id]), 0);
        assert!(!machine.path("project/passwd_copy").exists(), "{text}");
        assert_eq!(machine.read("before"), "before\n", "that was another step");
        // With that, the incident is put right.
        agent.leave();
        let text = ends(&machine.here(&["resume", &id]), 0);
        assert!(text.contains("closed (true positive)"), "{text}");
    }
}

#[test]
fn a_session_that_is_held_goes_on_once_a_person_says_so() {
    for attended in [true, false] {
        let machine = machine();
        let mut agent = Agent::new(&machine, "s1");
        let told = agent.call("t1", "echo doubt");
        let told = told["reason"].as_str().expect("a reason").to_owned();
        assert!(denied(&agent.before("t2", "ls")));
        let (_, id) = told.split_once("--release ").expect("the way out");
        let id = id.trim_matches('`');
        let (text, _) = agent.shell(&format!("'{AIRCTL}' resume --release {id}"));
        assert!(text.contains("an agent may not tell AIR what to do"), "{text}");
        if !attended {
            machine.stop();
        }
        ends(&machine.here(&["resume", "--release", id]), 0);
        let text = ends(&machine.here(&["resume", "--release", id]), 2);
        assert!(text.contains("is not held"), "{text}");
        if !attended {
            machine.start();
        }
        let told = agent.call("t3", "echo on > on");
        assert!(told.is_null(), "{told}");
    }
}

#[test]
fn what_waits_for_a_person_is_listed() {
    let machine = machine();
    let text = ends(&machine.here(&["resume"]), 0);
    assert!(text.contains("nothing is open"), "{text}");
    let mut agent = Agent::new(&machine, "s1");
    let id = escalated(&machine, &mut agent);
    let mut held = Agent::new(&machine, "s2");
    held.call("t1", "echo doubt");
    let mut asks = Agent::of(&machine, "s3", "codex");
    asks.before("t1", "deploy now");
    let text = ends(&machine.here(&["resume"]), 1);
    for line in [
        &format!("incident {id}: escalated (recovery), beside claude-code; `airctl resume {id}`"),
        "held, beside claude-code; look at it, then `airctl resume --release s",
        "a call waits, beside codex; `airctl approvals`",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("nothing is open"), "{text}");
    let document = machine.json(&["resume"]);
    assert_eq!(document["waiting"].as_array().map(Vec::len), Some(3), "{document}");
    // Elsewhere it is said where.
    let text = ends(&machine.air(&["resume", "--workspace", "elsewhere"]), 0);
    let project = machine.path("project");
    assert!(text.contains(&format!("more waits beside hosts in {}", project.display())), "{text}");
}

#[test]
fn a_call_whose_session_is_over_is_not_let_run() {
    let machine = machine();
    let mut agent = Agent::of(&machine, "s1", "codex");
    let asked = |machine: &Machine| {
        let output = machine.air(&["approvals", "--format", "json"]);
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        document["approvals"][0].clone()
    };
    let told = agent.before("t1", "deploy now");
    assert!(denied(&told), "{told}");
    let first = asked(&machine);
    let id = first["id"].as_str().expect("an id").to_owned();
    let text = ends(&machine.air(&["approvals", "allow", &id]), 0);
    assert!(text.contains("may run, once") && !text.contains("has ended"), "{text}");
    let text = ends(&machine.air(&["approvals", "deny", &id]), 2);
    assert!(text.contains("is allowed already"), "{text}");
    assert!(!denied(&agent.before("t2", "deploy now")));
    agent.after("t2", "deploy now");
    let text = ends(&machine.air(&["approvals", "allow", &id]), 2);
    assert!(text.contains("was decided and made"), "{text}");

    // The process of the host is gone, and its session may come back.
    agent.before("t3", "deploy now");
    agent.leave();
    let left = asked(&machine);
    let text = ends(&machine.air(&["approvals"]), 0);
    assert!(text.contains("left "), "{text}");
    let text = ends(&machine.air(&["approvals", "allow", left["id"].as_str().expect("an id")]), 0);
    assert!(text.contains("its host (codex) has ended since"), "{text}");
    let mut agent = Agent::of(&machine, "s1", "codex");
    let told = agent.before("t4", "deploy now");
    assert!(!denied(&told), "it was resumed: {told}");
    agent.after("t4", "deploy now");

    agent.before("t5", "deploy now");
    let last = asked(&machine);
    agent.hook("SessionEnd", &json!({}));
    let text = ends(&machine.air(&["approvals"]), 0);
    assert!(text.contains("no call waits"), "{text}");
    let id = last["id"].as_str().expect("an id");
    for (decision, running) in [("allow", true), ("deny", true), ("allow", false)] {
        if !running {
            machine.stop();
        }
        let text = ends(&machine.air(&["approvals", decision, id]), 2);
        let why = if running { "is over (terminated): the call of" } else { "no daemon runs" };
        assert!(text.contains(why), "{text}");
    }
    let text = ends(&machine.air(&["approvals", "allow", "a0nothing"]), 2);
    assert!(text.contains("no daemon runs"), "{text}");
}

#[test]
fn what_is_kept_of_hosts_is_shown_and_replayed() {
    let machine = machine();
    let text = ends(&machine.here(&["replay"]), 2);
    assert!(text.contains("`--hosts` what agents did in their own hosts"), "{text}");
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "rm src/a");
    let text = ends(&machine.air(&["store", "--hosts", "--verify"]), 0);
    assert!(text.contains("0 damaged") && text.contains(" of 1 sessions"), "{text}");
    let rules = "rule @removal\ntrigger shell.exec\ndecide args.command.startsWith(\"rm \")\n\
                 check\n  something is removed.\nblock\nend\n";
    fs::write(machine.path("candidate.air"), rules).expect("written");
    let text = ends(&machine.air(&["replay", "--hosts", "--candidate", "candidate.air"]), 0);
    assert!(text.contains("@removal") && text.contains("rm src/a"), "{text}");
    // What is to be erased is not the agent's to say, nor while a daemon works on it.
    let (text, code) = agent.shell(&format!("'{AIRCTL}' store --hosts --collect"));
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("an agent may not"), "{text}");
    let text = ends(&machine.air(&["store", "--hosts", "--collect"]), 2);
    assert!(text.contains("another process of AIR works"), "{text}");
}
