use air_wire::{ExtractError, json_of};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn the_one_value_of_an_answer_is_found() {
    let value = json!({ "harm": true, "why": "it says `{x}` and [1]" });
    let text = value.to_string();
    let list = format!("[{text}]");
    #[rustfmt::skip]
    let table = [
        text.clone(),
        format!("  \u{feff}{text}\n"),
        format!("```json\n{text}\n```"),
        format!("```\n{text}\n```\nI hope that helps."),
        format!("Here it is, see [1] and {{x}}:\n\n~~~\n{text}\n~~~"),
        format!("Sure: {text}. Bye"),
        format!("First {text}, and once more {text}"),
    ];
    for answer in table {
        assert_eq!(json_of(&answer), Ok(value.clone()), "{answer}");
    }
    assert_eq!(json_of(&format!("so: {list}")), Ok(json!([value])));
    assert_eq!(json_of("\"yes\""), Ok(json!("yes")));
}

#[test]
fn anything_else_is_refused() {
    #[rustfmt::skip]
    let table = [
        ("",                                              "holds no JSON"),
        ("No.",                                           "holds no JSON"),
        ("see [1], [2] and {x}",                          "holds no JSON"),
        (r#"{"harm": true"#,                              "cut off"),
        (r#""half a tex"#,                                "cut off"),
        ("```json\n{\"harm\": true,\n```",                "broken"),
        (r#"{"results": [{"harm": false}, {"harm":"#,     "cut off"),
        (r#"{"results": [{"harm": false}], oops}"#,       "broken"),
        (r#"[{"harm": false}, {"harm": tru}]"#,           "broken"),
        (r#"The file says {"harm": false}, but {"harm": true}"#, "several"),
        ("```json\n{\"a\": 1}\n```\n```json\n{\"a\": 2}\n```", "several"),
    ];
    for (answer, why) in table {
        let error = json_of(answer).expect_err(answer).to_string();
        assert!(error.contains(why), "{answer}: {error}");
    }
    assert!(matches!(json_of(&"[".repeat(100_000)), Err(ExtractError::Cut | ExtractError::None)));
    let deep = format!("{}1{}", r#"{"a":"#.repeat(5000), "}".repeat(5000));
    assert!(matches!(json_of(&deep), Err(ExtractError::Broken(_))));
}

proptest! {
    #[test]
    fn no_text_is_too_much(text in "[\\[\\]{}\",:a1 `\\\\\n]{0,200}") {
        let _ = json_of(&text);
    }

    #[test]
    fn a_piece_is_never_taken_for_the_whole(cut in 1_usize..70) {
        let whole = json!({ "rules": [{ "rule": "a", "harm": false }, { "rule": "b", "harm": true }] });
        let text = whole.to_string();
        let (head, tail) = text.split_at(cut.min(text.len() - 1));
        prop_assert!(json_of(head).is_err(), "{head}");
        // What is left of the end may begin in any place: it gives nothing, or says that there are two.
        if let Ok(found) = json_of(tail) {
            prop_assert!(found.get("rules").is_none());
        }
    }
}
