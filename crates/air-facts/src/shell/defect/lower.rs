//! From the parser's tree to the one that the analyses read.

use std::rc::Rc;

use brush_parser::ast::{
    self, CommandPrefixOrSuffixItem as Item, CompoundCommand as C, SourceLocation as _,
};

use super::tree::{
    Arm, Assigned, Command, Loop, Node, Piece, Redirect, RedirectKind, Test, Text, Turns, Value,
    Variable, is_name,
};
use crate::shell::{
    lex::{self, Part, Within},
    parse,
};

/// Statements within each other past this are not looked at.
const MAX_DEPTH: usize = 48;

pub(super) fn program(program: &ast::Program, base: u32) -> Vec<Node> {
    let mut lower = Lower { base, depth: 0 };
    program.complete_commands.iter().flat_map(|list| lower.list(list)).collect()
}

struct Lower {
    base: u32,
    depth: usize,
}

impl Lower {
    fn line(&self, span: Option<brush_parser::SourceSpan>) -> u32 {
        let line = span.map_or(1, |span| u32::try_from(span.start.line).unwrap_or(u32::MAX));
        self.base.saturating_add(line.max(1))
    }

    fn list(&mut self, list: &ast::CompoundList) -> Vec<Node> {
        let mut nodes = Vec::new();
        for ast::CompoundListItem(item, _) in &list.0 {
            let first = self.pipeline(&item.first);
            if item.additional.is_empty() {
                nodes.push(first);
                continue;
            }
            let rest = item.additional.iter().map(|next| match next {
                ast::AndOr::And(pipeline) => (true, self.pipeline(pipeline)),
                ast::AndOr::Or(pipeline) => (false, self.pipeline(pipeline)),
            });
            nodes.push(Node::Chain(Box::new(first), rest.collect()));
        }
        nodes
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) -> Node {
        let mut nodes: Vec<Node> =
            pipeline.seq.iter().map(|command| self.command(command)).collect();
        let node = match nodes.pop() {
            Some(only) if nodes.is_empty() => only,
            last => {
                nodes.extend(last);
                Node::Pipe(nodes)
            }
        };
        if pipeline.bang { Node::Not(Box::new(node)) } else { node }
    }

