//! Untrusted text, made harmless: bounded, visible, and unable to end the section that it is in.

use std::fmt::Write as _;

/// How much of a text is looked at before it is shortened, in bytes.
const LOOKED_AT: usize = 4 << 20;
/// A longer run of one character, or of one line, is counted instead of shown.
const MOST_REPEATED: usize = 48;
const MOST_REPEATED_LINES: usize = 4;

/// A text of which parts may have been left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Bounded {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    LeftOut(usize),
    Repeated(usize),
}

impl Bounded {
    /// `text` without secrets, with both of its ends and with repetitions counted, in `limit` bytes or
    /// little more.
    pub(crate) fn new(text: &str, limit: usize) -> Self {
        let mut bounded = Self::default();
        let (head, left_out, tail) = ends(text, LOOKED_AT);
        bounded.repeated(&air_core::redact::redact(head));
        if left_out > 0 {
            bounded.pieces.push(Piece::LeftOut(left_out));
            bounded.repeated(&air_core::redact::redact(tail));
        }
        bounded.within(limit)
    }

    /// Bytes of text that it shows.
    pub(super) fn len(&self) -> usize {
        let lengths = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::LeftOut(_) | Piece::Repeated(_) => 0,
        });
        lengths.sum()
    }

    /// Whether nothing was left out. What is merely repeated is not left out.
    pub(super) fn is_whole(&self) -> bool {
        !self.pieces.iter().any(|piece| matches!(piece, Piece::LeftOut(_)))
    }

    /// The same in `limit` bytes of text: both ends stay.
    pub(super) fn within(self, limit: usize) -> Self {
        let total = self.len();
        if total <= limit {
            return self;
        }
        let (head, tail_from) = (limit / 2, total - limit / 2);
        let (mut at, mut left_out) = (0, 0);
        let mut shorter = Self::default();
        for piece in self.pieces {
            let text = match piece {
                Piece::Text(text) => text,
                Piece::LeftOut(bytes) => {
                    left_out += bytes;
                    continue;
                }
                Piece::Repeated(times) => {
                    if left_out == 0 {
                        shorter.pieces.push(Piece::Repeated(times));
                    }
                    continue;
                }
            };
            let start = text.floor_char_boundary(head.saturating_sub(at));
            let end = text.ceil_char_boundary(tail_from.saturating_sub(at)).max(start);
            at += text.len();
            let (first, last) = (text.get(..start), text.get(end..));
            shorter.part(first.unwrap_or_default(), &mut left_out);
            left_out += end - start;
            shorter.part(last.unwrap_or_default(), &mut left_out);
        }
        if left_out > 0 {
            shorter.pieces.push(Piece::LeftOut(left_out));
        }
        shorter
    }

    /// More text, after what was left out before it.
    fn part(&mut self, text: &str, left_out: &mut usize) {
        if text.is_empty() {
            return;
        }
        if *left_out > 0 {
            self.pieces.push(Piece::LeftOut(std::mem::take(left_out)));
        }
        self.text(text);
    }

    /// What is sent. It holds neither the mark nor anything that opens a line of AIR's own, but for
    /// AIR's own.
    pub(crate) fn harmless(&self, mark: &str) -> String {
        let mut out = String::with_capacity(self.len() + 64);
        for piece in &self.pieces {
            let _ = match piece {
                Piece::Text(text) => write!(out, "{}", harmless(text, mark)),
                Piece::LeftOut(bytes) => write!(out, "\n[[air:left-out {mark} {bytes} bytes]]\n"),
                Piece::Repeated(times) => write!(out, " [[air:repeated {mark} {times} times]] "),
            };
        }
        out
    }

    /// Runs of one character and of one line are counted.
    fn repeated(&mut self, text: &str) {
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let mut times = 1;
            while lines.peek() == Some(&line) {
                lines.next();
                times += 1;
            }
            if times > MOST_REPEATED_LINES {
                self.line(line);
                self.pieces.push(Piece::Repeated(times));
            } else {
                (0..times).for_each(|_| self.line(line));
            }
        }
    }

    fn line(&mut self, line: &str) {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let run: usize =
                rest.chars().take_while(|next| *next == first).map(char::len_utf8).sum();
            let times = run / first.len_utf8();
            let (shown, after) = rest.split_at(run);
            if times > MOST_REPEATED {
                self.text(&shown.chars().take(4).collect::<String>());
                self.pieces.push(Piece::Repeated(times));
            } else {
                self.text(shown);
            }
            rest = after;
        }
    }

    fn text(&mut self, more: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push_str(more),
            _ => self.pieces.push(Piece::Text(more.to_owned())),
        }
    }
}

/// The two ends of `text`, `limit` bytes together at most, and how much lies between.
fn ends(text: &str, limit: usize) -> (&str, usize, &str) {
    if text.len() <= limit {
        return (text, 0, "");
    }
    let start = text.floor_char_boundary(limit / 2);
    let end = text.ceil_char_boundary(text.len() - limit / 2);
    let (head, tail) = (text.get(..start), text.get(end..));
    (head.unwrap_or_default(), end - start, tail.unwrap_or_default())
}

/// `text` with everything visible, without the mark, and without what opens a line of AIR's own.
pub(crate) fn harmless(text: &str, mark: &str) -> String {
    let text = without_mark(&visible(text), mark);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("[[") {
        let (before, from) = rest.split_at(at + 1);
        out.push_str(before);
        let inside = from.trim_start_matches(|c: char| !c.is_alphanumeric());
        let opens = inside.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("air"));
        if opens {
            out.push('\\');
        }
        rest = from;
    }
    out.push_str(rest);
    out
}

fn without_mark(text: &str, mark: &str) -> String {
    if mark.is_empty() {
        return text.to_owned();
    }
    // Letters of ASCII alone change, so that positions stay the same.
    let (folded, mark) = (text.to_ascii_lowercase(), mark.to_ascii_lowercase());
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in folded.match_indices(&mark) {
        out.push_str(text.get(from..at).unwrap_or_default());
        out.push_str("(mark)");
        from = at + found.len();
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// `text` with characters written out that are not seen, or that change the order of others.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.replace("\r\n", "\n").chars() {
        if is_hidden(letter) {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(letter));
        } else {
            out.push(letter);
        }
    }
    out
}

fn is_hidden(letter: char) -> bool {
    if matches!(letter, '\n' | '\t') {
        return false;
    }
    letter.is_control()
        || matches!(u32::from(letter),
            0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f
            | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x2800 | 0x3164
            | 0xe000..=0xf8ff | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
            | 0xe0000..=0xe0fff | 0xf0000..=0x0010_ffff)
}

#[cfg(test)]
mod tests;
