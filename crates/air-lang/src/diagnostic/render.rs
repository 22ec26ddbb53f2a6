//! Findings as a person reads them.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, renderer::DecorStyle};

use super::{Diagnostic, Position, Severity};

/// Lines of the file shown for one finding.
const SHOWN_LINES: usize = 4;
/// Longer lines are cut off. In bytes.
const LONGEST: usize = 1000;
/// What is shown of one before the finding. In bytes.
const SHOWN: usize = 60;

/// The findings, each with its line underlined and its hint. `source` is [`crate::Parsed::text`].
pub fn render(diagnostics: &[Diagnostic], file: &str, source: &str, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let file = file.escape_debug().to_string().replace("\\\\", "\\");
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&one(diagnostic, &file, source, &renderer));
        out.push_str("\n\n");
    }
    out
}

fn one(diagnostic: &Diagnostic, file: &str, source: &str, renderer: &Renderer) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(&diagnostic.message).id(diagnostic.code.as_str());
    let start = source.floor_char_boundary(diagnostic.span.start);
    // Only these lines go to the renderer: it reads all that it is given, for every finding.
    let nearest = source.floor_char_boundary(start.saturating_sub(LONGEST));
    let before = source.get(nearest..start).unwrap_or_default();
    let from = match before.rfind('\n') {
        Some(newline) => nearest + newline + 1,
        None if nearest == 0 => 0,
        None => source.ceil_char_boundary(start.saturating_sub(SHOWN)),
    };
    let longest = source.floor_char_boundary((from + 2 * LONGEST).min(source.len()));
    let shown = source.get(from..longest).unwrap_or_default();
    let lines: usize = shown.split_inclusive('\n').take(SHOWN_LINES).map(str::len).sum();
    let excerpt = shown.get(..lines).unwrap_or_default().trim_end_matches(['\r', '\n']);
    let end = source.ceil_char_boundary(diagnostic.span.end) - from;
    let span = (start - from).min(excerpt.len())..end.min(excerpt.len());
    let column = excerpt.get(..span.start).map_or(0, |text| text.chars().count()) + 1;
    let snippet = Snippet::source(excerpt)
        .path(file)
        .line_start(diagnostic.start.line)
        .annotation(AnnotationKind::Primary.span(span));
    let mut group = title.element(snippet);
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(hint));
    }
    let text = renderer.render(&[group]);
    // The renderer counts from where a long line was cut.
    let Position { line, column: place } = diagnostic.start;
    if place <= column {
        return text;
    }
    text.replacen(&format!("{file}:{line}:{column}"), &format!("{file}:{line}:{place}"), 1)
}
