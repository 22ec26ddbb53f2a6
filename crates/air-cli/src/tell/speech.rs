//! What a model says, and what it takes.

use air_llm::{Spent, dollars, told_unread};

use super::{Line, Teller, plain};
use crate::error::CliError;

impl Teller<'_, '_> {
    /// The model says something more. Whole lines are shown: a secret may come in pieces.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn says(&mut self, text: &str) -> Result<(), CliError> {
        self.line.push_str(text);
        while let Some(end) = self.line.find('\n') {
            let line: String = self.line.drain(..=end).collect();
            self.words(line.trim_end())?;
        }
        Ok(())
    }

    /// The model has said what it had to say.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn said(&mut self) -> Result<(), CliError> {
        let line = std::mem::take(&mut self.line);
        if line.trim().is_empty() { Ok(()) } else { self.words(line.trim_end()) }
    }

    /// The model's last words, where they were not shown as they came.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn answer(&mut self, text: &str) -> Result<(), CliError> {
        let text = air_core::redact::redact(text);
        if self.json() {
            return self.context.json(&Line::Answer { text: &text });
        }
        text.lines().try_for_each(|line| self.words(line))
    }

    fn words(&mut self, line: &str) -> Result<(), CliError> {
        let style = self.context.style(anstyle::Style::new().italic());
        let line = plain(&air_core::redact::redact(line));
        Ok(writeln!(self.context.streams.out, "{style}{line}{style:#}")?)
    }

    /// What models took, by purpose.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn spent(&mut self, spent: &Spent) -> Result<(), CliError> {
        for (purpose, tally) in spent.iter() {
            let (purpose, usage) = (purpose.name(), tally.usage);
            let (requests, micro_usd) = (tally.requests, tally.cost());
            if self.json() {
                self.context.json(&Line::Spent {
                    purpose,
                    calls: requests,
                    input_tokens: usage.input,
                    cached_tokens: usage.cached,
                    output_tokens: usage.output,
                    micro_usd,
                    unread: tally.unread,
                })?;
                continue;
            }
            let cost = micro_usd.map_or_else(|| "price unknown".to_owned(), dollars);
            let text = format!(
                "{purpose}: {requests} {}, {} tokens in ({} cached), {} out, {cost}{}",
                if requests == 1 { "request" } else { "requests" },
                usage.input,
                usage.cached,
                usage.output,
                told_unread(tally.unread),
            );
            self.stage("model", &text)?;
        }
        Ok(())
    }
}
