//! Answers from a recording.

use std::{
    collections::{HashMap, VecDeque},
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use air_core::port::BoxFuture;
use air_wire::{Answer, Delta};
use serde_json::Value;

use super::{
    FORMAT, VERSION, canonical,
    form::{Entry, Head, Outcome},
};
use crate::{
    deltas,
    ledger::Ledger,
    model::{Call, Model, ModelError},
    price::Price,
};

/// A recording, to be played once. Clones play the same one.
#[derive(Debug, Clone)]
pub struct Cassette {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// What is not played yet, by digest, in order.
    left: HashMap<String, VecDeque<Entry>>,
    /// How often each digest was recorded.
    recorded: HashMap<String, usize>,
}

impl Cassette {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is none.
    pub fn open(path: &Path) -> Result<Self, CassetteError> {
        Self::parse(&std::fs::read_to_string(path).map_err(CassetteError::from)?)
    }

    /// A recording from its text.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, CassetteError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let head = lines.next().and_then(|(_, line)| serde_json::from_str::<Head>(line).ok());
        let Some(head) = head.filter(|head| head.format == FORMAT) else {
            return Err(CassetteError::NoCassette);
        };
        if head.version != VERSION {
            return Err(CassetteError::Version(head.version));
        }
        let mut state = State::default();
        for (at, line) in lines {
            let bad = |why: String| CassetteError::Line { line: at + 1, why };
            let entry: Entry =
                serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
            *state.recorded.entry(entry.digest.clone()).or_default() += 1;
            state.left.entry(entry.digest.clone()).or_default().push_back(entry);
        }
        Ok(Self { state: Arc::new(Mutex::new(state)) })
    }

    /// How many of its calls were not asked for.
    pub fn left(&self) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.left.values().map(VecDeque::len).sum()
    }

    fn next(&self, request: Value) -> Result<Entry, String> {
        // The first recordings knew a request with its secrets.
        let whole = canonical::digest(&request);
        let request = canonical::safe(request);
        let digests = [canonical::digest(&request), whole];
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = digests.iter().filter_map(|digest| state.left.get_mut(digest)?.pop_front());
        if let Some(entry) = found.next() {
            return Ok(entry);
        }
        drop(found);
        if let Some(times) = digests.iter().find_map(|digest| state.recorded.get(digest)) {
            return Err(format!("it was asked {times} times in the recording, and now once more"));
        }
        let purpose = request.get("purpose").and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = request.to_string();
        let alike = |entry: &&Entry| {
            let same = entry.request.to_string();
            let from_begin = text.bytes().zip(same.bytes()).take_while(|(a, b)| a == b).count();
            let ends = text.bytes().rev().zip(same.bytes().rev());
            from_begin + ends.take_while(|(a, b)| a == b).count()
        };
        let candidates = state.left.values().flatten().filter(|entry| entry.purpose == purpose);
        let Some(nearest) = candidates.max_by_key(alike) else {
            return Err(format!("nothing more is recorded for `{purpose}`"));
        };
        let difference = canonical::difference(&nearest.request, &request);
        Err(match difference {
            Some(difference) => format!("in the nearest one, {difference}"),
            None => "it differs from the nearest one in a secret alone".to_owned(),
        })
    }
}

/// A model that says what it said before.
#[derive(Debug, Clone)]
pub struct Replay {
    name: String,
    cassette: Cassette,
    account: Option<(Ledger, Option<Price>)>,
}

impl Replay {
    /// Plays `cassette` as the model `name`.
    pub fn new(name: impl Into<String>, cassette: Cassette) -> Self {
        Self { name: name.into(), cassette, account: None }
    }

    /// Writes down what the calls took when they were recorded.
    #[must_use]
    pub fn with_ledger(self, ledger: Ledger, price: Option<Price>) -> Self {
        Self { account: Some((ledger, price)), ..self }
    }

    fn play(&self, call: &Call) -> Result<Answer, ModelError> {
        let mut admission = match &self.account {
            Some((ledger, price)) => Some(ledger.admit(call.purpose, *price, &call.request)?),
            None => None,
        };
        let entry =
            self.cassette.next(canonical::request(call)).map_err(ModelError::NotRecorded)?;
        if let Some(admission) = &mut admission {
            admission.send()?;
            admission.refused();
        }
        let damaged =
            |why: String| ModelError::NotRecorded(format!("its answer is damaged: {why}"));
        let entry = unmasked(&entry, &call.nonces).map_err(|error| damaged(error.to_string()))?;
        let result = match entry.outcome {
            Outcome::Answer(form) => Ok(form.read().map_err(damaged)?),
            Outcome::Error(form) => Err(form.into()),
        };
        if let Some(listener) = &call.listener {
            let mut pieces: Vec<Delta> = entry.deltas.into_iter().map(Delta::from).collect();
            if let Ok(answer) = &result
                && pieces.is_empty()
            {
                pieces = deltas::of(answer);
            }
            for piece in &pieces {
                listener(piece);
            }
        }
        if let (Some(admission), Ok(answer)) = (&mut admission, &result) {
            admission.answered(answer);
        }
        result
    }
}

/// The entry with the nonces of now.
fn unmasked(entry: &Entry, nonces: &[String]) -> serde_json::Result<Entry> {
    let entry = serde_json::to_value(entry)?;
    serde_json::from_value(canonical::map_texts(entry, &|text| canonical::unmask(text, nonces)))
}

impl Model for Replay {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, call: Call) -> BoxFuture<'static, Result<Answer, ModelError>> {
        let replay = self.clone();
        Box::pin(async move { replay.play(&call) })
    }
}

/// A file is no recording that can be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// It cannot be read.
    #[error("the recording cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("that is no recording: its first line does not say `{FORMAT}`")]
    NoCassette,
    /// Another program wrote it.
    #[error(
        "version {0} of the recording is unknown; this program reads {VERSION}; record it again"
    )]
    Version(u32),
    /// A line of it is damaged.
    #[error(
        "line {line} of the recording is damaged: {why}; record it again, or take the line out"
    )]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}
