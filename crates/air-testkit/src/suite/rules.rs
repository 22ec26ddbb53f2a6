//! The rules of a case: written in it, or in files that it names.

use std::{collections::HashMap, sync::Arc};

use air_core::rule::Rule;
use air_lang::{Parsed, Severity};

use super::SuiteError;

/// Reads the rule files that a line of a `rules-from` block names: each with its name and text.
///
/// # Errors
///
/// Why they cannot be read.
pub type Load<'l> = dyn FnMut(&str) -> Result<Vec<(String, String)>, String> + 'l;

/// One place that rules come from.
#[derive(Debug)]
pub struct RuleText {
    /// The file; `None` where the suite itself holds it.
    pub file: Option<String>,
    /// Its first line in that file, from 1.
    pub line: usize,
    /// The text.
    pub text: String,
    parsed: Parsed,
}

impl RuleText {
    /// Rules without an error.
    ///
    /// # Errors
    ///
    /// The first error, and where it is.
    pub(super) fn new(
        file: Option<String>,
        line: usize,
        text: String,
    ) -> Result<Arc<Self>, (usize, String)> {
        let parsed = air_lang::parse(&text);
        let mut errors =
            parsed.diagnostics().iter().filter(|found| found.severity == Severity::Error);
        if let Some(first) = errors.next() {
            let others = match errors.count() {
                0 => String::new(),
                more => format!(", and {more} more in its rules"),
            };
            return Err((line + first.start.line - 1, format!("{}{others}", first.message)));
        }
        Ok(Arc::new(Self { file, line, text, parsed }))
    }

    /// Its rules.
    pub fn rules(&self) -> &[Rule] {
        self.parsed.rules()
    }

    /// The line of a rule of it, in the file.
    pub fn line_of(&self, rule: &Rule) -> usize {
        let before = self.text.find(rule.source.as_ref()).and_then(|at| self.text.get(..at));
        self.line + before.map_or(0, |before| before.matches('\n').count())
    }
}

/// Files that were read already: many cases name the same ones.
#[derive(Default)]
pub(super) struct Files(HashMap<String, Vec<Arc<RuleText>>>);

impl Files {
    /// What the lines of a block name, the first of which is `line` of the suite.
    pub(super) fn read(
        &mut self,
        block: &str,
        line: usize,
        load: &mut Load<'_>,
    ) -> Result<Vec<Arc<RuleText>>, SuiteError> {
        let mut all = Vec::new();
        for (line, name) in (line..).zip(block.lines().map(str::trim)) {
            if name.is_empty() || name.starts_with('#') {
                continue;
            }
            if !self.0.contains_key(name) {
                let refuse = |message| SuiteError { line, message };
                let mut texts = Vec::new();
                for (file, text) in load(name).map_err(refuse)? {
                    let read = RuleText::new(Some(file.clone()), 1, text);
                    texts.push(read.map_err(|(at, why)| refuse(format!("{file}:{at}: {why}")))?);
                }
                self.0.insert(name.to_owned(), texts);
            }
            all.extend(self.0.get(name).into_iter().flatten().cloned());
        }
        if all.is_empty() {
            let message = "a `rules-from` block names rule files, one a line".to_owned();
            return Err(SuiteError { line, message });
        }
        Ok(all)
    }
}

/// The rules of all texts as one set.
pub(super) fn together(texts: &[Arc<RuleText>], line: usize) -> Result<Arc<[Rule]>, SuiteError> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut names = std::collections::HashSet::new();
    for rule in texts.iter().flat_map(|text| text.rules()) {
        if !names.insert(rule.name.clone()) {
            let message = format!("two of its rules have the name `@{}`", rule.name);
            return Err(SuiteError { line, message });
        }
        rules.push(rule.clone());
    }
    Ok(rules.into())
}
