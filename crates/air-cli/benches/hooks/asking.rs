//! The daemon over its socket: one question a connection, as the shim asks.

use std::{
    fs,
    sync::{Arc, Barrier, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    Times, head, setting,
    stage::{Call, Stage},
};

/// How often a session asks: a call every so long, its end in the middle.
const PERIOD: Duration = Duration::from_millis(250);

pub(crate) fn run() {
    let stage = Arc::new(Stage::start(None));
    head("a question to the daemon: over the socket, and in the daemon");
    for sessions in [1, 50] {
        for tool in ["file.read", "shell.exec"] {
            measure(&stage, sessions, tool);
        }
    }
}

/// What was measured: before and after a call, over the socket and within the daemon.
#[derive(Default)]
struct Measured {
    before: (Times, Times),
    after: (Times, Times),
}

fn measure(stage: &Arc<Stage>, sessions: usize, tool: &'static str) {
    let calls = setting("AIR_BENCH_ROUNDS", if sessions == 1 { 300 } else { 40 });
    let measured = Arc::new(Mutex::new(Measured::default()));
    let start = Arc::new(Barrier::new(sessions));
    let threads = (0..sessions).map(|at| {
        let (stage, measured, start) =
            (Arc::clone(stage), Arc::clone(&measured), Arc::clone(&start));
        thread::spawn(move || one(&stage, &measured, &start, (sessions, at), tool, calls))
    });
    let threads: Vec<_> = threads.collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let measured = std::mem::take(&mut *measured.lock().unwrap());
    let plural = if sessions == 1 { "" } else { "s" };
    let name = |what: &str| format!("{sessions} session{plural}, {tool}, {what}");
    measured.before.0.tell(&name("before"));
    measured.before.1.tell(&name("before, in the daemon"));
    measured.after.0.tell(&name("after"));
    measured.after.1.tell(&name("after, in the daemon"));
}

fn one(
    stage: &Stage,
    measured: &Mutex<Measured>,
    start: &Barrier,
    (sessions, at): (usize, usize),
    tool: &str,
    calls: usize,
) {
    let name = format!("{tool}-{sessions}-{at}");
    let tree = stage.tree(&name, 200, 2_000);
    let call = |number| {
        let file = tree.join("d0/f1");
        let args = match tool {
            "shell.exec" => json!({"command": "cargo build"}),
            _ => json!({"path": file}),
        };
        Call { session: &name, tree: &tree, tool, args, number }
    };
    // The first call looks at the whole directory.
    stage.allowed(&call(0).pre());
    stage.allowed(&call(0).post());
    start.wait();
    let offset = PERIOD.mul_f64(f64::from(u32::try_from(at).unwrap()) / 50.0);
    let begun = Instant::now() + offset;
    for number in 1..=calls {
        let call = call(number);
        if sessions > 1 {
            let due = begun + PERIOD * u32::try_from(number).unwrap();
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        let (pre, post) = (call.pre(), call.post());
        let (mut before, mut after) = (Times::default(), Times::default());
        let inside = before.time(|| stage.allowed(&pre));
        if tool == "shell.exec" {
            fs::write(tree.join("d1/out"), number.to_string()).unwrap();
        }
        if sessions > 1 {
            thread::sleep(PERIOD / 2);
        }
        let inside_after = after.time(|| stage.allowed(&post));
        let mut all = measured.lock().unwrap();
        all.before.0.0.append(&mut before.0);
        all.before.1.0.push(inside);
        all.after.0.0.append(&mut after.0);
        all.after.1.0.push(inside_after);
    }
}
