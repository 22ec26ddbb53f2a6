//! The calls and results of `air-hook/1` as the core knows them.

use std::fmt::Write as _;

use air_core::{
    id::CallId,
    step::{Observation, ToolCall},
};
use air_protocol::{Event, Status, Tool, ToolResult};

/// The call of an event. One without an id of the host's has an empty one.
pub(crate) fn call(tool: &Tool) -> ToolCall {
    ToolCall {
        id: CallId::from(tool.call_id.as_deref().unwrap_or_default()),
        tool: tool.name.clone(),
        arguments: tool.args.clone(),
        native: (tool.native != tool.name).then(|| tool.native.clone()),
    }
}

/// What came back.
pub(crate) fn observation(result: &ToolResult) -> Observation {
    let mut content = result.text.clone();
    if result.omitted > 0 {
        let _ = write!(content, "\n[{} more bytes were left out]", result.omitted);
    }
    let error = match (&result.error, result.status) {
        (Some(error), _) => Some(error.clone()),
        (None, Status::Error) => Some(match result.exit_code {
            Some(code) => format!("exit code {code}"),
            None => "it failed".to_owned(),
        }),
        (None, Status::Interrupted) => Some("it was cut off".to_owned()),
        (None, Status::Denied) => Some("it was refused by the host".to_owned()),
        (None, Status::Ok | Status::Background | Status::Unknown) => None,
    };
    let duration_ms = result.duration_ms.unwrap_or_default();
    Observation { content, error, duration_ms, images: Vec::new() }
}

/// What the agent said before it acted, where the host tells.
pub(crate) fn plan(event: &Event) -> String {
    let description = |tool: &Tool| {
        tool.args.get("description").and_then(|value| value.as_str()).map(str::to_owned)
    };
    match (&event.plan, &event.tool) {
        (Some(plan), _) => plan.text.clone(),
        (None, Some(tool)) => description(tool).unwrap_or_default(),
        (None, None) => String::new(),
    }
}
