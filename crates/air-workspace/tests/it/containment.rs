//! What cannot get out, and what is seen of it.

use super::*;

const DAEMON: &str = "import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execvp('sleep', ['sleep', '4242'])
os.wait()
'started'";

#[test]
fn a_daemon_is_seen_and_killed() {
    at_each_tier(|bench| {
        let before = bench.checkpoint();
        assert_eq!(bench.python(DAEMON).error, None);
        assert_eq!(bench.bash("sleep 4343 & disown; echo left").content, "left\n");
        std::thread::sleep(Duration::from_millis(200));
        let seen = bench.effects(&before).processes;
        let argv: Vec<String> = seen.items.iter().map(|one| one.argv.join(" ")).collect();
        assert_eq!(argv.len(), 2, "{argv:?}");
        assert!(argv.contains(&"sleep 4242".into()) && argv.contains(&"sleep 4343".into()));
        assert_eq!(bench.kill(), "ended 2 processes");
        assert_eq!(bench.kill(), "no process was running");
        assert!(bench.effects(&before).processes.items.is_empty());
        assert!(bench.python("'fresh'").content.contains("earlier variables are gone"));
    });
}

#[test]
fn the_supervisor_survives_its_children() {
    at_t3(|bench| {
        bench.python("import os\nos.kill(os.getppid(), 9)");
        bench.python("x = 1");
        bench.bash("kill -9 -1; kill -9 1");
        let seen = bench.python("x");
        // It may still be ending when it is asked.
        let gone = seen.content.contains("earlier variables are gone");
        assert!(gone || seen.error.unwrap().contains("the interpreter was replaced"));
        assert!(bench.bash("cat /proc/1/environ /proc/1/maps; ls -l /proc/1/fd").error.is_some());
        assert_eq!(bench.bash("echo fine").content, "fine\n");
    });
    if let Some(bench) = Bench::try_new(Tier::T2) {
        // Only the parent: signals to all are not tried outside of a pid namespace.
        let seen = bench.python("import os\nos.kill(os.getppid(), 9)");
        assert!(seen.error.unwrap().contains("PermissionError"));
        assert_eq!(bench.bash("echo fine").content, "fine\n");
    }
}

#[test]
fn there_is_no_network() {
    if let Some(bench) = Bench::try_new(Tier::T3) {
        let routes = bench.python("print(len(open('/proc/net/route').readlines()))");
        assert_eq!(routes.content, "1\n", "only the heading: no route leads out");
        assert!(block_on(bench.workspace.isolate()).is_ok());
    }
    if let Some(bench) = Bench::try_new(Tier::T2) {
        for kind in ["SOCK_STREAM", "SOCK_DGRAM"] {
            let code = format!("import socket\nsocket.socket(socket.AF_INET, socket.{kind})");
            assert!(bench.python(&code).error.unwrap().contains("PermissionError"), "{kind}");
        }
        assert!(block_on(bench.workspace.isolate()).is_ok());
    }
}

#[test]
fn nothing_of_air_is_visible() {
    at_each_tier(|bench| {
        let state = bench.folder.path().join("state");
        std::fs::write(state.join("secret"), "hidden").unwrap();
        let outside = bench.folder.path().join("outside");
        std::fs::write(&outside, "hidden").unwrap();
        for path in [state.join("secret"), state.clone(), outside, "/etc/shadow".into()] {
            let seen = bench.bash(&format!("cat {0}; ls {0}/", path.display()));
            assert!(seen.error.is_some(), "{path:?}: {seen:?}");
            assert!(!seen.content.contains("hidden\n"), "{path:?}: {seen:?}");
        }
    });
}

#[test]
fn writing_outside_is_refused() {
    at_each_tier(|bench| {
        let table = ["/etc/air-test", "/usr/air-test", "/air-test", "/proc/sys/kernel/hostname"];
        for path in table {
            let seen = bench.call("write_file", json!({ "path": path, "content": "x" }));
            assert!(seen.error.is_some(), "{path}: {seen:?}");
            assert!(!Path::new(path).exists() || path.starts_with("/proc"));
        }
        assert!(bench.bash("unshare -Ur true").error.is_some());
        let steps = bench.python("open(__import__('sys')._getframe().f_code.co_filename, 'a')");
        assert!(steps.error.is_some(), "{steps:?}");
    });
}

#[test]
fn a_link_that_leads_out_is_not_followed() {
    at_each_tier(|bench| {
        let outside = bench.folder.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "theirs").unwrap();
        let before = bench.checkpoint();
        bench.bash(&format!("ln -s {} out; ln -s {}/file f", outside.display(), outside.display()));
        let paths: Vec<String> =
            bench.effects(&before).files.items.into_iter().map(|file| file.path).collect();
        assert!(!paths.iter().any(|path| path.contains("out/")), "{paths:?}");
        let write = json!({ "path": "f", "content": "mine" });
        assert!(bench.call("write_file", write).error.is_some());
        let paths = [bench.inside("out/file")];
        let moved = block_on(bench.workspace.quarantine(&IncidentId::from("i1"), &paths));
        assert!(moved.is_err());
        bench.rollback(&before);
        assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "theirs");
        assert!(!bench.path("out").is_symlink());
    });
}

#[test]
fn an_unavailable_tier_is_an_error_that_says_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("ws")).unwrap();
    let mut config = config(folder.path(), Tier::T1);
    let error = LocalWorkspace::open(config.clone()).unwrap_err().to_string();
    assert!(error.contains("not available"), "{error}");
    config.unsandboxed = true;
    assert_eq!(LocalWorkspace::open(config.clone()).unwrap().tier(), Tier::T1);
    config.state = folder.path().join("ws/.air");
    let error = LocalWorkspace::open(config).unwrap_err().to_string();
    assert!(error.contains("agents would see"), "{error}");
}
