//! What was done between two looks, and what it left.

use std::collections::HashMap;

use super::{Timeline, TimelineError};

/// Something that was done and left something. Times are those of the looks, in nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Done {
    /// When the state before it was looked at.
    pub began: i64,
    /// When what it left was looked at.
    pub ended: i64,
    /// The checkpoint before it.
    pub before: String,
    /// The checkpoint of what it left.
    pub left: String,
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

    /// All that was done and left something, as far as that was remembered at the checkpoint `since` or
    /// later; in the order in which it began. What cannot be read is left out.
    ///
    /// # Errors
    ///
    /// If `since` or the directory cannot be read.
    pub fn done(&self, since: &str) -> Result<Vec<Done>, TimelineError> {
        let from = self.read(since)?.scanned_ns;
        let mut all = Vec::new();
        for (before, left) in self.read_afters()? {
            let (Ok(began), Ok(ended)) = (self.read(&before), self.read(&left)) else { continue };
            let (began, ended) = (began.scanned_ns, ended.scanned_ns);
            if ended >= from {
                all.push(Done { began, ended, before, left });
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
        let mut last: HashMap<String, (i64, String)> = HashMap::new();
        for name in self.names()? {
            let stored = self.read(&name)?;
            let Some(before) = stored.after else { continue };
            let at = stored.scanned_ns;
            if last.get(&before).is_none_or(|(known, _)| at >= *known) {
                last.insert(before, (at, name));
            }
        }
        Ok(last.into_iter().map(|(before, (_, name))| (before, name)).collect())
    }
}
