//! A plan for a person.

use std::fmt::Write;

use super::{Fate, Planned};
use crate::tree::{Entry, Kind, Root};

const CUT: &str = "... and more\n";

/// What a plan would change, as a unified diff where that says most. `content` gives the content of
/// an entry at a place if it is kept; of what is longer than `bytes` the rest is left out.
pub fn describe(
    roots: &[Root],
    planned: &[Planned],
    content: &dyn Fn(&Planned, &Entry) -> Option<Vec<u8>>,
    bytes: usize,
) -> String {
    let mut text = String::new();
    for plan in planned {
        one(&mut text, roots, plan, content);
        if text.len() > bytes {
            let mut at = bytes;
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            text.truncate(at);
            let line = text.rfind('\n').map_or(0, |end| end + 1);
            text.truncate(line);
            text.push_str(CUT);
            break;
        }
    }
    text
}

fn one(
    text: &mut String,
    roots: &[Root],
    plan: &Planned,
    content: &dyn Fn(&Planned, &Entry) -> Option<Vec<u8>>,
) {
    let path = roots.get(plan.place.0).map_or_else(
        || String::from_utf8_lossy(&plan.place.1).into_owned(),
        |root| root.shown(&plan.place.1),
    );
    let path = printable(&path);
    let mut line = |what: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{path}: {what}");
    };
    let merged = match &plan.fate {
        Fate::Already => return,
        Fate::Refused(why) => return line(&format!("left as it is: {why}")),
        Fate::Done => "",
        Fate::Merged => " (merged with what was changed since)",
    };
    let (now, then) = (plan.now.as_ref(), plan.then.as_ref());
    match (now, then) {
        (None, None) => {}
        (None, Some(then)) => line(&format!("new {}{merged}", name(then))),
        (Some(now), None) => line(&format!("remove {}", name(now))),
        (Some(now), Some(then)) if now.kind != then.kind => {
            line(&format!("{} becomes {}{merged}", name(now), name(then)));
        }
        (Some(now), Some(then)) => {
            for what in details(now, then) {
                line(&format!("{what}{merged}"));
            }
        }
    }
    let is_file = |entry: Option<&Entry>| entry.is_some_and(|entry| entry.kind == Kind::File);
    if is_file(now) || is_file(then) {
        contents(text, &path, plan, content);
    }
}

fn name(entry: &Entry) -> String {
    match &entry.kind {
        Kind::File => format!("file, mode {:o}", entry.mode),
        Kind::Directory => format!("directory, mode {:o}", entry.mode),
        Kind::Link(target) => format!("link to {}", printable(&String::from_utf8_lossy(target))),
        Kind::Fifo => "named pipe".to_owned(),
        Kind::Whiteout => "whiteout".to_owned(),
        Kind::Other => "socket or device".to_owned(),
    }
}

fn details(now: &Entry, then: &Entry) -> Vec<String> {
    let mut details = Vec::new();
    if now.mode != then.mode {
        details.push(format!("mode {:o} -> {:o}", now.mode, then.mode));
    }
    if (now.uid, now.gid) != (then.uid, then.gid) {
        details.push(format!("owner {}:{} -> {}:{}", now.uid, now.gid, then.uid, then.gid));
    }
    if now.attributes != then.attributes {
        details.push("extended attributes".to_owned());
    }
    details
}

fn contents(
    text: &mut String,
    path: &str,
    plan: &Planned,
    content: &dyn Fn(&Planned, &Entry) -> Option<Vec<u8>>,
) {
    let (now, then) = (plan.now.as_ref(), plan.then.as_ref());
    let file = |entry: Option<&'_ Entry>| entry.filter(|entry| entry.kind == Kind::File).cloned();
    let (now, then) = (file(now), file(then));
    let digest = |entry: &Option<Entry>| entry.as_ref().and_then(|entry| entry.digest);
    if now.is_some() && then.is_some() && digest(&now) == digest(&then) {
        return;
    }
    let bytes = |entry: Option<&Entry>| match entry {
        Some(entry) => content(plan, entry),
        None => Some(Vec::new()),
    };
    let old = bytes(now.as_ref());
    let new = plan.merged.clone().or_else(|| bytes(then.as_ref()));
    let as_text = |bytes: Option<Vec<u8>>| {
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).filter(|text| !text.contains('\0'))
    };
    let size = |entry: Option<&Entry>| entry.map_or(0, |entry| entry.size);
    let (Some(old), Some(new)) = (as_text(old), as_text(new)) else {
        let (old, new) = (human(size(now.as_ref())), human(size(then.as_ref())));
        let _ = writeln!(text, "{path}: binary, {old} -> {new}");
        return;
    };
    if old == new {
        return;
    }
    let from = if now.is_some() { path } else { "/dev/null" };
    let to = if then.is_some() { path } else { "/dev/null" };
    let patch = diffy::create_patch(&old, &new);
    let _ = writeln!(text, "--- {from}\n+++ {to}");
    for hunk in patch.hunks() {
        let _ = writeln!(text, "@@ -{} +{} @@", hunk.old_range(), hunk.new_range());
        for line in hunk.lines() {
            let (sign, line) = match line {
                diffy::Line::Context(line) => (' ', line),
                diffy::Line::Delete(line) => ('-', line),
                diffy::Line::Insert(line) => ('+', line),
            };
            let _ = writeln!(text, "{sign}{}", printable(line.trim_end_matches('\n')));
        }
    }
}

/// Without what would move a terminal's cursor.
fn printable(text: &str) -> String {
    let safe = |letter: char| letter == '\t' || !letter.is_control();
    text.chars().map(|letter| if safe(letter) { letter } else { '\u{fffd}' }).collect()
}

fn human(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}
