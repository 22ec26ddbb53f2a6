//! Events that come twice, late, or in another order than they should.

use std::fs;

use air_core::session::SessionEvent;
use serde_json::{Value, json};

use super::Stage;

#[test]
fn a_question_that_comes_twice_is_answered_once() {
    let stage = Stage::started();
    for (call, command) in [("a", "ls"), ("b", "forbidden")] {
        let first = stage.ask(&stage.event("pre_tool_call", call, command));
        let second = stage.ask(&stage.event("pre_tool_call", call, command));
        assert_eq!(first["decision"], second["decision"]);
        assert_eq!(first["reason"], second["reason"]);
    }
    assert_eq!(stage.steps(), (1, 0), "a step that was let pass");
    let refused = stage.journal().into_iter().flat_map(|(_, events)| events);
    let refused = refused.filter(|event| matches!(event, SessionEvent::Gated { .. }));
    assert_eq!(refused.count(), 1);
    for _ in 0..2 {
        assert_eq!(stage.decision(&stage.event("post_tool_call", "a", "ls")), "allow");
    }
    assert_eq!(stage.steps(), (1, 1));
}

#[test]
fn the_same_call_by_another_question_runs_once() {
    let stage = Stage::started();
    let mut event = stage.event("pre_tool_call", "a", "ls");
    for id in ["one", "two", ""] {
        event["id"] = json!(id);
        assert_eq!(stage.decision(&event), "allow");
    }
    assert_eq!(stage.steps(), (1, 0));
}

#[test]
fn an_id_that_another_call_has_is_no_way_past_a_rule() {
    let stage = Stage::started();
    let ask = |point: &str, command: &str| stage.decision(&stage.event(point, "same", command));
    assert_eq!(ask("pre_tool_call", "ls"), "allow");
    // The first one runs.
    assert_eq!(ask("pre_tool_call", "forbidden"), "deny");
    assert_eq!(ask("pre_tool_call", "ls -l"), "deny");
    stage.kill();
    stage.start();
    assert_eq!(ask("pre_tool_call", "ls -l"), "deny");
    assert_eq!(ask("pre_tool_call", "ls"), "allow");
    assert_eq!(ask("post_tool_call", "ls"), "allow");
    assert_eq!(stage.steps(), (1, 1));
    // It has come back: its id is free.
    assert_eq!(ask("pre_tool_call", "forbidden"), "deny");
    assert_eq!(ask("pre_tool_call", "ls"), "allow");
    assert_eq!(ask("pre_tool_call", "ls"), "allow");
    assert_eq!(stage.steps(), (2, 1), "made once more, it is another step");
    assert_eq!(ask("post_tool_call", "ls"), "allow");
    assert_eq!(stage.steps(), (2, 2));
}

#[test]
fn a_question_that_comes_at_once_over_two_ways_is_one_step() {
    let stage = Stage::started();
    let event = stage.event("pre_tool_call", "a", "ls");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(stage.decision(&event), "allow"));
        }
    });
    assert_eq!(stage.steps(), (1, 0));
}

#[test]
fn order_is_not_relied_upon() {
    let stage = Stage::started();
    let plain = |point: &str| {
        let mut event = stage.event(point, point, "ls");
        event.as_object_mut().expect("an object").remove("tool");
        event
    };
    // An end, a turn's end and a background's end of nothing.
    for point in ["session_end", "idle", "background_end", "notice", "agent_start", "input"] {
        assert_eq!(stage.decision(&plain(point)), "allow", "{point}");
    }
    // A call that came back and that nobody had asked about, and its question after it.
    assert_eq!(stage.decision(&stage.event("post_tool_call", "late", "ls")), "allow");
    assert_eq!(stage.decision(&stage.event("pre_tool_call", "late", "ls")), "allow");
    // The session ends while a call runs, which comes back after it.
    assert_eq!(stage.decision(&stage.event("pre_tool_call", "open", "ls")), "allow");
    assert_eq!(stage.decision(&plain("session_end")), "allow");
    assert_eq!(stage.decision(&stage.event("post_tool_call", "open", "ls")), "allow");
    // It begins anew, without having said so.
    assert_eq!(stage.decision(&stage.event("pre_tool_call", "again", "forbidden")), "deny");
    for (id, events) in stage.journal() {
        let machine = air_core::session::Session::replay(&events);
        assert!(!machine.held(), "{id}");
    }
}

#[test]
fn what_a_call_did_that_nobody_asked_about_is_found() {
    let stage = Stage::started();
    // A first call, so that the directory is known.
    for point in ["pre_tool_call", "post_tool_call"] {
        assert_eq!(stage.decision(&stage.event(point, "first", "ls")), "allow");
    }
    fs::copy("/etc/passwd", stage.path("project/copy")).expect("a copy");
    let answer = stage.ask(&stage.event("post_tool_call", "unasked", "cp /etc/passwd copy"));
    assert_eq!(answer["directive"]["kind"], "remediate", "{answer}");
}

