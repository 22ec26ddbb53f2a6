//! What is intended, and what was done: `intents/<id>` until the end, `records/<id>` after it. A
//! line that names format and version, then frames: length, check, and a [`Frame`] in postcard.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Seek, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Applied, Applier, ApplyError, Change, Late, aside, decide::Step, failpoint};
use crate::{
    scan::now_ns,
    store::{private_directory, unique},
    tree::Place,
};

const HEADER: &[u8] = b"air-apply 1\n";
const CHECK: usize = 8;

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Frame {
    Begin {
        roots: Vec<Vec<u8>>,
        changes: Vec<Change>,
    },
    /// A directory with the mode that it had before it was opened up.
    Opened(Place, u32),
    Decided(Vec<Step>),
    /// Decided anew, as somebody else changed the place.
    Again(usize, Step),
    Displaced(Place, String),
    Late(Late),
    End(Applied),
}

/// What an intent or a record holds.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) changes: Vec<Change>,
    pub(super) opened: BTreeMap<Place, u32>,
    pub(super) steps: Option<Vec<Step>>,
    pub(super) displaced: Vec<(Place, String)>,
    pub(super) late: Vec<Late>,
    pub(super) applied: Option<Applied>,
    roots: Option<Vec<Vec<u8>>>,
    /// Bytes that are whole; what follows was being written at the end of its process.
    whole: u64,
}

#[derive(Debug)]
pub(super) struct Log {
    pub(super) id: String,
    file: File,
    directory: PathBuf,
}

fn intents(directory: &Path) -> PathBuf {
    directory.join("intents")
}

fn records(directory: &Path) -> PathBuf {
    directory.join("records")
}

impl Log {
    pub(super) fn begin(applier: &Applier<'_>, changes: &[Change]) -> io::Result<Self> {
        for folder in [intents(applier.directory), records(applier.directory)] {
            private_directory(&folder)?;
        }
        let id = format!("{:016x}-{:x}-{:x}", now_ns(), std::process::id(), unique());
        let path = intents(applier.directory).join(&id);
        failpoint::reached();
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        let mut log = Self { id, file, directory: applier.directory.to_owned() };
        let begin = Frame::Begin { roots: hosts(applier), changes: changes.to_vec() };
        let written = log
            .file
            .write_all(HEADER)
            .and_then(|()| log.append(&begin))
            .and_then(|()| sync_directory(&intents(&log.directory)));
        if written.is_err() {
            log.remove();
        }
        written.map(|()| log)
    }

    /// Appends a frame, on disk when it returns.
    pub(super) fn append(&mut self, frame: &Frame) -> io::Result<()> {
        self.note(frame)?;
        self.file.sync_data()
    }

    /// Appends a frame that a failing machine may lose.
    pub(super) fn note(&mut self, frame: &Frame) -> io::Result<()> {
        failpoint::reached();
        let body = postcard::to_stdvec(frame).map_err(io::Error::other)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        let mut whole = length.to_le_bytes().to_vec();
        whole.extend(blake3::hash(&body).as_bytes().iter().take(CHECK));
        whole.extend(body);
        let before = self.file.stream_position()?;
        let written = self.file.write_all(&whole);
        if written.is_err() {
            // A torn frame would hide those after it.
            self.file.set_len(before)?;
        }
        written
    }

    pub(super) fn end(&mut self, applied: &Applied) -> io::Result<()> {
        self.append(&Frame::End(applied.clone()))?;
        failpoint::reached();
        fs::rename(
            intents(&self.directory).join(&self.id),
            records(&self.directory).join(&self.id),
        )?;
        sync_directory(&records(&self.directory))?;
        sync_directory(&intents(&self.directory))
    }

    /// Takes the intent back: nothing was done.
    pub(super) fn remove(&self) {
        // One that stays says that nothing was decided, which is harmless.
        let _ = fs::remove_file(intents(&self.directory).join(&self.id));
    }
}

