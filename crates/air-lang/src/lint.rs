//! What is odd about sound rules: [`lint()`].
//!
//! Findings here are warnings and notes; whatever keeps a rule from being loaded was found when it was
//! parsed. Nothing here knows what rules mean, so each lint looks for one mistake that people and
//! models make, and would rather miss one than blame a good rule. `docs/lints.md` has them all.

mod characters;
mod conditions;
mod example;
mod formula;
mod lexicon;
mod logic;
mod overlap;
mod pattern;
mod prose;
mod remedy;
mod specific;
mod suggestion;
mod tense;
mod tools;
mod vague;

use std::{ops::Range, sync::Arc};

use air_core::{
    condition::Condition,
    fact::Root,
    rule::{Decision, Rule, RuleKind},
};

use self::{
    formula::{Formula, Relation, Test},
    prose::Prose,
};
use crate::{
    diagnostic::{Added, Code, Diagnostic, Severity, Sink, quoted},
    expr,
    parsed::Parsed,
    syntax::{
        SyntaxKind, SyntaxNode,
        keyword::Keyword,
        view::{self, Clause},
    },
};

/// What the lints know beside the rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Tools that the host has beside AIR's own: names, in which `*` stands for any run of characters.
    pub tools: Vec<Arc<str>>,
}

/// What is odd about the rules of a rule set, for each file, in the order of the file. Each file comes
/// with the name that it has for the user.
pub fn lint<P: AsRef<str>>(files: &[(P, Parsed)], settings: &Settings) -> Vec<Vec<Diagnostic>> {
    let sources: Vec<String> = files.iter().map(|(_, parsed)| parsed.text()).collect();
    let trees: Vec<SyntaxNode> = files.iter().map(|(_, parsed)| parsed.tree()).collect();
    let mut sinks: Vec<Sink> = files.iter().map(|_| Sink::default()).collect();
    let mut rules: Vec<(usize, RuleView<'_>)> = Vec::new();
    for (index, (((_, parsed), source), tree)) in files.iter().zip(&sources).zip(&trees).enumerate()
    {
        rules.extend(views(parsed, source, tree).map(|rule| (index, rule)));
        if let Some(sink) = sinks.get_mut(index) {
            characters::look(tree, &mut Lint { source, sink, settings });
        }
    }
    add_formulas(&mut rules);
    for (index, rule) in &rules {
        if let (Some(sink), Some(source)) = (sinks.get_mut(*index), sources.get(*index)) {
            rule.look(&mut Lint { source, sink, settings });
        }
    }
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_ref()).collect();
    overlap::look(&rules, &names, &mut sinks);
    sinks.into_iter().zip(&sources).map(|(sink, source)| sink.finish(source)).collect()
}

/// The file that is looked at.
struct Lint<'l> {
    source: &'l str,
    sink: &'l mut Sink,
    settings: &'l Settings,
}

impl Lint<'_> {
    fn add(
        &mut self,
        severity: Severity,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Added<'_> {
        self.sink.add(severity, code, span, message, Some(hint.into()))
    }

    /// A piece of the file, in backticks and on one line.
    fn quoted(&self, span: &Range<usize>) -> String {
        let words = self.source.get(span.clone()).unwrap_or_default().split_whitespace();
        quoted(&words.take(16).collect::<Vec<_>>().join(" "))
    }

    /// Where `text` is within `span`; all of it where it is written differently.
    fn place(&self, span: Range<usize>, text: &str) -> Range<usize> {
        let within = self.source.get(span.clone()).unwrap_or_default();
        match within.find(text).filter(|_| !text.is_empty()) {
            Some(at) => span.start + at..span.start + at + text.len(),
            None => span,
        }
    }
}

/// A rule, and how it is written.
struct RuleView<'s> {
    rule: &'s Rule,
    clauses: Vec<Clause<'s>>,
    /// Where its name is.
    name: Range<usize>,
    check: Prose<'s>,
    remediate: Prose<'s>,
    formulas: Vec<(Keyword, Formula)>,
}

/// The sound rules of a file. They are in the order of the tree's nodes.
fn views<'s>(
    parsed: &'s Parsed,
    source: &'s str,
    tree: &'s SyntaxNode,
) -> impl Iterator<Item = RuleView<'s>> {
    let mut rules = parsed.rules().iter().zip(&parsed.names).peekable();
    let nodes = tree.children().filter(|node| node.kind() == SyntaxKind::Rule);
    nodes.filter_map(move |node| {
        let range = node.text_range();
        let end = usize::from(range.end());
        let (rule, name) = rules.next_if(|(_, name)| name.start < end)?;
        Some(RuleView::new(rule, name.clone(), view::clauses(&node, source)))
    })
}

