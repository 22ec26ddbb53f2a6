//! What words become.

use std::sync::LazyLock;

use air_core::{
    code::{Activity, Operation},
    place::{Place, PlaceKind},
};

use super::{
    arithmetic,
    eval::Shell,
    lex::{self, Part, Within},
    pattern,
    state::Variable,
    word::{Data, Word, merge},
};
use crate::{LabelTable, collect::Collector, owner};

/// Paths that a pattern may stand for and that matter.
static KNOWN: LazyLock<Vec<String>> = LazyLock::new(|| {
    let table = LabelTable::built_in().ok();
    let paths = table.iter().flat_map(|table| table.known_paths());
    paths.map(ToString::to_string).collect()
});

/// Fields of a word as they grow.
#[derive(Default)]
struct Fields {
    done: Vec<(Word, bool)>,
    open: Option<(Word, bool)>,
}

impl Fields {
    fn push(&mut self, word: &Word, pattern: bool) {
        let (open, has) = self.open.get_or_insert_with(|| (Word::literal(""), false));
        open.push(word);
        *has |= pattern;
    }

    fn end(&mut self) {
        self.done.extend(self.open.take());
    }
}

impl Shell {
    /// The words that `raw` becomes.
    pub(super) fn words(&mut self, raw: &str, at: u32, out: &mut Collector) -> Vec<Word> {
        let mut words = Vec::new();
        for raw in pattern::braces(raw) {
            let Some(parts) = lex::parts(&raw, Within::Command) else {
                out.incomplete_at(at, "a word does not parse");
                words.push(Word::computed(raw));
                continue;
            };
            let mut fields = Fields::default();
            self.parts(&parts, true, &mut fields, at, out);
            fields.end();
            for (word, is_pattern) in fields.done {
                let known = word.text().map(ToOwned::to_owned);
                quoted(&raw, &word, out);
                let word = word.written_as(&raw, is_pattern);
                let names = names_of(&word).filter(|_| is_pattern);
                words.push(word.from(names));
                if let Some(text) = known.filter(|_| is_pattern) {
                    let text = self.state.path(&text);
                    let fit = KNOWN.iter().filter(|path| {
                        path.matches('/').count() == text.matches('/').count()
                            && pattern::fits(&text, path)
                    });
                    words.extend(fit.map(|path| Word::literal(path.as_str())));
                }
            }
        }
        words
    }

    /// The one word that `raw` becomes where words are not split.
    pub(super) fn word(&mut self, raw: &str, within: Within, at: u32, out: &mut Collector) -> Word {
        let Some(parts) = lex::parts(raw, within) else {
            out.incomplete_at(at, "a word does not parse");
            return Word::computed(raw.to_owned());
        };
        let mut fields = Fields::default();
        self.parts(&parts, false, &mut fields, at, out);
        let (word, _) = fields.open.unwrap_or_else(|| (Word::literal(""), false));
        if within == Within::Command {
            quoted(raw, &word, out);
        }
        if within == Within::Document { word } else { word.written_as(raw, false) }
    }

    fn parts(
        &mut self,
        parts: &[Part],
        split: bool,
        fields: &mut Fields,
        at: u32,
        out: &mut Collector,
    ) {
        for part in parts {
            match part {
                Part::Quoted(text) => fields.push(&Word::literal(text.as_str()), false),
                Part::Plain(text) => {
                    let is_pattern = text.contains(['*', '?'])
                        || text.find('[').is_some_and(|at| {
                            text.get(at..).is_some_and(|rest| rest.contains(']'))
                        });
                    fields.push(&Word::literal(text.as_str()), is_pattern && split);
                }
                Part::Parameter { body, quoted } => {
                    let (values, apart) = self.parameter(body, *quoted, at, out);
                    self.put(&values, split && !quoted, apart && split, fields);
                }
                Part::Command { source, quoted, lines } => {
                    let at = at.saturating_add(u32::try_from(*lines).unwrap_or_default());
                    let data = self.capture(source, at, out);
                    let text = data.text.map(|text| text.trim_end_matches('\n').to_owned());
                    let word = Word::data(&Data { text, ..data }, source);
                    self.put(&[word], split && !quoted, false, fields);
                }
                Part::Arithmetic(expr) => {
                    let value = self.arithmetic(expr, at, out);
                    fields.push(&value, false);
                }
                Part::Process { source, reads } => {
                    let word = self.process(source, *reads, at, out);
                    fields.push(&word, false);
                }
            }
        }
    }

