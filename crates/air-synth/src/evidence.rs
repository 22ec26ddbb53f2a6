//! Ordinary work of agents, against which guardrails are tried.

use std::sync::Arc;

use air_core::{
    port::{Alone, CodeReader, PastStep},
    step::{Arguments, ToolCall},
};
use serde::Deserialize;

/// Steps that nobody would object to.
const SHIPPED: &str = include_str!("../benign.toml");

#[derive(Deserialize)]
struct Table {
    step: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    tool: String,
    plan: String,
    args: Arguments,
}

/// Ordinary work that ships with AIR. It stands for a user's own where little has been recorded.
pub(crate) fn shipped(reader: &dyn CodeReader) -> Vec<PastStep> {
    // A test reads it; without it nothing is proved, and only exact forms are enforced.
    let table = toml::from_str(SHIPPED).unwrap_or(Table { step: Vec::new() });
    let step = |Step { tool, plan, args }: Step| PastStep {
        plan,
        code: Arc::new(reader.read(&tool, &args, &Alone)),
        call: ToolCall { id: "shipped".into(), tool, arguments: args, native: None },
    };
    table.step.into_iter().map(step).collect()
}
