//! A settings file as text with places: what is inserted and cut is decided on its tokens, and every
//! other byte stays.

use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions,
    ast::{Array, Object, ObjectProp, Value},
    common::{Range, Ranged as _},
    tokens::{Token, TokenAndRange},
};

use super::{
    Dialect, SettingsError,
    json::{Json, Layout, key},
};

/// A settings file that is larger is no settings file.
const MAX_BYTES: usize = 8 << 20;
const BOM: char = '\u{feff}';

/// A text that has been read.
pub(super) struct Document<'t> {
    /// A byte order mark, if there is one.
    pub(super) bom: &'t str,
    /// All behind it; every place is one in this.
    pub(super) text: &'t str,
    /// What it says; `None` where it is empty.
    pub(super) value: Option<Value<'t>>,
    tokens: Vec<TokenAndRange<'t>>,
}

/// An object or an array in it.
#[derive(Debug)]
pub(super) struct Container {
    range: Range,
    items: Vec<Range>,
}

/// What is to be put into a container.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'j> {
    /// Its name in an object.
    pub(super) name: Option<&'j str>,
    pub(super) value: &'j Json,
}

/// A text with one thing more in it.
#[derive(Debug)]
pub(super) struct Appended {
    pub(super) text: String,
    /// What was put after it because the container had been empty.
    pub(super) suffix: String,
}

impl<'t> Document<'t> {
    /// Reads it.
    pub(super) fn parse(text: &'t str, dialect: Dialect) -> Result<Self, SettingsError> {
        if text.len() > MAX_BYTES {
            return Err(SettingsError::TooLarge { bytes: text.len() });
        }
        if text.starts_with(BOM) && matches!(dialect, Dialect::Strict | Dialect::Comments) {
            let what = "the host reads no byte order mark".to_owned();
            return Err(SettingsError::Syntax { line: 1, column: 1, what });
        }
        let (bom, text) = text.split_at(if text.starts_with(BOM) { BOM.len_utf8() } else { 0 });
        // What is collected is not checked.
        let reads_comments = matches!(dialect, Dialect::Comments | Dialect::Lenient);
        let comments = if reads_comments {
            CommentCollectionStrategy::AsTokens
        } else {
            CommentCollectionStrategy::Off
        };
        let collect = CollectOptions { comments, tokens: true };
        let options = ParseOptions {
            allow_comments: reads_comments,
            allow_trailing_commas: dialect == Dialect::Lenient,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let parsed = jsonc_parser::parse_to_ast(text, &collect, &options).map_err(|error| {
            SettingsError::Syntax {
                line: error.line_display(),
                column: error.column_display(),
                what: lower(&error.kind().to_string()),
            }
        })?;
        Ok(Self { bom, text, value: parsed.value, tokens: parsed.tokens.unwrap_or_default() })
    }

    /// The object that the whole file is, if it is not empty.
    pub(super) fn root(&self) -> Result<Option<&Object<'t>>, SettingsError> {
        match &self.value {
            None => Ok(None),
            Some(value) => self.object(value, "the file").map(Some),
        }
    }

