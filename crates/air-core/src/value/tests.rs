//! JSON as facts.

use serde_json::json;

use super::Value;

#[test]
fn json_keeps_its_meaning() {
    #[rustfmt::skip]
    let table = [
        (json!(null),       Value::Null),
        (json!(true),       Value::Bool(true)),
        (json!(-3),         Value::Int(-3)),
        (json!(1.5),        Value::Double(1.5)),
        (json!(u64::MAX),   Value::Double(18_446_744_073_709_551_615.0)),
        (json!("a"),        Value::from("a")),
        (json!(["a", "b"]), Value::strings(["a", "b"])),
        (json!({"a": [1]}), Value::record([("a", Value::list([Value::Int(1)]))])),
    ];
    for (json, value) in table {
        assert_eq!(Value::from(&json), value, "{json}");
    }
}

#[test]
fn absent_is_not_unknown() {
    assert_eq!(Value::optional(None), Value::Null);
    assert_ne!(Value::optional(None), Value::unknown("not observed"));
}

#[test]
fn a_list_says_whether_it_is_whole() {
    let whole = Value::list_with([Value::Null], None);
    let partial = Value::list_with([Value::Null], Some("not all was observed"));
    assert_eq!(whole, Value::list([Value::Null]));
    assert_ne!(whole, partial);
}
