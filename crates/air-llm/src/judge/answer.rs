//! Reads an answer: tolerant of what surrounds it, strict in what it says.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::Value;

/// A longer answer is not read, in bytes.
const MOST_BYTES: usize = 2 << 20;
/// Objects in one text that are tried.
const MOST_OBJECTS: usize = 64;
const MOST_RATIONALE: usize = 1000;
const MOST_QUOTE: usize = 500;
const MOST_QUOTES: usize = 8;

/// What a model says about one rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Given {
    /// `None`: it cannot tell.
    pub(super) yes: Option<bool>,
    pub(super) confidence: f64,
    pub(super) rationale: String,
    pub(super) quotes: Vec<String>,
    /// Its place in the answer, from 0.
    pub(super) at: usize,
}

/// One a rule, or why there is none.
pub(super) type Answers = Vec<Result<Given, String>>;

#[derive(Deserialize)]
struct Sheet {
    request: String,
    answers: Vec<Item>,
}

/// An object with its fields as they were written, doubled ones too.
#[derive(Deserialize)]
#[serde(untagged)]
enum Item {
    Fields(Fields),
    Other(IgnoredAny),
}

struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AsWritten;
        impl<'de> Visitor<'de> for AsWritten {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        from.deserialize_map(AsWritten)
    }
}

/// What `text` says about each of `rules` rules, in an answer to the request with this code.
///
/// # Errors
///
/// Why it is no answer, in words of AIR's own: they are told to the model.
pub(super) fn read(text: &str, code: &str, rules: usize) -> Result<Answers, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("it is longer than {MOST_BYTES} bytes"));
    }
    let mut why = "there is no JSON object in it".to_owned();
    let mut found: Option<Answers> = None;
    for object in objects(text).take(MOST_OBJECTS) {
        let sheet: Sheet = match serde_json::from_str(object) {
            Ok(sheet) => sheet,
            Err(error) => {
                why = format!("the JSON is not of the form that is asked for: {}", place(&error));
                continue;
            }
        };
        if !sheet.request.trim().eq_ignore_ascii_case(code) {
            "`request` is not the code of this request".clone_into(&mut why);
            continue;
        }
        let answers = sheet.answers(rules)?;
        if found.as_ref().is_some_and(|found| *found != answers) {
            return Err("there are several answers in it, and they differ".to_owned());
        }
        found = Some(answers);
    }
    found.ok_or(why)
}

/// What is wrong, without text of the answer.
fn place(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        serde_json::error::Category::Eof => "it ends early",
        serde_json::error::Category::Data => "a field is missing or of another type",
        _ => "it is not valid JSON",
    };
    format!("{what} (line {}, column {})", error.line(), error.column())
}

/// Whatever in `text` is in balanced braces, outermost first.
fn objects(text: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text.get(from..)?.find('{')?;
        let object = text.get(start..)?;
        let length = balanced(object);
        // One that never ends is tried as well, for a message that tells how it ends.
        from = length.map_or(text.len(), |length| start + length);
        object.get(..length.unwrap_or(object.len()))
    })
}

fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

impl Sheet {
    fn answers(self, rules: usize) -> Result<Answers, String> {
        let mut answers: Vec<Option<Result<Given, String>>> = Vec::new();
        answers.resize_with(rules, || None);
        for (at, item) in self.answers.into_iter().enumerate() {
            let Item::Fields(fields) = item else {
                return Err("an item of `answers` is no object".to_owned());
            };
            let number = fields.number()?;
            let slot = number.checked_sub(1).and_then(|at| answers.get_mut(at));
            let Some(slot) = slot else {
                return Err(format!("there is no rule {number}: there are rules 1 to {rules}"));
            };
            *slot = Some(match slot.take() {
                None => fields.given(at),
                Some(_) => Err("the judge answered this rule more than once".to_owned()),
            });
        }
        let missing = || Err("the judge did not answer this question".to_owned());
        Ok(answers.into_iter().map(|given| given.unwrap_or_else(missing)).collect())
    }
}

impl Fields {
    /// The value of a field that is there once.
    fn one(&self, name: &str) -> Result<&Value, String> {
        let mut values = self.0.iter().filter(|(field, _)| field == name);
        match (values.next(), values.next()) {
            (Some((_, value)), None) => Ok(value),
            (None, _) => Err(format!("the answer has no `{name}`")),
            (Some(_), Some(_)) => Err(format!("the answer has more than one `{name}`")),
        }
    }

    fn number(&self) -> Result<usize, String> {
        let value = self.one("rule")?;
        let number = match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let number = number.and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| "`rule` is not the number of a rule".to_owned())
    }

    fn given(&self, at: usize) -> Result<Given, String> {
        let outcome = match self.one("outcome")? {
            Value::String(text) => text.trim().to_ascii_lowercase(),
            _ => String::new(),
        };
        let yes = match outcome.as_str() {
            "yes" => Some(true),
            "no" => Some(false),
            "cannot_tell" | "cannot tell" => None,
            _ => return Err("the outcome is none of yes, no and cannot_tell".to_owned()),
        };
        let confidence = match self.one("confidence")? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let confidence = confidence.filter(|confidence| (0.0..=1.0).contains(confidence));
        let confidence = confidence.ok_or("the confidence is not between 0 and 1")?;
        let rationale = match self.one("rationale")? {
            Value::String(text) if !text.trim().is_empty() => start(text.trim(), MOST_RATIONALE),
            _ => return Err("the judge gives no rationale".to_owned()),
        };
        let quotes = match self.one("quotes") {
            Ok(Value::Array(items)) => items.iter().take(MOST_QUOTES).collect(),
            Ok(Value::Null) | Err(_) => Vec::new(),
            Ok(_) => return Err("`quotes` is no list".to_owned()),
        };
        let quotes = quotes.into_iter().filter_map(Value::as_str).map(str::trim);
        let quotes = quotes.filter(|quote| !quote.is_empty());
        let quotes = quotes.map(|quote| start(quote, MOST_QUOTE)).collect();
        Ok(Given { yes, confidence, rationale, quotes, at })
    }
}

fn start(text: &str, bytes: usize) -> String {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
