//! Contents by digest: `objects/<2>/<62>`, each one zstd frame. Holds secrets, so only its owner may
//! look into it.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Fast: most contents are read never or once.
const LEVEL: i32 = 1;

#[derive(Debug)]
pub(crate) struct Store {
    root: PathBuf,
}

impl Store {
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        let root = state.join("objects");
        private_directory(&root)?;
        Ok(Self { root })
    }

    fn path(&self, digest: &str) -> PathBuf {
        let (folder, name) = digest.split_at_checked(2).unwrap_or(("", digest));
        self.root.join(folder).join(name)
    }

    pub(crate) fn holds(&self, digest: &str) -> bool {
        self.path(digest).exists()
    }

    /// Keeps the content of `file`; its digest, which is of what was kept.
    pub(crate) fn keep(&self, file: &mut File) -> io::Result<String> {
        let digest = digest(file)?;
        if self.holds(&digest) {
            return Ok(digest);
        }
        file.rewind()?;
        let unfinished = self.root.join(format!("new-{}-{}", std::process::id(), unique()));
        let mut writer = zstd::Encoder::new(private_file(&unfinished)?, LEVEL)?;
        let mut hasher = blake3::Hasher::new();
        each_block(file, |block| {
            hasher.update(block);
            writer.write_all(block)
        })?;
        writer.finish()?;
        // It may have changed since it was hashed: it is named after what was written.
        let digest = hasher.finalize().to_hex().to_string();
        let path = self.path(&digest);
        if let Some(folder) = path.parent() {
            private_directory(folder)?;
        }
        fs::rename(&unfinished, &path)?;
        Ok(digest)
    }

    /// The content, checked against its digest only at its end.
    pub(crate) fn read(&self, digest: &str, to: &mut impl Write) -> io::Result<()> {
        let mut content = zstd::Decoder::new(File::open(self.path(digest))?)?;
        let mut hasher = blake3::Hasher::new();
        each_block(&mut content, |block| {
            hasher.update(block);
            to.write_all(block)
        })?;
        if hasher.finalize().to_hex().as_str() != digest {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "kept content is damaged"));
        }
        Ok(())
    }
}

/// The digest of the rest of `from`.
pub(crate) fn digest(from: &mut impl Read) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    each_block(from, |block| {
        hasher.update(block);
        Ok(())
    })?;
    Ok(hasher.finalize().to_hex().to_string())
}

fn each_block(
    from: &mut impl Read,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0_u8; 128 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => take(buffer.get(..length).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Distinguishes what this process writes at the same time.
pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
