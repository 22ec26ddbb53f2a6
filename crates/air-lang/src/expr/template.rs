//! Arguments of a `call` action: JSON whose texts may hold `${…}`.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use air_core::{
    condition::CallTemplate,
    fact::{Facts, Roots},
    value::{List, Value},
};
use serde_json::{Map, Value as Json};

use super::{
    ExprError, Moment, compile_part,
    eval::{EXHAUSTED, Evaluator},
    ir::Node,
    lower::Lowered,
    ops, scan,
    ty::Ty,
};

/// Longest template, in bytes.
const MAX_TEMPLATE: usize = 64 * 1024;

/// A text of the template, taken apart.
#[derive(Debug)]
enum Text {
    /// One expression and nothing else: its value as it is.
    Whole(Node),
    Parts(Vec<Part>),
}

#[derive(Debug)]
enum Part {
    Literal(String),
    Value(Node),
}

#[derive(Debug)]
struct Template {
    source: Arc<str>,
    json: Map<String, Json>,
    texts: BTreeMap<String, Text>,
    list: Option<Node>,
    reads: Roots,
}

pub(super) fn compile(
    source: &str,
    loop_var: Option<(&str, &str)>,
    moment: Moment,
) -> Result<Arc<dyn CallTemplate>, Vec<ExprError>> {
    let whole = (0, source.len());
    if source.len() > MAX_TEMPLATE {
        let message = format!("the arguments are longer than {MAX_TEMPLATE} bytes");
        return Err(vec![ExprError::new(whole, message)]);
    }
    let mut errors = Vec::new();
    let mut reads = Roots::NONE;
    let (mut list, mut variable) = (None, None);
    if let Some((name, range)) = loop_var {
        let mut item = Ty::Dyn;
        match compile_part(range, moment, None) {
            Ok(lowered) => {
                reads = lowered.reads;
                match lowered.ty.present() {
                    Ty::List(inner) => item = (**inner).clone(),
                    Ty::Dyn => {}
                    other => {
                        let message = format!("`for` needs a list, this is {other}");
                        errors.push(ExprError::new(lowered.span, message));
                    }
                }
                list = Some(lowered.node);
            }
            Err(found) => errors.extend(found),
        }
        for error in &mut errors {
            error.in_loop = true;
        }
        variable = Some((name, item));
    }
    let json = match serde_json::from_str::<Json>(source) {
        Ok(Json::Object(json)) => json,
        Ok(_) => {
            errors.push(
                ExprError::new(whole, "the arguments of a call are a JSON object")
                    .hint("write `{\"name\": \"value\"}`"),
            );
            return Err(errors);
        }
        Err(error) => {
            errors.push(invalid_json(source, &error));
            return Err(errors);
        }
    };
    let mut texts = BTreeMap::new();
    for token in tokens(source) {
        let Some(raw) = source.get(token.clone()) else { continue };
        let Ok(text) = serde_json::from_str::<String>(raw) else { continue };
        if !text.contains("${") || texts.contains_key(&text) {
            continue;
        }
        let key = source.get(token.end..).is_some_and(|rest| rest.trim_start().starts_with(':'));
        if key {
            let message = "the name of an argument holds no expression";
            errors.push(ExprError::new((token.start, token.end), message));
            continue;
        }
        let offsets = Offsets::new(raw, token.start);
        match compile_text(&text, moment, variable.as_ref(), &mut reads) {
            Ok(parsed) => {
                texts.insert(text, parsed);
            }
            Err(found) => errors.extend(found.into_iter().map(|mut error| {
                (error.start, error.end) = (offsets.raw(error.start), offsets.raw(error.end));
                error
            })),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Arc::new(Template { source: source.into(), json, texts, list, reads }))
}

fn compile_text(
    text: &str,
    moment: Moment,
    variable: Option<&(&str, Ty)>,
    reads: &mut Roots,
) -> Result<Text, Vec<ExprError>> {
    let (mut parts, mut errors, mut literal) = (Vec::new(), Vec::new(), String::new());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(found) = rest.find("${") else {
            literal.push_str(rest);
            break;
        };
        let before = rest.get(..found).unwrap_or_default();
        let start = at + found + 2;
        if let Some(kept) = before.strip_suffix('$') {
            literal.push_str(kept);
            literal.push_str("${");
            at = start;
            continue;
        }
        literal.push_str(before);
        let inner = text.get(start..).unwrap_or_default();
        let Some(length) = scan::interpolation_end(inner) else {
            let error = ExprError::new((start - 2, start), "`${` is never closed");
            errors.push(error.hint("write `$${` for these characters themselves"));
            break;
        };
        let expression = inner.get(..length).unwrap_or_default();
        let alone = start == 2 && start + length + 1 == text.len();
        match compile_part(expression, moment, variable.cloned()) {
            Ok(Lowered { node, ty, span, reads: read }) => {
                *reads = reads.union(read);
                if alone {
                    return Ok(Text::Whole(node));
                }
                if matches!(ty, Ty::List(_) | Ty::Map | Ty::Record(_) | Ty::Null) {
                    let message = format!("{ty} cannot be part of a text");
                    let error = ExprError::new((start + span.0, start + span.1), message);
                    errors.push(error.hint("make it the whole value, `\"${…}\"`"));
                }
                parts.push(Part::Literal(std::mem::take(&mut literal)));
                parts.push(Part::Value(node));
            }
            Err(found) => errors.extend(found.into_iter().map(|mut error| {
                (error.start, error.end) = (start + error.start, start + error.end);
                error
            })),
        }
        at = start + length + 1;
    }
    parts.push(Part::Literal(literal));
    if errors.is_empty() { Ok(Text::Parts(parts)) } else { Err(errors) }
}

