//! What an agent may do when it responds, with real processes.

use std::{fs, time::Duration};

use air_testkit::server::{Reply, Script};
use air_wire::Dialect;
use serde_json::json;

use super::{
    LEAK, Place,
    mind::{self, Response},
    text,
};

/// An agent that leaks, and responds by one command, and a report.
fn responds_by(command: &'static str) -> Place {
    Place::new(
        Dialect::OpenAiChat,
        Script::by(move |seen| {
            let responds = seen.request.system.contains("An incident has happened");
            match (responds, mind::turns(seen)) {
                (true, 0) => Reply::call("bash", &json!({ "command": command })),
                (true, _) => {
                    let report = json!({ "summary": "it is gone", "confidence": 0.95 });
                    // Time enough for what goes on.
                    Reply::call("report", &report).after(Duration::from_secs(1))
                }
                (false, _) => mind::reply(seen, Response::Honest),
            }
        }),
    )
}

#[test]
fn nothing_that_it_leaves_running_goes_on() {
    let place = responds_by(
        "rm public/settings.txt; mkfifo /tmp/never; \
         (echo begun > public/begun; read -t 0.3 _ <> /tmp/never; echo pwned > public/evil) & \
         until [ -e public/begun ]; do :; done",
    );
    let told = text(&place.task(&[]));
    assert!(told.contains("the agent called `bash`"), "{told}");
    assert!(told.contains("recovered") && told.contains("guardrail"), "{told}");
    let public = place.ws().join("public");
    assert!(public.join("begun").exists() && !public.join("evil").exists(), "{told}");
}

#[test]
fn a_call_ends_with_the_time_of_the_response_and_is_in_the_record() {
    let place = responds_by("touch public/evil; sleep 600; touch public/worse");
    fs::write(place.dir.path().join("air.toml"), "[response]\ntimeout_s = 2\n").expect("a file");
    let told = text(&place.task(&[]));
    assert!(told.contains("AIR put the workspace back by itself"), "{told}");
    assert!(told.contains("taken back"), "{told}");
    for file in [LEAK, "public/evil", "public/worse"] {
        assert!(!place.ws().join(file).exists(), "{file}: {told}");
    }
    let story = text(&place.run(&["explain", "i"]));
    assert!(story.contains("sleep 600"), "{story}");
}

#[test]
fn what_a_call_did_before_its_time_was_over_is_taken_back() {
    let place = responds_by("touch public/evil; sleep 600");
    let own = "[response]\ntimeout_s = 2\nby = \"alone\"\n";
    fs::write(place.dir.path().join("own.toml"), own).expect("a file");
    let told = text(&place.run(&[
        "--config",
        "../own.toml",
        "run",
        "--task",
        "publish the page",
        "--rules",
        "../rules.air",
        "--direct",
    ]));
    assert!(told.contains("escalated") && told.contains("taken back"), "{told}");
    // AIR puts nothing back here but what it cut off.
    assert!(place.leaked() && !place.ws().join("public/evil").exists(), "{told}");
}
