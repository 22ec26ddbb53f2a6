//! Whether a word or value is one concrete thing: a file, a host, a number of a process.

use super::lexicon::{DOMAINS, EXTENSIONS, WELL_KNOWN, WELL_KNOWN_HOSTS};

/// What one concrete thing `text` names, apart from those that are the same everywhere.
pub(super) fn one_thing(text: &str) -> Option<&'static str> {
    let text = text.trim_end_matches('/');
    if text.contains('*') || text.contains("${") {
        return None;
    }
    if text.contains("://") {
        let host = text.split("://").nth(1)?.split(['/', ':', '?']).next()?;
        return (!WELL_KNOWN_HOSTS.contains(&host)).then_some("one address");
    }
    if let Some((user, host)) = text.split_once('@') {
        return (!user.is_empty() && is_host(host)).then_some("one mail address");
    }
    if is_address(text) || is_host(text) {
        return (!WELL_KNOWN_HOSTS.contains(&text)).then_some("one host");
    }
    let path = text.starts_with(['/', '~']) || text.starts_with("./") || text.starts_with("C:\\");
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let file = name.rsplit_once('.').is_some_and(|(stem, end)| {
        let plain = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
        EXTENSIONS.contains(&end.to_lowercase().as_str())
            && stem.len() > 1
            && stem.chars().all(plain)
    });
    if !path && !file {
        return None;
    }
    let known = |part: &str| WELL_KNOWN.contains(&part.to_lowercase().as_str());
    let depth = text.split('/').filter(|part| !part.is_empty() && *part != "~").count();
    if text.split('/').any(known) || path && !file && depth < 3 && !text.starts_with("/home/") {
        return None;
    }
    Some(if file { "one file" } else { "one path" })
}

fn is_host(text: &str) -> bool {
    let labels: Vec<&str> = text.split('.').collect();
    let plain = |label: &&str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    labels.len() > 1
        && labels.iter().all(plain)
        && labels.last().is_some_and(|last| DOMAINS.contains(last))
}

fn is_address(text: &str) -> bool {
    let host = text.split(':').next().unwrap_or(text);
    host.split('.').count() == 4 && host.split('.').all(|part| part.parse::<u8>().is_ok())
}
