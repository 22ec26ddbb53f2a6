//! More than anybody wants to look at.

use std::os::unix::fs::MetadataExt;

use air_core::effects::Change;

use super::*;

/// A workspace of so many files, in directories of a thousand.
fn fill(root: &Path, files: usize) {
    for at in 0..files / 1000 {
        let directory = root.join(format!("d{at}"));
        fs::create_dir(&directory).unwrap();
        let first = directory.join("f0");
        fs::write(&first, "x").unwrap();
        for n in 1..1000 {
            fs::File::create(directory.join(format!("f{n}"))).unwrap();
        }
    }
}

fn a_layer_above(files: usize) {
    on(
        &[Way::Layer],
        |config| fill(&config.workspace, files),
        |bench| {
            let begun = Instant::now();
            let before = bench.checkpoint();
            assert_eq!(bench.bash("echo agent > d3/f0; rm d4/f5; echo new > new").error, None);
            let seen = bench.effects(&before).files;
            assert!(seen.incomplete.is_none(), "{seen:?}");
            assert_eq!(seen.items.len(), 3, "{seen:?}");
            bench.checkpoint();
            let publication = bench.publish();
            assert_eq!((publication.changed, publication.held_back), (3, Vec::new()));
            let took = begun.elapsed();
            say(&format!("a session above {files} files: {took:?}"));
            assert!(took < Duration::from_secs(8), "{took:?}");
            assert_eq!(bench.read("d3/f0"), "agent\n");
            assert!(!bench.path("d4/f5").exists());
        },
    );
}

#[expect(clippy::print_stderr, reason = "what was measured")]
fn say(what: &str) {
    eprintln!("{what}");
}

#[test]
fn a_layer_looks_at_nothing_that_it_did_not_change() {
    a_layer_above(10_000);
}

#[test]
#[ignore = "makes 1,000,000 files"]
fn a_layer_above_a_million_files() {
    a_layer_above(1_000_000);
}

fn itself(files: usize, entries: usize) {
    let prepare = |config: &mut SandboxConfig| {
        fill(&config.workspace, files);
        config.limits.entries = entries;
    };
    on(&[Way::Direct, Way::Rules], prepare, |bench| {
        let begun = Instant::now();
        let before = bench.checkpoint();
        say(&format!("{:?}: looked at {entries} of {files} in {:?}", bench.way, begun.elapsed()));
        bench.bash("for d in d*; do echo agent > $d/f0; done; echo new > new");
        let seen = bench.effects(&before).files;
        assert!(seen.incomplete.is_some(), "{:?}", bench.way);
        let why = seen.incomplete.clone().unwrap_or_default();
        assert!(why.contains(&format!("more than {entries} entries")), "{why}");
        assert!(seen.items.iter().all(|file| file.change != Change::Created || !file.reversible));
        // What is beyond is not taken for what the agent made or removed.
        let said = bench.rollback(&before);
        assert!(
            said.is_ok() || said.clone().is_err_and(|why| why.contains("not restored")),
            "{said:?}"
        );
        let left = fs::read_dir(bench.path("")).unwrap().count();
        assert!(left >= files / 1000, "{left}: {said:?}");
        bench.finish();
    });
}

#[test]
fn a_workspace_of_more_files_than_are_looked_at() {
    itself(4_000, 1_000);
}

#[test]
#[ignore = "makes 1,000,000 files"]
fn a_workspace_of_a_million_files() {
    itself(1_000_000, 100_000);
}

#[test]
fn a_layer_that_is_filled_with_files() {
    let prepare = |config: &mut SandboxConfig| config.limits.timeout = Duration::from_secs(20);
    on(&[Way::Layer], prepare, |bench| {
        let before = bench.checkpoint();
        let code = "import os
for d in range(2):
    os.mkdir(f'd{d}')
    for n in range(1000):
        with open(f'd{d}/{n}', 'w') as file: file.write(str(n))";
        assert_eq!(bench.python(code).error, None);
        let seen = bench.effects(&before).files;
        assert!(seen.incomplete.is_none());
        assert_eq!(seen.items.len(), 2002);
        assert_eq!(bench.rollback(&before).unwrap(), "removed 2002 files");
        bench.finish();
    });
}

