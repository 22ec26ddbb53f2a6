//! What tokens cost.

use air_wire::Usage;
use serde::Deserialize;

use crate::spec::ModelSpec;

const SHIPPED: &str = include_str!("prices.toml");

/// The version of the table's form.
const VERSION: u32 = 1;

/// What a model's tokens cost, in millionths of a dollar for a million of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Of a request.
    pub input: u64,
    /// Of a request, read from a cache.
    pub cached: u64,
    /// Of a request, written to a cache.
    pub written: u64,
    /// Of an answer, reasoning included.
    pub output: u64,
}

impl Price {
    /// Nothing.
    pub const FREE: Self = Self { input: 0, cached: 0, written: 0, output: 0 };

    /// What `usage` costs, in millionths of a dollar, rounded up.
    pub fn of(&self, usage: &Usage) -> u64 {
        let cached = usage.cached.min(usage.input);
        let written = usage.cache_written.min(usage.input - cached);
        let plain = usage.input - cached - written;
        let parts = [
            (plain, self.input),
            (cached, self.cached),
            (written, self.written),
            (usage.output, self.output),
        ];
        let all: u128 = parts.iter().map(|(n, price)| u128::from(*n) * u128::from(*price)).sum();
        u64::try_from(all.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// A table of prices.
#[derive(Debug, Clone)]
pub struct Prices {
    /// The day that it was made, as it says.
    pub date: String,
    rows: Vec<(String, Price)>,
}

impl Prices {
    /// The table that comes with AIR. It may be out of date.
    pub fn shipped() -> Self {
        let empty = || Self { date: String::new(), rows: Vec::new() };
        Self::parse(SHIPPED).unwrap_or_else(|_| empty())
    }

    /// A table in the same form.
    ///
    /// # Errors
    ///
    /// What does not fit, with its place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
        if table.version != VERSION {
            return Err(format!(
                "version {} of the table of prices is unknown; this program reads {VERSION}",
                table.version
            ));
        }
        let rows: Result<_, String> = table.price.into_iter().map(Row::read).collect();
        Ok(Self { date: table.date, rows: rows? })
    }

    /// This table, where `own` does not have a row for the same model.
    #[must_use]
    pub fn with(mut self, own: Self) -> Self {
        self.rows.retain(|(model, _)| own.rows.iter().all(|(other, _)| other != model));
        self.rows.extend(own.rows);
        self
    }

    /// What a model costs; `None` if that is not known.
    ///
    /// A server of one's own is not the provider whose dialect it speaks: it has a price only where the
    /// table names its host, as in `openai:name@host`.
    pub fn of(&self, spec: &ModelSpec) -> Option<Price> {
        let provider = spec.provider.name();
        let model = spec.model.strip_prefix("models/").unwrap_or(&spec.model);
        let name = if spec.is_own() {
            format!("{provider}:{model}")
        } else {
            format!("{provider}:{model}@{}", spec.host())
        };
        let fitting = self.rows.iter().filter(|(pattern, _)| fits(pattern, &name));
        fitting.max_by_key(|(pattern, _)| pattern.len()).map(|(_, price)| *price)
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    if let Some(begin) = pattern.strip_suffix('*') {
        return name.starts_with(begin);
    }
    match name.strip_prefix(pattern) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(is_date),
        None => false,
    }
}

/// `2025-08-07`, `20250807`.
fn is_date(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    digits == 8 && text.starts_with("20") && text.bytes().all(|b| b == b'-' || b.is_ascii_digit())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    version: u32,
    date: String,
    #[serde(default)]
    price: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    model: String,
    input: f64,
    cached: Option<f64>,
    written: Option<f64>,
    output: f64,
}

impl Row {
    fn read(self) -> Result<(String, Price), String> {
        let micros = |dollars: f64| {
            let text = format!("{:.0}", dollars * 1e6);
            text.parse::<u64>().ok().filter(|_| dollars < 1e6).ok_or_else(|| {
                format!(
                    "`{dollars}` is no price of `{}`; write dollars for a million tokens",
                    self.model
                )
            })
        };
        let price = Price {
            input: micros(self.input)?,
            cached: micros(self.cached.unwrap_or(self.input))?,
            written: micros(self.written.unwrap_or(self.input))?,
            output: micros(self.output)?,
        };
        Ok((self.model, price))
    }
}
