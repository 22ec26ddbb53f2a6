//! Mends defects of programs, by edits of the syntax, where there is a certain way: one that
//! changes nothing else of what the program does.
//!
//! A mended program is offered only if it parses, has no defect that could be mended any more, and
//! does nothing to the world that the first one does not.

mod edit;
mod python;
mod shell;

use std::sync::Arc;

use air_core::{
    code::{CodeFacts, Defect},
    port::{Alone, Repaired, Repairer},
    step::ToolCall,
};

use crate::reader::{Carries, CodeParser};

/// So many changes are made one after the other.
const MOST_ROUNDS: usize = 16;

/// A program without those of its defects that can be mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// Its source.
    pub source: String,
    /// What was mended, one a defect.
    pub said: Vec<String>,
}

/// Mends the programs that calls carry.
#[derive(Debug, Clone)]
pub struct Mender {
    parser: Arc<CodeParser>,
}

impl Mender {
    /// One that looks for source where `parser` does.
    pub fn new(parser: Arc<CodeParser>) -> Self {
        Self { parser }
    }
}

impl Repairer for Mender {
    fn repair(&self, call: &ToolCall, code: &CodeFacts) -> Option<Repaired> {
        if code.defects.is_empty() {
            return None;
        }
        let (argument, carries) = self.parser.source(&call.tool)?;
        let source = call.arguments.get(argument)?.as_str()?;
        let mended = match carries {
            Carries::Python => mend_python(source),
            Carries::Shell => mend_shell(source),
            _ => None,
        }?;
        let mut arguments = call.arguments.clone();
        arguments.insert(argument.to_owned(), mended.source.as_str().into());
        Some(Repaired { arguments, said: mended.said })
    }
}

/// `source` of Python without its defects, where each that could be mended is.
pub fn mend_python(source: &str) -> Option<Mended> {
    let read = |source: &str| crate::python::read(source, &Alone);
    mend(source, read, python::can, python::mend)
}

/// `source` of a shell without its defects, where each that could be mended is.
pub fn mend_shell(source: &str) -> Option<Mended> {
    let read = |source: &str| crate::shell::read(source, &Alone);
    mend(source, read, shell::can, shell::mend)
}

fn mend(
    source: &str,
    read: impl Fn(&str) -> CodeFacts,
    can: impl Fn(&str) -> bool,
    one: impl Fn(&str, &Defect) -> Option<(String, String)>,
) -> Option<Mended> {
    let before = read(source);
    let mut mended = Mended { source: source.to_owned(), said: Vec::new() };
    for _ in 0..MOST_ROUNDS {
        let facts = read(&mended.source);
        let Some(defect) = facts.defects.iter().find(|defect| can(&defect.kind)) else {
            let is_sound = !mended.said.is_empty() && adds_nothing(&before, &facts);
            return is_sound.then_some(mended);
        };
        let (source, said) = one(&mended.source, defect)?;
        if source == mended.source {
            return None;
        }
        mended.source = source;
        mended.said.push(format!("line {}: {said}", defect.line));
    }
    None
}

/// Whether `after` has no defect and does nothing that `before` has or does not.
fn adds_nothing(before: &CodeFacts, after: &CodeFacts) -> bool {
    let defect = |defect: &Defect| before.defects.iter().any(|known| known.kind == defect.kind);
    let operation = |done: &air_core::code::Operation| {
        let same = |known: &air_core::code::Operation| {
            known.activity == done.activity && known.target == done.target
        };
        before.operations.iter().any(same)
    };
    after.defects.iter().all(defect)
        && after.operations.iter().all(operation)
        && after.incomplete.len() <= before.incomplete.len()
}
