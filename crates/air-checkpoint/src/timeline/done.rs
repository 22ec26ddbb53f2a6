//! What was done between two looks, and what it left.

use std::{
    collections::HashMap,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
};

use super::{Timeline, TimelineError, is_name};

/// The names of checkpoints, a line each, in the order in which they were written.
const ORDER: &str = "order";

/// Where a checkpoint stands among the others. Those of versions that kept no order stand before all others,
/// by when they were looked at.
pub type Position = (usize, i64);

/// Something that was done and left something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Done {
    /// Where the state before it stands.
    pub began: Position,
    /// Where what it left stands.
    pub ended: Position,
    /// The checkpoint before it.
    pub before: String,
}

impl Timeline {
    /// Remembers the latest look as what was left by whatever began at the checkpoint `before`. Several
    /// may have begun there: what the last of them left counts.
    ///
    /// # Errors
    ///
    /// [`TimelineError::Io`]; then nothing has changed.
    pub fn checkpoint_after(&mut self, before: &str) -> Result<(), TimelineError> {
        let name = self.write(Some(before))?;
        // One that left nothing is not told from the next one that begins there.
        if name != before {
            self.afters.insert(before.to_owned(), name);
        }
        Ok(())
    }

    /// All that was done and left something, as far as that was remembered after the checkpoint `since`; in
    /// the order in which it began. What cannot be read is left out.
    ///
    /// # Errors
    ///
    /// If `since` or the directory cannot be read.
    pub fn done(&self, since: &str) -> Result<Vec<Done>, TimelineError> {
        let order = self.order();
        let from = self.position(&order, since)?;
        let mut all = Vec::new();
        for (before, left) in self.read_afters()? {
            let places = (self.position(&order, &before), self.position(&order, &left));
            let (Ok(began), Ok(ended)) = places else { continue };
            if ended > from {
                all.push(Done { began, ended, before });
            }
        }
        all.sort();
        Ok(all)
    }

    /// What was left by whatever began at the checkpoint `before`, if that was remembered.
    ///
    /// # Errors
    ///
    /// If a checkpoint cannot be read.
    pub fn after(&self, before: &str) -> Result<Option<String>, TimelineError> {
        if let Some(known) = self.afters.get(before) {
            return Ok(Some(known.clone()));
        }
        let earlier = if let Some(earlier) = self.earlier_afters.get() {
            earlier
        } else {
            let read = self.read_afters()?;
            self.earlier_afters.get_or_init(|| read)
        };
        Ok(earlier.get(before).cloned())
    }

    /// Of each checkpoint that is on disk, what was left last by what began there.
    fn read_afters(&self) -> Result<HashMap<String, String>, TimelineError> {
        let order = self.order();
        let mut last: HashMap<String, (Position, String)> = HashMap::new();
        for name in self.names()? {
            let stored = self.read(&name)?;
            let Some(before) = stored.after else { continue };
            let at = (order.get(&name).copied().unwrap_or_default(), stored.scanned_ns);
            if last.get(&before).is_none_or(|(known, _)| at >= *known) {
                last.insert(before, (at, name));
            }
        }
        Ok(last.into_iter().map(|(before, (_, name))| (before, name)).collect())
    }

    /// Where a checkpoint stands.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn position_of(&self, name: &str) -> Result<Position, TimelineError> {
        self.position(&self.order(), name)
    }

    fn position(
        &self,
        order: &HashMap<String, usize>,
        name: &str,
    ) -> Result<Position, TimelineError> {
        Ok((order.get(name).copied().unwrap_or_default(), self.read(name)?.scanned_ns))
    }

    /// Remembers that a checkpoint is the next; before it is the last that is known.
    pub(super) fn comes_next(&self, name: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file =
            options.append(true).create(true).mode(0o600).open(self.directory.join(ORDER))?;
        // A line that a crash tore is closed by this one's.
        file.write_all(format!("\n{name}\n").as_bytes())
    }

    /// Counted from 1.
    fn order(&self) -> HashMap<String, usize> {
        let text = fs::read_to_string(self.directory.join(ORDER)).unwrap_or_default();
        let names = text.lines().filter(|line| is_name(line));
        names.enumerate().map(|(at, name)| (name.to_owned(), at + 1)).collect()
    }
}