    /// `value` as an object in which no name is there twice.
    pub(super) fn object<'v>(
        &self,
        value: &'v Value<'t>,
        what: &str,
    ) -> Result<&'v Object<'t>, SettingsError> {
        let object = value
            .as_object()
            .ok_or_else(|| self.shape(value.start(), format!("{what} is not an object")))?;
        for (index, property) in object.properties.iter().enumerate() {
            let name = property.name.as_str();
            if object.properties.iter().take(index).any(|other| other.name.as_str() == name) {
                let what = format!("`{name}` is there twice");
                return Err(self.shape(property.range.start, what));
            }
        }
        Ok(object)
    }

    /// `value` as a list.
    pub(super) fn array<'v>(
        &self,
        value: &'v Value<'t>,
        what: &str,
    ) -> Result<&'v Array<'t>, SettingsError> {
        value.as_array().ok_or_else(|| self.shape(value.start(), format!("{what} is not a list")))
    }

    fn shape(&self, at: usize, what: String) -> SettingsError {
        let before = self.cut(0, at);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        SettingsError::Shape { line, column, what }
    }

    /// Whether somebody left a comment in it.
    pub(super) fn has_comment(&self, within: Range) -> bool {
        self.tokens.iter().any(|token| {
            matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
                && token.range.start >= within.start
                && token.range.end <= within.end
        })
    }

    /// The text with `item` as the last of `container`.
    pub(super) fn append(&self, container: &Container, item: Item<'_>) -> Appended {
        let close = container.range.end.saturating_sub(1);
        let anchor = self.last_before(close);
        let at = anchor.map_or(container.range.start, |token| token.range.end);
        let after_line_comment =
            anchor.is_some_and(|token| matches!(token.token, Token::CommentLine(_)));
        let newline = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let unit = self.unit();
        let outer = self.indent_of(container.range.start);
        let (gap, flat, inner) = match container.items.last() {
            Some(last) => {
                let gap = self.gap_before(last.start);
                let own_line = gap.contains('\n');
                let inner = if own_line {
                    self.indent_of(last.start).to_owned()
                } else {
                    format!("{outer}{unit}")
                };
                (gap, !own_line, inner)
            }
            None => ("", self.is_one_line(), format!("{outer}{unit}")),
        };
        let separator =
            if flat && !after_line_comment { gap.to_owned() } else { format!("{newline}{inner}") };
        let layout = Layout { newline: (!flat).then_some(newline), unit, indent: &inner };
        let rendered = item.value.render(layout);
        let rendered = match item.name {
            Some(name) => format!("{}{rendered}", key(name, layout)),
            None => rendered,
        };
        let rest_has_line = self.cut(at, close).contains('\n');
        let suffix = if container.items.is_empty() && !flat && !rest_has_line {
            format!("{newline}{outer}")
        } else {
            String::new()
        };
        let text = match container.items.last() {
            Some(last) if self.comma_between(last.end, close).is_none() => format!(
                "{},{}{separator}{rendered}{}",
                self.cut(0, last.end),
                self.cut(last.end, at),
                self.from(at)
            ),
            Some(_) => {
                format!("{}{separator}{rendered},{}", self.cut(0, at), self.from(at))
            }
            None => {
                format!("{}{separator}{rendered}{suffix}{}", self.cut(0, at), self.from(at))
            }
        };
        Appended { text: format!("{}{text}", self.bom), suffix }
    }

    /// The text without the item at `index` of `container`, and, if that was the last one, without
    /// `suffix` after it. Comments stay.
    pub(super) fn remove(&self, container: &Container, index: usize, suffix: &str) -> String {
        let Some(item) = container.items.get(index).copied() else {
            return format!("{}{}", self.bom, self.text);
        };
        let close = container.range.end.saturating_sub(1);
        let next = container.items.get(index + 1).map_or(close, |next| next.start);
        let before = index.checked_sub(1).and_then(|index| container.items.get(index));
        let lead = self.last_before(item.start).map_or(item.start, |token| token.range.end);
        let comma = self.comma_between(item.end, next);
        let mut end = item.end;
        if container.items.len() == 1 && comma.is_none() && self.from(end).starts_with(suffix) {
            end += suffix.len();
        }
        let mut cuts = vec![Range::new(lead, end)];
        let comma =
            comma.or_else(|| before.and_then(|before| self.comma_between(before.end, item.start)));
        cuts.extend(comma);
        cuts.sort_by_key(|cut| cut.start);
        let mut text = self.bom.to_owned();
        let mut from = 0;
        for cut in cuts {
            // The comma before may stand where the space before the item begins.
            text.push_str(self.cut(from, cut.start));
            from = from.max(cut.end);
        }
        text.push_str(self.from(from));
        text
    }

    fn comma_between(&self, from: usize, to: usize) -> Option<Range> {
        let inside =
            |token: &&TokenAndRange<'_>| token.range.start >= from && token.range.end <= to;
        let mut commas = self.tokens.iter().filter(inside).filter(|t| t.token == Token::Comma);
        commas.next().map(|token| token.range)
    }

    fn last_before(&self, at: usize) -> Option<&TokenAndRange<'t>> {
        self.tokens.iter().rev().find(|token| token.range.end <= at)
    }

    fn gap_before(&self, at: usize) -> &'t str {
        self.cut(self.last_before(at).map_or(0, |token| token.range.end), at)
    }

    /// White space at the begin of the line of `at`.
    fn indent_of(&self, at: usize) -> &'t str {
        let start = self.cut(0, at).rfind('\n').map_or(0, |line| line + 1);
        let line = self.from(start);
        let length = line.len() - line.trim_start_matches([' ', '\t']).len();
        line.get(..length).unwrap_or_default()
    }

    /// One step of indentation.
    fn unit(&self) -> &'t str {
        let root = self.value.as_ref().and_then(Value::as_object);
        let first = root.and_then(|root| root.properties.first());
        let own = first.filter(|first| self.gap_before(first.range.start).contains('\n'));
        match own.map(|first| self.indent_of(first.range.start)) {
            Some(indent) if !indent.is_empty() => indent,
            _ => "  ",
        }
    }

    /// Whether the whole is written on one line.
    fn is_one_line(&self) -> bool {
        let root = self.value.as_ref().and_then(Value::as_object);
        root.is_some_and(|root| {
            !root.properties.is_empty()
                && !self.cut(root.range.start, root.range.end).contains('\n')
        })
    }

    fn cut(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to).unwrap_or_default()
    }

    fn from(&self, from: usize) -> &'t str {
        self.text.get(from..).unwrap_or_default()
    }
}

impl Container {
    pub(super) fn of_object(object: &Object<'_>) -> Self {
        let items = object.properties.iter().map(|property| property.range).collect();
        Self { range: object.range, items }
    }

    pub(super) fn of_array(array: &Array<'_>) -> Self {
        Self { range: array.range, items: array.elements.iter().map(Value::range).collect() }
    }
}

/// The property called `name` and where it is in its object.
pub(super) fn property<'v, 't>(
    object: &'v Object<'t>,
    name: &str,
) -> Option<(usize, &'v ObjectProp<'t>)> {
    object.properties.iter().enumerate().find(|(_, property)| property.name.as_str() == name)
}

fn lower(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
