//! Patterns that match everything, nothing, or more than was meant. They cannot be slow: matching
//! takes time in proportion to the text.

use regex::Regex;
use regex_syntax::hir::{Hir, HirKind, Look};

use super::{Lint, RuleView, formula::Relation};
use crate::diagnostic::{Code, Severity, quoted};

/// Texts that have nothing in common but what every text has.
const TEXTS: [&str; 4] = ["", "\u{1}", "q-7", "\u{4e00} \u{2603}\u{2603}"];

/// Looks at every `matches` of `rule`.
pub(super) fn look(rule: &RuleView<'_>, lint: &mut Lint<'_>) {
    for (keyword, formula) in &rule.formulas {
        let mut tests = Vec::new();
        formula.tests(&mut tests);
        let mut seen: Vec<&str> = Vec::new();
        for test in tests {
            let Relation::Matches(pattern) = &test.relation else { continue };
            if seen.contains(&&**pattern) || seen.len() > 64 {
                continue;
            }
            seen.push(pattern);
            let span = lint.place(rule.span(*keyword), pattern);
            let shown = quoted(pattern);
            let all = Regex::new(pattern)
                .is_ok_and(|regex| TEXTS.iter().all(|text| regex.is_match(text)));
            let none = regex_syntax::parse(pattern).is_ok_and(|hir| never(&hir));
            if none {
                let message = format!("no text matches {shown}");
                let hint = "`^` is the start of the text and `$` its end: nothing comes before the one or after the other";
                lint.add(Severity::Warning, Code::PatternNeverMatches, span, message, hint);
            } else if all {
                let message = format!("every text matches {shown}");
                let hint = "`matches` looks anywhere in the text, so a pattern that may be empty always matches";
                lint.add(Severity::Warning, Code::PatternMatchesAll, span, message, hint);
            } else if literal_dot(pattern) {
                let message = format!("each `.` in {shown} stands for any character");
                let hint =
                    format!("write {}, or use `contains`", quoted(&pattern.replace('.', r"\.")));
                lint.add(Severity::Note, Code::UnescapedDot, span, message, hint);
            }
        }
    }
}

/// Whether `hir` matches nothing. Its depth is bounded by the parser.
fn never(hir: &Hir) -> bool {
    if hir.properties().minimum_len().is_none() {
        return true;
    }
    match hir.kind() {
        HirKind::Concat(parts) => {
            let takes = |part: &Hir| part.properties().minimum_len().is_some_and(|least| least > 0);
            let (mut taken, mut ended) = (false, false);
            for part in parts {
                match part.kind() {
                    HirKind::Look(Look::Start) if taken => return true,
                    HirKind::Look(Look::End) => ended = true,
                    _ if takes(part) && ended => return true,
                    _ => taken |= takes(part),
                }
            }
            parts.iter().any(never)
        }
        HirKind::Alternation(parts) => parts.iter().all(never),
        HirKind::Capture(capture) => never(&capture.sub),
        HirKind::Repetition(repetition) => repetition.min > 0 && never(&repetition.sub),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}

/// Whether the pattern is a plain text but for dots before letters, as in a file name.
fn literal_dot(pattern: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-/.".contains(c);
    let dotted = pattern.match_indices('.').any(|(at, _)| {
        pattern.get(at + 1..).is_some_and(|it| it.starts_with(char::is_alphanumeric))
    });
    dotted && pattern.chars().all(plain) && pattern.len() > 2
}
