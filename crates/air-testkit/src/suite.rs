//! Markdown files as test suites.
//!
//! A heading begins a case. In it, a block fenced as `air` holds rules, one fenced as `rules-from`
//! names files of rules, one fenced as `toml` holds the steps with what they return and change, and
//! one fenced as `expect` holds the transcript. In place of the last two, tables fenced as `flagged`,
//! `clean` or `undetermined` hold many short cases at once. All other text is for the reader. Rules
//! under headings before the first case belong to every case.

mod rules;
mod step;
mod table;

use std::{ops::Range, sync::Arc};

use air_core::{id::RuleName, rule::Rule};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use self::{rules::Files, table::Row};
pub use self::{
    rules::{Load, RuleText},
    step::{Script, Step, StepEffects},
    table::Verdict,
};

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its heading; for one of a table, with its own name after it.
    pub name: String,
    /// Line of its heading or name in the file, from 1.
    pub line: usize,
    /// Where its rules come from.
    pub texts: Arc<[Arc<RuleText>]>,
    /// Its rules.
    pub rules: Arc<[Rule]>,
    /// The task and the steps.
    pub script: Script,
    /// What is to come of it.
    pub expect: Expect,
}

/// What is to come of a case.
#[derive(Debug, Clone)]
pub enum Expect {
    /// These events.
    Transcript {
        /// One a line.
        text: String,
        /// Where it stands in the file, in bytes, without its fence.
        at: Range<usize>,
    },
    /// This verdict on the last step.
    Verdict {
        /// What the rules are to say.
        verdict: Verdict,
        /// The rules that count; none: all do.
        by: Vec<RuleName>,
    },
}

/// A suite that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct SuiteError {
    /// Where, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

struct Draft {
    name: String,
    line: usize,
    texts: Vec<Arc<RuleText>>,
    script: Option<Script>,
    expected: Option<(String, Range<usize>)>,
    rows: Vec<Row>,
}

impl Draft {
    fn new(name: String, line: usize) -> Self {
        Self { name, line, texts: Vec::new(), script: None, expected: None, rows: Vec::new() }
    }
}

/// A fenced block.
struct Block {
    language: String,
    words: Vec<String>,
    body: String,
    at: Option<Range<usize>>,
}

impl Block {
    fn new(info: &str) -> Self {
        let mut words = info.split_whitespace().map(str::to_owned);
        let language = words.next().unwrap_or_default();
        Self { language, words: words.collect(), body: String::new(), at: None }
    }
}

/// Reads a suite; rule files that it names are read with `load`.
///
/// # Errors
///
/// Where a block cannot be read, rules have an error, or a case is not whole, and why.
pub fn parse(text: &str, load: &mut Load<'_>) -> Result<Vec<Case>, SuiteError> {
    let line_of = |at: usize| text.get(..at).unwrap_or(text).matches('\n').count() + 1;
    let mut suite = Suite { load, files: Files::default(), common: Vec::new(), cases: Vec::new() };
    let mut draft: Option<Draft> = None;
    let mut heading = None;
    let mut block: Option<Block> = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some((String::new(), range.start)),
            Event::End(TagEnd::Heading(_)) => {
                if let Some((name, at)) = heading.take() {
                    suite.finish(draft.take())?;
                    draft = Some(Draft::new(name, line_of(at)));
                }
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                block = Some(Block::new(&info));
            }
            Event::Text(part) => {
                if let Some(block) = &mut block {
                    block.body.push_str(&part);
                    let start = block.at.as_ref().map_or(range.start, |at| at.start);
                    block.at = Some(start..range.end);
                } else if let Some((name, _)) = &mut heading {
                    name.push_str(&part);
                }
            }
            Event::Code(part) => {
                if let Some((name, _)) = &mut heading {
                    name.push_str(&part);
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                let Some(mut block) = block.take() else { continue };
                let line = line_of(range.start);
                block.at = block.at.or_else(|| Some(empty_block(text, &range)));
                suite.take(block, line, draft.as_mut())?;
            }
            _ => {}
        }
    }
    suite.finish(draft)?;
    Ok(suite.cases)
}

