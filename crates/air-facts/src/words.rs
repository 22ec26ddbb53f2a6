//! Which texts read as paths and URLs. Generous: a path too many costs a label lookup, one too few
//! hides what a call touches.

/// Longer texts are content, not names.
const MAX_PATH: usize = 1024;
const SCHEMES: [&str; 8] =
    ["http://", "https://", "ftp://", "ftps://", "sftp://", "ws://", "wss://", "file://"];

/// The URLs in `text`.
pub(crate) fn urls(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(separator) = rest.find("://") {
        let head = rest.get(..separator).unwrap_or_default();
        let scheme = head.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| {
            at + head.get(at..).and_then(|tail| tail.chars().next()).map_or(1, char::len_utf8)
        });
        let url = rest.get(scheme..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>\\^{}|".contains(c);
        let end = url.find(ends).unwrap_or(url.len());
        let url = url.get(..end).unwrap_or_default().trim_end_matches([')', ',', ';', '.', ']']);
        let known = SCHEMES.iter().find(|scheme| {
            url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        if known.is_some_and(|scheme| url.len() > scheme.len()) {
            found.push(url);
        }
        rest = rest.get(separator + 3..).unwrap_or_default();
    }
    found
}

/// The paths that `text` as a whole, or the value in an option such as `--file=/a` or `x=@/a`, names.
pub(crate) fn paths(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    if is_path(text) {
        found.push(text);
    }
    // `of=/dev/sda`, `--data=@/etc/passwd`, `host:/srv`, `-I/usr/include`.
    if text.len() <= MAX_PATH && !text.starts_with('/') && !text.contains("://") {
        let value = text.rfind(['=', '@']).or_else(|| text.find(':'));
        let value = value.and_then(|at| text.get(at + 1..));
        let glued = text.strip_prefix('-').and_then(|option| option.get(1..));
        for tail in [value, glued].into_iter().flatten() {
            if tail != text
                && is_path(tail)
                && (value == Some(tail) || tail.starts_with(['/', '~']))
            {
                found.push(tail);
            }
        }
    }
    found
}

fn is_path(text: &str) -> bool {
    if text.is_empty() || text.len() > MAX_PATH || text.contains("://") {
        return false;
    }
    if text.contains(char::is_control) || text.trim().is_empty() {
        return false;
    }
    let rooted = ["/", "~/", "./", "../"].iter().any(|start| text.starts_with(start));
    if rooted || text == "~" {
        return true;
    }
    if text.contains(char::is_whitespace) || text.starts_with(['-', '<']) || text.contains("$(") {
        // A name with a space is a path only if it plainly ends in a file: `my data/report.csv`.
        return text.contains('/')
            && !text.starts_with(['-', '<'])
            && !text.contains("$(")
            && text.split_whitespace().count() <= 4
            && has_extension(text);
    }
    text.contains('/') || is_dot_file(text) || (!text.contains('@') && has_extension(text))
}

fn is_dot_file(text: &str) -> bool {
    let name = text.strip_prefix('.').unwrap_or_default();
    name.len() > 1 && name.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn has_extension(text: &str) -> bool {
    let Some((stem, extension)) = text.rsplit_once('.') else { return false };
    let named =
        stem.chars().next_back().is_some_and(|c| c.is_alphanumeric() || "_-*)]}".contains(c));
    named
        && (1..=10).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.contains(|c: char| c.is_ascii_alphabetic())
}
