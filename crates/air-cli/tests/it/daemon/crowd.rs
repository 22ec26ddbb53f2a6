//! Many at once.

use std::{collections::BTreeSet, fs, thread};

use super::{Stage, passed, said};

#[test]
fn two_hundred_sessions_begin_at_once_and_start_one_daemon() {
    let stage = Stage::new();
    let sessions = 200;
    let shims: Vec<_> = (0..sessions)
        .map(|session| {
            let mut payload = stage.payload("PreToolUse", "c", "ls");
            payload["session_id"] = format!("s{session}").into();
            stage.shim_begins(&["--patience", "120"], payload.to_string().as_bytes())
        })
        .collect();
    let ended = shims.into_iter().map(|shim| thread::spawn(move || shim.wait_with_output()));
    let ended: Vec<_> = ended.collect();
    for thread in ended {
        let output = thread.join().expect("it ends").expect("an output");
        assert!(passed(&output), "{}", said(&output));
    }
    assert_eq!(stage.steps().0, sessions);
    assert_eq!(stage.journal().len(), sessions);
    assert_eq!(daemons(&stage), BTreeSet::from([stage.pid()]));
    for session in 0..sessions {
        let mut payload = stage.payload("PostToolUse", "c", "ls");
        payload["session_id"] = format!("s{session}").into();
        let output = stage.shim(&["--no-start"], payload.to_string().as_bytes());
        assert!(passed(&output), "{}", said(&output));
    }
    assert_eq!(stage.steps(), (sessions, sessions));
}

/// The processes that attend to this state.
fn daemons(stage: &Stage) -> BTreeSet<String> {
    let state = stage.path("state").display().to_string();
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let is_daemon = |pid: &String| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        words.contains("daemon\0run") && words.contains(&state)
    };
    let pids = processes.filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit())).filter(is_daemon).collect()
}

#[test]
fn where_no_daemon_can_be_had_nothing_runs_unless_it_was_said_so() {
    let stage = Stage::new();
    // There is something else in the place of the state.
    fs::write(stage.path("state"), "no directory").expect("written");
    let pre = stage.payload("PreToolUse", "c", "ls").to_string();
    let closed = stage.shim(&["--patience", "5"], pre.as_bytes());
    assert_eq!(closed.status.code(), Some(2), "{}", said(&closed));
    assert!(said(&closed).contains("AIR cannot be asked"), "{}", said(&closed));
    let open = stage.shim(&["--patience", "5", "--away", "open"], pre.as_bytes());
    assert!(passed(&open), "{}", said(&open));
    let away = stage.shim(&["--no-start"], pre.as_bytes());
    assert_eq!(away.status.code(), Some(2), "{}", said(&away));
    let notice = stage.payload("Notification", "c", "ls").to_string();
    let noted = stage.shim(&["--no-start"], notice.as_bytes());
    assert!(passed(&noted), "nothing hangs on it: {}", said(&noted));
}