    fn command(&mut self, command: &ast::Command) -> Node {
        if self.depth >= MAX_DEPTH {
            return Node::Group(Vec::new(), Vec::new());
        }
        self.depth += 1;
        let node = match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                let redirects = self.redirects(redirects.as_ref());
                self.compound(compound, redirects)
            }
            ast::Command::Function(function) => {
                let redirects = self.redirects(function.body.1.as_ref());
                let body = vec![self.compound(&function.body.0, redirects)];
                Node::Function { name: function.fname.value.clone(), body }
            }
            ast::Command::ExtendedTest(test, _) => {
                let line = self.line(Some(test.loc.clone()));
                Node::Test(self.test(&test.expr, line), line)
            }
        };
        self.depth -= 1;
        node
    }

    fn compound(&mut self, compound: &ast::CompoundCommand, redirects: Vec<Redirect>) -> Node {
        let line = self.line(compound.location());
        match compound {
            C::Arithmetic(command) => {
                let raw = command.expr.value.clone();
                let pieces = vec![Piece::Math(raw.clone())];
                Node::Math(Text { raw, pieces }, line)
            }
            C::ArithmeticForClause(clause) => {
                let text = |expr: &Option<ast::UnexpandedArithmeticExpr>| {
                    expr.as_ref().map(|expr| expr.value.clone()).unwrap_or_default()
                };
                let kind = Turns::Count(
                    text(&clause.initializer),
                    text(&clause.condition),
                    text(&clause.updater),
                );
                Node::Loop(Loop { kind, body: self.list(&clause.body.list), redirects, line })
            }
            C::BraceGroup(group) => Node::Group(self.list(&group.list), redirects),
            C::Subshell(subshell) => Node::Group(self.list(&subshell.list), redirects),
            C::ForClause(clause) => {
                let words = match &clause.values {
                    Some(values) => {
                        values.iter().map(|word| self.text(&word.value, line)).collect()
                    }
                    None => vec![self.text("\"$@\"", line)],
                };
                let kind = Turns::Each(clause.variable_name.clone(), words);
                Node::Loop(Loop { kind, body: self.list(&clause.body.list), redirects, line })
            }
            C::CaseClause(clause) => {
                let word = self.text(&clause.value.value, line);
                let arms = clause.cases.iter().map(|case| Arm {
                    patterns: case
                        .patterns
                        .iter()
                        .map(|pattern| self.text(&pattern.value, line))
                        .collect(),
                    body: case.cmd.as_ref().map(|list| self.list(list)).unwrap_or_default(),
                });
                let arms = arms.collect();
                Node::Case { word, arms, line }
            }
            C::IfClause(clause) => {
                let mut arms = vec![(self.list(&clause.condition), self.list(&clause.then))];
                let mut otherwise = None;
                for clause in clause.elses.iter().flatten() {
                    let body = self.list(&clause.body);
                    match &clause.condition {
                        Some(condition) => arms.push((self.list(condition), body)),
                        None => otherwise = Some(body),
                    }
                }
                Node::If { arms, otherwise, line }
            }
            C::WhileClause(clause) | C::UntilClause(clause) => {
                let kind = Turns::While(self.list(&clause.0));
                Node::Loop(Loop { kind, body: self.list(&clause.1.list), redirects, line })
            }
            C::Coprocess(coprocess) => Node::Group(vec![self.command(&coprocess.body)], redirects),
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) -> Node {
        let line = self.line(simple.location());
        let mut command =
            Command { assigned: Vec::new(), words: Vec::new(), redirects: Vec::new(), line };
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        prefix.for_each(|item| self.item(item, &mut command));
        if let Some(name) = &simple.word_or_name {
            command.words.insert(0, self.text(&name.value, line));
        }
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        suffix.for_each(|item| self.item(item, &mut command));
        let name = command.name();
        if matches!(name.as_deref(), Some("[" | "test")) {
            let mut words = command.words.get(1..).unwrap_or_default();
            if let Some((last, rest)) = words.split_last()
                && last.raw == "]"
            {
                words = rest;
            }
            return Node::Test(bracketed(words), line);
        }
        Node::Command(command)
    }

    fn item(&mut self, item: &Item, command: &mut Command) {
        let line = command.line;
        match item {
            Item::IoRedirect(redirect) => command.redirects.extend(self.redirect(redirect, line)),
            Item::Word(word) => command.words.push(self.text(&word.value, line)),
            Item::AssignmentWord(assignment, word) => {
                let declares = command.name().is_none_or(|name| {
                    matches!(name.as_str(), "local" | "declare" | "typeset" | "export" | "readonly")
                });
                if declares {
                    let assigned = self.assigned(assignment, line);
                    command.assigned.push(assigned);
                } else {
                    command.words.push(self.text(&word.value, line));
                }
            }
            Item::ProcessSubstitution(_, subshell) => {
                let nodes = Rc::new(self.list(&subshell.list));
                command
                    .words
                    .push(Text { raw: "<(…)".to_owned(), pieces: vec![Piece::Run(nodes)] });
            }
        }
    }

    fn assigned(&mut self, assignment: &ast::Assignment, line: u32) -> Assigned {
        let (name, key) = match &assignment.name {
            ast::AssignmentName::VariableName(name) => (name.clone(), None),
            ast::AssignmentName::ArrayElementName(name, key) => {
                (name.clone(), Some(self.text(key, line)))
            }
        };
        let value = match &assignment.value {
            ast::AssignmentValue::Scalar(word) => Value::One(self.text(&word.value, line)),
            ast::AssignmentValue::Array(items) => {
                let items = items.iter().map(|(key, value)| {
                    let key = key.as_ref().map(|key| self.text(&key.value, line));
                    (key, self.text(&value.value, line))
                });
                Value::Many(items.collect())
            }
        };
        Assigned { name, key, value, append: assignment.append, line }
    }

    fn redirects(&mut self, redirects: Option<&ast::RedirectList>) -> Vec<Redirect> {
        let redirects = redirects.iter().flat_map(|redirects| &redirects.0);
        redirects.filter_map(|redirect| self.redirect(redirect, self.base + 1)).collect()
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect, line: u32) -> Option<Redirect> {
        use ast::{IoFileRedirectKind as K, IoFileRedirectTarget as T};
        let (kind, word) = match redirect {
            ast::IoRedirect::File(_, kind, T::Filename(word) | T::Duplicate(word)) => {
                let kind = match kind {
                    K::Read | K::DuplicateInput => RedirectKind::In,
                    _ => RedirectKind::Out,
                };
                (kind, self.text(&word.value, line))
            }
            ast::IoRedirect::File(_, K::Read, T::ProcessSubstitution(_, subshell)) => {
                let nodes = Rc::new(self.list(&subshell.list));
                (RedirectKind::Here, Text { raw: String::new(), pieces: vec![Piece::Run(nodes)] })
            }
            ast::IoRedirect::File(..) => return None,
            ast::IoRedirect::HereDocument(_, document) => {
                let raw = document.doc.value.clone();
                let text = if document.requires_expansion {
                    self.pieces(&raw, Within::Document, line)
                } else {
                    Text { pieces: vec![Piece::Quoted(raw.clone())], raw }
                };
                (RedirectKind::Here, text)
            }
            ast::IoRedirect::HereString(_, word) => {
                (RedirectKind::Here, self.text(&word.value, line))
            }
            ast::IoRedirect::OutputAndError(word, _) => {
                (RedirectKind::Out, self.text(&word.value, line))
            }
        };
        Some(Redirect { kind, word })
    }

    fn test(&mut self, expr: &ast::ExtendedTestExpr, line: u32) -> Test {
        use ast::ExtendedTestExpr as E;
        match expr {
            E::And(one, other) => {
                Test::And(Box::new(self.test(one, line)), Box::new(self.test(other, line)))
            }
            E::Or(one, other) => {
                Test::Or(Box::new(self.test(one, line)), Box::new(self.test(other, line)))
            }
            E::Not(inner) => Test::Not(Box::new(self.test(inner, line))),
            E::Parenthesized(inner) => self.test(inner, line),
            E::UnaryTest(_, word) => Test::Unary(self.text(&word.value, line)),
            E::BinaryTest(op, one, other) => Test::Binary(
                op.to_string(),
                self.text(&one.value, line),
                self.text(&other.value, line),
            ),
        }
    }

    fn text(&mut self, raw: &str, line: u32) -> Text {
        self.pieces(raw, Within::Command, line)
    }

    fn pieces(&mut self, raw: &str, within: Within, line: u32) -> Text {
        let parts = lex::parts(raw, within)
            .unwrap_or_else(|| vec![Part::Parameter { body: "?".to_owned(), quoted: false }]);
        let pieces = parts.into_iter().map(|part| match part {
            Part::Quoted(text) => Piece::Quoted(text),
            Part::Plain(text) => Piece::Plain(text),
            Part::Parameter { body, quoted } => Piece::Variable(variable(&body, quoted)),
            Part::Arithmetic(text) => Piece::Math(text),
            Part::Command { source, lines, .. } => {
                let lines = u32::try_from(lines).unwrap_or(0);
                Piece::Run(Rc::new(self.nested(&source, line.saturating_add(lines))))
            }
            Part::Process { source, .. } => Piece::Run(Rc::new(self.nested(&source, line))),
        });
        Text { raw: raw.to_owned(), pieces: pieces.collect() }
    }

    fn nested(&mut self, source: &str, line: u32) -> Vec<Node> {
        if self.depth >= MAX_DEPTH {
            return Vec::new();
        }
        let Ok(program) = parse::parsed(source) else { return Vec::new() };
        self.depth += 4;
        let base = std::mem::replace(&mut self.base, line.saturating_sub(1));
        let nodes = program.complete_commands.iter().flat_map(|list| self.list(list)).collect();
        self.base = base;
        self.depth -= 4;
        nodes
    }
}

