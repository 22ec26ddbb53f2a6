//! What models have cost, by what they were asked for, and how much more they may.

mod admission;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use air_core::port::{Spending, Spendings};
use air_wire::{Request, Usage};

use crate::{
    model::{ModelError, Purpose},
    price::Price,
};

pub(crate) use self::admission::{Admission, Weight};

/// How much may be spent altogether. What is `None` is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpendLimit {
    /// Millionths of a dollar. Holds only for models with a known price: others are refused.
    pub micro_dollars: Option<u64>,
    /// Tokens of requests and answers.
    pub tokens: Option<u64>,
    /// Requests, retries included.
    pub requests: Option<u64>,
}

/// What some calls took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls, whether they were answered or not.
    pub calls: u64,
    /// Requests sent for them, retries included.
    pub requests: u64,
    /// Calls that got an answer.
    pub answered: u64,
    /// Requests whose tokens were estimated: nobody told how many there were.
    pub estimated: u64,
    /// Guardrails that no model has read, because others looked more like the step; all steps together.
    pub unread: u64,
    /// Requests without a known price. They are not in `micro_dollars`.
    pub unpriced: u64,
    /// Tokens.
    pub usage: Usage,
    /// What it cost, in millionths of a dollar.
    pub micro_dollars: u64,
}

impl Tally {
    /// What it cost, in millionths of a dollar; `None` if a price is not known.
    pub fn cost(&self) -> Option<u64> {
        (self.unpriced == 0).then_some(self.micro_dollars)
    }

    /// Tokens of requests and answers.
    pub fn tokens(&self) -> u64 {
        self.usage.input.saturating_add(self.usage.output)
    }

    fn combine(self, other: Self, by: fn(u64, u64) -> u64) -> Self {
        Self {
            calls: by(self.calls, other.calls),
            requests: by(self.requests, other.requests),
            answered: by(self.answered, other.answered),
            estimated: by(self.estimated, other.estimated),
            unread: by(self.unread, other.unread),
            unpriced: by(self.unpriced, other.unpriced),
            usage: Usage {
                input: by(self.usage.input, other.usage.input),
                cached: by(self.usage.cached, other.usage.cached),
                cache_written: by(self.usage.cache_written, other.usage.cache_written),
                output: by(self.usage.output, other.usage.output),
                reasoning: by(self.usage.reasoning, other.usage.reasoning),
            },
            micro_dollars: by(self.micro_dollars, other.micro_dollars),
        }
    }
}

/// What calls took, by what they were for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spent(BTreeMap<Purpose, Tally>);

impl Spent {
    /// For one purpose.
    pub fn of(&self, purpose: Purpose) -> Tally {
        self.0.get(&purpose).copied().unwrap_or_default()
    }

    /// Every purpose that something was asked for.
    pub fn iter(&self) -> impl Iterator<Item = (Purpose, Tally)> {
        self.0.iter().map(|(purpose, tally)| (*purpose, *tally))
    }

    /// Altogether.
    pub fn total(&self) -> Tally {
        self.iter()
            .fold(Tally::default(), |sum, (_, tally)| sum.combine(tally, u64::saturating_add))
    }

    fn since(&self, earlier: &Self) -> Self {
        let differences = self.iter().map(|(purpose, tally)| {
            (purpose, tally.combine(earlier.of(purpose), u64::saturating_sub))
        });
        Self(differences.filter(|(_, tally)| *tally != Tally::default()).collect())
    }
}

/// The account of a run: shared by all its models, and cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    limit: SpendLimit,
    books: Arc<Mutex<Books>>,
}

#[derive(Debug, Default)]
struct Books {
    spent: Spent,
    seen: Spent,
    /// The least that requests under way will take.
    reserved: Reserved,
}

#[derive(Debug, Clone, Copy, Default)]
struct Reserved {
    calls: u64,
    tokens: u64,
    micro_dollars: u64,
}

