//! Reading contents, holes included.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt},
};

use rustix::{
    fs::{SeekFrom, seek},
    io::Errno,
};

use super::{StoreError, each_block};
use crate::tree::Digest;

/// Read at once, in bytes.
pub(super) const BLOCK: usize = 128 << 10;

static ZEROS: [u8; BLOCK] = [0; BLOCK];

/// A content that was read to its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hashed {
    pub(super) digest: Digest,
    pub(super) length: u64,
}

enum Piece<'a> {
    Data(&'a [u8]),
    /// Of so many bytes.
    Hole(u64),
}

/// The digest of the rest of `from`.
///
/// # Errors
///
/// I/O errors.
pub fn digest(from: &mut impl Read) -> io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    each_block(from, |block| {
        hasher.update(block);
        Ok(())
    })?;
    Ok(Digest(*hasher.finalize().as_bytes()))
}

/// The digest of the whole content of a regular file. Does not read its holes; may move its offset.
///
/// # Errors
///
/// [`StoreError::TooLarge`] for more than `limit` bytes; I/O errors.
pub fn digest_of(file: &File, limit: u64) -> Result<Digest, StoreError> {
    hash(file, limit).map(|hashed| hashed.digest)
}

pub(super) fn hash(file: &File, limit: u64) -> Result<Hashed, StoreError> {
    hash_pieces(file, limit, |_, _| Ok(()))
}

/// Copies data, and leaves holes where they are.
pub(super) fn copy(from: &File, to: &File, limit: u64) -> Result<Hashed, StoreError> {
    let hashed = hash_pieces(from, limit, |data, at| to.write_all_at(data, at))?;
    to.set_len(hashed.length)?;
    Ok(hashed)
}

fn hash_pieces(
    file: &File,
    limit: u64,
    mut data: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> Result<Hashed, StoreError> {
    let mut hasher = blake3::Hasher::new();
    let length = pieces(file, limit, |piece, at| match piece {
        Piece::Data(block) => {
            hasher.update(block);
            data(block, at)
        }
        Piece::Hole(mut left) => {
            while left > 0 {
                let length = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
                hasher.update(ZEROS.get(..length).unwrap_or_default());
                left -= length as u64;
            }
            Ok(())
        }
    })?;
    Ok(Hashed { digest: Digest(*hasher.finalize().as_bytes()), length })
}

/// Calls `take` for each piece, in order, with its offset; the length of all.
fn pieces(
    file: &File,
    limit: u64,
    mut take: impl FnMut(Piece<'_>, u64) -> io::Result<()>,
) -> Result<u64, StoreError> {
    let found = file.metadata()?;
    let mut has_holes = found.blocks() * 512 < found.len();
    let mut buffer = vec![0_u8; BLOCK];
    let mut at = 0;
    let mut data_ends = if has_holes { 0 } else { u64::MAX };
    loop {
        if has_holes && at >= data_ends {
            let start = match seek(file, SeekFrom::Data(at)) {
                Ok(start) => start,
                // Nothing but a hole follows.
                Err(Errno::NXIO) => file.metadata()?.len().max(at),
                Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                    (has_holes, data_ends) = (false, u64::MAX);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if start > limit {
                return Err(StoreError::TooLarge { limit });
            }
            if start > at {
                take(Piece::Hole(start - at), at)?;
                at = start;
            }
            data_ends = match seek(file, SeekFrom::Hole(at)) {
                Ok(end) => end,
                Err(Errno::NXIO) => return Ok(at),
                Err(error) => return Err(error.into()),
            };
        }
        let length = usize::try_from(data_ends.saturating_sub(at)).unwrap_or(BLOCK).min(BLOCK);
        let wanted = buffer.get_mut(..length).unwrap_or_default();
        let read = match file.read_at(wanted, at) {
            Ok(0) => return Ok(at),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if at + read as u64 > limit {
            return Err(StoreError::TooLarge { limit });
        }
        take(Piece::Data(buffer.get(..read).unwrap_or_default()), at)?;
        at += read as u64;
    }
}
