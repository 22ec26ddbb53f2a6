//! A disk that is full, or that nobody may write to. Takes a small file system of its own, and root.
#![expect(clippy::print_stdout, reason = "a test says what it skips")]

use std::{fs, path::PathBuf, process::Command};

use super::{Stage, passed, said};

/// A file system in the place of the state.
struct Disk(PathBuf);

impl Disk {
    fn mount(stage: &Stage) -> Option<Self> {
        let at = stage.path("state");
        fs::create_dir_all(&at).expect("a directory");
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs"]).arg(&at);
        let is_there = command.output().is_ok_and(|output| output.status.success());
        if !is_there {
            println!("skipped: a file system cannot be mounted here");
            return None;
        }
        Some(Self(at))
    }

    fn remount(&self, option: &str) -> bool {
        let options = format!("remount,{option}");
        let mut command = Command::new("mount");
        command.args(["-o", &options]).arg(&self.0);
        command.output().is_ok_and(|output| output.status.success())
    }

    /// Nothing more fits.
    fn fill(&self) {
        use std::io::Write as _;
        let mut file = fs::File::create(self.0.join("filling")).expect("a file");
        for size in [64 << 10, 512, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filling")).expect("removed");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
fn on_a_full_disk_nothing_runs_and_nothing_is_lost() {
    let stage = Stage::new();
    let Some(disk) = Disk::mount(&stage) else { return };
    stage.start();
    let ask = |event: &str, call: &str| {
        let payload = stage.payload(event, call, "ls").to_string();
        stage.shim(&["--no-start"], payload.as_bytes())
    };
    assert!(passed(&ask("PreToolUse", "a")));
    disk.fill();
    let mut refused = 0;
    for call in 0..5 {
        let output = ask("PreToolUse", &format!("full {call}"));
        if !passed(&output) {
            refused += 1;
            assert!(said(&output).contains("AIR could not decide"), "{}", said(&output));
        }
    }
    assert!(refused > 0, "nothing was refused");
    // The call that was let pass comes back: it cannot be examined now.
    let output = ask("PostToolUse", "a");
    assert!(said(&output).contains("AIR could not decide") || passed(&output), "{}", said(&output));
    disk.free();
    let output = ask("PostToolUse", "a");
    assert!(passed(&output), "{}", said(&output));
    stage.is_well("with room again");
    let (begun, examined) = stage.steps();
    assert!(begun >= 2 && examined >= 1, "{begun} {examined}");
    stage.stop();
}

#[test]
fn on_a_disk_that_is_read_only_nothing_runs() {
    let stage = Stage::new();
    let Some(disk) = Disk::mount(&stage) else { return };
    stage.start();
    let pre = |call: &str| stage.payload("PreToolUse", call, "ls").to_string();
    assert!(passed(&stage.shim(&["--no-start"], pre("a").as_bytes())));
    // No daemon can begin either.
    stage.stop();
    if !disk.remount("ro") {
        println!("skipped: it cannot be made read-only here");
        return;
    }
    let output = stage.shim(&["--patience", "5"], pre("b").as_bytes());
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("AIR cannot be asked"), "{}", said(&output));
    assert!(disk.remount("rw"));
    stage.start();
    stage.is_well("writable again");
    stage.stop();
}
