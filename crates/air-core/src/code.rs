//! What source code in a call does, as far as parsing tells. `air-facts` fills it.

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// The facts of one source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFacts {
    /// `python` or `shell`; `None` where the call carries no source.
    pub language: Option<String>,
    /// Calls and commands, in source order. Names are resolved through imports: `shutil.copy`, `cp`.
    pub calls: Vec<Call>,
    /// Modules imported or files sourced.
    pub imports: Vec<String>,
    /// String literals, decoded.
    pub strings: Vec<String>,
    /// Strings and words that read as paths, as written.
    pub paths: Vec<String>,
    /// Strings and words that read as URLs.
    pub urls: Vec<String>,
    /// Data that goes from a source to a sink.
    pub flows: Vec<Flow>,
    /// Flaws of the program itself.
    pub defects: Vec<Defect>,
    /// Why the lists above may lack something; empty when they are whole.
    pub incomplete: Vec<String>,
}

/// One call or command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Dotted name, or the command's word.
    pub name: String,
    /// Literal arguments, decoded; an argument that is no literal is `"${…}"` around its source.
    pub args: Vec<String>,
    /// Line in the source, from 1.
    pub line: u32,
}

/// Data that goes from a source to a sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Where it comes from.
    pub source: String,
    /// Where it goes.
    pub sink: String,
}

/// A flaw of the program itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defect {
    /// Its class.
    pub kind: String,
    /// Line in the source, from 1.
    pub line: u32,
    /// One sentence.
    pub why: String,
}

impl CodeFacts {
    /// The fact `code`. Where the source does not parse whole, every list in it is incomplete, and
    /// so are the flows always, until something computes them.
    pub fn to_value(&self) -> Value {
        let reason = (!self.incomplete.is_empty()).then(|| self.incomplete.join("; "));
        let reason = reason.as_deref();
        let texts = |items: &[String]| {
            Value::list_with(items.iter().map(|item| Value::from(item.as_str())), reason)
        };
        let not_computed = self.language.as_ref().map(|_| "data flow is not computed");
        let no_defects = self.language.as_ref().map(|_| "defects are not searched for");
        Value::record([
            ("language", Value::optional(self.language.as_deref())),
            (
                "calls",
                Value::list_with(self.calls.iter().map(|call| call.to_value(reason)), reason),
            ),
            ("imports", texts(&self.imports)),
            ("strings", texts(&self.strings)),
            ("paths", texts(&self.paths)),
            ("urls", texts(&self.urls)),
            ("flows", Value::list_with(self.flows.iter().map(Flow::to_value), not_computed)),
            ("defects", Value::list_with(self.defects.iter().map(Defect::to_value), no_defects)),
            ("complete", Value::Bool(self.incomplete.is_empty())),
        ])
    }
}

impl Call {
    fn to_value(&self, reason: Option<&str>) -> Value {
        // An argument that is computed may have any value, so the list of texts is not whole.
        let computed = self.args.iter().find(|arg| arg.starts_with("${"));
        let computed = computed.map(|arg| format!("argument {arg} is computed"));
        let literal = self.args.iter().filter(|arg| !arg.starts_with("${"));
        let args = literal.map(|arg| Value::from(arg.as_str()));
        Value::record([
            ("name", Value::from(self.name.as_str())),
            ("args", Value::list_with(args, computed.as_deref().or(reason))),
            ("line", Value::Int(self.line.into())),
        ])
    }
}

impl Flow {
    fn to_value(&self) -> Value {
        Value::record([
            ("source", Value::from(self.source.as_str())),
            ("sink", Value::from(self.sink.as_str())),
        ])
    }
}

impl Defect {
    fn to_value(&self) -> Value {
        Value::record([
            ("kind", Value::from(self.kind.as_str())),
            ("line", Value::Int(self.line.into())),
            ("why", Value::from(self.why.as_str())),
        ])
    }
}
