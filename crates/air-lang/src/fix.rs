//! Applies what mends findings for certain.

use std::collections::HashSet;

use crate::{
    diagnostic::{Code, Diagnostic, Edit, Severity},
    lint,
    parsed::{Parsed, parse},
};

/// Rounds in which findings are mended that came to light, or were in each other's way.
const ROUNDS: usize = 16;
/// Findings that are mended one by one where they cannot be at once.
const TRIED: usize = 32;

/// A rule file after its findings were mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    /// The file.
    pub text: String,
    /// How many findings are gone.
    pub mended: usize,
}

/// Mends every finding of a file that can be mended for certain. What the sound rules mean stays as it
/// is, and mending what was mended changes nothing.
pub fn fix(parsed: Parsed, settings: &lint::Settings) -> Fixed {
    let mut fixed = Fixed { text: parsed.text(), mended: 0 };
    // What was no text cannot be written back as it was.
    let lost = [Code::InvalidUtf8, Code::TooLarge, Code::TooManyFindings];
    if parsed.diagnostics().iter().any(|it| lost.contains(&it.code)) {
        return fixed;
    }
    let mut parsed = parsed;
    for _ in 0..ROUNDS {
        let before = errors(&parsed);
        let found = findings(parsed, settings);
        let Some(mend) = mend(&fixed.text, &found, before) else { break };
        fixed = Fixed { text: mend.text, mended: fixed.mended + mend.findings };
        parsed = mend.parsed;
    }
    fixed
}

/// One round.
struct Mend {
    text: String,
    parsed: Parsed,
    findings: usize,
}

/// The file with all that can be mended at once mended, or else the first thing that can be; none where
/// nothing can be, or an error would come to light that was not there.
fn mend(text: &str, found: &[Diagnostic], errors_before: usize) -> Option<Mend> {
    let all = choose(found);
    let single = found.iter().filter(|it| !it.fix.is_empty()).take(TRIED).map(|it| it.fix.clone());
    [all].into_iter().chain(single).find_map(|edits| {
        let mended = apply(text, &edits);
        let parsed = parse(&mended);
        if mended == text || errors(&parsed) > errors_before {
            return None;
        }
        let done: HashSet<_> = edits.iter().map(|it| (it.span.start, it.span.end)).collect();
        let gone = |it: &&Diagnostic| {
            !it.fix.is_empty()
                && it.fix.iter().all(|it| done.contains(&(it.span.start, it.span.end)))
        };
        Some(Mend { text: mended, parsed, findings: found.iter().filter(gone).count() })
    })
}

fn errors(parsed: &Parsed) -> usize {
    parsed.diagnostics().iter().filter(|found| found.severity == Severity::Error).count()
}

fn findings(parsed: Parsed, settings: &lint::Settings) -> Vec<Diagnostic> {
    let mut found = parsed.diagnostics().to_vec();
    found.extend(lint::lint(&[("", parsed)], settings).into_iter().flatten());
    found
}

/// Edits that are not in each other's way, in order. All of one finding, or none.
fn choose(found: &[Diagnostic]) -> Vec<Edit> {
    let mut fixes: Vec<&[Edit]> = found.iter().map(|it| &*it.fix).collect();
    fixes.retain(|edits| !edits.is_empty());
    fixes.sort_by_key(|edits| edits.iter().map(|edit| edit.span.start).min());
    fixes.dedup();
    let mut chosen: Vec<Edit> = Vec::new();
    let mut end = 0;
    let mut first = true;
    for edits in fixes {
        let start = edits.iter().map(|edit| edit.span.start).min().unwrap_or(0);
        if first || start > end || start == end && !edits.iter().any(|it| it.span.is_empty()) {
            end = edits.iter().map(|edit| edit.span.end).max().unwrap_or(0);
            chosen.extend_from_slice(edits);
            first = false;
        }
    }
    chosen.sort_by_key(|edit| edit.span.start);
    chosen
}

fn apply(text: &str, edits: &[Edit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.span.start).unwrap_or_default());
        out.push_str(&edit.text);
        at = edit.span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}
