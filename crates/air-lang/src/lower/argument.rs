//! Arguments of clauses: names, lists, severities.

use std::{ops::Range, sync::Arc};

use air_core::{
    id::IncidentId,
    rule::{Severity, Trigger},
};

use super::empty;
use crate::{
    diagnostic::{Code, Edit, Sink, quoted},
    syntax::{
        keyword::{Keyword, nearest, only_near},
        view::{Clause, Piece},
    },
};

/// The name of a rule, with its `@`.
pub(super) fn name<'s>(header: &Clause<'s>, sink: &mut Sink) -> Option<Piece<'s>> {
    let Some(argument) = header.argument else {
        empty(header, Keyword::Rule, sink);
        return None;
    };
    if argument.text.strip_prefix('@').is_some_and(is_name) {
        return Some(argument);
    }
    let mended = mended(argument.text);
    let hint = format!(
        "a name is `@`, a letter or `_`, then letters, digits, `_`, `.` and `-`{}",
        mended.map_or_else(String::new, |name| format!(": `@{name}`"))
    );
    let message = format!("bad rule name {}", quoted(argument.text));
    let only_the_sign = is_name(argument.text);
    let fix = only_the_sign.then(|| Edit::new(argument.start..argument.start, "@"));
    sink.error(Code::BadName, argument.span(), message, hint).fix(fix);
    None
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// The name that was probably meant.
fn mended(text: &str) -> Option<String> {
    let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' };
    let name: String =
        text.trim_matches(|c: char| !c.is_ascii_alphanumeric()).chars().map(kept).collect();
    (name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.len() <= 60).then_some(name)
}

pub(super) fn severity(clause: &Clause<'_>, sink: &mut Sink) -> Option<Severity> {
    const ALL: [Severity; 4] =
        [Severity::Low, Severity::Medium, Severity::High, Severity::Critical];
    let Some(argument) = clause.argument else {
        empty(clause, Keyword::Severity, sink);
        return None;
    };
    let found = ALL.into_iter().find(|severity| severity.keyword() == argument.text);
    if found.is_none() {
        let hint = match nearest(&argument.text.to_lowercase(), ALL, Severity::keyword) {
            Some(severity) => format!("did you mean `{}`?", severity.keyword()),
            None => "severities are `low`, `medium`, `high` and `critical`".to_owned(),
        };
        let message = format!("unknown severity {}", quoted(argument.text));
        let only = only_near(&argument.text.to_lowercase(), ALL, Severity::keyword);
        let fix = only.map(|severity| Edit::new(argument.span(), severity.keyword()));
        sink.error(Code::UnknownSeverity, argument.span(), message, hint).fix(fix);
    }
    found
}

pub(super) fn trigger(clause: &Clause<'_>, sink: &mut Sink) -> Trigger {
    Trigger::new(list(clause, Keyword::Trigger, sink))
}

/// Words with commas between.
pub(super) fn list(clause: &Clause<'_>, keyword: Keyword, sink: &mut Sink) -> Vec<Arc<str>> {
    let Some(argument) = clause.argument else {
        empty(clause, keyword, sink);
        return Vec::new();
    };
    let mut words = Vec::new();
    for (word, span) in items(argument) {
        if word.is_empty() {
            let message = format!("`{}` has a comma with nothing beside it", keyword.as_str());
            let left: Vec<&str> =
                items(argument).map(|(word, _)| word).filter(|word| !word.is_empty()).collect();
            let fix = Edit::new(argument.span(), left.join(", "));
            let added = sink.error(
                Code::BadArgument,
                argument.span(),
                message,
                "remove the comma".to_owned(),
            );
            added.fix((!left.is_empty()).then_some(fix));
        } else if word.contains(char::is_whitespace) {
            let joins = |part: &str| part == "and" || part == "or";
            let parts: Vec<&str> = word.split_whitespace().filter(|part| !joins(part)).collect();
            let hint = format!("put commas between: {}", quoted(&parts.join(", ")));
            let message = format!("{} is not one word", quoted(word));
            let fix = Edit::new(span.clone(), parts.join(", "));
            // Two names without a word between may be one that is mistyped.
            let joined = word.split_whitespace().any(joins) && !parts.is_empty();
            sink.error(Code::BadArgument, span, message, hint).fix(joined.then_some(fix));
        } else {
            words.push(word.into());
        }
    }
    words
}

/// The items of a list, trimmed, and where they are.
pub(crate) fn items(argument: Piece<'_>) -> impl Iterator<Item = (&str, Range<usize>)> {
    let mut at = argument.start;
    argument.text.split(',').map(move |item| {
        let start = at + item.len() - item.trim_start().len();
        at += item.len() + 1;
        (item.trim(), start..start + item.trim().len())
    })
}

pub(super) fn from(clause: &Clause<'_>, sink: &mut Sink) -> Option<IncidentId> {
    let Some(argument) = clause.argument else {
        empty(clause, Keyword::From, sink);
        return None;
    };
    let mut words = argument.text.split_whitespace();
    if let (Some("incident"), Some(id), None) = (words.next(), words.next(), words.next()) {
        return Some(id.into());
    }
    let message = format!("{} is not the name of an incident", quoted(argument.text));
    sink.error(Code::BadArgument, argument.span(), message, "write `from incident ID`".to_owned());
    None
}
