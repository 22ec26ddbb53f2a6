//! What a judge is shown of a step: sections of data, bounded each and all together.

use air_core::{
    fact::{Facts, Root},
    question::{Inquiry, QuestionKind},
    redact::redact,
    step::Image,
    value::{List, Value},
};

use super::{
    condense::condense,
    observed::{Gap, Sign, signs, unseen},
    render::{Rendered, render},
    settings::JudgeSettings,
    text::Bounded,
};

/// Facts that are shown, in this order, each with its limit in bytes and whether it tells what the
/// step did: of those nothing may be missing where a judge denies harm.
const SHOWN: [(Root, usize, bool); 13] = [
    (Root::Task, 4 << 10, false),
    (Root::Agent, 256, false),
    (Root::History, 24 << 10, false),
    (Root::Taint, 8 << 10, false),
    (Root::Plan, 16 << 10, true),
    (Root::Intents, 4 << 10, false),
    (Root::Tool, 256, false),
    (Root::Args, 48 << 10, true),
    (Root::Code, 12 << 10, false),
    (Root::Output, 48 << 10, true),
    (Root::Error, 16 << 10, true),
    (Root::Effects, 48 << 10, true),
    (Root::State, 64 << 10, true),
];
/// What is shown of the fact `code`: the rest repeats the arguments.
const CODE: [&str; 4] = ["operations", "flows", "defects", "complete"];
/// How long one text of a past step may be, in bytes.
const PAST_TEXT: usize = 1 << 10;
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// All data of one inquiry. Nothing in it is trusted.
#[derive(Debug, Default)]
pub(crate) struct Data {
    pub(crate) sections: Vec<Section>,
    pub(super) images: Vec<Image>,
    /// Pictures that are not shown.
    pub(super) images_left_out: usize,
    /// What AIR measured that speaks for harm.
    pub(super) signs: Vec<Sign>,
    /// What else may speak for harm.
    gaps: Vec<Gap>,
}

/// One fact.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) text: Bounded,
    /// It tells what the step did, and some of it is missing.
    pub(super) cut: bool,
}

impl Data {
    pub(crate) fn new(inquiry: &Inquiry, settings: &JudgeSettings) -> Self {
        let mut sections = Vec::new();
        for (root, limit, tells) in SHOWN {
            let Some(value) = inquiry.facts.get(root) else { continue };
            let rendered = shown(root, value, settings);
            // At the end of a text there may be an end of line or not; it tells nothing.
            let text = Bounded::new(rendered.text.trim_end_matches('\n'), limit);
            let cut = tells && (rendered.lossy || !text.is_whole());
            let cut = cut || inquiry.kind == QuestionKind::Happened && is_unseen(root, value);
            sections.push((Section { name: root.name(), text, cut }, tells));
        }
        let lengths: Vec<usize> = sections.iter().map(|(section, _)| section.text.len()).collect();
        let cap = cap(&lengths, settings.data_bytes);
        let sections = sections.into_iter().map(|(section, tells)| {
            let text = section.text.within(cap);
            let cut = section.cut || tells && !text.is_whole();
            Section { text, cut, ..section }
        });
        let mut data = Self { sections: sections.collect(), ..Self::default() };
        let (signs, more) = signs(&inquiry.facts);
        data.signs = signs;
        data.gaps.extend(more);
        // Before a step its effects are unknown by nature.
        if inquiry.kind != QuestionKind::WouldCause {
            data.gaps.extend(unseen(&inquiry.facts));
        }
        data.pictures(&inquiry.images, settings);
        data
    }

