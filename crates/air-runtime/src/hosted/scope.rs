//! Which calls belong to a response: they look around, or change what the incident changed.

use std::path::Path;

use air_core::{
    code::{Activity, CodeFacts, Operation},
    effects::Effects,
};

/// Programs that only look, whatever they are given; what their output is written to counts by itself.
const VIEWERS: [&str; 21] = [
    "cat",
    "cmp",
    "diff",
    "du",
    "echo",
    "file",
    "grep",
    "head",
    "ls",
    "md5sum",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "sha256sum",
    "stat",
    "tail",
    "test",
    "tree",
    "true",
    "wc",
];
/// Programs that put right what they are told to, and whose operations are known one by one.
const MENDERS: [&str; 12] = [
    "chmod", "chown", "cp", "git", "mkdir", "mv", "rm", "rmdir", "shred", "touch", "truncate",
    "unlink",
];
/// Commands of `git` that change nothing.
const LOOKS: [&str; 6] = ["status", "diff", "log", "show", "ls-files", "ls-tree"];

/// Why a call is no part of the response to what `effects` show; `None`: it is. `absolute` says what a
/// path means.
///
/// What cannot be told is no part of it.
pub(crate) fn outside(
    code: &CodeFacts,
    effects: &Effects,
    absolute: &dyn Fn(&str) -> String,
) -> Option<String> {
    if let Some(why) = code.incomplete.first() {
        return Some(format!("what it does cannot be told: {why}"));
    }
    if code.language.is_none() && code.operations.is_empty() {
        return Some("what it does is not known".to_owned());
    }
    let of_incident = |path: &str| {
        let path = absolute(path);
        effects.files.items.iter().any(|file| Path::new(&path).starts_with(&file.path))
    };
    code.operations.iter().find_map(|operation| {
        let Operation { activity, target, via, detail, .. } = operation;
        let is_part = match activity {
            Activity::FileRead | Activity::DirectoryList | Activity::EnvironmentRead => true,
            Activity::FileWrite
            | Activity::FileDelete
            | Activity::FilePermission
            | Activity::FileOwner => of_incident(target),
            Activity::ProcessLaunch => {
                let said = detail.as_deref().unwrap_or_default();
                // A path may hold spaces: what the program does to it is known, too.
                let is_told = |other: &Operation| {
                    other.via == *target
                        && said.contains(&other.target)
                        && of_incident(&other.target)
                };
                let is_about =
                    said.split_whitespace().any(of_incident) || code.operations.iter().any(is_told);
                let mends = MENDERS.contains(&target.as_str()) && is_about;
                mends || looks(target, detail.as_deref())
            }
            Activity::ProcessKill => {
                effects.processes.items.iter().any(|process| process.pid.to_string() == *target)
            }
            Activity::NetworkConnect
            | Activity::NetworkListen
            | Activity::AccountChange
            | Activity::SystemChange
            | Activity::CodeRun => false,
        };
        (!is_part).then(|| format!("{} of `{target}` by `{via}`", activity.name()))
    })
}

/// Whether a program changes no more than what its operations say.
pub(super) fn does_as_told(program: &str, arguments: Option<&str>) -> bool {
    (program != "git" && MENDERS.contains(&program)) || looks(program, arguments)
}

fn looks(program: &str, arguments: Option<&str>) -> bool {
    let arguments = arguments.unwrap_or_default();
    let first = arguments.split_whitespace().next();
    // What `git` is told to write, or to run, is no look.
    let plain = !["--output", "--ext-diff", "--textconv", "-c"]
        .iter()
        .any(|option| arguments.split_whitespace().any(|word| word.starts_with(option)));
    VIEWERS.contains(&program)
        || (program == "git" && plain && first.is_some_and(|first| LOOKS.contains(&first)))
}
