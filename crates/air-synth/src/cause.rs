//! Which of a step's calls caused the incident.

use air_core::{
    code::{Call, CodeFacts},
    effects::{ConnectionEffect, Effects, FileEffect, ProcessEffect, ReadEffect},
    step::Arguments,
};

use crate::naming::{Naming, absolute, names};

/// Calls that change nothing. They explain an effect only where nothing else does.
const HARMLESS: [&str; 25] = [
    "[",
    "basename",
    "cat",
    "cd",
    "dirname",
    "du",
    "echo",
    "file",
    "grep",
    "head",
    "ls",
    "len",
    "os.listdir",
    "os.stat",
    "printf",
    "print",
    "pwd",
    "sleep",
    "stat",
    "str",
    "tail",
    "test",
    "time.sleep",
    "wc",
    "which",
];
/// More calls than this are a program, not a cause.
const MAX_CALLS: usize = 8;

/// One call that had a part in the incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its name.
    pub(crate) name: String,
    /// The arguments that matter.
    pub(crate) telling: Vec<String>,
    /// All that are literal, in order.
    pub(crate) literal: Vec<String>,
    /// Whether that is all of them.
    pub(crate) whole: bool,
}

impl Part {
    fn new(call: &Call, telling: Vec<String>) -> Self {
        let literal: Vec<String> =
            call.args.iter().filter(|arg| is_literal(arg)).cloned().collect();
        let whole = literal.len() == call.args.len();
        Self { name: call.name.clone(), telling, literal, whole }
    }
}

/// The calls that caused an effect: all of them together.
pub(crate) type Parts = Vec<Part>;

