//! All of it again as somebody who is not root.

use std::{os::unix::process::CommandExt, process::Command};

use super::*;

const USER: u32 = 12_345;

#[test]
fn the_same_as_a_normal_user() {
    if !rustix::process::geteuid().is_root() {
        skip("this is a normal user already");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let everybody = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    everybody(folder.path());
    let copy = |from: &Path, name: &str| {
        let to = folder.path().join(name);
        fs::copy(from, &to).unwrap();
        everybody(&to);
        to
    };
    let tests = copy(&std::env::current_exe().unwrap(), "safety");
    let supervisor = copy(Path::new(env!("CARGO_BIN_EXE_air-supervise")), "air-supervise");
    let tmp = folder.path().join("tmp");
    fs::create_dir(&tmp).unwrap();
    std::os::unix::fs::chown(&tmp, Some(USER), Some(USER)).unwrap();
    let mut command = Command::new(tests);
    command.args(["--test-threads", "1"]).current_dir(&tmp).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("TMPDIR", &tmp).env("AIR_SUPERVISE", supervisor);
    if let Some(required) = std::env::var_os("AIR_REQUIRE_TIER") {
        command.env("AIR_REQUIRE_TIER", required);
    }
    // Becoming another user this way clears the supplementary groups too.
    let output = command.uid(USER).gid(USER).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}\n{errors}");
    let passed = said.lines().find_map(|line| line.strip_prefix("test result: ok. "));
    let passed: u32 = passed.unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(passed > 20, "{said}");
}
