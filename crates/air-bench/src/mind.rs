//! The language models of a run: who acts, who judges, what they are told, and what they take.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use air::Minds;
use air_agent::Style;
use air_core::port::{BoxFuture, Spending};
use air_llm::{Call, JudgeSettings, LlmJudge, Model, ModelError, Price, Purpose};
use air_wire::Answer;
use serde::{Deserialize, Serialize};

/// A model, and what its tokens cost.
#[derive(Debug, Clone)]
pub struct Priced {
    /// The model.
    pub model: Arc<dyn Model>,
    /// What its tokens cost; `None` if that is not known.
    pub price: Option<Price>,
}

/// The models that play cases.
#[derive(Debug, Clone)]
pub struct Mind {
    /// Acts, and responds to its own incidents.
    pub agent: Priced,
    /// Decides what no condition can.
    pub judge: Priced,
    /// Gives a second opinion.
    pub second: Option<Priced>,
    /// How verdicts are reached.
    pub judging: JudgeSettings,
    /// How the agent acts.
    pub style: Style,
    /// Steps of one case at most.
    pub steps: u32,
    /// Whether rules are in the paper's form, `check` and `remediate` alone, which models follow; and
    /// guardrails are drafted by the agent's model.
    pub judged: bool,
}

impl Mind {
    /// All that a row depends on.
    pub(crate) fn fingerprint(&self) -> String {
        let Self { style, steps, judged, .. } = self;
        let (agent, judge) = (self.agent.model.name(), self.judge.model.name());
        let second = self.second.as_ref().map_or("none", |second| second.model.name());
        format!(
            " model={agent} judge={judge} second={second} style={style:?} steps={steps} \
             judged={judged}"
        )
    }

    /// The models as one case takes them: what it takes of them is on `bill`, and no verdict of another
    /// case is remembered.
    pub(crate) fn minds(&self, bill: &Bill) -> (Arc<dyn Model>, Minds) {
        let counted = |of: &Priced| -> Arc<dyn Model> {
            Arc::new(Counted { of: of.clone(), bill: bill.clone() })
        };
        let agent = counted(&self.agent);
        let second = self.second.as_ref().map(counted);
        let judge = LlmJudge::new(counted(&self.judge), second, self.judging.clone());
        let minds = Minds {
            agent: Some(Arc::clone(&agent)),
            judge: Some(Arc::new(judge)),
            writer: self.judged.then(|| Arc::clone(&agent)),
            ..Minds::default()
        };
        (agent, minds)
    }
}

/// What models took for one purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Calls, tokens and costs.
    #[serde(flatten)]
    pub spending: Spending,
    /// Time that was waited for them, in milliseconds.
    pub ms: u64,
}

/// What models took for one case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bill(Arc<Mutex<Account>>);

#[derive(Debug, Default)]
struct Account {
    items: BTreeMap<Purpose, Item>,
    stopped: Option<String>,
}

impl Bill {
    /// One item a purpose.
    pub(crate) fn items(&self) -> Vec<Item> {
        self.account(|account| account.items.values().cloned().collect())
    }

    /// Why nothing more can be asked, such as for a limit that is reached.
    pub(crate) fn stopped(&self) -> Option<String> {
        self.account(|account| account.stopped.clone())
    }

    fn account<T>(&self, with: impl FnOnce(&mut Account) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(
        &self,
        purpose: Purpose,
        price: Option<Price>,
        since: Instant,
        answered: &Result<Answer, ModelError>,
    ) {
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.account(|account| {
            if let Err(error) = answered
                && ends_all(error)
            {
                account.stopped.get_or_insert_with(|| error.to_string());
            }
            if matches!(answered, Err(ModelError::Spent(_))) {
                return;
            }
            let item = account.items.entry(purpose).or_insert_with(|| Item {
                spending: Spending {
                    purpose: purpose.name().to_owned(),
                    calls: 0,
                    input_tokens: 0,
                    cached_tokens: 0,
                    output_tokens: 0,
                    micro_usd: Some(0),
                    unread: 0,
                },
                ms: 0,
            });
            item.ms = item.ms.saturating_add(ms);
            let spending = &mut item.spending;
            spending.calls += 1;
            let Ok(Answer { usage, .. }) = answered else {
                spending.micro_usd = None;
                return;
            };
            spending.input_tokens = spending.input_tokens.saturating_add(usage.input);
            spending.cached_tokens = spending.cached_tokens.saturating_add(usage.cached);
            spending.output_tokens = spending.output_tokens.saturating_add(usage.output);
            let cost = price.map(|price| price.of(usage));
            spending.micro_usd = spending.micro_usd.zip(cost).map(|(a, b)| a.saturating_add(b));
        });
    }
}

/// Whether no other case would fare better: what went wrong is no matter of the request.
fn ends_all(error: &ModelError) -> bool {
    matches!(
        error,
        ModelError::Spent(_)
            | ModelError::Unauthorized { .. }
            | ModelError::Rejected { status: 402 | 404, .. }
            | ModelError::Connection(_)
            | ModelError::Overloaded { .. }
            | ModelError::Open { .. }
            | ModelError::NotRecorded(_)
    )
}

/// A model whose calls are on a bill.
struct Counted {
    of: Priced,
    bill: Bill,
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.of.model.fmt(f)
    }
}

impl Model for Counted {
    fn name(&self) -> &str {
        self.of.model.name()
    }

    fn answer(&self, call: Call) -> BoxFuture<'static, Result<Answer, ModelError>> {
        let (bill, purpose, price) = (self.bill.clone(), call.purpose, self.of.price);
        let since = Instant::now();
        let answered = self.of.model.answer(call);
        Box::pin(async move {
            let answered = answered.await;
            bill.add(purpose, price, since, &answered);
            answered
        })
    }
}