fn invalid_json(source: &str, error: &serde_json::Error) -> ExprError {
    let before = source.split_inclusive('\n').take(error.line().saturating_sub(1));
    let mut start = before.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
    start = start.min(source.len());
    while !source.is_char_boundary(start) {
        start -= 1;
    }
    let length = source.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    let text = error.to_string();
    let why = text.split(" at line ").next().unwrap_or_default();
    ExprError::new((start, start + length), format!("the arguments are not JSON: {why}"))
}

/// The texts of valid JSON, with their quotes.
fn tokens(source: &str) -> Vec<Range<usize>> {
    let (mut found, mut open, mut escaped) = (Vec::new(), None, false);
    for (at, byte) in source.bytes().enumerate() {
        match (open, byte) {
            (None, b'"') => open = Some(at),
            (None, _) => {}
            _ if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(start), b'"') => {
                found.push(start..at + 1);
                open = None;
            }
            _ => {}
        }
    }
    found
}

/// From a byte of a text to the byte of the template that it was written at.
struct Offsets {
    /// Byte of the text, byte of the template: one entry a character, and the end.
    starts: Vec<(usize, usize)>,
}

impl Offsets {
    fn new(raw: &str, start: usize) -> Self {
        let (mut starts, mut decoded, mut characters) = (Vec::new(), 0, raw.char_indices().skip(1));
        while let Some((at, character)) = characters.next() {
            starts.push((decoded, start + at));
            decoded += match character {
                '\\' => match characters.next() {
                    Some((at, 'u')) => unicode(raw, at + 1, &mut characters),
                    _ => 1,
                },
                other => other.len_utf8(),
            };
        }
        Self { starts }
    }

    fn raw(&self, byte: usize) -> usize {
        let after = self.starts.partition_point(|(decoded, _)| *decoded < byte);
        self.starts.get(after).or(self.starts.last()).map_or(0, |(_, raw)| *raw)
    }
}

/// Skips the digits of a `\u`; the bytes that it stands for.
fn unicode(raw: &str, at: usize, characters: &mut impl Iterator<Item = (usize, char)>) -> usize {
    let digits = raw.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    for _ in 0..4 {
        characters.next();
    }
    // Each half of a surrogate pair has two of its four bytes.
    digits.and_then(char::from_u32).map_or(2, char::len_utf8)
}

impl CallTemplate for Template {
    fn source(&self) -> &str {
        &self.source
    }

    fn reads(&self) -> Roots {
        self.reads
    }

