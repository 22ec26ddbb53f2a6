//! Which argument of which tool carries source.

use std::collections::BTreeMap;

use air_core::{
    code::{Activity, CodeFacts, Intent, Operation},
    place::{Held, Place, PlaceKind},
    port::{CodeReader, Surroundings},
    step::Arguments,
};

use crate::{collect::Collector, host, python, shell};

/// What an argument holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// Python source.
    Python,
    /// Shell source.
    Shell,
    /// The path of a file.
    Path,
    /// The path of a file or directory, to which the tool does this.
    Target(Activity),
    /// What a file that the tool writes holds afterwards.
    Content,
}

impl Carries {
    fn is_source(self) -> bool {
        matches!(self, Self::Python | Self::Shell)
    }
}

/// The tools that AIR knows by their canonical names.
const TOOLS: [(&str, &str, Carries); 8] = [
    ("python_repl", "code", Carries::Python),
    ("bash", "command", Carries::Shell),
    ("shell.exec", "command", Carries::Shell),
    ("write_file", "path", Carries::Target(Activity::FileWrite)),
    ("write_file", "content", Carries::Content),
    ("read_file", "path", Carries::Target(Activity::FileRead)),
    ("delete_file", "path", Carries::Target(Activity::FileDelete)),
    ("list_files", "path", Carries::Target(Activity::DirectoryList)),
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
            name != argument && !(carries.is_source() && known.is_source())
        });
        arguments.push((argument.to_owned(), carries));
        self
    }

    /// The argument of `tool` that carries source, and of which language.
    pub(crate) fn source(&self, tool: &str) -> Option<(&str, Carries)> {
        let arguments = self.tools.get(tool)?;
        let source = arguments.iter().find(|(_, carries)| carries.is_source());
        source.map(|(name, carries)| (name.as_str(), *carries))
    }

    /// The facts of the call's code-bearing argument, and of what the tool itself does to the files
    /// that the call names; without a language where it carries no source.
    pub fn read(&self, tool: &str, arguments: &Arguments, around: &dyn Surroundings) -> CodeFacts {
        if !self.tools.contains_key(tool)
            && let Some(facts) = host::read(tool, arguments, around)
        {
            return facts;
        }
        let carriers = self.tools.get(tool).map(Vec::as_slice).unwrap_or_default();
        let mut facts = CodeFacts::default();
        let mut mentioned = Vec::new();
        let mut targets = Vec::new();
        let mut content = None;
        let mut wrong = Vec::new();
        for (name, carries) in carriers {
            let value = arguments.get(name);
            match (carries, value.map(|value| value.as_str())) {
                (Carries::Python, Some(Some(source))) => facts = python::read(source, around),
                (Carries::Shell, Some(Some(source))) => facts = shell::read(source, around),
                (Carries::Path, Some(Some(path))) => mentioned.push(path.to_owned()),
                (Carries::Target(activity), Some(Some(path))) => {
                    mentioned.push(path.to_owned());
                    targets.push((*activity, path));
                }
                (Carries::Content, Some(text)) => content = text,
                (_, Some(None)) => wrong.push(format!("argument `{name}` is no text")),
                // A path may have a default; source has none.
                (Carries::Path | Carries::Target(_) | Carries::Content, None) => {}
                (_, None) => wrong.push(format!("argument `{name}` is missing")),
            }
        }
        for (activity, path) in targets {
            let mut done = act(tool, activity, path, content, around);
            facts.operations.append(&mut done.operations);
            facts.flows.append(&mut done.flows);
            facts.leaves.append(&mut done.leaves);
        }
        facts.paths.extend(mentioned);
        facts.incomplete.extend(wrong);
        facts
    }
}

/// What `tool` does to the file `path`: as facts of a source of one line.
fn act(
    tool: &str,
    activity: Activity,
    path: &str,
    content: Option<&str>,
    around: &dyn Surroundings,
) -> CodeFacts {
    let mut out = Collector::new("", around);
    let file = Place::new(PlaceKind::File, path);
    out.operation(Operation {
        activity,
        target: path.to_owned(),
        via: tool.to_owned(),
        detail: None,
        recursive: false,
        labels: Vec::new(),
        line: 1,
    });
    match activity {
        Activity::FileRead => out.flow(&[file], &Place::new(PlaceKind::Output, ""), 1),
        Activity::FileWrite => {
            out.leave(file, Held { text: content.map(str::to_owned), ..Held::default() });
        }
        Activity::FileDelete => out.leave(file, Held::default()),
        _ => {}
    }
    out.finish()
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
