//! Tokens to rules of the dialect. Reports every mistake, and goes on with the next clause or rule.

use std::ops::Range;

use super::{
    check::Check,
    shown,
    token::{Token, tokens},
};
use crate::{
    diagnostic::{Code, Sink},
    syntax::keyword::nearest,
};

const KEYWORDS: [&str; 7] =
    ["rule", "trigger", "check", "orchestrate", "remediate", "block", "end"];
/// Brackets within each other.
const MAX_DEPTH: usize = 64;

/// A part of a file.
#[derive(Debug)]
pub(super) enum Item {
    Rule(RawRule),
    Comment(String),
}

/// A rule of the dialect.
#[derive(Debug)]
pub(super) struct RawRule {
    pub(super) name: String,
    pub(super) name_span: Range<usize>,
    pub(super) tools: Vec<(String, Range<usize>)>,
    pub(super) check: Check,
    pub(super) check_span: Range<usize>,
    /// The steps of the remediation; none where the rule only blocks.
    pub(super) steps: Vec<String>,
    pub(super) comments: Vec<String>,
}

/// The clauses of a rule so far.
#[derive(Default)]
struct Draft {
    tools: Option<Vec<(String, Range<usize>)>>,
    check: Option<(Check, Range<usize>)>,
    steps: Option<Vec<String>>,
    blocks: bool,
    comments: Vec<String>,
    broken: bool,
}

pub(super) struct Parser<'s, 'd> {
    source: &'s str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    /// Comments within the clause that is read.
    comments: Vec<String>,
    sink: &'d mut Sink,
}

impl<'s, 'd> Parser<'s, 'd> {
    pub(super) fn new(source: &'s str, sink: &'d mut Sink) -> Self {
        let tokens = tokens(source, sink);
        Self { source, tokens, at: 0, comments: Vec::new(), sink }
    }

    pub(super) fn file(mut self) -> Vec<Item> {
        let mut items = Vec::new();
        let mut stray = false;
        while let Some((token, span)) = self.tokens.get(self.at).cloned() {
            match token {
                Token::Comment(text) => items.push(Item::Comment(text)),
                Token::Word(word) if word == "rule" => {
                    stray = false;
                    self.at += 1;
                    items.extend(self.rule(span).map(Item::Rule));
                    continue;
                }
                _ if !stray => {
                    stray = true;
                    let message = format!("{} is outside of any rule", shown(self.source, &span));
                    let hint = "a rule starts with `rule @name`".to_owned();
                    self.sink.error(Code::UnexpectedText, span, message, hint);
                }
                _ => {}
            }
            self.at += 1;
        }
        items
    }

    /// The next token; comments before it are kept.
    fn peek(&mut self) -> Option<(Token, Range<usize>)> {
        while let Some((Token::Comment(text), _)) = self.tokens.get(self.at) {
            self.comments.push(text.clone());
            self.at += 1;
        }
        self.tokens.get(self.at).cloned()
    }

    fn rule(&mut self, header: Range<usize>) -> Option<RawRule> {
        let mut draft = Draft::default();
        let name = match self.peek() {
            Some((Token::Word(name), span)) if !KEYWORDS.contains(&name.as_str()) => {
                self.at += 1;
                Some((name, span))
            }
            _ => {
                let hint = "a name follows: `rule @copied_secret`".to_owned();
                self.sink.error(Code::EmptyClause, header.clone(), "`rule` is empty", hint);
                None
            }
        };
        let closed = self.clauses(&mut draft);
        draft.comments.append(&mut self.comments);
        let (name, name_span) = name?;
        if !closed {
            let hint = "close the rule with `end`".to_owned();
            self.sink.error(Code::MissingEnd, header, "no `end` closes this rule", hint);
            return None;
        }
        for (there, what) in [
            (draft.tools.is_some(), "`trigger`"),
            (draft.check.is_some(), "`check`"),
            (draft.steps.is_some() || draft.blocks, "`orchestrate`"),
        ] {
            if !there && !draft.broken {
                let hint = "a rule has `trigger`, `check` and `orchestrate`".to_owned();
                let message = format!("this rule has no {what}");
                self.sink.error(Code::MissingClause, name_span.clone(), message, hint);
            }
        }
        let (check, check_span) = draft.check.filter(|_| !draft.broken)?;
        let steps = if draft.blocks { Vec::new() } else { draft.steps? };
        let (tools, comments) = (draft.tools?, draft.comments);
        Some(RawRule { name, name_span, tools, check, check_span, steps, comments })
    }

