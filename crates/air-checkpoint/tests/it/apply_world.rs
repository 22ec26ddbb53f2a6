//! A root, a store and a directory of AIR's own.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use air_checkpoint::{
    Kind, Root, Scanner, Store, Tree,
    apply::{Applied, Applier, Change, Fate, Planned},
};

/// Lasts as long as the directory that it is in, which it keeps.
pub(crate) struct World {
    pub(crate) roots: Vec<Root>,
    pub(crate) store: Store,
    pub(crate) directory: PathBuf,
    pub(crate) root: PathBuf,
    pub(crate) merge: bool,
    pub(crate) retained: u64,
    kept: Option<tempfile::TempDir>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::within(tempfile::tempdir().unwrap())
    }

    pub(crate) fn within(kept: tempfile::TempDir) -> Self {
        let mut world = Self::at(kept.path());
        world.kept = Some(kept);
        world
    }

    /// With a root on another file system than AIR's own directory, if there is one.
    pub(crate) fn apart() -> (Self, tempfile::TempDir) {
        let (root, mut world) = (quick(), Self::new());
        world.root = root.path().join("root");
        fs::create_dir(&world.root).unwrap();
        world.roots = vec![Root { host: world.root.clone(), agent: "/project".into() }];
        (world, root)
    }

    pub(crate) fn at(path: &Path) -> Self {
        let (root, directory) = (path.join("root"), path.join("air"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&directory).unwrap();
        let roots = vec![Root { host: root.clone(), agent: "/project".into() }];
        let store = Store::open(&directory).unwrap();
        Self { roots, store, directory, root, merge: true, retained: 1 << 20, kept: None }
    }

    pub(crate) fn applier(&self) -> Applier<'_> {
        Applier {
            roots: &self.roots,
            store: &self.store,
            directory: &self.directory,
            merge: self.merge,
            retained_file_bytes: self.retained,
            siblings: None,
        }
    }

    pub(crate) fn scan(&self) -> Tree {
        Scanner {
            roots: &self.roots,
            known: &Tree::default(),
            store: Some(&self.store),
            retained_file_bytes: self.retained,
            entries: 100_000,
        }
        .scan()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn apply(&self, changes: &[Change]) -> Applied {
        self.applier().apply(changes).unwrap()
    }

    pub(crate) fn plan(&self, changes: &[Change]) -> Vec<Planned> {
        self.applier().plan(changes)
    }

    /// Names that AIR left in the root.
    pub(crate) fn left(&self) -> Vec<String> {
        let found = self.scan().entries.into_keys();
        let names = found.map(|(_, path)| String::from_utf8_lossy(&path).into_owned());
        names.filter(|name| name.contains(".air-")).collect()
    }

    /// All that a look shows and that can be put back.
    pub(crate) fn picture(&self) -> BTreeMap<String, String> {
        let tree = self.scan();
        let mut groups = BTreeMap::new();
        let mut picture = BTreeMap::new();
        for ((_, path), entry) in &tree.entries {
            let next = groups.len();
            let group = (entry.kind == Kind::File && entry.links > 1)
                .then(|| *groups.entry((entry.device, entry.inode)).or_insert(next));
            let time = matches!(entry.kind, Kind::File | Kind::Link(_)).then_some(entry.mtime_ns);
            let text = format!(
                "{:?} {:o} {}:{} {:?} {:?} {time:?} {group:?}",
                entry.kind, entry.mode, entry.uid, entry.gid, entry.digest, entry.attributes
            );
            picture.insert(String::from_utf8_lossy(path).into_owned(), text);
        }
        picture
    }
}

pub(crate) fn fate<'a>(applied: &'a Applied, name: &str) -> &'a Fate {
    let found = applied.fates.iter().find(|((_, path), _)| path == name.as_bytes());
    &found.unwrap_or_else(|| panic!("no fate of {name}: {applied:?}")).1
}

pub(crate) fn refusal<'a>(applied: &'a Applied, name: &str) -> &'a str {
    match fate(applied, name) {
        Fate::Refused(why) => why,
        other => panic!("{name} is {other:?}"),
    }
}

/// For a test of what a user without privileges can do: runs it as one, if this is root. Whether that
/// was all.
pub(crate) fn ran_as_nobody(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    let dir = quick();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = tempfile::tempdir().unwrap();
    fs::set_permissions(program.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut child = Command::new(program);
    child.args(["--exact", test]).uid(65_534).gid(65_534);
    let output = child.current_dir("/").env("TMPDIR", dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
    true
}

/// A directory where nothing waits for a disk.
pub(crate) fn quick() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}
