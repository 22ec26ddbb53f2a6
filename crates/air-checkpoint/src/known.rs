//! What was known of directories, for whoever looks at them later and need not read them again.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use crate::{
    store::{Store, private_file, unique},
    timeline::{seal, unseal},
    tree::Tree,
};

/// Keeps a tree in the file `path`, in the place of what was there.
///
/// # Errors
///
/// I/O errors. Then what was there is there still.
pub fn remember(path: &Path, tree: &Tree) -> io::Result<()> {
    let (_, content) = seal(tree)?;
    let new = path.with_extension(format!("new-{}-{}", std::process::id(), unique()));
    let written = private_file(&new).and_then(|mut file| file.write_all(&content));
    let kept = written.and_then(|()| fs::rename(&new, path));
    if kept.is_err() {
        // The error says more than one about what is left of it.
        let _ = fs::remove_file(&new);
    }
    kept
}

/// The tree that is kept in the file `path`, to be `known` to a scanner. A content counts as kept
/// only if the store has it still; it is spared from now on as if it had just been kept. `None` if
/// there is no tree, or it is damaged.
pub fn recall(path: &Path, store: &Store) -> Option<Tree> {
    let mut tree: Tree = unseal(&fs::read(path).ok()?).ok()?;
    for entry in tree.entries.values_mut().filter(|entry| entry.kept) {
        entry.kept = entry.digest.is_some_and(|digest| store.spare(&digest, entry.size));
    }
    Some(tree)
}
