//! How a source goes: lists, pipelines, blocks, functions.

use std::{collections::BTreeMap, rc::Rc};

use brush_parser::{
    SourceSpan,
    ast::{self, SourceLocation as _},
};

use super::{
    census, defect,
    lex::Within,
    parse,
    state::{Channel, State},
    twice,
    visited::Visited,
    word::{Data, Word},
};
use crate::collect::Collector;

/// Commands that are followed.
const MAX_STEPS: usize = 200_000;
/// Texts that are written are looked at with as many steps.
const WORK_FOR_TEXTS: usize = 1 << 14;
/// Substitutions, functions and blocks within each other.
const MAX_DEPTH: usize = 64;
/// A loop is followed for as many words; then for any other.
const MAX_TURNS: usize = 48;
const MAX_VARIABLES: usize = 2_000;

/// A shell that reads its source instead of running it.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) state: State,
    pub(super) captures: Vec<Data>,
    /// What is behind `/dev/fd/N` of a process substitution.
    pub(super) pipes: BTreeMap<String, Data>,
    /// Named pipes that were made.
    pub(super) fifos: Vec<String>,
    /// Functions that are being called.
    pub(super) active: Vec<String>,
    /// Lines before the source that is being read, in the outermost one.
    pub(super) base: u32,
    pub(super) visited: Visited,
    depth: usize,
    steps: usize,
}

impl Shell {
    pub(super) fn new(input: Data, output: Channel) -> Self {
        Self {
            state: State::new(input, output),
            captures: Vec::new(),
            pipes: BTreeMap::new(),
            fifos: Vec::new(),
            active: Vec::new(),
            base: 0,
            visited: Visited::default(),
            depth: 0,
            steps: 0,
        }
    }

    /// A shell whose output is gathered.
    pub(super) fn captured(input: Data) -> Self {
        let mut shell = Self::new(input, Channel::Capture(0));
        shell.captures.push(Data::none());
        shell
    }

    pub(super) fn captured_data(mut self) -> Data {
        self.captures.pop().unwrap_or_default()
    }

    /// Reads `source` here.
    pub(super) fn source(&mut self, source: &str, out: &mut Collector) {
        out.allow(WORK_FOR_TEXTS);
        if let Some(program) = parse::program(source, out) {
            parse::compare(source, &program, out);
            let outer = out.start();
            self.program(&program, out);
            out.end(outer);
            defect::analyse(&program, self.base, out);
            for at in census::missed(&program, &self.visited) {
                self.not_followed(at, out);
            }
        } else {
            self.fallen_back(source, out);
        }
    }

    /// Source that only one parser reads: its commands by themselves.
    fn fallen_back(&mut self, source: &str, out: &mut Collector) {
        for (at, words) in super::tree::commands(source, out) {
            let mut expanded = Vec::new();
            for word in words {
                expanded.extend(self.words(&word, at, out));
            }
            let data = self.launch(&expanded, at, out);
            self.emit(data, at, out);
        }
    }

    fn program(&mut self, program: &ast::Program, out: &mut Collector) {
        for list in &program.complete_commands {
            self.list(list, out);
        }
    }

    /// What the source of a substitution prints. It starts on line `at`.
    pub(super) fn substituted(&mut self, source: &str, at: u32, out: &mut Collector) -> Data {
        if self.depth >= MAX_DEPTH {
            out.incomplete_at(at, "substitutions are nested too deeply");
            return Data::default();
        }
        let program = match parse::parsed(source) {
            Ok(program) => program,
            Err(why) => {
                out.incomplete_at(at, why);
                return Data::default();
            }
        };
        let base = std::mem::replace(&mut self.base, at.saturating_sub(1));
        let data = self.within(|shell, out| shell.program(&program, out), out);
        self.base = base;
        data
    }

    /// What `run` prints, in a shell of its own.
    pub(super) fn within(
        &mut self,
        run: impl FnOnce(&mut Self, &mut Collector),
        out: &mut Collector,
    ) -> Data {
        let state = self.state.clone();
        self.captures.push(Data::none());
        self.state.channels.insert(1, Channel::Capture(self.captures.len() - 1));
        self.depth += 1;
        run(self, out);
        self.depth -= 1;
        self.state = state;
        self.captures.pop().unwrap_or_default()
    }

    pub(super) fn at(&self, span: Option<SourceSpan>) -> u32 {
        let line = span.map_or(1, |span| u32::try_from(span.start.line).unwrap_or(u32::MAX));
        self.base.saturating_add(line.max(1))
    }