/// Looks at the form of every condition, all at once: each time costs a stack.
fn add_formulas(rules: &mut [(usize, RuleView<'_>)]) {
    let all = || rules.iter().flat_map(|(_, rule)| conditions(rule.rule));
    let sources: Vec<&str> = all().map(|(_, condition)| condition.source()).collect();
    let trees = sources.chunks(1024).flat_map(expr::trees);
    let formulas: Vec<Option<Formula>> = trees.map(|tree| tree.as_ref().map(Formula::of)).collect();
    let mut formulas = formulas.into_iter();
    for (_, rule) in rules {
        for (keyword, _) in conditions(rule.rule) {
            let formula = formulas.next().flatten();
            rule.formulas.extend(formula.map(|formula| (keyword, formula)));
        }
    }
}

impl<'s> RuleView<'s> {
    fn new(rule: &'s Rule, name: Range<usize>, clauses: Vec<Clause<'s>>) -> Self {
        let text = |keyword| {
            let clause = clauses.iter().find(|clause| clause.keyword == Some(keyword));
            clause.map(Prose::of).unwrap_or_default()
        };
        let (check, remediate) = (text(Keyword::Check), text(Keyword::Remediate));
        Self { rule, name, check, remediate, formulas: Vec::new(), clauses }
    }

    fn look(&self, lint: &mut Lint<'_>) {
        tools::look(self, lint);
        conditions::look(self, lint);
        pattern::look(self, lint);
        tense::look(self, lint);
        specific::look(self, lint);
        vague::look(self, lint);
        remedy::look(self, lint);
        suggestion::look(self, lint);
    }

    fn is_guardrail(&self) -> bool {
        matches!(self.rule.kind, RuleKind::Guardrail { .. })
    }

    /// Whether it was learned from an incident.
    fn is_learned(&self) -> bool {
        matches!(self.rule.kind, RuleKind::Guardrail { from: Some(_), .. })
    }

    fn clause(&self, keyword: Keyword) -> Option<&Clause<'s>> {
        self.clauses.iter().find(|clause| clause.keyword == Some(keyword))
    }

    /// Where the clause is: what it holds, or its keyword.
    fn span(&self, keyword: Keyword) -> Range<usize> {
        match self.clause(keyword) {
            Some(clause) => clause.content().unwrap_or_else(|| clause.word.span()),
            None => self.name.clone(),
        }
    }

    fn formula(&self, keyword: Keyword) -> Option<&Formula> {
        self.formulas.iter().find(|(found, _)| *found == keyword).map(|(_, formula)| formula)
    }

    /// Those of its conditions that are of these clauses.
    fn formulas(&self, keywords: &[Keyword]) -> Vec<&(Keyword, Formula)> {
        self.formulas.iter().filter(|(keyword, _)| keywords.contains(keyword)).collect()
    }

    fn reads(&self, root: Root) -> bool {
        self.rule.decision.reads().contains(root)
    }

    /// Every test of its conditions, `verify` aside.
    fn tests(&self) -> Vec<&Test> {
        let mut tests = Vec::new();
        for (keyword, formula) in &self.formulas {
            if *keyword != Keyword::Verify {
                formula.tests(&mut tests);
            }
        }
        tests
    }

    /// Whether it is about files that the step changed.
    fn files_change(&self) -> bool {
        self.tests().iter().any(|test| test.term.starts_with("effects.files"))
    }

    fn files_are_only_created(&self) -> bool {
        let tests = self.tests();
        let mut changes = tests.iter().filter(|test| {
            test.term.starts_with("effects.files") && test.term.ends_with("].change")
        });
        let created = |test: &&&Test| {
            let one = |values: &[formula::Literal]| {
                values.iter().all(|value| value.text() == Some("created"))
            };
            test.holds && matches!(&test.relation, Relation::Is(values) if one(values))
        };
        changes.clone().next().is_some() && changes.all(|test| created(&test))
    }
}

/// The conditions of a rule.
fn conditions(rule: &Rule) -> Vec<(Keyword, &Arc<dyn Condition>)> {
    let verify = match &rule.kind {
        RuleKind::Incident { verify, .. } => verify.as_ref(),
        RuleKind::Guardrail { .. } => None,
    };
    let decision = match &rule.decision {
        Decision::Decide(condition) => vec![(Keyword::Decide, Some(condition))],
        Decision::Bounds { when, evidence } => {
            vec![(Keyword::When, when.as_ref()), (Keyword::Evidence, evidence.as_ref())]
        }
    };
    let all = decision.into_iter().chain([(Keyword::Verify, verify)]);
    all.filter_map(|(keyword, condition)| Some((keyword, condition?))).collect()
}