    fn expand(&self, facts: &Facts) -> Result<Vec<Map<String, Json>>, Arc<str>> {
        let mut evaluator = Evaluator::new(facts, u64::MAX);
        let Some(list) = &self.list else { return Ok(vec![self.object(&mut evaluator)?]) };
        let items = match evaluator.eval(list) {
            Value::List(List { items, incomplete: None }) => items,
            Value::List(List { incomplete: Some(why), .. }) | Value::Unknown(why) => {
                return Err(why);
            }
            other => return Err(format!("{} is not a list", ops::kind(&other)).into()),
        };
        let mut objects = Vec::new();
        for item in &*items {
            evaluator.locals.push(item.clone());
            let object = self.object(&mut evaluator);
            evaluator.locals.pop();
            objects.push(object?);
        }
        Ok(objects)
    }
}

impl Template {
    fn object(&self, evaluator: &mut Evaluator<'_>) -> Result<Map<String, Json>, Arc<str>> {
        let fields = self.json.iter();
        fields.map(|(name, value)| Ok((name.clone(), self.fill(value, evaluator)?))).collect()
    }

    fn fill(&self, json: &Json, evaluator: &mut Evaluator<'_>) -> Result<Json, Arc<str>> {
        if !evaluator.spend(1) {
            return Err(EXHAUSTED.into());
        }
        Ok(match json {
            Json::String(text) => match self.texts.get(text) {
                None => json.clone(),
                Some(Text::Whole(node)) => to_json(&known(evaluator, node)?, evaluator)?,
                Some(Text::Parts(parts)) => {
                    let mut filled = String::new();
                    for part in parts {
                        match part {
                            Part::Literal(literal) => filled.push_str(literal),
                            Part::Value(node) => match known(evaluator, node)? {
                                Value::String(text) => filled.push_str(&text),
                                Value::Bool(truth) => filled.push_str(&truth.to_string()),
                                Value::Int(number) => filled.push_str(&number.to_string()),
                                Value::Double(number) => filled.push_str(&number.to_string()),
                                other => {
                                    let kind = ops::kind(&other);
                                    return Err(format!("{kind} cannot be part of a text").into());
                                }
                            },
                        }
                    }
                    Json::String(filled)
                }
            },
            Json::Array(items) => {
                let items = items.iter().map(|item| self.fill(item, evaluator));
                Json::Array(items.collect::<Result<_, _>>()?)
            }
            Json::Object(fields) => {
                let fields = fields.iter();
                let filled =
                    fields.map(|(name, value)| Ok((name.clone(), self.fill(value, evaluator)?)));
                Json::Object(filled.collect::<Result<_, Arc<str>>>()?)
            }
            other => other.clone(),
        })
    }
}

fn known(evaluator: &mut Evaluator<'_>, node: &Node) -> Result<Value, Arc<str>> {
    match evaluator.eval(node) {
        _ if evaluator.exhausted() => Err(EXHAUSTED.into()),
        Value::Unknown(why) => Err(why),
        value => Ok(value),
    }
}

/// What is built of one part many times over is written out as often, so it takes steps as well.
fn to_json(value: &Value, evaluator: &mut Evaluator<'_>) -> Result<Json, Arc<str>> {
    if !evaluator.spend(1) {
        return Err(EXHAUSTED.into());
    }
    Ok(match value {
        Value::Unknown(why) | Value::List(List { incomplete: Some(why), .. }) => {
            return Err(why.clone());
        }
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(number) => Json::from(*number),
        Value::Double(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => Json::Number(number),
            None => return Err("a number that is not finite has no JSON".into()),
        },
        Value::String(text) if evaluator.read(text) => Json::String(text.to_string()),
        Value::String(_) => return Err(EXHAUSTED.into()),
        Value::List(list) => {
            let items = list.items.iter().map(|item| to_json(item, evaluator));
            Json::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Map(fields) => {
            let fields = fields.iter();
            let filled =
                fields.map(|(name, value)| Ok((name.to_string(), to_json(value, evaluator)?)));
            Json::Object(filled.collect::<Result<_, Arc<str>>>()?)
        }
    })
}
