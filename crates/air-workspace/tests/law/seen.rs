//! What was seen, by code that shares nothing with what is tested.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, MetadataExt},
    },
    path::Path,
};

use serde_json::Value;

use crate::deeds::hex;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thing {
    kind: char,
    mode: u32,
    size: u64,
    /// Of a file, in nanoseconds.
    time: i64,
    /// The check of a content, or the target of a link.
    text: String,
    marks: Vec<String>,
    /// The other names of the file.
    names: BTreeSet<Vec<u8>>,
}

/// By name.
pub(crate) type Seen = BTreeMap<Vec<u8>, Thing>;

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

/// Reads what was seen inside.
pub(crate) fn inside(list: &Value) -> Seen {
    let text = |item: &Value, key: &str| item[key].as_str().unwrap().to_owned();
    let items: Vec<&Value> = list.as_array().unwrap().iter().collect();
    let mut groups: BTreeMap<String, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for item in &items {
        groups.entry(text(item, "group")).or_default().insert(unhex(&text(item, "name")));
    }
    let thing = |item: &&Value| {
        let name = unhex(&text(item, "name"));
        let mut names = groups[&text(item, "group")].clone();
        names.remove(&name);
        let marks = item["marks"].as_array().unwrap().iter();
        let thing = Thing {
            kind: text(item, "kind").chars().next().unwrap(),
            mode: u32::try_from(item["mode"].as_u64().unwrap()).unwrap(),
            size: item["size"].as_u64().unwrap(),
            time: item["time"].as_i64().unwrap(),
            text: text(item, "text"),
            marks: marks.map(|mark| mark.as_str().unwrap().to_owned()).collect(),
            names,
        };
        (name, thing)
    };
    items.iter().map(thing).collect()
}

/// Looks at a directory from outside.
pub(crate) fn outside(root: &Path) -> Seen {
    let mut seen = Seen::new();
    let mut files: BTreeMap<u64, BTreeSet<Vec<u8>>> = BTreeMap::new();
    let mut pending = vec![(b"w".to_vec(), root.to_path_buf())];
    let mut inodes = BTreeMap::new();
    while let Some((name, path)) = pending.pop() {
        let found = path.symlink_metadata().unwrap();
        let (kind, is_file) = (found.file_type(), found.is_file());
        let text = match kind {
            _ if is_file => format!("{:08x}", check(&fs::read(&path).unwrap())),
            _ if kind.is_symlink() => hex(path.read_link().unwrap().as_os_str().as_bytes()),
            _ => String::new(),
        };
        if kind.is_dir() {
            for item in fs::read_dir(&path).unwrap().map(Result::unwrap) {
                let below = [&name[..], b"/", item.file_name().as_bytes()].concat();
                pending.push((below, item.path()));
            }
        }
        if is_file {
            files.entry(found.ino()).or_default().insert(name.clone());
            inodes.insert(name.clone(), found.ino());
        }
        let letter = match kind {
            _ if is_file => 'f',
            _ if kind.is_dir() => 'd',
            _ if kind.is_symlink() => 'l',
            _ if kind.is_fifo() => 'p',
            _ => '?',
        };
        let thing = Thing {
            kind: letter,
            mode: found.mode() & 0o7777,
            size: if is_file { found.size() } else { 0 },
            time: if is_file { found.mtime() * 1_000_000_000 + found.mtime_nsec() } else { 0 },
            text,
            marks: marks(&path),
            names: BTreeSet::new(),
        };
        seen.insert(name, thing);
    }
    for (name, inode) in inodes {
        let names = files[&inode].iter().filter(|other| **other != name).cloned();
        seen.get_mut(&name).unwrap().names = names.collect();
    }
    seen
}

fn marks(path: &Path) -> Vec<String> {
    let mut list = vec![0; 4096];
    let read = rustix::fs::llistxattr(path, &mut list).unwrap_or(0);
    let names = list[..read].split(|byte| *byte == 0).filter(|name| name.starts_with(b"user."));
    let mut marks: Vec<String> = names
        .map(|name| {
            let mut value = vec![0; 4096];
            let length = rustix::fs::lgetxattr(path, name, &mut value).unwrap();
            format!("{}={}", String::from_utf8_lossy(name), hex(&value[..length]))
        })
        .collect();
    marks.sort();
    marks
}

/// CRC-32, as `zlib.crc32` has it.
fn check(bytes: &[u8]) -> u32 {
    let step = |check: u32, _: u32| (check >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(check & 1));
    !bytes.iter().fold(u32::MAX, |check, byte| (0..8).fold(check ^ u32::from(*byte), step))
}

/// Only the workspace; only what is in it has other names.
pub(crate) fn workspace(seen: &Seen) -> Seen {
    let is_in = |name: &Vec<u8>| name == b"w" || name.starts_with(b"w/");
    let mut seen = seen.clone();
    seen.retain(|name, _| is_in(name));
    for thing in seen.values_mut() {
        thing.names.retain(is_in);
    }
    seen
}

/// Names of one file become files of their own when an overlay copies one of them up.
pub(crate) fn without_names(mut seen: Seen) -> Seen {
    for thing in seen.values_mut() {
        thing.names.clear();
    }
    seen
}

/// Without times, where `before` differs from `seen` in nothing else: times alone are no change.
pub(crate) fn with_times_of(mut seen: Seen, other: &Seen, before: &Seen) -> Seen {
    for (name, thing) in &mut seen {
        let (Some(other), Some(before)) = (other.get(name), before.get(name)) else { continue };
        if (Thing { time: 0, ..before.clone() }) == (Thing { time: 0, ..thing.clone() }) {
            thing.time = other.time;
        }
    }
    seen
}

pub(crate) fn without_times(mut seen: Seen) -> Seen {
    for thing in seen.values_mut() {
        thing.time = 0;
    }
    seen
}

/// What differs, in words; empty if nothing does.
pub(crate) fn differences(expected: &Seen, found: &Seen) -> String {
    let names: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let mut text = String::new();
    for name in names.into_iter().filter(|name| expected.get(*name) != found.get(*name)) {
        let (was, is) = (expected.get(name), found.get(name));
        text += &format!("{}:\n  expected {was:?}\n  found    {is:?}\n", name.escape_ascii());
    }
    text
}

/// How each place differs: `created`, `deleted`, or the aspects.
pub(crate) fn effects(before: &Seen, now: &Seen) -> BTreeMap<Vec<u8>, BTreeSet<&'static str>> {
    let names: BTreeSet<_> = before.keys().chain(now.keys()).cloned().collect();
    let mut all = BTreeMap::new();
    for name in names {
        let words: Vec<(&'static str, bool)> = match (before.get(&name), now.get(&name)) {
            (Some(_), None) => vec![("deleted", true)],
            (None, Some(_)) => vec![("created", true)],
            (Some(was), Some(is)) if was.kind != is.kind => vec![("kind", true)],
            (Some(was), Some(is)) => vec![
                ("content", was.kind == 'f' && (was.size, &was.text) != (is.size, &is.text)),
                ("target", was.kind == 'l' && was.text != is.text),
                ("mode", was.kind != 'l' && was.mode != is.mode),
                ("attributes", was.marks != is.marks),
                ("names", was.names != is.names),
            ],
            (None, None) => Vec::new(),
        };
        let words: BTreeSet<_> =
            words.into_iter().filter(|(_, holds)| *holds).map(|(word, _)| word).collect();
        if !words.is_empty() {
            all.insert(name, words);
        }
    }
    all
}
