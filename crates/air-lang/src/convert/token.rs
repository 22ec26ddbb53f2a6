//! Words, texts and signs of the dialect.

use std::ops::Range;

use crate::diagnostic::{Code, Sink};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or keyword, with the `@` of a rule's name.
    Word(String),
    /// A text in quotes, without them and with its escapes replaced.
    Text(String),
    Comment(String),
    And,
    Or,
    Not,
    Open,
    Close,
    /// `,` or `;`
    Comma,
    /// Anything else. It was reported.
    Wrong,
}

/// The tokens of `source`, each with where it is.
pub(super) fn tokens(source: &str, sink: &mut Sink) -> Vec<(Token, Range<usize>)> {
    let mut lexer = Lexer { source, at: 0, open: 0, sink };
    if source.starts_with('\u{feff}') {
        lexer.at = '\u{feff}'.len_utf8();
    }
    let mut found = Vec::new();
    while let Some(c) = lexer.peek() {
        let start = lexer.at;
        if c.is_whitespace() {
            lexer.at += c.len_utf8();
            continue;
        }
        let token = lexer.token(c);
        found.push((token, start..lexer.at));
    }
    found
}

/// Texts that are never closed, past which a file is not read on: each is looked for to its end.
const MOST_OPEN: usize = 16;

struct Lexer<'s, 'd> {
    source: &'s str,
    at: usize,
    open: usize,
    sink: &'d mut Sink,
}

impl<'s> Lexer<'s, '_> {
    fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Goes `bytes` on, and answers what was passed.
    fn take(&mut self, bytes: usize) -> &'s str {
        let taken = self.rest().get(..bytes).unwrap_or_else(|| self.rest());
        self.at += taken.len();
        taken
    }

    fn token(&mut self, first: char) -> Token {
        let rest = self.rest();
        let line = rest.find('\n').unwrap_or(rest.len());
        let signs = [
            ("&&", Token::And),
            ("||", Token::Or),
            ("!", Token::Not),
            ("(", Token::Open),
            (")", Token::Close),
            (",", Token::Comma),
            (";", Token::Comma),
        ];
        if rest.starts_with("//") || first == '#' {
            return Token::Comment(
                self.take(line).trim_start_matches(['/', '#']).trim().to_owned(),
            );
        }
        if rest.starts_with("/*") {
            return self.block_comment();
        }
        if let Some((sign, token)) = signs.into_iter().find(|(sign, _)| rest.starts_with(sign)) {
            self.take(sign.len());
            return token;
        }
        if first == '"' || first == '\'' {
            return self.text(first);
        }
        let of_word = |c: char| c.is_alphanumeric() || "_.-*@:/".contains(c);
        let end = rest.find(|c| !of_word(c)).unwrap_or(rest.len());
        if end > 0 {
            return Token::Word(self.take(end).to_owned());
        }
        let start = self.at;
        self.take(first.len_utf8());
        let message = format!("unexpected {}", super::shown(self.source, &(start..self.at)));
        let hint = "texts stand in quotes".to_owned();
        self.sink.error(Code::UnexpectedText, start..self.at, message, hint);
        Token::Wrong
    }

    fn block_comment(&mut self) -> Token {
        let start = self.at;
        let Some(end) = self.rest().find("*/") else {
            self.take(usize::MAX);
            let hint = "close it with `*/`".to_owned();
            self.sink.error(
                Code::UnexpectedText,
                start..start + 2,
                "a comment is not closed",
                hint,
            );
            return Token::Wrong;
        };
        let text = self.take(end + 2);
        let text = text.trim_start_matches("/*").trim_end_matches("*/").trim_matches('*');
        let lines = text.lines().map(|line| line.trim().trim_start_matches('*').trim());
        let lines: Vec<&str> = lines.collect();
        Token::Comment(lines.join("\n").trim_matches('\n').to_owned())
    }

    fn text(&mut self, quote: char) -> Token {
        let start = self.at;
        let triple: String = [quote; 3].iter().collect();
        let close = if self.rest().starts_with(&triple) { triple } else { quote.to_string() };
        self.take(close.len());
        let mut text = String::new();
        loop {
            let rest = self.rest();
            if rest.starts_with(&close) {
                self.take(close.len());
                return Token::Text(text);
            }
            let Some(c) = rest.chars().next() else { break };
            self.take(c.len_utf8());
            if c == '\\' {
                self.escape(&mut text);
            } else {
                text.push(c);
            }
        }
        // All that follows would be text: the line of the quote is the best guess.
        self.open += 1;
        let line = self.source.get(start..).and_then(|rest| rest.find('\n'));
        let line = line.filter(|_| self.open < MOST_OPEN);
        self.at = line.map_or(self.source.len(), |line| start + line);
        let hint = "end it with the quote that it began with".to_owned();
        self.sink.error(Code::UnexpectedText, start..start + 1, "a text is never closed", hint);
        Token::Wrong
    }

    fn escape(&mut self, text: &mut String) {
        let Some(c) = self.peek() else { return };
        let digits = match c {
            'u' => 4,
            'U' => 8,
            'x' => 2,
            _ => 0,
        };
        let number = self.rest().get(1..=digits).filter(|_| digits > 0);
        let number = number.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if let Some(escaped) = number.and_then(char::from_u32) {
            text.push(escaped);
            self.take(1 + digits);
            return;
        }
        self.take(c.len_utf8());
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            // The line goes on.
            '\n' => {}
            '"' | '\'' | '\\' | '/' => text.push(c),
            // No escape: it was meant as it stands.
            other => text.extend(['\\', other]),
        }
    }
}
