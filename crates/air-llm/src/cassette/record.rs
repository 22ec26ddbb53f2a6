//! Writes down what a model is asked and answers.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use air_core::port::BoxFuture;
use air_wire::{Answer, Delta};
use serde::Serialize;
use serde_json::Value;

use super::{
    FORMAT, VERSION, canonical,
    form::{AnswerForm, DeltaForm, Entry, ErrorForm, Head, Outcome},
};
use crate::model::{Call, Listener, Model, ModelError};

/// The file that is recorded to. Several models may share it.
#[derive(Debug, Clone)]
pub struct Tape {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    file: File,
    failed: Option<io::Error>,
}

impl Tape {
    /// A new file, which nobody else may read.
    ///
    /// # Errors
    ///
    /// If it is already there, or cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let state = Arc::new(Mutex::new(State { file: options.open(path)?, failed: None }));
        let tape = Self { state };
        tape.write(&Head { format: FORMAT.to_owned(), version: VERSION });
        tape.check().map(|()| tape)
    }

    /// Whether everything so far was written.
    ///
    /// # Errors
    ///
    /// The first thing that went wrong since this was last asked.
    pub fn check(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failed.take().map_or(Ok(()), Err)
    }

    fn write(&self, line: &impl Serialize) {
        let text = serde_json::to_string(line).map_err(io::Error::from);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let written = text.and_then(|text| state.file.write_all(format!("{text}\n").as_bytes()));
        if let Err(error) = written {
            state.failed.get_or_insert(error);
        }
    }
}

/// A model that is listened to.
#[derive(Debug)]
pub struct Recorder {
    model: Arc<dyn Model>,
    tape: Tape,
}

impl Recorder {
    /// Records what `model` does.
    pub fn new(model: Arc<dyn Model>, tape: Tape) -> Self {
        Self { model, tape }
    }
}

impl Model for Recorder {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn answer(&self, mut call: Call) -> BoxFuture<'static, Result<Answer, ModelError>> {
        let request = canonical::safe(canonical::request(&call));
        let (purpose, nonces) = (call.purpose, call.nonces.clone());
        let heard = Arc::new(Mutex::new(Vec::new()));
        if let Some(listener) = call.listener.take() {
            call.listener = Some(overhear(listener, Arc::clone(&heard)));
        }
        let (tape, model) = (self.tape.clone(), self.model.name().to_owned());
        let answer = self.model.answer(call);
        Box::pin(async move {
            let result = answer.await;
            let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
            let entry = Entry {
                purpose: purpose.name().to_owned(),
                model,
                digest: canonical::digest(&request),
                request,
                deltas: heard,
                outcome: match &result {
                    Ok(answer) => Outcome::Answer(AnswerForm::from(answer)),
                    Err(error) => Outcome::Error(ErrorForm::from(error)),
                },
            };
            match masked(&entry, &nonces) {
                Ok(entry) => tape.write(&entry),
                Err(_) => tape.write(&entry),
            }
            result
        })
    }
}

/// The entry with the nonces' numbers in their place, in the answer as well.
fn masked(entry: &Entry, nonces: &[String]) -> serde_json::Result<Value> {
    let entry = serde_json::to_value(entry)?;
    Ok(canonical::map_texts(entry, &|text| canonical::mask(text, nonces)))
}

fn overhear(listener: Listener, heard: Arc<Mutex<Vec<DeltaForm>>>) -> Listener {
    Arc::new(move |delta: &Delta| {
        heard.lock().unwrap_or_else(PoisonError::into_inner).push(DeltaForm::from(delta));
        listener(delta);
    })
}
