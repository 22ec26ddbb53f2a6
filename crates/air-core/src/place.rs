//! Where data lies: what a flow comes from and goes to, and what later steps find there.

use std::{borrow::Cow, net::IpAddr, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{fact::PathLabels, value::Value};

/// What kind of place it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// A file, by its path.
    File,
    /// An environment variable, by its name; `*` is all of them.
    Environment,
    /// A host, as URL or `host:port`; the index that a package manager is set up with as `pkg://npm`.
    Network,
    /// What the agent and the user read: standard output and error.
    Output,
    /// Standard input, or what a person types.
    Input,
    /// The output of a command that is not known to come from anywhere else, by its name.
    Command,
    /// Code: what goes there is run.
    Code,
    /// A variable of an interpreter that lasts from step to step, by its name.
    Variable,
    /// What the machine shows or counts: its screen, its clipboard, its load; by what it is.
    Machine,
}

impl PlaceKind {
    /// Its name in conditions.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Environment => "environment",
            Self::Network => "network",
            Self::Output => "output",
            Self::Input => "input",
            Self::Command => "command",
            Self::Code => "code",
            Self::Variable => "variable",
            Self::Machine => "machine",
        }
    }
}

/// One place. In its name, `${…}` stands for what is computed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// What kind it is.
    pub kind: PlaceKind,
    /// Which one.
    pub name: String,
}

impl Place {
    /// The place of that kind and name.
    pub fn new(kind: PlaceKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }

    /// Its name, unknown where a part is computed.
    pub fn name_value(&self) -> Value {
        if is_known(&self.name) {
            Value::from(self.name.as_str())
        } else {
            Value::unknown(format!("{} is computed", self.name))
        }
    }

    /// Its labels: of a path by `labels`, of a host by its address, of a variable by its name.
    /// Incomplete where a part of the name is computed.
    pub fn labels_value(&self, labels: &dyn PathLabels) -> Value {
        self.value_of(&self.labels(labels))
    }

    /// Its labels with `more`, and with `traversal` where its path has `..` in it.
    pub(crate) fn labels_with<'l>(
        &self,
        labels: &dyn PathLabels,
        more: impl IntoIterator<Item = &'l str>,
    ) -> Value {
        let mut found = self.labels(labels);
        let climbs = self.kind == PlaceKind::File && climbs(&self.name);
        for label in more.into_iter().chain(climbs.then_some(TRAVERSAL)) {
            if !found.iter().any(|known| **known == *label) {
                found.push(Arc::from(label));
            }
        }
        self.value_of(&found)
    }

    fn value_of(&self, found: &[Arc<str>]) -> Value {
        // Of an address the host alone has labels.
        let telling = if self.kind == PlaceKind::Network { host(&self.name) } else { &self.name };
        let computed = (!is_known(&plainly(telling))).then(|| format!("{} is computed", self.name));
        Value::list_with(found.iter().cloned().map(Value::string), computed.as_deref())
    }

    /// Its labels.
    pub fn labels(&self, labels: &dyn PathLabels) -> Vec<Arc<str>> {
        match self.kind {
            PlaceKind::File => labels.labels(&plainly(&self.name)),
            PlaceKind::Network => host_label(&self.name).map(Arc::from).into_iter().collect(),
            PlaceKind::Environment => {
                variable_label(&self.name).map(Arc::from).into_iter().collect()
            }
            PlaceKind::Machine => vec![Arc::from(MACHINE_STATE)],
            PlaceKind::Output
            | PlaceKind::Input
            | PlaceKind::Command
            | PlaceKind::Code
            | PlaceKind::Variable => Vec::new(),
        }
    }
}

