//! Journaled events of every released form. The files under `fixtures/` are never written again: what
//! stands in a journal is read for ever, and says the same when it is written anew.

use air_core::port::Record;
use serde_json::Value;

#[test]
fn events_of_version_1_are_read() {
    let lines = include_str!("fixtures/events-1.jsonl").lines();
    for (number, line) in (1..).zip(lines) {
        let record: Record =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("line {number}: {error}"));
        let written: Value = serde_json::to_value(&record).unwrap();
        let known: Value = serde_json::from_str(line).unwrap();
        assert_eq!(written, known, "line {number}");
    }
}
