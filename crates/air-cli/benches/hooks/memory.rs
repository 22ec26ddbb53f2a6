//! What the daemon holds: 1,000 sessions and 10,000 guardrails.

use std::{fmt::Write as _, fs, sync::Arc, thread};

use serde_json::json;

use crate::{
    say, setting,
    stage::{Call, Stage},
};

const GUARDRAILS: usize = 10_000;
const THREADS: usize = 8;

pub(crate) fn run() {
    let sessions = setting("AIR_BENCH_SESSIONS", 1_000);
    let stage = Arc::new(Stage::start(Some(&rules())));
    let load = || fs::read_to_string("/proc/loadavg").unwrap_or_default();
    say(&format!("\nmemory of the daemon (MB resident; load {})", load().trim()));
    tell(&stage, &format!("{GUARDRAILS} guardrails"));
    for (name, shared) in [("one repository", true), ("a repository each", false)] {
        if shared {
            stage.tree("shared", 200, 2_000);
        }
        let threads = (0..THREADS).map(|thread| {
            let stage = Arc::clone(&stage);
            thread::spawn(move || {
                for at in (thread..sessions).step_by(THREADS) {
                    let tree = if shared {
                        stage.path("shared")
                    } else {
                        stage.tree(&format!("own-{at}"), 20, 200)
                    };
                    let session = format!("{name}-{at}");
                    let args = json!({"command": "cargo build"});
                    let call = Call {
                        session: &session,
                        tree: &tree,
                        tool: "shell.exec",
                        args,
                        number: 0,
                    };
                    stage.allowed(&call.pre());
                    fs::write(tree.join("out"), at.to_string()).unwrap();
                    stage.allowed(&call.post());
                }
            })
        });
        let threads: Vec<_> = threads.collect();
        for thread in threads {
            thread.join().unwrap();
        }
        tell(&stage, &format!("and {sessions} sessions in {name}"));
    }
}

fn rules() -> String {
    let mut text = String::new();
    for number in 0..GUARDRAILS {
        let _ = writeln!(
            text,
            "rule @guard{number}\ntrigger shell.exec\ndecide args.command == \"tool{number} --all\"\ncheck\n  \
             the tool is run on everything.\nblock\nend\n"
        );
    }
    text
}

fn tell(stage: &Stage, what: &str) {
    let pid = stage.pid();
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or_default()
    };
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let links: Vec<_> = files.filter_map(|file| fs::read_link(file.path()).ok()).collect();
    let queues = links.iter().filter(|link| link.to_string_lossy() == "anon_inode:inotify").count();
    say(&format!(
        "{what:<52}{:>9} (at most {}), {queues} inotify instances, {} open files",
        value("VmRSS:") / 1024,
        value("VmHWM:") / 1024,
        links.len()
    ));
}
