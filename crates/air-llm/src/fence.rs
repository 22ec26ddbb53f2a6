//! Data in what a model is told: between lines with a random mark, which nothing within can end.

use crate::judge::{Bounded, Randomness, Secrets};

/// A mark for one conversation.
#[derive(Debug, Clone)]
pub struct Fence {
    mark: String,
}

impl Fence {
    /// A new mark: 32 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// There is no randomness to be had.
    pub fn new(random: &dyn Randomness) -> Result<Self, String> {
        Ok(Self { mark: Secrets::new(random)?.mark })
    }

    /// The mark: it is told to the model, and named in [`Call::nonces`](crate::Call::nonces).
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// A section of data: without secrets, with both of its ends and in `limit` bytes or little more,
    /// its invisible characters shown. `name` is trusted.
    pub fn section(&self, name: &str, text: &str, limit: usize) -> String {
        let mark = &self.mark;
        let text = Bounded::new(text, limit).harmless(mark);
        format!("\n[[air:begin {mark} {name}]]\n{text}\n[[air:end {mark} {name}]]\n")
    }
}
