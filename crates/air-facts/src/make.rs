//! What `make` and the scripts of `package.json` run.

use std::collections::{BTreeMap, HashSet};

/// Targets that are followed.
const MAX_TARGETS: usize = 256;
/// Variables within variables.
const MAX_DEPTH: usize = 12;
const MAX_LINE: usize = 1 << 14;

/// The shell lines that a run of `make` runs, in order.
#[derive(Debug, Default)]
pub(crate) struct Recipe {
    pub(crate) lines: Vec<String>,
    /// What of the file is not followed.
    pub(crate) unread: Vec<String>,
}

#[derive(Default)]
struct Rules {
    order: Vec<String>,
    rules: BTreeMap<String, (Vec<String>, Vec<String>)>,
    variables: BTreeMap<String, String>,
    unread: Vec<String>,
}

/// What `make` runs for `targets`, or for its first target.
pub(crate) fn recipe(text: &str, targets: &[String], given: &[(String, String)]) -> Recipe {
    let mut rules = read(text);
    rules.variables.extend(given.iter().cloned());
    let mut wanted: Vec<String> = targets.to_vec();
    if wanted.is_empty() {
        let first = rules.order.iter().find(|name| !name.starts_with('.'));
        wanted.extend(first.cloned());
    }
    let mut recipe = Recipe { lines: Vec::new(), unread: std::mem::take(&mut rules.unread) };
    let mut seen = HashSet::new();
    for target in &wanted {
        if !rules.rules.contains_key(target) && rules.pattern(target).is_none() {
            recipe.unread.push(format!("has no rule for `{target}` that is read"));
        }
        rules.follow(target, &mut seen, &mut recipe);
    }
    recipe
}

impl Rules {
    /// The lines of the prerequisites of `target`, then its own. Iterative: a file may nest them deeply.
    fn follow(&self, target: &str, seen: &mut HashSet<String>, recipe: &mut Recipe) {
        let mut open = vec![(target.to_owned(), false)];
        while let Some((target, ready)) = open.pop() {
            let Some((needs, lines)) = self.rules.get(&target).or_else(|| self.pattern(&target))
            else {
                continue;
            };
            if ready {
                let first = needs.first().map(|need| self.expanded(need, 0)).unwrap_or_default();
                for line in lines {
                    let line = line
                        .replace("$@", &target)
                        .replace("$<", &first)
                        .replace("$^", &needs.join(" "));
                    let line = self.expanded(&line, 0);
                    let line = line.trim_start_matches(['@', '-', '+']).trim();
                    if !line.is_empty() {
                        recipe.lines.push(line.to_owned());
                    }
                }
                continue;
            }
            if seen.len() >= MAX_TARGETS || !seen.insert(target.clone()) {
                continue;
            }
            open.push((target, true));
            for need in needs.iter().rev() {
                let need = self.expanded(need, 0);
                open.extend(need.split_whitespace().rev().map(|need| (need.to_owned(), false)));
            }
        }
    }

    fn pattern(&self, target: &str) -> Option<&(Vec<String>, Vec<String>)> {
        self.rules.iter().find_map(|(name, rule)| {
            let (before, after) = name.split_once('%')?;
            let fits = target.len() > before.len() + after.len()
                && target.starts_with(before)
                && target.ends_with(after);
            fits.then_some(rule)
        })
    }

    /// `$(NAME)` and `${NAME}` of the file; `$$` is the shell's.
    fn expanded(&self, text: &str, depth: usize) -> String {
        let mut done = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            done.push_str(before);
            let after = after.strip_prefix('$').unwrap_or(after);
            let close = match after.chars().next() {
                Some('$') => {
                    done.push('$');
                    rest = after.strip_prefix('$').unwrap_or_default();
                    continue;
                }
                Some('(') => ')',
                Some('{') => '}',
                _ => {
                    done.push('$');
                    rest = after;
                    continue;
                }
            };
            let inner = after.get(1..).unwrap_or_default();
            let end = inner.find(close).unwrap_or(inner.len());
            let name = inner.get(..end).unwrap_or_default();
            rest = inner.get(end + 1..).unwrap_or_default();
            if let Some(command) = name.strip_prefix("shell ") {
                done.push_str("$(");
                done.push_str(command);
                done.push(')');
            } else if let Some(value) =
                self.variables.get(name).filter(|_| depth < MAX_DEPTH && done.len() < MAX_LINE)
            {
                done.push_str(&self.expanded(value, depth + 1));
            } else if name.contains(' ') {
                done.push_str("${_}");
            } else if name != "MAKE" {
                done.push_str("${");
                done.push_str(name);
                done.push('}');
            } else {
                done.push_str("make");
            }
            if done.len() > MAX_LINE {
                break;
            }
        }
        done.push_str(rest);
        done
    }
}

fn read(text: &str) -> Rules {
    let mut rules = Rules::default();
    let mut current: Vec<String> = Vec::new();
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        if let Some(command) = line.strip_prefix('\t') {
            for target in &current {
                if let Some((_, lines)) = rules.rules.get_mut(target) {
                    lines.push(command.to_owned());
                }
            }
            continue;
        }
        let line = line.split(" #").next().unwrap_or(line).trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(file) = line.strip_prefix("include ").or_else(|| line.strip_prefix("-include "))
        {
            rules.unread.push(format!("includes `{}`, which is not read", file.trim()));
            continue;
        }
        if let Some((name, value)) = assignment(line) {
            let known = rules.variables.get(&name).cloned();
            match line.contains("+=") {
                true => drop(
                    rules.variables.insert(name, format!("{} {value}", known.unwrap_or_default())),
                ),
                false => drop(rules.variables.insert(name, value)),
            }
            continue;
        }
        let Some((names, needs)) = line.split_once(':') else { continue };
        let (needs, command) = match needs.split_once(';') {
            Some((needs, command)) => (needs, Some(command)),
            None => (needs, None),
        };
        let needs: Vec<String> = needs
            .trim_start_matches(':')
            .split_whitespace()
            .filter(|need| *need != "|")
            .map(ToOwned::to_owned)
            .collect();
        let names = rules.expanded(names, 0);
        current = names.split_whitespace().map(ToOwned::to_owned).collect();
        for name in &current {
            rules.order.push(name.clone());
            let rule = rules.rules.entry(name.clone()).or_default();
            rule.0.extend(needs.iter().cloned());
            rule.1.extend(command.map(ToOwned::to_owned));
        }
    }
    rules
}

/// `NAME = value`, `NAME := value`, `export NAME ?= value`.
fn assignment(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let name = name
        .strip_prefix("export ")
        .or_else(|| name.strip_prefix("override "))
        .unwrap_or(name)
        .trim();
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '-');
    is_name.then(|| (name.to_owned(), value.trim().to_owned()))
}

/// The script `name` in a `package.json`.
pub(crate) fn script(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once("\"scripts\"")?;
    let rest = rest.split_once('{')?.1;
    let mut strings = rest.chars().peekable();
    let mut found: Vec<String> = Vec::new();
    while let Some(c) = strings.next() {
        match c {
            '}' => break,
            '"' => {
                let mut text = String::new();
                while let Some(c) = strings.next() {
                    match c {
                        '"' => break,
                        '\\' => match strings.next() {
                            Some('n') => text.push('\n'),
                            Some('t') => text.push('\t'),
                            Some(other) => text.push(other),
                            None => {}
                        },
                        c => text.push(c),
                    }
                }
                found.push(text);
            }
            _ => {}
        }
    }
    let mut pairs = found.chunks(2);
    pairs.find_map(|pair| match pair {
        [key, value] if key == name => Some(value.clone()),
        _ => None,
    })
}
