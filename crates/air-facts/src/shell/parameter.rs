//! `$x`, `${x:-y}`, `${x%.*}` and their like.

use super::{
    eval::Shell,
    expand::unset,
    lex::{Within, ansi_c},
    pattern,
    state::Variable,
    word::{Word, merge},
};
use crate::collect::Collector;

impl Shell {
    /// The values of `${body}`, and whether each is a word of its own.
    pub(super) fn parameter(
        &mut self,
        body: &str,
        quoted: bool,
        at: u32,
        out: &mut Collector,
    ) -> (Vec<Word>, bool) {
        if body == "@" || body == "*" {
            let values = match self.variable(body, at, out) {
                Some(variable) => variable.values,
                None => vec![unset(body)],
            };
            return (values, body == "@" || !quoted);
        }
        if let Some(name) = body.strip_prefix('#').filter(|rest| !rest.is_empty()) {
            let (name, _) = name.split_once('[').unwrap_or((name, ""));
            let length = self.variable(name, at, out).and_then(|variable| {
                if variable.array {
                    Some(variable.values.len())
                } else {
                    Some(variable.values.first()?.text()?.chars().count())
                }
            });
            let word = length.map(|length| Word::literal(length.to_string()));
            return (vec![word.unwrap_or_else(|| Word::computed(format!("${{#{name}}}")))], false);
        }
        let (body, indirect) = match body.strip_prefix('!') {
            Some(rest) if !rest.is_empty() => (rest, true),
            _ => (body, false),
        };
        let (name, rest) = split_name(body);
        let (index, operation) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        {
            Some((index, operation)) => (Some(index), operation),
            None => (None, rest),
        };
        let mut found = self.variable(name, at, out);
        if indirect {
            let target = found.as_ref().and_then(|variable| variable.values.first()?.text());
            match target.map(ToOwned::to_owned) {
                Some(target) => found = self.variable(&target, at, out),
                None => return (vec![Word::computed(format!("${{!{name}}}"))], false),
            }
        }
        let (values, apart) = self.indexed(found, index, at, out);
        (self.operated(name, values, operation, at, out), apart)
    }

    /// The elements that an index names.
    fn indexed(
        &mut self,
        found: Option<Variable>,
        index: Option<&str>,
        at: u32,
        out: &mut Collector,
    ) -> (Option<Vec<Word>>, bool) {
        let Some(variable) = found else {
            self.arithmetic(index.unwrap_or_default(), at, out);
            return (None, false);
        };
        match index {
            Some("@") => (Some(variable.values), true),
            Some("*") => (Some(variable.values), false),
            None if !variable.array => (Some(variable.values), false),
            _ => {
                let index = self.arithmetic(index.unwrap_or("0"), at, out);
                let length = variable.values.len();
                let element = index.text().and_then(|text| {
                    let index = text.parse::<i64>().ok()?;
                    let length = i64::try_from(length).ok()?;
                    let from_start = if index < 0 { length + index } else { index };
                    variable.values.get(usize::try_from(from_start).ok()?).cloned()
                });
                let any = || {
                    let mut sources = Vec::new();
                    for value in &variable.values {
                        merge(&mut sources, value.sources().iter().cloned());
                    }
                    Word::computed(format!("${{{}}}", index.as_written())).from(sources)
                };
                (Some(vec![element.unwrap_or_else(any)]), false)
            }
        }
    }

    /// The values after `:-…`, `%…`, `/…/…` and their like.
    fn operated(
        &mut self,
        name: &str,
        values: Option<Vec<Word>>,
        operation: &str,
        at: u32,
        out: &mut Collector,
    ) -> Vec<Word> {
        if operation.starts_with("@P") {
            out.incomplete_at(at, format!("`${{{name}@P}}` runs what it holds"));
        }
        let absent = unset(name);
        let operator = operation.trim_start_matches(':');
        let mut rest = operator.chars();
        match (rest.next(), values) {
            (None, Some(values)) => values,
            (Some('-' | '=' | '?'), Some(values))
                if values.iter().any(|value| value.text() != Some("")) =>
            {
                let runs = operation.contains("$(") || operation.contains('`');
                if runs && values.iter().all(|value| value.text().is_some()) {
                    self.visited.dead(rest.as_str().to_owned());
                } else if runs {
                    self.word(rest.as_str(), Within::Command, at, out);
                }
                values
            }
            (Some(kind @ ('-' | '=')), values) => {
                let default = self.word(rest.as_str(), Within::Command, at, out);
                // An unset name, or number, may be set by whoever starts it.
                let numbered = name.bytes().all(|byte| byte.is_ascii_digit());
                if values.is_none() && (numbered || self.is_environment(name)) {
                    let either = Word::computed(format!("${{{name}}}"));
                    let sources = absent.sources().iter().chain(default.sources()).cloned();
                    let either = either.from(sources.collect::<Vec<_>>());
                    let kept = if default.as_written().is_empty() {
                        either
                    } else {
                        default.from(absent.sources().to_vec())
                    };
                    if kind == '=' {
                        self.state.set(name, kept.clone());
                    }
                    return vec![kept];
                }
                if kind == '=' {
                    self.state.set(name, default.clone());
                }
                vec![default]
            }
            (Some('+'), values) => {
                let other = self.word(rest.as_str(), Within::Command, at, out);
                let is_set = values
                    .is_some_and(|values| values.iter().any(|value| value.text() != Some("")));
                vec![if is_set || self.is_environment(name) { other } else { Word::literal("") }]
            }
            (_, None) => {
                self.word(operation, Within::Document, at, out);
                vec![absent]
            }
            (Some(_), Some(values)) => {
                let operator = if operation.starts_with(':') { operation } else { operator };
                values.iter().map(|value| self.changed(name, value, operator, at, out)).collect()
            }
        }
    }

