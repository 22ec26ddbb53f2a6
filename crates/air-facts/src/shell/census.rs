//! The commands of a tree, those in substitutions too, to compare readings.

use brush_parser::ast;
use brush_parser::ast::SourceLocation as _;

use super::{
    lex::{self, Part, Within},
    parse::{Seen, UNCOUNTED, parsed},
    visited::Visited,
};

/// Source within words is followed this deep.
const MAX_DEPTH: usize = 12;

pub(super) fn commands(program: &ast::Program) -> Vec<Seen> {
    let mut census =
        Census { seen: Vec::new(), depth: 0, visited: None, missed: Vec::new(), line: 0 };
    census.program(program);
    census.seen
}

/// The lines with commands that were not followed; functions apart.
pub(super) fn missed(program: &ast::Program, visited: &Visited) -> Vec<u32> {
    missing(visited, |census| census.program(program))
}

/// The same of a function.
pub(super) fn missed_in(body: &ast::FunctionBody, visited: &Visited) -> Vec<u32> {
    missing(visited, |census| {
        census.compound(&body.0);
        census.redirects(body.1.as_ref());
    })
}

fn missing(visited: &Visited, walk: impl FnOnce(&mut Census)) -> Vec<u32> {
    let mut census =
        Census { seen: Vec::new(), depth: 0, visited: Some(visited), missed: Vec::new(), line: 0 };
    walk(&mut census);
    census.missed
}

struct Census<'v> {
    seen: Vec<Seen>,
    depth: usize,
    /// What was followed, where that is asked.
    visited: Option<&'v Visited>,
    missed: Vec<u32>,
    /// The line of the outermost command.
    line: u32,
}

