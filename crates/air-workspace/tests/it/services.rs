//! Programs beside the agent: what is theirs, what is the agent's, and what is not started again.

use air_core::port::WorkspaceError;
use air_workspace::Shape;

use super::*;

/// Runs a helper of its own, and every job that it finds.
const JOBS: &str = "import os, subprocess, time
helper = subprocess.Popen(['sleep', '1001'])
while True:
    if os.path.exists('/srv/job'):
        job = open('/srv/job').read()
        os.remove('/srv/job')
        subprocess.Popen(job, shell=True)
    time.sleep(0.01)
";
const WAITS: &str = "#!/usr/bin/env python3\nimport time\nwhile True: time.sleep(1000)\n";

fn with(services: &[(&str, &[&str])]) -> Option<Bench> {
    Bench::try_with(Tier::T3, |config| {
        config.shape = Shape::System;
        let file = |name: &str, content: &str| {
            let path = config.workspace.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        };
        file("srv/jobs.py", JOBS);
        file("opt/waits", WAITS);
        std::os::unix::fs::symlink("waits", config.workspace.join("opt/current")).unwrap();
        let service = |(name, argv): &(&str, &[&str])| Service {
            name: (*name).to_owned(),
            argv: argv.iter().map(|part| (*part).to_owned()).collect(),
        };
        config.services = services.iter().map(service).collect();
    })
}

fn states(bench: &Bench, since: &CheckpointId) -> Vec<(String, bool, bool)> {
    let all = bench.effects(since).services;
    assert_eq!(all.incomplete, None);
    all.items.into_iter().map(|one| (one.name, one.ran, one.runs)).collect()
}

fn restart(bench: &Bench) -> Result<String, String> {
    block_on(bench.workspace.restart()).map_err(|error| match error {
        WorkspaceError::Incomplete(why) => why,
        other => panic!("{other}"),
    })
}

fn python() -> &'static str {
    if Path::new("/usr/bin/python3").exists() {
        "/usr/bin/python3"
    } else {
        "/usr/local/bin/python3"
    }
}

#[test]
fn what_a_service_does_for_the_agent_is_the_agents() {
    let argv = [python(), "/srv/jobs.py"];
    let Some(bench) = with(&[("jobsd", &argv)]) else { return };
    let before = bench.checkpoint();
    assert_eq!(bench.bash("pgrep -f 'sleep 1001' | wc -l").content, "1\n");
    assert!(bench.effects(&before).processes.items.is_empty());
    bench.bash("echo 'exec sleep 1002' > /srv/job; while [ -e /srv/job ]; do sleep 0.02; done");
    let ran = bench.bash("until pgrep -f '^sleep 1002'; do sleep 0.02; done");
    assert_eq!(ran.error, None);
    let left = bench.effects(&before).processes.items;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left.first().unwrap().argv, ["sleep", "1002"]);
    // It has not become the service's by the next step.
    let next = bench.checkpoint();
    assert_eq!(bench.effects(&next).processes.items, left);
    assert_eq!(bench.kill(), "ended 1 process");
    assert!(bench.effects(&next).processes.items.is_empty());
    assert_eq!(states(&bench, &next), [("jobsd".to_owned(), true, true)]);
    assert_eq!(
        bench.bash("pgrep -f '^sleep 1002' | wc -l; pgrep -f 'sleep 1001' | wc -l").content,
        "0\n1\n"
    );
}

#[test]
fn a_program_that_was_changed_is_not_started_again() {
    let script = [python(), "/srv/jobs.py"];
    let Some(bench) = with(&[("waitd", &["/opt/current"]), ("jobsd", &script)]) else { return };
    let before = bench.checkpoint();
    let down = "pkill -f '/services/waitd|/srv/jobs.py'; while pgrep -f '/services/waitd|/srv/jobs.py'; do sleep 0.02; done";
    let both = |runs| [("waitd".to_owned(), true, runs), ("jobsd".to_owned(), true, runs)];
    let ran = bench.bash("ps -eo comm,args");
    assert_eq!(states(&bench, &before), both(true), "{}", ran.content);
    for change in ["true", "cp -p /opt/waits /opt/w; mv /opt/w /opt/waits"] {
        bench.bash(&format!("{change}; {down}"));
        assert_eq!(states(&bench, &before), both(false), "{change}");
        assert_eq!(restart(&bench), Ok("started waitd, jobsd".to_owned()), "{change}");
        assert_eq!(states(&bench, &before), both(true), "{change}");
    }
    for change in [
        "echo 'x = 1' | tee -a /opt/waits >> /srv/jobs.py",
        "ln -sfn /srv/other /opt/current; cp /opt/waits /srv/other; rm /srv/jobs.py",
    ] {
        let before = bench.checkpoint();
        bench.bash(&format!("{down}; {change}"));
        let why = restart(&bench).unwrap_err();
        assert!(why.contains("waitd: its program was changed"), "{change}: {why}");
        assert!(why.contains("jobsd: "), "{change}: {why}");
        assert_eq!(states(&bench, &before), both(false), "{change}");
        // Nor with the next sandbox, and calls are made all the same.
        let here = bench.checkpoint();
        bench.rollback(&here);
        assert_eq!(bench.bash("echo on").content, "on\n");
        assert_eq!(states(&bench, &before), both(false), "{change}");
        bench.rollback(&before);
        assert_eq!(states(&bench, &before), both(true), "{change}");
    }
}

#[test]
fn one_that_does_not_start_keeps_nothing_else_from_it() {
    let argv: &[&str] = &["/usr/bin/sleep", "infinity"];
    let broken: &[&str] = &["/opt/nothing"];
    let Some(bench) = with(&[("brokend", broken), ("clockd", argv), ("endsd", &["/usr/bin/true"])])
    else {
        return;
    };
    let before = bench.checkpoint();
    assert_eq!(bench.bash("echo on").content, "on\n");
    let told = |name: &str, runs| (name.to_owned(), runs, runs);
    let all = [told("brokend", false), told("clockd", true), told("endsd", false)];
    assert_eq!(states(&bench, &before), all);
    let why = restart(&bench).unwrap_err();
    assert!(why.contains("brokend") && why.contains("endsd: it ended at once"), "{why}");
    assert!(!why.contains("clockd"), "{why}");
}
