//! The actions of `respond`: one a line; a deeper line goes on with the one before.

use std::{ops::Range, sync::Arc};

use air_core::rule::ResponseAction;

use crate::{
    diagnostic::{Added, Code, Edit, Sink, quoted},
    expr::{self, Moment},
    lower::{condition_error, empty},
    syntax::{
        keyword::{Keyword, nearest, only_near},
        view::{Clause, Item, Piece},
    },
};

const ACTIONS: [&str; 8] =
    ["kill", "isolate", "quarantine", "rollback", "restart", "repair", "call", "contain"];

/// The actions of a `respond` clause that are whole, in order.
pub(crate) fn actions(clause: &Clause<'_>, source: &str, sink: &mut Sink) -> Vec<ResponseAction> {
    let lines = logical_lines(clause);
    if lines.is_empty() {
        empty(clause, Keyword::Respond, sink);
    }
    let mut actions = Vec::new();
    for range in lines {
        let Some((text, start)) = blanked(clause, range, source) else { continue };
        let mut action = Action { text: &text, start, source, sink };
        actions.extend(action.parse());
    }
    actions
}

/// The byte range of each action.
pub(crate) fn logical_lines(clause: &Clause<'_>) -> Vec<Range<usize>> {
    let mut lines: Vec<Range<usize>> = clause.argument.iter().map(Piece::span).collect();
    let mut base = None;
    for (indent, piece) in clause.lines() {
        let base = *base.get_or_insert(indent.len());
        // No action starts with a brace, so its own indentation will do for the last one.
        let goes_on = indent.len() > base || piece.text.starts_with('}');
        match lines.last_mut().filter(|_| goes_on) {
            Some(line) => line.end = piece.end(),
            None => lines.push(piece.span()),
        }
    }
    lines
}

/// An action as one text of the same length, with comments blanked out.
fn blanked(clause: &Clause<'_>, range: Range<usize>, source: &str) -> Option<(String, usize)> {
    let mut text = source.get(range.clone())?.to_owned();
    for item in &clause.body {
        if let Item::Comment { piece, .. } = item
            && range.start <= piece.start
            && piece.end() <= range.end
        {
            let within = piece.start - range.start..piece.end() - range.start;
            text.replace_range(within, &" ".repeat(piece.text.len()));
        }
    }
    Some((text, range.start))
}

struct Action<'a> {
    text: &'a str,
    /// Where it starts in the file.
    start: usize,
    source: &'a str,
    sink: &'a mut Sink,
}

impl Action<'_> {
    fn parse(&mut self) -> Option<ResponseAction> {
        let (word, rest) = word(self.text);
        let simple = match word {
            "kill" => ResponseAction::Kill,
            "isolate" => ResponseAction::Isolate,
            "quarantine" => ResponseAction::Quarantine,
            "rollback" => ResponseAction::Rollback,
            "restart" => ResponseAction::Restart,
            "repair" => ResponseAction::Repair,
            "call" => return self.call(rest, false),
            "contain" => {
                let after = rest.trim_start();
                let ("call", rest) = self::word(after) else {
                    self.bad(
                        after,
                        "`contain` is not followed by `call`",
                        "write `contain call TOOL {…}`",
                    );
                    return None;
                };
                return self.call(rest, true);
            }
            _ => {
                let hint = match nearest(word, ACTIONS, |action| action) {
                    Some(action) => format!("did you mean `{action}`?"),
                    None => "actions are `kill`, `isolate`, `quarantine`, `rollback`, `restart`, `repair`, `call TOOL {…}` and `contain call TOOL {…}`".to_owned(),
                };
                let only = only_near(word, ACTIONS, |action| action);
                let only =
                    only.filter(|it| *it != "contain" && *it != "call" && rest.trim().is_empty());
                let fix = only.map(|action| Edit::new(self.span(word), action));
                self.bad(word, &format!("unknown action {}", quoted(word)), &hint).fix(fix);
                return None;
            }
        };
        if rest.trim().is_empty() {
            return Some(simple);
        }
        self.bad(rest.trim(), &format!("`{word}` takes no argument"), "one action a line");
        None
    }

    fn call(&mut self, rest: &str, contains: bool) -> Option<ResponseAction> {
        const FORM: &str = "write `call TOOL {\"argument\": \"value or ${expression}\"}`";
        let rest = rest.trim_start();
        let end = rest.find(|c: char| c.is_whitespace() || c == '{').unwrap_or(rest.len());
        let (tool, rest) = rest.split_at_checked(end)?;
        if tool.is_empty() {
            self.bad(rest, "`call` names no tool", FORM);
            return None;
        }
        let rest = rest.trim_start();
        if !rest.starts_with('{') {
            let at = if rest.is_empty() { tool } else { rest };
            self.bad(at, &format!("the arguments of {} are missing", quoted(tool)), FORM);
            return None;
        }
        let Some((json, rest)) = object_end(rest).and_then(|end| rest.split_at_checked(end)) else {
            self.bad(rest, "the arguments have no closing `}`", FORM);
            return None;
        };
        let each = match rest.trim() {
            "" => None,
            rest => Some(self.each(rest)?),
        };
        match expr::compile_call(json, each, Moment::After) {
            Ok(template) => {
                Some(ResponseAction::Call { tool: Arc::from(tool), template, contains })
            }
            Err(errors) => {
                for error in errors {
                    let part =
                        if error.in_loop { each.map_or(json, |(_, list)| list) } else { json };
                    let span = self.span(part);
                    condition_error(error, span.start, span.len(), self.source, self.sink);
                }
                None
            }
        }
    }

    /// `for x in EXPR`.
    fn each<'t>(&mut self, rest: &'t str) -> Option<(&'t str, &'t str)> {
        let form = || {
            let (keyword, rest) = word(rest);
            let (variable, rest) = word(rest.trim_start());
            let (preposition, list) = word(rest.trim_start());
            let letters = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            (keyword == "for" && preposition == "in" && letters && !list.trim().is_empty())
                .then_some((variable, list.trim()))
        };
        let each = form();
        if each.is_none() {
            let message = format!("{} after the arguments", quoted(rest));
            self.bad(rest, &message, "only `for x in EXPRESSION` may follow");
        }
        each
    }

    /// Where `part`, a piece of the action's text, is in the file.
    fn span(&self, part: &str) -> Range<usize> {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let start = self.start + offset.min(self.text.len());
        start..start + part.len()
    }

    fn bad(&mut self, part: &str, message: &str, hint: &str) -> Added<'_> {
        // An empty part is at the end of the action; the whole of it is easier to see.
        let part = if part.is_empty() { self.text } else { part };
        self.sink.error(Code::BadAction, self.span(part), message, hint.to_owned())
    }
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// Where the object at the start of `text` ends: braces count outside of strings.
fn object_end(text: &str) -> Option<usize> {
    let (mut depth, mut string, mut escaped) = (0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if string => escaped = true,
            '"' => string = !string,
            '{' if !string => depth += 1,
            '}' if !string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
