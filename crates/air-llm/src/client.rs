//! A model behind HTTP.

mod breaker;
mod fault;
mod limits;
mod quirk;
mod retry;
mod runtime;
mod send;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use air_core::port::BoxFuture;
use air_wire::{Answer, Stop};
use tokio::sync::Semaphore;

use self::{breaker::Breaker, quirk::Quirks};
use crate::{
    key::{Key, KeyError, Keyring, find_key},
    ledger::{Admission, Ledger},
    model::{Call, Model, ModelError},
    price::{Price, Prices},
    spec::{Environment, ModelSpec, SpecError},
};

pub use self::{
    limits::{Clock, Limits, Retry, SystemClock},
    runtime::Threads,
};

/// A call that fails sooner for want of time says nothing of the provider.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a client behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long it waits and how much it reads.
    pub limits: Limits,
    /// When it tries again.
    pub retry: Retry,
    /// Where it writes down what it takes, and what limits that.
    pub ledger: Ledger,
    /// What tokens cost.
    pub prices: Prices,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            retry: Retry::default(),
            ledger: Ledger::default(),
            prices: Prices::shipped(),
            clock: Arc::new(SystemClock),
        }
    }
}

/// One model of a provider. Cheap to clone; clones share everything.
///
/// Its futures run on threads of its own: any executor may wait for them, and dropping one cancels the
/// request. Redirects are not followed: the key stays with the host that it was meant for.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    spec: ModelSpec,
    price: Option<Price>,
    limits: Limits,
    retry: Retry,
    ledger: Ledger,
    prices: Prices,
    clock: Arc<dyn Clock>,
    quirks: Mutex<Quirks>,
    line: Arc<Line>,
}

/// What the models of one provider share.
struct Line {
    http: reqwest::Client,
    key: Option<Key>,
    slots: Arc<Semaphore>,
    breaker: Arc<Breaker>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("spec", &self.inner.spec).finish_non_exhaustive()
    }
}

impl Client {
    /// A client for one model, with the key that [`find_key`](crate::find_key) found.
    ///
    /// # Errors
    ///
    /// If the key would travel unencrypted, or this machine has nothing to check certificates with.
    pub fn new(spec: ModelSpec, key: Option<Key>, options: Options) -> Result<Self, ClientError> {
        if key.is_some() && !spec.keeps_keys() {
            return Err(KeyError::Plaintext(spec.host().to_owned()).into());
        }
        let Options { limits, retry, ledger, prices, clock } = options;
        let line = Arc::new(Line {
            http: http(&spec, &limits)?,
            key,
            slots: Arc::new(Semaphore::new(limits.concurrency.clamp(1, Semaphore::MAX_PERMITS))),
            breaker: Breaker::new(limits.failures, limits.rest),
        });
        let price = prices.of(&spec);
        let quirks = Mutex::default();
        let inner = Inner { spec, price, limits, retry, ledger, prices, clock, quirks, line };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// A client for the model that `name` names, with the key that the environment or the keyring holds.
    ///
    /// # Errors
    ///
    /// If the name is not understood, or there is no key that can be used.
    pub fn connect(
        name: &str,
        base: Option<&str>,
        environment: Environment<'_>,
        keyring: &Keyring,
        options: Options,
    ) -> Result<Self, ClientError> {
        let spec = ModelSpec::parse(name, base, environment)?;
        let key = find_key(&spec, environment, keyring)?;
        Self::new(spec, key, options)
    }

    /// Another model of the same provider, at the same address: they share connections, the key, the
    /// limits and the account.
    #[must_use]
    pub fn sibling(&self, model: &str) -> Self {
        let spec = self.inner.spec.sibling(model);
        let inner = Inner {
            price: self.inner.prices.of(&spec),
            spec,
            limits: self.inner.limits.clone(),
            retry: self.inner.retry.clone(),
            ledger: self.inner.ledger.clone(),
            prices: self.inner.prices.clone(),
            clock: Arc::clone(&self.inner.clock),
            quirks: Mutex::default(),
            line: Arc::clone(&self.inner.line),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The model that it asks.
    pub fn spec(&self) -> &ModelSpec {
        &self.inner.spec
    }

    /// What its tokens cost, where that is known.
    pub fn price(&self) -> Option<Price> {
        self.inner.price
    }

    /// The account that it writes to.
    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }
}

impl Model for Client {
    fn name(&self) -> &str {
        &self.inner.spec.name
    }

    fn answer(&self, call: Call) -> BoxFuture<'static, Result<Answer, ModelError>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { runtime::run(async move { inner.ask(call).await }).await })
    }
}

fn http(spec: &ModelSpec, limits: &Limits) -> Result<reqwest::Client, ClientError> {
    // Another part of the program may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("air/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect);
    if !spec.is_encrypted() {
        // Certificates are not needed, and a small machine may have none. Small servers close connections
        // without a word, after a stream for one, and a new one costs next to nothing.
        builder = builder.tls_certs_only([]).pool_max_idle_per_host(0);
    }
    // What travels unencrypted stays where it is safe.
    if spec.is_loopback() || spec.is_local() && !spec.is_encrypted() {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| ClientError::Http(error.to_string()))
}

impl Inner {
    async fn ask(&self, mut call: Call) -> Result<Answer, ModelError> {
        let limit = call.deadline.unwrap_or(self.limits.deadline);
        let until = self.clock.now() + limit;
        call.request.model.clone_from(&self.spec.model);
        call.request.stream |= call.listener.is_some();

        let slot = Arc::clone(&self.line.slots).acquire_owned();
        let Ok(Ok(_slot)) = tokio::time::timeout(limit, slot).await else {
            return Err(ModelError::Timeout(limit));
        };
        let mut admission = self.ledger.admit(call.purpose, self.price, &call.request)?;
        let pass = self.line.breaker.pass(self.clock.now())?;
        let left = until.saturating_duration_since(self.clock.now());
        let tries = self.tries(&call, &mut admission, until);
        let result = tokio::time::timeout(left, tries).await;
        let Ok(result) = result else {
            let late = Err(ModelError::Timeout(limit));
            // Whoever was in a hurry has not found out that the provider is gone.
            if limit >= PATIENCE.min(self.limits.deadline) {
                pass.settle(&late, self.clock.now());
            }
            return late;
        };
        pass.settle(&result, self.clock.now());
        result
    }

