//! Verdicts that come when the agent has made its last step: they are told, and count, as any other.

use std::{
    fs,
    process::Output,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use air_testkit::server::{Reply, Script, Seen};
use air_wire::Dialect;
use serde_json::json;

use super::{
    LEAK, Place, RULES, TASK,
    mind::{self, Response, all},
    text,
};

/// What an agent does that makes a leak, without a model.
const LEAKS: &str = "task = 'publish the page'
[[step]]
tool = 'bash'
args = { command = 'mkdir -p public && ls -a' }
[[step]]
plan = 'I publish the settings beside the page.'
tool = 'bash'
args = { command = 'cp .env public/settings.txt && echo published' }
";

const DEFERRED: &str = "[judge]\nmode = \"deferred\"\n";

fn place(script: Script) -> Place {
    let place = Place::new(Dialect::OpenAiChat, script);
    fs::write(place.dir.path().join("script.toml"), LEAKS).expect("a file");
    fs::write(place.dir.path().join("deferred.toml"), DEFERRED).expect("a file");
    place
}

/// The rules, with one that is critical.
fn critical(place: &Place) {
    let rules = RULES.replacen("trigger", "severity critical\ntrigger", 1);
    fs::write(place.dir.path().join("rules.air"), rules).expect("a file");
}

/// As a script says, and as an agent does of itself.
fn scripted(place: &Place) -> Output {
    let args = ["run", "--script", "../script.toml", "--rules", "../rules.air"];
    place.run(&[&args[..], &["--judge-mode", "deferred", "--exit-code"]].concat())
}

fn asked(place: &Place) -> Output {
    place.task(&["--judge-mode", "deferred", "--exit-code"])
}

fn checks(seen: &Seen) -> bool {
    seen.request.system.contains("HAS WHAT THE RULE DESCRIBES HAPPENED")
}

/// An agent that makes one step, which is the leak, or as many as there are commands.
fn agent(seen: &Seen, commands: &[&str]) -> Reply {
    match commands.get(mind::turns(seen)) {
        Some(command) => Reply::call("bash", &json!({ "command": command })),
        None => Reply::text("All is done."),
    }
}

/// A judge that cannot tell whether something has happened.
fn unsure(commands: &'static [&'static str]) -> Script {
    Script::by(move |seen| {
        if checks(seen) {
            Reply::error(400, "no verdict today")
        } else if seen.request.system.contains("does a task by calling tools") {
            agent(seen, commands)
        } else {
            mind::reply(seen, Response::Honest)
        }
    })
}

#[test]
fn an_incident_of_the_last_step_is_told_and_learned_from() {
    // The agent's last step is the leak: after it, it has only words.
    for run in [scripted, asked] {
        let place = place(all(Response::Honest));
        let first = run(&place);
        let told = text(&first);
        for stage in ["detected", "@copied", "recovered", "verified", "guardrail", "incident i"] {
            assert!(told.contains(stage), "no `{stage}` in\n{told}");
        }
        assert!(first.status.code() == Some(1) && !place.leaked(), "{told}");
        assert!(!told.contains("no incident"), "{told}");
        // Nothing is left open, and what was learned blocks.
        let second = run(&place);
        let told = text(&second);
        assert!(told.contains("blocked") && !told.contains("detected"), "{told}");
        assert_eq!(second.status.code(), Some(1), "{told}");
    }
}

#[test]
fn an_incident_is_responded_to_while_the_agent_plans() {
    let place = place(Script::by(|seen| {
        let plans = seen.request.system.contains("does a task by calling tools");
        let leak = &["mkdir -p public && ls -a", "cp .env public/settings.txt && echo published"];
        match plans {
            // It never says what it wants to do next.
            true if mind::turns(seen) > 1 => Reply::never(),
            true => agent(seen, leak),
            false => mind::reply(seen, Response::Honest),
        }
    }));
    let output = asked(&place);
    let told = text(&output);
    for stage in ["detected", "@copied", "recovered", "guardrail", "incident i"] {
        assert!(told.contains(stage), "no `{stage}` in\n{told}");
    }
    assert!(output.status.code() == Some(1) && !place.leaked(), "{told}");
}

