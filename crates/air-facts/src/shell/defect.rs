//! What is wrong with a program by itself: one analysis a file, over a tree made for them.
//!
//! An analysis says what it found with its line. It rather misses than blames: what it does not see
//! through is no defect.

mod amplify;
mod bias;
mod choice;
mod digest;
mod eval;
mod form;
mod guard;
mod keys;
mod lower;
mod monitor;
mod names;
mod pattern;
mod privilege;
mod seed;
mod sibling;
mod source;
mod timing;
mod tree;
mod written;

use brush_parser::ast;

pub(super) use form::{always, endless, fork_bomb, is_test, leaves_early};

use crate::collect::Collector;
use source::Source;

/// Notes the defects of `program`, which starts after `base` lines.
pub(super) fn analyse(program: &ast::Program, base: u32, out: &mut Collector) {
    let nodes = lower::program(program, base);
    let source = Source::new(&nodes);
    amplify::note(&source, out);
    bias::note(&source, out);
    choice::note(&source, out);
    digest::note(&source, out);
    eval::note(&source, out);
    guard::note(&source, out);
    keys::note(&source, out);
    monitor::note(&source, out);
    pattern::note(&source, out);
    privilege::note(&source, out);
    seed::note(&source, out);
    sibling::note(&source, out);
    timing::note(&source, out);
    written::note(&source, out);
}
