//! A look at the text before the parser sees it: the bounds that keep the parser safe, and where
//! each bracket ends.
//!
//! The parser recurses once per bracket, operator and selector, so their depth is bounded here.

use std::collections::BTreeMap;

use super::ExprError;

/// Longest expression, in bytes.
pub(super) const MAX_SOURCE: usize = 16 * 1024;
/// Deepest nesting of brackets, operators and selectors together.
pub(super) const MAX_DEPTH: usize = 96;

/// What the look found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// From the byte of an opening bracket to the byte after its closing one.
    pub(super) pairs: BTreeMap<usize, usize>,
    /// Where a `||` stands that is in no bracket.
    pub(super) ors: Vec<usize>,
    /// Whether a `?` stands in no bracket, and so binds weaker than those.
    pub(super) is_ternary: bool,
    /// Whether line breaks mean something: there is a comment, or a text of several lines.
    pub(super) is_of_lines: bool,
}

/// One level of brackets.
#[derive(Default)]
struct Level {
    open: u8,
    at: usize,
    /// Operators, selectors and brackets since the last `&&`, `||` or `,`; the parser nests those.
    chain: usize,
    /// `?` since the last `,`; each nests the rest.
    ternaries: usize,
}

impl Level {
    fn depth(&self) -> usize {
        self.chain + self.ternaries
    }
}

/// Checks the bounds and pairs the brackets.
pub(super) fn scan(source: &str) -> Result<Scan, ExprError> {
    if source.len() > MAX_SOURCE {
        let message = format!("the expression is longer than {MAX_SOURCE} bytes");
        return Err(ExprError::new((0, source.len()), message));
    }
    if source.trim().is_empty() {
        return Err(ExprError::new((0, source.len()), "the expression is empty"));
    }
    let mut scan = Scan::default();
    Cursor { bytes: source.as_bytes(), at: 0 }.run(&mut scan, false)?;
    Ok(scan)
}

/// The byte of the `}` that closes an interpolation whose expression begins `text`.
pub(super) fn interpolation_end(text: &str) -> Option<usize> {
    Cursor { bytes: text.as_bytes(), at: 0 }.run(&mut Scan::default(), true).ok().flatten()
}

struct Cursor<'s> {
    bytes: &'s [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(&mut self, scan: &mut Scan, interpolation: bool) -> Result<Option<usize>, ExprError> {
        let mut levels = vec![Level::default()];
        while self.at < self.bytes.len() {
            let (at, byte, next) = (self.at, self.peek(0), self.peek(1));
            let depth: usize = levels.iter().map(Level::depth).sum();
            if depth > MAX_DEPTH {
                let message = format!("the expression nests deeper than {MAX_DEPTH}");
                return Err(ExprError::new((at, at + 1), message)
                    .hint("split it with `&&` or `||`, or into several rules"));
            }
            let outermost = levels.len() == 1;
            let Some(level) = levels.last_mut() else { return Ok(None) };
            self.at += 1;
            match byte {
                b'"' | b'\'' => {
                    scan.is_of_lines |= next == byte && self.peek(1) == byte;
                    self.text(at, byte, false)?;
                }
                b'`' => self.quoted(at)?,
                b'/' if next == b'/' => {
                    scan.is_of_lines = true;
                    self.skip_while(|byte| byte != b'\n');
                }
                b'(' | b'[' | b'{' => {
                    level.chain += 1;
                    levels.push(Level { open: byte, at, ..Level::default() });
                }
                b'}' if interpolation && outermost => return Ok(Some(at)),
                b')' | b']' | b'}' => {
                    let open = match byte {
                        b')' => b'(',
                        b']' => b'[',
                        _ => b'{',
                    };
                    if level.open != open {
                        let closing = char::from(byte);
                        let message = format!("`{closing}` closes nothing");
                        return Err(ExprError::new((at, at + 1), message));
                    }
                    scan.pairs.insert(level.at, self.at);
                    levels.pop();
                }
                b'&' | b'|' if next == byte => {
                    self.at += 1;
                    level.chain = 0;
                    if outermost && byte == b'|' {
                        scan.ors.push(at);
                    }
                }
                b',' => (level.chain, level.ternaries) = (0, 0),
                b'?' => {
                    level.ternaries += 1;
                    scan.is_ternary |= outermost;
                }
                b'=' | b'!' | b'<' | b'>' => {
                    // `!` and `!=` count alike; `==` counts once.
                    self.at += usize::from(next == b'=');
                    level.chain += 1;
                }
                b'.' | b'+' | b'-' | b'*' | b'/' | b'%' => level.chain += 1,
                _ if word_byte(byte) => self.word(at, level)?,
                _ => {}
            }
        }
        match levels.last() {
            Some(level) if level.open != 0 => {
                let message = format!("`{}` is never closed", char::from(level.open));
                Err(ExprError::new((level.at, level.at + 1), message))
            }
            _ => Ok(None),
        }
    }

    /// A name, a keyword, a number, or the prefix of a text.
    fn word(&mut self, start: usize, level: &mut Level) -> Result<(), ExprError> {
        self.skip_while(word_byte);
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        let quote = self.peek(0);
        let prefix = word.len() <= 2 && word.iter().all(|byte| b"rRbB".contains(byte));
        if prefix && matches!(quote, b'"' | b'\'') {
            let raw = word.iter().any(|byte| b"rR".contains(byte));
            self.at += 1;
            return self.text(start, quote, raw);
        }
        level.chain += usize::from(word == b"in");
        Ok(())
    }

    fn text(&mut self, start: usize, quote: u8, raw: bool) -> Result<(), ExprError> {
        let triple = self.peek(0) == quote && self.peek(1) == quote;
        self.at += if triple { 2 } else { 0 };
        while self.at < self.bytes.len() {
            let byte = self.peek(0);
            if byte == b'\\' && !raw {
                self.at += 2;
            } else if !triple && byte == quote {
                self.at += 1;
                return Ok(());
            } else if triple && byte == quote && self.peek(1) == quote && self.peek(2) == quote {
                self.at += 3;
                return Ok(());
            } else {
                self.at += 1;
            }
        }
        Err(ExprError::new((start, self.bytes.len()), "the text is never closed")
            .hint("end it with the quote that it began with"))
    }

    fn quoted(&mut self, start: usize) -> Result<(), ExprError> {
        self.skip_while(|byte| byte != b'`');
        if self.at >= self.bytes.len() {
            return Err(ExprError::new((start, self.at), "the quoted name is never closed"));
        }
        self.at += 1;
        Ok(())
    }

    fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|&byte| keep(byte)) {
            self.at += 1;
        }
    }
}

pub(super) fn word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
