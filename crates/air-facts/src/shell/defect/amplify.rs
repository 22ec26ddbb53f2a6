//! A small input becomes a much larger output that is sent.

mod count;

use std::collections::BTreeSet;

use super::{
    source::{Scope, Source},
    tree::{Command, Node, Piece, Redirect, RedirectKind, Text, Value, Variable},
};
use crate::collect::Collector;
use count::{is_sum, multiplies, processes, program_counts, ranged};

/// As often is a text repeated, at least.
const MANY: u64 = 1000;
/// More processes than that are not started for it: the output takes longer than it harms.
const MAX_PROCESSES: u64 = 15_000;
/// Rounds until what is large is found through variables and functions.
const ROUNDS: usize = 8;

const SENDS: [&str; 10] =
    ["nc", "ncat", "netcat", "socat", "telnet", "curl", "wget", "logger", "hping3", "openssl"];
/// Commands whose output is small however large their input is.
const SHRINKS: [&str; 14] = [
    "wc",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "cksum",
    "uniq",
    "tail",
    "gzip",
    "bzip2",
    "xz",
    "zstd",
    "cut",
    "grep",
];

pub(super) fn note(source: &Source, out: &mut Collector) {
    let mut large = Large::new(source);
    for _ in 0..ROUNDS {
        let before = large.size();
        large.round();
        if large.size() == before {
            break;
        }
    }
    let mut lines = BTreeSet::new();
    for (node, scope) in large.tops() {
        large.sent(node, scope, 1, &mut lines);
    }
    for line in lines {
        out.defect("amplification", line, "a small input is sent as a much larger output");
    }
}

struct Large<'n> {
    source: &'n Source<'n>,
    variables: BTreeSet<(String, bool)>,
    parameters: BTreeSet<(usize, usize)>,
    functions: BTreeSet<usize>,
    files: BTreeSet<String>,
}

impl<'n> Large<'n> {
    fn new(source: &'n Source<'n>) -> Self {
        Self {
            source,
            variables: BTreeSet::new(),
            parameters: BTreeSet::new(),
            functions: BTreeSet::new(),
            files: BTreeSet::new(),
        }
    }

    fn size(&self) -> usize {
        self.variables.len() + self.parameters.len() + self.functions.len() + self.files.len()
    }

