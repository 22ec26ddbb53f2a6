//! Which argument of which tool carries source.

use std::collections::BTreeMap;

use air_core::{
    code::{Activity, CodeFacts, Flow, Intent, Operation},
    place::{Held, Place, PlaceKind},
    port::{CodeReader, Surroundings},
    step::Arguments,
};

use crate::{collect::MAX_LEFT, python, shell};

/// What an argument holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// Python source.
    Python,
    /// Shell source.
    Shell,
    /// The path of a file.
    Path,
}

/// The tools that AIR knows by their canonical names.
const TOOLS: [(&str, &str, Carries); 7] = [
    ("python_repl", "code", Carries::Python),
    ("bash", "command", Carries::Shell),
    ("shell.exec", "command", Carries::Shell),
    ("write_file", "path", Carries::Path),
    ("read_file", "path", Carries::Path),
    ("delete_file", "path", Carries::Path),
    ("list_files", "path", Carries::Path),
];

/// What the canonical tools do with the path that they are given.
const ON_PATHS: [(&str, Activity); 4] = [
    ("write_file", Activity::FileWrite),
    ("read_file", Activity::FileRead),
    ("delete_file", Activity::FileDelete),
    ("list_files", Activity::DirectoryList),
];

/// Reads the source that calls carry.
#[derive(Debug, Clone)]
pub struct CodeParser {
    tools: BTreeMap<String, Vec<(String, Carries)>>,
}

impl CodeParser {
    /// A parser that knows the canonical tools.
    pub fn new() -> Self {
        let tools = TOOLS.into_iter();
        tools.fold(Self { tools: BTreeMap::new() }, |parser, (tool, argument, carries)| {
            parser.with_tool(tool, argument, carries)
        })
    }

    /// This parser, knowing that `argument` of `tool` carries source or a path. A tool may have one
    /// argument with source, and any number with paths; what was known of the argument is replaced.
    #[must_use]
    pub fn with_tool(mut self, tool: &str, argument: &str, carries: Carries) -> Self {
        let arguments = self.tools.entry(tool.to_owned()).or_default();
        arguments.retain(|(name, known)| {
            name != argument && (carries == Carries::Path || *known == Carries::Path)
        });
        arguments.push((argument.to_owned(), carries));
        self
    }

    /// The facts of the call's code-bearing argument; without a language where it has none.
    pub fn read(&self, tool: &str, arguments: &Arguments, around: &dyn Surroundings) -> CodeFacts {
        let carriers = self.tools.get(tool).map(Vec::as_slice).unwrap_or_default();
        let mut facts = CodeFacts::default();
        let mut mentioned = Vec::new();
        let mut wrong = Vec::new();
        for (name, carries) in carriers {
            let value = arguments.get(name);
            match (carries, value.map(|value| value.as_str())) {
                (Carries::Python, Some(Some(source))) => facts = python::read(source, around),
                (Carries::Shell, Some(Some(source))) => facts = shell::read(source, around),
                (Carries::Path, Some(Some(path))) => mentioned.push(path.to_owned()),
                (_, Some(None)) => wrong.push(format!("argument `{name}` is no text")),
                // A path may have a default; source has none.
                (Carries::Path, None) => {}
                (_, None) => wrong.push(format!("argument `{name}` is missing")),
            }
        }
        for path in &mentioned {
            on_path(tool, path, arguments, &mut facts);
        }
        facts.paths.extend(mentioned);
        facts.incomplete.extend(wrong);
        facts
    }
}

/// What a tool of its own does with `path`.
fn on_path(tool: &str, path: &str, arguments: &Arguments, facts: &mut CodeFacts) {
    let Some((_, activity)) = ON_PATHS.iter().find(|(name, _)| *name == tool) else { return };
    let place = Place::new(PlaceKind::File, path);
    facts.operations.push(Operation {
        activity: *activity,
        target: path.to_owned(),
        via: tool.to_owned(),
        detail: None,
        recursive: false,
        line: 1,
    });
    match activity {
        Activity::FileRead => {
            let sink = Place::new(PlaceKind::Output, "");
            facts.flows.push(Flow { source: place, sink, line: 1 });
        }
        Activity::FileWrite => {
            let text = arguments.get("content").and_then(|content| content.as_str());
            let text = text.filter(|text| text.len() <= MAX_LEFT).map(ToOwned::to_owned);
            facts.leaves.push((place, Held { text, ..Held::default() }));
        }
        Activity::FileDelete => facts.leaves.push((place, Held::default())),
        _ => {}
    }
}

impl CodeReader for CodeParser {
    fn read(&self, tool: &str, arguments: &Arguments, around: &dyn Surroundings) -> CodeFacts {
        Self::read(self, tool, arguments, around)
    }

    fn intents(&self, plan: &str) -> Vec<Intent> {
        crate::intent::read(plan)
    }
}

impl Default for CodeParser {
    fn default() -> Self {
        Self::new()
    }
}
