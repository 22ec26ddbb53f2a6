use proptest::prelude::*;

use super::{Given, read};

fn one(fields: &str) -> String {
    format!(r#"{{"request":"c0de","answers":[{{{fields}}}]}}"#)
}

const YES: &str =
    r#""rule":1,"outcome":"yes","confidence":0.9,"rationale":"it is so","quotes":["a b"]"#;

#[test]
fn what_surrounds_an_answer_does_not_matter() {
    let expected = Given {
        yes: Some(true),
        confidence: 0.9,
        rationale: "it is so".into(),
        quotes: vec!["a b".into()],
        at: 0,
    };
    let plain = one(YES);
    let texts = [
        plain.clone(),
        format!("```json\n{plain}\n```"),
        format!("Let me think {{about it}}.\n{plain}\nDone."),
        format!("{plain}\n{plain}"),
        one(&YES.replace('1', "\"1\"").replace("\"yes\"", "\" Yes \"")),
        // Copied from the data: it does not know the code.
        format!(r#"{{"request":"0000","answers":[]}} {plain}"#),
    ];
    for text in texts {
        assert_eq!(read(&text, "c0de", 1), Ok(vec![Ok(expected.clone())]), "{text}");
    }
}

#[test]
fn what_is_no_answer_is_told() {
    let no = YES.replace("yes", "no");
    let two = format!("{} {}", one(YES), one(&no));
    #[rustfmt::skip]
    let table = [
        ("",                                "there is no JSON object in it"),
        ("yes",                             "there is no JSON object in it"),
        (r#"{"answers":[]}"#,               "a field is missing"),
        (r#"{"request":"c0de","answers":["#, "it ends early"),
        (r#"{"request":"beef","answers":[]}"#, "`request` is not the code"),
        (r#"{"request":"c0de","answers":[1]}"#, "no object"),
        (&one(&YES.replacen('1', "2", 1)),  "there is no rule 2: there are rules 1 to 1"),
        (&one(&YES.replacen('1', "0", 1)),  "there is no rule 0"),
        (&one(&YES.replacen('1', "-1", 1)), "not the number of a rule"),
        (&two,                              "they differ"),
    ];
    for (text, expected) in table {
        let why = read(text, "c0de", 1).unwrap_err();
        assert!(why.contains(expected), "{text}: {why}");
    }
}

#[test]
fn what_is_wrong_with_one_rule_leaves_the_others() {
    #[rustfmt::skip]
    let table = [
        (format!("{{{YES}}},{{{YES}}}"),                      "more than once"),
        (format!("{{{}}}", YES.replace("0.9", "1.5")),        "not between 0 and 1"),
        (format!("{{{}}}", YES.replace("0.9", "-0.1")),       "not between 0 and 1"),
        (format!("{{{}}}", YES.replace("0.9", "null")),       "not between 0 and 1"),
        (format!("{{{}}}", YES.replace("\"yes\"", "\"maybe\"")), "none of yes, no"),
        (format!("{{{YES},\"outcome\":\"no\"}}"),             "more than one `outcome`"),
        (format!("{{{}}}", YES.replace("it is so", "  ")),    "no rationale"),
        (format!("{{{}}}", YES.replace("[\"a b\"]", "7")),    "no list"),
        ("{\"rule\":1}".to_owned(),                           "no `outcome`"),
        (String::new(),                                       "did not answer"),
    ];
    for (items, expected) in table {
        let second = YES.replacen('1', "2", 1);
        let comma = if items.is_empty() { "" } else { "," };
        let text = format!(r#"{{"request":"c0de","answers":[{items}{comma}{{{second}}}]}}"#);
        let answers = read(&text, "c0de", 2).unwrap();
        let why = answers[0].as_ref().unwrap_err();
        assert!(why.contains(expected), "{items}: {why}");
        assert!(answers[1].is_ok());
    }
}

proptest! {
    #[test]
    fn answers_of_any_shape_are_one_a_rule_or_none(
        text in "(\\{|\\}|\\[|\\]|\"request\":\"c0de\"|\"answers\":|\"rule\":1|,|\"|\\\\|yes|[0-9]|\\PC){0,40}",
        rules in 0usize..5,
    ) {
        if let Ok(answers) = read(&text, "c0de", rules) {
            prop_assert_eq!(answers.len(), rules);
        }
    }

    #[test]
    fn items_of_any_shape_are_one_a_rule(items in proptest::collection::vec(
        "(\\{\"rule\":[0-4](,\"(outcome|confidence|rationale|quotes|rule)\":(1|0.5|\"yes\"|\"no\"|null|\\[\\]|\\{\\})){0,6}\\})",
        0..6,
    )) {
        let text = format!(r#"{{"request":"c0de","answers":[{}]}}"#, items.join(","));
        if let Ok(answers) = read(&text, "c0de", 3) {
            prop_assert_eq!(answers.len(), 3);
        }
    }
}
