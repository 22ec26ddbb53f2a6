//! Other processes: this test binary, run again for one test.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
};

use air_checkpoint::{Store, StoreError};

use super::{digest, file, files_in, noise, read};

fn content(n: u32) -> Vec<u8> {
    let mut content = noise(1000);
    content.extend(n.to_string().repeat(usize::try_from(n % 50).unwrap() * 500).bytes());
    content.extend(n.to_le_bytes());
    content
}

/// What `AIR_TEST_CHILD` says, in the store at `AIR_TEST_STORE`.
#[test]
fn child() {
    let Some(task) = std::env::var_os("AIR_TEST_CHILD") else { return };
    let place = std::env::var_os("AIR_TEST_STORE").unwrap();
    let store = Store::open(Path::new(&place)).unwrap();
    match task.to_str().unwrap() {
        "keep" => (0..300).for_each(|n| {
            store.keep(&file(&content(n))).unwrap();
        }),
        "endless" => {
            println!("\nready");
            for n in 0.. {
                store.keep(&file(&content(n))).unwrap();
            }
        }
        "fill" => {
            let mut kept = Vec::new();
            let error = loop {
                let more = noise(100_000 + kept.len());
                match store.keep(&file(&more)) {
                    Ok(digest) => kept.push(digest),
                    Err(error) => break error,
                }
            };
            assert!(matches!(error, StoreError::NoSpace(_)), "{error:?}");
            // One that is larger than memory blocks are read to.
            let error = store.keep(&file(&noise(3 << 20))).unwrap_err();
            assert!(matches!(error, StoreError::NoSpace(_)), "{error:?}");
            store.settle();
            assert!(kept.len() > 2);
            assert!(kept.iter().all(|digest| read(&store, digest).is_ok()));
            assert_eq!(files_in(Path::new(&place)), kept.len());
        }
        other => panic!("{other}"),
    }
    assert!(store.settle());
}

fn command(program: &str, before: &[&str], task: &str, store: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(before).args(["--exact", "store::child::child", "--nocapture"]);
    command.env("AIR_TEST_CHILD", task).env("AIR_TEST_STORE", store);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(task: &str, store: &Path) -> Child {
    let itself = std::env::current_exe().unwrap();
    command(itself.to_str().unwrap(), &[], task, store).spawn().unwrap()
}

#[test]
fn two_processes_may_keep_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let children = [run("keep", dir.path()), run("keep", dir.path())];
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let store = Store::open(dir.path()).unwrap();
    for n in 0..300 {
        assert_eq!(read(&store, &digest(&content(n))).unwrap(), content(n));
    }
    let verified = store.verify().unwrap();
    assert_eq!((verified.intact, verified.damaged.len()), (300, 0));
    assert_eq!(files_in(&dir.path().join("objects")), 300);
}

#[test]
fn a_process_that_is_killed_leaves_nothing_wrong() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..12_u64 {
        let mut child = run("endless", dir.path());
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
        // Any moment does.
        std::thread::sleep(std::time::Duration::from_millis(7 + 31 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(fs::read_dir(dir.path().join("objects/new")).unwrap().count(), 1);
    let verified = store.verify().unwrap();
    assert!(verified.damaged.is_empty() && verified.unreadable.is_empty(), "{verified:?}");
    assert!(verified.intact > 0);
    let held = (0..).take_while(|n| store.holds(&digest(&content(*n))));
    for n in held {
        assert_eq!(read(&store, &digest(&content(n))).unwrap(), content(n));
    }
    assert!(store.settle());
}

#[test]
fn a_full_disk_is_an_error_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=1m,mode=700 tmpfs \"$AIR_TEST_STORE\" || exit 77; \
                  exec \"$0\" \"$@\"";
    let itself = std::env::current_exe().unwrap();
    let before = ["-Um", "--map-root-user", "sh", "-c", script, itself.to_str().unwrap()];
    let Ok(mut child) = command("unshare", &before, "fill", dir.path()).spawn() else {
        return eprintln!("skipped: no `unshare`");
    };
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    match child.wait().unwrap().code() {
        Some(0) => {}
        Some(101) => panic!("{said}"),
        _ => eprintln!("skipped: no file systems in user namespaces: {said}"),
    }
}
