//! Checkpoints, effects and the way back.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use air_checkpoint::{Store, Tree, known};

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
        let named = ["secret.txt".to_owned()];
        let seen = block_on(bench.workspace.effects(&before, &named)).unwrap().files.items;
        let origin = |name: &str| {
            let file = seen.iter().find(|file| file.path == bench.inside(name)).unwrap();
            file.origin.clone()
        };
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
        assert!(bench.folder.path().join("state/sessions/s1/steps/step3.py").exists());
        let unknown = CheckpointId::from("../../x");
        assert!(block_on(bench.workspace.rollback(&unknown)).is_err());
    });
}

/// What it was told is wrong, so that believing it can be seen.
#[test]
fn a_later_session_reads_what_has_changed_or_is_not_kept_any_more() {
    let fill = |config: &mut SandboxConfig| {
        for (name, content) in [("a", "one"), ("b", "two"), ("changed", "old"), ("erased", "six")] {
            std::fs::write(config.workspace.join(name), content).unwrap();
        }
        // Long enough ago to be believed.
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let Some(bench) = Bench::try_with(Tier::T2, fill) else { return };
    bench.checkpoint();
    let Bench { folder, tier, workspace, tools } = bench;
    drop((workspace, tools));

    let store = Store::open(&folder.path().join("state")).unwrap();
    let path = folder.path().join("state/known");
    let mut tree = known::recall(&path, &store).unwrap();
    let digest = |tree: &Tree, name: &str| tree.entries[&(0, name.into())].digest.unwrap();
    let (a, b) = (digest(&tree, "a"), digest(&tree, "b"));
    tree.entries.get_mut(&(0, "a".into())).unwrap().digest = Some(b);
    tree.entries.get_mut(&(0, "b".into())).unwrap().digest = Some(a);
    assert!(store.erase(&digest(&tree, "erased")).unwrap());
    known::remember(&path, &tree).unwrap();
    std::fs::write(folder.path().join("ws/changed"), "new").unwrap();

    let mut config = config(folder.path(), tier);
    config.session_dir = config.state.join("sessions/s2");
    let workspace = LocalWorkspace::open(config).unwrap();
    let bench = Bench { folder, tier, tools: Tools::new(workspace.clone()), workspace };
    let before = bench.checkpoint();
    bench.bash("rm *");
    assert_eq!(bench.rollback(&before), "restored 4 files");
    for (name, content) in [("a", "two"), ("b", "one"), ("changed", "new"), ("erased", "six")] {
        assert_eq!(std::fs::read_to_string(bench.path(name)).unwrap(), content, "{name}");
    }
}

#[test]
fn many_files_come_back_and_are_known_afterwards() {
    at_each_tier(|bench| {
        for number in 0..40 {
            bench.write(&format!("{}/{number}", number % 3), &number.to_string(), 0o640);
        }
        let before = bench.checkpoint();
        let was = snapshot(&bench.path(""));
        bench.bash("rm -r *");
        assert!(bench.rollback(&before).starts_with("restored"));
        assert_eq!(snapshot(&bench.path("")), was);
        let again = bench.checkpoint();
        assert!(bench.effects(&before).files.items.is_empty());
        bench.bash("echo other > 1/1");
        assert_eq!(bench.effect(&again, "1/1").unwrap().change, Change::Modified);
        assert_eq!(bench.rollback(&before), "restored 1 file");
        assert_eq!(snapshot(&bench.path("")), was);
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

#[test]
fn what_a_layer_cannot_take_away_is_still_visible() {
    if Bench::try_new(Tier::T3).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path(), Tier::T3);
    std::fs::create_dir_all(config.workspace.join("d")).unwrap();
    for name in ["kept", "gone", "d/below"] {
        std::fs::write(config.workspace.join(name), "mine").unwrap();
    }
    config.overlay = Some(Overlay::of(&config.session_dir));
    let workspace = LocalWorkspace::open(config).unwrap();
    let tools = Tools::new(workspace.clone());
    let bench = Bench { folder, tier: Tier::T3, tools, workspace };
    assert_eq!(
        bench.bash("rm -r d gone; mkdir -p d n/m; echo x > new; echo x > n/m/new").error,
        None
    );
    let incident = IncidentId::from("i1");
    let take = |name: &str| {
        let said = block_on(bench.workspace.quarantine(&incident, &[bench.inside(name)]));
        said.map_err(|error| error.to_string())
    };
    for name in ["new", "n/m/new"] {
        assert!(take(name).unwrap().starts_with("moved "));
    }
    for name in ["new", "n/m/new", "gone", "d/below"] {
        assert_eq!(take(name).unwrap(), "nothing was left to move", "{name}");
    }
    let still = take("kept").unwrap_err();
    assert!(still.contains("still visible: it was there before"), "{still}");
    assert_eq!(bench.bash("echo *; ls d").content, "d kept n\n");
}

#[test]
fn what_was_swapped_out_goes_with_the_sessions_that_it_is_older_than() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let make = |path: &str| {
        let path = state.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, vec![1; 100_000]).unwrap();
        path
    };
    let archive = Archive::open(&state, &Limits::default()).unwrap();
    let before = archive.usage().unwrap().bytes;
    let old = make("applied/displaced/0000000000000001-1-1/0-0-unknown");
    let own = make("sessions/s1/applied/displaced/0000000000000001-1-1/0-0-unknown");
    let new = make("applied/displaced/7fffffffffffff00-1-1/0-0-unknown");
    make("sessions/s2/held-back/file");
    assert!(archive.usage().unwrap().bytes >= before + 300_000);
    assert!(archive.holds_back("s2") && !archive.holds_back("s1"));
    archive.forget("s1").unwrap();
    archive.collect().unwrap();
    assert!(!old.exists() && !own.exists() && new.exists());
    archive.forget("s2").unwrap();
    archive.collect().unwrap();
    assert!(!new.exists(), "no session is left that could need it");
    assert_eq!(archive.usage().unwrap().bytes, before);
}
