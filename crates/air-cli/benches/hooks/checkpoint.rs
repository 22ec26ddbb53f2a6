//! What it costs to know the effects of a command beside a host: 10,000 files, 500 MB.

use std::fs;

use serde_json::json;

use crate::{
    Times, head, setting,
    stage::{Call, Stage},
};

const BYTES: usize = 50_000;

pub(crate) fn run() {
    let files = setting("AIR_BENCH_FILES", 10_000);
    let stage = Stage::start(None);
    let tree = stage.tree("project", files, BYTES);
    head(&format!("beside a host, {files} files of {BYTES} bytes, three changed by each command"));
    let session = |name, number| Call {
        session: name,
        tree: &tree,
        tool: "shell.exec",
        args: json!({"command": "cargo build"}),
        number,
    };
    for name in ["first", "second"] {
        let (mut first, mut before, mut after) =
            (Times::default(), Times::default(), Times::default());
        for number in 0..setting("AIR_BENCH_ROUNDS", 60) {
            let call = session(name, number);
            let times = if number == 0 { &mut first } else { &mut before };
            let inside = stage.allowed(&call.pre());
            times.0.push(inside);
            for file in 0..3 {
                fs::write(tree.join(format!("d{file}/f{}", file * 20)), number.to_string())
                    .unwrap();
            }
            after.0.push(stage.allowed(&call.post()));
        }
        first.tell(&format!("{name} session: the first question"));
        before.tell(&format!("{name} session: before a command"));
        after.tell(&format!("{name} session: after it"));
    }
}
