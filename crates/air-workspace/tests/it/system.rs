//! A whole root file system as the workspace.

use air_core::effects::FileEffect;
use air_workspace::{OpenError, Service, Shape, Span, UndoRequest, UndoneAs};

use super::*;

/// A small root file system, owned by whoever runs the tests.
fn fill(root: &Path) {
    for (path, content) in [
        ("etc/passwd", "root:x:0:0:guarded-4711:/root:/bin/bash\n"),
        ("etc/hostname", "image\n"),
        ("root/.bashrc", "alias ll='ls -l'\n"),
        ("home/ann/notes.txt", "remember the milk\n"),
        ("workspace/app.py", "print('app')\n"),
        ("opt/tool/run.sh", "echo from the tool\n"),
    ] {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

fn bench(change: impl FnOnce(&mut SandboxConfig)) -> Option<Bench> {
    Bench::try_with(Tier::T3, |config| {
        config.shape = Shape::System;
        fill(&config.workspace);
        change(config);
    })
}

fn on_system(test: impl FnOnce(Bench)) {
    if let Some(bench) = bench(|_| {}) {
        test(bench);
    }
}

fn all(bench: &Bench, since: &CheckpointId) -> Vec<String> {
    let files = bench.effects(since).files;
    assert_eq!(files.incomplete, None);
    let told = |file: &FileEffect| format!("{} {}", file.change.name(), file.path);
    files.items.iter().map(told).collect()
}

fn effect(bench: &Bench, since: &CheckpointId, path: &str) -> FileEffect {
    let files = bench.effects(since).files.items;
    files.into_iter().find(|file| file.path == path).unwrap()
}

#[test]
fn tools_see_the_workspace_as_the_root() {
    on_system(|bench| {
        let before = bench.checkpoint();
        let seen = bench.bash("pwd; echo $HOME; id -u; cat /etc/hostname; ls -d /bin/sh; umask");
        assert_eq!(seen.error, None, "{}", seen.content);
        let lines: Vec<&str> = seen.content.lines().collect();
        assert_eq!(lines.get(..5).unwrap(), ["/workspace", "/root", "0", "image", "/bin/sh"]);
        let ran = bench.python("import os; print(os.getcwd(), os.listdir('/workspace'))");
        assert_eq!(ran.content.trim(), "/workspace ['app.py']");
        assert!(all(&bench, &before).is_empty());
    });
}

#[test]
fn what_changes_anywhere_is_seen_and_undone() {
    on_system(|bench| {
        let was = snapshot(&bench.path(""));
        let before = bench.checkpoint();
        let ran = bench.bash(
            "set -e; echo evil >> /root/.bashrc; mv /home/ann/notes.txt /opt/tool/; \
             cp /etc/passwd /tmp/copy; rm /etc/hostname; chmod 700 /opt/tool/run.sh; \
             mkdir /var /srv; echo x > /srv/new",
        );
        assert_eq!(ran.error, None, "{}", ran.content);
        let seen = all(&bench, &before);
        for expected in [
            "modified /root/.bashrc",
            "deleted /home/ann/notes.txt",
            "created /opt/tool/notes.txt",
            "created /tmp/copy",
            "deleted /etc/hostname",
            "modified /opt/tool/run.sh",
            "created /srv/new",
        ] {
            assert!(seen.iter().any(|line| line == expected), "{expected}: {seen:?}");
        }
        assert!(!seen.iter().any(|line| line.contains("/usr") || line.contains("//")), "{seen:?}");
        let copy = effect(&bench, &before, "/tmp/copy");
        assert_eq!(copy.origin.as_deref(), Some("/etc/passwd"));
        let moved = effect(&bench, &before, "/opt/tool/notes.txt");
        assert_eq!(moved.moved.as_deref(), Some("/home/ann/notes.txt"));
        bench.rollback(&before);
        assert_eq!(snapshot(&bench.path("")), was);
        assert!(all(&bench, &before).is_empty());
        assert_eq!(bench.bash("cat /etc/hostname").content, "image\n");
    });
}

#[test]
fn programs_are_those_of_the_host_and_cannot_be_changed() {
    on_system(|bench| {
        let before = bench.checkpoint();
        let ran = bench.bash(
            "echo x > /usr/bin/air-test; rm -f /usr/bin/env; mount -o remount,rw /usr/bin; \
                              echo x > /proc/sys/kernel/core_pattern; env true && echo alive",
        );
        assert!(ran.content.contains("alive"), "{}", ran.content);
        assert!(ran.content.contains("Read-only"), "{}", ran.content);
        assert!(all(&bench, &before).is_empty());
        assert!(bench.workspace.source_file("/usr/bin/env").is_ok());
        assert_eq!(bench.workspace.source_file("/workspace/app.py").unwrap(), b"print('app')\n");
        assert_eq!(bench.workspace.source_file("app.py").unwrap(), b"print('app')\n");
        assert!(bench.workspace.source_file("/proc/self/environ").is_err());
        assert_eq!(bench.workspace.absolute("~/x"), "/root/x");
        assert_eq!(bench.workspace.absolute("/bin/sh"), "/usr/bin/sh");
    });
}

#[test]
fn what_is_the_hosts_is_neither_quarantined_nor_undone() {
    let hidden = |config: &mut SandboxConfig| {
        let path = config.workspace.join("usr/bin");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("env"), "hidden\n").unwrap();
        let given = config.workspace.parent().unwrap().join("given");
        std::fs::write(&given, "given\n").unwrap();
        config.binds = vec![(given, "/etc/given".into())];
    };
    let Some(bench) = bench(hidden) else { return };
    let before = bench.checkpoint();
    bench.bash("echo more >> /etc/hostname; echo new > /srv.txt");
    assert_eq!(all(&bench, &before).len(), 2);
    let incident = IncidentId::from("i1");
    for path in ["/usr/bin/env", "/bin/env", "/etc/given", "/proc/version"] {
        let paths = [path.to_owned(), "/srv.txt".to_owned()];
        let said = block_on(bench.workspace.quarantine(&incident, &paths)).unwrap_err().to_string();
        assert!(said.contains("it is the host's, and read-only"), "{path}: {said}");
        assert_eq!(std::fs::read(bench.path("usr/bin/env")).unwrap(), b"hidden\n", "{path}");
    }
    assert!(!bench.path("srv.txt").exists());
    let undo = |path: &str, dry_run| {
        let (spans, only) = (vec![Span::between(before.clone(), None)], vec![path.to_owned()]);
        block_on(bench.workspace.undo(UndoRequest { spans, only, dry_run }))
    };
    for path in ["/usr/bin/env", "/etc/given"] {
        let why = undo(path, true).unwrap_err().to_string();
        assert!(why.contains("is not in the workspace: it is the host's"), "{path}: {why}");
    }
    let undone = undo("/etc/hostname", false).unwrap();
    assert_eq!(undone.paths, [("/etc/hostname".to_owned(), UndoneAs::Restored)]);
    assert_eq!(std::fs::read(bench.path("etc/hostname")).unwrap(), b"image\n");
}

#[test]
fn root_inside_does_what_root_may_with_its_own_files() {
    on_system(|bench| {
        let ran = bench.bash(
            "set -e; echo secret > /etc/shadow; chmod 000 /etc/shadow; cat /etc/shadow; \
             chown 0:0 /etc/passwd; chmod 0400 /etc/passwd; echo more >> /etc/passwd; \
             mkdir -m 0 /opt/closed; touch /opt/closed/file; echo done",
        );
        assert_eq!(ran.error, None, "{}", ran.content);
        assert!(ran.content.ends_with("secret\ndone\n"), "{}", ran.content);
        let ran = bench.bash("grep CapEff /proc/self/status");
        assert_eq!(ran.content.split_whitespace().nth(1), Some("000000000000002b"));
    });
}

#[test]
fn nothing_is_made_outside_through_a_link_that_the_agent_left() {
    on_system(|bench| {
        let outside = bench.folder.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        let up = format!("..{}", outside.display());
        let ran = bench
            .python(&format!("import os; os.rename('/usr', '/away'); os.symlink({up:?}, '/usr')"));
        assert_eq!(ran.error, None, "{}", ran.content);
        // The sandbox is replaced.
        let here = bench.checkpoint();
        bench.rollback(&here);
        let after = bench.try_call("bash", json!({ "command": "true" }));
        assert!(after.unwrap_err().to_string().contains("which is mounted on"));
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    });
}

#[test]
fn variables_and_files_are_as_configured() {
    let with = |config: &mut SandboxConfig| {
        let host = config.workspace.parent().unwrap().join("given");
        std::fs::create_dir_all(host.join("hooks")).unwrap();
        std::fs::write(host.join("cpuinfo"), "model name : a secret one\n").unwrap();
        std::fs::write(host.join("hooks/given.py"), "value = 42\n").unwrap();
        config.binds = vec![
            (host.join("cpuinfo"), "/proc/cpuinfo".into()),
            (host.join("hooks"), "/opt/hooks".into()),
        ];
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        config.environment = vec![
            variable("PATH", "/opt/hooks:/usr/bin:/bin"),
            variable("GREETING", "hello world"),
            variable("PYTHONPATH", "/opt/hooks"),
        ];
    };
    let Some(bench) = bench(with) else { return };
    let before = bench.checkpoint();
    let ran = bench.bash("echo $PATH; echo $GREETING; cat /proc/cpuinfo; echo x > /opt/hooks/x");
    assert!(
        ran.content
            .starts_with("/opt/hooks:/usr/bin:/bin\nhello world\nmodel name : a secret one\n")
    );
    assert!(ran.content.contains("Read-only"), "{}", ran.content);
    let ran = bench.python("import given, sys; print(given.value, '/air' in sys.path)");
    assert_eq!(ran.content.trim(), "42 False");
    assert!(all(&bench, &before).is_empty());
    assert_eq!(bench.workspace.source_file("/opt/hooks/given.py").unwrap(), b"value = 42\n");
}

#[test]
fn what_it_cannot_do_is_said() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("ws")).unwrap();
    let open = |change: &dyn Fn(&mut SandboxConfig)| {
        let mut config = config(folder.path(), Tier::T3);
        config.shape = Shape::System;
        change(&mut config);
        match LocalWorkspace::open(config) {
            Err(OpenError::Layout(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let layered = open(&|config| config.overlay = Some(Overlay::of(&config.session_dir)));
    assert!(layered.contains("no layer"), "{layered}");
    let service =
        |name: &str| Service { name: name.to_owned(), argv: vec!["/usr/bin/true".into()] };
    let named = open(&|config| config.services = vec![service("a/b")]);
    assert!(named.contains("unique file name"), "{named}");
    let bound = open(&|config| config.binds = vec![("/etc/hostname".into(), "../x".into())]);
    assert!(bound.contains("no absolute path"), "{bound}");
}

/// Two services: a clock that sleeps, and one with a name of its own.
fn with_services(config: &mut SandboxConfig) {
    let service = |name: &str| Service {
        name: name.to_owned(),
        argv: vec!["/usr/bin/sleep".to_owned(), "infinity".to_owned()],
    };
    config.services = vec![service("databased"), service("webfrontd")];
}

/// Names of services, whether they ran and whether they run.
fn services(bench: &Bench, since: &CheckpointId) -> Vec<(String, bool, bool)> {
    let all = bench.effects(since).services;
    assert_eq!(all.incomplete, None);
    all.items.into_iter().map(|one| (one.name, one.ran, one.runs)).collect()
}

fn told(states: [(&str, bool, bool); 2]) -> Vec<(String, bool, bool)> {
    states.map(|(name, ran, runs)| (name.to_owned(), ran, runs)).to_vec()
}

#[test]
fn services_run_beside_the_agent_and_are_started_again() {
    let Some(bench) = bench(with_services) else { return };
    let first = bench.checkpoint();
    let running = told([("databased", true, true), ("webfrontd", true, true)]);
    let ran = bench.bash(
        "for pid in $(pgrep -x 'databased|webfrontd'); do \
           echo $(cat /proc/$pid/comm) $(tr '\\0' ' ' < /proc/$pid/cmdline); done",
    );
    assert_eq!(ran.content, "databased databased infinity\nwebfrontd webfrontd infinity\n");
    assert_eq!(services(&bench, &first), running);
    assert!(bench.effects(&first).processes.items.is_empty());
    assert!(bench.workspace.sandbox_pid().is_some());

    let second = bench.checkpoint();
    let ran = bench
        .bash("pkill -x databased; nohup sleep 100 >/dev/null 2>&1 & sleep 0.2; pgrep databased");
    assert_eq!(ran.content, "");
    let one = told([("databased", true, false), ("webfrontd", true, true)]);
    assert_eq!(services(&bench, &second), one);
    assert_eq!(bench.effects(&second).processes.items.len(), 1);
    block_on(bench.workspace.freeze()).unwrap();
    assert_eq!(bench.kill(), "ended 1 process");
    assert_eq!(services(&bench, &second), one);
    let said = block_on(bench.workspace.restart()).unwrap();
    assert_eq!(said, "started databased");
    assert_eq!(block_on(bench.workspace.restart()).unwrap(), "all services were running");
    assert_eq!(services(&bench, &second), running);
    let states = bench.bash(
        "for pid in $(pgrep -x 'databased|webfrontd'); do awk '{print $3}' /proc/$pid/stat; done",
    );
    assert_eq!(states.content, "S\nS\n");

    let third = bench.checkpoint();
    bench.bash("kill -9 $(pgrep -x databased) $(pgrep -x webfrontd)");
    bench.rollback(&third);
    assert_eq!(services(&bench, &third), running);
}

#[test]
fn the_source_of_a_step_is_in_no_command_line_and_can_be_taken_away() {
    at_each_tier(|bench| {
        let ran = bench
            .bash("cat /proc/$$/cmdline | tr '\\0' ' '; echo; cat; pwd; echo 4711 >&2; exit 7");
        assert_eq!(ran.error.as_deref(), Some("exit code 7"));
        assert!(ran.content.starts_with("bash /"), "{}", ran.content);
        assert!(ran.content.lines().next().unwrap().ends_with("/steps/step1.sh "));
        assert!(ran.content.contains("4711"));
        bench.checkpoint();
        bench.bash("set -e; false; echo never");
        let incident = IncidentId::from("i1");
        let said = block_on(bench.workspace.quarantine(&incident, &[])).unwrap();
        assert!(said.contains("/steps/step2.sh"), "{said}");
        let state = bench.folder.path().join("state");
        let kept = std::fs::read(state.join("evidence/i1/steps/step2.sh")).unwrap();
        assert_eq!(kept, b"set -e; false; echo never");
        assert!(!state.join("sessions/s1/steps/step2.sh").exists());
        assert!(state.join("sessions/s1/steps/step1.sh").exists());
        let again = block_on(bench.workspace.quarantine(&incident, &[])).unwrap();
        assert_eq!(again, "nothing was left to move");
    });
}
