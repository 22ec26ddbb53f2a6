//! Whom a sandbox runs as outside, and the overlay of its workspace.

use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    time::Instant,
};

use air_workspace::Overlay;

use super::*;

/// The real user of the process outside that shows `mark` in its command line.
fn outside_user(mark: &str) -> u32 {
    let line = |path: &Path| std::fs::read(path.join("cmdline")).unwrap_or_default();
    let wanted = format!("sleep\0{mark}\0");
    let deadline = Instant::now() + Duration::from_secs(10);
    let found = loop {
        let mut entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        match entries.find(|path| line(path) == wanted.as_bytes()) {
            Some(found) => break found,
            None => assert!(Instant::now() < deadline, "it does not run"),
        }
    };
    let status = std::fs::read_to_string(found.join("status")).unwrap();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    users.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn outside_a_sandbox_nobody_is_root_and_its_files_belong_to_the_owner() {
    at_t3(|bench| {
        let own = bench.folder.path().metadata().unwrap();
        bench.write("mine", "1", 0o600);
        bench.bash("echo new > new; mkdir d; echo x >> mine; sleep 7171 & disown; echo h > ~/h");
        assert_ne!(outside_user("7171"), 0);
        let home = bench.folder.path().join("state/sessions/s1/home/h");
        for path in [bench.path("new"), bench.path("d"), bench.path("mine"), home] {
            let meta = path.metadata().unwrap();
            assert_eq!((meta.uid(), meta.gid()), (own.uid(), own.gid()), "{path:?}");
        }
        assert_eq!(std::fs::read_to_string(bench.path("mine")).unwrap(), "1x\n");
    });
}

#[test]
fn a_workspace_of_somebody_else_stays_theirs() {
    if !rustix::process::geteuid().is_root() {
        skip("only root has workspaces of others");
        return;
    }
    at_t3(|bench| {
        let (folder, tier) = (bench.folder, bench.tier);
        drop((bench.workspace, bench.tools));
        std::os::unix::fs::chown(folder.path().join("ws"), Some(4321), Some(4322)).unwrap();
        let workspace = LocalWorkspace::open(config(folder.path(), tier)).unwrap();
        let bench = Bench { folder, tier, tools: Tools::new(workspace.clone()), workspace };
        bench.write("of-root", "1", 0o644);
        let seen = bench.bash("echo x > f; cat of-root; sleep 7172 & disown; echo y > of-root");
        assert!(seen.content.starts_with('1') && seen.error.is_some(), "{seen:?}");
        assert_eq!(outside_user("7172"), 4321);
        let meta = bench.path("f").metadata().unwrap();
        assert_eq!((meta.uid(), meta.gid()), (4321, 4322));
        assert_eq!(bench.bash("echo h > ~/h && cat ~/h").content, "h\n");
    });
}

#[test]
fn an_overlay_leaves_the_workspace_as_it_is() {
    let layers = tempfile::tempdir().unwrap();
    let (upper, work) = (layers.path().join("upper"), layers.path().join("work"));
    std::fs::create_dir(&upper).unwrap();
    std::fs::create_dir(&work).unwrap();
    let overlay = Overlay { upper: upper.clone(), work };
    for name in [&b"ws"[..], b"a:b,c\\d", b"odd\xff"] {
        let with = |config: &mut SandboxConfig| {
            let workspace = config.workspace.with_file_name(OsStr::from_bytes(name));
            std::fs::create_dir_all(&workspace).unwrap();
            config.workspace = workspace;
            config.overlay = Some(overlay.clone());
        };
        let Some(bench) = Bench::try_with(Tier::T3, with) else { return };
        let lower = bench.folder.path().join(OsStr::from_bytes(name));
        for (file, content) in [("keep", "1"), ("change", "2"), ("gone", "3")] {
            std::fs::write(lower.join(file), content).unwrap();
        }
        std::fs::create_dir(lower.join("dir")).unwrap();
        std::fs::write(lower.join("dir/in"), "4").unwrap();
        let saved = snapshot(&lower);
        let code = "cat keep; echo more >> change; rm gone; echo new > new; mv dir moved; ls";
        let seen = bench.bash(code);
        assert_eq!(seen.error, None, "{seen:?}");
        assert_eq!(seen.content, "1change\nkeep\nmoved\nnew\n");
        assert_eq!(snapshot(&lower), saved);
        assert_eq!(std::fs::read_to_string(upper.join("change")).unwrap(), "2more\n");
        let gone = upper.join("gone").symlink_metadata().unwrap();
        assert_eq!((gone.mode() & 0o170_000, gone.rdev()), (0o020_000, 0));
        let own = bench.folder.path().metadata().unwrap();
        let made = upper.join("new").metadata().unwrap();
        assert_eq!((made.uid(), made.gid()), (own.uid(), own.gid()));
        assert_eq!(bench.bash("rm -rf keep change new moved").error, None);
        drop(bench);
        for entry in std::fs::read_dir(&upper).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            let path = entry.path();
            if kind.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
                .unwrap();
        }
    }
}

#[test]
fn an_overlay_that_cannot_be_is_an_error() {
    at_t3(|bench| {
        let mut config = config(bench.folder.path(), Tier::T3);
        let (one, another) = (bench.folder.path().join("a/u"), bench.folder.path().join("b/w"));
        config.overlay = Some(Overlay { upper: one, work: another });
        let error = LocalWorkspace::open(config).unwrap_err().to_string();
        assert!(error.contains("beside each other"), "{error}");
    });
}
