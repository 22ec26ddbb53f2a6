//! A word in parts: what is quoted, what is expanded. Linear in the word.

use std::{iter::Peekable, str::Chars};

use crate::escape;

/// Quotes and substitutions within each other are skipped this deep.
const MAX_DEPTH: usize = 24;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Text that stays as it is.
    Quoted(String),
    /// Text that may be a pattern.
    Plain(String),
    /// `$x`, `${x:-y}`: what is between the braces.
    Parameter { body: String, quoted: bool },
    /// `$(…)`, with the lines before it in the word.
    Command { source: String, quoted: bool, lines: usize },
    /// `$((…))`.
    Arithmetic(String),
    /// `<(…)`, `>(…)`.
    Process { source: String, reads: bool },
}

/// Where quotes count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// In a word of a command.
    Command,
    /// In a here-document.
    Document,
}

/// The parts of `word`; nothing where a quote or bracket is not closed.
pub(super) fn parts(word: &str, within: Within) -> Option<Vec<Part>> {
    let mut lexer = Lexer { word, at: 0, parts: Vec::new() };
    match within {
        Within::Command => lexer.unquoted()?,
        Within::Document => lexer.quoted(false)?,
    }
    Some(lexer.parts)
}

struct Lexer<'w> {
    word: &'w str,
    at: usize,
    parts: Vec<Part>,
}

impl<'w> Lexer<'w> {
    fn rest(&self) -> &'w str {
        self.word.get(self.at..).unwrap_or_default()
    }

    fn unquoted(&mut self) -> Option<()> {
        let mut plain = String::new();
        while let Some(c) = self.rest().chars().next() {
            let rest = self.rest();
            if !matches!(c, '\'' | '"' | '$' | '`' | '\\')
                && !rest.starts_with("<(")
                && !rest.starts_with(">(")
            {
                plain.push(c);
                self.at += c.len_utf8();
                continue;
            }
            if !plain.is_empty() {
                self.parts.push(Part::Plain(std::mem::take(&mut plain)));
            }
            match c {
                '\\' => {
                    self.at += 1;
                    if let Some(escaped) = self.rest().chars().next() {
                        self.at += escaped.len_utf8();
                        if escaped != '\n' {
                            self.parts.push(Part::Quoted(escaped.to_string()));
                        }
                    }
                }
                '\'' => {
                    let inner = rest.get(1..)?;
                    let end = inner.find('\'')?;
                    self.parts.push(Part::Quoted(inner.get(..end)?.to_owned()));
                    self.at += end + 2;
                }
                '"' => {
                    self.at += 1;
                    self.quoted(true)?;
                }
                '$' if rest.starts_with("$'") => {
                    let inner = rest.get(2..)?;
                    let end = ansi_end(inner)?;
                    self.parts.push(Part::Quoted(ansi_c(inner.get(..end)?)));
                    self.at += end + 3;
                }
                '$' if rest.starts_with("$\"") => {
                    self.at += 2;
                    self.quoted(true)?;
                }
                '<' | '>' => {
                    let end = closing(rest.get(2..)?, ')', 0)?;
                    let source = rest.get(2..2 + end)?.to_owned();
                    self.parts.push(Part::Process { source, reads: c == '<' });
                    self.at += end + 3;
                }
                _ => match self.expansion(false)? {
                    Some(part) => self.parts.push(part),
                    None => {
                        plain.push(c);
                        self.at += 1;
                    }
                },
            }
        }
        if !plain.is_empty() {
            self.parts.push(Part::Plain(plain));
        }
        Some(())
    }

    /// Up to the closing quote, or to the end of a here-document.
    fn quoted(&mut self, closed: bool) -> Option<()> {
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let Some(c) = rest.chars().next() else {
                if closed {
                    return None;
                }
                self.parts.push(Part::Quoted(text));
                return Some(());
            };
            match c {
                '"' if closed => {
                    self.at += 1;
                    self.parts.push(Part::Quoted(text));
                    return Some(());
                }
                '\\' => {
                    let next = rest.chars().nth(1);
                    self.at += 1 + next.map_or(0, char::len_utf8);
                    match next {
                        Some('\n') => {}
                        Some(escaped @ ('\\' | '$' | '`')) => text.push(escaped),
                        Some('"') if closed => text.push('"'),
                        other => {
                            text.push('\\');
                            text.extend(other);
                        }
                    }
                }
                '$' | '`' => match self.expansion(true)? {
                    Some(part) => {
                        self.parts.push(Part::Quoted(std::mem::take(&mut text)));
                        self.parts.push(part);
                    }
                    None => {
                        text.push(c);
                        self.at += 1;
                    }
                },
                c => {
                    text.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    /// What begins with `$` or a backquote here; nothing within where that stands for itself.
    #[expect(clippy::option_option, reason = "not closed, no expansion, and one are three answers")]
    fn expansion(&mut self, quoted: bool) -> Option<Option<Part>> {
        let rest = self.rest();
        let lines = self.word.get(..self.at)?.matches('\n').count();
        if let Some(inner) = rest.strip_prefix('`') {
            let end = backquote_end(inner)?;
            let source = unescape_backquoted(inner.get(..end)?, quoted);
            self.at += end + 2;
            return Some(Some(Part::Command { source, quoted, lines }));
        }
        if let Some(inner) = rest.strip_prefix("$((")
            && let Some(end) = closing(inner, ')', 0)
            && inner.get(end + 1..).is_some_and(|after| after.starts_with(')'))
        {
            let part = Part::Arithmetic(inner.get(..end)?.to_owned());
            self.at += end + 5;
            return Some(Some(part));
        }
        if let Some(inner) = rest.strip_prefix("$(") {
            let end = closing(inner, ')', 0)?;
            let source = inner.get(..end)?.to_owned();
            self.at += end + 3;
            return Some(Some(Part::Command { source, quoted, lines }));
        }
        if let Some(inner) = rest.strip_prefix("$[") {
            let end = inner.find(']')?;
            self.at += end + 3;
            return Some(Some(Part::Arithmetic(inner.get(..end)?.to_owned())));
        }
        if let Some(inner) = rest.strip_prefix("${") {
            let end = closing(inner, '}', 0)?;
            let body = inner.get(..end)?.to_owned();
            self.at += end + 3;
            return Some(Some(Part::Parameter { body, quoted }));
        }
        let inner = rest.get(1..)?;
        let first = inner.chars().next();
        let end = match first {
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len())
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => 1,
            _ => return Some(None),
        };
        let body = inner.get(..end)?.to_owned();
        self.at += end + 1;
        Some(Some(Part::Parameter { body, quoted }))
    }
}

/// Where `close` closes what was opened before `text`.
pub(super) fn closing(text: &str, close: char, depth: usize) -> Option<usize> {
    if depth > MAX_DEPTH {
        return None;
    }
    let open = if close == ')' { '(' } else { '{' };
    let mut nested = 0_usize;
    let mut at = 0;
    let mut word_start = true;
    while let Some(c) = text.get(at..)?.chars().next() {
        let rest = text.get(at..)?;
        let mut step = c.len_utf8();
        match c {
            '\\' => step += rest.chars().nth(1).map_or(0, char::len_utf8),
            '\'' if close == ')' || !in_double(text, at) => {
                step = rest.get(1..)?.find('\'')? + 2;
            }
            '"' => step = double_end(rest.get(1..)?, depth)? + 2,
            '`' => step = backquote_end(rest.get(1..)?)? + 2,
            '$' if rest.starts_with("$(") && close == '}' => {
                step = closing(rest.get(2..)?, ')', depth + 1)? + 3;
            }
            '$' if rest.starts_with("${") => {
                step = closing(rest.get(2..)?, '}', depth + 1)? + 3;
            }
            '#' if close == ')' && word_start => {
                step = rest.find('\n').unwrap_or(rest.len());
            }
            _ if c == close && nested == 0 => return Some(at),
            _ if c == close => nested -= 1,
            _ if c == open && close == ')' => nested += 1,
            _ => {}
        }
        word_start = c.is_whitespace() || ";|&(".contains(c);
        at += step;
    }
    None
}

/// Within `${…}`, a single quote without a partner stands for itself.
fn in_double(text: &str, at: usize) -> bool {
    text.get(at + 1..).is_none_or(|rest| !rest.contains('\''))
}

fn double_end(text: &str, depth: usize) -> Option<usize> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut at = 0;
    while let Some(c) = text.get(at..)?.chars().next() {
        let rest = text.get(at..)?;
        at += match c {
            '"' => return Some(at),
            '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            '`' => backquote_end(rest.get(1..)?)? + 2,
            '$' if rest.starts_with("$(") => closing(rest.get(2..)?, ')', depth + 1)? + 3,
            '$' if rest.starts_with("${") => closing(rest.get(2..)?, '}', depth + 1)? + 3,
            c => c.len_utf8(),
        };
    }
    None
}

fn backquote_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '`' if !escaped => return Some(at),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    None
}

fn unescape_backquoted(text: &str, quoted: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let escapes = |next: &char| matches!(next, '`' | '\\' | '$') || (quoted && *next == '"');
        match c {
            '\\' if rest.peek().is_some_and(escapes) => out.extend(rest.next()),
            c => out.push(c),
        }
    }
    out
}

fn ansi_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\'' if !escaped => return Some(at),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    None
}