impl Ledger {
    /// An account with a limit.
    pub fn new(limit: SpendLimit) -> Self {
        Self { limit, books: Arc::default() }
    }

    /// All that was spent.
    pub fn spent(&self) -> Spent {
        self.books().spent.clone()
    }

    /// What was spent since this was last asked.
    pub fn take(&self) -> Spent {
        let mut books = self.books();
        let difference = books.spent.since(&books.seen);
        books.seen = books.spent.clone();
        difference
    }

    /// So many guardrails were not read at a step.
    pub(crate) fn unread(&self, purpose: Purpose, count: usize) {
        if count > 0 {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            let mut books = self.books();
            let tally = books.spent.0.entry(purpose).or_default();
            tally.unread = tally.unread.saturating_add(count);
        }
    }

    /// Lets one call begin, if what it certainly takes may be spent.
    pub(crate) fn admit(
        &self,
        purpose: Purpose,
        price: Option<Price>,
        request: &Request,
    ) -> Result<Admission, ModelError> {
        let weight = Weight::of(request);
        let reserved = Reserved {
            calls: 1,
            tokens: weight.certain,
            micro_dollars: price.map_or(0, |price| {
                let usage = Usage { input: weight.certain, ..Usage::default() };
                let least = price.input.min(price.cached).min(price.written);
                Price { input: least, ..price }.of(&usage)
            }),
        };
        let mut books = self.books();
        self.check(&books, price, reserved).map_err(ModelError::Spent)?;
        books.reserved.calls += reserved.calls;
        books.reserved.tokens += reserved.tokens;
        books.reserved.micro_dollars += reserved.micro_dollars;
        drop(books);
        Ok(Admission::new(self.clone(), purpose, price, weight, reserved))
    }

    fn check(&self, books: &Books, price: Option<Price>, next: Reserved) -> Result<(), String> {
        let spent = books.spent.total();
        if let Some(limit) = self.limit.requests
            && spent.requests.saturating_add(books.reserved.calls) >= limit
        {
            let sent = spent.requests;
            return Err(format!("{sent} requests were sent, and no more than {limit} may be"));
        }
        if let Some(limit) = self.limit.tokens {
            let (has, least) = (spent.tokens(), books.reserved.tokens.saturating_add(next.tokens));
            if has >= limit || has.saturating_add(least) > limit {
                return Err(format!(
                    "{has} of {limit} tokens are used, the next request takes {least}"
                ));
            }
        }
        if let Some(limit) = self.limit.micro_dollars {
            let Some(price) = price else {
                return Err(
                    "the price of the model is not known, so that no limit in dollars holds; give \
                    its price in the settings, or limit tokens instead"
                        .to_owned(),
                );
            };
            let least = books.reserved.micro_dollars.saturating_add(next.micro_dollars);
            let has = spent.micro_dollars;
            if price != Price::FREE && (has >= limit || has.saturating_add(least) > limit) {
                return Err(format!("{} of {} are spent", dollars(has), dollars(limit)));
            }
        }
        Ok(())
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spendings for Ledger {
    fn take(&self) -> Vec<Spending> {
        let spending = |(purpose, tally): (Purpose, Tally)| Spending {
            purpose: purpose.name().to_owned(),
            calls: tally.requests,
            input_tokens: tally.usage.input,
            cached_tokens: tally.usage.cached,
            output_tokens: tally.usage.output,
            micro_usd: tally.cost(),
            unread: tally.unread,
        };
        self.take().iter().map(spending).collect()
    }
}

/// About how many tokens a request is, before anybody has counted: for telling costs in advance.
pub fn likely_tokens(request: &Request) -> u64 {
    Weight::of(request).likely
}

/// What to say to people of guardrails that were not read; nothing where there are none.
pub fn told_unread(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => "; 1 guardrail looked less like the step and was not read".to_owned(),
        _ => format!("; {count} guardrails looked less like the step and were not read"),
    }
}

/// Millionths of a dollar, for people.
pub fn dollars(micros: u64) -> String {
    format!("${}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
