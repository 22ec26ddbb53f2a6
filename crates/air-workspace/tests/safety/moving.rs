//! Files that change while they are looked at, or without a trace.

use std::{
    os::unix::fs::FileExt,
    sync::atomic::{AtomicBool, Ordering},
    time::SystemTime,
};

use super::*;

/// Writes all over a file again and again, each time with another letter.
fn writing<T>(path: &Path, work: impl FnOnce() -> T) -> T {
    let file = fs::File::options().write(true).open(path).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut letter = b'a';
            while !stop.load(Ordering::Relaxed) {
                letter = if letter == b'z' { b'a' } else { letter + 1 };
                file.write_all_at(&vec![letter; 1 << 20], 0).unwrap();
            }
        });
        let done = work();
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        done
    })
}

#[test]
fn a_person_who_writes_on() {
    let prepare = |config: &mut SandboxConfig| {
        fs::write(config.workspace.join("log"), vec![b'0'; 1 << 20]).unwrap();
        fs::write(config.workspace.join("calm"), "calm").unwrap();
    };
    on(&Way::ALL, prepare, |bench| {
        writing(&bench.path("log"), || {
            for n in 0..5 {
                let before = bench.checkpoint();
                assert_eq!(bench.bash(&format!("echo {n} > calm")).error, None);
                assert!(bench.effect(&before, "calm").unwrap().reversible);
            }
        });
        // Whatever was read in between, what is there now is known as it is.
        let content = bench.read("log");
        let before = bench.checkpoint();
        assert_eq!(bench.bash("rm log").error, None);
        assert!(bench.effect(&before, "log").unwrap().reversible, "{:?}", bench.way);
        bench.rollback(&before).unwrap();
        assert!(bench.read("log") == content, "{:?}", bench.way);
        bench.finish();
    });
}

/// The agent changes what a person writes on: neither is lost.
#[test]
fn a_person_and_the_agent() {
    let prepare = |config: &mut SandboxConfig| {
        fs::write(config.workspace.join("log"), vec![b'0'; 1 << 20]).unwrap();
    };
    on(&[Way::Layer], prepare, |bench| {
        bench.checkpoint();
        let publication = writing(&bench.path("log"), || {
            assert_eq!(bench.bash("echo agent > log").error, None);
            bench.checkpoint();
            bench.publish()
        });
        assert_eq!(publication.changed, 0, "{publication:?}");
        let [held] = publication.held_back.as_slice() else { panic!("{publication:?}") };
        let (_, kept) = held.split_once("the agent's version is ").unwrap();
        assert_eq!(fs::read_to_string(kept).unwrap(), "agent\n");
        assert_eq!(bench.read("log").len(), 1 << 20);
    });
}

#[test]
fn what_is_written_through_memory() {
    let prepare = |config: &mut SandboxConfig| {
        fs::write(config.workspace.join("mapped"), vec![b'0'; 4096]).unwrap();
    };
    on(&Way::ALL, prepare, |bench| {
        let code = "import mmap, os, time
file = open('mapped', 'r+')
memory = mmap.mmap(file.fileno(), 4096)
memory[0:1] = b'1'
file.close()";
        assert_eq!(bench.python(code).error, None);
        for n in 0..3 {
            // The file system notes a write to a page that is written to already at no time.
            let before = bench.checkpoint();
            assert_eq!(
                bench.python(&format!("memory[0:5] = b'again'; memory[9] = {n}")).error,
                None
            );
            let seen = bench.effect(&before, "mapped");
            assert!(seen.is_some_and(|seen| seen.reversible), "{:?} {n}", bench.way);
        }
        let before = bench.checkpoint();
        assert_eq!(bench.python("memory[0:5] = b'other'").error, None);
        bench.rollback(&before).unwrap();
        let seen = bench.bash("head -c 5 mapped");
        assert_eq!(seen.content, "again", "{:?}", bench.way);
        bench.finish();
    });
}

/// No test can set the clock. What a clock that was set back leaves are files of the future.
#[test]
fn files_of_the_future_and_of_long_ago() {
    let day = Duration::from_hours(24);
    let times = [SystemTime::now() + day, SystemTime::now() + day * 20_000, SystemTime::UNIX_EPOCH];
    let prepare = |config: &mut SandboxConfig| {
        for (n, time) in times.iter().enumerate() {
            let file = fs::File::create(config.workspace.join(format!("f{n}"))).unwrap();
            file.write_all_at(b"one", 0).unwrap();
            file.set_modified(*time).unwrap();
        }
    };
    on(&Way::ALL, prepare, |bench| {
        bench.checkpoint();
        let before = bench.checkpoint();
        let command = "for f in f0 f1 f2; do touch -r $f $HOME/time; printf two > $f; touch -r $HOME/time $f; done";
        assert_eq!(bench.bash(command).error, None);
        for n in 0..times.len() {
            let seen = bench.effect(&before, &format!("f{n}"));
            assert!(seen.is_some_and(|seen| seen.reversible), "{:?} {n}", bench.way);
        }
        bench.rollback(&before).unwrap();
        for (n, time) in times.iter().enumerate() {
            let path = bench.path(&format!("f{n}"));
            assert_eq!(fs::read_to_string(&path).unwrap(), "one");
            assert_eq!(path.metadata().unwrap().modified().unwrap(), *time);
        }
        if bench.is_layered() {
            assert_eq!(bench.bash(command).error, None);
            let publication = bench.publish();
            assert_eq!((publication.changed, publication.held_back), (3, Vec::new()));
            assert_eq!(bench.read("f1"), "two");
            return;
        }
        bench.finish();
    });
}
