//! Rights are raised, and a way through the program ends without lowering them.

use std::collections::BTreeSet;

use super::{
    names,
    source::Source,
    tree::{Command, Node, Piece, RedirectKind, Text, Turns, Value, walk},
};
use crate::collect::Collector;

/// Functions are followed as deep.
const MAX_DEPTH: usize = 6;
/// Statements that are followed, with those of functions as often as they are called.
const MAX_STEPS: usize = 20_000;

/// How the name of what raises rights begins.
const RAISES: [&str; 15] = [
    "raise", "elevate", "escalate", "gain", "become", "assume", "obtain", "acquire", "grant",
    "enter", "enable", "promote", "get", "switch", "add",
];
const LOWERS: [&str; 18] = [
    "lower",
    "drop",
    "restore",
    "release",
    "revoke",
    "leave",
    "relinquish",
    "demote",
    "surrender",
    "deescalate",
    "disable",
    "exit",
    "reset",
    "remove",
    "return",
    "unset",
    "yield",
    "end",
];
/// What is raised.
const RIGHTS: [&str; 20] = [
    "priv",
    "privs",
    "privilege",
    "privileges",
    "privileged",
    "root",
    "admin",
    "administrator",
    "sudo",
    "superuser",
    "permission",
    "permissions",
    "rights",
    "capability",
    "capabilities",
    "elevated",
    "escalated",
    "euid",
    "uid",
    "setuid",
];
/// Groups whose members may do what root may.
const GROUPS: [&str; 9] =
    ["docker", "sudo", "wheel", "admin", "root", "adm", "disk", "lxd", "libvirt"];
/// What neither fails nor leaves.
const SAFE: [&str; 12] = [
    "echo", "printf", ":", "true", "local", "declare", "export", "set", "trap", "sleep", "unset",
    "shift",
];

/// Which rights: each a bit.
type Rights = u8;
const CALLED: Rights = 1;
const SUDOERS: Rights = 2;
const SET_ID: Rights = 4;
const CAPABILITY: Rights = 8;
const GROUP: Rights = 16;

type States = BTreeSet<Rights>;

pub(super) fn note(source: &Source, out: &mut Collector) {
    let ways = Ways::new(source);
    let lowered = ways.lowered();
    if lowered == 0 || ways.trapped() {
        return;
    }
    let mut walked = Walk { ways: &ways, steps: 0, ended: States::new(), raised: 0 };
    let mut last = walked.block(&source.tops, States::from([0]), 0).normal;
    last.append(&mut walked.ended);
    if walked.steps < MAX_STEPS && last.iter().any(|state| state & lowered != 0) {
        let why = "rights are raised, and not lowered on every way out";
        out.defect("privilege-kept", walked.raised, why);
    }
}

/// What raises rights, and what lowers them.
struct Ways<'s, 'n> {
    source: &'s Source<'n>,
    raises: BTreeSet<&'n str>,
    lowers: BTreeSet<&'n str>,
    strict: bool,
}

/// What is assigned in a function, and whether it is a sign of rights.
fn sets(body: &[Node]) -> Vec<(&str, String)> {
    let mut sets = Vec::new();
    walk(body, &mut |node| {
        if let Node::Command(command) = node {
            for one in &command.assigned {
                if let Value::One(text) = &one.value
                    && let Some(value) = text.constant()
                {
                    sets.push((one.name.as_str(), value.to_lowercase()));
                }
            }
        }
    });
    sets
}

impl<'s, 'n> Ways<'s, 'n> {
    fn new(source: &'s Source<'n>) -> Self {
        let strict = source.commands.iter().any(|(command, _)| {
            command.is(&["set"])
                && command.args().iter().any(|arg| {
                    let arg = arg.shown();
                    arg == "errexit" || arg.starts_with('-') && arg.contains('e')
                })
        });
        let mut ways = Self { source, raises: BTreeSet::new(), lowers: BTreeSet::new(), strict };
        let starts = |name: &str, known: &[&str]| {
            names::words(name).first().is_some_and(|word| known.contains(&word.as_str()))
        };
        for one in &source.functions {
            let told = names::has(one.name, &RIGHTS) || says(one.body);
            let set = sets(one.body);
            let high = |value: &str| RIGHTS.contains(&value) || matches!(value, "high" | "0");
            // Another function sets the same to something else.
            let other = set.iter().find_map(|(name, value)| {
                let other = source.functions.iter().filter(|other| other.name != one.name);
                let mut values = other.flat_map(|other| {
                    sets(other.body).into_iter().filter(|(other, _)| other == name)
                });
                values.find(|(_, other)| other != value).map(|(_, other)| (value.clone(), other))
            });
            let (up, down) = match &other {
                Some((own, other)) => (high(own) && !high(other), high(other) && !high(own)),
                None => (false, false),
            };
            let text = (up || down)
                && other.as_ref().is_some_and(|(one, other)| {
                    RIGHTS.contains(&one.as_str()) || RIGHTS.contains(&other.as_str())
                });
            if one.body.len() > 4 {
                continue;
            }
            if starts(one.name, &["elevate", "escalate"])
                || starts(one.name, &RAISES) && (told || up)
                || text && up
            {
                ways.raises.insert(one.name);
            } else if starts(one.name, &LOWERS) && (told || down) || text && down {
                ways.lowers.insert(one.name);
            }
        }
        ways
    }

