//! The same key twice in a list that is looked up by key.

use std::collections::{BTreeSet, HashSet};

use super::{
    source::Source,
    tree::{Command, Loop, Node, Redirect, RedirectKind, Test, Text, Turns, Value, walk},
};
use crate::collect::Collector;

/// What stands between a key and its value.
const BETWEEN: [&str; 8] = [",", ":", "=", "|", ";", "\t", "->", " "];

pub(super) fn note(source: &Source, out: &mut Collector) {
    let why = "a key is there twice";
    let facts = Lookups::of(source);
    for (assigned, _) in &source.assigned {
        if let Value::Many(items) = &assigned.value {
            let keys = items.iter().filter_map(|(key, _)| key.as_ref()?.constant());
            if twice(keys) {
                out.defect("duplicate-key", assigned.line, why);
            }
        }
    }
    let names = source.assigned.iter().map(|(one, scope)| (one.name.as_str(), *scope));
    let names: BTreeSet<_> = names.collect();
    for (name, scope) in names {
        let mut line = None;
        let mut items = Vec::new();
        for (assigned, _) in source.assigned_to(name, scope) {
            let Value::Many(values) = &assigned.value else { continue };
            line = line.or(Some(assigned.line));
            if !assigned.append {
                items.clear();
            }
            items.extend(
                values
                    .iter()
                    .filter(|(key, _)| key.is_none())
                    .filter_map(|(_, value)| value.constant()),
            );
        }
        let Some(line) = line else { continue };
        let parallel = facts.indexed.contains(name) && facts.parallel;
        if items.len() >= 2 && facts.looks_up(&items) || parallel && twice(items.into_iter()) {
            out.defect("duplicate-key", line, why);
        }
    }
    documents(source, &facts, out);
    spread(source, &facts, out);
}

fn twice(keys: impl Iterator<Item = String>) -> bool {
    let mut seen = HashSet::new();
    keys.into_iter().any(|key| !seen.insert(key))
}

/// How the program looks for keys.
struct Lookups {
    /// What it splits pairs at.
    splits: Vec<String>,
    compares: bool,
    /// In steps of two, over keys and values.
    steps: bool,
    /// Arrays that are compared one by one.
    indexed: HashSet<String>,
    /// More than one array is read at the same index.
    parallel: bool,
}

impl Lookups {
    fn of(source: &Source) -> Self {
        let mut found = Self {
            splits: Vec::new(),
            compares: false,
            steps: false,
            indexed: HashSet::new(),
            parallel: false,
        };
        let mut at_index: Vec<(String, String)> = Vec::new();
        source.each_node(|node, _| {
            for text in node.texts() {
                for variable in text.variables() {
                    for sign in ["%%", "%", "##*", "#*"] {
                        if let Some(rest) = variable.rest.strip_prefix(sign) {
                            let bare = rest.trim_matches(['*', '"', '\'', '\\']);
                            found.splits.extend((!bare.is_empty()).then(|| bare.to_owned()));
                        }
                    }
                    if let Some(index) =
                        variable.rest.strip_prefix('[').and_then(|rest| rest.split(']').next())
                        && !matches!(index, "@" | "*")
                    {
                        at_index.push((
                            variable.name.clone(),
                            index.trim_start_matches('$').to_owned(),
                        ));
                        found.steps |= index.replace(' ', "").ends_with("+1");
                    }
                    found.steps |= variable.rest.replace(' ', "").ends_with(":2");
                }
            }
            match node {
                Node::Test(test, _) => found.test(test),
                Node::Math(text, _) => found.steps |= by_two(&text.raw),
                Node::Loop(turns) => {
                    if let Turns::Count(_, _, update) = &turns.kind {
                        found.steps |= by_two(update);
                    }
                }
                Node::Case { word, .. } => found.compares |= word.only().is_some(),
                Node::Command(command) => found.command(command),
                _ => {}
            }
        });
        for (name, index) in &at_index {
            if at_index.iter().any(|(other, same)| other != name && same == index) {
                found.parallel = true;
                found.indexed.insert(name.clone());
            }
        }
        found
    }

