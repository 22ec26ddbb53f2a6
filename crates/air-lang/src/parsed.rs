//! A rule file, taken apart.

use std::{collections::HashMap, fmt::Write as _, ops::Range, str::Utf8Chunk, sync::Arc};

use air_core::rule::Rule;
use rowan::GreenNode;

use crate::{
    diagnostic::{Code, Diagnostic, Edit, Severity, Sink, quoted},
    format,
    lower::{self, Lowered},
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
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) || is_wide(bytes) {
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

/// Whether every second byte is zero, as in UTF-16 without a mark.
fn is_wide(bytes: &[u8]) -> bool {
    let first = bytes.get(..64).unwrap_or(bytes);
    let zeros = |from: usize| first.iter().skip(from).step_by(2).all(|byte| *byte == 0);
    first.len() > 8 && zeros(0) != zeros(1)
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
    let mut lowered = Vec::new();
    let mut names = Names::default();
    for node in SyntaxNode::new_root(tree.clone()).children() {
        if node.kind() != SyntaxKind::Rule {
            continue;
        }
        let rule = lower::rule(&node, source, &mut sink);
        names.look(&node, &rule, source, &mut sink);
        if let (Some(rule), Some(name)) = (rule.rule, rule.name) {
            lowered.push((node.text_range(), (rule, name.span())));
        }
    }
    let (errors, hopeless) = (sink.errors(), sink.is_full());
    let sound = |range: rowan::TextRange| {
        let first = errors.partition_point(|at| *at < usize::from(range.start()));
        !hopeless && errors.get(first).is_none_or(|at| *at >= usize::from(range.end()))
    };
    let mut diagnostics = sink.finish(source);
    lay_out(&tree, source, &mut diagnostics, sound);
    let rules = lowered.into_iter().filter(|(range, _)| sound(*range));
    let (rules, names) = rules.map(|(_, rule)| rule).unzip();
    Parsed { tree, rules, names, diagnostics, hopeless }
}

/// The names of the rules so far.
#[derive(Default)]
struct Names<'s> {
    /// Each with its line, and its rule where that is sound.
    first: HashMap<&'s str, (usize, Option<Arc<str>>)>,
    /// Line breaks before byte `counted`, so that no byte is looked at twice.
    lines: usize,
    counted: usize,
}

impl<'s> Names<'s> {
    /// Reports a name that another rule has.
    fn look(&mut self, node: &SyntaxNode, rule: &Lowered<'s>, source: &str, sink: &mut Sink) {
        let Some(name) = rule.name else { return };
        let passed = source.get(self.counted..name.start).unwrap_or_default();
        self.lines += passed.matches('\n').count();
        self.counted = name.start;
        let text = rule.rule.as_ref().map(|rule| Arc::clone(&rule.source));
        let Some((line, first)) = self.first.get(name.text) else {
            self.first.insert(name.text, (self.lines + 1, text));
            return;
        };
        let message = format!("{} is the name of another rule", quoted(name.text));
        let hint = format!("the other one is in line {line}; names are unique in a rule set");
        let same = text.is_some() && text == *first;
        let range = usize::from(node.text_range().start())..usize::from(node.text_range().end());
        let added = sink.error(Code::DuplicateName, name.span(), message, hint);
        added.fix(same.then(|| Edit::new(range, "")));
    }
}

/// Says for each finding about the layout of a sound rule how the rule is laid out well.
fn lay_out(
    tree: &GreenNode,
    source: &str,
    diagnostics: &mut [Diagnostic],
    sound: impl Fn(rowan::TextRange) -> bool,
) {
    let layout = [Code::IndentedClause, Code::TextOnClauseLine];
    let mut found = diagnostics.iter_mut().filter(|it| layout.contains(&it.code)).peekable();
    if found.peek().is_none() {
        return;
    }
    let newline = format::newline(source);
    for node in SyntaxNode::new_root(tree.clone()).children() {
        let (start, end) =
            (usize::from(node.text_range().start()), usize::from(node.text_range().end()));
        let mut text: Option<Arc<str>> = None;
        while let Some(finding) = found.next_if(|it| it.span.start < end) {
            if finding.span.start < start || !sound(node.text_range()) {
                continue;
            }
            if text.is_none() {
                text = format::rule(&node, source, newline).map(Arc::from);
            }
            finding.fix.extend(text.clone().map(|text| Edit { span: start..end, text }));
        }
    }
}
