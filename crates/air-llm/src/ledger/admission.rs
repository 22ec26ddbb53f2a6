//! One call that is being paid for.

use air_wire::{Answer, Part, Request, Usage};

use super::{Ledger, Reserved};
use crate::{
    model::{ModelError, Purpose},
    price::Price,
};

/// How many tokens the texts of a request are, before anybody counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weight {
    /// Hardly less: a token is seldom longer than 16 bytes. Pictures are left out.
    pub certain: u64,
    /// About: a token has mostly four bytes.
    pub likely: u64,
}

impl Weight {
    pub(crate) fn of(request: &Request) -> Self {
        let messages = request.messages.iter().map(|message| bytes(&message.parts));
        let tools = request.tools.iter().map(|tool| tool.description.len());
        let all = request.system.len() + messages.chain(tools).sum::<usize>();
        Self { certain: tokens(all, 16), likely: tokens(all, 4) }
    }
}

fn bytes(parts: &[Part]) -> usize {
    let lengths = parts.iter().map(|part| match part {
        Part::Text(text) => text.len(),
        Part::ToolCall(call) => call.arguments.len(),
        Part::ToolResult { content, .. } => content.len(),
        Part::Image { .. } | Part::Opaque { .. } => 0,
    });
    lengths.sum()
}

fn tokens(bytes: usize, of_one: usize) -> u64 {
    u64::try_from(bytes / of_one).unwrap_or(u64::MAX)
}

/// Settles one call: also where it is dropped half way.
#[derive(Debug)]
pub(crate) struct Admission {
    ledger: Ledger,
    purpose: Purpose,
    price: Option<Price>,
    weight: Weight,
    reserved: Reserved,
    /// A request is at the provider, and nothing has come back.
    open: bool,
}

impl Admission {
    pub(super) fn new(
        ledger: Ledger,
        purpose: Purpose,
        price: Option<Price>,
        weight: Weight,
        reserved: Reserved,
    ) -> Self {
        Self { ledger, purpose, price, weight, reserved, open: false }
    }

    /// A request goes out, if it may: that the call was admitted is enough for its first one.
    pub(crate) fn send(&mut self) -> Result<(), ModelError> {
        self.close();
        let mut books = self.ledger.books();
        let first = std::mem::take(&mut self.reserved.calls);
        if first == 0 {
            let next = Reserved::default();
            self.ledger.check(&books, self.price, next).map_err(ModelError::Spent)?;
        }
        self.open = true;
        books.reserved.calls = books.reserved.calls.saturating_sub(first);
        let tally = books.spent.0.entry(self.purpose).or_default();
        tally.calls += first;
        tally.requests += 1;
        Ok(())
    }

    /// The provider refused it, and charges nothing.
    pub(crate) fn refused(&mut self) {
        self.open = false;
    }

    /// It is answered.
    pub(crate) fn answered(&mut self, answer: &Answer) {
        self.charge_for(answer, 1);
    }

    /// It is answered, but not as it was asked: another request follows.
    pub(crate) fn discarded(&mut self, answer: &Answer) {
        self.charge_for(answer, 0);
    }

    fn charge_for(&mut self, answer: &Answer, answered: u64) {
        self.open = false;
        let told = answer.usage.input > 0 || answer.usage.output > 0;
        let usage = if told {
            answer.usage
        } else {
            Usage { output: tokens(bytes(&answer.parts), 4), ..self.estimate() }
        };
        self.charge(&usage, u64::from(!told), answered);
    }

    /// A request that was sent and of which nobody knows what it took.
    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.charge(&self.estimate(), 1, 0);
        }
    }

    fn estimate(&self) -> Usage {
        Usage { input: self.weight.likely, ..Usage::default() }
    }

    fn charge(&self, usage: &Usage, estimated: u64, answered: u64) {
        let mut books = self.ledger.books();
        let tally = books.spent.0.entry(self.purpose).or_default();
        let more = super::Tally {
            answered,
            estimated,
            unpriced: u64::from(self.price.is_none()),
            usage: *usage,
            micro_dollars: self.price.map_or(0, |price| price.of(usage)),
            ..super::Tally::default()
        };
        *tally = tally.combine(more, u64::saturating_add);
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.close();
        let mut books = self.ledger.books();
        books.reserved.calls = books.reserved.calls.saturating_sub(self.reserved.calls);
        books.reserved.tokens = books.reserved.tokens.saturating_sub(self.reserved.tokens);
        books.reserved.micro_dollars =
            books.reserved.micro_dollars.saturating_sub(self.reserved.micro_dollars);
    }
}
