//! Writing files whole or not at all.

use std::{fs, io, io::Write, path::Path};

/// Puts `text` in the place of the file, whole or not at all, with the permissions that it has.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    persist(path, text, Some(fs::metadata(path)?.permissions()))
}

/// Writes a file, whole or not at all. One that is there is replaced and keeps its permissions.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    match path.canonicalize() {
        Ok(place) => replace(&place, text),
        Err(_) => persist(path, text, None),
    }
}

fn persist(path: &Path, text: &str, permissions: Option<fs::Permissions>) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    // What goes wrong is about the file, not about the one beside it.
    let plain = |error: io::Error| io::Error::from(error.kind());
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(plain)?;
    file.write_all(text.as_bytes())?;
    let permissions = match permissions {
        Some(permissions) => permissions,
        None => std::os::unix::fs::PermissionsExt::from_mode(0o644),
    };
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