impl Census<'_> {
    fn program(&mut self, program: &ast::Program) {
        program.complete_commands.iter().for_each(|list| self.list(list));
    }

    fn list(&mut self, list: &ast::CompoundList) {
        for item in &list.0 {
            self.pipeline(&item.0.first);
            for next in &item.0.additional {
                let (ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline)) = next;
                self.pipeline(pipeline);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) {
        pipeline.seq.iter().for_each(|command| self.command(command));
    }

    fn command(&mut self, command: &ast::Command) {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                self.compound(compound);
                self.redirects(redirects.as_ref());
            }
            // It is looked at where it is called.
            ast::Command::Function(_) if self.visited.is_some() => {}
            ast::Command::Function(function) => {
                self.compound(&function.body.0);
                self.redirects(function.body.1.as_ref());
            }
            ast::Command::ExtendedTest(test, redirects) => {
                let at = test.loc.start.line;
                self.seen.push(("[[".to_owned(), 0, u32::try_from(at).unwrap_or(u32::MAX)));
                self.test(&test.expr);
                self.redirects(redirects.as_ref());
            }
        }
    }

    fn test(&mut self, expr: &ast::ExtendedTestExpr) {
        use ast::ExtendedTestExpr::{And, BinaryTest, Not, Or, Parenthesized, UnaryTest};
        match expr {
            And(one, other) | Or(one, other) => {
                self.test(one);
                self.test(other);
            }
            Not(inner) | Parenthesized(inner) => self.test(inner),
            UnaryTest(_, word) => self.word(&word.value, Within::Command),
            BinaryTest(_, one, other) => {
                self.word(&one.value, Within::Command);
                self.word(&other.value, Within::Command);
            }
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) {
        if self.depth == 0 {
            let line = simple.location().map_or(1, |span| span.start.line);
            self.line = u32::try_from(line).unwrap_or(u32::MAX);
        }
        if self.visited.is_some_and(|visited| !visited.has(simple)) {
            self.missed.push(self.line);
        }
        let mut words = 0;
        let items = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let after = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        for item in items.chain(after) {
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
                ast::CommandPrefixOrSuffixItem::Word(word) => {
                    words += 1;
                    self.word(&word.value, Within::Command);
                }
                ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                    words += usize::from(simple.word_or_name.is_some());
                    self.word(&word.value, Within::Command);
                }
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                    words += 1;
                    self.list(&subshell.list);
                }
            }
        }
        // Assignments in front are no words.
        let before = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let assigned = before
            .filter(|item| matches!(item, ast::CommandPrefixOrSuffixItem::AssignmentWord(..)))
            .count();
        if let Some(name) = &simple.word_or_name {
            self.word(&name.value, Within::Command);
            let at = name.location().map_or(0, |span| span.start.line);
            let count =
                if UNCOUNTED.contains(&name.value.as_str()) { 0 } else { words + 1 - assigned };
            self.seen.push((name.value.clone(), count, u32::try_from(at).unwrap_or(u32::MAX)));
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) {
        use ast::CompoundCommand as C;
        match compound {
            C::Arithmetic(arithmetic) => self.word(&arithmetic.expr.value, Within::Document),
            C::ArithmeticForClause(clause) => {
                for expr in
                    [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten()
                {
                    self.word(&expr.value, Within::Document);
                }
                self.list(&clause.body.list);
            }
            C::BraceGroup(group) => self.list(&group.list),
            C::Subshell(subshell) => self.list(&subshell.list),
            C::ForClause(clause) => {
                let values = clause.values.iter().flatten();
                values.for_each(|word| self.word(&word.value, Within::Command));
                let dead = |visited: &Visited| visited.is_dead(&clause.body.list.to_string());
                if !self.visited.is_some_and(dead) {
                    self.list(&clause.body.list);
                }
            }
            C::CaseClause(clause) => {
                self.word(&clause.value.value, Within::Command);
                for case in &clause.cases {
                    case.patterns.iter().for_each(|word| self.word(&word.value, Within::Command));
                    case.cmd.iter().for_each(|list| self.list(list));
                }
            }
            C::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for clause in clause.elses.iter().flatten() {
                    clause.condition.iter().for_each(|list| self.list(list));
                    self.list(&clause.body);
                }
            }
            C::WhileClause(clause) | C::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            C::Coprocess(coprocess) => self.command(&coprocess.body),
        }
    }

    fn redirects(&mut self, redirects: Option<&ast::RedirectList>) {
        redirects.into_iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect));
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect) {
        match redirect {
            ast::IoRedirect::File(_, _, target) => match target {
                ast::IoFileRedirectTarget::Filename(word)
                | ast::IoFileRedirectTarget::Duplicate(word) => {
                    self.word(&word.value, Within::Command);
                }
                ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                    self.list(&subshell.list);
                }
                ast::IoFileRedirectTarget::Fd(_) => {}
            },
            ast::IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    self.word(&document.doc.value, Within::Document);
                }
            }
            ast::IoRedirect::HereString(_, word) | ast::IoRedirect::OutputAndError(word, _) => {
                self.word(&word.value, Within::Command);
            }
        }
    }

    fn word(&mut self, word: &str, within: Within) {
        if !word.contains(['$', '`', '(']) {
            return;
        }
        for part in lex::parts(word, within).unwrap_or_default() {
            match part {
                Part::Command { source, .. } => {
                    let source = source.trim();
                    // `$(< file)`.
                    match source.strip_prefix('<').filter(|rest| !rest.starts_with(['<', '('])) {
                        Some(file) if self.visited.is_some() => self.word(file, within),
                        _ => self.source(source),
                    }
                }
                Part::Process { source, .. } => self.source(&source),
                Part::Parameter { body, .. }
                    if self.visited.is_some_and(|visited| visited.is_dead(&body)) => {}
                Part::Parameter { body, .. } | Part::Arithmetic(body) if body != word => {
                    self.word(&body, Within::Document);
                }
                _ => {}
            }
        }
    }

    fn source(&mut self, source: &str) {
        if self.depth == MAX_DEPTH {
            self.missed.push(self.line);
            return;
        }
        self.depth += 1;
        match parsed(source) {
            Ok(program) => self.program(&program),
            // It counts as something that the other does not have.
            Err(_) => self.seen.push(("$(".to_owned(), 0, 0)),
        }
        self.depth -= 1;
    }
}