/// `text` of `$'…'`, decoded.
pub(super) fn ansi_c(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest: Peekable<Chars> = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            decoded.push(c);
            continue;
        }
        let Some(letter) = rest.next() else { break };
        match letter {
            'e' | 'E' => decoded.push('\u{1b}'),
            _ => match escape::character(letter, &mut rest, true) {
                Some(character) => decoded.push(character),
                None => decoded.extend(['\\', letter]),
            },
        }
    }
    decoded
}

/// How deep substitutions lie within each other, at most, however quotes are read. A parser that
/// recurses must not see more than it can bear.
pub(super) fn nesting(source: &str) -> usize {
    let readings = [None, Some(' '), Some('\''), Some('"')];
    readings.into_iter().map(|start| depth(source, start)).max().unwrap_or_default()
}

/// With quotes ignored, or from within the quote `start`.
fn depth(source: &str, start: Option<char>) -> usize {
    let mut open: Vec<char> = start.filter(|quote| *quote != ' ').into_iter().collect();
    let mut most = 0;
    let mut before = ' ';
    let mut escaped = false;
    for c in source.chars() {
        let top = open.last().copied();
        if escaped {
            escaped = false;
        } else if top == Some('\'') {
            if c == '\'' {
                open.pop();
            }
        } else {
            match c {
                '\\' => escaped = true,
                '\'' if start.is_some() && top != Some('"') => open.push('\''),
                '"' if start.is_some() && top == Some('"') => drop(open.pop()),
                '"' if start.is_some() => open.push('"'),
                '`' if top == Some('`') => drop(open.pop()),
                '`' => open.push('`'),
                '(' if "$<>(@*+?!=".contains(before) || top == Some('(') => open.push('('),
                '{' if before == '$' => open.push('{'),
                ')' if top == Some('(') => drop(open.pop()),
                '}' if top == Some('{') => drop(open.pop()),
                // What is open at the end of a line of code without quotes was no bracket of its own.
                _ => {}
            }
        }
        before = c;
        most = most.max(open.len());
    }
    most
}
