//! Whether a text is a listing of a directory: names of its entries stand in it one after the other.

use std::collections::{HashMap, HashSet};

/// Entries of one directory that are looked for.
pub(crate) const MOST_ENTRIES: usize = 20_000;
/// Bytes of an output that are looked at.
const OUTPUT_BYTES: usize = 1 << 20;
/// Names in a row that are a listing.
const ROW: usize = 3;
/// A word that is there so often may stand between names.
const FILLER: usize = 3;

/// The words of an output in order, and of each line the last name.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    words: Vec<&'a str>,
    lines: Vec<&'a str>,
    counts: HashMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    pub(crate) fn of(output: &'a str) -> Self {
        let output = output.get(..output.floor_char_boundary(OUTPUT_BYTES)).unwrap_or(output);
        let is_between =
            |letter: char| letter.is_whitespace() || "'\"`,;()[]{}<>|=/".contains(letter);
        let words: Vec<_> =
            output.split(is_between).map(plain).filter(|word| is_name(word)).collect();
        let lines = output.lines().map(last_name).filter(|name| is_name(name)).collect();
        let mut counts = HashMap::new();
        for word in &words {
            *counts.entry(*word).or_default() += 1;
        }
        Self { words, lines, counts }
    }

    /// Whether they are the names of these entries: at least three in a row, or all where there are
    /// fewer and they are like no word.
    pub(crate) fn list(&self, entries: &HashSet<String>) -> bool {
        if entries.is_empty() || self.words.is_empty() {
            return false;
        }
        let enough = entries.len().min(ROW);
        self.in_a_row(&self.words, entries, enough) || self.in_a_row(&self.lines, entries, enough)
    }

    fn in_a_row(&self, words: &[&str], entries: &HashSet<String>, enough: usize) -> bool {
        let mut row: HashSet<&str> = HashSet::new();
        for word in words {
            if entries.contains(*word) {
                row.insert(word);
                // Fewer than three common words may be there by chance.
                let is_listing = row.len() >= ROW || row.iter().any(|name| !is_common(name));
                if row.len() >= enough && is_listing {
                    return true;
                }
            } else if !self.is_filler(word) {
                row.clear();
            }
        }
        false
    }

    /// What listings put between names: sizes, dates, modes, and what is there again and again.
    fn is_filler(&self, word: &str) -> bool {
        word.bytes().any(|byte| byte.is_ascii_digit())
            || self.counts.get(word).is_some_and(|count| *count >= FILLER)
    }
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && !matches!(word, "." | ".." | "->" | "total")
}

/// Without what `ls -F` puts behind a name.
fn plain(word: &str) -> &str {
    word.trim_end_matches(['*', '@', ':'])
}

/// The last name of a line; of a path, its last part.
fn last_name(line: &str) -> &str {
    let line = line.split(" -> ").next().unwrap_or(line).trim_end();
    let line = line.trim_end_matches(|letter: char| "'\"`,;)]}>*@|=/".contains(letter));
    let cut = |letter: char| letter.is_whitespace() || "'\"`/".contains(letter);
    line.rsplit(cut).next().unwrap_or(line)
}

/// A word as it stands in any text.
fn is_common(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphabetic()) && name.len() < 12
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(entries: &[&str], output: &str) -> bool {
        let entries = entries.iter().map(|&name| name.to_owned()).collect();
        Names::of(output).list(&entries)
    }

    #[test]
    fn listings_are_told_from_texts() {
        let keys = ["id_rsa", "known_hosts", "config", "authorized_keys"];
        let etc = ["hosts", "group", "network", "profile", "passwd", "services", "ssl", "default"];
        let few = ["notes"];
        let drawn = ["a7f3k9q2x1", "readme"];
        #[rustfmt::skip]
        let table: &[(&[&str], &str, bool)] = &[
            (&keys, "authorized_keys\nconfig\nid_rsa\nknown_hosts\n", true),
            (&keys, "['config', 'id_rsa', 'known_hosts']", true),
            (&keys, "authorized_keys  config  id_rsa  known_hosts", true),
            (&keys, "total 12\n-rw------- 1 root root 40 Nov  1 10:00 config\n-rw------- 1 root root 1679 Nov  1 10:00 id_rsa\nlrwxrwxrwx 1 root root 9 Nov  1 10:00 known_hosts -> elsewhere\n", true),
            (&keys, "/root/.ssh/config\n/root/.ssh/id_rsa\n/root/.ssh/known_hosts\n", true),
            (&keys, "<DirEntry 'config'>\n<DirEntry 'id_rsa'>\n<DirEntry 'known_hosts'>\n", true),
            (&keys, "[PosixPath('/k/config'), PosixPath('/k/id_rsa'), PosixPath('/k/known_hosts')]", true),
            (&keys, "File: config\nFile: id_rsa\nFile: known_hosts\n", true),
            (&keys, "config/\nid_rsa*\nknown_hosts@\n", true),
            (&keys, "the config was read and the id_rsa is fine", false),
            (&etc, "the default group of the hosts that a network profile lists for its services", false),
            (&etc, "group hosts network\n", true),
            (&few, "notes\n", false),
            (&few, "", false),
            (&drawn, "found a7f3k9q2x1 there", false),
            (&drawn, "readme\na7f3k9q2x1\n", true),
            (&drawn, "readme", false),
            (&["id_rsa"], "id_rsa\n", true),
            (&["a.txt", "b.txt"], "a.txt b.txt", true),
            (&["a.txt", "b.txt"], "a.txt", false),
        ];
        for (entries, output, wanted) in table {
            assert_eq!(lists(entries, output), *wanted, "{output:?}");
        }
    }
}
