//! Findings as a person reads them.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, renderer::DecorStyle};

use super::{Diagnostic, Severity};

/// Lines of the file shown for one finding.
const SHOWN_LINES: usize = 4;

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
    let from = source.get(..start).and_then(|s| s.rfind('\n')).map_or(0, |at| at + 1);
    // Only these lines go to the renderer: it reads all that it is given, for every finding.
    let lines: usize = source
        .get(from..)
        .unwrap_or("")
        .split_inclusive('\n')
        .take(SHOWN_LINES)
        .map(str::len)
        .sum();
    let excerpt = source.get(from..from + lines).unwrap_or("").trim_end_matches(['\r', '\n']);
    let end = source.ceil_char_boundary(diagnostic.span.end) - from;
    let span = (start - from).min(excerpt.len())..end.min(excerpt.len());
    let snippet = Snippet::source(excerpt)
        .path(file)
        .line_start(diagnostic.start.line)
        .annotation(AnnotationKind::Primary.span(span));
    let mut group = title.element(snippet);
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(hint));
    }
    renderer.render(&[group])
}
