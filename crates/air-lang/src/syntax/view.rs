//! The tree as clauses.

use std::ops::Range;

use super::{SyntaxKind, SyntaxNode, keyword::Keyword};

/// A piece of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'s> {
    pub(crate) text: &'s str,
    pub(crate) start: usize,
}

impl<'s> Piece<'s> {
    fn of(source: &'s str, range: rowan::TextRange) -> Self {
        let start = usize::from(range.start());
        Self { text: source.get(start..usize::from(range.end())).unwrap_or(""), start }
    }

    pub(crate) fn span(&self) -> Range<usize> {
        self.start..self.end()
    }

    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// A line of a clause's body.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'s> {
    Text { indent: &'s str, piece: Piece<'s> },
    Comment { indent: &'s str, piece: Piece<'s> },
    Blank,
}

/// A clause.
#[derive(Debug)]
pub(crate) struct Clause<'s> {
    /// What it is, also when it is misspelled.
    pub(crate) keyword: Option<Keyword>,
    /// Its first word.
    pub(crate) word: Piece<'s>,
    pub(crate) indent: &'s str,
    /// What follows the keyword on its line.
    pub(crate) argument: Option<Piece<'s>>,
    /// The comment at the end of its line.
    pub(crate) comment: Option<Piece<'s>>,
    pub(crate) body: Vec<Item<'s>>,
}

impl<'s> Clause<'s> {
    fn new(node: &SyntaxNode, source: &'s str) -> Self {
        let mut clause = Self {
            keyword: None,
            word: Piece { text: "", start: usize::from(node.text_range().start()) },
            indent: "",
            argument: None,
            comment: None,
            body: Vec::new(),
        };
        let (mut indent, mut first) = ("", true);
        for element in node.children_with_tokens() {
            let piece = Piece::of(source, element.text_range());
            match element.kind() {
                SyntaxKind::Indent => indent = piece.text,
                SyntaxKind::Keyword => {
                    clause.keyword = Keyword::exact(piece.text);
                    (clause.word, clause.indent) = (piece, indent);
                }
                SyntaxKind::Misspelled => {
                    clause.keyword = Keyword::guess(piece.text);
                    (clause.word, clause.indent) = (piece, indent);
                }
                SyntaxKind::Text if first => clause.argument = Some(piece),
                SyntaxKind::Comment if first => clause.comment = Some(piece),
                SyntaxKind::Text => clause.body.push(Item::Text { indent, piece }),
                SyntaxKind::Comment => clause.body.push(Item::Comment { indent, piece }),
                SyntaxKind::BlankLines => {
                    clause.body.extend(piece.text.lines().map(|_| Item::Blank));
                }
                SyntaxKind::Newline => (indent, first) = ("", false),
                _ => {}
            }
        }
        clause
    }

    /// The lines of text in its body.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&'s str, Piece<'s>)> {
        self.body.iter().filter_map(|item| match *item {
            Item::Text { indent, piece } => Some((indent, piece)),
            Item::Comment { .. } | Item::Blank => None,
        })
    }

    /// From the first to the last byte of what it holds, if it holds anything.
    pub(crate) fn content(&self) -> Option<Range<usize>> {
        let first = self.argument.or_else(|| self.lines().next().map(|(_, piece)| piece))?;
        let last = self.lines().last().map_or(first, |(_, piece)| piece);
        Some(first.start..last.end())
    }

    /// Whether `other` holds the same, apart from how it is laid out.
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        let argument = |clause: &Self| clause.argument.map(|piece| piece.text.to_owned());
        let comments = |clause: &Self| {
            clause.comment.is_some()
                || clause.body.iter().any(|item| matches!(item, Item::Comment { .. }))
        };
        argument(self) == argument(other)
            && self.free_text() == other.free_text()
            && !comments(self)
            && !comments(other)
    }

    /// The lines that it takes, whole.
    pub(crate) fn lines_of(&self, source: &str) -> Range<usize> {
        let argument = self.argument.map_or(0, |piece| piece.end());
        let content = self.content().map_or(0, |range| range.end);
        let last = self.word.end().max(argument).max(content);
        let rest = source.get(last..).unwrap_or_default();
        let end = rest.find('\n').map_or(source.len(), |newline| last + newline + 1);
        self.word.start.saturating_sub(self.indent.len())..end
    }

    /// What it holds as one text of the same length, with comments blanked out, and where it starts.
    pub(crate) fn expression(&self, source: &str) -> Option<(String, usize)> {
        let range = self.content()?;
        let mut text = source.get(range.clone())?.to_owned();
        for item in &self.body {
            if let Item::Comment { piece, .. } = item
                && piece.end() <= range.end
                && piece.start >= range.start
            {
                let within = piece.start - range.start..piece.end() - range.start;
                text.replace_range(within, &" ".repeat(piece.text.len()));
            }
        }
        Some((text, range.start))
    }

    /// The indentation that all lines of its body share.
    pub(crate) fn body_indent(&self) -> &'s str {
        let mut lines = self.lines().map(|(indent, _)| indent);
        let first = lines.next().unwrap_or("");
        lines.fold(first, |shared, indent| {
            let common = shared.bytes().zip(indent.bytes()).take_while(|(a, b)| a == b).count();
            shared.get(..common).unwrap_or("")
        })
    }

    /// What it holds as free text: its lines unindented, comments left out.
    pub(crate) fn free_text(&self) -> String {
        let shared = self.body_indent();
        let mut lines: Vec<String> =
            self.argument.iter().map(|piece| piece.text.to_owned()).collect();
        for item in &self.body {
            match item {
                Item::Text { indent, piece } => {
                    let indent = indent.strip_prefix(shared).unwrap_or("");
                    lines.push(format!("{indent}{}", piece.text));
                }
                Item::Blank => lines.push(String::new()),
                Item::Comment { .. } => {}
            }
        }
        lines.join("\n").trim_matches('\n').to_owned()
    }
}

/// The clauses of a rule. The first is its `rule` line.
pub(crate) fn clauses<'s>(rule: &SyntaxNode, source: &'s str) -> Vec<Clause<'s>> {
    rule.children().map(|node| Clause::new(&node, source)).collect()
}
