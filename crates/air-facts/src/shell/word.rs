//! Words of a shell command, unquoted.

use tree_sitter::Node;

use crate::{collect::computed, escape, syntax::text};

/// A word, and whether the shell changes it before the command sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Unquoted; expansions stay as written.
    text: String,
    /// As an argument of a [`Call`](air_core::code::Call).
    shown: String,
    literal: bool,
}

impl Word {
    pub(crate) fn literal(text: String) -> Self {
        Self { shown: text.clone(), text, literal: true }
    }

    /// A word that is not known; `shown` stands for it.
    pub(crate) fn computed(shown: String) -> Self {
        Self { text: "${_}".to_owned(), shown, literal: false }
    }

    pub(super) fn of(node: Node, source: &str) -> Self {
        let mut decoder =
            Decoder { source, text: String::new(), literal: true, braces: Braces::None };
        decoder.node(node);
        let Decoder { text: decoded, literal, .. } = decoder;
        let shown = if literal { decoded.clone() } else { computed(text(node, source)) };
        Self { text: decoded, shown, literal }
    }

    /// The word, if the shell leaves it as it is.
    pub(crate) fn text(&self) -> Option<&str> {
        self.literal.then_some(self.text.as_str())
    }

    /// Unquoted, with expansions as they are written.
    pub(crate) fn as_written(&self) -> &str {
        &self.text
    }

    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) fn into_shown(self) -> String {
        self.shown
    }
}

struct Decoder<'s> {
    source: &'s str,
    text: String,
    literal: bool,
    braces: Braces,
}

/// How far the word reads as a list of alternatives: `{a,b}`, `{1..3}`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Braces {
    None,
    Open,
    Separated,
}

impl Decoder<'_> {
    /// Concatenations and command names hold words, which hold no concatenations: two levels.
    fn node(&mut self, node: Node) {
        let written = text(node, self.source);
        match node.kind() {
            "command_name" | "concatenation" => {
                let mut end = node.start_byte();
                for part in node.children(&mut node.walk()) {
                    // Bytes between parts belong to no node, and are not to be lost.
                    self.unquoted(self.source.get(end..part.start_byte()).unwrap_or_default());
                    end = part.end_byte();
                    match part.kind() {
                        "concatenation" if node.kind() == "concatenation" => {
                            self.expansion(text(part, self.source));
                        }
                        _ => self.node(part),
                    }
                }
            }
            "string" | "translated_string" => self.quoted(node),
            "raw_string" => self.text.push_str(written.trim_matches('\'')),
            "ansi_c_string" => {
                let inner = written.strip_prefix("$'").and_then(|inner| inner.strip_suffix('\''));
                self.text.push_str(&ansi_c(inner.unwrap_or(written)));
            }
            "simple_expansion"
            | "expansion"
            | "command_substitution"
            | "process_substitution"
            | "arithmetic_expansion"
            | "brace_expression"
            | "array"
            | "subshell" => {
                self.expansion(written);
            }
            // Words, numbers, patterns, operators, and assignments as arguments.
            "variable_assignment" => {
                if node.child_by_field_name("name").is_some_and(|name| name.kind() == "subscript") {
                    return self.expansion(written);
                }
                let Some(value) = node.child_by_field_name("value") else {
                    return self.unquoted(written);
                };
                let before = self.source.get(node.start_byte()..value.start_byte());
                self.text.push_str(before.unwrap_or_default());
                if value.kind() == "variable_assignment" {
                    self.expansion(text(value, self.source));
                } else {
                    self.node(value);
                }
            }
            "unary_expression" | "binary_expression" | "negated_command" => self.expansion(written),
            _ => self.unquoted(written),
        }
    }

    fn expansion(&mut self, written: &str) {
        self.literal = false;
        self.text.push_str(written);
    }

    fn quoted(&mut self, node: Node) {
        let whole = text(node, self.source);
        let start = node.start_byte() + usize::from(whole.starts_with('$'));
        let mut end = start + 1;
        for part in node.children(&mut node.walk()) {
            let gap = self.source.get(end..part.start_byte()).unwrap_or_default();
            self.double_quoted(gap);
            match part.kind() {
                "\"" => {}
                "string_content" => self.double_quoted(text(part, self.source)),
                "simple_expansion"
                | "expansion"
                | "command_substitution"
                | "arithmetic_expansion" => self.expansion(text(part, self.source)),
                // A lone `$`.
                _ => self.double_quoted(text(part, self.source).trim_matches('"')),
            }
            end = part.end_byte().max(end);
        }
    }

    fn double_quoted(&mut self, written: &str) {
        let mut rest = written.chars();
        while let Some(c) = rest.next() {
            match c {
                '\\' => match rest.next() {
                    Some('\n') => {}
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => self.text.push(escaped),
                    other => {
                        self.text.push('\\');
                        self.text.extend(other);
                    }
                },
                c => self.text.push(c),
            }
        }
    }

    fn unquoted(&mut self, written: &str) {
        let mut rest = written.chars();
        let mut bracket = false;
        while let Some(c) = rest.next() {
            if c == '\\' {
                self.text.extend(rest.next().filter(|escaped| *escaped != '\n'));
                continue;
            }
            // A pattern or a list of alternatives becomes other words: `/etc/pass*`, `{a,b}`.
            bracket |= c == '[';
            match c {
                '*' | '?' | '`' => self.literal = false,
                ']' if bracket => self.literal = false,
                '{' => self.braces = Braces::Open,
                ',' | '.' if self.braces == Braces::Open => self.braces = Braces::Separated,
                '}' if self.braces == Braces::Separated => self.literal = false,
                _ => {}
            }
            self.text.push(c);
        }
    }
}

fn ansi_c(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            decoded.push(c);
            continue;
        }
        let Some(escape) = rest.next() else { break };
        match escape {
            'e' | 'E' => decoded.push('\u{1b}'),
            _ => decoded.push(escape::character(escape, &mut rest, true).unwrap_or(escape)),
        }
    }
    decoded
}
