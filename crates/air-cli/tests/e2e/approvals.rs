//! A rule asks a person: through the host where it can ask, and otherwise by `airctl approvals`.

use std::{
    thread,
    time::{Duration, Instant},
};

use air_testkit::server::{Reply, Script};
use serde_json::Value;

use crate::{
    clients::Client,
    stage::{Setup, Stage},
};

const RULE: &str = "rule @deploys
trigger shell.exec
severity medium
decide args.command.matches(r\"deploy\")
check
  the call deploys.
ask
instead
  say what would be deployed, and end the turn.
end
";
const DEPLOY: &str = "echo deploy > deployed.txt";
const WAIT: &[&str] = &["--approval-wait", "20"];

/// The agent deploys whenever it is asked to, once a task.
fn script(client: Client) -> Script {
    Script::default().turn(client.shell(DEPLOY)).otherwise(Reply::text("So be it."))
}

fn stage(client: Client, daemon: &'static [&'static str]) -> Option<Stage> {
    Stage::set_up(client, RULE, Setup { daemon, ..Setup::default() }, script(client))
}

/// The questions on record.
fn asked(stage: &Stage) -> Vec<Value> {
    let listed = stage.air(&["approvals", "list", "--format", "json"]).stdout;
    let listed: Value = serde_json::from_slice(&listed).expect("JSON");
    listed["approvals"].as_array().expect("a list").clone()
}

/// A person who decides about the first question that waits.
fn decide(stage: &Stage, what: &str) {
    let until = Instant::now() + Duration::from_secs(40);
    while Instant::now() < until {
        let waits = asked(stage).into_iter().find(|asked| asked["allowed"].is_null());
        if let Some(id) = waits.and_then(|waits| waits["id"].as_str().map(str::to_owned)) {
            let shown = stage.air(&["approvals", "show", &id]).stdout;
            let shown = String::from_utf8_lossy(&shown).into_owned();
            assert!(shown.contains(DEPLOY), "the person sees what is asked: {shown}");
            stage.air(&["approvals", what, &id]);
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("nothing waits");
}

fn while_it_waits(client: Client, what: &str, runs: bool) {
    let Some(stage) = stage(client, WAIT) else { return };
    let said = thread::scope(|scope| {
        let person = scope.spawn(|| decide(&stage, what));
        let ran = stage.task("deploy it", None);
        person.join().expect("somebody decides");
        ran.said
    });
    assert_eq!(stage.has("deployed.txt"), runs, "{what}: {said}");
    if !runs {
        assert!(stage.shown().contains("AIR refused this call"), "the agent is told: {said}");
    }
    assert!(stage.incidents().is_empty());
}

fn nobody_decides(client: Client) {
    let Some(stage) = stage(client, &["--approval-wait", "20", "--approval-timeout", "1"]) else {
        return;
    };
    let begun = Instant::now();
    let ran = stage.task("deploy it", None);
    assert!(!stage.has("deployed.txt"), "{}", ran.said);
    assert!(begun.elapsed() < Duration::from_secs(20), "it waits no longer than it has to");
    let asked = asked(&stage);
    assert!(asked.iter().all(|asked| asked["allowed"] != true), "{asked:?}");
}

/// The call is refused while nobody has decided; once somebody has, the same call runs.
fn decided_late(client: Client) {
    let script = Script::default()
        .turn(client.shell(DEPLOY))
        .turn(client.shell(DEPLOY).after(Duration::from_secs(5)))
        .otherwise(Reply::text("So be it."));
    let setup = Setup { daemon: &["--approval-wait", "1"], ..Setup::default() };
    let Some(stage) = Stage::set_up(client, RULE, setup, script) else { return };
    let told = || stage.shown().contains("airctl approvals allow");
    let said = thread::scope(|scope| {
        let person = scope.spawn(|| {
            let until = Instant::now() + Duration::from_secs(40);
            while !told() && Instant::now() < until {
                thread::sleep(Duration::from_millis(20));
            }
            assert!(!stage.has("deployed.txt"), "it was refused");
            decide(&stage, "allow");
        });
        let ran = stage.task("deploy it", None);
        person.join().expect("somebody decides");
        ran.said
    });
    assert!(told(), "the agent is told how: {said}");
    assert!(stage.has("deployed.txt"), "the same call runs: {said}");
}

/// A host that asks by itself: there is nobody, and it runs nothing.
fn asked_by_host(client: Client) {
    let Some(stage) = stage(client, &["--approval-wait", "1"]) else { return };
    let ran = stage.task("deploy it", None);
    assert!(!stage.has("deployed.txt"), "{}", ran.said);
    assert!(asked(&stage).is_empty(), "AIR asks nobody beside it: {}", ran.said);
}

macro_rules! approvals {
    ($($name:ident: $client:ident,)*) => {$(
        mod $name {
            use crate::clients::Client::$client;

            #[test]
            fn granted_while_the_call_waits() {
                super::while_it_waits($client, "allow", true);
            }

            #[test]
            fn denied_while_the_call_waits() {
                super::while_it_waits($client, "deny", false);
            }

            #[test]
            fn nobody_decides() {
                super::nobody_decides($client);
            }

            #[test]
            fn granted_late() {
                super::decided_late($client);
            }
        }
    )*};
}

approvals! {
    codex: Codex,
    gemini: Gemini,
    opencode: OpenCode,
}

#[test]
fn claude_code_asks_by_itself() {
    asked_by_host(Client::Claude);
}

#[test]
fn copilot_asks_by_itself() {
    asked_by_host(Client::Copilot);
}
