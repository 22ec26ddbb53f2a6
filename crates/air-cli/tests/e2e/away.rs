//! The daemon is away: calls do not run without it, unless a person has said that they may; a hook starts
//! it where it can.

use std::{
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use air_testkit::server::{Reply, Script, When};

use crate::{
    clients::Client,
    stage::{self, RULE, Setup, Stage},
};

/// The daemon is killed before the model's first answer, and cannot be started again.
fn killed(client: Client, hook: &'static str) -> Option<(Stage, String)> {
    let state: Arc<OnceLock<PathBuf>> = Arc::default();
    let known = Arc::clone(&state);
    let call = client.shell("echo ran > ran.txt");
    let asked = AtomicU32::new(0);
    let script = Script::by(move |seen| {
        if seen.request.tools.is_empty() || asked.fetch_add(1, Ordering::SeqCst) > 0 {
            return Reply::text("All done.");
        }
        stage::kill(known.get().expect("known by now"));
        call.clone()
    });
    let setup = Setup { hook, alone: true, ..Setup::default() };
    let stage = Stage::set_up(client, RULE, setup, script)?;
    state.set(stage.path("state")).expect("set once");
    let ran = stage.task("do it", None);
    Some((stage, ran.said))
}

fn nothing_runs(client: Client) {
    // Not even where the hook tries to start one.
    let Some((stage, said)) = killed(client, "") else { return };
    assert!(!stage.has("ran.txt"), "no call runs without AIR: {said}");
    assert!(stage.shown().contains("AIR cannot be asked"), "the agent is told: {said}");
    // One that is away from the first is no better.
    let again = stage.task("do it again", None);
    assert!(!stage.has("ran.txt"), "no call runs without AIR: {}", again.said);
}

fn all_runs(client: Client) {
    let Some((stage, said)) = killed(client, "--away open --no-start") else { return };
    assert!(stage.has("ran.txt"), "a person has said that it may: {said}");
}

fn started(client: Client) {
    let copy = client.shell("cp /etc/passwd ./passwd_copy");
    let script = Script::default()
        .once(When::any().last("Do this, and nothing else"), client.shell("rm ./passwd_copy"))
        .turn(copy)
        .otherwise(Reply::text("All done."));
    let setup = Setup { away: true, ..Setup::default() };
    let Some(stage) = Stage::set_up(client, RULE, setup, script) else { return };
    let ran = stage.task("copy the accounts", None);
    assert!(!stage.has("passwd_copy"), "{}", ran.said);
    assert_eq!(stage.incidents().len(), 1, "it is on record: {}", ran.said);
    stage.air(&["daemon", "status"]);
}

macro_rules! away {
    ($($name:ident: $client:ident,)*) => {$(
        mod $name {
            use crate::clients::Client::$client;

            #[test]
            fn no_call_runs_without_the_daemon() {
                super::nothing_runs($client);
            }

            #[test]
            fn calls_run_where_a_person_has_said_so() {
                super::all_runs($client);
            }

            #[test]
            fn a_hook_starts_the_daemon() {
                // A plugin runs no program.
                if $client != crate::clients::Client::OpenCode {
                    super::started($client);
                }
            }
        }
    )*};
}

away! {
    copilot: Copilot,
    codex: Codex,
    claude_code: Claude,
    gemini: Gemini,
    opencode: OpenCode,
}
