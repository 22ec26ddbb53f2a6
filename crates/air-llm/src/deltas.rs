//! A whole answer as if it had come in pieces.

use air_wire::{Answer, Delta, Part};

/// What a listener would have heard of `answer`.
pub(crate) fn of(answer: &Answer) -> Vec<Delta> {
    let mut deltas = Vec::new();
    let mut calls = 0;
    for part in &answer.parts {
        match part {
            Part::Text(text) => deltas.push(Delta::Text(text.clone())),
            Part::ToolCall(call) => {
                deltas.push(Delta::CallBegun { at: calls, name: call.name.clone() });
                deltas.push(Delta::Arguments { at: calls, text: call.arguments.clone() });
                calls += 1;
            }
            Part::Image { .. } | Part::ToolResult { .. } | Part::Opaque { .. } => {}
        }
    }
    deltas
}
