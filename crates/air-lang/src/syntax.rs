//! The lossless syntax tree: every byte of a file is in it, whatever the file holds.
//!
//! [`parser::parse`] builds it; [`view`] reads it clause by clause.

pub mod keyword;
mod line;
pub(crate) mod parser;
pub(crate) mod view;

use rowan::Language;

/// What a node or token of the tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum SyntaxKind {
    /// Token: the byte order mark at the start of the file.
    Bom,
    /// Token: blanks before the first word of a line.
    Indent,
    /// Token: blanks within or at the end of a line.
    Blank,
    /// Token: the word that opens a clause.
    Keyword,
    /// Token: a word in the place of a keyword that is none.
    Misspelled,
    /// Token: a clause's argument, or one line of its body.
    Text,
    /// Token: from `#` to the end of the line.
    Comment,
    /// Token: the end of a line.
    Newline,
    /// Token: lines that hold nothing but blanks.
    BlankLines,
    /// Token: lines outside of any rule.
    Stray,
    /// Node: a keyword with its argument and body.
    Clause,
    /// Node: clauses from `rule` to `end`.
    Rule,
    /// Node: the file.
    Root,
}

impl SyntaxKind {
    const ALL: [Self; 13] = [
        Self::Bom,
        Self::Indent,
        Self::Blank,
        Self::Keyword,
        Self::Misspelled,
        Self::Text,
        Self::Comment,
        Self::Newline,
        Self::BlankLines,
        Self::Stray,
        Self::Clause,
        Self::Rule,
        Self::Root,
    ];
}

impl From<SyntaxKind> for rowan::SyntaxKind {
    fn from(kind: SyntaxKind) -> Self {
        Self(kind as u16)
    }
}

/// The rule language, for `rowan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleLanguage {}

impl Language for RuleLanguage {
    type Kind = SyntaxKind;

    fn kind_from_raw(raw: rowan::SyntaxKind) -> SyntaxKind {
        SyntaxKind::ALL.get(usize::from(raw.0)).copied().unwrap_or(SyntaxKind::Stray)
    }

    fn kind_to_raw(kind: SyntaxKind) -> rowan::SyntaxKind {
        kind.into()
    }
}

/// A node of the tree.
pub type SyntaxNode = rowan::SyntaxNode<RuleLanguage>;
