//! Simple commands: assignments, words, redirections, functions, and where output goes.

use std::rc::Rc;

use air_core::place::{Held, Place, PlaceKind};
use brush_parser::ast::{self, CommandPrefixOrSuffixItem as Item, SourceLocation as _};

use super::{
    defect,
    eval::Shell,
    lex::Within,
    state::{Channel, Variable},
    twice,
    word::{Data, Word},
};
use crate::collect::Collector;

/// Functions within themselves are followed this deep.
const MAX_RECURSION: usize = 2;

impl Shell {
    pub(super) fn simple(&mut self, simple: &ast::SimpleCommand, out: &mut Collector) {
        let at = self.at(simple.location());
        self.visited.follow(simple);
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
                    words.push(self.process_of(kind, subshell, out));
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
                    words.push(self.process_of(kind, subshell, out));
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

    pub(super) fn process_of(
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

    pub(super) fn alias(&self, simple: &ast::SimpleCommand, name: &str) -> Option<String> {
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

    pub(super) fn assignment(
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
                for (key, word) in elements {
                    if let Some(key) = key {
                        self.word(&key.value, Within::Command, at, out);
                    }
                    values.extend(self.words(&word.value, at, out));
                }
                values
            }
        };
        for value in &values {
            out.mention(value.as_written());
        }
        if let ast::AssignmentName::VariableName(name) = &assignment.name
            && let Some(value) = values.first()
        {
            twice::hook(name, value, at, out);
            if name == "HISTFILE" && matches!(value.as_written(), "" | "/dev/null") {
                self.forgets(at, out);
            }
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
                if index.contains(['$', '`']) {
                    self.arithmetic(index, at, out);
                }
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
        let depth = self.active.iter().filter(|active| *active == name).count();
        // Once more, for what it changed meanwhile.
        if depth > 1 && self.state.arguments.as_deref().is_some_and(|known| known == args) {
            return;
        }
        if depth > MAX_RECURSION {
            return out
                .incomplete_at(at, format!("`{name}` calls itself further than is followed"));
        }
        let before = self.state.arguments.replace(Rc::new(args.to_vec()));
        self.active.push(name.to_owned());
        let ast::FunctionBody(body, redirects) = &function.body;
        self.redirected(redirects.as_ref(), at, out, |shell, out| shell.compound(body, out));
        self.active.pop();
        self.state.ended = false;
        self.state.arguments = before;
        if depth == 0 {
            self.followed(&function, out);
        }
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
                    fill(place, data, out);
                }
            }
            Some(Channel::Input(_) | Channel::Nothing) | None => {}
        }
    }
}

/// `data` is added to what a file holds.
pub(super) fn fill(place: Place, data: Data, out: &mut Collector) {
    if let Some(text) = &data.text {
        out.wrote(&place, text);
    }
    let held = out.held(&place).unwrap_or_default();
    let mut whole = Data { text: held.text, sources: held.sources, endless: false };
    let sources = out.origins(&data.sources);
    whole.append(Data { text: data.text, sources, endless: false });
    out.leave(place, Held { text: whole.text, sources: whole.sources, ..Held::default() });
}