/// Where the text of an empty block would stand: after the line that opens it.
fn empty_block(text: &str, block: &Range<usize>) -> Range<usize> {
    let opening = text.get(block.clone()).and_then(|block| block.find('\n'));
    let at = opening.map_or(block.end, |line| block.start + line + 1);
    at..at
}

struct Suite<'l, 'f> {
    load: &'l mut Load<'f>,
    files: Files,
    common: Vec<Arc<RuleText>>,
    cases: Vec<Case>,
}

impl Suite<'_, '_> {
    fn take(
        &mut self,
        block: Block,
        line: usize,
        draft: Option<&mut Draft>,
    ) -> Result<(), SuiteError> {
        let Block { language, words, body, at } = block;
        let refuse = |message: &str| Err(SuiteError { line, message: message.to_owned() });
        let verdict = Verdict::from_name(&language);
        match (language.as_str(), draft) {
            ("air" | "rules-from", draft) => {
                let texts = if language == "air" {
                    let text = RuleText::new(None, line + 1, body);
                    vec![text.map_err(|(line, message)| SuiteError { line, message })?]
                } else {
                    self.files.read(&body, line + 1, self.load)?
                };
                draft.map_or(&mut self.common, |draft| &mut draft.texts).extend(texts);
            }
            ("toml", Some(draft)) => {
                if draft.script.is_some() {
                    return refuse("a case has one `toml` block");
                }
                let script = toml::from_str(&body).map_err(|error| {
                    let before = error.span().and_then(|span| body.get(..span.start));
                    let offset = before.map_or(0, |before| before.matches('\n').count());
                    SuiteError { line: line + 1 + offset, message: error.message().to_owned() }
                })?;
                draft.script = Some(script);
            }
            ("expect", Some(draft)) => {
                if draft.expected.is_some() {
                    return refuse("a case has one `expect` block");
                }
                draft.expected = Some((body, at.unwrap_or_default()));
            }
            (_, Some(draft)) => {
                if let Some(verdict) = verdict {
                    draft.rows.extend(table::parse(verdict, &words, &body, line)?);
                }
            }
            ("toml" | "expect", None) => return refuse("a case begins with a heading"),
            (_, None) if verdict.is_some() => return refuse("a table stands below a heading"),
            (_, None) => {}
        }
        Ok(())
    }

    fn finish(&mut self, draft: Option<Draft>) -> Result<(), SuiteError> {
        let Some(Draft { name, line, texts, script, expected, rows }) = draft else {
            return Ok(());
        };
        let missing =
            |what: &str| Err(SuiteError { line, message: format!("case `{name}` has no {what}") });
        let rules = |own: Vec<Arc<RuleText>>| {
            let texts: Arc<[_]> = self.common.iter().cloned().chain(own).collect();
            rules::together(&texts, line).map(|rules| (texts, rules))
        };
        match (script, expected) {
            (None, None) if !rows.is_empty() => {
                let (texts, rules) = rules(texts)?;
                for row in &rows {
                    let known = |name: &RuleName| rules.iter().any(|rule| rule.name == *name);
                    if let Some(name) = row.by.iter().find(|name| !known(name)) {
                        let message = format!("no rule of this case is named `@{name}`");
                        return Err(SuiteError { line: row.line, message });
                    }
                }
                self.cases.extend(rows.into_iter().map(|row| Case {
                    name: format!("{name}: {}", row.name),
                    line: row.line,
                    texts: Arc::clone(&texts),
                    rules: Arc::clone(&rules),
                    script: row.script,
                    expect: Expect::Verdict { verdict: row.verdict, by: row.by },
                }));
            }
            (_, _) if !rows.is_empty() => {
                let message = format!("case `{name}` has steps and a table: give each a heading");
                return Err(SuiteError { line, message });
            }
            (None, None) if self.cases.is_empty() => self.common.extend(texts),
            (None, None) if texts.is_empty() => {}
            (None, _) => return missing("`toml` block with steps"),
            (_, None) => return missing("`expect` block: without one nothing is tested"),
            (Some(script), Some((text, at))) => {
                let (texts, rules) = rules(texts)?;
                let expect = Expect::Transcript { text, at };
                self.cases.push(Case { name, line, texts, rules, script, expect });
            }
        }
        Ok(())
    }
}
