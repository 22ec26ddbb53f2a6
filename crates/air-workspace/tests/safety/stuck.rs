//! What not even the owner can change.

use std::process::Command;

use super::*;

/// Sets or takes an attribute of the file system; whether that can be done here.
fn flag(how: &str, path: &Path) -> bool {
    Command::new("chattr").arg(how).arg(path).output().is_ok_and(|done| done.status.success())
}

/// Takes the flags away again, whatever happens.
struct Flagged(Vec<PathBuf>);

impl Drop for Flagged {
    fn drop(&mut self) {
        for path in &self.0 {
            flag("-ia", path);
        }
    }
}

#[test]
fn immutable_files() {
    let prepare = |config: &mut SandboxConfig| {
        for name in ["stuck", "free", "grows"] {
            fs::write(config.workspace.join(name), "one\n").unwrap();
        }
    };
    on(&Way::ALL, prepare, |bench| {
        let before = bench.checkpoint();
        let command = "echo two > stuck; echo two > free; echo two > grows; echo new > new";
        assert_eq!(bench.bash(command).error, None);
        bench.checkpoint();
        let stuck = [bench.path("stuck"), bench.path("grows")];
        let flagged = Flagged(stuck.to_vec());
        if !flag("+i", &stuck[0]) || !flag("+a", &stuck[1]) {
            skip("no file can be made immutable here");
            return;
        }
        if bench.is_layered() {
            let publication = bench.publish();
            assert_eq!(publication.changed, 2, "{publication:?}");
            for (name, letter) in [("stuck", 'i'), ("grows", 'a')] {
                let held = publication.held_back.iter().find(|held| held.contains(name)).unwrap();
                assert!(held.contains(&format!("`chattr -{letter}`")), "{held}");
                let (_, kept) = held.split_once("the agent's version is ").unwrap();
                assert_eq!(fs::read_to_string(kept).unwrap(), "two\n");
            }
            assert_eq!((bench.read("free"), bench.read("new")), ("two\n".into(), "new\n".into()));
            assert_eq!(
                (bench.read("stuck"), bench.read("grows")),
                ("one\n".into(), "one\n".into())
            );
            return;
        }
        let why = bench.rollback(&before).unwrap_err();
        for (name, letter) in [("stuck", 'i'), ("grows", 'a')] {
            assert!(why.contains(&format!("{name}: it is")), "{why}");
            assert!(why.contains(&format!("`chattr -{letter}`")), "{why}");
        }
        assert_eq!((bench.read("free"), bench.path("new").exists()), ("one\n".into(), false));
        assert_eq!((bench.read("stuck"), bench.read("grows")), ("two\n".into(), "two\n".into()));
        drop(flagged);
        bench.rollback(&before).unwrap();
        assert_eq!((bench.read("stuck"), bench.read("grows")), ("one\n".into(), "one\n".into()));
        bench.finish();
    });
}

/// Nothing in it can be made or removed.
#[test]
fn an_immutable_directory() {
    let prepare = |config: &mut SandboxConfig| {
        fs::create_dir(config.workspace.join("d")).unwrap();
        fs::write(config.workspace.join("d/old"), "one\n").unwrap();
    };
    on(&Way::ALL, prepare, |bench| {
        let before = bench.checkpoint();
        assert_eq!(bench.bash("rm d/old; echo new > d/new; echo new > new").error, None);
        let flagged = Flagged(vec![bench.path("d")]);
        if !flag("+i", &bench.path("d")) {
            skip("no directory can be made immutable here");
            return;
        }
        if bench.is_layered() {
            let publication = bench.publish();
            assert_eq!(publication.held_back.len(), 2, "{publication:?}");
            assert!(publication.held_back.iter().all(|held| held.contains("`chattr -i`")));
            assert_eq!(bench.read("new"), "new\n");
            return;
        }
        let why = bench.rollback(&before).unwrap_err();
        assert!(why.contains("`chattr -i`"), "{why}");
        assert!(!bench.path("new").exists());
        drop(flagged);
        bench.rollback(&before).unwrap();
        assert_eq!(bench.read("d/old"), "one\n");
        bench.finish();
    });
}
