//! Verdicts by what was asked. Nothing that was asked is kept: the keys are keyed digests.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use air_core::{
    outcome::{Outcome, Verdict},
    question::Inquiry,
    rule::Rule,
    value::Value,
};

use super::{ask::prompt, data::shown_facts};
use crate::prompts;

/// What was asked.
pub(super) type Key = [u8; 32];

/// The last verdicts.
pub(super) struct Cache {
    secret: [u8; 32],
    most: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    verdicts: HashMap<Key, (u64, Verdict)>,
    uses: u64,
}

impl Cache {
    pub(super) fn new(secret: [u8; 32], most: usize) -> Self {
        Self { secret, most, held: Mutex::default() }
    }

    /// What all questions of an inquiry have in common.
    pub(super) fn common(&self, inquiry: &Inquiry, models: &str) -> blake3::Hasher {
        let mut digest = blake3::Hasher::new_keyed(&self.secret);
        for prompt in [prompts::JUDGE, prompts::LOOK, prompt(inquiry.kind)] {
            text(&mut digest, prompt.name);
            number(&mut digest, u64::from(prompt.version));
        }
        text(&mut digest, models);
        for (root, value) in shown_facts(&inquiry.facts) {
            text(&mut digest, root.name());
            hash(&mut digest, value);
        }
        for image in &inquiry.images {
            text(&mut digest, &image.media_type);
            bytes(&mut digest, &image.data);
        }
        digest
    }

    /// The key of one question.
    pub(super) fn key(common: &blake3::Hasher, rule: &Rule) -> Key {
        let mut digest = common.clone();
        text(&mut digest, rule.name.as_str());
        text(&mut digest, &rule.check);
        text(&mut digest, &rule.source);
        *digest.finalize().as_bytes()
    }

    pub(super) fn get(&self, key: &Key) -> Option<Verdict> {
        let mut held = self.lock();
        held.uses += 1;
        let now = held.uses;
        let (used, verdict) = held.verdicts.get_mut(key)?;
        *used = now;
        Some(verdict.clone())
    }

    /// Keeps what is determined.
    pub(super) fn put(&self, key: Key, verdict: &Verdict) {
        if self.most == 0 || matches!(verdict.outcome, Outcome::Undetermined(_)) {
            return;
        }
        let mut held = self.lock();
        held.uses += 1;
        let now = held.uses;
        held.verdicts.insert(key, (now, verdict.clone()));
        if held.verdicts.len() > self.most {
            // A quarter at once, so that looking for the oldest is rare.
            let mut uses: Vec<u64> = held.verdicts.values().map(|(used, _)| *used).collect();
            uses.sort_unstable();
            let oldest = uses.get(self.most / 4).copied().unwrap_or(now);
            held.verdicts.retain(|_, (used, _)| *used > oldest || *used == now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash(digest: &mut blake3::Hasher, value: &Value) {
    match value {
        Value::Unknown(why) => {
            digest.update(b"?");
            text(digest, why);
        }
        Value::Null => {
            digest.update(b"-");
        }
        Value::Bool(truth) => {
            digest.update(if *truth { b"t" } else { b"f" });
        }
        Value::Int(whole) => {
            digest.update(b"i");
            digest.update(&whole.to_le_bytes());
        }
        Value::Double(real) => {
            digest.update(b"d");
            digest.update(&real.to_bits().to_le_bytes());
        }
        Value::String(string) => {
            digest.update(b"s");
            text(digest, string);
        }
        Value::List(list) => {
            digest.update(b"l");
            number(digest, list.items.len().try_into().unwrap_or(u64::MAX));
            list.items.iter().for_each(|item| hash(digest, item));
            text(digest, list.incomplete.as_deref().unwrap_or_default());
        }
        Value::Map(fields) => {
            digest.update(b"m");
            number(digest, fields.len().try_into().unwrap_or(u64::MAX));
            for (name, value) in fields.iter() {
                text(digest, name);
                hash(digest, value);
            }
        }
    }
}

fn text(digest: &mut blake3::Hasher, text: &str) {
    bytes(digest, text.as_bytes());
}

fn bytes(digest: &mut blake3::Hasher, bytes: &[u8]) {
    number(digest, bytes.len().try_into().unwrap_or(u64::MAX));
    digest.update(bytes);
}

fn number(digest: &mut blake3::Hasher, number: u64) {
    digest.update(&number.to_le_bytes());
}
