//! Lays a rule file out. Changes blanks and line breaks only, and never what a rule means.
//!
//! A rule with an error stays as it is, byte for byte: what was meant is not known.

use rowan::NodeOrToken;

use crate::{
    diagnostic::Severity,
    parsed::Parsed,
    respond::logical_lines,
    syntax::{
        SyntaxKind, SyntaxNode,
        keyword::{Keyword, Shape},
        view::{self, Clause, Item},
    },
};

/// The file with clauses at the left margin, text indented by two, and one blank line between rules.
///
/// Formatting what was formatted changes nothing.
pub fn format(parsed: &Parsed) -> String {
    let source = parsed.text();
    if parsed.hopeless {
        return source;
    }
    let newline = newline(&source);
    let errors = parsed.diagnostics().iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<usize> = errors.map(|found| found.span.start).collect();
    let mut writer = Writer { out: String::with_capacity(source.len()), newline, gap: Gap::None };
    for element in parsed.tree().children_with_tokens() {
        let range = element.text_range();
        let (start, end) = (usize::from(range.start()), usize::from(range.end()));
        let text = source.get(start..end).unwrap_or("");
        match element {
            NodeOrToken::Node(node) => {
                let first = errors.partition_point(|at| *at < start);
                let broken = errors.get(first).is_some_and(|at| *at < end);
                match (broken, layout(&node, &source)) {
                    (false, Some(clauses)) => writer.rule(&clauses),
                    _ => writer.verbatim(text),
                }
                writer.gap = Gap::Rule;
            }
            NodeOrToken::Token(token) => match token.kind() {
                SyntaxKind::Comment => {
                    writer.line("", text);
                    writer.gap = Gap::None;
                }
                SyntaxKind::BlankLines => writer.gap = writer.gap.max(Gap::Blank),
                SyntaxKind::Stray => {
                    writer.verbatim(text);
                    writer.gap = Gap::None;
                }
                _ => {}
            },
        }
    }
    writer.out
}

/// How lines end. Only a file that never does otherwise has carriage returns: its parts may stay as
/// they are.
pub(crate) fn newline(source: &str) -> &'static str {
    let carriage = source.contains('\n')
        && source.split_inclusive('\n').all(|l| !l.ends_with('\n') || l.ends_with("\r\n"));
    if carriage { "\r\n" } else { "\n" }
}

/// One rule, laid out; none where it has to stay as it is.
pub(crate) fn rule(node: &SyntaxNode, source: &str, newline: &'static str) -> Option<String> {
    let clauses = layout(node, source)?;
    let mut writer = Writer { out: String::new(), newline, gap: Gap::None };
    writer.rule(&clauses);
    Some(writer.out)
}

/// The clauses of a rule that can be laid out anew. Not where an expression holds a string over
/// several lines, whose blanks count.
fn layout<'s>(node: &SyntaxNode, source: &'s str) -> Option<Vec<Clause<'s>>> {
    let clauses = view::clauses(node, source);
    let literal = |clause: &Clause<'_>| {
        let text = clause.content().and_then(|range| source.get(range)).unwrap_or("");
        matches!(clause.keyword.map(Keyword::shape), Some(Shape::Condition | Shape::Actions))
            && (text.contains("'''") || text.contains("\"\"\""))
    };
    (!clauses.iter().any(literal)).then_some(clauses)
}

/// What stands between the last line and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    /// A blank line that the user put there.
    Blank,
    /// The blank line after a rule.
    Rule,
}

struct Writer {
    out: String,
    newline: &'static str,
    gap: Gap,
}

impl Writer {
    fn line(&mut self, indent: &str, text: &str) {
        self.fill();
        if !text.is_empty() {
            self.out.push_str(indent);
            self.out.push_str(text);
        }
        self.out.push_str(self.newline);
    }

    /// The blank line that is due.
    fn fill(&mut self) {
        if self.gap != Gap::None && !self.out.is_empty() {
            self.out.push_str(self.newline);
        }
        self.gap = Gap::None;
    }

    fn verbatim(&mut self, text: &str) {
        self.fill();
        self.out.push_str(text);
        if !text.ends_with('\n') {
            self.out.push_str(self.newline);
        }
    }

    fn rule(&mut self, clauses: &[Clause<'_>]) {
        for clause in clauses {
            self.clause(clause);
        }
    }

    fn clause(&mut self, clause: &Clause<'_>) {
        let Some(keyword) = clause.keyword else { return };
        let word = keyword.as_str();
        let mut head = word.to_owned();
        let mut below: Option<&str> = None;
        let argument = clause.argument.map(|piece| piece.text);
        match (keyword.shape(), argument) {
            (Shape::Argument, Some(text)) => {
                head = format!("{word} {}", argument_text(keyword, text));
            }
            (Shape::Condition, Some(text)) => head = format!("{word} {text}"),
            (_, text) => below = text,
        }
        if let Some(comment) = clause.comment {
            head = format!("{head}  {}", comment.text);
        }
        self.line("", &head);
        if let Some(text) = below {
            self.line("  ", text);
        }
        self.body(clause, keyword);
    }

    fn body(&mut self, clause: &Clause<'_>, keyword: Keyword) {
        let shared = clause.body_indent();
        let actions =
            if keyword.shape() == Shape::Actions { logical_lines(clause) } else { Vec::new() };
        let mut left = clause.lines().count();
        let mut begun = clause.argument.is_some() && keyword.shape() != Shape::Argument;
        for item in &clause.body {
            match item {
                Item::Text { indent, piece } => {
                    let deeper = match keyword.shape() {
                        Shape::Actions if actions.iter().any(|a| a.start == piece.start) => "",
                        _ => indent.strip_prefix(shared).unwrap_or(""),
                    };
                    self.line(&format!("  {deeper}"), piece.text);
                    (left, begun) = (left - 1, true);
                }
                Item::Comment { indent, piece } => {
                    let deep = indent.len() > clause.indent.len();
                    self.line(if deep { "  " } else { "" }, piece.text);
                }
                // Blank lines between lines of text are part of it.
                Item::Blank if begun && left > 0 && keyword.shape() == Shape::Text => {
                    self.line("", "");
                }
                Item::Blank if begun || left == 0 => self.gap = Gap::Blank,
                Item::Blank => {}
            }
        }
    }
}

fn argument_text(keyword: Keyword, text: &str) -> String {
    match keyword {
        Keyword::Trigger | Keyword::Tags => {
            text.split(',').map(str::trim).collect::<Vec<_>>().join(", ")
        }
        Keyword::From => text.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => text.to_owned(),
    }
}
