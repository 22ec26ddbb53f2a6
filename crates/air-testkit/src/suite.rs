//! Markdown files as test suites.
//!
//! A heading begins a case. In it, a block fenced as `air` holds rules, one fenced as `toml` holds
//! the steps with what they return and change, and one fenced as `expect` holds the transcript.
//! All other text is for the reader. Rules under headings before the first case belong to every case.

use std::ops::Range;

use air_core::{
    effects::{Change, ConnectionEffect, Effects, FileEffect, Observed, ProcessEffect, ReadEffect},
    step::{Arguments, Observation},
};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use serde::Deserialize;

/// One case.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its heading.
    pub name: String,
    /// Line of its heading in the file, from 1.
    pub line: usize,
    /// Its rules, in the rule language.
    pub rules: String,
    /// The task and the steps.
    pub script: Script,
    /// The transcript that is expected.
    pub expected: String,
    /// Where the expectation stands in the file, in bytes, without its fence.
    pub expected_at: Range<usize>,
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

/// What the agent does, and what comes of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The task.
    #[serde(default)]
    pub task: String,
    /// The steps.
    pub step: Vec<Step>,
}

/// One step.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What the agent says before it acts.
    #[serde(default)]
    pub plan: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Arguments,
    /// What it returns.
    #[serde(default)]
    pub output: String,
    /// The error that it reports.
    pub error: Option<String>,
    /// What it changes.
    #[serde(default)]
    pub effects: StepEffects,
}

/// What a step changes. Lists that are not given are empty and whole.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepEffects {
    #[serde(default)]
    files: Vec<StepFile>,
    #[serde(default)]
    processes: Vec<ProcessEffect>,
    #[serde(default)]
    connections: Vec<ConnectionEffect>,
    #[serde(default)]
    reads: Vec<ReadEffect>,
    /// Why the lists may lack something.
    incomplete: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepFile {
    path: String,
    change: Change,
    #[serde(default)]
    size: u64,
    #[serde(default = "plain_mode")]
    mode: u32,
    origin: Option<String>,
    #[serde(default = "yes")]
    reversible: bool,
}

fn plain_mode() -> u32 {
    0o644
}

fn yes() -> bool {
    true
}

impl Step {
    /// What the tool returns.
    pub fn observation(&self) -> Observation {
        Observation { content: self.output.clone(), error: self.error.clone(), duration_ms: 0 }
    }
}

impl StepEffects {
    /// As the workspace would report them.
    pub fn observed(&self) -> Effects {
        let files = self.files.iter().map(|file| FileEffect {
            path: file.path.clone(),
            change: file.change,
            size: file.size,
            mode: file.mode,
            origin: file.origin.clone(),
            origin_unknown: None,
            moved: None,
            aspects: Vec::new(),
            reversible: file.reversible,
        });
        let incomplete = &self.incomplete;
        Effects {
            files: Observed { items: files.collect(), incomplete: incomplete.clone() },
            reads: Observed { items: self.reads.clone(), incomplete: incomplete.clone() },
            processes: Observed { items: self.processes.clone(), incomplete: incomplete.clone() },
            connections: Observed {
                items: self.connections.clone(),
                incomplete: incomplete.clone(),
            },
        }
    }
}

#[derive(Default)]
struct Draft {
    name: String,
    line: usize,
    rules: String,
    script: Option<Script>,
    expected: Option<(String, Range<usize>)>,
}

/// Reads a suite.
///
/// # Errors
///
/// Where a block cannot be read or a case is not whole, and why.
pub fn parse(text: &str) -> Result<Vec<Case>, SuiteError> {
    let line_of = |at: usize| text.get(..at).unwrap_or(text).matches('\n').count() + 1;
    let mut common = String::new();
    let mut cases = Vec::new();
    let mut draft: Option<Draft> = None;
    let mut heading = None;
    let mut block: Option<(String, String, Option<Range<usize>>)> = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some((String::new(), range.start)),
            Event::End(TagEnd::Heading(_)) => {
                if let Some((name, at)) = heading.take() {
                    finish(draft.take(), &mut common, &mut cases)?;
                    draft = Some(Draft { name, line: line_of(at), ..Draft::default() });
                }
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let language = info.split_whitespace().next().unwrap_or_default().to_owned();
                block = Some((language, String::new(), None));
            }
            Event::Text(part) => {
                if let Some((_, body, at)) = &mut block {
                    body.push_str(&part);
                    let start = at.as_ref().map_or(range.start, |at| at.start);
                    *at = Some(start..range.end);
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
                let Some((language, body, at)) = block.take() else { continue };
                let line = line_of(range.start);
                let at = at.unwrap_or_else(|| empty_block(text, &range));
                take_block(&language, body, at, line, &mut common, draft.as_mut())?;
            }
            _ => {}
        }
    }
    finish(draft, &mut common, &mut cases)?;
    Ok(cases)
}

/// Where the text of an empty block would stand: after the line that opens it.
fn empty_block(text: &str, block: &Range<usize>) -> Range<usize> {
    let opening = text.get(block.clone()).and_then(|block| block.find('\n'));
    let at = opening.map_or(block.end, |line| block.start + line + 1);
    at..at
}

fn take_block(
    language: &str,
    body: String,
    at: Range<usize>,
    line: usize,
    common: &mut String,
    draft: Option<&mut Draft>,
) -> Result<(), SuiteError> {
    let refuse = |message: &str| Err(SuiteError { line, message: message.to_owned() });
    match (language, draft) {
        ("air", Some(draft)) => draft.rules.push_str(&body),
        ("air", None) => common.push_str(&body),
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
            draft.expected = Some((body, at));
        }
        ("toml" | "expect", None) => return refuse("a case begins with a heading"),
        _ => {}
    }
    Ok(())
}

fn finish(
    draft: Option<Draft>,
    common: &mut String,
    cases: &mut Vec<Case>,
) -> Result<(), SuiteError> {
    let Some(Draft { name, line, rules, script, expected }) = draft else { return Ok(()) };
    let missing = |what: &str| SuiteError { line, message: format!("case `{name}` has no {what}") };
    match (script, expected) {
        (None, None) if cases.is_empty() => {
            common.push_str(&rules);
            Ok(())
        }
        (None, None) if rules.is_empty() => Ok(()),
        (None, _) => Err(missing("`toml` block with steps")),
        (_, None) => Err(missing("`expect` block: without one nothing is tested")),
        (Some(script), Some((expected, expected_at))) => {
            let rules = format!("{common}{rules}");
            cases.push(Case { name, line, rules, script, expected, expected_at });
            Ok(())
        }
    }
}