    /// Adds what an expansion gives: split at spaces, or each value apart.
    fn put(&self, values: &[Word], split: bool, apart: bool, fields: &mut Fields) {
        let separators = self.state.get("IFS").and_then(|ifs| ifs.values.first()?.text());
        let separators = separators.unwrap_or(" \t\n").to_owned();
        for (index, value) in values.iter().enumerate() {
            if index > 0 && (apart || split) {
                fields.end();
            } else if index > 0 {
                fields.push(&Word::literal(" "), false);
            }
            let Some(text) = value.text().filter(|_| split) else {
                fields.push(value, false);
                continue;
            };
            let mut rest = text;
            while let Some(cut) = rest.find(|c| separators.contains(c)) {
                let (head, tail) = rest.split_at_checked(cut).unwrap_or((rest, ""));
                if !head.is_empty() {
                    fields.push(&value.part(head), head.contains(['*', '?']));
                }
                if fields.done.len() < pattern::MAX_FIELDS {
                    fields.end();
                }
                let mut tail = tail.chars();
                tail.next();
                rest = tail.as_str();
            }
            if !rest.is_empty() {
                fields.push(&value.part(rest), rest.contains(['*', '?']));
            }
        }
        // Quoted, even nothing is a word.
        if !split && !apart && values.is_empty() {
            fields.push(&Word::literal(""), false);
        }
    }

    /// The values of a variable, if it has any.
    pub(super) fn variable(
        &mut self,
        name: &str,
        at: u32,
        out: &mut Collector,
    ) -> Option<Variable> {
        if let Some(variable) = self.state.get(name) {
            return Some(variable.clone());
        }
        let one = |text: &str| {
            Some(Variable { values: vec![Word::literal(text)], ..Variable::default() })
        };
        if let Ok(position) = name.parse::<usize>()
            && position > 0
        {
            let arguments = self.state.arguments.clone()?;
            let word = arguments.get(position - 1).cloned();
            return Some(Variable {
                values: vec![word.unwrap_or_else(|| Word::literal(""))],
                array: false,
            });
        }
        match name {
            "HOME" => one("~"),
            "PWD" => match self.state.directory.as_str() {
                "" => one("."),
                directory => one(directory),
            },
            "IFS" => one(" \t\n"),
            "@" | "*" => self
                .state
                .arguments
                .clone()
                .map(|arguments| Variable { values: arguments.to_vec(), array: true }),
            "#" | "?" | "-" | "$" | "!" | "0" | "RANDOM" | "UID" | "EUID" | "PPID" | "SECONDS"
            | "LINENO" | "BASHPID" | "SHLVL" | "OPTARG" | "OPTIND" | "REPLY" | "BASH_SOURCE"
            | "FUNCNAME" | "PIPESTATUS" | "BASH_VERSION" | "OLDPWD" | "_" => None,
            _ if name.bytes().all(|b| b.is_ascii_digit()) => None,
            _ => {
                out.operation(Operation {
                    activity: Activity::EnvironmentRead,
                    target: name.to_owned(),
                    via: "$".to_owned(),
                    detail: None,
                    recursive: false,
                    labels: Vec::new(),
                    line: at,
                });
                None
            }
        }
    }