    async fn tries(
        &self,
        call: &Call,
        admission: &mut Admission,
        until: Instant,
    ) -> Result<Answer, ModelError> {
        let known = || self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut quirks = known().clone();
        let mut tried = 0;
        loop {
            admission.send()?;
            let refused = match self.send(&call.request, &quirks, call.listener.as_ref()).await {
                Ok(mut answer) => {
                    tell_cut(&mut answer, call.request.max_output_tokens);
                    // Whoever has heard this answer must not hear another.
                    let ignored = quirks.notice(&call.request, &answer);
                    if let Some(more) = ignored.filter(|_| call.listener.is_none()) {
                        admission.discarded(&answer);
                        quirks = more;
                        continue;
                    }
                    admission.answered(&answer);
                    known().add(quirks);
                    return Ok(answer);
                }
                Err(refused) => refused,
            };
            let fault = refused.fault;
            if fault.free {
                admission.refused();
            }
            // At most one for each quirk there is.
            if let fault::Kind::Status { status, raw, .. } = &fault.kind
                && let Some(more) = quirks.learn(&call.request, &refused.body, *status, raw)
            {
                quirks = more;
                continue;
            }
            tried += 1;
            let wait = self.retry.wait(tried).max(fault.after.unwrap_or_default());
            let late = self.clock.now() + wait >= until;
            if !fault.again || tried >= self.retry.tries || late {
                return Err(fault.into_error(tried, self.line.key.as_ref()));
            }
            self.clock.sleep(wait).await;
        }
    }
}

/// Some servers say that an answer is complete when its limit has cut it off.
fn tell_cut(answer: &mut Answer, most: Option<u32>) {
    let full = most.is_some_and(|most| answer.usage.output >= u64::from(most));
    if full && matches!(answer.stop, Stop::End | Stop::ToolUse) {
        answer.stop = Stop::Length;
    }
}

/// There is no client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The model is not named so that it can be asked.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// There is no key, or it cannot be used there.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Nothing can be sent.
    #[error("no connection can be prepared: {0}; are the system's certificates installed?")]
    Http(String),
}