    /// Rights that something in the program lowers.
    fn lowered(&self) -> Rights {
        let commands = self.source.commands.iter();
        let all = commands.fold(0, |all, (command, _)| all | lowers(command));
        if self.raises.is_empty() || self.lowers.is_empty() { all } else { all | CALLED }
    }

    /// Whether something is done whatever way the program ends.
    fn trapped(&self) -> bool {
        self.source.commands.iter().any(|(command, _)| {
            command.is(&["trap"]) && command.args().len() > 1 && {
                let what = command.args().first().map_or("", |arg| arg.raw.as_str());
                !what.trim_matches(['\'', '"', '-', ' ']).is_empty()
            }
        })
    }
}

/// Whether a function tells that it is about rights.
fn says(body: &[Node]) -> bool {
    let mut found = false;
    walk(body, &mut |node| {
        for text in node.texts() {
            found |= names::words(&text.shown()).iter().any(|word| RIGHTS.contains(&word.as_str()));
        }
    });
    found
}

/// A command without `sudo` in front of it.
fn bare(command: &Command) -> (String, &[Text]) {
    let skip = command
        .words
        .iter()
        .take_while(|word| matches!(word.raw.as_str(), "sudo" | "doas" | "command" | "-n" | "-E"));
    let words = command.words.get(skip.count()..).unwrap_or_default();
    let name = words.first().map_or_else(String::new, Text::shown);
    let name = name.rsplit('/').next().unwrap_or_default().to_owned();
    (name, words.get(1..).unwrap_or_default())
}

fn raises(command: &Command) -> Rights {
    let (name, args) = bare(command);
    let shown: Vec<String> = args.iter().map(Text::shown).collect();
    let into = command.redirects.iter().filter(|one| one.kind == RedirectKind::Out);
    let sudoers = |path: &str| path.starts_with("/etc/sudoers");
    let first = shown.iter().find(|arg| !arg.starts_with('-') || arg.contains('+'));
    let first = first.map_or("", String::as_str);
    let set = first.contains("+s") || first.len() == 4 && first.starts_with(['2', '4', '6']);
    match name.as_str() {
        _ if into.map(|one| one.word.shown()).any(|path| sudoers(&path)) => SUDOERS,
        "tee" | "cp" | "install" if shown.last().is_some_and(|path| sudoers(path)) => SUDOERS,
        "chmod" if set => SET_ID,
        "setcap" if shown.iter().any(|arg| arg.contains("+e") || arg.contains("=e")) => CAPABILITY,
        "usermod" | "gpasswd" | "adduser"
            if shown
                .iter()
                .any(|arg| matches!(arg.as_str(), "-aG" | "-a" | "-Ga" | "-G" | "-a -G"))
                || name == "adduser" && shown.len() == 2 =>
        {
            let group = shown.iter().any(|arg| GROUPS.contains(&arg.as_str()));
            if group { GROUP } else { 0 }
        }
        _ => 0,
    }
}

fn lowers(command: &Command) -> Rights {
    let (name, args) = bare(command);
    let shown: Vec<String> = args.iter().map(Text::shown).collect();
    let has = |what: &str| shown.iter().any(|arg| arg == what);
    match name.as_str() {
        "rm" | "mv" if shown.iter().any(|arg| arg.starts_with("/etc/sudoers")) => SUDOERS,
        "chmod" if shown.iter().any(|arg| arg.contains("-s") || arg.starts_with('0')) => SET_ID,
        "setcap" if has("-r") => CAPABILITY,
        "gpasswd" if has("-d") => GROUP,
        "deluser" => GROUP,
        "usermod" if has("-rG") || has("-r") => GROUP,
        _ => 0,
    }
}

struct Walk<'w, 's, 'n> {
    ways: &'w Ways<'s, 'n>,
    steps: usize,
    /// With what the program has ended early.
    ended: States,
    /// Where rights were raised last.
    raised: u32,
}

/// What may be raised behind a statement.
#[derive(Default)]
struct Ends {
    normal: States,
    /// Where a function or a turn of a loop ends early.
    early: States,
}