fn variable(body: &str, quoted: bool) -> Variable {
    let long = body.len() > 1;
    let prefix = body.chars().next().filter(|c| matches!(c, '#' | '!') && long);
    let inner = body.get(prefix.map_or(0, char::len_utf8)..).unwrap_or_default();
    let end = match inner.chars().next() {
        Some(c) if is_name(c) => inner.find(|c| !is_name(c)).unwrap_or(inner.len()),
        Some(c) => c.len_utf8(),
        None => 0,
    };
    let (name, rest) = inner.split_at_checked(end).unwrap_or((inner, ""));
    Variable { name: name.to_owned(), rest: rest.to_owned(), prefix, quoted }
}

/// The words between `[` and `]`.
fn bracketed(words: &[Text]) -> Test {
    let joined = |op: &str| words.iter().position(|word| word.raw == op);
    if let Some(at) = joined("-o").filter(|at| *at > 0)
        && let (Some(one), Some(other)) = (words.get(..at), words.get(at + 1..))
    {
        return Test::Or(Box::new(bracketed(one)), Box::new(bracketed(other)));
    }
    if let Some(at) = joined("-a").filter(|at| *at > 0)
        && let (Some(one), Some(other)) = (words.get(..at), words.get(at + 1..))
    {
        return Test::And(Box::new(bracketed(one)), Box::new(bracketed(other)));
    }
    match words {
        [not, rest @ ..] if not.raw == "!" && !rest.is_empty() => {
            Test::Not(Box::new(bracketed(rest)))
        }
        [one, op, other] => {
            let op = op.constant().unwrap_or_default();
            let op = if op == "=" { "==".to_owned() } else { op };
            Test::Binary(op, one.clone(), other.clone())
        }
        [_, word] | [word] => Test::Unary(word.clone()),
        _ => Test::Unary(Text::default()),
    }
}
