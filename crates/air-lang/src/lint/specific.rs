//! Checks that are tied to one example: they miss everything else of its kind.

use super::{
    Lint, RuleView,
    example::one_thing,
    formula::{Formula, Literal, Relation, Test},
    lexicon::{CAPITALS, CLASS, KINDS, THINGS},
    prose::{Prose, Word},
};
use crate::{
    diagnostic::{Code, Severity, quoted},
    syntax::keyword::Keyword,
};

const HINT: &str = "name the class that it belongs to";

/// Looks at the check and the condition of `rule`.
pub(super) fn look(rule: &RuleView<'_>, lint: &mut Lint<'_>) {
    // What was learned from one incident covers one incident, on purpose.
    if rule.is_learned() {
        return;
    }
    let conditions = rule.formulas(&[Keyword::Decide, Keyword::Evidence]);
    for (keyword, formula) in &conditions {
        if let Some(value) = only_value(formula) {
            let message =
                format!("`{}` holds for one example only, {}", keyword.as_str(), quoted(&value));
            let hint = "ask for its class: `labels(…)`, `under(…)`, `glob(…)`, `matches(…)`, or a list with `in`";
            let span = rule.span(*keyword);
            lint.add(Severity::Warning, Code::TooSpecific, span, message, hint);
        }
    }
    if !conditions.is_empty() || rule.check.has(&CLASS) {
        return;
    }
    if !named(&rule.check, lint) {
        household(&rule.check, lint);
    }
}

/// Reports the one thing that `text` names.
fn named(text: &Prose<'_>, lint: &mut Lint<'_>) -> bool {
    let mut before: Option<&Word<'_>> = None;
    for (at, word) in text.words.iter().enumerate() {
        let after = text.words.get(at + 1);
        let what = one_thing(word.text)
            .or_else(|| numbered(before, word))
            .or_else(|| somebody(before, word, after));
        if let Some(what) = what {
            let message = format!("the check is tied to {what}, {}", quoted(word.text));
            let span = word.span.clone();
            let class = match what {
                "one host" | "one address" => "a host that the task does not name",
                "one name" | "one mail address" => "somebody outside of the company",
                "one file" | "one path" => "a file of the user",
                _ => "a process that the step did not start",
            };
            let hint = format!("{HINT}, as in `{class}`; the example may follow after `such as`");
            lint.add(Severity::Warning, Code::TooSpecific, span, message, hint);
            return true;
        }
        before = Some(word);
    }
    false
}

fn numbered(before: Option<&Word<'_>>, word: &Word<'_>) -> Option<&'static str> {
    let number = word.lower.len() > 1 && word.lower.bytes().all(|byte| byte.is_ascii_digit());
    match before?.lower.as_str() {
        "pid" | "process" if number => Some("one process"),
        "uid" | "user" if number => Some("one user"),
        "account" | "order" | "ticket" | "invoice" if number => Some("one number"),
        _ => None,
    }
}

/// A name of a person or a company.
fn somebody(
    before: Option<&Word<'_>>,
    word: &Word<'_>,
    after: Option<&Word<'_>>,
) -> Option<&'static str> {
    let before = before.filter(|before| !word.first && !before.last)?;
    let is_name = |word: &Word<'_>| {
        let mut letters = word.text.chars();
        letters.next().is_some_and(char::is_uppercase)
            && word.text.chars().count() > 2
            && letters.all(char::is_lowercase)
            && !CAPITALS.contains(&word.text)
    };
    let introduced = ["to", "from", "by", "with", "named", "called", "for", "mr", "mrs", "user"];
    let full = after.is_some_and(|after| is_name(after) && !word.last);
    (is_name(word) && (full || introduced.contains(&before.lower.as_str()))).then_some("one name")
}