fn hosts(applier: &Applier<'_>) -> Vec<Vec<u8>> {
    applier.roots.iter().map(|root| root.host.as_os_str().as_bytes().to_vec()).collect()
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Intents that did not come to their end, oldest first.
pub(super) fn unfinished(applier: &Applier<'_>) -> Result<Vec<String>, ApplyError> {
    list(&intents(applier.directory))
}

/// Records, oldest first.
pub(super) fn finished(applier: &Applier<'_>) -> Result<Vec<String>, ApplyError> {
    list(&records(applier.directory))
}

fn list(directory: &Path) -> Result<Vec<String>, ApplyError> {
    let listed = match fs::read_dir(directory) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ApplyError::Intent(error)),
    };
    let names = listed.map(|item| item.map(|item| item.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<io::Result<_>>().map_err(ApplyError::Intent)?;
    names.sort();
    Ok(names)
}

/// Opens an intent to go on with it. `None` if its process ended before it was whole, or after it
/// was done.
pub(super) fn reopen(applier: &Applier<'_>, id: &str) -> Result<Option<(Log, Read)>, ApplyError> {
    let path = intents(applier.directory).join(id);
    let bytes = fs::read(&path).map_err(ApplyError::Intent)?;
    let read = read(id, &bytes)?;
    let open = || {
        let mut file = OpenOptions::new().append(true).open(&path)?;
        file.set_len(read.whole)?;
        file.seek(io::SeekFrom::End(0))?;
        Ok(file)
    };
    let file = open().map_err(ApplyError::Intent)?;
    let log = Log { id: id.to_owned(), file, directory: applier.directory.to_owned() };
    let Some(roots) = &read.roots else {
        log.remove();
        return Ok(None);
    };
    if *roots != hosts(applier) {
        return Err(ApplyError::Roots(id.to_owned()));
    }
    if read.applied.is_some() {
        let to = records(applier.directory).join(id);
        fs::rename(&path, to).map_err(ApplyError::Intent)?;
        return Ok(None);
    }
    Ok(Some((log, read)))
}

pub(super) fn read_record(applier: &Applier<'_>, id: &str) -> Result<Option<Applied>, ApplyError> {
    match fs::read(records(applier.directory).join(id)) {
        Ok(bytes) => Ok(read(id, &bytes)?.applied),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ApplyError::Record(id.to_owned(), error.to_string())),
    }
}

/// The names of what was done, and of what is under way.
pub(super) fn names(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in [records(directory), intents(directory)] {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            names.extend(entry?.file_name().into_string());
        }
    }
    Ok(names)
}

/// The changes that a record or an intent speaks of, there and back.
pub(super) fn changes(directory: &Path, id: &str) -> Result<Vec<Change>, ApplyError> {
    let held = fs::read(records(directory).join(id));
    let bytes = held.or_else(|_| fs::read(intents(directory).join(id)));
    let bytes = bytes.map_err(|error| ApplyError::Record(id.to_owned(), error.to_string()))?;
    let read = read(id, &bytes)?;
    let inverse = read.applied.into_iter().flat_map(|applied| applied.inverse);
    Ok(read.changes.into_iter().chain(inverse).collect())
}

/// Whether changes that somebody made meanwhile are in files that were swapped out.
pub(super) fn holds_late(directory: &Path, id: &str) -> Result<bool, ApplyError> {
    let bytes = match fs::read(records(directory).join(id)) {
        Ok(bytes) => bytes,
        // What it swapped out is left of it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(ApplyError::Record(id.to_owned(), error.to_string())),
    };
    let is_told = read(id, &bytes)?.applied.is_none_or(|applied| !applied.late.is_empty());
    let mut all = aside::list(directory, id).into_iter();
    Ok(is_told || all.any(|(_, kept)| aside::has_changed(directory, &kept)))
}

/// What was done before `ns`, and is not under way.
pub(super) fn older(directory: &Path, ns: i64) -> Result<Vec<String>, ApplyError> {
    let mut ids = list(&records(directory))?;
    ids.extend(list(&aside::folder(directory))?);
    ids.sort();
    ids.dedup();
    let under_way = list(&intents(directory))?;
    let began = |id: &String| i64::from_str_radix(id.split('-').next()?, 16).ok();
    ids.retain(|id| began(id).is_some_and(|began| began < ns) && !under_way.contains(id));
    Ok(ids)
}

pub(super) fn forget(directory: &Path, id: &str) -> io::Result<()> {
    aside::forget(directory, id)?;
    match fs::remove_file(records(directory).join(id)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn read(id: &str, bytes: &[u8]) -> Result<Read, ApplyError> {
    let unreadable = |why: &str| ApplyError::Record(id.to_owned(), why.to_owned());
    let mut read = Read::default();
    if HEADER.starts_with(bytes) && bytes.len() < HEADER.len() {
        return Ok(read);
    }
    let mut rest = bytes.strip_prefix(HEADER).ok_or_else(|| unreadable("it has another format"))?;
    while let Some((body, after)) = frame(rest) {
        rest = after;
        match postcard::from_bytes(body).map_err(|error| unreadable(&error.to_string()))? {
            Frame::Begin { roots, changes } => {
                (read.roots, read.changes) = (Some(roots), changes);
            }
            Frame::Opened(place, mode) => {
                read.opened.entry(place).or_insert(mode);
            }
            Frame::Decided(steps) => read.steps = Some(steps),
            Frame::Again(index, step) => {
                if let Some(old) = read.steps.as_mut().and_then(|steps| steps.get_mut(index)) {
                    *old = step;
                }
            }
            Frame::Displaced(place, kept) => read.displaced.push((place, kept)),
            Frame::Late(late) => read.late.push(late),
            Frame::End(applied) => read.applied = Some(applied),
        }
    }
    if read.steps.as_ref().is_some_and(|steps| steps.len() != read.changes.len()) {
        return Err(unreadable("it is damaged"));
    }
    read.whole = (bytes.len() - rest.len()) as u64;
    Ok(read)
}

fn frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (check, rest) = rest.split_at_checked(CHECK)?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (body, rest) = rest.split_at_checked(length)?;
    blake3::hash(body).as_bytes().starts_with(check).then_some((body, rest))
}
