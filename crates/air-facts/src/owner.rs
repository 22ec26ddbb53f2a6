//! Whose process a source ends: one of its own, or one that it has found.

use air_core::{
    code::{Activity, Operation},
    place::{Place, PlaceKind},
};

use crate::collect::Collector;

/// Commands that tell numbers of processes that run.
const SEARCHES: [&str; 17] = [
    "pgrep",
    "pidof",
    "ps",
    "lsof",
    "ss",
    "netstat",
    "fuser",
    "top",
    "htop",
    "pstree",
    "systemctl",
    "docker",
    "podman",
    "jps",
    "wmic",
    "tasklist",
    "service",
];
/// What stands between a search and a signal, and is no process of interest.
const TOOLS: [&str; 22] = [
    "grep", "egrep", "awk", "gawk", "sed", "cut", "head", "tail", "tr", "sort", "xargs", "kill",
    "pkill", "killall", "echo", "printf", "cat", "sudo", "env", "command", "exec", "test",
];
/// Where the number of a process comes from. Neither can be the name of a variable.
const OWN: &str = "own process";
const FOREIGN: &str = "foreign process";

/// A process of the source itself: `$!`, `os.fork()`.
pub(crate) fn own() -> Place {
    Place::new(PlaceKind::Variable, OWN)
}

/// A process that was found: an entry of `/proc`, `$PPID`.
pub(crate) fn foreign() -> Place {
    Place::new(PlaceKind::Variable, FOREIGN)
}

/// Those of `sources` that tell the number of a process.
pub(crate) fn telling(sources: &[Place]) -> Vec<Place> {
    let tells = |place: &&Place| match place.kind {
        PlaceKind::Variable => matches!(&*place.name, OWN | FOREIGN),
        PlaceKind::Command => SEARCHES.contains(&&*place.name),
        PlaceKind::File => place.name.to_ascii_lowercase().ends_with(".pid"),
        _ => false,
    };
    sources.iter().filter(tells).cloned().collect()
}

/// The labels of the process `target` that a signal goes to, of which `sources` told; none where it
/// may be either.
pub(crate) fn labels(target: &str, sources: &[Place], out: &Collector) -> Vec<String> {
    let label = match owner(target, sources, out) {
        Some(true) => "own",
        Some(false) => "foreign",
        None => return Vec::new(),
    };
    vec![label.to_owned()]
}

/// Whether it is one of the source's own.
fn owner(target: &str, sources: &[Place], out: &Collector) -> Option<bool> {
    let known = air_core::place::is_known(target);
    let number = target.trim_start_matches('-');
    if known && (target.starts_with('%') || number == "0") {
        return Some(true);
    }
    let mut own = false;
    for source in sources {
        match source.kind {
            PlaceKind::Variable if source.name == FOREIGN => return Some(false),
            PlaceKind::Variable if source.name == OWN => own = true,
            PlaceKind::Command if SEARCHES.contains(&source.name.as_str()) => {
                return Some(searched_for_own(out));
            }
            PlaceKind::File => match out.held(source) {
                // What the source, or an earlier step, has put there.
                Some(held) if held.sources.is_empty() => own = true,
                Some(held) => own |= owner(target, &held.sources, out)?,
                None => return Some(false),
            },
            _ => {}
        }
    }
    if own {
        return Some(true);
    }
    if !known {
        return None;
    }
    let launched = |name: &str| launches(out).any(|launch| launch.target == name);
    // Of a whole command line, the program is a part.
    let part = || {
        let mut words = target.split(|c: char| c.is_whitespace() || c == '/');
        words.any(|word| !TOOLS.contains(&word) && launched(word))
    };
    Some(!number.is_empty() && (launched(target) || part()))
}

/// Programs that were started.
fn launches<'o>(out: &'o Collector) -> impl Iterator<Item = &'o Operation> {
    out.since(0).iter().filter(|operation| operation.activity == Activity::ProcessLaunch)
}

/// Whether what is searched for by name was started before.
fn searched_for_own(out: &Collector) -> bool {
    let ignored = |name: &str| SEARCHES.contains(&name) || TOOLS.contains(&name);
    let asks = |name: &str| SEARCHES.contains(&name) || matches!(name, "grep" | "egrep" | "awk");
    let words = launches(out).filter(|launch| asks(&launch.target));
    words.filter_map(|launch| launch.detail.as_deref()).any(|detail| {
        let mut words = detail.split(|c: char| c.is_whitespace() || "'\"/|".contains(c));
        words.any(|word| {
            launches(out).any(|launch| launch.target == word && !ignored(&launch.target))
        })
    })
}
