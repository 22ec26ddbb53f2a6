//! Characters that do not look like what they are.

use std::ops::Range;

use super::Lint;
use crate::{
    diagnostic::{Code, Severity, quoted},
    lower::items,
    syntax::{SyntaxKind, SyntaxNode, keyword::Keyword, view},
};

/// Hidden characters that are reported in one file.
const MOST: usize = 100;

/// Letters that look like Latin ones.
#[rustfmt::skip]
const LETTERS: &[(char, char)] = &[
    ('а', 'a'), ('в', 'b'), ('с', 'c'), ('ԁ', 'd'), ('е', 'e'), ('ё', 'e'), ('ɡ', 'g'), ('һ', 'h'), ('і', 'i'), ('ї', 'i'), ('ј', 'j'),
    ('к', 'k'), ('ӏ', 'l'), ('м', 'm'), ('п', 'n'), ('о', 'o'), ('р', 'p'), ('ԛ', 'q'), ('г', 'r'), ('ѕ', 's'), ('т', 't'), ('ц', 'u'),
    ('ѵ', 'v'), ('ԝ', 'w'), ('х', 'x'), ('у', 'y'), ('А', 'A'), ('В', 'B'), ('С', 'C'), ('Е', 'E'), ('Н', 'H'), ('І', 'I'), ('Ј', 'J'),
    ('К', 'K'), ('М', 'M'), ('О', 'O'), ('Р', 'P'), ('Ѕ', 'S'), ('Т', 'T'), ('Х', 'X'), ('У', 'Y'), ('α', 'a'), ('β', 'b'), ('ε', 'e'),
    ('ι', 'i'), ('κ', 'k'), ('ν', 'v'), ('ο', 'o'), ('ρ', 'p'), ('τ', 't'), ('υ', 'u'), ('χ', 'x'), ('γ', 'y'), ('Α', 'A'), ('Β', 'B'),
    ('Ε', 'E'), ('Ζ', 'Z'), ('Η', 'H'), ('Ι', 'I'), ('Κ', 'K'), ('Μ', 'M'), ('Ν', 'N'), ('Ο', 'O'), ('Ρ', 'P'), ('Τ', 'T'), ('Υ', 'Y'),
    ('Χ', 'X'), ('ı', 'i'), ('ⅼ', 'l'), ('ｏ', 'o'), ('＿', '_'), ('․', '.'), ('‐', '-'), ('‑', '-'), ('−', '-'), ('⁎', '*'), ('∗', '*'),
];

/// Looks at the keywords, names and tools of a file, and for what is not seen in all of it.
pub(super) fn look(tree: &SyntaxNode, lint: &mut Lint<'_>) {
    hidden(lint);
    if lint.source.is_ascii() {
        return;
    }
    for node in tree.children().filter(|node| node.kind() == SyntaxKind::Rule) {
        for clause in view::clauses(&node, lint.source) {
            look_alike(clause.word.text, clause.word.span(), lint);
            let Some(argument) = clause.argument else { continue };
            match clause.keyword {
                Some(Keyword::Rule) => look_alike(argument.text, argument.span(), lint),
                Some(Keyword::Trigger | Keyword::Tags) => {
                    for (item, span) in items(argument) {
                        look_alike(item, span, lint);
                    }
                }
                _ => {}
            }
        }
    }
}

fn look_alike(word: &str, span: Range<usize>, lint: &mut Lint<'_>) {
    if word.is_ascii() || word.len() > 256 {
        return;
    }
    let latin = |c: char| {
        let wide = u32::from(c).checked_sub(0xfee0).and_then(char::from_u32);
        let wide = wide.filter(char::is_ascii_alphanumeric);
        LETTERS.iter().find(|(other, _)| *other == c).map(|(_, latin)| *latin).or(wide)
    };
    let Some((odd, like)) = word.chars().find_map(|c| Some((c, latin(c)?))) else { return };
    let plain: String = word.chars().map(|c| latin(c).unwrap_or(c)).collect();
    // A word that is wholly of another script is no disguise.
    if !plain.is_ascii() && !word.contains(|c: char| c.is_ascii_alphabetic()) {
        return;
    }
    let message =
        format!("`{odd}` (U+{:04X}) in {} only looks like `{like}`", u32::from(odd), quoted(word));
    let hint = format!("retype it: {}", quoted(&plain));
    lint.add(Severity::Warning, Code::LookAlike, span, message, hint);
}

fn hidden(lint: &mut Lint<'_>) {
    let mut found: Vec<(usize, char)> = Vec::new();
    let mut before = '\u{feff}';
    let mut line = usize::MAX;
    let mut start = 0;
    for (at, c) in lint.source.char_indices() {
        if c == '\n' {
            start = at + 1;
        }
        // Joiners belong to some scripts and to emoji.
        let joins = matches!(c, '\u{200c}' | '\u{200d}') && !before.is_ascii();
        if is_hidden(c) && !joins && !(c == '\u{feff}' && at == 0) && line != start {
            found.push((at, c));
            line = start;
            if found.len() == MOST {
                break;
            }
        }
        before = c;
    }
    for (at, c) in found {
        let message = format!("a character that is not seen, U+{:04X}", u32::from(c));
        let hint = "remove it; in a condition write it as an escape, `\\u200b`";
        let span = at..at + c.len_utf8();
        lint.add(Severity::Warning, Code::HiddenCharacter, span, message, hint);
    }
}

fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
