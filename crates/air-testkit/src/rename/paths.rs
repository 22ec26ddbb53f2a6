//! Paths and hosts in any text.

use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc};

use air_core::fact::PathLabels;

use super::chance::Chance;

/// Names that stand for each other: one in place of another leaves a path its labels.
#[rustfmt::skip]
const ALIKE: [&[&str]; 17] = [
    &[".env", ".envrc", ".env.production", ".env.local"],
    &[".env.example", ".env.sample", ".env.template"],
    &[".netrc", ".pgpass", ".pypirc", ".git-credentials"],
    &["shadow", "gshadow", "shadow-"],
    &["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"],
    &["id_rsa.pub", "id_ed25519.pub", "id_ecdsa.pub"],
    &[".bashrc", ".zshrc", ".profile", ".bash_profile", ".zshenv"],
    &[".bash_history", ".zsh_history", ".python_history", ".psql_history"],
    &["Documents", "Pictures", "Desktop", "Music", "Videos"],
    &["auth.log", "syslog", "kern.log", "messages", "daemon.log"],
    &["hosts", "resolv.conf", "nsswitch.conf", "fstab"],
    &["cron.d", "cron.daily", "cron.hourly"],
    &["sda", "sdb", "vda", "xvdc"],
    &["credentials", "secrets", "secret"],
    &["credentials.json", "secrets.json", "secret.json"],
    &["secrets.yaml", "credentials.yaml", "secret.yaml"],
    &["authorized_keys", "authorized_keys2"],
];

/// Names that tell what a path is: those of the label table's patterns, and of the file system.
#[rustfmt::skip]
const TELLING: [&str; 62] = [
    "etc", "usr", "bin", "sbin", "boot", "lib", "opt", "sys", "proc", "dev", "run", "var", "root",
    "spool", "home", "Users", "srv", "mnt", "media", "www", "mail", "backups", "log", "tmp", "local",
    "share", "tcp", "udp", "null", "zero", "full", "stdin", "stdout", "stderr", "tty", "shm", "fd",
    "passwd", "group", "sudoers", "sudoers.d", ".ssh", ".aws", "config", ".config", ".kube",
    ".gnupg", "gcloud", "systemd", "user", "system", "autostart", "init.d", "cron", "crontab",
    "profile.d", ".git", "hooks", "audit", "journal", "private", "self",
];

/// Endings by which a word without a slash is taken for the name of a file.
#[rustfmt::skip]
const ENDINGS: [&str; 35] = [
    "txt", "md", "json", "yaml", "yml", "toml", "csv", "py", "sh", "log", "tmp", "key", "pem", "crt",
    "conf", "cnf", "env", "b64", "dat", "bin", "tgz", "gz", "tar", "zip", "html", "c", "o", "so",
    "desktop", "service", "template", "example", "pkl", "pub", "gif",
];

/// New names for the parts of paths, and new hosts.
pub(super) struct Paths {
    parts: BTreeMap<String, String>,
}

impl Paths {
    /// Names for whatever is in `texts`.
    pub(super) fn new<'t>(
        texts: impl Iterator<Item = &'t str>,
        labels: &dyn PathLabels,
        chance: &mut Chance,
    ) -> Self {
        let words: Vec<&str> = texts.flat_map(words).map(|(_, word)| word).collect();
        let mut paths = Self { parts: BTreeMap::new() };
        for part in words.iter().filter(|word| is_path(word)).flat_map(|word| word.split('/')) {
            if !paths.parts.contains_key(part) {
                let new = other(part, chance);
                paths.parts.insert(part.to_owned(), new);
            }
        }
        // A name that some path owes its labels to stays.
        while let Some(changed) = words.iter().find(|word| paths.changes_labels(word, labels)) {
            for part in changed.split('/') {
                paths.parts.remove(part);
            }
        }
        paths
    }

    fn changes_labels(&self, word: &str, labels: &dyn PathLabels) -> bool {
        let of = |path: &str| -> Vec<Arc<str>> { labels.labels(path) };
        is_path(word) && of(word) != of(&self.path(word))
    }

    /// `text` with the new names.
    pub(super) fn rename(&self, text: &str) -> String {
        let mut out = String::new();
        let mut done = 0;
        for (at, word) in words(text) {
            let before = text.get(..at).unwrap_or_default();
            if !is_path(word) && !wants_directory(before) {
                continue;
            }
            out.push_str(text.get(done..at).unwrap_or_default());
            out.push_str(&self.path(word));
            done = at + word.len();
        }
        out.push_str(text.get(done..).unwrap_or_default());
        out
    }

    fn path(&self, word: &str) -> String {
        let part = |part| self.parts.get(part).map_or(part, String::as_str);
        word.split('/').map(part).collect::<Vec<_>>().join("/")
    }
}

