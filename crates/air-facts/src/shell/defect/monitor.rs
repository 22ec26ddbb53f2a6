//! The machine is watched: its load, its network, its screen, what is copied, typed, and changed.

use super::{
    source::{Scope, Source},
    tree::{Command, Node, Piece, RedirectKind, Text},
};
use crate::collect::Collector;

/// Commands that watch, whatever they are told.
const WATCHES: [&str; 47] = [
    "top",
    "htop",
    "atop",
    "btop",
    "vmstat",
    "iostat",
    "mpstat",
    "sar",
    "pidstat",
    "dstat",
    "nmon",
    "glances",
    "iotop",
    "iftop",
    "nethogs",
    "bmon",
    "ifstat",
    "nload",
    "vnstat",
    "tcpdump",
    "tshark",
    "dumpcap",
    "ngrep",
    "inotifywait",
    "inotifywatch",
    "fswatch",
    "fatrace",
    "scrot",
    "gnome-screenshot",
    "xwd",
    "maim",
    "grim",
    "spectacle",
    "flameshot",
    "screencapture",
    "xprintidle",
    "xev",
    "logkeys",
    "showkey",
    "evtest",
    "sensors",
    "nvidia-smi",
    "powertop",
    "turbostat",
    "collectl",
    "auditctl",
    "bpftrace",
];
/// Commands that tell how the machine does, at that moment.
const TELLS: [&str; 8] = ["free", "uptime", "df", "ps", "netstat", "ss", "who", "w"];
/// Files that tell it.
const COUNTERS: [&str; 14] = [
    "/proc/stat",
    "/proc/meminfo",
    "/proc/loadavg",
    "/proc/net/dev",
    "/proc/net/tcp",
    "/proc/net/udp",
    "/proc/net/snmp",
    "/proc/net/netstat",
    "/proc/diskstats",
    "/proc/vmstat",
    "/proc/pressure/",
    "/proc/interrupts",
    "/dev/input/",
    "/sys/class/thermal/",
];

pub(super) fn note(source: &Source, out: &mut Collector) {
    for (command, scope) in &source.commands {
        if watches(command, *scope, source) {
            let why = "it watches what the machine does, shows, or is given";
            out.defect("system-monitoring", command.line, why);
            let (name, _) = bare(command);
            out.watched(name.as_deref().unwrap_or("state"), command.line);
        }
    }
    // Again and again, what tells a state becomes a watch.
    source.each_node(|node, _| {
        let Node::Loop(turns) = node else { return };
        let (mut waits, mut tells) = (false, None);
        let mut see = |node: &Node| {
            if let Node::Command(command) = node {
                waits |= command.is(&["sleep"]);
                if tells.is_none() && told(command) {
                    tells = Some(command.line);
                }
                let called = command.name().and_then(|name| source.function(&name));
                if let Some(function) = called.and_then(|at| source.functions.get(at)) {
                    super::tree::walk(function.body, &mut |node| {
                        if let Node::Command(inner) = node {
                            waits |= inner.is(&["sleep"]);
                            if tells.is_none() && told(inner) {
                                tells = Some(command.line);
                            }
                        }
                    });
                }
            }
        };
        for block in node.blocks() {
            super::tree::walk(block, &mut see);
        }
        if waits && let Some(line) = tells {
            let why = "how the machine does is asked again and again";
            out.defect("system-monitoring", line.max(turns.line), why);
            out.watched("state", line.max(turns.line));
        }
    });
}

fn told(command: &Command) -> bool {
    let (name, args) = bare(command);
    let Some(name) = name else { return false };
    match name.as_str() {
        // A process, a port or a file system that is asked for by name is waited for, not watched.
        "ps" => !has(args, |arg| arg == "-p" || arg.starts_with("--pid")),
        "df" | "ss" | "netstat" | "who" | "w" => args.len() < 3,
        name => TELLS.contains(&name),
    }
}

fn watches(command: &Command, scope: Scope, source: &Source) -> bool {
    let counted = command
        .args()
        .iter()
        .chain(
            command
                .redirects
                .iter()
                .filter(|one| one.kind == RedirectKind::In)
                .map(|one| &one.word),
        )
        .any(|word| is_counter(word, scope, source));
    let (name, args) = bare(command);
    let Some(name) = name else { return false };
    if has(args, |arg| matches!(arg, "--version" | "--help" | "-V")) {
        return false;
    }
    match name.as_str() {
        "echo" | "printf" | "test" | "[" | "ls" | "[[" => false,
        "import" => has(args, |arg| arg == "-window" || arg == "root"),
        "xclip" => has(args, |arg| arg == "-o" || arg == "-out" || arg == "--output"),
        "xsel" => !has(args, |arg| arg == "-i" || arg == "--input") && !args.is_empty(),
        "wl-paste" | "pbpaste" | "dbus-monitor" => true,
        "xinput" => has(args, |arg| arg.starts_with("test")),
        "ffmpeg" => has(args, |arg| arg == "x11grab" || arg == "avfoundation"),
        "watch" => args.iter().any(|arg| {
            let words = names(&arg.shown());
            words.iter().any(|word| TELLS.contains(&word.as_str()) || word == "cat")
        }),
        "ss" | "netstat" => has(args, |arg| {
            matches!(arg, "-i" | "-s" | "-c" | "--continuous" | "--statistics" | "-ic")
        }),
        "ip" => has(args, |arg| arg == "-s" || arg == "-stats" || arg == "monitor"),
        "udevadm" => has(args, |arg| arg == "monitor"),
        name => counted || WATCHES.contains(&name),
    }
}

fn names(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).map(ToOwned::to_owned).collect()
}

/// A command without what only starts it.
fn bare(command: &Command) -> (Option<String>, &[Text]) {
    const STARTS: [&str; 7] = ["sudo", "doas", "timeout", "nohup", "command", "exec", "stdbuf"];
    let mut words = command.words.as_slice();
    let mut skipping = false;
    while let Some((first, rest)) = words.split_first() {
        let shown = first.shown();
        let amount = shown.starts_with(|c: char| c.is_ascii_digit()) || shown.starts_with('-');
        if !(STARTS.contains(&shown.as_str()) || skipping && amount) {
            break;
        }
        skipping = true;
        words = rest;
    }
    let name = words.first().and_then(Text::constant);
    let name = name.map(|name| name.rsplit('/').next().unwrap_or(&name).to_owned());
    (name, words.get(1..).unwrap_or_default())
}

fn has(args: &[Text], is: impl Fn(&str) -> bool) -> bool {
    args.iter().any(|arg| is(&arg.shown()))
}

/// Whether a word is a file of counters, or of what is typed.
fn is_counter(word: &Text, scope: Scope, source: &Source) -> bool {
    let counter = |path: &str| {
        COUNTERS.iter().any(|known| match known.strip_suffix('/') {
            Some(_) => path.starts_with(known),
            None => path == *known,
        }) || path.starts_with("/sys/class/net/") && path.contains("/statistics/")
            || path.starts_with("/sys/block/") && path.ends_with("/stat")
    };
    let whole = word.pieces.iter().map(|piece| match piece {
        Piece::Plain(text) | Piece::Quoted(text) => text.as_str(),
        _ => "x",
    });
    counter(&whole.collect::<String>())
        || source.constants(word, scope).is_some_and(|all| all.iter().any(|path| counter(path)))
}
