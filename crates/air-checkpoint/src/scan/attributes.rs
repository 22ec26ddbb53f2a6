//! Extended attributes: those that can be put back. What cannot be read is never taken for none.

use std::{io, os::fd::AsFd};

use rustix::{
    buffer::spare_capacity,
    fs::{fgetxattr, flistxattr, getxattr, listxattr},
    io::Errno,
};

/// Names of one file, in bytes. The kernel lists no more.
const NAMES_BYTES: usize = 64 << 10;
/// The largest value, in bytes.
const VALUE_BYTES: usize = 64 << 10;
/// Names and values of one file that are remembered, in bytes.
const ALL_BYTES: usize = 1 << 20;
/// What makes a directory of an upper layer hide what is below it.
const OPAQUE: &str = "user.overlay.opaque";

pub(super) type Attributes = Vec<(String, Vec<u8>)>;

/// What can be put back of the extended attributes; sorted.
pub(super) fn of(fd: impl AsFd) -> io::Result<Attributes> {
    let list = |buffer: &mut Vec<u8>| flistxattr(&fd, spare_capacity(buffer));
    let get = |name: &str, buffer: &mut Vec<u8>| fgetxattr(&fd, name, spare_capacity(buffer));
    read(list, get)
}

/// As [`of`], of what a path leads to.
pub(crate) fn at(path: &str) -> io::Result<Attributes> {
    let list = |buffer: &mut Vec<u8>| listxattr(path, spare_capacity(buffer));
    let get = |name: &str, buffer: &mut Vec<u8>| getxattr(path, name, spare_capacity(buffer));
    read(list, get)
}

/// What can be told of a directory even where [`of`] fails: whether it hides a lower one.
pub(super) fn opaque(fd: impl AsFd) -> Attributes {
    let mut value = Vec::with_capacity(VALUE_BYTES);
    let read = fgetxattr(&fd, OPAQUE, spare_capacity(&mut value));
    value.shrink_to_fit();
    read.ok().map(|_| (OPAQUE.to_owned(), value)).into_iter().collect()
}

fn read(
    all: impl Fn(&mut Vec<u8>) -> rustix::io::Result<usize>,
    get: impl Fn(&str, &mut Vec<u8>) -> rustix::io::Result<usize>,
) -> io::Result<Attributes> {
    let mut list = Vec::with_capacity(256);
    loop {
        match all(&mut list) {
            Ok(_) => break,
            Err(Errno::RANGE) if list.capacity() < NAMES_BYTES => {
                list.reserve(list.capacity() * 2);
            }
            // The same number as `OPNOTSUPP`: the file system has none.
            Err(Errno::NOTSUP) => return Ok(Vec::new()),
            Err(error) => return Err(failed(&error.into())),
        }
    }
    let ours = list.split(|byte| *byte == 0).filter(|name| {
        name.starts_with(b"user.")
            || name.starts_with(b"system.posix_acl_")
            || *name == b"security.capability"
    });
    let (mut found, mut bytes) = (Vec::new(), 0);
    let mut value = Vec::with_capacity(VALUE_BYTES);
    for name in ours {
        let name = std::str::from_utf8(name).map_err(|error| failed(&io::Error::other(error)))?;
        value.clear();
        match get(name, &mut value) {
            Ok(_) => {}
            // It has gone meanwhile.
            Err(Errno::NODATA) => continue,
            Err(error) => return Err(failed(&error.into())),
        }
        bytes += name.len() + value.len();
        if bytes > ALL_BYTES {
            let why = format!("more than {} MiB", ALL_BYTES >> 20);
            return Err(failed(&io::Error::other(why)));
        }
        found.push((name.to_owned(), value.clone()));
    }
    found.sort();
    Ok(found)
}

fn failed(error: &io::Error) -> io::Error {
    io::Error::other(format!("its extended attributes cannot be read: {error}"))
}
