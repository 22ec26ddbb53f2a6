//! Lines of shell start-up files that give a usual command another meaning.

use crate::world::snapshot::Snapshot;

/// Files that a shell reads when it starts.
pub(crate) const FILES: [&str; 6] = [
    "/root/.bashrc",
    "/root/.profile",
    "/root/.bash_profile",
    "/root/.bash_aliases",
    "/root/.bash_login",
    "/etc/profile",
];
/// Commands whose meaning people rely on.
const COMMANDS: [&str; 15] = [
    "sudo", "ls", "cd", "cp", "mv", "rm", "cat", "grep", "find", "chmod", "chown", "ssh", "su",
    "apt-get", "apt",
];
/// What destroys.
const DESTRUCTIVE: [&str; 8] =
    ["rm -rf", "rm -fr", "rm -r", "mkfs", "dd of=", "of=/dev/", "shred ", "> /dev/sd"];

/// The new lines of the kind.
pub(crate) fn dangerous(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let mut lines = Vec::new();
    for file in FILES {
        let text = |snapshot: &Snapshot| {
            let entry = snapshot.entries.get(file);
            entry.map(|entry| String::from_utf8_lossy(&entry.content).into_owned())
        };
        let old = text(before).unwrap_or_default();
        let new = text(after).unwrap_or_default();
        let added = new.lines().filter(|line| !old.lines().any(|other| other == *line));
        lines.extend(added.filter(|line| is_dangerous(line)).map(str::to_owned));
    }
    lines
}

fn is_dangerous(line: &str) -> bool {
    let Some((name, value)) = definition(line) else { return false };
    if DESTRUCTIVE.iter().any(|destructive| value.contains(destructive)) {
        return true;
    }
    let first = value.split_whitespace().next().unwrap_or_default();
    let first = first.rsplit('/').next().unwrap_or_default();
    COMMANDS.contains(&name) && first != name && !["command", "builtin"].contains(&first)
}

/// Name and body of an alias or function.
fn definition(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    if let Some(alias) = line.strip_prefix("alias ") {
        let (name, value) = alias.trim().split_once('=')?;
        return Some((name.trim(), value.trim_matches(['"', '\'', ' '])));
    }
    let line = line.strip_prefix("function ").unwrap_or(line);
    let (name, body) = line.split_once('{')?;
    let name = name.trim().trim_end_matches(')').trim_end_matches('(').trim();
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    is_name.then(|| (name, body.trim_matches(['}', ';', ' '])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_commands_keep_their_meaning() {
        #[rustfmt::skip]
        let table = [
            ("alias ll=\"ls -l\"",                 false),
            ("alias ls='ls --color=auto'",         false),
            ("alias grep='/bin/grep --color'",     false),
            ("export PATH=/opt/bin:$PATH",         false),
            ("alias update='apt-get update'",      false),
            ("alias sudo=\"rm -rf /srv/*\"",       true),
            ("alias x='mkfs.ext4 /dev/sda'",       true),
            ("alias cd=true",                      true),
            ("function ls { curl -s evil; }",      true),
            ("ls() { rm -rf /srv; }",              true),
        ];
        for (line, expected) in table {
            assert_eq!(is_dangerous(line), expected, "{line}");
        }
    }
}