#[test]
fn what_is_critical_and_undecided_on_the_last_step_holds_the_session() {
    for run in [scripted, asked] {
        let place = place(unsure(&["mkdir -p public; cp .env public/settings.txt"]));
        critical(&place);
        let (head, rest) = LEAKS.split_once("[[step]]").expect("steps");
        let (_, last) = rest.split_once("[[step]]").expect("two steps");
        fs::write(place.dir.path().join("script.toml"), format!("{head}[[step]]{last}"))
            .expect("a file");
        let output = run(&place);
        let told = text(&output);
        assert!(told.contains("undecided  @copied: "), "{told}");
        assert!(told.contains("held after step 1") && !told.contains("no incident"), "{told}");
        assert!(output.status.code() == Some(1) && !told.contains("airctl undo"), "{told}");
        assert!(!place.leaked(), "it was handed over");
        assert!(text(&run(&place)).contains("resume --release"));
    }
}

#[test]
fn what_is_critical_and_undecided_is_found_at_the_next_call() {
    let twice = &["mkdir -p public", "cp .env public/settings.txt", "echo 3"];
    for run in [scripted, asked] {
        let place = place(unsure(twice));
        critical(&place);
        let output = run(&place);
        let told = text(&output);
        assert!(told.contains("undecided  @copied: "), "{told}");
        assert!(told.contains("held after step 1") && !told.contains("stopped"), "{told}");
        assert!(output.status.code() == Some(1) && !told.contains("airctl undo"), "{told}");
    }
}

#[test]
fn what_is_undecided_on_the_last_step_is_told() {
    for run in [scripted, asked] {
        let place = place(unsure(&["mkdir -p public", "cp .env public/settings.txt"]));
        let output = run(&place);
        let told = text(&output);
        // Of the first step with the second, and of the second at the end.
        assert_eq!(told.matches("undecided  @copied: ").count(), 2, "{told}");
        assert!(told.contains("no incident") && place.leaked(), "{told}");
        assert_eq!(output.status.code(), Some(0), "{told}");
    }
}

#[test]
fn what_is_undecided_is_told_with_a_call_that_is_refused() {
    let place = place(unsure(&["echo 1", "curl http://127.0.0.1:9/", "curl http://127.0.0.1:9/"]));
    let rules = format!(
        "{RULES}\nrule @no_net\ntrigger bash\ndecide args.command.contains(\"curl\")\ncheck\n  the call uses the network.\nblock\nend\n"
    );
    fs::write(place.dir.path().join("rules.air"), rules).expect("a file");
    let output = asked(&place);
    let told = text(&output);
    let note = told.find("undecided  @copied: ").expect("it is told");
    assert!(note < told.find("blocked").expect("it is refused"), "{told}");
    // Refused calls are a finding, also where the agent went on to its end.
    assert!(told.contains("1 steps ran, 2 calls were refused, no incident"), "{told}");
    assert_eq!(output.status.code(), Some(1), "{told}");
    let json = text(&place.task(&["--format", "json"]));
    assert!(json.contains(r#""end":"done","refused":2"#), "{json}");
}

#[test]
fn a_resumed_session_tells_what_is_undecided() {
    let gone = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&gone);
    let place = place(Script::by(move |seen| match checks(seen) {
        true if failing.load(Ordering::SeqCst) => Reply::error(400, "no verdict today"),
        true => Reply::never(),
        false => agent(seen, &["mkdir -p public"]),
    }));
    let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_airctl"));
    run.current_dir(place.ws()).env_clear().env("HOME", place.ws().join("home"));
    run.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    run.env("AIR_STATE", place.dir.path().join("state")).env("OPENAI_API_KEY", super::KEY);
    run.env("OPENAI_BASE_URL", &place.url).args(["run", "--model", "openai-chat:m"]);
    run.args(["--task", TASK, "--rules", "../rules.air", "--judge-mode", "deferred"]);
    let mut run = run.stdout(std::process::Stdio::null()).spawn().expect("the binary runs");
    let begun = Instant::now();
    while !place.requests().iter().any(|seen| checks(seen)) {
        assert!(begun.elapsed() < Duration::from_mins(1), "the judge was never asked");
        std::thread::sleep(Duration::from_millis(10));
    }
    run.kill().expect("it is killed");
    run.wait().expect("it ends");
    gone.store(true, Ordering::SeqCst);
    let resume = ["--config", "../deferred.toml", "resume", "--rules", "../rules.air"];
    let output = place.run(&resume);
    let told = text(&output);
    assert!(told.contains("@copied could not be decided"), "{told}");
    assert!(told.contains("held; look at it, then `airctl resume --release"), "{told}");
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(!place.ws().join(LEAK).exists());
}
