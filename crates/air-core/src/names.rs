//! What a tool is called: a rule's trigger may name it by any of its names.

use crate::step::ToolCall;

/// AIR's own tools, and what the same is called across hosts.
const SAME: [(&str, &str); 3] =
    [("bash", "shell.exec"), ("write_file", "file.write"), ("read_file", "file.read")];

/// The names of one tool, the canonical one first.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    own: &'a str,
    native: Option<&'a str>,
}

impl<'a> Names<'a> {
    /// All of them, each once.
    pub fn iter(self) -> impl Iterator<Item = &'a str> {
        let same = SAME.into_iter().find_map(|(one, other)| match self.own {
            own if own == one => Some(other),
            own if own == other => Some(one),
            _ => None,
        });
        let native = self.native.filter(|native| *native != self.own && Some(*native) != same);
        [Some(self.own), native, same].into_iter().flatten()
    }
}

impl<'a> From<&'a str> for Names<'a> {
    fn from(own: &'a str) -> Self {
        Self { own, native: None }
    }
}

impl<'a> From<&'a String> for Names<'a> {
    fn from(own: &'a String) -> Self {
        own.as_str().into()
    }
}

impl<'a> From<&'a ToolCall> for Names<'a> {
    fn from(call: &'a ToolCall) -> Self {
        Self { own: &call.tool, native: call.native.as_deref() }
    }
}
