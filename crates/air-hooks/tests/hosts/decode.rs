//! Payloads of real clients as events.

use air_hooks::{DecodeError, Native, Via, adapter};
use serde_json::Value;

use crate::captured;

#[test]
fn captured_payloads_are_decoded() {
    for (name, payloads) in captured::all() {
        let mut lines = Vec::new();
        for it in payloads {
            let Some(adapter) = adapter(it.host) else { continue };
            let via = if it.host == "opencode" { Via::Plugin } else { Via::Command };
            let native =
                Native { payload: &it.payload, event: it.event.as_deref(), via, version: None };
            lines.push(match adapter.decode(&native) {
                Ok(mut event) => {
                    let given: Value = serde_json::from_slice(&it.payload).expect("JSON");
                    assert_eq!(event.native, given, "the payload goes with the event");
                    event.native = Value::Null;
                    serde_json::to_string(&event).expect("JSON")
                }
                Err(DecodeError::UnknownEvent { event, .. }) => format!("unknown: {event}"),
                Err(error) => panic!("{name}: {error}"),
            });
        }
        insta::assert_snapshot!(name, lines.join("\n"));
    }
}
