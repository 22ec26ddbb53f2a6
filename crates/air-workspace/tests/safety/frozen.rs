//! Stopping everything where it is.

use super::*;

const WRITERS: &str = "import os, time
for n in range(8):
    if os.fork() == 0:
        os.setsid()
        with open(f'w{n}', 'w') as file:
            while True:
                file.write('x'); file.flush()
                if os.fork() == 0: os._exit(0)
                os.wait()
'started'";

#[test]
fn nothing_runs_while_frozen() {
    at_each_tier(|bench| {
        assert_eq!(bench.python(WRITERS).error, None);
        let deadline = Instant::now() + GRACE;
        while !bench.path("w7").exists() {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(5));
        }
        let sizes = || -> Vec<u64> {
            (0..8)
                .map(|n| bench.path(&format!("w{n}")).metadata().map_or(0, |meta| meta.len()))
                .collect()
        };
        for _ in 0..3 {
            let said = block_on(bench.workspace.freeze()).unwrap();
            assert!(said.starts_with("stopped "), "{said}");
            let before = sizes();
            std::thread::sleep(Duration::from_millis(100));
            assert_eq!(sizes(), before);
            let call = ToolCall {
                id: CallId::from("c"),
                tool: "bash".to_owned(),
                arguments: json!({ "command": "true" }).as_object().cloned().unwrap(),
                native: None,
            };
            let error = block_on(bench.tools.call(&call)).unwrap_err().to_string();
            assert!(error.contains("frozen"), "{error}");
            let said = block_on(bench.workspace.thaw()).unwrap();
            assert!(said.starts_with("let ") && said.ends_with(" go on"), "{said}");
            let deadline = Instant::now() + GRACE;
            while sizes() == before {
                assert!(Instant::now() < deadline, "they do not go on");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        block_on(bench.workspace.freeze()).unwrap();
        if bench.tier == Tier::T3 {
            // Both ends of a session.
            let said = bench.kill();
            assert!(said.starts_with("ended "), "{said}");
            assert!(bench.python("'fresh'").content.contains("earlier variables are gone"));
            return;
        }
        let said = bench.kill();
        assert!(said.starts_with("ended "), "{said}");
        assert_eq!(bench.kill(), "no process was running");
    });
}
