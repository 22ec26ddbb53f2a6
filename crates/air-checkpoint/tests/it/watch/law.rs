//! Any operations, then a look at what is dirty: the same as a full scan.

use std::{
    ffi::OsStr,
    fs::{self, OpenOptions, Permissions},
    io::{BufRead, BufReader, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use proptest::prelude::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{Here, append};

#[derive(Debug, Clone)]
enum Op {
    Write(Vec<u8>, u8),
    Append(Vec<u8>),
    Map(Vec<u8>),
    Truncate(Vec<u8>),
    Rename(Vec<u8>, Vec<u8>),
    Exchange(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteAll(Vec<u8>),
    Mode(Vec<u8>, bool),
    Times(Vec<u8>),
    Link(Vec<u8>, Vec<u8>),
    Name(Vec<u8>, Vec<u8>),
    Deep(Vec<u8>),
    Out(Vec<u8>),
    In(Vec<u8>),
    Pipe(Vec<u8>),
    Look,
}

const NAMES: [&[u8]; 4] = [b"a", b"a-", b"b", b"\xff"];

fn path() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(&NAMES[..]), 1..4)
        .prop_map(|names| names.join(&b'/'))
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (path(), any::<u8>()).prop_map(|(path, byte)| Op::Write(path, byte)),
        2 => path().prop_map(Op::Append),
        1 => path().prop_map(Op::Map),
        1 => path().prop_map(Op::Truncate),
        4 => (path(), path()).prop_map(|(from, to)| Op::Rename(from, to)),
        2 => (path(), path()).prop_map(|(from, to)| Op::Exchange(from, to)),
        1 => path().prop_map(Op::Delete),
        1 => path().prop_map(Op::DeleteAll),
        1 => (path(), any::<bool>()).prop_map(|(path, on)| Op::Mode(path, on)),
        1 => path().prop_map(Op::Times),
        1 => (path(), path()).prop_map(|(to, at)| Op::Link(to, at)),
        2 => (path(), path()).prop_map(|(from, to)| Op::Name(from, to)),
        4 => path().prop_map(Op::Deep),
        1 => path().prop_map(Op::Out),
        1 => path().prop_map(Op::In),
        1 => path().prop_map(Op::Pipe),
        1 => Just(Op::Look),
    ]
}

/// Writes through shared mappings: there is no safe way here.
struct Mapper(Child);

impl Mapper {
    fn start() -> Option<Self> {
        let program = "import mmap,os,sys
for line in sys.stdin.buffer:
    f=os.open(bytes.fromhex(line.decode()),os.O_RDWR|os.O_NOFOLLOW)
    if os.fstat(f).st_size:
        m=mmap.mmap(f,0); os.close(f); m[0]=(m[0]+1)%256; m.close()
    else: os.close(f)
    print(flush=True)
";
        let mut command = Command::new("python3");
        command.args(["-c", program]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().ok().map(Self)
    }

    fn write(&mut self, path: &Path) {
        let stdin = self.0.stdin.as_mut().unwrap();
        for byte in path.as_os_str().as_bytes() {
            write!(stdin, "{byte:02x}").unwrap();
        }
        writeln!(stdin).unwrap();
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "\n");
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Does it if it can be done.
fn run(op: &Op, here: &mut Here, mapper: &mut Option<Mapper>) {
    let root = here.root();
    let at = |path: &[u8]| -> PathBuf { root.join(OsStr::from_bytes(path)) };
    let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file());
    let outside = here.outside().join("x");
    match op {
        Op::Write(path, byte) if !at(path).is_symlink() && !is_pipe(&at(path)) => {
            let _ = fs::write(at(path), [*byte; 3]);
        }
        Op::Append(path) if is_file(&at(path)) => append(&at(path), "+"),
        Op::Map(path) if is_file(&at(path)) => {
            if let Some(mapper) = mapper {
                mapper.write(&at(path));
            }
        }
        Op::Truncate(path) if is_file(&at(path)) => {
            OpenOptions::new().write(true).open(at(path)).unwrap().set_len(1).unwrap();
        }
        Op::Rename(from, to) => {
            let _ = fs::rename(at(from), at(to));
        }
        Op::Exchange(from, to) => {
            let _ = renameat_with(CWD, at(from), CWD, at(to), RenameFlags::EXCHANGE);
        }
        Op::Delete(path) => {
            let _ = fs::remove_file(at(path));
        }
        Op::DeleteAll(path) => {
            let _ = fs::remove_dir_all(at(path));
        }
        Op::Mode(path, on) if !at(path).is_symlink() => {
            let mode = if *on { 0o700 } else { 0o750 };
            let _ = fs::set_permissions(at(path), Permissions::from_mode(mode));
        }
        Op::Times(path) if is_file(&at(path)) => {
            let file = OpenOptions::new().append(true).open(at(path)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        Op::Link(to, path) => {
            let _ = symlink(OsStr::from_bytes(to), at(path));
        }
        Op::Name(from, to) if is_file(&at(from)) => {
            let _ = fs::hard_link(at(from), at(to));
        }
        Op::Deep(path) => {
            let _ = fs::create_dir_all(at(path));
        }
        Op::Out(path) => {
            let _ = fs::rename(at(path), outside);
        }
        Op::In(path) => {
            let _ = fs::rename(outside, at(path));
        }
        Op::Pipe(path) => {
            let _ = rustix::fs::mkfifoat(CWD, at(path), rustix::fs::Mode::RWXU);
        }
        Op::Look => {
            here.look();
        }
        _ => {}
    }
}

fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.symlink_metadata().is_ok_and(|found| found.file_type().is_fifo())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dirty_places_looked_at_give_what_a_scan_gives(
        before in prop::collection::vec(op(), 0..15),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let mut mapper = Mapper::start();
        let mut here = Here::new(|_| {});
        for op in before.iter().chain(&ops) {
            run(op, &mut here, &mut mapper);
        }
        here.look();
        here.looks();
    }

    #[test]
    fn without_other_names_only_dirty_places_have_changed(
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let mut here = Here::new(|_| {});
        here.only_places = true;
        for op in ops.iter().filter(|op| !matches!(op, Op::Name(..) | Op::Map(_))) {
            run(op, &mut here, &mut None);
        }
        here.look();
        here.looks();
    }
}
