//! Opens directories in the order of a walk, without starting at the root each time.

use std::{collections::VecDeque, io, os::fd::OwnedFd};

use crate::beneath;

/// Directories that are held open.
const OPEN: usize = 64;

/// The directories around the one that was opened last: the next one is mostly near.
pub(super) struct Around<'a> {
    root: &'a OwnedFd,
    /// The path of the last one.
    path: Vec<u8>,
    /// The innermost directories of `path`, with the lengths of their own paths.
    open: VecDeque<(usize, OwnedFd)>,
}

impl<'a> Around<'a> {
    pub(super) fn new(root: &'a OwnedFd) -> Self {
        Self { root, path: Vec::new(), open: VecDeque::new() }
    }

    /// Opens a directory below the root; links are not followed.
    pub(super) fn directory(&mut self, path: &[u8]) -> io::Result<OwnedFd> {
        let same = self.path.iter().zip(path).take_while(|(one, other)| one == other).count();
        let is_around =
            |length: usize| length <= same && path.get(length).is_none_or(|byte| *byte == b'/');
        while self.open.back().is_some_and(|(length, _)| !is_around(*length)) {
            self.open.pop_back();
        }
        self.path.clear();
        self.path.extend_from_slice(path);
        let mut at = self.open.back().map_or(0, |(length, _)| *length);
        while at < path.len() {
            let start = if at == 0 { 0 } else { at + 1 };
            let rest = path.get(start..).unwrap_or_default();
            let length = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
            let name = rest.get(..length).unwrap_or_default();
            let outer = self.open.back().map_or(self.root, |(_, fd)| fd);
            let fd = beneath::directory(outer, name)?;
            at = start + length;
            self.open.push_back((at, fd));
            if self.open.len() > OPEN {
                self.open.pop_front();
            }
        }
        self.open.back().map_or(self.root, |(_, fd)| fd).try_clone()
    }
}
