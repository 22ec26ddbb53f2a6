//! What a judge is shown of the workspace as it is now.

use air_core::{
    port::{Inspector as _, Tier},
    value::{List, Value},
};
use futures::executor::block_on;
use serde_json::json;

use crate::Bench;

fn field(state: &Value, name: &str) -> Value {
    let Value::Map(fields) = state else { panic!("{state:?}") };
    fields.get(name).cloned().unwrap()
}

fn paths(state: &Value) -> (Vec<String>, bool) {
    let Value::List(List { items, incomplete }) = field(state, "files") else {
        panic!("{state:?}")
    };
    let path = |item: &Value| match field(item, "path") {
        Value::String(path) => path.to_string(),
        other => panic!("{other:?}"),
    };
    (items.iter().map(path).collect(), incomplete.is_some())
}

#[test]
fn it_lists_what_lies_there_and_what_runs_and_follows_no_link() {
    for tier in [Tier::T2, Tier::T3] {
        let Some(bench) = Bench::try_new(tier) else { continue };
        bench.write("data/a.csv", "1,2", 0o644);
        bench.call("write_file", json!({ "path": "b.txt", "content": "b" }));
        // A process is a copy of the shell until it has become the program.
        bench.bash(
            "ln -s /etc outside; sleep 60 >/dev/null 2>&1 & \
             until grep -q sleep /proc/$!/cmdline; do :; done",
        );
        let state = block_on(bench.workspace.inspect());
        let (paths, incomplete) = paths(&state);
        assert_eq!(paths, ["b.txt", "data/", "data/a.csv", "outside@"], "{tier}");
        assert!(!incomplete);
        let processes = format!("{:?}", field(&state, "processes"));
        assert!(processes.contains("sleep"), "{tier}: {processes}");
    }
}

#[test]
fn it_is_bounded_and_says_so() {
    let Some(bench) = Bench::try_new(Tier::T3) else { return };
    bench.bash("mkdir many && cd many && for i in $(seq 300); do : > f$i; done");
    bench.bash("d=deep; for i in $(seq 40); do d=$d/deep; done; mkdir -p $d");
    let (paths, incomplete) = paths(&block_on(bench.workspace.inspect()));
    assert!(paths.len() <= 120 && incomplete, "{} entries", paths.len());
}
