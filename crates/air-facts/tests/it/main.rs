//! What the crate promises, through its public interface.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod content;
mod corpus;
mod corpus_shell;
mod host;
mod hostile;
mod hostile_shell;
mod intents;
mod labels;
mod python;
mod reader;
mod repair;
mod scripts;
mod steps;

use air_core::{code::CodeFacts, port::Alone};

fn python(source: &str) -> CodeFacts {
    air_facts::python::read(source, &Alone)
}

fn shell(source: &str) -> CodeFacts {
    air_facts::shell::read(source, &Alone)
}