    /// Reads clauses up to and with `end`; false where there is none.
    fn clauses(&mut self, draft: &mut Draft) -> bool {
        while let Some((token, span)) = self.peek() {
            let Token::Word(word) = token else {
                self.unexpected(&span, draft, "a clause starts with a word, and texts follow it");
                self.skip();
                continue;
            };
            if word == "rule" {
                return false;
            }
            self.at += 1;
            match word.as_str() {
                "end" => return true,
                "trigger" => {
                    let tools = self.texts(&span, draft, true);
                    self.once(draft.tools.replace(tools).is_none(), &span, draft);
                }
                "check" => {
                    let start = self.tokens.get(self.at).map_or(span.end, |(_, it)| it.start);
                    let Some(check) = self.check(draft) else {
                        draft.broken = true;
                        self.skip();
                        continue;
                    };
                    let end = self.tokens.get(self.at.saturating_sub(1));
                    let check = (check, start..end.map_or(start, |(_, it)| it.end.max(start)));
                    self.once(draft.check.replace(check).is_none(), &span, draft);
                }
                "orchestrate" | "remediate" => {
                    let steps = self.texts(&span, draft, false);
                    let steps = steps.into_iter().map(|(text, _)| text).collect();
                    self.once(draft.steps.replace(steps).is_none(), &span, draft);
                }
                "block" => draft.blocks = true,
                _ => {
                    draft.broken = true;
                    let hint = match nearest(&word, KEYWORDS, |keyword| keyword) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "clauses are `trigger`, `check`, `orchestrate` and `end`; texts stand in quotes".to_owned(),
                    };
                    let message = format!("unknown clause {}", shown(self.source, &span));
                    self.sink.error(Code::UnknownClause, span, message, hint);
                    self.skip();
                }
            }
        }
        false
    }

    fn once(&mut self, first: bool, span: &Range<usize>, draft: &mut Draft) {
        if !first {
            draft.broken = true;
            let message = format!("this rule has {} already", shown(self.source, span));
            let hint = "remove one of the two".to_owned();
            self.sink.error(Code::DuplicateClause, span.clone(), message, hint);
        }
    }

    fn unexpected(&mut self, span: &Range<usize>, draft: &mut Draft, hint: &str) {
        draft.broken = true;
        let wrong = self.tokens.get(self.at).is_some_and(|(token, _)| *token == Token::Wrong);
        if !wrong {
            let message = format!("unexpected {}", shown(self.source, span));
            self.sink.error(Code::UnexpectedText, span.clone(), message, hint.to_owned());
        }
    }

    /// Passes over what is left of a clause.
    fn skip(&mut self) {
        while let Some((token, _)) = self.peek() {
            if matches!(&token, Token::Word(word) if KEYWORDS.contains(&word.as_str())) {
                break;
            }
            self.at += 1;
        }
    }

    /// Texts, with or without commas between; also words where `words`.
    fn texts(
        &mut self,
        clause: &Range<usize>,
        draft: &mut Draft,
        words: bool,
    ) -> Vec<(String, Range<usize>)> {
        let mut found = Vec::new();
        while let Some((token, span)) = self.peek() {
            match token {
                Token::Word(word) if KEYWORDS.contains(&word.as_str()) => break,
                Token::Text(text) => found.push((text, span)),
                Token::Word(word) if words => found.push((word, span)),
                Token::Comma => {}
                Token::Or if words => {}
                _ => {
                    self.unexpected(&span, draft, "texts stand in quotes, one after the other");
                    self.skip();
                    return found;
                }
            }
            self.at += 1;
        }
        if found.iter().all(|(text, _)| text.trim().is_empty()) {
            draft.broken = true;
            let message = format!("{} is empty", shown(self.source, clause));
            let hint = "a text in quotes follows".to_owned();
            self.sink.error(Code::EmptyClause, clause.clone(), message, hint);
        }
        found
    }

    /// `A && B`, `A || B`, `!A`, `(A)`. No recursion, so that no depth is too much for it.
    fn check(&mut self, draft: &mut Draft) -> Option<Check> {
        let mut levels = vec![Level::default()];
        while let Some((token, span)) = self.peek() {
            let level = levels.last_mut()?;
            let wants = level.wants_operand();
            match token {
                Token::Text(text) if wants && !text.trim().is_empty() => {
                    level.push(Check::Text(text));
                }
                Token::Not if wants => level.negated = !level.negated,
                Token::Open if wants => {
                    levels.push(Level::default());
                }
                Token::And if !wants => level.and(),
                Token::Or if !wants => level.or(),
                Token::Close if !wants && levels.len() > 1 => {
                    let inner = levels.pop()?.finish();
                    levels.last_mut()?.push(inner);
                }
                Token::Word(word) if KEYWORDS.contains(&word.as_str()) => break,
                Token::Text(_) if !wants => {
                    self.unexpected(&span, draft, "put `&&` or `||` between two checks");
                    return None;
                }
                _ => {
                    let hint =
                        "a check is a text in quotes, or several with `&&`, `||`, `!` and brackets";
                    self.unexpected(&span, draft, hint);
                    return None;
                }
            }
            if levels.len() > MAX_DEPTH {
                self.unexpected(&span, draft, "it nests too deep; make several rules of it");
                return None;
            }
            self.at += 1;
        }
        let level = levels.pop()?;
        if !levels.is_empty() || level.wants_operand() {
            let at = self.tokens.get(self.at.saturating_sub(1)).map_or(0..0, |(_, it)| it.clone());
            let hint = "a text in quotes follows, and each bracket is closed".to_owned();
            self.sink.error(Code::UnexpectedText, at, "the check ends too early", hint);
            return None;
        }
        Some(level.finish())
    }
}

/// What was read within one pair of brackets: alternatives of conjunctions.
#[derive(Default)]
struct Level {
    any: Vec<Vec<Check>>,
    all: Vec<Check>,
    negated: bool,
    /// Whether an operand was the last that was read.
    complete: bool,
}

impl Level {
    fn wants_operand(&self) -> bool {
        !self.complete
    }

    fn push(&mut self, mut check: Check) {
        if std::mem::take(&mut self.negated) {
            check = Check::Not(Box::new(check));
        }
        self.all.push(check);
        self.complete = true;
    }

    fn and(&mut self) {
        self.complete = false;
    }

    fn or(&mut self) {
        self.any.push(std::mem::take(&mut self.all));
        self.complete = false;
    }

    fn finish(mut self) -> Check {
        self.any.push(self.all);
        let all = |mut checks: Vec<Check>| match (checks.pop(), checks.is_empty()) {
            (Some(only), true) => only,
            (last, _) => Check::All(checks.into_iter().chain(last).collect()),
        };
        let mut any: Vec<Check> = self.any.into_iter().map(all).collect();
        match (any.pop(), any.is_empty()) {
            (Some(only), true) => only,
            (last, _) => Check::Any(any.into_iter().chain(last).collect()),
        }
    }
}