    fn tops(&self) -> Vec<(&'n Node, Scope)> {
        let mut all: Vec<(&'n Node, Scope)> =
            self.source.tops.iter().map(|node| (*node, None)).collect();
        for (at, function) in self.source.functions.iter().enumerate() {
            all.extend(function.body.iter().map(|node| (node, Some(at))));
        }
        all
    }

    fn round(&mut self) {
        for (node, scope) in self.tops() {
            self.assign(node, scope, 1);
        }
        for (at, function) in self.source.functions.iter().enumerate() {
            if function.body.iter().any(|node| self.prints(node, Some(at), 1)) {
                self.functions.insert(at);
            }
        }
    }

    /// What becomes large in `node`, which runs `times` times.
    fn assign(&mut self, node: &'n Node, scope: Scope, times: u64) {
        if let Node::Command(command) = node {
            for assigned in &command.assigned {
                let own = |text: &Text| {
                    text.variables()
                        .filter(|one| one.name == assigned.name && one.is_plain())
                        .count()
                };
                match &assigned.value {
                    Value::One(text) => {
                        let grows = assigned.append || own(text) > 0;
                        let costs = times.saturating_mul(processes(&text.raw));
                        let doubles = own(text) > 1 && times >= 10
                            || assigned.append && own(text) > 0 && times >= 10;
                        if doubles
                            || grows && times >= MANY && costs <= MAX_PROCESSES && !is_sum(text)
                            || self.is_large(text, scope)
                        {
                            self.variables.insert((assigned.name.clone(), false));
                        }
                    }
                    Value::Many(items) => {
                        let grows = assigned.append && times >= MANY;
                        if grows
                            || items
                                .iter()
                                .any(|(_, text)| self.is_large(text, scope) || ranged(text) >= MANY)
                        {
                            self.variables.insert((assigned.name.clone(), true));
                        }
                    }
                }
            }
            if let Some(called) = command.name().and_then(|name| self.source.function(&name)) {
                for (number, text) in command.words.iter().enumerate().skip(1) {
                    if self.is_large(text, scope) {
                        self.parameters.insert((called, number));
                    }
                }
            }
            if command.is(&["printf"])
                && let [flag, name, rest @ ..] = command.args()
                && flag.raw == "-v"
                && let Some(name) = name.constant()
                && self.repeats(rest, scope)
            {
                self.variables.insert((name, false));
            }
            if command.is(&["read", "mapfile", "readarray"])
                && command.redirects.iter().any(|one| self.is_large(&one.word, scope))
            {
                let names = command
                    .args()
                    .iter()
                    .filter_map(Text::constant)
                    .filter(|name| !name.starts_with('-'));
                self.variables.extend(names.map(|name| (name, false)));
            }
            if self.prints(node, scope, 1) {
                self.keep(&command.redirects);
            }
        }
        if let Node::Pipe(_) = node
            && self.prints_pipe(node, scope)
            && let Node::Pipe(nodes) = node
            && let Some(Node::Command(last)) = nodes.last()
        {
            self.keep(&last.redirects);
            if last.is(&["tee"]) {
                self.files.extend(last.args().iter().map(|arg| arg.raw.clone()));
            }
        }
        let inner = match node {
            Node::Loop(turns) => {
                let times = times.saturating_mul(self.turns(turns, scope));
                if turns.body.iter().any(|node| self.prints(node, scope, times)) {
                    self.keep(&turns.redirects);
                }
                times
            }
            _ => times,
        };
        for text in node.texts() {
            for nodes in text.runs() {
                for node in nodes {
                    self.assign(node, scope, times);
                }
            }
        }
        for nodes in node.blocks() {
            for node in nodes {
                self.assign(node, scope, inner);
            }
        }
    }

    fn keep(&mut self, redirects: &[Redirect]) {
        let files = redirects.iter().filter(|one| one.kind == RedirectKind::Out);
        self.files.extend(files.map(|one| one.word.raw.clone()));
    }

    fn is_large(&self, text: &Text, scope: Scope) -> bool {
        text.pieces.iter().any(|piece| match piece {
            Piece::Variable(variable) => self.is_large_variable(variable, scope),
            Piece::Run(nodes) => nodes.iter().any(|node| self.prints(node, scope, 1)),
            _ => false,
        })
    }

    fn is_large_variable(&self, variable: &Variable, scope: Scope) -> bool {
        if variable.prefix == Some('#') || shortened(variable) {
            return false;
        }
        if let (Ok(number), Some(at)) = (variable.name.parse::<usize>(), scope) {
            return self.parameters.contains(&(at, number));
        }
        if matches!(variable.name.as_str(), "@" | "*") {
            return self.parameters.iter().any(|(at, _)| Some(*at) == scope);
        }
        let whole = variable.rest.starts_with("[@]") || variable.rest.starts_with("[*]");
        self.variables.contains(&(variable.name.clone(), false))
            && !variable.rest.starts_with("[0]")
            || whole && self.variables.contains(&(variable.name.clone(), true))
    }

    /// Whether `node`, which runs `times` times, prints much.
    fn prints(&self, node: &Node, scope: Scope, times: u64) -> bool {
        match node {
            Node::Command(command) => {
                let away = command.redirects.iter().any(|one| {
                    one.kind == RedirectKind::Out && !one.word.raw.starts_with(['1', '2', '&'])
                });
                !away && self.prints_command(command, scope, times)
            }
            Node::Pipe(_) => self.prints_pipe(node, scope),
            Node::Loop(turns) => {
                let times = times.saturating_mul(self.turns(turns, scope));
                turns.body.iter().any(|node| self.prints(node, scope, times))
            }
            Node::Function { .. } => false,
            _ => node.blocks().into_iter().flatten().any(|node| self.prints(node, scope, times)),
        }
    }

    fn prints_command(&self, command: &Command, scope: Scope, times: u64) -> bool {
        let Some(name) = command.name() else { return false };
        if let Some(at) = self.source.function(&name) {
            return self.functions.contains(&at);
        }
        let here = command.redirects.iter().any(|one| match one.kind {
            RedirectKind::Here => self.is_large(&one.word, scope),
            RedirectKind::In => self.files.contains(&one.word.raw),
            RedirectKind::Out => false,
        });
        match name.as_str() {
            "echo" | "printf" => {
                let costs: u64 = command.args().iter().map(|arg| processes(&arg.raw)).sum();
                times >= MANY
                    && times.saturating_mul(costs) <= MAX_PROCESSES
                    && !command.args().is_empty()
                    || name == "printf" && self.repeats(command.args(), scope)
                    || name == "echo" && command.args().iter().any(|arg| ranged(arg) >= MANY)
                    || command.args().iter().any(|arg| self.is_large(arg, scope))
            }
            "cat" => here || command.args().iter().any(|arg| self.files.contains(&arg.raw)),
            "seq" => self.count_of(command, scope) >= MANY,
            "jot" | "yes" => true,
            "head" | "dd" => endless(command) && self.count_of(command, scope) >= MANY,
            "perl" | "awk" | "gawk" | "python" | "python3" | "ruby" | "php" | "node" | "lua" => {
                command
                    .args()
                    .iter()
                    .any(|arg| multiplies(&arg.shown()) || program_counts(arg, self, scope))
            }
            "tr" | "sed" | "rev" | "base64" | "xxd" | "fold" | "tee" | "od" => here,
            _ => false,
        }
    }

    fn prints_pipe(&self, node: &Node, scope: Scope) -> bool {
        let Node::Pipe(nodes) = node else { return false };
        let mut large = false;
        for node in nodes {
            let Node::Command(command) = node else {
                large = self.prints(node, scope, 1) || large && !matches!(node, Node::Test(..));
                continue;
            };
            let own = self.prints(node, scope, 1);
            let name = command.name().unwrap_or_default();
            large = match name.as_str() {
                "head" => (large || own) && self.count_of(command, scope) >= MANY,
                name if SHRINKS.contains(&name) => false,
                name if SENDS.contains(&name) => false,
                _ => own || large,
            };
        }
        large
    }

    /// The lines where something large is sent.
    fn sent(&self, node: &Node, scope: Scope, times: u64, lines: &mut BTreeSet<u32>) {
        match node {
            Node::Command(command) => {
                let network = to_network(&command.redirects, self.source);
                let sends = command.is(&SENDS);
                let many = times >= MANY && (sends || network);
                if many
                    || network && self.prints_command(command, scope, 1)
                    || sends
                        && (command.args().iter().any(|arg| {
                            self.is_large(arg, scope)
                                || arg
                                    .raw
                                    .strip_prefix('@')
                                    .is_some_and(|file| self.files.contains(file))
                        }) || command.redirects.iter().any(|one| match one.kind {
                            RedirectKind::Here => self.is_large(&one.word, scope),
                            RedirectKind::In => self.files.contains(&one.word.raw),
                            RedirectKind::Out => false,
                        }))
                {
                    lines.insert(command.line);
                }
            }
            Node::Pipe(nodes) => {
                if let Some((last, before)) = nodes.split_last()
                    && let Node::Command(last) = last
                    && (last.is(&SENDS) || to_network(&last.redirects, self.source))
                {
                    let large = match before {
                        [one] => self.prints(one, scope, 1),
                        [] => false,
                        [first, ..] => {
                            let shrinks = before.iter().any(|node| matches!(node, Node::Command(command) if command.is(&SHRINKS)));
                            !shrinks && (self.prints(first, scope, 1) || before.iter().any(|node| self.prints(node, scope, 1)))
                                && !before.iter().any(|node| matches!(node, Node::Command(command) if command.is(&["head"]) && self.count_of(command, scope) < MANY))
                        }
                    };
                    if large || times >= MANY {
                        lines.insert(last.line);
                    }
                }
            }
            Node::Loop(turns) => {
                let times = times.saturating_mul(self.turns(turns, scope));
                if to_network(&turns.redirects, self.source)
                    && turns.body.iter().any(|node| self.prints(node, scope, times))
                {
                    lines.insert(turns.line);
                }
                turns.body.iter().for_each(|node| self.sent(node, scope, times, lines));
                return;
            }
            Node::Group(nodes, redirects)
                if to_network(redirects, self.source)
                    && nodes.iter().any(|node| self.prints(node, scope, times)) =>
            {
                lines.extend(nodes.first().map(line));
            }
            _ => {}
        }
        for text in node.texts() {
            text.runs().flatten().for_each(|node| self.sent(node, scope, times, lines));
        }
        node.blocks().into_iter().flatten().for_each(|node| self.sent(node, scope, times, lines));
    }
}

fn line(node: &Node) -> u32 {
    match node {
        Node::Command(command) => command.line,
        Node::Loop(turns) => turns.line,
        _ => 1,
    }
}

/// Whether output goes to a connection.
fn to_network(redirects: &[Redirect], source: &Source) -> bool {
    redirects.iter().filter(|one| one.kind == RedirectKind::Out).any(|one| {
        let shown = one.word.shown();
        shown.starts_with("/dev/tcp/")
            || shown.starts_with("/dev/udp/")
            || one.word.raw.parse::<u8>().is_ok_and(|number| number > 2) && source.connected
            || one.word.only().is_some() && source.connected
    })
}

/// A part of fixed, small length.
fn shortened(variable: &Variable) -> bool {
    variable.rest.starts_with(':')
        && variable
            .rest
            .rsplit(':')
            .next()
            .and_then(|text| text.trim().parse::<u64>().ok())
            .is_some_and(|length| length < MANY)
        && variable.rest.matches(':').count() > 1
}

fn endless(command: &Command) -> bool {
    command.words.iter().any(|word| {
        ["/dev/zero", "/dev/urandom", "/dev/random"].iter().any(|name| word.raw.contains(name))
    }) || command.redirects.iter().any(|one| one.word.raw.starts_with("/dev/"))
}