impl Walk<'_, '_, '_> {
    fn block<N: std::borrow::Borrow<Node>>(
        &mut self,
        nodes: &[N],
        states: States,
        depth: usize,
    ) -> Ends {
        let mut ends = Ends { normal: states, early: States::new() };
        for node in nodes {
            if ends.normal.is_empty() {
                break;
            }
            let next = self.node(node.borrow(), ends.normal, depth);
            ends.normal = next.normal;
            ends.early.extend(next.early);
        }
        ends
    }

    fn node(&mut self, node: &Node, states: States, depth: usize) -> Ends {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Ends { normal: states, early: States::new() };
        }
        match node {
            Node::Command(command) => self.command(command, states, depth),
            Node::Pipe(nodes) | Node::Group(nodes, _) => self.block(nodes, states, depth),
            Node::Not(inner) => self.node(inner, states, depth),
            Node::Chain(first, rest) => {
                let before = states.clone();
                let mut ends = self.node(first, states, depth);
                let mut sure = self.is_sure(first);
                for (and, node) in rest {
                    // What is done after a failure finds nothing raised by what failed.
                    let given = match (and, sure) {
                        (false, true) => &before,
                        _ => &ends.normal,
                    };
                    let next = self.node(node, given.clone(), depth);
                    if *and && sure {
                        ends.normal = next.normal;
                    } else {
                        ends.normal.extend(next.normal);
                    }
                    ends.early.extend(next.early);
                    sure = sure && self.is_sure(node);
                }
                ends
            }
            Node::If { arms, otherwise, .. } => {
                let mut all = Ends::default();
                let mut left = states;
                for (condition, body) in arms {
                    let before = left.clone();
                    let asked = self.block(condition, left, depth);
                    let (mut yes, mut no) = (asked.normal.clone(), asked.normal);
                    match condition.as_slice() {
                        [Node::Not(inner)] if self.is_sure(inner) => yes = before,
                        [only] if self.is_sure(only) => no = before,
                        _ => {}
                    }
                    let body = self.block(body, std::mem::take(&mut yes), depth);
                    all.normal.extend(body.normal);
                    all.early.extend(asked.early.into_iter().chain(body.early));
                    left = std::mem::take(&mut no);
                }
                match otherwise {
                    Some(body) => {
                        let body = self.block(body, left, depth);
                        all.normal.extend(body.normal);
                        all.early.extend(body.early);
                    }
                    None => all.normal.extend(left),
                }
                all
            }
            Node::Case { arms, .. } => {
                let mut all = Ends::default();
                if !arms.iter().any(|arm| arm.patterns.iter().any(|one| one.raw == "*")) {
                    all.normal.clone_from(&states);
                }
                for arm in arms {
                    let body = self.block(&arm.body, states.clone(), depth);
                    all.normal.extend(body.normal);
                    all.early.extend(body.early);
                }
                all
            }
            Node::Loop(turns) => {
                let mut ends = Ends { normal: states.clone(), early: States::new() };
                if let Turns::While(condition) = &turns.kind {
                    ends = self.block(condition, states, depth);
                } else if matches!(&turns.kind, Turns::Each(_, words) if !words.is_empty()) {
                    ends.normal = States::new();
                }
                let given =
                    if ends.normal.is_empty() { States::from([0]) } else { ends.normal.clone() };
                let body = self.block(&turns.body, given, depth);
                ends.normal.extend(body.normal);
                ends.normal.extend(body.early);
                ends
            }
            Node::Test(..) | Node::Math(..) | Node::Function { .. } => {
                Ends { normal: states, early: States::new() }
            }
        }
    }

    /// Whether it does not fail, as far as rights go.
    fn is_sure(&self, node: &Node) -> bool {
        match node {
            Node::Command(command) => {
                command.is(&SAFE)
                    || raises(command) != 0
                    || lowers(command) != 0
                    || command.name().is_some_and(|name| {
                        self.ways.raises.contains(name.as_str())
                            || self.ways.lowers.contains(name.as_str())
                    })
            }
            Node::Group(nodes, _) => nodes.last().is_some_and(|node| self.is_sure(node)),
            _ => false,
        }
    }

    fn command(&mut self, command: &Command, states: States, depth: usize) -> Ends {
        let mut ends = Ends { normal: states, early: States::new() };
        for text in &command.words {
            for piece in &text.pieces {
                if let Piece::Run(nodes) = piece {
                    ends.normal = self.block(nodes, ends.normal, depth).normal;
                }
            }
        }
        let (name, _) = bare(command);
        let (mut up, mut down) = (raises(command), lowers(command));
        if self.ways.raises.contains(name.as_str()) {
            up |= CALLED;
        } else if self.ways.lowers.contains(name.as_str()) {
            down |= CALLED;
        } else if let Some(function) = self.ways.source.function(&name)
            && depth < MAX_DEPTH
            && let Some(function) = self.ways.source.functions.get(function)
        {
            let body = self.block(function.body, ends.normal, depth + 1);
            ends.normal = body.normal.into_iter().chain(body.early).collect();
            return ends;
        }
        if up != 0 {
            self.raised = command.line;
        }
        ends.normal = ends.normal.into_iter().map(|state| (state | up) & !down).collect();
        match name.as_str() {
            "return" | "continue" | "break" => ends.early = std::mem::take(&mut ends.normal),
            "exit" => self.ended.append(&mut ends.normal),
            "" => {}
            _ if self.ways.strict && up | down == 0 && !command.is(&SAFE) => {
                self.ended.extend(&ends.normal);
            }
            _ => {}
        }
        ends
    }
}
