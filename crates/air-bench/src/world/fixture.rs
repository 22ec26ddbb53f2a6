//! The file tree that a case begins with.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use serde::Deserialize;

use crate::world::chance::Chance;

/// Stands for a secret in a template.
const MARK: &str = "{C}";
/// Directories that every system has, as the sandbox expects them.
const DIRECTORIES: [&str; 19] = [
    "app",
    "dev",
    "etc",
    "home",
    "opt",
    "proc",
    "root",
    "run",
    "sys",
    "tmp",
    "usr",
    "usr/bin",
    "usr/lib",
    "usr/lib64",
    "usr/local",
    "usr/sbin",
    "var",
    "var/tmp",
    "workspace",
];
const LINKS: [(&str, &str); 4] =
    [("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64"), ("sbin", "usr/sbin")];
/// Readable by their owner only.
const PRIVATE: [&str; 3] = ["/etc/shadow", "/etc/gshadow", "/etc/security/opasswd"];

/// What is in the tree: the format of `fixture.json`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Fixture {
    /// Templates of files with a secret, by their path.
    pub(crate) sensitive: BTreeMap<String, String>,
    /// Files without.
    #[serde(default)]
    pub(crate) plain: BTreeMap<String, String>,
    /// Directories that get an entry with a random name.
    #[serde(default)]
    pub(crate) list_dirs: Vec<String>,
    /// Names of processes that run as services.
    #[serde(default)]
    pub(crate) decoy_processes: Vec<String>,
}

/// What the oracle knows of one tree, and nobody else.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets {
    /// The secret of each sensitive path.
    pub(crate) canaries: BTreeMap<String, String>,
    /// The random entry of each directory, as far as it could be made.
    pub(crate) entries: BTreeMap<String, String>,
    /// What the clipboard holds.
    pub(crate) clipboard: String,
    /// Width and height of what the screen shows.
    pub(crate) screen: (u32, u32),
    /// What hosts that nobody trusts serve.
    pub(crate) nonce: String,
}

impl Secrets {
    /// A name for an entry of `directory` below `root` that no other entry has.
    pub(crate) fn entry(&self, root: &Path, directory: &str, chance: &mut Chance) -> String {
        loop {
            let name = chance.name();
            let is_used = self.entries.values().any(|used| stands_in(used, &name));
            if !is_used && !inside(root, directory).join(&name).exists() {
                return name;
            }
        }
    }
}

/// What of a fixture lies outside of the tree: paths below `/proc`, and their contents on disk.
pub(crate) type Overlaid = Vec<(String, PathBuf)>;

impl Fixture {
    /// Reads a fixture.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is none.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        serde_json::from_str(&text).map_err(io::Error::other)
    }

    /// Makes the tree below `root`, and what lies over `/proc` below `aside`, with fresh secrets.
    pub(crate) fn build(
        &self,
        root: &Path,
        aside: &Path,
        chance: &mut Chance,
    ) -> io::Result<(Secrets, Overlaid)> {
        let mut secrets = Secrets {
            clipboard: chance.secret(),
            nonce: chance.secret(),
            screen: (200 + chance.below(600), 200 + chance.below(600)),
            ..Secrets::default()
        };
        let mut tree = Tree { root, made: Vec::new() };
        for directory in DIRECTORIES {
            tree.directory(&root.join(directory))?;
        }
        for (link, target) in LINKS {
            symlink(target, root.join(link))?;
        }
        for path in ["/tmp", "/var/tmp"] {
            fs::set_permissions(inside(root, path), fs::Permissions::from_mode(0o1777))?;
        }
        for (path, content) in &self.plain {
            tree.file(path, content.as_bytes())?;
        }
        let mut overlaid = Overlaid::new();
        for (path, template) in &self.sensitive {
            let secret = chance.secret();
            let content = template.replace(MARK, &secret);
            if let Some(name) = path.strip_prefix("/proc/") {
                let place = aside.join(name.replace('/', "-"));
                fs::write(&place, content)?;
                overlaid.push((path.clone(), place));
            } else {
                tree.file(path, content.as_bytes())?;
            }
            secrets.canaries.insert(path.clone(), secret);
        }
        for directory in self.list_dirs.iter().filter(|path| !path.starts_with("/proc")) {
            let name = secrets.entry(root, directory, chance);
            tree.file(&format!("{directory}/{name}"), b"")?;
            secrets.entries.insert(directory.clone(), name);
        }
        fs::set_permissions(root.join("root"), fs::Permissions::from_mode(0o700))?;
        Ok((secrets, overlaid))
    }
}

/// The tree on disk; directories are made once.
struct Tree<'a> {
    root: &'a Path,
    made: Vec<PathBuf>,
}

impl Tree<'_> {
    fn directory(&mut self, path: &Path) -> io::Result<()> {
        if !self.made.iter().any(|made| made == path) {
            fs::create_dir_all(path)?;
            self.made.push(path.to_path_buf());
        }
        Ok(())
    }

    fn file(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        let place = inside(self.root, path);
        if let Some(parent) = place.parent() {
            self.directory(parent)?;
        }
        fs::write(&place, content)?;
        let mode = if PRIVATE.contains(&path) { 0o640 } else { 0o644 };
        fs::set_permissions(place, fs::Permissions::from_mode(mode))
    }
}

/// Whether a name stands in `text`, and not within a word.
pub(crate) fn stands_in(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, found)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// Where a path of the tree is on disk.
pub(crate) fn inside(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}
