//! Python source, gone through as it would run, with what is known of its values.

mod ast;
mod bound;
mod branches;
mod call;
pub(crate) mod defect;
mod defects;
mod effects;
mod expression;
mod fields;
mod files;
mod interpret;
mod kill;
mod launch;
mod literal;
mod lookup;
mod lower;
mod methods;
mod network;
mod recursion;
mod sites;
mod special;
mod statement;
mod table;
mod text;
mod value;

use air_core::{code::CodeFacts, port::Surroundings};

use crate::collect::Collector;

/// What `source` does.
pub fn read(source: &str, around: &dyn Surroundings) -> CodeFacts {
    read_counting(source, around).0
}

/// What `source` does, and how many steps it took to tell: a measure of time that is the same
/// everywhere.
pub fn read_counting(source: &str, around: &dyn Surroundings) -> (CodeFacts, usize) {
    let mut out = Collector::new("python", around);
    collect(source, &mut out);
    let spent = out.spent();
    (out.finish(), spent)
}

/// Adds what `source` does to `out`.
pub(crate) fn collect(source: &str, out: &mut Collector) {
    if let Some(codec) = other_encoding(source) {
        out.incomplete(format!("source is written in `{codec}`"));
    }
    // Python ends lines at each of these.
    let lines = source.contains('\r').then(|| source.replace("\r\n", "\n").replace('\r', "\n"));
    interpret::Interpreter::new(lines.as_deref().unwrap_or(source), out).run();
}

/// The encoding that one of the first two lines names, if it is another one.
fn other_encoding(source: &str) -> Option<&str> {
    let comments = source.lines().take(2).filter(|line| line.trim_start().starts_with('#'));
    comments.into_iter().find_map(|line| {
        let (_, rest) = line.split_once("coding")?;
        let name = rest.strip_prefix([':', '='])?.trim_start();
        let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)));
        let name = name.get(..end.unwrap_or(name.len()))?;
        let plain = name.to_ascii_lowercase().replace('_', "-");
        let ours = ["utf-8", "utf8", "ascii", "us-ascii", "latin-1", "iso-8859-1"];
        (!name.is_empty() && !ours.contains(&plain.as_str())).then_some(name)
    })
}
