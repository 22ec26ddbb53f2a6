//! How a source goes: lists, pipelines, blocks, functions.

use std::{collections::BTreeMap, rc::Rc};

use air_core::place::{Held, Place, PlaceKind};
use brush_parser::{
    SourceSpan,
    ast::{self, CommandPrefixOrSuffixItem as Item, SourceLocation as _},
};

use super::{
    defect,
    lex::Within,
    parse,
    state::{Channel, State, Variable},
    word::{Data, Word},
};
use crate::collect::Collector;

/// Commands that are followed.
const MAX_STEPS: usize = 200_000;
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
    base: u32,
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
        if let Some(program) = parse::program(source, out) {
            parse::compare(source, &program, out);
            self.program(&program, out);
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

    fn at(&self, span: Option<SourceSpan>) -> u32 {
        let line = span.map_or(1, |span| u32::try_from(span.start.line).unwrap_or(u32::MAX));
        self.base.saturating_add(line.max(1))
    }

    pub(super) fn list(&mut self, list: &ast::CompoundList, out: &mut Collector) {
        for ast::CompoundListItem(item, separator) in &list.0 {
            // What runs in the background changes nothing here, but what it leaves is left.
            let before =
                matches!(separator, ast::SeparatorOperator::Async).then(|| self.state.clone());
            self.pipeline(&item.first, out);
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
            if let Some(before) = before {
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
                    shell.compound(compound, out)
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

    /// A word that is looked at only; what is within it runs.
    fn mentioned(&mut self, word: &ast::Word, at: u32, out: &mut Collector) {
        let word = self.word(&word.value, Within::Command, at, out);
        out.mention(word.as_written());
    }

    fn redirected(
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

    fn compound(&mut self, compound: &ast::CompoundCommand, out: &mut Collector) {
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
                if clause.condition.as_ref().is_none_or(|expr| expr.value.trim().is_empty()) {
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
                    if let Some(list) = &case.cmd {
                        self.list(list, out);
                    }
                    after.join(&self.state);
                }
                self.state = after;
            }
            C::IfClause(clause) => {
                self.list(&clause.condition, out);
                let mut before = self.state.clone();
                self.list(&clause.then, out);
                let mut after = self.state.clone();
                let mut otherwise = false;
                for clause in clause.elses.iter().flatten() {
                    self.state = before.clone();
                    match &clause.condition {
                        Some(condition) => {
                            self.list(condition, out);
                            before = self.state.clone();
                        }
                        None => otherwise = true,
                    }
                    self.list(&clause.body, out);
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
        if defect::leaves_early(&clause.body.list) || words.is_empty() {
            self.state.join(&before);
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand, out: &mut Collector) {
        let at = self.at(simple.location());
        let channels = self.state.channels.clone();
        let mut words = Vec::new();
        let mut assigned = Vec::new();
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        for item in prefix {
            match item {
                Item::AssignmentWord(assignment, _) => {
                    let variable = self.assignment(assignment, at, out);
                    assigned.push(variable);
                }
                Item::IoRedirect(redirect) => self.redirect(redirect, at, out),
                Item::Word(word) => words.extend(self.words(&word.value, at, out)),
                Item::ProcessSubstitution(kind, subshell) => {
                    words.push(self.process_of(kind, subshell, out))
                }
            }
        }
        let Some(name) = &simple.word_or_name else {
            for (name, variable) in assigned {
                self.state.put(&name, variable);
            }
            self.state.channels = channels;
            return;
        };
        if let Some(expanded) = self.alias(simple, &name.value) {
            let data = self.again(&expanded, at, out);
            self.emit(data, at, out);
            return;
        }
        words.splice(0..0, self.words(&name.value, at, out));
        let declares = matches!(
            name.value.as_str(),
            "export" | "declare" | "typeset" | "local" | "readonly" | "alias"
        );
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::AssignmentWord(assignment, word) => {
                    if declares && name.value != "alias" {
                        let (name, variable) = self.assignment(assignment, at, out);
                        let value = variable.values.first().cloned().unwrap_or_default();
                        let mut shown = Word::literal(format!("{name}="));
                        shown.push(&value);
                        self.state.put(&name, variable);
                        words.push(shown.written_as(&word.value, false));
                    } else if declares {
                        words.push(self.word(&word.value, Within::Command, at, out));
                    } else {
                        words.extend(self.words(&word.value, at, out));
                    }
                }
                Item::IoRedirect(redirect) => self.redirect(redirect, at, out),
                Item::Word(word) => words.extend(self.words(&word.value, at, out)),
                Item::ProcessSubstitution(kind, subshell) => {
                    words.push(self.process_of(kind, subshell, out))
                }
            }
        }
        // Assignments in front last as long as the command.
        let before: Vec<(String, Option<Variable>)> = assigned
            .iter()
            .map(|(name, _)| (name.clone(), self.state.get(name).cloned()))
            .collect();
        for (name, variable) in assigned {
            self.state.put(&name, variable);
        }
        let data = self.launch(&words, at, out);
        self.emit(data, at, out);
        for (name, variable) in before {
            match variable {
                Some(variable) => self.state.put(&name, variable),
                None => drop(Rc::make_mut(&mut self.state.variables).remove(&name)),
            }
        }
        // `exec` without a command keeps what it redirects.
        if words.len() != 1 || words.first().and_then(Word::text) != Some("exec") {
            self.state.channels = channels;
        }
    }

    fn process_of(
        &mut self,
        kind: &ast::ProcessSubstitutionKind,
        subshell: &ast::SubshellCommand,
        out: &mut Collector,
    ) -> Word {
        let reads = matches!(kind, ast::ProcessSubstitutionKind::Read);
        let data = self.within(|shell, out| shell.list(&subshell.list, out), out);
        let name = format!("/dev/fd/{}", 63 + self.pipes.len());
        let word = Word::literal(name.as_str());
        let data = if reads { data } else { Data::none() };
        let word = word.from(data.sources.iter().cloned());
        self.pipes.insert(name, data);
        word
    }

    fn alias(&self, simple: &ast::SimpleCommand, name: &str) -> Option<String> {
        let alias = self.state.aliases.get(name)?;
        if self.active.iter().any(|active| active == alias) {
            return None;
        }
        let mut source = alias.clone();
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            source.push(' ');
            source.push_str(&item.to_string());
        }
        Some(source)
    }

    /// Reads source that an alias or `eval` gives, in this shell.
    pub(super) fn again(&mut self, source: &str, at: u32, out: &mut Collector) -> Data {
        let name = source.split_whitespace().next().unwrap_or_default().to_owned();
        let alias =
            self.state.aliases.values().find(|alias| source.starts_with(alias.as_str())).cloned();
        self.active.push(alias.unwrap_or(name));
        out.nested(at, |out| {
            let base = std::mem::take(&mut self.base);
            self.source(source, out);
            self.base = base;
        });
        self.active.pop();
        Data::none()
    }

    fn assignment(
        &mut self,
        assignment: &ast::Assignment,
        at: u32,
        out: &mut Collector,
    ) -> (String, Variable) {
        let values = match &assignment.value {
            ast::AssignmentValue::Scalar(word) => {
                vec![self.word(&word.value, Within::Command, at, out)]
            }
            ast::AssignmentValue::Array(elements) => {
                let mut values = Vec::new();
                for (_, word) in elements {
                    values.extend(self.words(&word.value, at, out));
                }
                values
            }
        };
        for value in &values {
            out.mention(value.as_written());
        }
        let array = matches!(assignment.value, ast::AssignmentValue::Array(_));
        let mut variable = Variable { values, array };
        let name = match &assignment.name {
            ast::AssignmentName::VariableName(name) => {
                if assignment.append {
                    let mut before = self.state.get(name).cloned().unwrap_or_default();
                    if array || before.array {
                        before.values.append(&mut variable.values);
                    } else if let Some(value) = variable.values.first() {
                        match before.values.first_mut() {
                            Some(first) => first.push(value),
                            None => before.values.push(value.clone()),
                        }
                    }
                    variable = Variable { values: before.values, array: array || before.array };
                }
                name
            }
            ast::AssignmentName::ArrayElementName(name, index) => {
                let mut before = self.state.get(name).cloned().unwrap_or_default();
                before.array = true;
                let value = variable.values.pop().unwrap_or_default();
                match index.trim().parse::<usize>() {
                    Ok(index) if index < before.values.len() => {
                        if let Some(slot) = before.values.get_mut(index) {
                            *slot = value;
                        }
                    }
                    _ => before.values.push(value),
                }
                variable = before;
                name
            }
        };
        (name.clone(), variable)
    }

    /// Calls the function `name` of the source.
    pub(super) fn call(&mut self, name: &str, args: &[Word], at: u32, out: &mut Collector) {
        let Some(function) = self.state.functions.get(name).cloned() else { return };
        defect::fork_bomb(name, &function.body.0, at, out);
        if self.active.iter().any(|active| active == name) {
            return;
        }
        let before = self.state.arguments.replace(Rc::new(args.to_vec()));
        self.active.push(name.to_owned());
        let ast::FunctionBody(body, redirects) = &function.body;
        self.redirected(redirects.as_ref(), at, out, |shell, out| shell.compound(body, out));
        self.active.pop();
        self.state.ended = false;
        self.state.arguments = before;
    }

    /// `data` is written to standard output.
    pub(super) fn emit(&mut self, data: Data, at: u32, out: &mut Collector) {
        self.write(1, data, at, out);
    }

    pub(super) fn write(&mut self, descriptor: i32, data: Data, at: u32, out: &mut Collector) {
        match self.state.channels.get(&descriptor) {
            Some(Channel::Output) => {
                out.flow(&data.sources, &Place::new(PlaceKind::Output, ""), at);
            }
            Some(&Channel::Capture(index)) => {
                if let Some(capture) = self.captures.get_mut(index) {
                    capture.append(data);
                }
            }
            Some(Channel::Place(place)) => {
                let place = place.clone();
                out.flow(&data.sources, &place, at);
                if place.kind == PlaceKind::File {
                    if data.endless && !place.name.starts_with("/dev/") {
                        out.defect("disk-filler", at, "output without end is written to a file");
                    }
                    self.fill(place, data, out);
                }
            }
            Some(Channel::Input(_) | Channel::Nothing) | None => {}
        }
    }

    /// `data` is added to what a file holds.
    pub(super) fn fill(&mut self, place: Place, data: Data, out: &mut Collector) {
        let held = out.held(&place).unwrap_or_default();
        let mut whole = Data { text: held.text, sources: held.sources, endless: false };
        let sources = out.origins(&data.sources);
        whole.append(Data { text: data.text, sources, endless: false });
        out.leave(place, Held { text: whole.text, names: Vec::new(), sources: whole.sources });
    }
}