    fn command(&mut self, command: &Command) {
        for assigned in &command.assigned {
            if assigned.name == "IFS"
                && let Value::One(text) = &assigned.value
                && let Some(text) = text.constant()
            {
                self.splits.extend(text.chars().map(String::from));
            }
            if let Value::One(text) = &assigned.value {
                self.steps |= by_two(&format!("{}={}", assigned.name, text.raw));
            }
        }
        let text: String =
            command.words.iter().map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ");
        self.steps |=
            command.is(&["let"]) && by_two(&text) || command.is(&["shift"]) && command.has(&["2"]);
        if command.is(&["read", "set"]) && !command.assigned.iter().any(|one| one.name == "IFS") {
            self.splits.push(" ".to_owned());
        }
        if command.is(&["awk", "gawk", "cut", "tr"]) {
            for sign in BETWEEN {
                let quoted = [
                    format!("-F{sign}"),
                    format!("-F '{sign}'"),
                    format!("-F\"{sign}\""),
                    format!("-F \"{sign}\""),
                    format!("-F'{sign}'"),
                    format!("-d{sign}"),
                    format!("-d '{sign}'"),
                    format!("-d'{sign}'"),
                    format!("-d \"{sign}\""),
                    format!("-d\"{sign}\""),
                ];
                if quoted.iter().any(|one| text.contains(one.as_str())) {
                    self.splits.push(sign.to_owned());
                }
            }
            self.compares |= text.contains("==") || text.contains('~');
        }
        if command.is(&["grep", "egrep"]) {
            for arg in command.args() {
                let after = arg.pieces.last();
                if let Some(super::tree::Piece::Quoted(tail) | super::tree::Piece::Plain(tail)) =
                    after
                    && arg.raw.trim_start_matches(['"', '\'']).starts_with('^')
                {
                    let tail = tail.trim_matches('"');
                    self.splits.push(tail.to_owned());
                    self.compares = true;
                }
            }
        }
    }

    fn test(&mut self, test: &Test) {
        for (op, one, other) in test.binaries() {
            if op == "==" && (one.only().is_some() || other.only().is_some()) {
                self.compares = true;
                // `[[ $item == "$key",* ]]`
                if let Some(super::tree::Piece::Plain(tail)) = other.pieces.last() {
                    self.splits.extend(tail.strip_suffix('*').map(ToOwned::to_owned));
                }
            }
        }
    }

    /// Whether `items` hold a key twice, in the way that the program reads them.
    fn looks_up(&self, items: &[String]) -> bool {
        if !self.compares {
            return false;
        }
        let split = BETWEEN.iter().any(|sign| {
            self.splits.iter().any(|split| split == sign)
                && items.iter().all(|item| item.contains(sign))
                && twice(
                    items.iter().filter_map(|item| item.split(sign).next()).map(ToOwned::to_owned),
                )
        });
        split
            || self.steps
                && items.len() >= 4
                && items.len().is_multiple_of(2)
                && twice(items.iter().step_by(2).cloned())
    }
}

fn by_two(text: &str) -> bool {
    let text = text.replace([' ', '"', '$', '(', ')'], "");
    text.contains("+=2") || text.contains("+2") && text.contains('=')
}

/// Tables in here-documents and texts of more than one line, which are looked up line by line.
fn documents(source: &Source, facts: &Lookups, out: &mut Collector) {
    let mut tables: Vec<(&Text, u32)> = Vec::new();
    let looks = |command: &Command| command.is(&["awk", "gawk", "grep", "egrep"]);
    let here =
        |redirects: &'_ [Redirect]| redirects.iter().position(|one| one.kind == RedirectKind::Here);
    source.each_node(|node, _| match node {
        Node::Command(command) if looks(command) => {
            let word = here(&command.redirects).and_then(|at| command.redirects.get(at));
            tables.extend(word.map(|one| (&one.word, command.line)));
        }
        Node::Loop(turns) if matches!(turns.kind, Turns::While(_)) => {
            let word = here(&turns.redirects).and_then(|at| turns.redirects.get(at));
            tables.extend(word.map(|one| (&one.word, turns.line)));
        }
        Node::Pipe(nodes) => {
            let [Node::Command(first), rest @ ..] = nodes.as_slice() else { return };
            let read = rest.iter().any(|node| match node {
                Node::Command(command) => looks(command),
                Node::Loop(turns) => matches!(turns.kind, Turns::While(_)),
                _ => false,
            });
            if read && first.is(&["echo", "printf"]) {
                tables.extend(first.args().iter().map(|arg| (arg, first.line)));
            }
        }
        _ => {}
    });
    for (text, line) in tables {
        let values = source.constants(text, None).unwrap_or_default();
        for text in values {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let lines: Vec<String> = lines.map(ToOwned::to_owned).collect();
            if (2..100).contains(&lines.len()) && facts.looks_up(&lines) {
                out.defect("duplicate-key", line, "a key is there twice");
            }
        }
    }
}

