//! Runs the parser of `cel`, without its macros, where it can do no harm.

use std::thread;

use cel::{Env, IdedExpr, ParseErrors, common::ast::SourceInfo};

use super::{
    ExprError,
    scan::{MAX_SOURCE, word_byte},
};

/// The parser takes some 60 KiB of stack a bracket in a debug build.
const STACK: usize = 64 << 20;
/// Syntax errors past the first few are consequences of those.
const MAX_REPORTED: usize = 3;

/// A syntax tree, and where its nodes are.
#[derive(Debug)]
pub(super) struct Ast {
    pub(super) root: IdedExpr,
    pub(super) info: SourceInfo,
}

/// Parses a text that has passed [`super::scan::scan`].
pub(super) fn parse(source: &str) -> Result<Ast, Vec<ExprError>> {
    debug_assert!(source.len() <= MAX_SOURCE, "scan first");
    let parsed = with_stack(|| {
        let parser = Env::default().parser().enable_ident_escape_syntax(true);
        parser.error_recovery_limit(8).parse_with_source_info(source)
    });
    match parsed {
        Some(Ok((root, info))) => Ok(Ast { root, info }),
        Some(Err(errors)) => Err(translate(source, &errors)),
        None => Err(vec![ExprError::new((0, source.len()), "the expression cannot be parsed")]),
    }
}

/// The trees of texts that compile, each `None` that cannot be parsed after all.
pub(super) fn parse_all(sources: &[&str]) -> Vec<Option<IdedExpr>> {
    let one = |source: &&str| {
        let parser = Env::default().parser().enable_ident_escape_syntax(true);
        parser.error_recovery_limit(8).parse_with_source_info(source).ok().map(|(root, _)| root)
    };
    let parsed = with_stack(|| sources.iter().map(one).collect());
    parsed.unwrap_or_else(|| sources.iter().map(|_| None).collect())
}

/// A thread for its stack alone: it is joined at once, and a panic in the parser ends there.
fn with_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok()?;
        thread.join().ok()
    })
}

fn translate(source: &str, errors: &ParseErrors) -> Vec<ExprError> {
    let mut found: Vec<ExprError> = Vec::new();
    for error in &errors.errors {
        let start = offset(source, error.pos);
        // Past a mistake that is understood, the others follow from it.
        if found.iter().any(|other| start <= other.end || other.hint.is_some()) {
            continue;
        }
        found.push(describe(source, start, &error.msg));
    }
    found.truncate(MAX_REPORTED);
    if found.is_empty() {
        found.push(ExprError::new((0, source.len()), "the expression cannot be parsed"));
    }
    found
}

fn describe(source: &str, start: usize, message: &str) -> ExprError {
    let rest = source.get(start..).unwrap_or_default();
    if rest.trim().is_empty() {
        let end = source.trim_end().len();
        return ExprError::new((end, source.len().max(end)), "the expression ends too early");
    }
    let word = rest.bytes().take_while(|&byte| word_byte(byte)).count();
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let length = word.max(first);
    let token = rest.get(..length).unwrap_or_default();
    let span = (start, start + length);
    if message.starts_with("reserved identifier") {
        return ExprError::new(span, format!("`{token}` is a reserved word"));
    }
    if message.contains("nvalid") && !message.starts_with("Syntax") {
        return ExprError::new(span, "the literal is not valid");
    }
    let error = ExprError::new(span, format!("unexpected `{token}`"));
    match token {
        "=" => error.hint("equality is `==`"),
        "and" | "AND" | "&" => error.hint("conjunction is `&&`"),
        "or" | "OR" | "|" => error.hint("disjunction is `||`"),
        "not" | "NOT" => error.hint("negation is `!`"),
        "?" => error.hint("a choice is written `condition ? a : b`"),
        _ => error,
    }
}

/// The byte at a line and column, both from 1, columns in characters.
fn offset(source: &str, (line, column): (isize, isize)) -> usize {
    let (line, column) = (usize::try_from(line).unwrap_or(0), usize::try_from(column).unwrap_or(0));
    if line == 0 {
        return 0;
    }
    let before: usize = source.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let rest = source.get(before..).unwrap_or_default();
    let within = rest.char_indices().nth(column.saturating_sub(1));
    within.map_or(source.len(), |(at, _)| before + at)
}
