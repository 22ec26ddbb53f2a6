//! Commands that run a command for each thing they are given: `xargs`, `find`.

use super::{
    eval::Shell,
    word::{Data, Word},
};
use crate::collect::Collector;
use air_core::code::Activity;

impl Shell {
    pub(super) fn xargs(
        &mut self,
        args: &[Word],
        behind: usize,
        at: u32,
        out: &mut Collector,
    ) -> Data {
        const VALUED: [&str; 12] = [
            "-a",
            "-d",
            "-E",
            "-I",
            "-L",
            "-n",
            "-P",
            "-s",
            "-j",
            "--max-args",
            "--max-procs",
            "--delimiter",
        ];
        let mut rest = args;
        let mut replaced = None;
        let mut file = None;
        while let Some((word, after)) = rest.split_first() {
            let written = word.as_written();
            if !written.starts_with('-') || written.len() < 2 {
                break;
            }
            rest = after;
            if VALUED.contains(&written) {
                let value = after.first().cloned();
                match written {
                    "-I" => replaced = value,
                    "-a" => file = value,
                    _ => {}
                }
                rest = after.get(1..).unwrap_or_default();
            } else if let Some(mark) = written.strip_prefix("-I") {
                replaced = Some(Word::literal(mark));
            }
        }
        let data = match file {
            Some(file) => self.read_file(&file, "xargs", at, out),
            None => self.state.input(),
        };
        let given: Vec<Word> =
            match data.text.as_deref().filter(|text| text.split_whitespace().count() <= 64) {
                Some(text) => {
                    let split: Vec<&str> = if replaced.is_some() {
                        text.lines().collect()
                    } else {
                        text.split_whitespace().collect()
                    };
                    split
                        .into_iter()
                        .map(|word| {
                            Word::literal(word.trim_matches(['\'', '"']))
                                .from(data.sources.iter().cloned())
                        })
                        .collect()
                }
                None => vec![Word::computed("${…}".to_owned()).from(data.sources.iter().cloned())],
            };
        let echo = [Word::literal("echo")];
        let command = if rest.is_empty() { &echo[..] } else { rest };
        let Some(mark) = replaced.as_ref().and_then(Word::text) else {
            let mut words = command.to_vec();
            // Shown as it is written, where nothing more is known.
            words.extend(given);
            return self.launched(&words, behind + 1, at, out);
        };
        let mut printed = Data::none();
        for word in given {
            let words: Vec<Word> = command
                .iter()
                .map(|part| match part.text() {
                    Some(text) if text.contains(mark) => replace(text, mark, &word),
                    _ => part.clone(),
                })
                .collect();
            printed.append(self.launched(&words, behind + 1, at, out));
        }
        printed
    }

    pub(super) fn find(
        &mut self,
        args: &[Word],
        behind: usize,
        at: u32,
        out: &mut Collector,
    ) -> Data {
        let starts: Vec<Word> = args
            .iter()
            .take_while(|arg| !arg.as_written().starts_with(['-', '(', '!']))
            .cloned()
            .collect();
        let starts = if starts.is_empty() { vec![Word::literal(".")] } else { starts };
        let option = |name: &str| {
            let at = args.iter().position(|arg| arg.text() == Some(name))?;
            args.get(at + 1).cloned()
        };
        let name = option("-name").or_else(|| option("-iname")).or_else(|| option("-path"));
        for start in &starts {
            let path = self.state.path(start.as_written());
            self.operation_below(Activity::DirectoryList, &path, "find", None, true, at, out);
            out.path(start.as_written());
        }
        // What is found: somewhere below, by the name that is asked for.
        let found: Vec<Word> = starts
            .iter()
            .map(|start| {
                let start = start.as_written().trim_end_matches('/');
                let name = name.as_ref().and_then(Word::text);
                let path = match name {
                    Some(name) => format!(
                        "{start}/${{…}}/{}",
                        name.replace('*', "${…}").replace("${…}${…}", "${…}")
                    ),
                    None => format!("{start}/${{…}}"),
                };
                Word::computed(path)
            })
            .collect();
        if args.iter().any(|arg| arg.text() == Some("-delete")) {
            for start in &starts {
                let path = self.state.path(start.as_written());
                let detail = name.as_ref().map(Word::as_written);
                self.operation_below(Activity::FileDelete, &path, "find", detail, true, at, out);
            }
        }
        for option_name in ["-fprint", "-fls", "-fprintf"] {
            if let Some(file) = option(option_name) {
                let path = self.state.path(file.as_written());
                self.operation(Activity::FileWrite, &path, "find", None, at, out);
            }
        }
        let runs =
            |word: &Word| matches!(word.text(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
        let mut rest = args;
        let mut printed = Data::none();
        let mut ran = false;
        while let Some(start) = rest.iter().position(runs) {
            let after = rest.get(start + 1..).unwrap_or_default();
            let end = after
                .iter()
                .position(|word| matches!(word.text(), Some(";" | "+")))
                .unwrap_or(after.len());
            let (inner, more) = after.split_at_checked(end).unwrap_or((after, &[]));
            for path in &found {
                let words: Vec<Word> = inner
                    .iter()
                    .map(|part| match part.text() {
                        Some(text) if text.contains("{}") => {
                            replace(text, "{}", path).written_as_text(text)
                        }
                        _ => part.clone(),
                    })
                    .collect();
                printed.append(self.launched(&words, behind + 1, at, out));
            }
            ran = true;
            rest = more;
        }
        if ran { printed } else { Data::default() }
    }
}

/// `text` with `mark` replaced by `word`.
fn replace(text: &str, mark: &str, word: &Word) -> Word {
    let mut whole = Word::literal("");
    for (index, part) in text.split(mark).enumerate() {
        if index > 0 {
            whole.push(word);
        }
        whole.push(&Word::literal(part));
    }
    whole
}
