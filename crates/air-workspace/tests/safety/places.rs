//! Workspaces and state in odd places, and that go away.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, os::unix::fs::PermissionsExt};

use super::*;

#[test]
fn odd_names_of_a_workspace() {
    for name in [" a: b,c=d\\040\\e\n'\"$(touch x)%s*", "-rf", "caf\u{e9}", ":upper=/"] {
        let prepare = |config: &mut SandboxConfig| {
            let odd = config.workspace.with_file_name(name);
            fs::rename(&config.workspace, &odd).unwrap();
            fs::write(odd.join("f"), "one").unwrap();
            config.workspace = odd;
        };
        on(&Way::ALL, prepare, |bench| {
            let path = bench.folder.path().join(name);
            let read = || fs::read_to_string(path.join("f")).unwrap();
            let before = bench.checkpoint();
            assert_eq!(bench.bash("echo two > f; cat f").content, "two\n", "{:?}", bench.way);
            assert_eq!(bench.effects(&before).files.items.len(), 1);
            assert_eq!(bench.rollback(&before).unwrap(), "restored 1 file");
            assert_eq!(read(), "one");
            assert_eq!(bench.python("open('f', 'w').write('three')").error, None);
            bench.publish();
            assert_eq!(read(), "three", "{:?}", bench.way);
        });
    }
}

/// Works, or says what is wrong.
#[test]
fn a_workspace_whose_name_is_no_text() {
    let name = OsStr::from_bytes(b"\xff\xfe");
    let prepare = |config: &mut SandboxConfig| {
        let odd = config.workspace.with_file_name(name);
        fs::rename(&config.workspace, &odd).unwrap();
        config.workspace = odd;
    };
    on(&Way::ALL, prepare, |bench| {
        let before = bench.checkpoint();
        match bench.try_call("bash", json!({ "command": "echo two > f" })) {
            Ok(seen) => {
                assert_eq!(seen.error, None);
                assert_eq!(bench.rollback(&before).unwrap(), "removed 1 file");
            }
            Err(error) => {
                let why = format!("{error:?}");
                assert!(why.contains("UTF-8") && bench.way == Way::Rules, "{:?}: {why}", bench.way);
            }
        }
    });
}

#[test]
fn a_workspace_that_is_closed_to_writing() {
    let prepare = |config: &mut SandboxConfig| {
        fs::create_dir(config.workspace.join("d")).unwrap();
        fs::write(config.workspace.join("d/f"), "one").unwrap();
        for path in [config.workspace.join("d"), config.workspace.clone()] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o555)).unwrap();
        }
    };
    on(&Way::ALL, prepare, |bench| {
        let before = bench.checkpoint();
        let seen = bench.bash("echo new > new || echo two > d/new");
        let is_root = rustix::process::geteuid().is_root() && bench.way == Way::Rules;
        assert!(seen.error.is_some() || is_root, "{:?}: {seen:?}", bench.way);
        bench.bash("echo two > d/f");
        bench.rollback(&before).unwrap();
        assert_eq!(bench.read("d/f"), "one");
        bench.bash("echo two > d/f");
        let publication = bench.publish();
        assert_eq!(publication.held_back, Vec::<String>::new());
        assert_eq!(bench.read("d/f"), "two\n");
        for path in [bench.path(""), bench.path("d")] {
            let mode = path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o555, "{:?}", bench.way);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    });
}

#[test]
fn a_workspace_that_goes_away() {
    let prepare = |config: &mut SandboxConfig| {
        fs::write(config.workspace.join("f"), "one").unwrap();
    };
    on(&Way::ALL, prepare, |bench| {
        let before = bench.checkpoint();
        assert_eq!(bench.bash("echo two > f; echo new > new").error, None);
        let away = bench.folder.path().join("away");
        fs::rename(bench.path(""), &away).unwrap();
        // Whatever it answers, it answers.
        let _ = bench.try_call("bash", json!({ "command": "echo lost > lost" }));
        if let Ok(seen) = block_on(bench.workspace.effects(&before, &[])) {
            assert!(
                seen.files.incomplete.is_some() || !seen.files.items.is_empty(),
                "{:?}",
                bench.way
            );
        }
        bench.kill();
        let again = bench.try_call("bash", json!({ "command": "echo lost > lost" }));
        if let Err(error) = &again {
            let why = chain(error);
            assert!(why.contains("No such file"), "{:?}: {why}", bench.way);
        }
        if bench.is_layered() {
            for _ in 0..2 {
                let error = block_on(bench.workspace.publish()).unwrap_err().to_string();
                assert!(error.contains("is not there; put it back and try again"), "{error}");
                assert_eq!(fs::read_to_string(away.join("f")).unwrap(), "one");
            }
            fs::rename(&away, bench.path("")).unwrap();
            let publication = bench.publish();
            assert_eq!(publication.held_back, Vec::<String>::new());
            assert_eq!((bench.read("f"), bench.read("new")), ("two\n".into(), "new\n".into()));
        } else {
            // A directory that is there again is put back.
            let _ = bench.rollback(&before);
            if bench.path("").exists() {
                assert_eq!(bench.read("f"), "one");
            }
            assert_eq!(fs::read_to_string(away.join("f")).unwrap(), "two\n");
        }
    });
}

