//! Names in shell source: variables that it assigns, and its functions.

use super::Names;

/// The names that `source` gives.
pub(super) fn bound(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = "";
    for (at, word) in words(source) {
        let rest = source.get(at + word.len()..).unwrap_or_default();
        let starts = is_start(source, at);
        let assigned = rest.starts_with('=') && !rest.starts_with("==");
        let function = rest.starts_with("()") || rest.starts_with(" ()") || before == "function";
        if (starts && (assigned || function)) || before == "for" || before == "read" {
            found.push(word.to_owned());
        }
        // Options stand between `read` and its variables.
        if before == "read" && source.get(..at).is_some_and(|text| text.ends_with('-')) {
            found.pop();
        } else {
            before = word;
        }
    }
    found.retain(|name| !is_environment(name));
    found.sort_unstable();
    found.dedup();
    found
}

/// Variables by which the shell itself is told something.
fn is_environment(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// `source` with those names in place of its own.
pub(super) fn rename(source: &str, names: &Names) -> String {
    let mut out = String::new();
    let mut done = 0;
    for (at, word) in words(source) {
        let Some(new) = names.get(word) else { continue };
        let before = source.get(..at).unwrap_or_default();
        let rest = source.get(at + word.len()..).unwrap_or_default();
        let value = before.ends_with('$') || before.ends_with("${");
        let word_alone = is_start(source, at) && !rest.starts_with(['.', '/', '-']);
        if value || word_alone {
            out.push_str(source.get(done..at).unwrap_or_default());
            out.push_str(new);
            done = at + word.len();
        }
    }
    out.push_str(source.get(done..).unwrap_or_default());
    out
}

/// Whether a word of the shell begins there.
fn is_start(source: &str, at: usize) -> bool {
    let before = source.get(..at).unwrap_or_default();
    before.is_empty() || before.ends_with([' ', '\n', '\t', ';', '(', '{', '&', '|', '`'])
}

/// Names in `source`, and where they are.
fn words(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut at = 0;
    source.split(move |letter| !is_name(letter)).filter_map(move |word| {
        let start = at;
        // What parts them may be longer than a byte.
        at = start + word.len();
        at += source.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let named = word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        named.then_some((start, word))
    })
}
