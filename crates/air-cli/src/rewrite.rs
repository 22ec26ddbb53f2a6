//! Writing a file that is there already.

use std::{fs, io::Write, path::Path};

/// Puts `text` in the place of the file, whole or not at all, with the permissions that it has.
pub(crate) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(fs::metadata(path)?.permissions())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
