//! Tables: many short cases in one block, each with the verdict that the block is named after.

use std::collections::BTreeMap;

use air_core::{id::RuleName, step::Arguments};
use serde::Deserialize;
use toml::Spanned;

use super::{
    Script, SuiteError,
    step::{Step, StepEffects},
};

/// What the rules are to make of a case of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A rule holds on its last step: a guardrail before it, or an AIR rule after it.
    Flagged,
    /// None holds on its last step, and one could not be decided.
    Undetermined,
    /// No rule holds on any step, and no call is refused or held.
    Clean,
}

impl Verdict {
    /// The block of that name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Flagged, Self::Undetermined, Self::Clean]
            .into_iter()
            .find(|verdict| verdict.name() == name)
    }

    /// Its name, which is that of its block.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flagged => "flagged",
            Self::Undetermined => "undetermined",
            Self::Clean => "clean",
        }
    }
}

/// One case of a table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) script: Script,
    pub(super) verdict: Verdict,
    pub(super) by: Vec<RuleName>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    default: Default,
    #[serde(default)]
    case: Vec<Entry>,
}

/// What the steps of all cases share.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Default {
    tool: Option<String>,
    #[serde(default)]
    plan: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    effects: StepEffects,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Spanned<String>,
    tool: Option<String>,
    plan: Option<String>,
    args: Option<Arguments>,
    output: Option<String>,
    error: Option<String>,
    effects: Option<StepEffects>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    step: Vec<Call>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: Option<String>,
    plan: Option<String>,
    args: Option<Arguments>,
    output: Option<String>,
    error: Option<String>,
    effects: Option<StepEffects>,
}

/// Reads a table that begins after `line`. The words after its name say which rules count.
pub(super) fn parse(
    verdict: Verdict,
    words: &[String],
    body: &str,
    line: usize,
) -> Result<Vec<Row>, SuiteError> {
    let place =
        |at: usize| line + 1 + body.get(..at).map_or(0, |before| before.matches('\n').count());
    let by = words.iter().map(|word| {
        word.strip_prefix('@').map(RuleName::from).ok_or_else(|| SuiteError {
            line,
            message: format!("`{word}` is no rule: name it as `@name`"),
        })
    });
    let by = by.collect::<Result<Vec<_>, _>>()?;
    let document: Document = toml::from_str(body).map_err(|error| SuiteError {
        line: place(error.span().map_or(0, |span| span.start)),
        message: error.message().to_owned(),
    })?;
    if document.case.is_empty() {
        let message = format!("a `{}` table has cases: `[[case]]`", verdict.name());
        return Err(SuiteError { line, message });
    }
    let default = document.default;
    let row = |entry: Entry| {
        let line = place(entry.name.span().start);
        let (name, script) =
            script(entry, &default).map_err(|message| SuiteError { line, message })?;
        Ok(Row { name, line, script, verdict, by: by.clone() })
    };
    document.case.into_iter().map(row).collect()
}

fn script(entry: Entry, default: &Default) -> Result<(String, Script), String> {
    let Entry { name, tool, plan, args, output, error, effects, files, step: mut calls } = entry;
    let name = name.into_inner();
    let own = tool.is_some()
        || plan.is_some()
        || args.is_some()
        || output.is_some()
        || error.is_some()
        || effects.is_some();
    match (calls.is_empty(), own) {
        (true, _) => calls.push(Call { tool, plan, args, output, error, effects }),
        (false, true) => {
            return Err(format!("case `{name}` has steps: write its call as the last of them"));
        }
        (false, false) => {}
    }
    let last = calls.len();
    let step = (1..).zip(calls).map(|(number, call)| {
        let tool = call.tool.or_else(|| default.tool.clone());
        let tool = tool.ok_or_else(|| format!("step {number} of case `{name}` has no `tool`"))?;
        // What a call leaves is that of the last step, unless it says otherwise.
        let shared = number == last;
        Ok(Step {
            plan: call.plan.unwrap_or_else(|| default.plan.clone()),
            tool,
            args: call.args.unwrap_or_default(),
            output: call
                .output
                .unwrap_or_else(|| if shared { default.output.clone() } else { String::new() }),
            error: call.error,
            effects: call
                .effects
                .unwrap_or_else(|| if shared { default.effects.clone() } else { <_>::default() }),
        })
    });
    let step = step.collect::<Result<Vec<_>, String>>()?;
    let mut all = default.files.clone();
    all.extend(files);
    Ok((name, Script { task: String::new(), step, files: all }))
}
