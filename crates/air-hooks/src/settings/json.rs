//! JSON that AIR writes: in the order in which it is said, laid out like the text around it.

use std::fmt::Write as _;

/// A value to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Json {
    Text(String),
    Number(u32),
    Flag(bool),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

/// How the text around it is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout<'t> {
    /// What ends a line; `None` where all is on one line.
    pub(super) newline: Option<&'t str>,
    /// One step of indentation.
    pub(super) unit: &'t str,
    /// Indentation of the line on which the value begins.
    pub(super) indent: &'t str,
}

impl Json {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The value as text.
    pub(super) fn render(&self, layout: Layout<'_>) -> String {
        let mut out = String::new();
        self.write(&mut out, layout, 1);
        out
    }

    fn write(&self, out: &mut String, layout: Layout<'_>, depth: usize) {
        match self {
            Self::Text(text) => out.push_str(&quoted(text)),
            Self::Number(number) => _ = write!(out, "{number}"),
            Self::Flag(flag) => _ = write!(out, "{flag}"),
            Self::List(items) => {
                let items = items.iter().map(|item| (None, item));
                members(out, ('[', ']'), items, layout, depth);
            }
            Self::Object(items) => {
                let items = items.iter().map(|(name, item)| (Some(*name), item));
                members(out, ('{', '}'), items, layout, depth);
            }
        }
    }
}

fn members<'j>(
    out: &mut String,
    (open, close): (char, char),
    items: impl ExactSizeIterator<Item = (Option<&'static str>, &'j Json)>,
    layout: Layout<'_>,
    depth: usize,
) {
    let line = |out: &mut String, depth: usize| {
        if let Some(newline) = layout.newline {
            out.push_str(newline);
            out.push_str(layout.indent);
            out.push_str(&layout.unit.repeat(depth));
        }
    };
    let empty = items.len() == 0;
    out.push(open);
    for (index, (name, item)) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        line(out, depth);
        if let Some(name) = name {
            out.push_str(&key(name, layout));
        }
        item.write(out, layout, depth + 1);
    }
    if !empty {
        line(out, depth - 1);
    }
    out.push(close);
}

/// A name with its colon.
pub(super) fn key(name: &str, layout: Layout<'_>) -> String {
    let space = if layout.newline.is_some() { " " } else { "" };
    format!("{}:{space}", quoted(name))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