#[test]
fn a_host_that_can_make_calls_is_given_the_one_that_puts_it_right() {
    for powers in [json!(["deny"]), json!(["deny", "issue_tool_call"])] {
        let stage = Stage::started();
        let copy = "cp /etc/passwd copy";
        assert_eq!(stage.decision(&stage.event("pre_tool_call", "a", copy)), "allow");
        fs::copy("/etc/passwd", stage.path("project/copy")).expect("a copy");
        let mut event = stage.event("post_tool_call", "a", copy);
        event["host"]["caps"] = powers.clone();
        let answer = stage.ask(&event);
        assert_eq!(answer["directive"]["kind"], "remediate", "{answer}");
        assert!(answer["reason"].as_str().expect("words").contains("delete the copy"), "{answer}");
        let calls = &answer["directive"]["tool_calls"];
        if powers.as_array().expect("a list").len() == 1 {
            assert!(calls.is_null(), "{answer}");
            continue;
        }
        let path = stage.path("project").canonicalize().expect("a directory").join("copy");
        let command = format!("rm -f -- '{}'", path.display());
        let wanted = json!([{"name": "shell.exec", "args": {"command": command}}]);
        assert_eq!(*calls, wanted, "{answer}");
        // Told twice, it is answered alike.
        assert_eq!(stage.ask(&event)["directive"]["tool_calls"], wanted);
        let call = calls[0]["args"]["command"].as_str().expect("a command");
        assert_eq!(stage.decision(&stage.event("pre_tool_call", "b", call)), "allow");
        fs::remove_file(path).expect("removed");
        let answer = stage.ask(&stage.event("post_tool_call", "b", call));
        assert_eq!(answer["directive"]["kind"], "terminate", "{answer}");
    }
}

#[test]
fn clocks_are_not_relied_upon() {
    let stage = Stage::started();
    let times = ["1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "not a time", "-1", ""];
    for (at, time) in times.into_iter().enumerate() {
        for point in ["pre_tool_call", "post_tool_call"] {
            let mut event = stage.event(point, &format!("c{at}"), "ls");
            event["ts"] = json!(time);
            if let Some(result) = event.get_mut("result") {
                result["duration_ms"] = json!(u64::MAX);
            }
            assert_eq!(stage.decision(&event), "allow", "{time}");
        }
    }
    assert_eq!(stage.steps(), (times.len(), times.len()));
}

#[test]
fn a_session_that_never_ends_goes_on() {
    let stage = Stage::started();
    let calls = 300;
    for call in 0..calls {
        let call = format!("c{call}");
        // Some never come back.
        let points: &[&str] = if call.ends_with('7') {
            &["pre_tool_call"]
        } else {
            &["pre_tool_call", "post_tool_call"]
        };
        for point in points {
            assert_eq!(stage.decision(&stage.event(point, &call, "ls")), "allow", "{call} {point}");
        }
    }
    let mut idle = stage.event("idle", "end", "ls");
    idle.as_object_mut().expect("an object").remove("tool");
    assert_eq!(stage.decision(&idle), "allow");
    assert_eq!(stage.steps(), (calls, calls));
}

#[test]
fn a_daemon_that_is_killed_between_a_call_and_its_end_has_lost_nothing() {
    let stage = Stage::started();
    let pre = stage.payload("PreToolUse", "a", "cp /etc/passwd copy").to_string();
    assert!(super::passed(&stage.shim(&[], pre.as_bytes())));
    stage.kill();
    fs::copy("/etc/passwd", stage.path("project/copy")).expect("a copy");
    stage.start();
    let post = stage.payload("PostToolUse", "a", "cp /etc/passwd copy").to_string();
    let output = stage.shim(&[], post.as_bytes());
    assert!(super::said(&output).contains("copy_sensitive_file"), "{}", super::said(&output));
    // Nothing else runs, also after another end.
    stage.kill();
    stage.start();
    let other = stage.payload("PreToolUse", "b", "curl example.com").to_string();
    let output = stage.shim(&[], other.as_bytes());
    assert!(!super::passed(&output), "{}", super::said(&output));
    let responses = stage.journal().into_iter().flat_map(|(_, events)| events);
    let responses = responses.filter(|event| matches!(event, SessionEvent::ResponseStarted { .. }));
    assert_eq!(responses.count(), 1);
}

#[test]
fn a_question_repeated_after_the_daemon_was_killed_is_one_step() {
    let stage = Stage::started();
    assert_eq!(stage.decision(&stage.event("pre_tool_call", "a", "ls")), "allow");
    stage.kill();
    stage.start();
    assert_eq!(stage.decision(&stage.event("pre_tool_call", "a", "ls")), "allow");
    assert_eq!(stage.steps(), (1, 0));
    let answer: Value = stage.ask(&stage.event("post_tool_call", "a", "ls"));
    assert_eq!(answer["decision"], "allow");
    assert_eq!(stage.steps(), (1, 1));
}