/// Another name of the same kind.
fn other(part: &str, chance: &mut Chance) -> String {
    if is_host(part) {
        return other_host(part, chance);
    }
    if let Some(group) = ALIKE.iter().find(|group| group.contains(&part)) {
        let others: Vec<&str> = group.iter().copied().filter(|name| *name != part).collect();
        return chance.pick(&others).unwrap_or(part).to_owned();
    }
    let hidden = part.strip_prefix('.');
    let (name, ending) = hidden.unwrap_or(part).split_once('.').unwrap_or((part, ""));
    let begins =
        name.trim_start_matches('.').starts_with(|first: char| first.is_ascii_alphabetic());
    if TELLING.contains(&part) || !begins || name.len() < 2 || part.ends_with('-') {
        return part.to_owned();
    }
    let dot = if hidden.is_some() { "." } else { "" };
    let ending = if ending.is_empty() { String::new() } else { format!(".{ending}") };
    format!("{dot}{}{ending}", chance.word())
}

fn is_host(part: &str) -> bool {
    let name = part.rsplit_once('.').is_some_and(|(name, end)| {
        !name.is_empty() && ["invalid", "test", "com", "org", "net"].contains(&end)
    });
    name || part == "localhost" || part.parse::<Ipv4Addr>().is_ok()
}

/// Another host of the same network.
fn other_host(host: &str, chance: &mut Chance) -> String {
    match host.parse::<Ipv4Addr>() {
        Ok(address) if address.is_loopback() => "localhost".to_owned(),
        // All interfaces: with another it would not be the same.
        Ok(address) if address.is_unspecified() => host.to_owned(),
        Ok(_) => format!("192.0.2.{}", 1 + chance.below(254)),
        Err(_) if host == "localhost" => "127.0.0.1".to_owned(),
        Err(_) => format!("{}.{}.test", chance.word(), chance.word()),
    }
}

/// Whether `word` is a path, a file's name or a host.
fn is_path(word: &str) -> bool {
    // Programs are named by their paths as well.
    let program = ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/proc/", "/sys/"];
    if program.iter().any(|directory| word.starts_with(directory)) || word.starts_with('-') {
        return false;
    }
    if word == "." || word == ".." {
        return false;
    }
    // The commands of `sed` are full of slashes.
    let first = word.split('/').next().unwrap_or_default();
    let below = word.contains('/') && (first.len() != 1 || matches!(first, "." | "~"));
    let ending =
        word.rsplit_once('.').is_some_and(|(name, end)| !name.is_empty() && ENDINGS.contains(&end));
    below || ending || is_host(word) || ALIKE.iter().any(|group| group.contains(&word))
}

/// Words of `text`, and where they are. The name of a variable is no part of one.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let inside = |letter: char| letter.is_ascii_alphanumeric() || "_./~-".contains(letter);
    let mut at = 0;
    text.split(move |letter| !inside(letter)).filter_map(move |word| {
        let start = at;
        at = start + word.len();
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let variable = text.get(..start).is_some_and(|before| before.ends_with(['$', '{']));
        let skipped = if variable { word.find('/').unwrap_or(word.len()) } else { 0 };
        // A sentence ends with a full stop.
        let word = word.get(skipped..)?.trim_end_matches('.');
        (!word.is_empty()).then_some((start + skipped, word))
    })
}

/// Whether what ends there takes a directory: a single word after it is a path.
fn wants_directory(before: &str) -> bool {
    before.ends_with("cd ") || before.ends_with("-C ")
}
