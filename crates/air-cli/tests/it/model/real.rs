//! A real server whose model talks rubbish.

use std::{fs, time::Duration};

use air_testkit::llama::Llama;

use super::{RULES, TASK, text};
use crate::{airctl, story};

/// Of one run.
const CALLS: &str = "40";

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn whatever_it_says_a_run_ends_within_its_limits() {
    for agent in ["react", "codeact"] {
        let dir = story::workspace();
        let Some(mut server) = Llama::start(dir.path()).expect("it starts") else {
            eprintln!("skipped: AIR_SDK_PYTHON names no interpreter that has `xllamacpp`");
            return;
        };
        fs::write(dir.path().join("rules.air"), RULES).expect("a file");
        let mut command = airctl(&dir.path().join("ws"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("AIR_STATE", dir.path().join("state"));
        command.env("OPENAI_BASE_URL", format!("{}/v1", server.url()));
        command.env("OPENAI_API_KEY", "of-no-use");
        command.args(["run", "--task", TASK, "--rules", "../rules.air", "--agent", agent]);
        command.args(["--model", "openai-chat:random", "--max-calls", CALLS]);
        let output = command.timeout(Duration::from_mins(2)).output().expect("the binary runs");
        let told = text(&output);
        assert!(matches!(output.status.code(), Some(0..=2)), "{agent}: {output:?}");
        assert!(told.contains("agent:"), "{agent}: {told}");
        assert!(server.is_alive(), "{agent}: {told}");
        eprintln!("{agent}: {told}");
    }
}
