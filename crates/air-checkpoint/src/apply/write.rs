//! Writes what shall be at a place, beside it.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    os::fd::OwnedFd,
};

use super::{Contents, Source, failpoint, meta, site::Spot};
use crate::{
    store::digest,
    tree::{Entry, Kind},
};

/// Blocks of this many zero bytes are left out.
const BLOCK: usize = 64 << 10;
const BLOCK_BYTES: i64 = 64 << 10;

/// Makes what `goal` says, whole; the file, if it is one. It is not on the disk yet.
pub(super) fn make(from: Contents<'_>, at: &Spot, goal: &Entry) -> io::Result<Option<File>> {
    if goal.kind != Kind::File {
        at.make(&goal.kind)?;
        // A directory is open to its owner until all that is below it is done.
        if goal.kind != Kind::Directory {
            meta::give(&at.handle()?, goal)?;
        }
        return Ok(None);
    }
    let mut file = File::from(at.create()?);
    failpoint::reached();
    let mut sparse = Sparse { file: &mut file, block: Vec::with_capacity(BLOCK), length: 0 };
    let of = goal.digest.ok_or_else(|| io::Error::other("its content was not kept"))?;
    match from.find(&of) {
        // It is checked while it is read.
        Some(Source::Store) => {
            from.store.read(&of, &mut sparse)?;
            sparse.finish()?;
        }
        Some(Source::File(path)) => {
            io::copy(&mut File::open(path)?, &mut sparse)?;
            sparse.finish()?;
            file.rewind()?;
            if digest(&mut file)? != of {
                let why = "its kept content is damaged";
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
        }
        None => return Err(io::Error::other("its content is not kept any more")),
    }
    let fd = OwnedFd::from(file);
    meta::give(&fd, goal)?;
    Ok(Some(File::from(fd)))
}

struct Sparse<'a> {
    file: &'a mut File,
    block: Vec<u8>,
    length: u64,
}

impl Sparse<'_> {
    fn put_block(&mut self) -> io::Result<()> {
        if self.block.len() == BLOCK && self.block.iter().all(|byte| *byte == 0) {
            self.file.seek(SeekFrom::Current(BLOCK_BYTES))?;
        } else {
            self.file.write_all(&self.block)?;
        }
        self.length += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.put_block()?;
        self.file.set_len(self.length)
    }
}

impl Write for Sparse<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BLOCK - self.block.len());
        let (now, _) = bytes.split_at_checked(taken).unwrap_or((bytes, &[]));
        self.block.extend_from_slice(now);
        if self.block.len() == BLOCK {
            self.put_block()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
