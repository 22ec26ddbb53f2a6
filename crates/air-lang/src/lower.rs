//! Clauses to rules. Says what is wrong with a rule's content; its layout was judged by the parser.

mod argument;

use std::sync::Arc;

use air_core::{
    condition::Condition,
    rule::{Decision, Hit, Rule, RuleKind},
};

use crate::{
    diagnostic::{Code, Edit, Severity, Sink},
    expr::{self, ExprError, Moment},
    respond,
    syntax::{
        SyntaxNode,
        keyword::{Keyword, Shape},
        view::{self, Clause, Piece},
    },
};

pub(crate) use argument::items;

const OUTCOMES: [(Keyword, Hit); 3] =
    [(Keyword::Block, Hit::Block), (Keyword::Ask, Hit::Ask), (Keyword::Warn, Hit::Warn)];

/// A rule of a file, if it can be made out, and its name as written.
pub(crate) struct Lowered<'s> {
    pub(crate) rule: Option<Rule>,
    pub(crate) name: Option<Piece<'s>>,
}

pub(crate) fn rule<'s>(node: &SyntaxNode, source: &'s str, sink: &mut Sink) -> Lowered<'s> {
    let clauses = view::clauses(node, source);
    let Some((header, rest)) = clauses.split_first() else {
        return Lowered { rule: None, name: None };
    };
    let name = argument::name(header, sink);
    let clauses = Clauses::new(header, rest, source, sink);
    let rule = clauses.lower(name, source, sink);
    Lowered { rule, name }
}

/// What kind of rule it is, by the clauses that it has.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Incident,
    Guardrail(Hit),
    Unclear,
}

struct Clauses<'c, 's> {
    header: &'c Clause<'s>,
    found: Vec<(Keyword, &'c Clause<'s>)>,
}

impl<'c, 's> Clauses<'c, 's> {
    fn new(header: &'c Clause<'s>, rest: &'c [Clause<'s>], source: &str, sink: &mut Sink) -> Self {
        let mut clauses = Self { header, found: Vec::new() };
        for clause in rest {
            let Some(keyword) = clause.keyword.filter(|keyword| *keyword != Keyword::Rule) else {
                continue;
            };
            if clauses.get(keyword).is_some() {
                let message = format!("this rule has `{}` already", keyword.as_str());
                let hint = if keyword == Keyword::Trigger {
                    "name several tools with commas between: `trigger a, b`"
                } else {
                    "remove one of the two"
                };
                let same = clauses.get(keyword).is_some_and(|first| first.says_the_same_as(clause));
                let fix = same.then(|| clause.lines_of(source)).map(|span| Edit::new(span, ""));
                sink.error(Code::DuplicateClause, clause.word.span(), message, hint.to_owned())
                    .fix(fix);
            } else {
                clauses.found.push((keyword, clause));
            }
        }
        clauses
    }

    fn get(&self, keyword: Keyword) -> Option<&'c Clause<'s>> {
        self.found.iter().find(|(found, _)| *found == keyword).map(|(_, clause)| *clause)
    }

    fn lower(&self, name: Option<Piece<'s>>, source: &'s str, sink: &mut Sink) -> Option<Rule> {
        let kind = self.kind(sink);
        self.misplaced(kind, sink);
        for (keyword, hint) in [
            (
                Keyword::Trigger,
                "`trigger TOOL` says which tool it is about, `trigger *` every tool",
            ),
            (Keyword::Check, "`check` and deeper lines of text say what to look for"),
        ] {
            if self.get(keyword).is_none() {
                self.missing(&format!("no `{}`", keyword.as_str()), hint, sink);
            }
        }
        let moment =
            if matches!(kind, Kind::Guardrail(_)) { Moment::Before } else { Moment::After };
        let condition = |keyword: Keyword, sink: &mut Sink| {
            self.get(keyword).and_then(|clause| compile(clause, keyword, source, moment, sink))
        };
        let decide = condition(Keyword::Decide, sink);
        let when = condition(Keyword::When, sink);
        let evidence = condition(Keyword::Evidence, sink);
        let verify = condition(Keyword::Verify, sink);
        let severity = self.get(Keyword::Severity).and_then(|c| argument::severity(c, sink));
        let tags = self.get(Keyword::Tags).map(|c| argument::list(c, Keyword::Tags, sink));
        let trigger = self.get(Keyword::Trigger).map(|c| argument::trigger(c, sink));
        let from = self.get(Keyword::From).and_then(|c| argument::from(c, sink));
        let check = self.text(Keyword::Check, sink);
        let remediate = self.text(Keyword::Remediate, sink);
        let instead = self.text(Keyword::Instead, sink);
        let respond = self.get(Keyword::Respond).map(|c| respond::actions(c, source, sink));
        let conditions = [Keyword::Decide, Keyword::When, Keyword::Evidence];
        if conditions.iter().all(|keyword| self.get(*keyword).is_none()) {
            self.undecided(name, sink);
        }
        let kind = match kind {
            Kind::Incident => RuleKind::Incident {
                verify,
                respond: respond.unwrap_or_default(),
                remediate: remediate?,
            },
            Kind::Guardrail(hit) => RuleKind::Guardrail { hit, from },
            Kind::Unclear => return None,
        };
        let decision = match decide {
            Some(condition) => Decision::Decide(condition),
            None => Decision::Bounds { when, evidence },
        };
        let end = self.get(Keyword::End)?.word.end();
        Some(Rule {
            name: name?.text.trim_start_matches('@').into(),
            trigger: trigger?,
            severity: severity.unwrap_or_default(),
            shadow: self.get(Keyword::Shadow).is_some(),
            tags: tags.unwrap_or_default(),
            decision,
            check: check?,
            instead,
            kind,
            source: source.get(self.header.word.start..end)?.into(),
            examples: Vec::new(),
        })
    }

    fn kind(&self, sink: &mut Sink) -> Kind {
        let mut outcomes = OUTCOMES.into_iter().filter_map(|(k, hit)| Some((k, hit, self.get(k)?)));
        let first = outcomes.next();
        let second = outcomes.next();
        let conflict = |one: &str, other: Keyword, clause: &Clause<'_>, sink: &mut Sink| {
            let message = format!("`{one}` and `{}` exclude each other", other.as_str());
            let hint =
                "a rule has either `remediate` or one of `block`, `ask` and `warn`".to_owned();
            sink.error(Code::ConflictingClauses, clause.word.span(), message, hint);
            Kind::Unclear
        };
        match (self.get(Keyword::Remediate), first, second) {
            (Some(_), Some((keyword, _, clause)), _) => {
                conflict("remediate", keyword, clause, sink)
            }
            (None, Some((one, ..)), Some((other, _, clause))) => {
                conflict(one.as_str(), other, clause, sink)
            }
            (None, Some((_, hit, _)), None) => Kind::Guardrail(hit),
            (Some(_), None, _) => Kind::Incident,
            (None, None, _) => {
                let hint =
                    "an AIR rule has `remediate`, a guardrail one of `block`, `ask` and `warn`";
                self.missing("neither `remediate` nor `block`", hint, sink);
                Kind::Unclear
            }
        }
    }

    fn misplaced(&self, kind: Kind, sink: &mut Sink) {
        let (wrong, message, hint): (&[Keyword], _, _) = match kind {
            Kind::Incident => (
                &[Keyword::From],
                "does not belong in an AIR rule",
                "only a guardrail has it: a rule with `block`, `ask` or `warn`",
            ),
            Kind::Guardrail(_) => (
                &[Keyword::Respond, Keyword::Verify],
                "does not belong in a guardrail",
                "only an AIR rule has it: a rule with `remediate`",
            ),
            Kind::Unclear => (&[], "", ""),
        };
        for (keyword, clause) in &self.found {
            if wrong.contains(keyword) {
                let message = format!("`{}` {message}", keyword.as_str());
                sink.error(Code::MisplacedClause, clause.word.span(), message, hint.to_owned());
            }
        }
        if self.get(Keyword::Decide).is_some() {
            for keyword in [Keyword::When, Keyword::Evidence] {
                if let Some(clause) = self.get(keyword) {
                    let message = format!("`decide` excludes `{}`", keyword.as_str());
                    let hint =
                        "`decide` is final both ways, so nothing is left for the other".to_owned();
                    sink.error(Code::ConflictingClauses, clause.word.span(), message, hint);
                }
            }
        }
    }

    fn missing(&self, what: &str, hint: &str, sink: &mut Sink) {
        let end = self.header.argument.map_or(self.header.word.end(), |piece| piece.end());
        let span = self.header.word.start..end;
        sink.error(Code::MissingClause, span, format!("this rule has {what}"), hint.to_owned());
    }

    fn undecided(&self, name: Option<Piece<'_>>, sink: &mut Sink) {
        let span = name.unwrap_or(self.header.word).span();
        let message = "no condition: without a model its check is undetermined";
        let hint =
            "`decide`, `evidence` or `when` followed by an expression answers without a model";
        sink.add(Severity::Note, Code::NoCondition, span, message, hint.to_owned());
    }

    fn text(&self, keyword: Keyword, sink: &mut Sink) -> Option<Arc<str>> {
        let clause = self.get(keyword)?;
        let text = clause.free_text();
        if text.trim().is_empty() {
            empty(clause, keyword, sink);
            return None;
        }
        Some(text.into())
    }
}

