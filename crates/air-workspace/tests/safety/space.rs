//! Other file systems, and full ones. Runs itself again where it may mount.

use std::process::Command;

use super::*;

/// Where the second run has a small file system, mounted for it alone.
const SMALL: &str = "AIR_SAFETY_SMALL";

/// Runs a test of this file with a small tmpfs.
fn again(name: &str) {
    if !rustix::process::geteuid().is_root() {
        skip("only root mounts here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"mount -t tmpfs -o size=6m,mode=755 tmpfs "$1" || exit 77
        exec "$2" --exact "$3" --nocapture"#;
    let output = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(std::env::current_exe().unwrap())
        .arg(format!("space::{name}"))
        .env(SMALL, folder.path())
        .output();
    let Some(output) = output.ok().filter(|output| output.status.code() != Some(77)) else {
        skip("nothing can be mounted here");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{errors}");
}

fn small() -> Option<PathBuf> {
    std::env::var_os(SMALL).map(PathBuf::from)
}

/// What no compression makes smaller.
fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..bytes).map(|_| next()).collect()
}

#[test]
fn another_file_system() {
    let Some(small) = small() else { return again("another_file_system") };
    let prepare = |config: &mut SandboxConfig| {
        let workspace = small.join("ws");
        let _ = fs::remove_dir_all(&workspace);
        fs::create_dir(&workspace).unwrap();
        fs::write(workspace.join("f"), "one").unwrap();
        fs::write(workspace.join("gone"), "gone").unwrap();
        config.workspace = workspace;
    };
    on(&Way::ALL, prepare, |bench| {
        let read = |name: &str| fs::read_to_string(small.join("ws").join(name)).unwrap();
        let before = bench.checkpoint();
        let command = "echo two > f; rm gone; mkdir d; echo new > d/new; ln -s f link";
        assert_eq!(bench.bash(command).error, None, "{:?}", bench.way);
        let seen = bench.effects(&before).files;
        assert!(seen.incomplete.is_none(), "{seen:?}");
        assert_eq!(seen.items.len(), 5, "{seen:?}");
        bench.rollback(&before).unwrap();
        assert_eq!((read("f"), read("gone")), ("one".into(), "gone".into()));
        assert!(!small.join("ws/d").exists());
        assert_eq!(bench.bash(command).error, None);
        let publication = bench.publish();
        assert_eq!(publication.held_back, Vec::<String>::new());
        assert_eq!((read("f"), read("d/new")), ("two\n".into(), "new\n".into()));
        assert!(!small.join("ws/gone").exists());
    });
}

/// What is not kept is said, and what is kept comes back.
#[test]
fn no_space_for_what_is_kept() {
    let Some(small) = small() else { return again("no_space_for_what_is_kept") };
    let prepare = |config: &mut SandboxConfig| {
        let state = small.join("state");
        let _ = fs::remove_dir_all(&state);
        config.session_dir = state.join("sessions/s1");
        config.overlay = config.overlay.as_ref().map(|_| Overlay::of(&config.session_dir));
        config.state = state;
        fs::write(config.workspace.join("a"), "small").unwrap();
        for n in 0..4 {
            let content = noise(3 << 20, 77 + n);
            fs::write(config.workspace.join(format!("n{n}")), content).unwrap();
        }
    };
    on(&[Way::Direct, Way::Rules], prepare, |bench| {
        let before = bench.checkpoint();
        let seen = bench.try_call("bash", json!({ "command": "echo changed > a; rm n*" }));
        assert_eq!(seen.unwrap().error, None);
        let seen = bench.effects(&before).files;
        let lost: Vec<&str> =
            seen.items.iter().filter(|file| !file.reversible).map(|file| &*file.path).collect();
        assert!(!lost.is_empty() && lost.len() < 5, "{seen:?}");
        let said = bench.rollback(&before);
        let why = said.unwrap_err();
        for path in &lost {
            assert!(why.contains(&format!("{path}: its content was not kept")), "{why}");
        }
        assert_eq!(bench.read("a"), "small", "{why}");
        let back = (0..4).filter(|n| bench.path(&format!("n{n}")).exists()).count();
        assert_eq!(back, 4 - lost.iter().filter(|path| path.contains("/n")).count(), "{why}");
    });
}

/// The agent fills what its layer lies on: nothing of the user's is lost, and it can be handed over
/// once there is room.
#[test]
fn no_space_at_the_end() {
    let Some(small) = small() else { return again("no_space_at_the_end") };
    let prepare = |config: &mut SandboxConfig| {
        let state = small.join("state");
        let _ = fs::remove_dir_all(&state);
        config.session_dir = state.join("sessions/s1");
        config.overlay = Some(Overlay::of(&config.session_dir));
        config.state = state;
        fs::write(config.workspace.join("f"), "one").unwrap();
    };
    on(&[Way::Layer], prepare, |bench| {
        bench.checkpoint();
        let filling = "echo two > f; echo new > new; head -c 20000000 /dev/urandom > filling";
        let seen = bench.bash(filling);
        assert!(seen.error.is_some(), "{seen:?}");
        let kept = block_on(bench.workspace.checkpoint());
        let first = block_on(bench.workspace.publish());
        if let Err(error) = &first {
            let said = error.to_string();
            assert!(said.contains("space"), "{said}");
            assert_eq!(bench.read("f"), "one", "{said}");
        }
        // Somebody makes room.
        fs::remove_file(small.join("state/sessions/s1/upper/filling")).unwrap();
        let second = block_on(bench.workspace.publish());
        let said = format!("{kept:?} {first:?} {second:?}");
        assert!(second.is_ok(), "{said}");
        assert_eq!(
            (bench.read("f"), bench.read("new")),
            ("two\n".into(), "new\n".into()),
            "{said}"
        );
    });
}

/// The workspace itself is full when the layer is handed over.
#[test]
fn no_space_in_the_workspace() {
    let Some(small) = small() else { return again("no_space_in_the_workspace") };
    let prepare = |config: &mut SandboxConfig| {
        let workspace = small.join("ws");
        let _ = fs::remove_dir_all(&workspace);
        fs::create_dir(&workspace).unwrap();
        fs::write(workspace.join("f"), "one").unwrap();
        config.workspace = workspace;
    };
    on(&[Way::Layer], prepare, |bench| {
        bench.checkpoint();
        let seen = bench.bash("echo two > f; head -c 4000000 /dev/urandom > large");
        assert_eq!(seen.error, None);
        let person = small.join("ws/person");
        fs::write(&person, noise(4 << 20, 5)).unwrap();
        let said = block_on(bench.workspace.publish()).unwrap_err().to_string();
        assert!(said.contains("make room"), "{said}");
        assert_eq!(fs::metadata(&person).unwrap().len(), 4 << 20);
        assert!(["one", "two\n"].contains(&&*fs::read_to_string(small.join("ws/f")).unwrap()));
        fs::remove_file(person).unwrap();
        assert_eq!(bench.publish().held_back, Vec::<String>::new());
        assert_eq!(fs::read_to_string(small.join("ws/f")).unwrap(), "two\n");
        assert_eq!(fs::metadata(small.join("ws/large")).unwrap().len(), 4_000_000);
    });
}

/// A file system that is mounted to be read.
#[test]
fn a_workspace_that_is_mounted_read_only() {
    let Some(small) = small() else { return again("a_workspace_that_is_mounted_read_only") };
    let remount = |how: &str| {
        let done = Command::new("mount").args(["-o", how]).arg(&small).status();
        assert!(done.unwrap().success());
    };
    let prepare = |config: &mut SandboxConfig| {
        remount("remount,rw");
        let workspace = small.join("ws");
        let _ = fs::remove_dir_all(&workspace);
        fs::create_dir(&workspace).unwrap();
        fs::write(workspace.join("f"), "one").unwrap();
        config.workspace = workspace;
        remount("remount,ro");
    };
    on(&Way::ALL, prepare, |bench| {
        let before = bench.checkpoint();
        let seen = bench.bash("echo two > f; echo new > new");
        assert_eq!(seen.error.is_none(), bench.is_layered(), "{:?}: {seen:?}", bench.way);
        let changed = bench.effects(&before).files.items.len();
        assert_eq!(changed, if bench.is_layered() { 2 } else { 0 });
        let publication = bench.publish();
        if bench.is_layered() {
            assert_eq!(publication.held_back.len(), 2, "{publication:?}");
            for held in &publication.held_back {
                assert!(held.contains("read-only"), "{held}");
                let (_, kept) = held.split_once("the agent's version is ").unwrap();
                assert!(Path::new(kept).exists());
            }
        } else {
            assert_eq!(bench.rollback(&before).unwrap(), "nothing differed");
        }
        assert_eq!(fs::read_to_string(small.join("ws/f")).unwrap(), "one");
    });
}
