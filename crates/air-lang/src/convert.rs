//! Rules in the dialect in which the authors of AIR published theirs, translated into this language.
//!
//! There, texts stand in quotes, a rule may have several checks joined by `&&`, `||` and `!`, and its
//! steps follow `orchestrate`. Here a check is one text, so joined ones become a list in words.

mod check;
mod parser;
mod token;
mod writer;

use std::collections::HashSet;

use self::{parser::Parser, writer::Writer};
use crate::{
    diagnostic::{Code, Diagnostic, Sink, quoted},
    format::format,
    parsed::{MAX_FILE_BYTES, parse},
};

/// A file that was translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Its rules in this language, laid out. Rules with an error are left out.
    pub text: String,
    /// How many rules were translated.
    pub rules: usize,
    /// Errors, and what could not be translated exactly, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

/// Translates files, with names that are unique over all of them.
#[derive(Debug, Default)]
pub struct Converter {
    taken: HashSet<String>,
}

impl Converter {
    /// Translates a file. Never fails; what is wrong is in the diagnostics.
    pub fn convert(&mut self, source: &str) -> Converted {
        let mut sink = Sink::default();
        if source.len() > MAX_FILE_BYTES {
            let message = format!("the file is larger than {} MiB", MAX_FILE_BYTES >> 20);
            sink.error(Code::TooLarge, 0..0, message, "split it into several files".to_owned());
            return Converted { text: String::new(), rules: 0, diagnostics: sink.finish("") };
        }
        let items = Parser::new(source, &mut sink).file();
        let mut writer = Writer::new(&mut self.taken, &mut sink);
        for item in items {
            writer.item(item);
        }
        let (text, rules) = writer.finish();
        if rules == 0 && sink.errors().is_empty() {
            let hint = "a rule is `rule @name`, its clauses, and `end`".to_owned();
            sink.error(Code::MissingClause, 0..0, "no rule in this file", hint);
        }
        let text = format(&parse(&text));
        Converted { text, rules, diagnostics: sink.finish(source) }
    }
}

/// What was read but cannot be used, in an error.
fn shown(source: &str, span: &std::ops::Range<usize>) -> String {
    quoted(source.get(span.clone()).unwrap_or_default())
}