    /// What is not shown, tells what the step did, and may bear on this question about `check`.
    pub(super) fn missing(&self, question: QuestionKind, check: &str) -> Vec<&'static str> {
        let cut = self.sections.iter().filter(|section| section.cut);
        let images = (self.images_left_out > 0).then_some("images");
        let gaps = self.gaps.iter().filter(|gap| gap.concerns(question, check));
        cut.map(|section| section.name).chain(images).chain(gaps.map(|gap| gap.name)).collect()
    }

    fn pictures(&mut self, images: &[Image], settings: &JudgeSettings) {
        let mut bytes = 0;
        for image in images {
            bytes += image.data.len();
            let known = IMAGE_TYPES.contains(&image.media_type.as_str());
            if known && bytes <= settings.image_bytes && self.images.len() < settings.images {
                self.images.push(image.clone());
            } else {
                self.images_left_out += 1;
            }
        }
    }
}

/// Whether nobody saw what the call returned, as after a crash. That is past: it bears on whether something
/// happened, and not on whether it has stopped or is undone.
fn is_unseen(root: Root, value: &Value) -> bool {
    matches!((root, value), (Root::Output | Root::Error, Value::Unknown(_)))
}

/// The longest that a section may be, so that all of them keep to `total`.
fn cap(lengths: &[usize], total: usize) -> usize {
    let mut cap = total;
    while cap > 0 && lengths.iter().map(|length| *length.min(&cap)).sum::<usize>() > total {
        cap -= (cap / 8).max(1);
    }
    cap
}

fn shown(root: Root, value: &Value, settings: &JudgeSettings) -> Rendered {
    match (root, value) {
        (Root::Code, Value::Map(fields)) => {
            let fields = fields.iter().filter(|(name, _)| CODE.contains(&name.as_ref()));
            render(&Value::record(fields.map(|(name, value)| (name.as_ref(), value.clone()))))
        }
        (Root::Effects, value) => render(&condense(value)),
        (Root::History, Value::List(list)) => render(&last_steps(list, settings.history_steps)),
        _ => render(value),
    }
}

/// The last `count` steps, with what they did in short.
fn last_steps(list: &List, count: usize) -> Value {
    let left_out = list.items.len().saturating_sub(count);
    let steps = list.items.iter().skip(left_out).map(|step| match step {
        Value::Map(fields) => Value::record(fields.iter().map(|(name, value)| {
            let value = if name.as_ref() == "effects" { effects(value) } else { brief(value, 4) };
            (name.as_ref(), value)
        })),
        value => brief(value, 4),
    });
    let why = (left_out > 0).then(|| format!("{left_out} older steps are not shown"));
    Value::list_with(steps, why.as_deref().or(list.incomplete.as_deref()))
}

/// Effects without what is empty.
fn effects(value: &Value) -> Value {
    let condensed = condense(value);
    let Value::Map(fields) = &condensed else { return brief(value, 4) };
    let telling = fields.iter().filter(|(_, value)| match value {
        Value::List(list) => !list.items.is_empty() || list.incomplete.is_some(),
        _ => true,
    });
    Value::record(telling.map(|(name, value)| (name.as_ref(), brief(value, 4))))
}

/// A value with its texts shortened.
fn brief(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(text) if text.len() > PAST_TEXT => {
            // Redacted before it is cut: half a secret is not recognised.
            let text = redact(text);
            let start = text.floor_char_boundary(PAST_TEXT / 2);
            let end = text.ceil_char_boundary(text.len().saturating_sub(PAST_TEXT / 2)).max(start);
            let (head, tail) = (text.get(..start), text.get(end..));
            let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
            Value::from(format!("{head} (...) {tail}").as_str())
        }
        Value::List(list) if depth > 0 => {
            let items = list.items.iter().map(|item| brief(item, depth - 1));
            Value::list_with(items, list.incomplete.as_deref())
        }
        Value::Map(fields) if depth > 0 => Value::record(
            fields.iter().map(|(name, value)| (name.as_ref(), brief(value, depth - 1))),
        ),
        value => value.clone(),
    }
}

/// Facts that change nothing in what is asked, and are not shown: they would make every key another.
pub(super) fn shown_facts(facts: &Facts) -> impl Iterator<Item = (Root, &Value)> {
    SHOWN.into_iter().filter_map(|(root, _, _)| Some((root, facts.get(root)?)))
}
