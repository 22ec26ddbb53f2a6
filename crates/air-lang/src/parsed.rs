//! A rule file, taken apart.

use std::{collections::HashMap, fmt::Write as _, ops::Range, str::Utf8Chunk};

use air_core::rule::Rule;
use rowan::GreenNode;

use crate::{
    diagnostic::{Code, Diagnostic, Severity, Sink, quoted},
    expr::parse::with_room,
    lower,
    syntax::{SyntaxKind, SyntaxNode, parser},
};

/// Larger files are refused unread. In bytes.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Bytes that are no text, past which a file is taken for something else than text.
const MOST_BAD_BYTES: usize = 100;

/// A rule file: its tree, its rules, and what is wrong with it.
#[derive(Debug, Clone)]
pub struct Parsed {
    tree: GreenNode,
    rules: Vec<Rule>,
    /// Where the name of each rule is.
    pub(crate) names: Vec<Range<usize>>,
    diagnostics: Vec<Diagnostic>,
    /// Too much was wrong for all of it to be kept.
    pub(crate) hopeless: bool,
}

impl Parsed {
    /// The tree; its text is the file.
    pub fn tree(&self) -> SyntaxNode {
        SyntaxNode::new_root(self.tree.clone())
    }

    /// The file's text. Bytes that are no text are `U+FFFD`; a file that was refused is empty.
    pub fn text(&self) -> String {
        self.tree.to_string()
    }

    /// The rules without an error, in the order of the file.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules without an error, in the order of the file.
    pub fn into_rules(self) -> Vec<Rule> {
        self.rules
    }

    /// What was found, in the order of the file.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether the file must not be loaded.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    fn refused(code: Code, message: String, hint: &str) -> Self {
        let mut sink = Sink::default();
        let tree = parser::parse("", &mut sink);
        sink.error(code, 0..0, message, hint.to_owned());
        Self {
            tree,
            rules: Vec::new(),
            names: Vec::new(),
            diagnostics: sink.finish(""),
            hopeless: true,
        }
    }
}

/// Takes a rule file apart. Never fails.
pub fn parse(source: &str) -> Parsed {
    match too_large(source.len()) {
        Some(refused) => refused,
        None => parse_into(source, Sink::default()),
    }
}

/// Takes a rule file apart that may not be UTF-8. Never fails.
pub fn parse_bytes(bytes: &[u8]) -> Parsed {
    if let Some(refused) = too_large(bytes.len()) {
        return refused;
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let message = "the file is UTF-16, not UTF-8".to_owned();
        return Parsed::refused(Code::InvalidUtf8, message, "save it as UTF-8");
    }
    let mut sink = Sink::default();
    let (mut source, mut bad) = (String::new(), 0);
    for chunk in bytes.utf8_chunks() {
        source.push_str(chunk.valid());
        if chunk.invalid().is_empty() {
            continue;
        }
        bad += 1;
        if bad > MOST_BAD_BYTES {
            let message = "the file is not text".to_owned();
            return Parsed::refused(Code::InvalidUtf8, message, "a rule file is UTF-8 text");
        }
        let at = source.len();
        source.push(char::REPLACEMENT_CHARACTER);
        let hint = "save the file as UTF-8, or retype this character".to_owned();
        sink.error(Code::InvalidUtf8, at..source.len(), named(&chunk), hint);
    }
    parse_into(&source, sink)
}

fn named(chunk: &Utf8Chunk<'_>) -> String {
    let bytes = chunk.invalid().iter().fold(String::new(), |mut bytes, byte| {
        // Writing to a string does not fail.
        let _ = write!(bytes, "{byte:02x}");
        bytes
    });
    format!("byte `0x{bytes}` is not UTF-8")
}

fn too_large(bytes: usize) -> Option<Parsed> {
    (bytes > MAX_FILE_BYTES).then(|| {
        let message =
            format!("the file has {} MiB, the limit is {} MiB", bytes >> 20, MAX_FILE_BYTES >> 20);
        Parsed::refused(
            Code::TooLarge,
            message,
            "split it into several files, or is it the wrong one?",
        )
    })
}

fn parse_into(source: &str, mut sink: Sink) -> Parsed {
    let tree = parser::parse(source, &mut sink);
    // Once for all of its conditions.
    let lowered = with_room(|| lower_all(&tree, source, sink.clone()));
    lowered.unwrap_or_else(|| lower_all(&tree, source, sink))
}

fn lower_all(tree: &GreenNode, source: &str, mut sink: Sink) -> Parsed {
    let mut lowered = Vec::new();
    let mut names = HashMap::new();
    for node in SyntaxNode::new_root(tree.clone()).children() {
        if node.kind() != SyntaxKind::Rule {
            continue;
        }
        let rule = lower::rule(&node, source, &mut sink);
        if let Some(name) = rule.name
            && let Some(first) = names.insert(name.text, name.start)
        {
            names.insert(name.text, first);
            let line = source.get(..first).map_or(0, |text| text.matches('\n').count()) + 1;
            let message = format!("{} is the name of another rule", quoted(name.text));
            let hint = format!("the other one is in line {line}; names are unique in a rule set");
            sink.error(Code::DuplicateName, name.span(), message, hint);
        }
        if let (Some(rule), Some(name)) = (rule.rule, rule.name) {
            lowered.push((node.text_range(), (rule, name.span())));
        }
    }
    let (errors, hopeless) = (sink.errors(), sink.is_full());
    let sound = |range: rowan::TextRange| {
        let first = errors.partition_point(|at| *at < usize::from(range.start()));
        !hopeless && errors.get(first).is_none_or(|at| *at >= usize::from(range.end()))
    };
    let rules = lowered.into_iter().filter(|(range, _)| sound(*range));
    let (rules, names) = rules.map(|(_, rule)| rule).unzip();
    let tree = tree.clone();
    Parsed { tree, rules, names, diagnostics: sink.finish(source), hopeless }
}
