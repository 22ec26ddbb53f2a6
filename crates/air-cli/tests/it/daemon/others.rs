//! Another user's daemon: its socket, its token, its state. For root only, which can become anybody.

use std::{
    fs,
    io::Write as _,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        net::UnixStream,
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use super::{Stage, passed, rest_of, said};

const ROOT: u32 = 0;
const USER: u32 = 12_345;
const OTHER: u32 = 12_346;
/// Of no other's business.
const SECRET: &str = "echo Zx81-of-the-asker";

/// A machine of two users. Its programs are where each can run them.
struct Shared {
    stage: Stage,
}

impl Shared {
    /// One user's daemon runs. `None` where nobody else can be had.
    fn new(owner: u32) -> Option<Self> {
        if fs::metadata("/proc/self").expect("a process").uid() != ROOT {
            // Only root becomes another user.
            return None;
        }
        let shared = Self { stage: Stage::new() };
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        };
        mode(shared.stage.directory.path(), 0o755);
        for (name, from) in
            [("airctl", env!("CARGO_BIN_EXE_airctl")), ("air-hook", env!("CARGO_BIN_EXE_air-hook"))]
        {
            let to = shared.program(name);
            if fs::hard_link(from, &to).is_err() {
                fs::copy(from, &to).expect("a copy");
            }
        }
        let rules = format!("rules = ['{}']\n", shared.stage.path("rules.air").display());
        fs::write(shared.stage.path("home/.config/air/air.toml"), rules).expect("written");
        fs::create_dir(shared.stage.path("state")).expect("a directory");
        mode(&shared.stage.path("state"), 0o755);
        for path in all(shared.stage.directory.path()) {
            if path != shared.program("airctl") && path != shared.program("air-hook") {
                chown(&path, Some(owner), Some(owner)).expect("an owner");
            }
        }
        let output = shared.run(owner, "airctl", &["daemon", "start"], "");
        assert!(output.status.success(), "{}", said(&output));
        Some(shared)
    }

    fn program(&self, name: &str) -> PathBuf {
        self.stage.path(name)
    }

    fn run(&self, user: u32, program: &str, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(self.program(program));
        command.args(arguments).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
        command.env("HOME", self.stage.path("home")).env("AIR_STATE", self.stage.path("state"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Becoming another user this way clears the supplementary groups too.
        let mut child = command.uid(user).gid(user).spawn().expect("it starts");
        // One that has its answer reads no further.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        child.wait_with_output().expect("it ends")
    }

    fn shim(&self, user: u32, more: &[&str]) -> Output {
        let payload = self.stage.payload("PreToolUse", &format!("of-{user}"), SECRET).to_string();
        self.run(user, "air-hook", &[&["claude-code"], more].concat(), &payload)
    }
}

/// Everything below a directory, and itself.
fn all(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_path_buf()];
    let mut at = 0;
    while let Some(path) = found.get(at).cloned() {
        at += 1;
        if path.is_dir() && !path.is_symlink() {
            let inner = fs::read_dir(path).expect("readable");
            found.extend(inner.map(|entry| entry.expect("an entry").path()));
        }
    }
    found
}

fn refused(owner: u32, asker: u32) {
    let Some(shared) = Shared::new(owner) else { return };
    let state = shared.stage.path("state");
    let token = shared.stage.address()["token"].as_str().expect("a token").to_owned();
    for more in [&[][..], &["--no-start"]] {
        let output = shared.shim(asker, more);
        assert_eq!(output.status.code(), Some(2), "nothing runs: {}", said(&output));
        let told = said(&output);
        assert!(told.contains(&format!("is another user's (uid {owner})")), "the cause: {told}");
        assert!(!told.contains("Zx81") && !told.contains(&token), "nothing leaks: {told}");
    }
    let output = shared.shim(asker, &["--away", "open"]);
    assert!(passed(&output), "by policy: {}", said(&output));
    let output = shared.run(asker, "airctl", &["daemon", "status"], "");
    assert!(!output.status.success() && !said(&output).contains(&token), "{}", said(&output));
    if asker == ROOT {
        // Who knocks without asking whose door it is.
        let event = shared.stage.event("pre_tool_call", "a", SECRET).to_string();
        let mut stream = UnixStream::connect(state.join("hosts/run/air.sock")).expect("a socket");
        let head = format!(
            "POST /v1/event HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{event}",
            event.len()
        );
        stream.write_all(head.as_bytes()).expect("it is heard");
        let answer = rest_of(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(answer.contains("the daemon is another user's"), "{answer}");
    } else {
        for name in ["token", "address.json", "air.sock"] {
            let path = state.join("hosts/run").join(name);
            let mut command = Command::new("cat");
            let output = command.arg(path).uid(asker).gid(asker).output().expect("it runs");
            assert!(!output.status.success(), "{name}: {}", said(&output));
        }
    }
    for path in all(&state) {
        // A journal's helpers come and go.
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        assert_eq!(found.uid(), owner, "{}", path.display());
        let kept = if found.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let leaks = kept.windows(4).any(|part| part == b"Zx81");
        assert!(!leaks, "{}", path.display());
    }
    // Its own user is served as ever.
    let output = shared.shim(owner, &["--no-start"]);
    assert!(passed(&output), "{}", said(&output));
    let output = shared.run(owner, "airctl", &["daemon", "status"], "");
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn root_s_daemon_is_not_asked_by_another_user() {
    refused(ROOT, USER);
}

#[test]
fn a_user_s_daemon_is_not_asked_by_root() {
    refused(USER, ROOT);
}

#[test]
fn a_user_s_daemon_is_not_asked_by_another_user() {
    refused(USER, OTHER);
}