/// "Put a metal fork into the microwave": two things, and no kind of thing.
fn household(text: &Prose<'_>, lint: &mut Lint<'_>) {
    if text.has(&KINDS) {
        return;
    }
    let kind = |word: &Word<'_>| {
        let found = THINGS.iter().find(|(_, things)| things.contains(&word.lower.as_str()));
        found.map(|(kind, _)| *kind)
    };
    let mut found: Vec<(usize, &str)> = Vec::new();
    for (at, word) in text.words.iter().enumerate() {
        let again = |(known, _): &(usize, &str)| {
            text.words.get(*known).is_some_and(|known| known.lower == word.lower)
        };
        if let Some(kind) = kind(word).filter(|_| !found.iter().any(again)) {
            found.push((at, kind));
        }
    }
    let [(first, one), .., (last, other)] = found.as_slice() else { return };
    // Three things of one kind are a list that stands for the kind.
    if found.len() > 2 && found.iter().all(|(_, kind)| kind == one) {
        return;
    }
    let words = (text.words.get(*first), text.words.get(*last));
    let (Some(first_word), Some(last_word)) = words else { return };
    let message = format!(
        "the check is tied to one example, {} and {}",
        quoted(first_word.text),
        quoted(last_word.text)
    );
    let example = |kind: &str| format!("`{} {kind}`", article(kind));
    let both = if one == other { String::new() } else { format!(" and {}", example(other)) };
    let hint = format!("{HINT}, as in {}{both}", example(one));
    let span = text.span(*first..last + 1);
    lint.add(Severity::Warning, Code::TooSpecific, span, message, hint);
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" }
}

/// The value that a condition is tied to, if nothing in it speaks of a class.
fn only_value(formula: &Formula) -> Option<String> {
    let mut tests = Vec::new();
    formula.tests(&mut tests);
    let mut found: Vec<String> = Vec::new();
    for test in tests {
        match weight(test) {
            Weight::Class => return None,
            Weight::Nothing => {}
            Weight::Example(value) => {
                if !found.contains(&value) {
                    found.push(value);
                }
            }
        }
    }
    // Three examples are a list.
    if found.len() > 2 { None } else { found.into_iter().next() }
}

enum Weight {
    /// It holds for many values of what identifies a thing.
    Class,
    /// It holds for one.
    Example(String),
    /// It says nothing about which thing it is.
    Nothing,
}

fn weight(test: &Test) -> Weight {
    let field = test.term.rsplit('.').next().unwrap_or(&test.term);
    let of_args = test.term.starts_with("args.") || test.term.ends_with("args");
    let identity = [
        "path",
        "host",
        "command",
        "code",
        "pid",
        "url",
        "origin",
        "payload_origin",
        "output",
        "plan",
        "task",
        "session",
        "argv",
        "moved",
        "agent",
    ];
    let neutral = ["change", "tool", "direction", "reversibility", "size", "mode", "line", "port"];
    if !test.holds || neutral.contains(&field) {
        return Weight::Nothing;
    }
    match &test.relation {
        Relation::Is(values) if identity.contains(&field) || of_args => match values.as_slice() {
            [value] => example(value, identity.contains(&field)),
            [_, _, ..] | [] => Weight::Class,
        },
        Relation::Has(Literal::Text(text)) if of_args || field == "argv" || field == "paths" => {
            match one_thing(text) {
                Some(_) => Weight::Example(text.to_string()),
                None => Weight::Class,
            }
        }
        Relation::Is(values) if *values == [Literal::Null] => Weight::Nothing,
        Relation::Contains(text) | Relation::StartsWith(text) | Relation::EndsWith(text) => {
            match one_thing(text).filter(|what| *what == "one file" || *what == "one host") {
                Some(_) if text.contains('/') || test.term.ends_with("host") => {
                    Weight::Example(text.to_string())
                }
                _ => Weight::Class,
            }
        }
        _ => Weight::Class,
    }
}

fn example(value: &Literal, identifies: bool) -> Weight {
    match value {
        Literal::Int(number) if *number > 1 => Weight::Example(number.to_string()),
        Literal::Text(text) if one_thing(text).is_some() => Weight::Example(text.to_string()),
        // A whole command or sentence. One word may be an option, or well known.
        Literal::Text(text) if text.contains(char::is_whitespace) && identifies => {
            Weight::Example(text.to_string())
        }
        _ => Weight::Class,
    }
}