#[test]
#[ignore = "makes 50,000 files"]
fn a_layer_of_fifty_thousand_files() {
    let prepare = |config: &mut SandboxConfig| config.limits.timeout = Duration::from_mins(1);
    on(&[Way::Layer], prepare, |bench| {
        let before = bench.checkpoint();
        for part in 0..10 {
            let code = format!(
                "import os
for d in range({part} * 5, {part} * 5 + 5):
    os.mkdir(f'd{{d}}')
    for n in range(1000):
        with open(f'd{{d}}/{{n}}', 'w') as file: file.write(str(n))"
            );
            assert_eq!(bench.python(&code).error, None);
        }
        let begun = Instant::now();
        let seen = bench.effects(&before).files;
        say(&format!("looked at in {:?}", begun.elapsed()));
        assert!(seen.incomplete.is_none());
        assert_eq!(seen.items.len(), 50_050);
        let begun = Instant::now();
        assert_eq!(bench.publish().changed, 50_050);
        say(&format!("handed over in {:?}", begun.elapsed()));
    });
}

/// Each of them a thing that cannot be read.
#[test]
fn very_many_closed_files() {
    on(
        &[Way::Rules],
        |config| config.limits.timeout = 2 * TIMEOUT,
        |bench| {
            let before = bench.checkpoint();
            let code = "import os
for n in range(4500): os.close(os.open(f'f{n}', os.O_CREAT, 0))";
            assert_eq!(bench.python(code).error, None);
            let seen = bench.effects(&before).files;
            assert_eq!(seen.items.len(), 4500);
            let why = seen.incomplete.unwrap_or_default();
            assert!(why.len() < 4096, "{why}");
            assert_eq!(why.is_empty(), rustix::process::geteuid().is_root());
            assert_eq!(bench.rollback(&before).as_deref(), Ok("removed 4500 files"));
            bench.finish();
        },
    );
}

#[test]
fn a_file_of_twenty_gigabytes() {
    let prepare = |config: &mut SandboxConfig| {
        let file = fs::File::create(config.workspace.join("huge")).unwrap();
        file.set_len(20 << 30).unwrap();
    };
    on(&Way::ALL, prepare, |bench| {
        let begun = Instant::now();
        let before = bench.checkpoint();
        let seen = bench.bash("truncate -s 20G made");
        assert!(seen.error.is_some(), "{seen:?}");
        assert_eq!(bench.bash("rm huge; echo other > other").error, None);
        let seen = bench.effect(&before, "huge").unwrap();
        assert_eq!(seen.change, Change::Deleted);
        assert_eq!(seen.reversible, bench.is_layered());
        assert!(begun.elapsed() < TIMEOUT, "{:?}", begun.elapsed());
        let kept = fs::metadata(bench.folder.path().join("state/objects"));
        assert!(kept.is_ok_and(|meta| meta.is_dir()));
        let said = bench.rollback(&before);
        if bench.is_layered() {
            said.unwrap();
            assert_eq!(bench.path("huge").metadata().unwrap().len(), 20 << 30);
            let seen = bench.bash("stat -c %s huge; ls");
            assert!(seen.content.starts_with("21474836480\n"), "{seen:?}");
        } else {
            let why = said.unwrap_err();
            assert!(why.contains("huge: its content was not kept"), "{why}");
        }
        assert!(!bench.path("other").exists());
        let used = used(&bench.folder.path().join("state"));
        assert!(used < 64 * MIB, "{used} bytes are used");
        bench.finish();
    });
}

/// On disk, in bytes.
fn used(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| {
        let meta = entry.path().symlink_metadata().ok()?;
        Some(if meta.is_dir() { used(&entry.path()) } else { meta.blocks() * 512 })
    };
    entries.filter_map(size).sum()
}
