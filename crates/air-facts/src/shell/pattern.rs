//! Patterns and alternatives of the shell.

/// Words that one word may become.
pub(super) const MAX_FIELDS: usize = 256;

/// Whether `text` fits `pattern`: `*`, `?`, `[…]`. Quadratic at worst.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    fits_at(&pattern, &text)
}

fn fits_at(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match (pattern.get(p), text.get(t)) {
            (Some('*'), _) => {
                star = Some((p, t));
                p += 1;
                continue;
            }
            (Some('?'), Some(_)) => Some(1),
            (Some('['), Some(&c)) => in_set(pattern.get(p..).unwrap_or_default(), c),
            (Some('\\'), Some(c)) => (pattern.get(p + 1) == Some(c)).then_some(2),
            (Some(one), Some(c)) => (one == c).then_some(1),
            _ => None,
        };
        if let Some(step) = step {
            p += step;
            t += 1;
        } else if let Some((at, from)) = star {
            p = at + 1;
            t = from + 1;
            star = Some((at, t));
        } else {
            return false;
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

/// The length of the set that `pattern` starts with, if `c` is in it.
fn in_set(pattern: &[char], c: char) -> Option<usize> {
    let end = pattern.iter().skip(2).position(|c| *c == ']')? + 2;
    let mut inner = pattern.get(1..end)?;
    let negated = matches!(inner.first(), Some('!' | '^'));
    if negated {
        inner = inner.get(1..)?;
    }
    let mut found = false;
    while let Some((first, rest)) = inner.split_first() {
        match rest {
            ['-', last, after @ ..] => {
                found |= (*first..=*last).contains(&c);
                inner = after;
            }
            _ => {
                found |= *first == c;
                inner = rest;
            }
        }
    }
    (found != negated).then_some(end + 1)
}

/// `text` without the part at its start or end that fits `pattern`.
pub(super) fn without(text: &str, pattern: &str, at_end: bool, longest: bool) -> String {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    if ends.len() > 4096 {
        return text.to_owned();
    }
    let cut = |at: usize| {
        let (before, after) = text.split_at_checked(at)?;
        let (part, kept) = if at_end { (after, before) } else { (before, after) };
        fits(pattern, part).then(|| kept.to_owned())
    };
    let found = if at_end == longest {
        ends.iter().copied().find_map(cut)
    } else {
        ends.iter().rev().copied().find_map(cut)
    };
    found.unwrap_or_else(|| text.to_owned())
}

/// `text` with what fits `pattern` replaced.
pub(super) fn replace(text: &str, pattern: &str, with: &str, all: bool) -> Option<String> {
    if !pattern.contains(['*', '?', '[', '\\']) {
        return Some(match (pattern.is_empty(), all) {
            (true, _) => text.to_owned(),
            (_, true) => text.replace(pattern, with),
            (_, false) => text.replacen(pattern, with, 1),
        });
    }
    let chars: Vec<char> = text.chars().collect();
    let pattern: Vec<char> = pattern.chars().collect();
    if chars.len() > 512 {
        return None;
    }
    let mut done = String::new();
    let mut at = 0;
    let mut replaced = false;
    while at < chars.len() {
        let longest = (at + 1..=chars.len())
            .rev()
            .find(|end| chars.get(at..*end).is_some_and(|part| fits_at(&pattern, part)));
        match longest.filter(|_| all || !replaced) {
            Some(end) => {
                done.push_str(with);
                replaced = true;
                at = end;
            }
            None => {
                done.extend(chars.get(at));
                at += 1;
            }
        }
    }
    Some(done)
}

/// `a{b,c}d` and `{1..3}` as the words that they stand for; quotes and expansions are skipped.
pub(super) fn braces(word: &str) -> Vec<String> {
    let mut words = vec![word.to_owned()];
    for _ in 0..8 {
        let mut next = Vec::new();
        let mut changed = false;
        for word in &words {
            match alternatives(word) {
                Some(more) if next.len() + more.len() <= MAX_FIELDS => {
                    changed = true;
                    next.extend(more);
                }
                _ => next.push(word.clone()),
            }
        }
        words = next;
        if !changed {
            break;
        }
    }
    words
}

fn alternatives(word: &str) -> Option<Vec<String>> {
    let mut skip = 0;
    while let Some(start) = opening(word, skip) {
        skip = start + 1;
        let inner = word.get(start + 1..)?;
        let Some(end) = super::lex::closing(inner, '}', 0) else { continue };
        let inside = inner.get(..end)?;
        let before = word.get(..start)?;
        let after = inner.get(end + 1..)?;
        let items = separated(inside).or_else(|| sequence(inside));
        if let Some(items) = items {
            return Some(items.iter().map(|item| format!("{before}{item}{after}")).collect());
        }
    }
    None
}

/// Where the next brace is that no quote or `$` takes.
fn opening(word: &str, from: usize) -> Option<usize> {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in word.char_indices() {
        match (quote, c) {
            (None, '\'' | '"' | '`') if before != '\\' => quote = Some(c),
            (Some(open), c) if open == c && before != '\\' => quote = None,
            (None, '{') if before != '$' && before != '\\' && at >= from => return Some(at),
            (None, '(') if before == '$' => return None,
            _ => {}
        }
        before = c;
    }
    None
}

fn separated(inside: &str) -> Option<Vec<String>> {
    let mut items = vec![String::new()];
    let (mut depth, mut quote) = (0_usize, None);
    for c in inside.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '{') => depth += 1,
            (None, '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        items.last_mut()?.push(c);
    }
    (items.len() > 1).then_some(items)
}

fn sequence(inside: &str) -> Option<Vec<String>> {
    let (first, last) = inside.split_once("..")?;
    let (last, step) = last.split_once("..").unwrap_or((last, "1"));
    let most = i64::try_from(MAX_FIELDS).ok()?;
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let step = step.parse::<i64>().ok()?.checked_abs()?.max(1);
        if first.checked_sub(last)?.checked_abs()? / step >= most {
            return None;
        }
        let mut items = Vec::new();
        let mut at = first;
        while (first <= last && at <= last) || (first > last && at >= last) {
            items.push(at.to_string());
            at = if first <= last { at.checked_add(step)? } else { at.checked_sub(step)? };
        }
        return Some(items);
    }
    let one = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    let (first, last) = (one(first)?, one(last)?);
    let range: Vec<String> = (first.min(last)..=first.max(last)).map(|c| c.to_string()).collect();
    Some(if first <= last { range } else { range.into_iter().rev().collect() })
}
