//! Tools that nobody has, and lists with an item twice.

use air_core::rule::{ResponseAction, RuleKind, glob};

use super::{Lint, RuleView};
use crate::{
    diagnostic::{Code, Edit, Severity, quoted},
    lower::items,
    syntax::keyword::{Keyword, nearest},
};

/// The tools that AIR itself brings.
pub(super) const AIRS_OWN: [&str; 8] = [
    "python_repl",
    "bash",
    "shell.exec",
    "write_file",
    "read_file",
    "delete_file",
    "list_files",
    "check_environment",
];

/// Looks at `trigger`, `tags` and the tools of `respond`.
pub(super) fn look(rule: &RuleView<'_>, lint: &mut Lint<'_>) {
    repeated(rule, Keyword::Trigger, lint);
    repeated(rule, Keyword::Tags, lint);
    let Some(argument) = rule.clause(Keyword::Trigger).and_then(|clause| clause.argument) else {
        return;
    };
    for (tool, span) in items(argument) {
        unknown(tool, span, lint);
    }
    let RuleKind::Incident { respond, .. } = &rule.rule.kind else { return };
    for action in respond {
        if let ResponseAction::Call { tool, .. } = action {
            let span = lint.place(rule.span(Keyword::Respond), tool);
            unknown(tool, span, lint);
        }
    }
}

fn unknown(tool: &str, span: std::ops::Range<usize>, lint: &mut Lint<'_>) {
    let settings = lint.settings.tools.iter().map(|tool| &**tool);
    let known: Vec<&str> = AIRS_OWN.into_iter().chain(settings).collect();
    let star = tool.contains('*');
    // Of two patterns each may cover the other.
    if known.iter().any(|it| glob(it, tool) || star && glob(tool, it)) {
        return;
    }
    let message = format!("no tool is called {}", quoted(tool));
    let near = nearest(tool, known.iter().copied().filter(|it| !it.contains('*')), |it| it);
    if let Some(near) = near.filter(|_| !star) {
        let hint = format!("did you mean `{near}`?");
        lint.add(Severity::Warning, Code::UnknownTool, span, message, hint);
    } else if star && !tool.contains('.') {
        let message = format!("no known tool matches {}", quoted(tool));
        let hint = "list the tools of your host in `tools` of `air.toml`";
        lint.add(Severity::Note, Code::UnknownTool, span, message, hint);
    } else if !star && !tool.contains('.') {
        let hint = "AIR brings no such tool; list those of your host in `tools` of `air.toml`";
        lint.add(Severity::Note, Code::UnknownTool, span, message, hint);
    }
}

fn repeated(rule: &RuleView<'_>, keyword: Keyword, lint: &mut Lint<'_>) {
    let Some(argument) = rule.clause(keyword).and_then(|clause| clause.argument) else { return };
    let all: Vec<(&str, std::ops::Range<usize>)> = items(argument).collect();
    if all.len() > 256 {
        return;
    }
    for (at, (item, span)) in all.iter().enumerate() {
        let covers = |(other_at, (other, _)): &(usize, &(&str, std::ops::Range<usize>))| {
            let wider = keyword == Keyword::Trigger && item != other && glob(other, item);
            *other_at != at && (wider || item == other && *other_at < at)
        };
        let Some((_, (other, _))) = all.iter().enumerate().find(covers) else { continue };
        let message = if item == other {
            format!("{} is in this list already", quoted(item))
        } else {
            format!("{} stands for {} as well", quoted(other), quoted(item))
        };
        let before = at.checked_sub(1).and_then(|before| all.get(before));
        let cut = match (before, all.get(at + 1)) {
            (Some((_, before)), _) => before.end..span.end,
            (None, Some((_, after))) => span.start..after.start,
            (None, None) => continue,
        };
        let hint = format!("remove {}", quoted(item));
        let added = lint.add(Severity::Warning, Code::DuplicateItem, span.clone(), message, hint);
        added.fix([Edit::new(cut, "")]);
    }
}
