//! What an output repeats: contents of files, names in directories, what hosts answered.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    io::{self, Cursor, Read},
    os::fd::OwnedFd,
    path::Path,
};

use air_checkpoint::{Kind, Place, Root, beneath, overlay::Shown};
use air_core::effects::{Observed, OutputEffect};
use air_origin::{Limits, Sources};

use super::{
    Beside, Origins,
    listing::{MOST_ENTRIES, Names},
    open, open_below,
};
use crate::{
    effects::agent_path,
    layers::{Layers, WORKSPACE},
    network::Seen,
};

/// Bytes of files that a call names which are compared with its output.
const NAMED_BYTES: u64 = 64 << 20;
/// Files and directories that are.
const NAMED: usize = 512;
/// The shortest text that is recognised where it is all of a file, and at the end of a line.
const SHORTEST: usize = 6;
/// Of an answer that is encrypted, about what making the connection takes.
const GREETING_BYTES: u64 = 1024;

/// What an output may have come from, as it was before the step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before<'a> {
    pub(crate) layers: &'a Layers,
    /// What the step changed.
    pub(crate) shown: &'a [Shown],
    /// Files beside the watched roots that the call or the settings name.
    pub(crate) beside: &'a [Beside],
    /// Places that they name.
    pub(crate) mentioned: &'a [Place],
    /// What was sent and answered.
    pub(crate) connections: &'a [Seen],
    /// Where calls begin: its names tell nothing.
    pub(crate) cwd: &'a Path,
}

impl Origins {
    /// What `output` repeats.
    pub(crate) fn of_output(&self, before: &Before<'_>, output: &str) -> Observed<OutputEffect> {
        let mut found = BTreeSet::new();
        let mut incomplete = None;
        let traced = self.sources.trace(&mut Cursor::new(output), &Limits::default());
        incomplete = incomplete.or(traced.incomplete);
        found.extend(traced.matches.into_iter().map(|one| (one.name, "content")));
        let named = Named::of(before);
        let traced = named.sources.trace(&mut Cursor::new(output), &Limits::default());
        incomplete = incomplete.or(traced.incomplete).or(named.incomplete);
        found.extend(traced.matches.into_iter().map(|one| (one.name, "content")));
        for (name, text) in &named.short {
            if ends_a_line(output, text) {
                found.insert((name.clone(), "content"));
            }
        }
        let names = Names::of(output);
        for (shown, entries) in self.directories(before) {
            if names.list(&entries) {
                found.insert((shown, "listing"));
            }
        }
        let answers = Answers::of(before.connections);
        found.extend(answers.repeated(output.as_bytes()).map(|host| (host, "network")));
        let mut items: Vec<OutputEffect> = found
            .into_iter()
            .map(|(origin, kind)| OutputEffect { origin, kind: kind.to_owned(), unknown: None })
            .collect();
        if output.len() >= SHORTEST {
            items.extend(answers.encrypted.iter().map(|host| OutputEffect {
                origin: host.clone(),
                kind: String::new(),
                unknown: Some(format!("what {host} answered was encrypted")),
            }));
        }
        let incomplete = incomplete.or_else(|| self.incomplete.clone());
        Observed { items, incomplete }
    }

    /// Directories whose names are looked for, with these.
    fn directories(&self, before: &Before<'_>) -> Vec<(String, HashSet<String>)> {
        let layers = before.layers;
        let labelled = self.directories.iter().map(|path| (WORKSPACE, path.clone()));
        let places: BTreeSet<Place> = before.mentioned.iter().cloned().chain(labelled).collect();
        let mut all = Vec::new();
        for place in places {
            let Some(root) = layers.roots().get(place.0) else { continue };
            let shown = root.shown(&place.1);
            if Path::new(&shown) == before.cwd {
                continue;
            }
            let lower = layers.workspace().filter(|_| place.0 == WORKSPACE);
            let mut entries = HashSet::new();
            for root in [Some(root), lower].into_iter().flatten() {
                entries.extend(entries_below(root, &place.1).unwrap_or_default());
            }
            let below = before.shown.iter().filter(|change| {
                let parent = beneath::split(&change.place.1).0;
                change.place.0 == place.0 && parent == place.1
            });
            for change in below {
                let name = beneath::split(&change.place.1).1;
                let name = String::from_utf8_lossy(name).into_owned();
                if change.before.is_some() {
                    entries.insert(name);
                } else {
                    entries.remove(&name);
                }
            }
            all.push((shown, entries));
        }
        for beside in before.beside.iter().take(NAMED) {
            // What is no directory has no entries.
            if let Ok(entries) = beneath::root(&beside.host).and_then(|fd| entries_of(&fd)) {
                all.push((beside.shown.clone(), entries));
            }
        }
        all
    }
}

/// Names in a directory below a root, to which no link leads.
fn entries_below(root: &Root, path: &[u8]) -> io::Result<HashSet<String>> {
    entries_of(&beneath::directory(&beneath::root(&root.host)?, path)?)
}

