//! Three-way merges: of what a file is, and of what is in a text.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
};

use super::{
    Applier, Change, Source,
    decide::{Deed, Step, has_same_content, put},
    site,
};
use crate::{
    store::{Store, digest, unique},
    tree::{Digest, Entry, Kind, Place},
};

/// Larger files are no texts that a person would merge.
const TEXT_BYTES: u64 = 1 << 20;

/// What to do where somebody else changed something since.
pub(super) fn step(
    applier: &Applier<'_>,
    change: &Change,
    [from, to, now]: [&Entry; 3],
    store: Option<&Store>,
) -> Step {
    let was = Some(now.clone());
    if !applier.merge {
        return Step::refused(was, "it was changed since");
    }
    if from.kind != to.kind || from.kind != now.kind {
        return Step::refused(was, "it was changed since, and is something else");
    }
    match merge(applier, change, [from, to, now], store) {
        Err(why) => Step::refused(was, why),
        Ok(goal) if goal.is_same(now) => Step { was, deed: Deed::Nothing, merged: false },
        Ok(goal) => {
            let written = goal.digest.is_some() && store.is_none();
            let deed = if written { Deed::Put(goal) } else { put(applier, &goal, Some(now)) };
            Step { was, deed, merged: true }
        }
    }
}

fn merge(
    applier: &Applier<'_>,
    change: &Change,
    [from, to, now]: [&Entry; 3],
    store: Option<&Store>,
) -> Result<Entry, String> {
    let changed = |what: &str| format!("its {what} was changed since, in another way");
    let mut goal = now.clone();
    goal.mode = pick(&from.mode, &to.mode, &now.mode).ok_or_else(|| changed("mode"))?;
    let owner = |entry: &Entry| (entry.uid, entry.gid);
    let owner = pick(&owner(from), &owner(to), &owner(now)).ok_or_else(|| changed("owner"))?;
    (goal.uid, goal.gid) = owner;
    goal.attributes = attributes(from, to, now).ok_or_else(|| changed("extended attributes"))?;
    if let (Kind::Link(_), Kind::Link(_), Kind::Link(_)) = (&from.kind, &to.kind, &now.kind) {
        let kind = pick(&from.kind, &to.kind, &now.kind).ok_or_else(|| changed("target"))?;
        goal.kind = kind;
    }
    if from.kind != Kind::File {
        return Ok(goal);
    }
    // Unknown contents are compared by whether the file has been touched.
    let taken = if has_same_content(from, now) {
        Some(to)
    } else if has_same_content(to, now) || has_same_content(from, to) {
        Some(now)
    } else {
        None
    };
    if let Some(taken) = taken {
        (goal.digest, goal.kept, goal.size) = (taken.digest, taken.kept, taken.size);
        (goal.mtime_ns, goal.links) = (taken.mtime_ns, taken.links);
        return Ok(goal);
    }
    let merged = merged_text(applier, &change.place, from, to, now)?;
    goal.size = merged.len() as u64;
    goal.digest = Some(match store {
        Some(store) => keep(applier, store, &merged).map_err(|error| error.to_string())?,
        None => digest(&mut merged.as_slice()).map_err(|error| error.to_string())?,
    });
    goal.mtime_ns = crate::scan::now_ns();
    Ok(goal)
}

fn pick<T: PartialEq + Clone>(from: &T, to: &T, now: &T) -> Option<T> {
    if now == from || now == to { Some(to.clone()) } else { (from == to).then(|| now.clone()) }
}

fn attributes(from: &Entry, to: &Entry, now: &Entry) -> Option<Vec<(String, Vec<u8>)>> {
    let all = [from, to, now].map(|entry| &entry.attributes);
    let mut names: Vec<&String> = all.into_iter().flatten().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    let mut merged = Vec::new();
    for name in names {
        let [from, to, now] = all.map(|list| {
            list.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
        });
        if let Some(value) = pick(&from, &to, &now)? {
            merged.push((name.clone(), value));
        }
    }
    Some(merged)
}

fn merged_text(
    applier: &Applier<'_>,
    place: &Place,
    from: &Entry,
    to: &Entry,
    now: &Entry,
) -> Result<Vec<u8>, String> {
    let text = |entry: &Entry, bytes: &dyn Fn(&Digest) -> Option<Vec<u8>>, whose: &str| {
        let unknown = || format!("it was changed since, and {whose} is not kept");
        let digest = entry.digest.ok_or_else(unknown)?;
        if entry.size > TEXT_BYTES {
            return Err("it was changed since, and is too large to be merged".to_owned());
        }
        let bytes = bytes(&digest).ok_or_else(unknown)?;
        let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        text.ok_or_else(|| "it was changed since, and is no text that could be merged".to_owned())
    };
    let kept = |digest: &Digest| bytes(applier, digest);
    let base = text(from, &kept, "what it was")?;
    let theirs = text(to, &kept, "what it shall be")?;
    let ours = text(now, &|digest| found(applier, place, digest), "what it is")?;
    let merged = diffy::merge(&base, &ours, &theirs);
    merged.map(String::into_bytes).map_err(|_| {
        "it was changed since, in the lines that would change: merge them by hand".to_owned()
    })
}

/// The content of a merged text that is not kept yet.
pub(super) fn content(applier: &Applier<'_>, change: &Change, step: &Step) -> Option<Vec<u8>> {
    let goal = step.goal().filter(|goal| step.merged && goal.kind == Kind::File)?;
    let (from, to) = (change.from.as_ref()?, change.to.as_ref()?);
    let now = step.was.as_ref()?;
    if [to.digest, now.digest].contains(&goal.digest) {
        return None;
    }
    merged_text(applier, &change.place, from, to, now).ok()
}

/// A kept content of bounded size.
pub(super) fn bytes(applier: &Applier<'_>, of: &Digest) -> Option<Vec<u8>> {
    let mut bounded = Bounded(Vec::new());
    match applier.contents().find(of)? {
        Source::Store => applier.store.read(of, &mut bounded).ok()?,
        Source::File(path) => bounded.0 = read_bounded(File::open(path).ok()?, of)?,
    }
    Some(bounded.0)
}

/// The content that is at a place, if it is still the one of this digest.
pub(super) fn found(applier: &Applier<'_>, place: &Place, of: &Digest) -> Option<Vec<u8>> {
    let spot = site::spot(applier.roots, place).ok()?;
    read_bounded(File::from(spot.open().ok()?), of)
}

fn read_bounded(file: File, of: &Digest) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(TEXT_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (digest(&mut bytes.as_slice()).ok()? == *of).then_some(bytes)
}

struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        if (self.0.len() + block.len()) as u64 > TEXT_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(block);
        Ok(block.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn keep(applier: &Applier<'_>, store: &Store, merged: &[u8]) -> io::Result<Digest> {
    let path = applier.directory.join(format!("merged-{}-{}", std::process::id(), unique()));
    let mut options = OpenOptions::new();
    let mut file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    file.write_all(merged)?;
    file.rewind()?;
    Ok(store.keep(&file)?)
}