/// One effect.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effect<'a> {
    /// On a file.
    File(&'a FileEffect),
    /// A file that was read.
    Read(&'a ReadEffect),
    /// A process left running.
    Process(&'a ProcessEffect),
    /// A connection.
    Connection(&'a ConnectionEffect),
}

impl<'a> Effect<'a> {
    pub(crate) fn all(effects: &'a Effects) -> impl Iterator<Item = Self> {
        let files = effects.files.items.iter().map(Self::File);
        let processes = effects.processes.items.iter().map(Self::Process);
        let reads = effects.reads.items.iter().map(Self::Read);
        files
            .chain(reads)
            .chain(processes)
            .chain(effects.connections.items.iter().map(Self::Connection))
    }

    /// Effects with this one only.
    pub(crate) fn alone(self) -> Effects {
        let mut alone = Effects::default();
        match self {
            Self::File(file) => alone.files.items.push(file.clone()),
            Self::Read(read) => alone.reads.items.push(read.clone()),
            Self::Process(process) => alone.processes.items.push(process.clone()),
            Self::Connection(connection) => alone.connections.items.push(connection.clone()),
        }
        alone
    }

    /// The calls that caused it; none if they cannot be told.
    pub(crate) fn causes(self, code: &CodeFacts) -> Parts {
        let parts: Parts = match self {
            Self::File(file) => of_file(code, file),
            // Reading is all that a harmless call does.
            Self::Read(read) => {
                return naming(code, |arg| arg == read.path).into_iter().collect();
            }
            Self::Process(process) => return of_process(code, &process.argv),
            Self::Connection(connection) => {
                let host = &connection.host;
                naming(code, |arg| !host.is_empty() && arg.contains(host)).into_iter().collect()
            }
        };
        // `./run.sh; ls .` names the directory that changed, and is not what changed it.
        if parts.iter().any(|part| !is_harmless(&part.name)) { parts } else { Vec::new() }
    }
}

/// All calls with an effect of their own, where the code says nothing of which one it was.
pub(crate) fn anything(code: &CodeFacts) -> Parts {
    let mut parts: Parts = Vec::new();
    for call in code.calls.iter().filter(|call| !is_harmless(&call.name) && is_literal(&call.name))
    {
        let telling: Vec<String> =
            call.args.iter().filter(|arg| is_literal(arg)).cloned().collect();
        let part = Part::new(call, telling.clone());
        if !telling.is_empty() && !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.truncate(MAX_CALLS);
    parts
}

/// The argument of a tool without source that says what it is about.
pub(crate) fn path(arguments: &Arguments) -> Option<&str> {
    arguments.get("path").or_else(|| arguments.get("file_path")).and_then(|path| path.as_str())
}

fn of_file(code: &CodeFacts, file: &FileEffect) -> Parts {
    let is_target = |arg: &str, how| names(arg, &file.path) == Some(how);
    let target = |how| naming(code, move |arg| is_target(arg, how));
    let Some(origin) = &file.origin else {
        return target(Naming::Itself).or_else(|| target(Naming::Above)).into_iter().collect();
    };
    // In `cp /etc/passwd passwd` the second word is the end of both paths, and means the new one.
    let is_source = |arg: &str, how| names(arg, origin) == Some(how) && absolute(arg) != file.path;
    for how in [Naming::Itself, Naming::Above] {
        // One call that names both copied it: where to is an accident, what from is not.
        let copies = code.calls.iter().filter(|call| {
            let mut literal = call.args.iter().filter(|arg| is_literal(arg));
            literal.any(|arg| names(arg, &file.path).is_some() && !is_source(arg, how))
        });
        let copies = copies.filter_map(|call| part(call, |arg| is_source(arg, how)));
        if let Some(copy) = closest(copies) {
            return vec![copy];
        }
        let source = naming(code, |arg| is_source(arg, how));
        if let Some(source) = source {
            return [Some(source), target(Naming::Itself)].into_iter().flatten().collect();
        }
    }
    target(Naming::Itself).into_iter().collect()
}

fn of_process(code: &CodeFacts, argv: &[String]) -> Parts {
    let Some((command, args)) = argv.split_first() else { return Vec::new() };
    let command = base(command);
    let is_it = |call: &&Call| base(&call.name) == command && call.args == args;
    let Some(call) = code.calls.iter().find(is_it) else { return Vec::new() };
    // `nohup sleep 9`: what keeps it running is part of the cause.
    let keeps = code.calls.iter().filter(|outer| {
        let at = outer.args.len().checked_sub(argv.len());
        let tail = at.and_then(|at| outer.args.get(at..));
        tail.and_then(<[String]>::split_first)
            .is_some_and(|(first, rest)| base(first) == command && rest == args)
    });
    let keeps = keeps.map(|outer| Part::new(outer, Vec::new()));
    keeps.chain([Part::new(call, args.to_vec())]).take(MAX_CALLS).collect()
}

fn base(command: &str) -> &str {
    command.rsplit('/').next().unwrap_or(command)
}

/// The closest call with an argument that `is_named`.
fn naming(code: &CodeFacts, is_named: impl Fn(&str) -> bool) -> Option<Part> {
    closest(code.calls.iter().filter_map(|call| part(call, &is_named)))
}

fn part(call: &Call, is_named: impl Fn(&str) -> bool) -> Option<Part> {
    let literal = || call.args.iter().filter(|arg| is_literal(arg));
    let named = literal().any(|arg| is_named(arg));
    let telling = literal().filter(|arg| is_named(arg) || is_write_mode(&call.name, arg));
    (named && is_literal(&call.name)).then(|| Part::new(call, telling.cloned().collect()))
}

/// The argument that makes `open` write: without it, reading the same file would be blocked.
fn is_write_mode(name: &str, arg: &str) -> bool {
    name.rsplit('.').next() == Some("open")
        && arg.chars().all(|c| "rwaxbt+".contains(c))
        && arg.contains(['w', 'a', 'x', '+'])
}

/// One that does something, and the inner one of `sudo cp a b`.
fn closest(parts: impl Iterator<Item = Part>) -> Option<Part> {
    parts.min_by_key(|part| (is_harmless(&part.name), part.literal.len()))
}

fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("os.path.")
}

fn is_literal(text: &str) -> bool {
    !text.starts_with("${")
}