fn entries_of(directory: &OwnedFd) -> io::Result<HashSet<String>> {
    let entries = rustix::fs::Dir::read_from(directory)?.flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name != "." && name != "..").take(MOST_ENTRIES).collect())
}

/// Files that the call names, as they were before it.
#[derive(Debug, Default)]
struct Named {
    sources: Sources,
    /// Whole contents of one short line.
    short: Vec<(String, String)>,
    incomplete: Option<String>,
}

impl Named {
    fn of(before: &Before<'_>) -> Self {
        let (mut named, mut left) = (Self::default(), NAMED_BYTES);
        for place in before.mentioned.iter().take(NAMED) {
            let name = agent_path(before.layers.roots(), place);
            let change = before.shown.iter().find(|change| change.place == *place);
            if let Some(change) = change {
                // What was made by the step itself came from nowhere.
                let Some(entry) = &change.before else { continue };
                if entry.kind != Kind::File {
                    continue;
                }
                match before.layers.content(place, entry) {
                    Some(content) => named.add(&name, &content, &mut left),
                    None => named.lacks(format!("{name} is not known as it was")),
                }
                continue;
            }
            let lower = before.layers.workspace().filter(|_| place.0 == WORKSPACE);
            let roots = [before.layers.roots().get(place.0), lower];
            let file = roots.into_iter().flatten().find_map(|root| open_below(root, &place.1).ok());
            if let Some(file) = file {
                named.read(&name, file, &mut left);
            }
        }
        for beside in before.beside.iter().take(NAMED) {
            if let Ok(file) = open(&beside.host) {
                named.read(&beside.shown, file, &mut left);
            }
        }
        named
    }

    fn lacks(&mut self, why: String) {
        self.incomplete.get_or_insert(why);
    }

    fn read(&mut self, name: &str, file: fs::File, left: &mut u64) {
        let mut content = Vec::new();
        if file.take(*left + 1).read_to_end(&mut content).is_ok() {
            self.add(name, &content, left);
        }
    }

    fn add(&mut self, name: &str, content: &[u8], left: &mut u64) {
        let length = u64::try_from(content.len()).unwrap_or(u64::MAX);
        if length > *left {
            self.lacks(format!("{name} is too large to be compared with the output"));
            return;
        }
        *left -= length;
        // Bytes in memory can be read.
        let _ = self.sources.add(name, &mut Cursor::new(content));
        if let Some(text) = short(content) {
            self.short.push((name.to_owned(), text));
        }
    }
}

/// A content that is one line, too short to be told from chance by itself.
fn short(content: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(content).ok()?.trim();
    let is_short = (SHORTEST..64).contains(&text.len()) && !text.contains('\n');
    is_short.then(|| text.to_owned())
}

/// Whether a line ends with this, and not within a word.
fn ends_a_line(output: &str, text: &str) -> bool {
    output.lines().any(|line| {
        let before = line.trim_end().strip_suffix(text);
        before.is_some_and(|before| !before.ends_with(|last: char| last.is_alphanumeric()))
    })
}

/// What hosts answered in a step.
#[derive(Debug, Default)]
struct Answers {
    sources: Sources,
    short: Vec<(String, String)>,
    /// Hosts whose answers cannot be read.
    encrypted: BTreeSet<String>,
}

impl Answers {
    fn of(connections: &[Seen]) -> Self {
        let mut answers = Self::default();
        for seen in connections.iter().filter(|seen| !seen.received.is_empty()) {
            let host = &seen.effect.host;
            if seen.effect.protocol.as_deref() == Some("tls") {
                if seen.effect.bytes_received > GREETING_BYTES {
                    answers.encrypted.insert(host.clone());
                }
                continue;
            }
            let body = body(&seen.received);
            // Bytes in memory can be read.
            let _ = answers.sources.add(host, &mut Cursor::new(body));
            answers.short.extend(short(body).map(|text| (host.clone(), text)));
        }
        answers
    }

    /// The hosts whose answers are repeated in `content`.
    fn repeated(&self, content: &[u8]) -> impl Iterator<Item = String> {
        let traced = self.sources.trace(&mut Cursor::new(content), &Limits::default());
        let mut hosts: BTreeSet<String> =
            traced.matches.into_iter().map(|found| found.name).collect();
        if let Ok(text) = std::str::from_utf8(content) {
            let short = self.short.iter().filter(|(_, answer)| ends_a_line(text, answer));
            hosts.extend(short.map(|(host, _)| host.clone()));
        }
        hosts.into_iter()
    }
}

/// What follows the header of an HTTP response; anything else is a body wholly.
fn body(received: &[u8]) -> &[u8] {
    if !received.starts_with(b"HTTP/1.") {
        return received;
    }
    let end = received.windows(4).position(|four| four == b"\r\n\r\n");
    end.and_then(|end| received.get(end + 4..)).unwrap_or_default()
}
