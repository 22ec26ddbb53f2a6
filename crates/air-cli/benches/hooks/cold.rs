//! The shim, from its start to its end.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{
    Times, head, say, setting,
    stage::{Call, Stage},
};

/// Where `cargo install --root` puts a peer.
const PEER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/peers/bin/dcg");

pub(crate) fn run() {
    let rounds = setting("AIR_BENCH_ROUNDS", 300);
    let stage = Stage::start(None);
    let tree = stage.tree("project", 200, 2_000);
    let path = |name, default: &str| PathBuf::from(env::var_os(name).unwrap_or(default.into()));
    let shim = path("AIR_BENCH_HOOK", env!("CARGO_BIN_EXE_air-hook"));
    let peer = path("AIR_BENCH_DCG", PEER);
    let [mut floor, mut command, mut reading, mut other] = [(); 4].map(|()| Times::default());
    for number in 0..rounds {
        once(&mut floor, &stage, Path::new("/bin/true"), &[], &Value::Null);
        let bash = json!({"command": "git status", "description": "status"});
        let read = json!({"file_path": tree.join("d0/f1")});
        for (times, native, args) in [(&mut command, "Bash", bash), (&mut reading, "Read", read)] {
            let mut payload = payload(&tree, native, &args, number, "PreToolUse");
            once(times, &stage, &shim, &["claude-code"], &payload);
            if native == "Bash" && peer.exists() {
                once(&mut other, &stage, &peer, &[], &payload);
            }
            // What was let pass comes back; that is not timed.
            payload["hook_event_name"] = "PostToolUse".into();
            payload["tool_response"] = json!({"stdout": "", "stderr": "", "interrupted": false});
            once(&mut Times::default(), &stage, &shim, &["claude-code"], &payload);
        }
    }
    head("cold process, the daemon up, in turns");
    let least = floor.tell("/bin/true");
    let own = command.tell("air-hook, a shell command");
    reading.tell("air-hook, a file read");
    say(&format!("{:<52}{:>18.2}", "air-hook beside /bin/true", ratio(own, least)));
    if other.0.is_empty() {
        say(
            "dcg is not there: cargo install --root target/peers destructive_command_guard --version 0.4.3",
        );
    } else {
        let other = other.tell("dcg, the same shell command");
        say(&format!("{:<52}{:>18.2}", "dcg beside air-hook", ratio(other, own)));
    }
    asked(&stage, &tree);
}

fn ratio(one: std::time::Duration, other: std::time::Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// That the shim does ask: the daemon has heard of it.
fn asked(stage: &Stage, tree: &Path) {
    let args = json!({"path": tree.join("d0/f1")});
    let call = Call { session: "bench", tree, tool: "file.read", args, number: 0 };
    stage.allowed(&call.pre());
    let sessions = fs::read_dir(stage.state().join("hosts/sessions")).unwrap().count();
    assert!(sessions >= 1, "no session was begun");
}

fn payload(tree: &Path, tool: &str, args: &Value, number: usize, event: &str) -> Value {
    json!({
        "session_id": "9b0d8ce2-723a-4f7e-b43b-225ed0d5601f",
        "transcript_path": "/nonexistent.jsonl",
        "cwd": tree,
        "permission_mode": "acceptEdits",
        "hook_event_name": event,
        "tool_name": tool,
        "tool_input": args,
        "tool_use_id": format!("toolu_{tool}_{number}"),
    })
}

fn once(times: &mut Times, stage: &Stage, program: &Path, args: &[&str], payload: &Value) {
    let input = stage.path("payload.json");
    fs::write(&input, payload.to_string()).unwrap();
    let mut command = stage.command(program);
    command.args(args).stdin(Stdio::from(fs::File::open(&input).unwrap()));
    let status = times.time(|| command.status().unwrap());
    assert!(status.success(), "{}: {status}", program.display());
}