    fn is_environment(&self, name: &str) -> bool {
        self.state.get(name).is_none() && !unset(name).sources().is_empty()
    }

    fn changed(
        &mut self,
        name: &str,
        value: &Word,
        operation: &str,
        at: u32,
        out: &mut Collector,
    ) -> Word {
        let unknown =
            || Word::computed(format!("${{{name}}}")).from(value.sources().iter().cloned());
        let Some(text) = value.text().map(ToOwned::to_owned) else {
            self.word(operation, Within::Document, at, out);
            return unknown();
        };
        let mut argument = |from: usize, shell: &mut Self| {
            let raw = operation.get(from..).unwrap_or_default();
            let word = shell.word(raw, Within::Command, at, out);
            word.text().map(ToOwned::to_owned)
        };
        let done = match operation.as_bytes() {
            [b'%', b'%', ..] => argument(2, self).map(|p| pattern::without(&text, &p, true, true)),
            [b'%', ..] => argument(1, self).map(|p| pattern::without(&text, &p, true, false)),
            [b'#', b'#', ..] => argument(2, self).map(|p| pattern::without(&text, &p, false, true)),
            [b'#', ..] => argument(1, self).map(|p| pattern::without(&text, &p, false, false)),
            [b'^', b'^', ..] | [b'@', b'U', ..] => Some(text.to_uppercase()),
            [b',', b',', ..] | [b'@', b'L', ..] => Some(text.to_lowercase()),
            [b'^' | b',', ..] => {
                let mut chars = text.chars();
                let first = chars.next().map(|c| {
                    if operation.starts_with('^') {
                        c.to_uppercase().to_string()
                    } else {
                        c.to_lowercase().to_string()
                    }
                });
                Some(first.unwrap_or_default() + chars.as_str())
            }
            [b'/', rest @ ..] => {
                let all = rest.first() == Some(&b'/');
                let skip = if all || matches!(rest.first(), Some(b'#' | b'%')) { 2 } else { 1 };
                let body = operation.get(skip..).unwrap_or_default();
                let (from, to) = replacement(body);
                let from = self.word(from, Within::Command, at, out);
                let to = self.word(to, Within::Command, at, out);
                from.text()
                    .zip(to.text())
                    .and_then(|(from, to)| pattern::replace(&text, from, to, all))
            }
            [b':', ..] => self.substring(&text, operation.get(1..).unwrap_or_default(), at, out),
            [b'@', b'E', ..] => Some(ansi_c(&text)),
            [b'@', ..] => Some(text.clone()),
            _ => None,
        };
        done.map_or_else(unknown, |done| value.part(done))
    }

    fn substring(
        &mut self,
        text: &str,
        range: &str,
        at: u32,
        out: &mut Collector,
    ) -> Option<String> {
        let (offset, length) = match range.split_once(':') {
            Some((offset, length)) => (offset, Some(length)),
            None => (range, None),
        };
        let mut number = |expr: &str| {
            let expr = expr.trim();
            let (expr, sign) = match expr.strip_prefix('-') {
                Some(rest) => (rest, -1),
                None => (expr, 1),
            };
            let value = self.arithmetic(expr, at, out);
            value.text()?.parse::<i64>().ok()?.checked_mul(sign)
        };
        let chars: Vec<char> = text.chars().collect();
        let count = i64::try_from(chars.len()).ok()?;
        let offset = number(offset)?;
        let start = if offset < 0 { count + offset } else { offset }.clamp(0, count);
        let end = match length {
            Some(length) => match number(length)? {
                length if length < 0 => count.checked_add(length)?,
                length => start.checked_add(length)?,
            },
            None => count,
        };
        let range = usize::try_from(start).ok()?..usize::try_from(end.clamp(start, count)).ok()?;
        Some(chars.get(range)?.iter().collect())
    }
}

/// What is replaced by what: at the first `/` that is neither quoted nor escaped.
fn replacement(body: &str) -> (&str, &str) {
    let (mut quote, mut escaped) = (None, false);
    for (at, letter) in body.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => escaped = true,
            (Some(open), letter) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '/') => {
                return (body.get(..at).unwrap_or(body), body.get(at + 1..).unwrap_or(""));
            }
            _ => {}
        }
    }
    (body, "")
}

fn split_name(body: &str) -> (&str, &str) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = match body.chars().next() {
        Some(c) if is_name(c) => body.find(|c| !is_name(c)).unwrap_or(body.len()),
        Some(c) => c.len_utf8(),
        None => 0,
    };
    body.split_at_checked(end).unwrap_or((body, ""))
}
