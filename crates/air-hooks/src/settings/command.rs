//! Commands as a shell reads them: how AIR's are written, and how they are known again.

use crate::Away;

/// The argument that says what the program does while AIR is away.
pub(super) const AWAY: &str = "--away";

/// `word` so that a shell takes it as one.
pub(super) fn quote(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@%:=,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The words of a simple command; `None` where a quote is open.
pub(super) fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' => word.push(letters.next()?),
                        letter => word.push(letter),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

/// Whether `command` is AIR's for `host`: its program is called `air-hook`, or is `program`.
pub(super) fn is_own(command: &str, host: &str, program: &str) -> bool {
    let Some(words) = words(command) else { return false };
    let [first, second, rest @ ..] = without_away(&words).0 else { return false };
    let name = first.rsplit('/').next().unwrap_or_default();
    (name == "air-hook" || first == program) && second == host && rest.len() <= 1
}

/// What a command of AIR's does while AIR is away.
pub(super) fn away(command: &str) -> Away {
    words(command).map_or(Away::Closed, |words| without_away(&words).1)
}

fn without_away(words: &[String]) -> (&[String], Away) {
    if let [rest @ .., flag, named] = words
        && flag == AWAY
        && let Some(away) = Away::named(named)
    {
        return (rest, away);
    }
    (words, Away::Closed)
}

/// Whether `url` is AIR's for `host`: on this machine, at the path of AIR's hooks.
pub(super) fn is_own_url(url: &str, host: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return false };
    let Some((place, path)) = rest.split_once('/') else { return false };
    let name = place.rsplit_once(':').map_or(place, |(name, _)| name);
    ["127.0.0.1", "localhost", "[::1]"].contains(&name)
        && path.strip_prefix("hook/").is_some_and(|named| named == host)
}