/// `path` as it is meant from the directory `cwd`, where `~` is `home`: absolute, without `.` and `..`.
pub fn absolute(cwd: &str, home: &str, path: &str) -> String {
    let joined = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ if path.starts_with('/') => path.to_owned(),
        _ => format!("{cwd}/{path}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The label of what tells how the machine does, or what its user sees and types.
pub const MACHINE_STATE: &str = "machine-state";
/// The label of what is reached over `..`.
pub const TRAVERSAL: &str = "traversal";

/// Whether `path` leaves a directory that it names, or the one that it starts from.
pub fn climbs(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// `name` with a number in place of what can be nothing but one: `${RANDOM}`, `${date +%s}`.
fn plainly(name: &str) -> Cow<'_, str> {
    const NUMBERS: [&str; 9] = [
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "EPOCHSECONDS",
        "EPOCHREALTIME",
        "BASHPID",
        "$",
        "UID",
        "date",
    ];
    let mut made = String::new();
    let mut rest = name;
    while let Some((before, gap)) = rest.split_once("${") {
        let Some((inner, after)) = gap.split_once('}') else { break };
        made.push_str(before);
        // A time that is written with letters of its own may be anything.
        let format = inner.strip_prefix("date ").unwrap_or_default();
        let digits = |text: &str| {
            let mut letters = text.chars();
            while let Some(letter) = letters.next() {
                let plain = match letter {
                    '%' => letters.next().is_some(),
                    _ => !letter.is_alphanumeric() && !"/.$`".contains(letter),
                };
                if !plain {
                    return false;
                }
            }
            true
        };
        if NUMBERS.contains(&inner) || !format.is_empty() && digits(format) {
            made.push('0');
        } else {
            made.push_str("${");
            made.push_str(inner);
            made.push('}');
        }
        rest = after;
    }
    if made.is_empty() {
        return Cow::Borrowed(name);
    }
    made.push_str(rest);
    Cow::Owned(made)
}

/// Whether no part of `name` is computed.
pub fn is_known(name: &str) -> bool {
    !name.contains("${")
}

/// What a place holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The text itself, where the source says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The functions or modules that it stands for: `shutil.copy`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Where it comes from, first of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Place>,
    /// It may still hold what it held before: it is written only under a condition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub perhaps: bool,
}

impl Held {
    /// What is there after `later` was written over it.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        if !later.perhaps {
            return later;
        }
        let mut both = Self { perhaps: self.perhaps, ..Self::default() };
        both.sources = self.sources;
        both.names = self.names;
        for source in later.sources {
            if !both.sources.contains(&source) {
                both.sources.push(source);
            }
        }
        for name in later.names {
            if !both.names.contains(&name) {
                both.names.push(name);
            }
        }
        both
    }

    /// Whether no more than a text is known of it.
    pub fn is_text(&self) -> bool {
        self.names.is_empty() && self.sources.is_empty() && !self.perhaps
    }

    /// Whether nothing is known of it.
    pub fn is_empty(&self) -> bool {
        self.text.is_none() && self.names.is_empty() && self.sources.is_empty() && !self.perhaps
    }
}

/// `loopback`, `link-local`, `private` or `public`; `None` where the host is computed.
pub(crate) fn host_labels(host: &str) -> Vec<Arc<str>> {
    host_label(host).into_iter().map(Arc::from).collect()
}

fn host_label(address: &str) -> Option<&'static str> {
    // The index of a package manager, by its type in a package URL: `pkg://npm`.
    if address.starts_with("pkg://") {
        return Some("public");
    }
    let host = host(address);
    if host.is_empty() || !is_known(host) {
        return None;
    }
    let lower = host.to_ascii_lowercase();
    let name = lower.trim_end_matches('.');
    if name == "localhost" || name.ends_with(".localhost") {
        return Some("loopback");
    }
    let within = [".local", ".internal", ".lan", ".home.arpa", ".intranet", ".corp"];
    let Ok(address) = name.parse::<IpAddr>() else {
        let inside = !name.contains('.') || within.iter().any(|end| name.ends_with(end));
        return Some(if inside { "private" } else { "public" });
    };
    let v4 = match address {
        IpAddr::V4(v4) => Some(v4),
        IpAddr::V6(v6) => v6.to_ipv4_mapped(),
    };
    Some(match (v4, address) {
        (Some(v4), _) if v4.is_loopback() => "loopback",
        (Some(v4), _) if v4.is_link_local() => "link-local",
        (Some(v4), _) if v4.is_private() => "private",
        (None, IpAddr::V6(v6)) if v6.is_loopback() => "loopback",
        (None, IpAddr::V6(v6)) if v6.is_unicast_link_local() => "link-local",
        (None, IpAddr::V6(v6)) if v6.is_unique_local() => "private",
        _ => "public",
    })
}

