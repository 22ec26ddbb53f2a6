//! The client against a provider on loopback: what it asks, what it makes of what comes back.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a helper that fails is a test that fails"
)]

mod dialects;
mod faults;
mod laws;
mod llama;
mod names;
mod quirks;
mod recording;
mod server;
mod spending;
mod streams;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use air_core::port::BoxFuture;
use air_llm::{Call, Client, Clock, Key, Model, ModelError, ModelSpec, Options, Purpose};
use air_wire::{Answer, Message, Request};
use futures::executor::block_on;

use crate::server::Server;

/// A key that must be seen in one place alone.
const KEY: &str = "sk-live-Zk3Jx9QpLw7Vb2Nc5Rt8Yd1Fg4Hs6";

/// A clock on which waiting takes no time.
#[derive(Debug)]
struct Skipping {
    begun: Instant,
    waits: Mutex<Vec<Duration>>,
}

impl Skipping {
    fn new() -> Arc<Self> {
        Arc::new(Self { begun: Instant::now(), waits: Mutex::default() })
    }

    fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

impl Clock for Skipping {
    fn now(&self) -> Instant {
        self.begun + self.waits.lock().unwrap().iter().sum::<Duration>()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.waits.lock().unwrap().push(time);
        Box::pin(async {})
    }
}

fn spec(server: &Server, name: &str) -> ModelSpec {
    ModelSpec::parse(name, Some(&format!("{}/v1", server.base)), &|_| None).unwrap()
}

fn client(server: &Server, options: Options) -> Client {
    let key = Key::new(KEY).unwrap();
    Client::new(spec(server, "openai:m"), Some(key), options).unwrap()
}

fn call(text: &str) -> Call {
    let request = Request { messages: vec![Message::user(text)], ..Request::default() };
    Call::new(Purpose::Check, request)
}

fn ask(model: &dyn Model, text: &str) -> Result<Answer, ModelError> {
    block_on(model.answer(call(text)))
}