/// Longer lists are no tables that somebody wrote down.
const MAX_WORDS: usize = 40;

/// Whether a loop splits what it goes through, and compares.
fn takes_apart(turns: &Loop, name: &str) -> bool {
    let (mut splits, mut compares) = (false, false);
    walk(&turns.body, &mut |node| {
        compares |= matches!(node, Node::Test(test, _) if test.binaries().iter().any(|(op, ..)| *op == "=="));
        for text in node.texts() {
            splits |=
                text.variables().any(|one| one.name == name && one.rest.starts_with(['%', '#']));
        }
        if let Node::Command(command) = node {
            let mut here = command.redirects.iter().filter(|one| one.kind == RedirectKind::Here);
            splits |= here.any(|one| one.word.names().iter().any(|one| one == name));
            splits |= command.is(&["set", "echo", "printf"])
                && command.words.iter().any(|word| word.names().iter().any(|one| one == name));
        }
    });
    splits && compares
}

/// Pairs that are gone through as words: of a text, or of a call.
fn spread(source: &Source, facts: &Lookups, out: &mut Collector) {
    let mut check = |items: &[String], line: u32| {
        let pairs: Vec<String> = items
            .iter()
            .filter(|item| BETWEEN.iter().any(|sign| item.contains(sign)))
            .cloned()
            .collect();
        if pairs.len() > 1 && facts.looks_up(&pairs) {
            out.defect("duplicate-key", line, "a key is there twice");
        }
    };
    source.each_node(|node, scope| match node {
        Node::Loop(turns) => {
            let Turns::Each(name, words) = &turns.kind else { return };
            if !takes_apart(turns, name) {
                return;
            }
            match (words.as_slice(), scope) {
                ([only], Some(at)) if only.only().is_some_and(|one| one.name == "@") => {
                    for (call, from) in source.calls(at) {
                        let items = call.args().iter();
                        let items = items.filter_map(|arg| source.constants(arg, from)).flatten();
                        check(&items.collect::<Vec<_>>(), call.line);
                    }
                }
                _ => {
                    let items = words.iter().filter_map(|word| source.constants(word, scope));
                    let items = items.flatten();
                    let items: Vec<String> = items
                        .flat_map(|text| {
                            text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>()
                        })
                        .collect();
                    if items.len() < MAX_WORDS
                        && items.iter().all(|item| item.contains([',', ':', '=', '|', ';']))
                    {
                        check(&items, turns.line);
                    }
                }
            }
        }
        Node::Command(command) if command.is(&["read"]) && command.has(&["-ra", "-a", "-ar"]) => {
            let by = command.assigned.iter().find(|one| one.name == "IFS");
            let by = by.and_then(|one| match &one.value {
                Value::One(text) => text.constant(),
                Value::Many(_) => None,
            });
            let by = by.unwrap_or_else(|| " ".to_owned());
            for here in command.redirects.iter().filter(|one| one.kind == RedirectKind::Here) {
                for text in source.constants(&here.word, scope).unwrap_or_default() {
                    let items = text.split(|c| by.contains(c)).map(|item| item.trim().to_owned());
                    check(&items.collect::<Vec<_>>(), command.line);
                }
            }
        }
        _ => {}
    });
}