/// The host in a URL or in `host:port`.
pub fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(bracketed) = host.strip_prefix('[') {
        return bracketed.split(']').next().unwrap_or(bracketed);
    }
    match host.rsplit_once(':') {
        // An address of many colons has no port.
        Some((name, port)) if !name.contains(':') && port.bytes().all(|b| b.is_ascii_digit()) => {
            name
        }
        _ => host,
    }
}

/// `credential` for a variable that is named like a secret, `whole-environment` for all of them.
fn variable_label(name: &str) -> Option<&'static str> {
    const ANYWHERE: [&str; 5] = ["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"];
    const WORDS: [&str; 5] = ["KEY", "KEYS", "TOKEN", "AUTH", "PWD"];
    // Written together with the word before: `ACCESSKEY`, `AUTHTOKEN`.
    const ENDS: [&str; 6] = ["APIKEY", "ACCESSKEY", "PRIVATEKEY", "SIGNINGKEY", "SSHKEY", "TOKEN"];
    let name = name.to_ascii_uppercase();
    let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
    if name == "*" {
        Some("whole-environment")
    } else if matches!(&*name, "SSH_AUTH_SOCK" | "PWD" | "OLDPWD") {
        None
    } else {
        // A public key is none; a secret of something public is one.
        let secret = ANYWHERE.iter().any(|word| name.contains(word))
            || !words().any(|word| word == "PUBLIC")
                && words().any(|word| {
                    WORDS.contains(&word) || ENDS.iter().any(|end| word.ends_with(end))
                });
        secret.then_some("credential")
    }
}

#[cfg(test)]
mod tests {
    use super::{climbs, host, host_label, plainly, variable_label};

    #[test]
    fn hosts_have_the_label_of_their_network() {
        for (address, label) in [
            ("http://localhost:8080/a", Some("loopback")),
            ("127.0.0.1:80", Some("loopback")),
            ("https://[::1]/x", Some("loopback")),
            ("http://169.254.169.254/latest", Some("link-local")),
            ("10.1.2.3:22", Some("private")),
            ("http://user:pw@192.168.0.4/", Some("private")),
            ("db", Some("private")),
            ("pkg://npm", Some("public")),
            ("https://build.corp/x", Some("private")),
            ("https://example.com/a?b=http://localhost", Some("public")),
            ("8.8.8.8:53", Some("public")),
            ("0.0.0.0:4444", Some("public")),
            ("http://${host}/x", None),
            ("", None),
        ] {
            assert_eq!(host_label(address), label, "{address}");
        }
        assert_eq!(host("https://[fe80::1]:443/x"), "fe80::1");
    }

    #[test]
    fn a_number_leaves_a_path_what_it_is() {
        for (path, plain) in [
            ("/tmp/a.${RANDOM}", "/tmp/a.0"),
            ("/tmp/a.${$}.${SECONDS}", "/tmp/a.0.0"),
            ("/tmp/${date +%F_%H%M}.txt", "/tmp/0.txt"),
            ("/tmp/${date +a/b}", "/tmp/${date +a/b}"),
            ("/tmp/${name}", "/tmp/${name}"),
            ("/tmp/${open", "/tmp/${open"),
            ("/tmp/a", "/tmp/a"),
        ] {
            assert_eq!(plainly(path), plain, "{path}");
        }
        assert!(climbs("../a") && climbs("a/../b") && !climbs("..a/b.."));
    }

    #[test]
    fn variables_are_told_by_their_names() {
        for (name, label) in [
            ("AWS_SECRET_ACCESS_KEY", Some("credential")),
            ("db_password", Some("credential")),
            ("GITHUB_TOKEN", Some("credential")),
            ("*", Some("whole-environment")),
            ("MYSQL_PWD", Some("credential")),
            ("OPENAI_APIKEY", Some("credential")),
            ("AWS_SECRET_KEYS", Some("credential")),
            ("HOME", None),
            ("PWD", None),
            ("GIT_AUTHOR_NAME", None),
            ("TOKENIZERS_PARALLELISM", None),
            ("MAX_TOKENS", None),
            ("KEYBOARD_LAYOUT", None),
            ("MINISIGN_PUBLIC_KEY", None),
            ("SSH_AUTH_SOCK", None),
        ] {
            assert_eq!(variable_label(name), label, "{name}");
        }
    }
}
