//! Rules of the dialect as text of this language.

use std::{collections::HashSet, ops::Range};

use super::{
    check::{Check, unindented},
    parser::{Item, RawRule},
};
use crate::diagnostic::{Code, Severity, Sink, quoted};

/// What the rules that were learned there have as their remediation.
const BLOCKS: &str = "block execution before running the tool";

pub(super) struct Writer<'w> {
    out: String,
    rules: usize,
    taken: &'w mut HashSet<String>,
    sink: &'w mut Sink,
}

impl<'w> Writer<'w> {
    pub(super) fn new(taken: &'w mut HashSet<String>, sink: &'w mut Sink) -> Self {
        Self { out: String::new(), rules: 0, taken, sink }
    }

    /// What was written, and how many rules are in it.
    pub(super) fn finish(self) -> (String, usize) {
        (self.out, self.rules)
    }

    pub(super) fn item(&mut self, item: Item) {
        match item {
            Item::Comment(text) => self.comment(&text),
            Item::Rule(rule) => self.rule(&rule),
        }
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn comment(&mut self, text: &str) {
        for line in text.lines() {
            self.line(&format!("# {}", plain(line)));
        }
    }

    fn rule(&mut self, rule: &RawRule) {
        let name = self.name(rule);
        let tools = self.tools(rule);
        if !matches!(rule.check, Check::Text(_)) {
            let message = "the checks are one text now, which is asked as a whole";
            let hint = "write a condition for what can be observed, or a rule for each check";
            self.inexact(Severity::Note, rule.check_span.clone(), message, hint);
        }
        for comment in &rule.comments {
            self.comment(comment);
        }
        self.line(&format!("rule @{name}"));
        self.line(&format!("trigger {}", tools.join(", ")));
        self.line("check");
        self.text(&rule.check.lines());
        if is_block(&rule.steps) {
            self.line("block");
        } else {
            self.line("remediate");
            let steps: Vec<&String> =
                rule.steps.iter().filter(|step| !step.trim().is_empty()).collect();
            if let [step] = steps.as_slice() {
                self.text(&unindented(step));
            } else {
                for (at, step) in steps.iter().enumerate() {
                    let mut mark = format!("{}. ", at + 1);
                    let mut lines = Vec::new();
                    for line in unindented(step) {
                        lines.push(format!("{mark}{line}"));
                        mark = " ".repeat(mark.len());
                    }
                    self.text(&lines);
                }
            }
        }
        self.line("end");
        self.line("");
        self.rules += 1;
    }

    /// Lines of text, indented.
    fn text(&mut self, lines: &[String]) {
        let lines: Vec<String> =
            lines.iter().flat_map(|line| line.split('\r')).map(plain).collect();
        let first = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(0);
        let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
        for line in lines.get(first..end).unwrap_or_default() {
            let text = line.trim_start_matches([' ', '\t']);
            let indent = " ".repeat(line.len() - text.len());
            // At the start of a line it would be a comment.
            let escape = if text.starts_with('#') { "\\" } else { "" };
            self.line(&format!("  {indent}{escape}{text}"));
        }
    }

    fn inexact(&mut self, severity: Severity, span: Range<usize>, message: &str, hint: &str) {
        self.sink.add(severity, Code::NotExact, span, message, hint.to_owned());
    }

    /// A name that is one here, and that no other rule has.
    fn name(&mut self, rule: &RawRule) -> String {
        let given = rule.name.trim_start_matches('@');
        let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let mut name: String = given.chars().map(|c| if kept(c) { c } else { '_' }).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            name.insert(0, '_');
        }
        let base = name.clone();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        if name != given {
            let message =
                format!("{} is called {} now", quoted(&rule.name), quoted(&format!("@{name}")));
            let hint = "names are of letters, digits, `_`, `.` and `-`, and unique in a rule set";
            self.inexact(Severity::Warning, rule.name_span.clone(), &message, hint);
        }
        name
    }

    /// The tools, each once.
    fn tools(&mut self, rule: &RawRule) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        for (given, span) in &rule.tools {
            let given = given.trim();
            let kept = |c: char| !c.is_whitespace() && !c.is_control() && !",#\"'`".contains(c);
            // `*` stands for whatever a name cannot have here.
            let tool: String = given.chars().map(|c| if kept(c) { c } else { '*' }).collect();
            if tool != given {
                let message = format!("{} is {} now", quoted(given), quoted(&tool));
                let hint = "the name of a tool has no blanks, commas or quotes; `*` stands for any run of characters";
                self.inexact(Severity::Warning, span.clone(), &message, hint);
            }
            if !tool.is_empty() && !tools.contains(&tool) {
                tools.push(tool);
            }
        }
        tools
    }
}

/// Whether the remediation is what learned rules have, so that the rule is a guardrail.
fn is_block(steps: &[String]) -> bool {
    match steps {
        [] => true,
        [step] => {
            let words = step.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            words.trim_end_matches(['.', '!']) == BLOCKS
        }
        _ => false,
    }
}

/// A line without characters that only move a cursor.
fn plain(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect()
}
