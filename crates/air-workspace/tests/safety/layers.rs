//! What would be taken for the layer's own, and what is handed over of it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

const PLAIN: fn(&mut SandboxConfig) = |_| {};

/// What an overlay would read as «nothing is here any more».
#[test]
fn the_signs_of_the_overlay() {
    let prepare = |config: &mut SandboxConfig| {
        fs::create_dir(config.workspace.join("d")).unwrap();
        fs::write(config.workspace.join("d/kept"), "kept").unwrap();
        fs::write(config.workspace.join("f"), "file").unwrap();
    };
    on(&Way::ALL, prepare, |bench| {
        let before = bench.checkpoint();
        let code = "import os
for path in ('d', 'f', '.'):
    for name, value in (('opaque', b'y'), ('opaque', b'x'), ('whiteout', b''), ('redirect', b'/f'),
                        ('metacopy', b''), ('overlay.opaque', b'y'), ('origin', b'x')):
        try: os.setxattr(path, 'user.overlay.' + name, value)
        except OSError: pass
import ctypes
libc = ctypes.CDLL(None)
made = [libc.syscall(316, -100, b'f', -100, b'g', 4)]
for directory in ('', os.environ['HOME'] + '/'):
    try: made.append(os.mknod(directory + 'node', 0o020644, 0))
    except PermissionError: pass
made";
        assert_eq!(bench.python(code).content, "[-1]\n", "{:?}", bench.way);
        assert_eq!(bench.bash("cat d/kept f").content, "keptfile", "{:?}", bench.way);
        let seen = bench.effects(&before).files;
        assert!(seen.incomplete.is_none(), "{seen:?}");
        let gone = seen.items.iter().filter(|file| file.path.ends_with("kept"));
        assert_eq!(gone.count(), 0, "{:?}: {seen:?}", bench.way);
        // It is new to the next sandbox too.
        bench.kill();
        assert_eq!(bench.bash("cat d/kept f").content, "keptfile", "{:?}", bench.way);
        let publication = bench.publish();
        assert_eq!(publication.held_back, Vec::<String>::new());
        assert_eq!((bench.read("d/kept"), bench.read("f")), ("kept".into(), "file".into()));
        if bench.is_layered() {
            let layer = fs::read_dir(bench.path("d")).unwrap().count();
            assert_eq!(layer, 1);
        } else {
            bench.rollback(&before).unwrap();
            bench.finish();
        }
    });
}

#[test]
fn names_outside_of_a_file_inside() {
    let prepare = |config: &mut SandboxConfig| {
        let outside = config.workspace.with_file_name("other name");
        fs::write(&outside, "shared").unwrap();
        fs::hard_link(&outside, config.workspace.join("inside")).unwrap();
    };
    on(&Way::ALL, prepare, |bench| {
        let outside = bench.path("").with_file_name("other name");
        let read = || fs::read_to_string(&outside).unwrap();
        let before = bench.checkpoint();
        assert_eq!(bench.bash("echo agent >> inside").error, None);
        let seen = bench.effect(&before, "inside").unwrap();
        assert!(seen.reversible, "{:?}", bench.way);
        assert_eq!(read(), if bench.is_layered() { "shared" } else { "sharedagent\n" });
        let said = bench.rollback(&before);
        assert_eq!(bench.read("inside"), "shared", "{said:?}");
        assert_eq!(outside.metadata().unwrap().nlink(), 2);
        if bench.is_layered() {
            assert_eq!(
                (said.unwrap(), read()),
                ("restored 1 file".to_owned(), "shared".to_owned())
            );
            assert_eq!(bench.bash("echo agent >> inside").error, None);
            bench.publish();
            assert_eq!(bench.read("inside"), "sharedagent\n");
            return;
        }
        assert_eq!((said.unwrap(), read()), ("restored 1 file".to_owned(), "shared".to_owned()));
        assert_eq!(bench.effects(&before).files.items, Vec::new());
        bench.finish();
    });
}

#[test]
fn the_root_itself() {
    let prepare = |config: &mut SandboxConfig| {
        fs::write(config.workspace.join("f"), "user's").unwrap();
        fs::set_permissions(&config.workspace, fs::Permissions::from_mode(0o755)).unwrap();
    };
    on(&Way::ALL, prepare, |bench| {
        let before = bench.checkpoint();
        let root = bench.inside("");
        bench.bash(&format!(
            "cd /; rm -rf {root}; rmdir {root}; mv {root} {root}x; ln -s /etc {root}; rm -rf {root}/* {root}/.*"
        ));
        let seen = bench.effects(&before).files;
        assert!(
            seen.incomplete.is_some() || seen.items.iter().any(|file| file.path.ends_with("/f"))
        );
        bench.rollback(&before).unwrap();
        assert_eq!(bench.read("f"), "user's", "{:?}", bench.way);
        bench.bash("chmod 000 .");
        let seen = bench.effects(&before).files;
        assert!(seen.incomplete.is_some() || !seen.items.is_empty(), "{:?}: {seen:?}", bench.way);
        let said = bench.rollback(&before);
        assert!(said.is_ok(), "{:?}: {said:?}", bench.way);
        assert_eq!(bench.path("").metadata().unwrap().mode() & 0o777, 0o755);
        assert!(bench.effects(&before).files.items.is_empty());
        bench.finish();
    });
}

#[test]
fn closed_directories_are_handed_over() {
    on(&[Way::Layer], PLAIN, |bench| {
        let made = bench.bash(
            "mkdir -p d/e; echo new > d/e/f; echo secret > shut; chmod 000 shut d/e/f d/e d; ls",
        );
        assert_eq!(made.error, None);
        let publication = bench.publish();
        assert_eq!(publication.held_back, Vec::<String>::new());
        assert_eq!(publication.changed, 4);
        for name in ["d", "d/e", "d/e/f", "shut"] {
            let path = bench.path(name);
            // Root looks at what is closed, and others have to open it to themselves.
            let mode = path.metadata().unwrap().mode() & 0o777;
            let is_root = rustix::process::geteuid().is_root();
            assert!(mode == 0 || !is_root && [0o400, 0o700].contains(&mode), "{name}: {mode:o}");
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        assert_eq!((bench.read("d/e/f"), bench.read("shut")), ("new\n".into(), "secret\n".into()));
    });
}

#[test]
fn what_runs_at_the_end_is_ended_first() {
    on(&[Way::Layer], PLAIN, |bench| {
        let code = "import os, time, mmap
open('held', 'w').write('x' * 4096)
if os.fork() == 0:
    os.setsid()
    os.chdir('/workspace')
    file = open('held', 'r+')
    memory = mmap.mmap(file.fileno(), 4096)
    open('ready', 'w').close()
    while True:
        memory[0:4] = b'last'
        memory[0:4] = b'next'
";
        assert_eq!(bench.python(code).error, None);
        let upper = bench.folder.path().join("state/sessions/s1/upper/ready");
        let deadline = Instant::now() + GRACE;
        while !upper.exists() {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(5));
        }
        let running = bench.own_processes();
        assert!(!running.is_empty());
        let publication = bench.publish();
        assert_eq!(publication.held_back, Vec::<String>::new());
        assert!(running.iter().all(|pid| !Path::new("/proc").join(pid.to_string()).exists()));
        assert_eq!(bench.read("held").len(), 4096);
        assert!(!bench.folder.path().join("state/sessions/s1/upper").exists());
    });
}
