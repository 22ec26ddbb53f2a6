//! Getting out, and at the supervisor.

use std::{io::Read, net::TcpListener};

use super::*;

#[test]
fn signals_to_all() {
    at(&[Tier::T3], |bench| {
        bench.bash("sleep 50 & disown");
        bench.bash("kill -9 -1");
        bench.python("import os\nos.kill(-1, 9)");
    });
    // Where no namespace would hold it, only whether it is refused.
    at(&[Tier::T2], |bench| {
        let seen = bench.python("import os\nos.kill(-1, 0)");
        assert!(seen.error.unwrap().contains("PermissionError"));
    });
}

#[test]
fn everything_is_removed() {
    at(&[Tier::T3], |bench| {
        bench.bash("rm -rf --no-preserve-root / 2>/dev/null");
        assert!(Path::new("/usr/bin/env").exists());
    });
}

#[test]
fn a_daemon_that_detaches() {
    at_each_tier(|bench| {
        let code = "import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        os.closerange(0, 256)
        while True: time.sleep(1)
'left'";
        assert_eq!(bench.python(code).error, None);
        let said = bench.kill();
        assert!(said.starts_with("ended "), "{}: {said}", bench.tier);
        assert_eq!(bench.kill(), "no process was running");
        bench.bash("setsid setsid sleep 600 >/dev/null 2>&1 & disown");
    });
}

#[test]
fn namespaces_in_it() {
    at_each_tier(|bench| {
        for command in [
            "unshare -Ur true",
            "unshare -m true",
            "unshare -n true",
            "bwrap --ro-bind / / true",
            "mount -t tmpfs none /tmp",
            "chroot / true",
            "nsenter -t 1 -a true",
        ] {
            let seen = bench.bash(command);
            assert!(seen.error.is_some(), "{}: {command}: {seen:?}", bench.tier);
        }
    });
}

#[test]
fn a_connection_to_the_host() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    at_each_tier(|bench| {
        let code = format!(
            "import socket\nsocket.create_connection(('127.0.0.1', {port}), 2).send(b'stolen')"
        );
        assert!(bench.python(&code).error.is_some());
        let seen = bench.bash(&format!("echo stolen > /dev/tcp/127.0.0.1/{port}"));
        assert!(seen.error.is_some(), "{seen:?}");
        let mut got = String::new();
        if let Ok((mut stream, _)) = listener.accept() {
            // Whatever connected has sent nothing that counts, and was no call of ours.
            let _ = stream.read_to_string(&mut got);
        }
        assert_eq!(got, "");
    });
}

#[test]
fn the_supervisor_is_out_of_reach() {
    at_each_tier(|bench| {
        let code = "import ctypes, os
parent = os.getppid()
libc = ctypes.CDLL(None, use_errno=True)
traced = libc.ptrace(16, parent, 0, 0)
found = []
for name in ('mem', 'environ', 'maps', 'fd/0'):
    try:
        open(f'/proc/{parent}/{name}', 'rb+' if name == 'mem' else 'rb').read(1)
        found.append(name)
    except OSError:
        pass
for number in (9, 19, 15):
    try: os.kill(parent, number)
    except OSError: pass
traced, found";
        assert_eq!(bench.python(code).content, "(-1, [])\n", "{}", bench.tier);
        assert_eq!(bench.bash("cat /proc/1/mem > /dev/null").error.as_deref(), Some("exit code 1"));
    });
}

#[test]
fn settings_of_the_kernel() {
    at_each_tier(|bench| {
        let before = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
        for file in [
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/hostname",
            "/proc/sys/vm/drop_caches",
            "/proc/sysrq-trigger",
            "/proc/1/oom_score_adj",
            "/sys/kernel/uevent_helper",
        ] {
            // What is there already, so that nothing changes should it get through.
            let seen = bench.bash(&format!("cat {file} > $HOME/old; : < $HOME/old >> {file}"));
            assert!(seen.error.is_some(), "{}: {file}: {seen:?}", bench.tier);
        }
        assert_eq!(fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap(), before);
    });
}

#[test]
fn the_interpreter_stops_itself() {
    within(&[Tier::T3, Tier::T2], SHORT, |bench| {
        let seen = bench.python("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)");
        assert!(seen.error.unwrap().starts_with("timed out"));
        // More than a pipe takes, to one that reads nothing any more.
        bench.python("import os, signal, threading\nthreading.Timer(0.2, os.kill, (os.getpid(), signal.SIGSTOP)).start()");
        std::thread::sleep(Duration::from_millis(400));
        let seen = bench.python(&format!("x = '{}'", "x".repeat(1 << 20)));
        assert!(seen.error.unwrap().starts_with("timed out"));
    });
}