/// Reports a clause that holds nothing.
pub(crate) fn empty(clause: &Clause<'_>, keyword: Keyword, sink: &mut Sink) {
    let hint = match (keyword, keyword.shape()) {
        (Keyword::Rule, _) => "a name follows on its line: `rule @copied_secret`",
        (Keyword::Trigger, _) => "tools follow on its line: `trigger shell.exec, fs.*`",
        (Keyword::From, _) => "what it was learned from follows on its line: `from incident ID`",
        (_, Shape::Argument) => "its value follows on its line",
        (_, Shape::Condition) => "an expression follows on its line",
        (_, Shape::Actions) => "actions follow on deeper lines, one a line",
        (_, Shape::Text | Shape::Alone) => "text follows on deeper lines",
    };
    let message = format!("`{}` is empty", keyword.as_str());
    sink.error(Code::EmptyClause, clause.word.span(), message, hint.to_owned());
}

fn compile(
    clause: &Clause<'_>,
    keyword: Keyword,
    source: &str,
    moment: Moment,
    sink: &mut Sink,
) -> Option<Arc<dyn Condition>> {
    let Some((text, start)) = clause.expression(source) else {
        empty(clause, keyword, sink);
        return None;
    };
    match expr::compile(&text, moment) {
        Ok(condition) => Some(condition),
        Err(errors) => {
            for error in errors {
                condition_error(error, start, text.len(), source, sink);
            }
            None
        }
    }
}

/// Reports an error of an expression of `length` bytes that starts at byte `start` of the file.
pub(crate) fn condition_error(
    error: ExprError,
    start: usize,
    length: usize,
    source: &str,
    sink: &mut Sink,
) {
    let from = source.floor_char_boundary(start + error.start.min(length));
    let to = source.ceil_char_boundary(start + error.end.clamp(error.start.min(length), length));
    sink.error(Code::BadCondition, from..to, error.message, error.hint);
}