    pub(super) fn list(&mut self, list: &ast::CompoundList, out: &mut Collector) {
        for ast::CompoundListItem(item, separator) in &list.0 {
            // What runs in the background changes nothing here, but what it leaves is left.
            let before =
                matches!(separator, ast::SeparatorOperator::Async).then(|| self.state.clone());
            if before.is_some() {
                out.branch();
            }
            self.pipeline(&item.first, out);
            if !item.additional.is_empty() {
                out.branch();
            }
            for next in &item.additional {
                match next {
                    ast::AndOr::And(pipeline) => {
                        let before = self.state.clone();
                        self.pipeline(pipeline, out);
                        if defect::is_test(&item.first) {
                            self.state.join(&before);
                        }
                    }
                    ast::AndOr::Or(pipeline) => {
                        let before = self.state.clone();
                        self.state.ended = false;
                        self.pipeline(pipeline, out);
                        let after = std::mem::replace(&mut self.state, before);
                        if !after.ended {
                            let directory = self.state.directory.clone();
                            self.state.join(&after);
                            self.state.directory = directory;
                        }
                    }
                }
            }
            if !item.additional.is_empty() {
                out.join();
            }
            if let Some(before) = before {
                out.join();
                self.state = before;
            }
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, out: &mut Collector) {
        if let [command] = pipeline.seq.as_slice() {
            return self.command(command, out);
        }
        // What is written to a named pipe at the end may be read at the start.
        let turns = if self.fifos.is_empty() { 1 } else { 2 };
        for _ in 0..turns {
            let state = self.state.clone();
            let mut input: Option<Data> = None;
            for (index, command) in pipeline.seq.iter().enumerate() {
                if let Some(input) = input.take() {
                    self.state.channels.insert(0, Channel::Input(input));
                }
                if index + 1 == pipeline.seq.len() {
                    self.command(command, out);
                } else {
                    input = Some(self.within(|shell, out| shell.command(command, out), out));
                }
            }
            self.state = state;
        }
    }

    fn command(&mut self, command: &ast::Command, out: &mut Collector) {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return out.incomplete("more is done than is followed");
        }
        if self.depth >= MAX_DEPTH {
            return out.incomplete("commands are nested too deeply");
        }
        if self.state.variables.len() > MAX_VARIABLES {
            return out.incomplete("more variables are set than are followed");
        }
        self.depth += 1;
        match command {
            ast::Command::Simple(simple) => self.simple(simple, out),
            ast::Command::Compound(compound, redirects) => {
                let at = self.at(compound.location());
                self.redirected(redirects.as_ref(), at, out, |shell, out| {
                    shell.compound(compound, out);
                });
            }
            ast::Command::Function(function) => {
                let functions = Rc::make_mut(&mut self.state.functions);
                functions.insert(function.fname.value.clone(), Rc::new(function.clone()));
            }
            ast::Command::ExtendedTest(test, _) => {
                let at = self.at(Some(test.loc.clone()));
                self.test(&test.expr, at, out);
            }
        }
        self.depth -= 1;
    }

    fn test(&mut self, expr: &ast::ExtendedTestExpr, at: u32, out: &mut Collector) {
        use ast::ExtendedTestExpr::{And, BinaryTest, Not, Or, Parenthesized, UnaryTest};
        match expr {
            And(one, other) | Or(one, other) => {
                self.test(one, at, out);
                self.test(other, at, out);
            }
            Not(inner) | Parenthesized(inner) => self.test(inner, at, out),
            UnaryTest(_, word) => self.mentioned(word, at, out),
            BinaryTest(_, one, other) => {
                self.mentioned(one, at, out);
                self.mentioned(other, at, out);
            }
        }
    }

    fn not_followed(&self, line: u32, out: &mut Collector) {
        let at = self.base.saturating_add(line.max(1));
        out.incomplete_at(at, format!("a command in line {at} is not followed"));
    }

    /// Whether every command of a function that ran was followed.
    pub(super) fn followed(&mut self, function: &ast::FunctionDefinition, out: &mut Collector) {
        if self.visited.first(function) {
            for at in census::missed_in(&function.body, &self.visited) {
                self.not_followed(at, out);
            }
        }
    }

    /// A word that is looked at only; what is within it runs.
    fn mentioned(&mut self, word: &ast::Word, at: u32, out: &mut Collector) {
        let word = self.word(&word.value, Within::Command, at, out);
        out.mention(word.as_written());
        twice::subscript(&word, at, out);
    }

    pub(super) fn redirected(
        &mut self,
        redirects: Option<&ast::RedirectList>,
        at: u32,
        out: &mut Collector,
        run: impl FnOnce(&mut Self, &mut Collector),
    ) {
        let Some(redirects) = redirects else { return run(self, out) };
        let channels = self.state.channels.clone();
        for redirect in &redirects.0 {
            self.redirect(redirect, at, out);
        }
        run(self, out);
        self.state.channels = channels;
    }

