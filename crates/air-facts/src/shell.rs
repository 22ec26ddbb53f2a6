//! Shell source: read as the shell would, over a tree that two parsers agree upon. Nothing is run.
//!
//! Start at [`eval`] for how a source goes, at [`table`] for what a command does.

mod archive;
mod arithmetic;
mod batch;
mod beyond;
mod builtin;
mod census;
mod database;
mod defect;
mod eval;
mod expand;
mod file;
mod filter;
mod flow;
mod git;
mod interpreter;
mod lex;
mod lines;
mod network;
mod options;
mod package;
mod parameter;
mod parse;
mod pattern;
mod prefix;
mod redirect;
mod script;
mod service;
mod simple;
mod state;
mod system;
mod table;
mod tree;
mod twice;
mod visited;
mod word;

use air_core::{
    code::CodeFacts,
    place::{Place, PlaceKind},
    port::Surroundings,
};

use crate::collect::Collector;
use eval::Shell;
use state::Channel;
use word::Data;
pub(crate) use word::Word;

/// What `source` does.
pub fn read(source: &str, around: &dyn Surroundings) -> CodeFacts {
    let mut out = Collector::new("shell", around);
    let mut shell = Shell::new(Data::from([Place::new(PlaceKind::Input, "")]), Channel::Output);
    shell.source(source, &mut out);
    out.finish()
}

/// Adds what `source` does to `out`; what is computed in it, as `${_}`, comes from `gaps`, and its
/// standard input from `input`. Answers where its standard output comes from.
pub(crate) fn run(
    source: &str,
    gaps: &[Place],
    input: &[Place],
    out: &mut Collector,
) -> Vec<Place> {
    let mut shell = Shell::captured(Data::from(input.iter().cloned()));
    if !gaps.is_empty() {
        let gap = Word::computed("${_}".to_owned()).from(gaps.iter().cloned());
        shell.state.set("_", gap);
    }
    shell.source(source, out);
    shell.captured_data().sources
}

/// Adds what the one command `words` does to `out`, as [`run`] does.
pub(crate) fn exec(words: &[Word], input: &[Place], at: u32, out: &mut Collector) -> Vec<Place> {
    let mut shell = Shell::captured(Data::from(input.iter().cloned()));
    let data = shell.launch(words, at, out);
    shell.emit(data, at, out);
    shell.captured_data().sources
}

/// Adds what `source` does to `out`; what it prints is output.
pub(crate) fn collect(source: &str, out: &mut Collector) {
    let sources = run(source, &[], &[Place::new(PlaceKind::Input, "")], out);
    out.flow(&sources, &Place::new(PlaceKind::Output, ""), 1);
}
