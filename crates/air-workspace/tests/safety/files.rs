//! Files that are traps for whoever reads, keeps or restores them.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

#[test]
fn devices() {
    at_each_tier(|bench| {
        for device in ["b 8 0", "c 1 1", "c 10 200", "c 0 0"] {
            let seen = bench.bash(&format!("mknod device {device}"));
            assert!(seen.error.is_some(), "{}: {device}: {seen:?}", bench.tier);
        }
        assert!(!bench.path("device").exists());
    });
}

#[test]
fn modes_that_give_rights() {
    at_each_tier(|bench| {
        bench.bash("cp /bin/true t; chmod u+s t; chmod g+s t; chmod 6755 t; chmod 755 t");
        bench.bash("mkdir d; chmod 2777 d; install -m 4755 /bin/true i");
        let code = "import os
os.close(os.open('created', os.O_CREAT | os.O_WRONLY, 0o4755))";
        assert!(bench.python(code).error.unwrap().contains("PermissionError"));
        bench.python("import os\nos.mknod('node', 0o106755)");
        for entry in fs::read_dir(bench.path("")).unwrap().flatten() {
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o6000, 0, "{}: {:?} {mode:o}", bench.tier, entry.path());
        }
        assert!(bench.path("t").metadata().unwrap().mode() & 0o777 == 0o755);
    });
}

#[test]
fn what_no_owner_can_change() {
    at_each_tier(|bench| {
        let before = block_on(bench.workspace.checkpoint()).unwrap();
        let seen = bench.bash("touch kept; chattr +i kept");
        assert!(seen.error.is_some(), "{}: {seen:?}", bench.tier);
        assert_eq!(block_on(bench.workspace.rollback(&before)).unwrap(), "removed 1 file");
        assert!(bench.bash("touch given; chown 4242 given").error.is_some());
    });
}

/// Whatever is made, the way back leads to where it began.
#[test]
fn odd_files_are_seen_and_undone() {
    let odd = [
        ("loops", "ln -s a b; ln -s b a; ln -s . self; ln -s self/self/self deep"),
        (
            "ways out",
            "ln -s / root; ln -s /proc/self/root again; ln -s \"$OUTSIDE\" out; ln -s ../../.. up",
        ),
        ("pipes and sockets", "mkfifo pipe; mkfifo \"$HOME/pipe\""),
        (
            "names",
            "touch $'\\xff\\xfe' $'line\\nbreak' -- '-rf' ' ' '*' $'\\033[2J' \"$(printf 'x%.0s' {1..255})\"",
        ),
        ("modes", "mkdir -p shut/in; touch shut/in/f; chmod 000 shut/in/f shut/in shut"),
        ("sparse", "truncate -s 60M sparse"),
    ];
    at_each_tier(|bench| {
        for (name, command) in odd {
            let before = block_on(bench.workspace.checkpoint()).unwrap();
            let outside = bench.outside();
            bench.bash(&format!("OUTSIDE={}; {command}", outside.display()));
            let seen = block_on(bench.workspace.effects(&before, &[])).unwrap();
            assert!(!seen.files.items.is_empty(), "{}: {name}", bench.tier);
            let said = block_on(bench.workspace.rollback(&before));
            assert!(said.is_ok(), "{}: {name}: {said:?}", bench.tier);
            assert_eq!(fs::read_dir(bench.path("")).unwrap().count(), 0, "{name}");
        }
    });
}

#[test]
fn a_socket_is_seen_and_removed() {
    at(&[Tier::T3], |bench| {
        let before = block_on(bench.workspace.checkpoint()).unwrap();
        let code = "import socket\nsocket.socket(socket.AF_UNIX).bind('socket')";
        assert_eq!(bench.python(code).error, None);
        assert_eq!(block_on(bench.workspace.rollback(&before)).unwrap(), "removed 1 file");
    });
}

#[test]
fn links_over_the_border() {
    at_each_tier(|bench| {
        let outside = bench.outside();
        let table = [
            "ln /etc/hostname h".to_owned(),
            "ln /usr/bin/env e".to_owned(),
            format!("ln {} o", outside.display()),
            format!("ln -s {} s && echo changed > s", outside.display()),
            format!("mv {} m", outside.display()),
        ];
        for command in table {
            let seen = bench.bash(&command);
            assert!(seen.error.is_some(), "{}: {command}: {seen:?}", bench.tier);
        }
        let meta = outside.metadata().unwrap();
        assert_eq!(meta.nlink(), 1);
    });
}

#[test]
fn very_deep_directories() {
    at_each_tier(|bench| {
        let before = block_on(bench.workspace.checkpoint()).unwrap();
        let code = "import os
def deep():
    for _ in range(200):
        os.mkdir('d' * 30); os.chdir('d' * 30)
deep()";
        assert_eq!(bench.python(code).error, None);
        assert_eq!(block_on(bench.workspace.rollback(&before)).unwrap(), "removed 200 files");
    });
}