    pub(super) fn compound(&mut self, compound: &ast::CompoundCommand, out: &mut Collector) {
        use ast::CompoundCommand as C;
        let at = self.at(compound.location());
        match compound {
            C::Arithmetic(command) => {
                self.arithmetic(&command.expr.value, at, out);
                self.assigned_in(&command.expr.value);
            }
            C::ArithmeticForClause(clause) => {
                for expr in
                    [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten()
                {
                    self.arithmetic(&expr.value, at, out);
                    self.assigned_in(&expr.value);
                }
                if clause
                    .condition
                    .as_ref()
                    .is_none_or(|expr| matches!(expr.value.trim(), "" | "1"))
                {
                    defect::endless(&clause.body.list, at, out);
                }
                self.turns(&clause.body.list, out);
            }
            C::BraceGroup(group) => self.list(&group.list, out),
            C::Subshell(subshell) => {
                let state = self.state.clone();
                self.list(&subshell.list, out);
                self.state = state;
            }
            C::ForClause(clause) => self.each(clause, at, out),
            C::CaseClause(clause) => {
                let value = self.word(&clause.value.value, Within::Command, at, out);
                out.mention(value.as_written());
                let before = self.state.clone();
                let mut after = before.clone();
                for case in &clause.cases {
                    self.state = before.clone();
                    for pattern in &case.patterns {
                        self.mentioned(pattern, at, out);
                    }
                    out.branch();
                    if let Some(list) = &case.cmd {
                        self.list(list, out);
                    }
                    out.join();
                    after.join(&self.state);
                }
                self.state = after;
            }
            C::IfClause(clause) => {
                self.list(&clause.condition, out);
                let mut before = self.state.clone();
                out.branch();
                self.list(&clause.then, out);
                out.join();
                let mut after = self.state.clone();
                let mut otherwise = false;
                for clause in clause.elses.iter().flatten() {
                    self.state = before.clone();
                    out.branch();
                    match &clause.condition {
                        Some(condition) => {
                            self.list(condition, out);
                            before = self.state.clone();
                        }
                        None => otherwise = true,
                    }
                    self.list(&clause.body, out);
                    out.join();
                    after.join(&self.state);
                }
                if !otherwise {
                    after.join(&before);
                }
                self.state = after;
            }
            C::WhileClause(clause) | C::UntilClause(clause) => {
                let turned = if matches!(compound, C::WhileClause(_)) { "true" } else { "false" };
                if defect::always(&clause.0, turned) {
                    defect::endless(&clause.1.list, at, out);
                }
                if let Some(lines) = self.lines_of(&clause.0) {
                    return self.each_line(lines, clause, out);
                }
                self.list(&clause.0, out);
                self.turns(&clause.1.list, out);
                self.list(&clause.0, out);
            }
            C::Coprocess(coprocess) => self.command(&coprocess.body, out),
        }
    }

    /// Variables that arithmetic changes are not known after it.
    fn assigned_in(&mut self, expr: &str) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if expr.contains("++") || expr.contains("--") || expr.contains('=') {
            for name in expr.split(|c| !is_name(c)).filter(|name| !name.is_empty()) {
                if self.state.get(name).is_some() || name.starts_with(char::is_alphabetic) {
                    self.state.set(name, Word::computed(format!("${{{name}}}")));
                }
            }
        }
    }

    /// A body that runs any number of times: twice, so that what the first leaves is seen.
    fn turns(&mut self, body: &ast::CompoundList, out: &mut Collector) {
        out.branch();
        for _ in 0..2 {
            let before = self.state.clone();
            self.list(body, out);
            self.state.ended = false;
            self.state.join(&before);
            if Rc::ptr_eq(&self.state.variables, &before.variables)
                && self.state.directory == before.directory
            {
                break;
            }
        }
        out.join();
    }

    fn each(&mut self, clause: &ast::ForClauseCommand, at: u32, out: &mut Collector) {
        let mut words = Vec::new();
        match &clause.values {
            Some(values) => {
                for value in values {
                    words.extend(self.words(&value.value, at, out));
                }
            }
            None => words.extend(self.parameter("@", true, at, out).0),
        }
        for word in &words {
            out.mention(word.as_written());
        }
        let before = self.state.clone();
        let more = words.len() > MAX_TURNS;
        let some = words.is_empty()
            || words.iter().any(|word| word.text().is_none())
            || defect::leaves_early(&clause.body.list);
        if words.is_empty() {
            self.visited.dead(clause.body.list.to_string());
        }
        if some {
            out.branch();
        }
        for word in words.iter().take(MAX_TURNS) {
            self.state.set(&clause.variable_name, word.clone());
            self.list(&clause.body.list, out);
        }
        if more {
            let name = &clause.variable_name;
            self.state.set(name, Word::computed(format!("${{{name}}}")));
            self.list(&clause.body.list, out);
        }
        self.state.ended = false;
        if some {
            out.join();
        }
        if defect::leaves_early(&clause.body.list) || words.is_empty() {
            self.state.join(&before);
        }
    }
}
