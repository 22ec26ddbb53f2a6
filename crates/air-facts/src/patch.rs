//! Patches: those of `apply_patch`, and unified differences.

/// Files past this many are not looked at.
const MAX_FILES: usize = 1_000;
/// Longer patches are not read further, in bytes.
const MAX_PATCH: usize = 8 << 20;

/// A patch, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Patch<'p> {
    pub(crate) files: Vec<FilePatch<'p>>,
    /// Why there may be more.
    pub(crate) incomplete: Option<&'static str>,
}

/// What happens to one file.
#[derive(Debug)]
pub(crate) struct FilePatch<'p> {
    pub(crate) path: &'p str,
    pub(crate) change: Change<'p>,
    /// Lines, without their signs.
    pub(crate) removed: Vec<&'p str>,
    pub(crate) added: Vec<&'p str>,
}

/// How it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change<'p> {
    Written,
    Deleted,
    MovedTo(&'p str),
}

/// Takes a patch apart, whatever else is in it.
pub(crate) fn read(text: &str) -> Patch<'_> {
    let mut patch = Patch::default();
    let cut = text.floor_char_boundary(MAX_PATCH);
    if cut < text.len() {
        patch.incomplete = Some("the patch is longer than is read");
    }
    let own = text.contains("*** Begin Patch")
        || text.lines().any(|line| line.starts_with("*** ") && line.contains(" File: "));
    let mut old = None;
    // The lines of a hunk that are left: `--- x` within one is a line that is removed.
    let mut left = (0_usize, 0_usize);
    for line in text.get(..cut).unwrap_or_default().lines() {
        if own {
            patch.own(line);
        } else {
            patch.unified(line, &mut old, &mut left);
        }
    }
    patch
}

impl<'p> Patch<'p> {
    fn begin(&mut self, path: &'p str, change: Change<'p>) {
        if self.files.len() == MAX_FILES {
            self.incomplete = Some("the patch is for more files than are looked at");
            return;
        }
        self.files.push(FilePatch { path, change, removed: Vec::new(), added: Vec::new() });
    }

    /// A line of a patch in the form of `apply_patch`.
    fn own(&mut self, line: &'p str) {
        if let Some(heading) = line.strip_prefix("*** ") {
            let heading = heading.trim();
            if let Some(path) =
                heading.strip_prefix("Add File:").or_else(|| heading.strip_prefix("Update File:"))
            {
                self.begin(path.trim(), Change::Written);
            } else if let Some(path) = heading.strip_prefix("Delete File:") {
                self.begin(path.trim(), Change::Deleted);
            } else if let Some(path) = heading.strip_prefix("Move to:")
                && let Some(file) = self.files.last_mut()
            {
                file.change = Change::MovedTo(path.trim());
            }
        } else {
            self.line(line);
        }
    }

    fn line(&mut self, line: &'p str) {
        let Some(file) = self.files.last_mut() else { return };
        if let Some(added) = line.strip_prefix('+') {
            file.added.push(added);
        } else if let Some(removed) = line.strip_prefix('-') {
            file.removed.push(removed);
        }
    }

    /// A line of a unified difference; `old` is the name that the last `---` gave, `left` how many old
    /// and new lines the hunk still has.
    fn unified(&mut self, line: &'p str, old: &mut Option<&'p str>, left: &mut (usize, usize)) {
        if *left != (0, 0) {
            if !line.starts_with('+') && !line.starts_with('\\') {
                left.0 = left.0.saturating_sub(1);
            }
            if !line.starts_with(['-', '\\']) {
                left.1 = left.1.saturating_sub(1);
            }
            self.line(line);
        } else if let Some(range) = line.strip_prefix("@@ ") {
            *left = hunk(range);
        } else if let Some(name) = line.strip_prefix("--- ") {
            *old = Some(path(name));
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let (from, to) = (old.take().unwrap_or_default(), path(name));
            match (from, to) {
                ("/dev/null" | "", to) => self.begin(to, Change::Written),
                (from, "/dev/null") => self.begin(from, Change::Deleted),
                (from, to) if from == to => self.begin(to, Change::Written),
                (from, to) => self.begin(from, Change::MovedTo(to)),
            }
        } else if let Some(from) = line.strip_prefix("rename from ") {
            *old = Some(from.trim());
        } else if let Some(to) = line.strip_prefix("rename to ") {
            if let Some(from) = old.take() {
                self.begin(from, Change::MovedTo(to.trim()));
            }
        } else {
            // A hunk without its numbers.
            self.line(line);
        }
    }
}

/// The path in a heading: `a/src/x.rs` and a time, perhaps.
fn path(name: &str) -> &str {
    let name = name.split('\t').next().unwrap_or(name).trim().trim_matches('"');
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
}

/// How many old and new lines a hunk has: `-1,5 +1,7 @@`.
fn hunk(range: &str) -> (usize, usize) {
    let mut parts = range.split_whitespace();
    let mut count = |sign: char| {
        let part = parts.next()?.strip_prefix(sign)?;
        part.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
    };
    (count('-').unwrap_or_default(), count('+').unwrap_or_default())
}
