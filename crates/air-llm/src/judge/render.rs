//! Facts as text, with what is unknown and incomplete said.

use std::fmt::Write as _;

use air_core::{
    redact::redact,
    value::{List, Value},
};

/// How deep a value is shown.
const MOST_DEPTH: usize = 12;
/// How many items of a list are shown: half of them from its start, half from its end.
const MOST_ITEMS: usize = 1000;
/// How long one text within a value may be, in bytes.
const MOST_TEXT: usize = 8 << 10;

/// A value as text, and whether all of it is there.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) text: String,
    pub(super) lossy: bool,
}

/// `value` on its own: texts as they are, the items of a list one a line.
pub(super) fn render(value: &Value) -> Rendered {
    let mut out = Rendered::default();
    match value {
        Value::String(text) => out.text.push_str(text),
        Value::Map(fields) => {
            for (name, value) in fields.iter() {
                out.text.push_str(&redact(name));
                match value {
                    // The lines of a program stay lines.
                    Value::String(text) if text.contains('\n') => {
                        out.text.push_str(":\n");
                        out.text.push_str(text);
                    }
                    Value::List(list) if list.items.iter().any(is_compound) => {
                        out.text.push(':');
                        out.items(list, "\n  - ", "\n  - ", 1);
                    }
                    value => {
                        out.text.push_str(": ");
                        out.inline(value, 1);
                    }
                }
                out.text.push('\n');
            }
        }
        Value::List(list) => out.items(list, "- ", "\n- ", 1),
        value => out.inline(value, 1),
    }
    out
}

fn is_compound(value: &Value) -> bool {
    matches!(value, Value::Map(_) | Value::List(_))
}

impl Rendered {
    fn items(&mut self, list: &List, first: &str, before: &str, depth: usize) {
        let total = list.items.len();
        let mut before = std::iter::once(first).chain(std::iter::repeat(before));
        let mut item = |out: &mut Self| out.text.push_str(before.next().unwrap_or_default());
        for (at, value) in list.items.iter().enumerate() {
            if total > MOST_ITEMS && at == MOST_ITEMS / 2 {
                item(self);
                let more = total - MOST_ITEMS;
                let _ = write!(self.text, "({more} more items are left out here)");
                self.lossy = true;
            }
            if total <= MOST_ITEMS || at < MOST_ITEMS / 2 || at >= total - MOST_ITEMS / 2 {
                item(self);
                self.inline(value, depth + 1);
            }
        }
        if let Some(why) = &list.incomplete {
            item(self);
            let _ = write!(self.text, "(incomplete: {})", redact(why));
        }
    }

    fn inline(&mut self, value: &Value, depth: usize) {
        if depth > MOST_DEPTH {
            self.text.push_str("(nested deeper than is shown)");
            self.lossy = true;
            return;
        }
        match value {
            Value::Unknown(why) => {
                let _ = write!(self.text, "unknown ({})", redact(why));
            }
            Value::Null => self.text.push_str("none"),
            Value::Bool(truth) => self.text.push_str(if *truth { "true" } else { "false" }),
            Value::Int(number) => self.text.push_str(&number.to_string()),
            Value::Double(number) => self.text.push_str(&number.to_string()),
            Value::String(text) => self.quoted(text),
            Value::List(list) => {
                self.text.push('[');
                self.items(list, "", ", ", depth);
                self.text.push(']');
            }
            Value::Map(fields) => {
                self.text.push('{');
                for (at, (name, value)) in fields.iter().enumerate() {
                    self.text.push_str(if at == 0 { "" } else { ", " });
                    self.text.push_str(&redact(name));
                    self.text.push_str(": ");
                    match value {
                        // As people write the permissions of a file.
                        Value::Int(mode) if name.as_ref() == "mode" => {
                            let _ = write!(self.text, "0o{mode:o}");
                        }
                        value => self.inline(value, depth + 1),
                    }
                }
                self.text.push('}');
            }
        }
    }

    /// Redacted before it is quoted: a private key in one line is not recognised afterwards.
    fn quoted(&mut self, text: &str) {
        let text = redact(text);
        let shown = if text.len() > MOST_TEXT {
            self.lossy = true;
            let start = text.floor_char_boundary(MOST_TEXT / 2);
            let end = text.ceil_char_boundary(text.len() - MOST_TEXT / 2);
            let (head, tail) = (text.get(..start), text.get(end..));
            let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
            format!("{head} ({} bytes are left out here) {tail}", end - start)
        } else {
            text
        };
        self.text.push_str(&serde_json::Value::from(shown).to_string());
    }
}

#[cfg(test)]
mod tests {
    use air_core::value::Value;

    use super::render;

    #[test]
    fn what_is_unknown_and_incomplete_is_said() {
        let files = [Value::record([
            ("path", Value::from("/workspace/a\nb")),
            ("labels", Value::strings(["credential"])),
            ("origin", Value::unknown("too large to compare")),
            ("moved", Value::Null),
        ])];
        let value = Value::record([
            ("files", Value::list_with(files, Some("the walk was cut off"))),
            ("reads", Value::list([])),
        ]);
        insta::assert_snapshot!(render(&value).text, @r#"
        files:
          - {labels: ["credential"], moved: none, origin: unknown (too large to compare), path: "/workspace/a\nb"}
          - (incomplete: the walk was cut off)
        reads: []
        "#);
    }

    #[test]
    fn programs_stay_readable_and_long_lists_keep_both_ends() {
        let value = Value::record([("code", Value::from("import os\nprint(1)"))]);
        assert_eq!(render(&value).text, "code:\nimport os\nprint(1)\n");
        let long = Value::list((0..5000).map(Value::Int));
        let rendered = render(&long);
        assert!(rendered.lossy && rendered.text.ends_with("\n- 4999"));
        assert!(rendered.text.contains("(4000 more items are left out here)"));
    }

    #[test]
    fn depth_is_bounded() {
        let mut value = Value::Null;
        for _ in 0..1000 {
            value = Value::list([value]);
        }
        assert!(render(&value).lossy);
    }
}
