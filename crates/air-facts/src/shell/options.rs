//! Options and operands of a command.

use super::word::Word;

/// The arguments of a command, told apart.
#[derive(Debug, Default)]
pub(super) struct Options {
    found: Vec<(String, Option<Word>)>,
    pub(super) operands: Vec<Word>,
}

impl Options {
    /// Reads `args`. `valued` names the options that take a value, apart by spaces: `n --lines`.
    pub(super) fn read(args: &[Word], valued: &str) -> Self {
        let takes = |name: &str| valued.split(' ').any(|valued| valued == name);
        let mut options = Self::default();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let written = arg.as_written();
            if written == "--" {
                options.operands.extend(rest.by_ref().cloned());
            } else if written.starts_with("--") {
                match written.split_once('=') {
                    Some((name, value)) => {
                        options.found.push((name.to_owned(), Some(arg.part(value))));
                    }
                    None => {
                        let value = if takes(written) { rest.next().cloned() } else { None };
                        options.found.push((written.to_owned(), value));
                    }
                }
            } else if written.len() > 1 && written.starts_with('-') {
                // A word such as `-name` is one option; else it is a cluster of letters.
                let word = written.get(1..).unwrap_or_default();
                if takes(written) {
                    options.found.push((word.to_owned(), rest.next().cloned()));
                    continue;
                }
                let mut letters = word.char_indices();
                while let Some((at, letter)) = letters.next() {
                    let mut buffer = [0; 4];
                    let name = letter.encode_utf8(&mut buffer);
                    if takes(name) {
                        let glued = word.get(at + letter.len_utf8()..).unwrap_or_default();
                        let value = if glued.is_empty() {
                            rest.next().cloned()
                        } else {
                            Some(arg.part(glued))
                        };
                        options.found.push((name.to_owned(), value));
                        break;
                    }
                    options.found.push((name.to_owned(), None));
                }
            } else {
                options.operands.push(arg.clone());
            }
        }
        options
    }

    /// These operands, and no option.
    pub(super) fn of(operands: Vec<Word>) -> Self {
        Self { found: Vec::new(), operands }
    }

    /// Whether one of `names` is given: `r`, `--recursive`.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.found.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    pub(super) fn value(&self, names: &[&str]) -> Option<&Word> {
        let mut found = self.found.iter().filter(|(name, _)| names.contains(&name.as_str()));
        found.find_map(|(_, value)| value.as_ref())
    }

    pub(super) fn values<'o>(&'o self, names: &'o [&str]) -> impl Iterator<Item = &'o Word> + 'o {
        self.found
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()))
            .filter_map(|(_, value)| value.as_ref())
    }
}
