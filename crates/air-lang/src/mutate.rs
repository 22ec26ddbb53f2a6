//! Rules that are changed in one place, to see whether a test notices.

use std::ops::Range;

use air_core::{port::RuleReader as _, rule::Rule};

use crate::{
    LangRules,
    expr::mutate,
    parse,
    syntax::{
        SyntaxKind,
        keyword::Keyword,
        view::{self, Clause},
    },
};

/// A rule with one change.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The changed rule.
    pub rule: Rule,
    /// The clause that was changed, by its keyword.
    pub clause: &'static str,
    /// What was done to it.
    pub what: &'static str,
    /// Line of the change within the rule, from 0.
    pub line: usize,
}

struct Edit {
    clause: &'static str,
    what: &'static str,
    span: Range<usize>,
    by: String,
}

/// Every change of one place of a rule that leaves it a rule: conditions weakened, negated or with
/// another value; response actions left out; `block` weakened; the trigger narrowed or widened.
pub fn mutants(rule: &Rule) -> Vec<Mutant> {
    let source = rule.source.as_ref();
    let tree = parse(source).tree();
    let Some(node) = tree.children().find(|node| node.kind() == SyntaxKind::Rule) else {
        return Vec::new();
    };
    let mut edits = Vec::new();
    for clause in view::clauses(&node, source) {
        match clause.keyword {
            Some(
                keyword @ (Keyword::Decide | Keyword::When | Keyword::Evidence | Keyword::Verify),
            ) => condition(&clause, keyword, source, &mut edits),
            Some(Keyword::Respond) => respond(&clause, source, &mut edits),
            Some(Keyword::Block | Keyword::Ask) => edits.push(Edit {
                clause: if clause.keyword == Some(Keyword::Ask) { "ask" } else { "block" },
                what: "only warn",
                span: clause.word.span(),
                by: "warn".to_owned(),
            }),
            Some(Keyword::Trigger) => trigger(&clause, rule, &mut edits),
            _ => {}
        }
    }
    edits.into_iter().filter_map(|edit| mutant(rule, edit)).collect()
}

fn mutant(rule: &Rule, Edit { clause, what, span, by }: Edit) -> Option<Mutant> {
    let source = rule.source.as_ref();
    let before = source.get(..span.start)?;
    let text = format!("{before}{by}{}", source.get(span.end..)?);
    // One that does not compile tests nothing.
    let rule = LangRules.rule(&text).ok()?;
    Some(Mutant { rule, clause, what, line: before.matches('\n').count() })
}

fn condition(clause: &Clause<'_>, keyword: Keyword, source: &str, edits: &mut Vec<Edit>) {
    let Some((text, start)) = clause.expression(source) else { return };
    edits.extend(mutate::changes(&text).into_iter().map(|change| Edit {
        clause: keyword.as_str(),
        what: change.what,
        span: start + change.span.start..start + change.span.end,
        // A clause's text is deeper than its keyword, and one line is enough for it.
        by: change.by.split('\n').map(str::trim).collect::<Vec<_>>().join(" "),
    }));
}

fn respond(clause: &Clause<'_>, source: &str, edits: &mut Vec<Edit>) {
    let lines: Vec<_> = clause.lines().map(|(_, piece)| piece).collect();
    for piece in &lines {
        // With its last action the clause goes as well.
        let first = if lines.len() == 1 { clause.word.start } else { piece.start };
        let start = source.get(..first).and_then(|text| text.rfind('\n')).map_or(0, |at| at + 1);
        let rest = source.get(piece.end()..).unwrap_or_default();
        let end = rest.find('\n').map_or(source.len(), |at| piece.end() + at + 1);
        let what = "leave out an action";
        edits.push(Edit { clause: "respond", what, span: start..end, by: String::new() });
    }
}

fn trigger(clause: &Clause<'_>, rule: &Rule, edits: &mut Vec<Edit>) {
    let Some(argument) = clause.argument else { return };
    let patterns = rule.trigger.patterns();
    let mut add = |what, by| {
        edits.push(Edit { clause: "trigger", what, span: argument.span(), by });
    };
    if patterns.len() > 1 {
        for at in 0..patterns.len() {
            let rest = patterns.iter().enumerate().filter(|(other, _)| *other != at);
            let rest: Vec<&str> = rest.map(|(_, pattern)| pattern.as_ref()).collect();
            add("leave out a tool", rest.join(", "));
        }
    }
    if patterns.iter().all(|pattern| pattern.as_ref() != "*") {
        add("every tool", "*".to_owned());
    }
}
