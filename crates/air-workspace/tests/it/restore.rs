//! Checkpoints, effects and the way back.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use super::*;

#[test]
fn everything_comes_back_after_rm_rf() {
    at_t3(|bench| {
        bench.write("a/b/c.txt", "content", 0o640);
        bench.write("run.sh", "#!/bin/sh\n", 0o755);
        bench.write("empty", "", 0o600);
        std::fs::create_dir(bench.path("hollow")).unwrap();
        std::os::unix::fs::symlink("a/b/c.txt", bench.path("link")).unwrap();
        std::fs::write(bench.path("").join(OsStr::from_bytes(b"\xff%41\n")), "odd").unwrap();
        bench.bash("mkfifo pipe; mkdir closed; touch closed/in; chmod 500 closed; echo h > ~/h");
        let root = bench.folder.path();
        let all = || [snapshot(&root.join("ws")), snapshot(&root.join("state/sessions/s1/home"))];
        let saved = all();
        let before = bench.checkpoint();
        bench.bash("rm -rf --no-preserve-root / 2>/dev/null; mkdir run.sh; echo x > run.sh/new");
        let deleted = bench.effects(&before);
        assert!(deleted.files.items.iter().any(|file| file.change == Change::Deleted));
        assert!(!bench.path("a").exists());
        let said = bench.rollback(&before);
        assert!(said.starts_with("restored "), "{said}");
        assert_eq!(all(), saved);
        assert_eq!(bench.rollback(&before), "nothing differed");
        assert!(bench.effects(&before).files.items.is_empty());
        assert_eq!(bench.python("1").content, "1\n");
    });
}

#[test]
fn a_deleted_file_comes_back_with_its_mode() {
    at_each_tier(|bench| {
        bench.write("data.csv", "a,b\n", 0o640);
        let before = bench.checkpoint();
        bench.call("delete_file", json!({ "path": "data.csv" }));
        bench.bash("echo new > other");
        let gone = bench.effect(&before, "data.csv").unwrap();
        assert_eq!((gone.change, gone.mode, gone.reversible), (Change::Deleted, 0o640, true));
        assert_eq!(bench.rollback(&before), "restored 1 file, removed 1");
        let mode = bench.path("data.csv").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o640);
    });
}

#[test]
fn a_change_with_a_forged_time_is_seen() {
    at_each_tier(|bench| {
        bench.write("f", "one", 0o644);
        std::thread::sleep(Duration::from_millis(60));
        bench.checkpoint();
        let before = bench.checkpoint();
        bench.bash("cp -p f /tmp/keep 2>/dev/null || cp -p f $TMPDIR/keep; printf two > f; touch -r ${TMPDIR}/keep f");
        assert_eq!(bench.effect(&before, "f").unwrap().change, Change::Modified);
        let modes = bench.checkpoint();
        bench.bash("chmod 600 f");
        assert_eq!(bench.effect(&modes, "f").unwrap().change, Change::Modified);
        assert_eq!(bench.rollback(&modes), "restored 1 file");
    });
}

#[test]
fn a_copy_has_an_origin() {
    at_each_tier(|bench| {
        bench.write("secret.txt", "the content", 0o600);
        let before = bench.checkpoint();
        bench.bash(
            "cp /etc/passwd p; cp secret.txt s; touch empty; echo own > own; cp /etc/hostname h",
        );
        let origin = |name: &str| bench.effect(&before, name).unwrap().origin;
        assert_eq!(origin("p").as_deref(), Some("/etc/passwd"));
        assert_eq!(origin("s"), Some(bench.inside("secret.txt")));
        assert_eq!(origin("empty"), None);
        assert_eq!(origin("own"), None);
        assert_eq!(origin("h"), None);
        let mentioned = ["/etc/hostname".to_owned()];
        let seen = block_on(bench.workspace.effects(&before, &mentioned)).unwrap();
        let copy = seen.files.items.iter().find(|file| file.path == bench.inside("h")).unwrap();
        assert_eq!(copy.origin.as_deref(), Some("/etc/hostname"));
    });
}

#[test]
fn quarantine_is_idempotent() {
    at_each_tier(|bench| {
        bench.bash("mkdir d; echo stolen > d/copy");
        let incident = IncidentId::from("i1");
        let paths = [bench.inside("d/copy")];
        let first = block_on(bench.workspace.quarantine(&incident, &paths)).unwrap();
        assert!(first.starts_with("moved "), "{first}");
        let second = block_on(bench.workspace.quarantine(&incident, &paths)).unwrap();
        assert_eq!(second, "nothing was left to move");
        assert!(!bench.path("d/copy").exists());
        let label = if bench.tier == Tier::T3 { "workspace" } else { "ws" };
        let evidence = bench.folder.path().join("state/evidence/i1").join(label).join("d/copy");
        assert_eq!(std::fs::read_to_string(evidence).unwrap(), "stolen\n");
        let outside = ["/etc/passwd".to_owned()];
        assert!(block_on(bench.workspace.quarantine(&incident, &outside)).is_err());
    });
}

#[test]
fn another_process_can_go_on() {
    at_each_tier(|bench| {
        bench.write("f", "one", 0o644);
        bench.python("x = 1");
        let before = bench.checkpoint();
        bench.bash("echo two > f; echo new > $HOME/new; sleep 999 & disown");
        let Bench { folder, tier, workspace, tools } = bench;
        drop((workspace, tools));
        let workspace = LocalWorkspace::open(config(folder.path(), tier)).unwrap();
        let bench = Bench { folder, tier, tools: Tools::new(workspace.clone()), workspace };
        let seen = bench.effects(&before);
        assert!(seen.processes.items.is_empty());
        assert_eq!(bench.effect(&before, "f").unwrap().change, Change::Modified);
        assert_eq!(bench.rollback(&before), "restored 1 file, removed 1");
        assert_eq!(std::fs::read_to_string(bench.path("f")).unwrap(), "one");
        bench.python("2");
        assert!(bench.folder.path().join("state/sessions/s1/steps/step2.py").exists());
        let unknown = CheckpointId::from("../../x");
        assert!(block_on(bench.workspace.rollback(&unknown)).is_err());
    });
}

#[test]
fn what_is_too_large_to_keep_is_irreversible() {
    let small = |config: &mut SandboxConfig| config.limits.retained_file_bytes = 10;
    let Some(bench) = Bench::try_with(Tier::T3, small) else { return };
    bench.write("large", "more than ten bytes", 0o644);
    let before = bench.checkpoint();
    bench.bash("rm large");
    assert!(!bench.effect(&before, "large").unwrap().reversible);
    let error = block_on(bench.workspace.rollback(&before)).unwrap_err().to_string();
    assert!(error.contains("/workspace/large: its content was not kept"), "{error}");
}

#[test]
fn depth_is_no_limit() {
    at_t3(|bench| {
        let before = bench.checkpoint();
        let deep = "import os\nfor _ in range(400):\n    os.mkdir('d' * 20); os.chdir('d' * 20)\n";
        let seen = bench.python(&format!("{deep}open('f', 'w').write('x')"));
        assert_eq!(seen.error, None);
        assert_eq!(bench.effects(&before).files.items.len(), 401);
        assert_eq!(bench.rollback(&before), "removed 401 files");
    });
}
