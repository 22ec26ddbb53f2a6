//! Backslash escapes that Python and the shell share.

use std::{iter::Peekable, str::Chars};

/// The character that `letter` stands for after a backslash; it may take digits from `rest`.
/// `None` where it is no escape. `unicode` says whether `\u` and `\U` are.
pub(crate) fn character(letter: char, rest: &mut Peekable<Chars>, unicode: bool) -> Option<char> {
    Some(match letter {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '0'..='7' => digits(letter.to_digit(8).unwrap_or_default(), rest, 8, 2),
        'x' => digits(0, rest, 16, 2),
        'u' if unicode => digits(0, rest, 16, 4),
        'U' if unicode => digits(0, rest, 16, 8),
        '\\' | '\'' | '"' => letter,
        _ => return None,
    })
}

fn digits(first: u32, rest: &mut Peekable<Chars>, radix: u32, most: usize) -> char {
    let mut value = first;
    for _ in 0..most {
        let Some(digit) = rest.peek().and_then(|c| c.to_digit(radix)) else { break };
        value = value.saturating_mul(radix).saturating_add(digit);
        rest.next();
    }
    char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
}