    /// The data that is put into a word by `$(source)`.
    pub(super) fn capture(&mut self, source: &str, at: u32, out: &mut Collector) -> Data {
        let source = source.trim();
        // `$(< file)`.
        if let Some(file) = source.strip_prefix('<').filter(|rest| !rest.starts_with(['<', '('])) {
            let file = self.word(file.trim(), Within::Command, at, out);
            return self.read_file(&file, "<", at, out);
        }
        self.substituted(source, at, out)
    }

    /// The name under which a process is read or written.
    fn process(&mut self, source: &str, reads: bool, at: u32, out: &mut Collector) -> Word {
        let data = self.substituted(source, at, out);
        let name = format!("/dev/fd/{}", 63 + self.pipes.len());
        let data = if reads { data } else { Data::none() };
        let word = Word::literal(name.as_str()).from(data.sources.iter().cloned());
        self.pipes.insert(name, data);
        word
    }

    pub(super) fn arithmetic(&mut self, expr: &str, at: u32, out: &mut Collector) -> Word {
        // Substitutions in it run.
        let expr = if expr.contains(['$', '`']) {
            self.word(expr, Within::Document, at, out)
        } else {
            Word::literal(expr)
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for name in expr.as_written().split(|c| !is_name(c)) {
            for value in self.state.get(name).iter().flat_map(|variable| &variable.values) {
                if value.text().is_some_and(|text| text.contains("$(") || text.contains('`')) {
                    out.incomplete_at(at, format!("arithmetic runs what `{name}` holds"));
                }
            }
        }
        let value = expr.text().and_then(|text| {
            arithmetic::value(text, &|name| {
                self.state.get(name)?.values.first()?.text().map(ToOwned::to_owned)
            })
        });
        if let Some(value) = value {
            Word::literal(value.to_string())
        } else {
            let mut sources = Vec::new();
            merge(&mut sources, expr.sources().iter().cloned());
            Word::computed(format!("${{{}}}", expr.as_written().replace("${", "").replace('}', "")))
                .from(sources)
        }
    }
}

/// Where what a pattern becomes comes from; no variable has such a name.
const NAMES: &str = "names of ";

/// The names in the directory of the pattern `word`.
fn names_of(word: &Word) -> Option<Place> {
    let pattern = word.as_written();
    let start = pattern.find(['*', '?', '['])?;
    let (directory, _) = pattern.get(..start)?.rsplit_once('/')?;
    let directory = if directory.is_empty() { "/" } else { directory };
    (!pattern.contains("://"))
        .then(|| Place::new(PlaceKind::Variable, format!("{NAMES}{directory}")))
}

/// Names that a pattern found are printed: a directory is listed.
pub(super) fn names_shown(via: &str, args: &[Word], at: u32, out: &mut Collector) {
    let sources = args.iter().flat_map(Word::sources);
    let directories = sources.filter_map(|source| source.name.strip_prefix(NAMES));
    for directory in directories {
        out.operation(Operation {
            activity: Activity::DirectoryList,
            target: directory.to_owned(),
            via: via.to_owned(),
            detail: None,
            recursive: false,
            labels: Vec::new(),
            line: at,
        });
    }
}

/// A literal is a fact by itself.
fn quoted(raw: &str, word: &Word, out: &mut Collector) {
    if raw.contains(['\'', '"'])
        && let Some(text) = word.text()
    {
        out.string(text);
    }
}

/// What an unset variable stands for.
pub(super) fn unset(name: &str) -> Word {
    let word = Word::computed(format!("${{{name}}}"));
    let special = name.chars().next().is_none_or(|c| !c.is_ascii_alphabetic() && c != '_');
    match (name, special) {
        ("!" | "$" | "BASHPID", _) => word.from([owner::own()]),
        ("PPID", _) => word.from([owner::foreign()]),
        ("REPLY", _) => word.from([Place::new(PlaceKind::Input, "")]),
        ("@" | "*", _) | (_, true) => word,
        _ => word.from([Place::new(PlaceKind::Environment, name)]),
    }
}