#[test]
fn a_state_that_goes_away() {
    let prepare = |config: &mut SandboxConfig| {
        fs::write(config.workspace.join("f"), "one").unwrap();
    };
    on(&Way::ALL, prepare, |bench| {
        let before = bench.checkpoint();
        assert_eq!(bench.bash("echo two > f").error, None);
        // As good as removed: nobody finds it any more.
        let state = bench.folder.path().join("state");
        fs::rename(&state, state.with_file_name("elsewhere")).unwrap();
        let _ = bench.try_call("bash", json!({ "command": "echo three > f" }));
        if let Ok(seen) = block_on(bench.workspace.effects(&before, &[])) {
            let files = &seen.files;
            let is_seen =
                files.items.iter().any(|file| file.path.ends_with("/f") && !file.reversible);
            assert!(files.incomplete.is_some() || is_seen, "{:?}: {files:?}", bench.way);
        }
        let kept = block_on(bench.workspace.checkpoint());
        assert!(kept.is_err(), "{:?}: {kept:?}", bench.way);
        assert!(kept.unwrap_err().to_string().contains("state"));
        let said = bench.rollback(&before);
        assert!(said.is_err(), "{:?}: {said:?}", bench.way);
        if bench.is_layered() {
            assert!(block_on(bench.workspace.publish()).is_err());
            assert_eq!(bench.read("f"), "one");
        } else {
            assert!(["two\n", "three\n"].contains(&bench.read("f").as_str()));
        }
    });
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        said = format!("{said}: {one}");
        cause = one.source();
    }
    said
}

/// Two sessions whose records are in one state, at once.
#[test]
fn two_sessions_with_one_state() {
    let prepare = |config: &mut SandboxConfig| {
        fs::write(config.workspace.join("shared"), "zero\n").unwrap();
    };
    on(&[Way::Layer, Way::Direct], prepare, |bench| {
        let mut second = config(bench.folder.path(), bench.tier);
        second.session_dir = second.state.join("sessions/s2");
        second.overlay = bench.is_layered().then(|| Overlay::of(&second.session_dir));
        let second = LocalWorkspace::open(second).unwrap();
        let work = |workspace: &LocalWorkspace, name: &str| {
            let tools = Tools::new(workspace.clone());
            for n in 0..4 {
                let before = block_on(workspace.checkpoint()).unwrap();
                let call = ToolCall {
                    id: CallId::from("c"), native: None,
                    tool: "bash".to_owned(),
                    arguments: json!({ "command": format!("echo {name}{n} > {name}; echo same{n} > s{name}") })
                        .as_object()
                        .cloned()
                        .unwrap(),
                };
                assert_eq!(block_on(tools.call(&call)).unwrap().error, None);
                let seen = block_on(workspace.effects(&before, &[])).unwrap().files.items;
                assert!(seen.iter().any(|file| file.path.ends_with(&format!("/{name}"))));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| work(&bench.workspace, "one"));
            scope.spawn(|| work(&second, "two"));
        });
        if bench.is_layered() {
            let both = std::thread::scope(|scope| {
                let first = scope.spawn(|| block_on(bench.workspace.publish()));
                let second = scope.spawn(|| block_on(second.publish()));
                [first.join().unwrap(), second.join().unwrap()]
            });
            // One at a time changes the user's files; the other is told, and can do it again.
            for (workspace, done) in [&bench.workspace, &second].into_iter().zip(both) {
                if let Err(error) = done {
                    assert!(chain(&error).contains("try again"), "{}", chain(&error));
                    block_on(workspace.publish()).unwrap();
                }
            }
        }
        assert_eq!((bench.read("one"), bench.read("two")), ("one3\n".into(), "two3\n".into()));
        assert_eq!((bench.read("sone"), bench.read("stwo")), ("same3\n".into(), "same3\n".into()));
    });
}
