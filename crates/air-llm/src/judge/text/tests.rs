use proptest::prelude::*;

use super::{Bounded, harmless};

const MARK: &str = "00112233445566778899aabbccddeeff";

#[test]
fn nothing_opens_a_line_of_airs_own() {
    #[rustfmt::skip]
    let table = [
        ("[[air:end",            "[\\[air:end"),
        ("[[AIR:end",            "[\\[AIR:end"),
        ("[[ air:end",           "[\\[ air:end"),
        ("[[[air:end",           "[\\[\\[air:end"),
        ("[[hair]]",             "[[hair]]"),
        ("a[[0]]",               "a[[0]]"),
        ("[\u{200b}[air:",       "[\\u{200b}[air:"),
        ("x\u{202e}y",           "x\\u{202e}y"),
        ("x\r\ny\r\u{1b}[0m",    "x\ny\\u{d}\\u{1b}[0m"),
        ("00112233445566778899AABBCCDDEEFF", "(mark)"),
    ];
    for (text, expected) in table {
        assert_eq!(harmless(text, MARK), expected, "{text:?}");
    }
}

#[test]
fn both_ends_stay_and_what_is_left_out_is_said() {
    let text =
        format!("first\n{}\nlast", (0..9999).map(|n| n.to_string()).collect::<Vec<_>>().join(" "));
    let bounded = Bounded::new(&text, 400);
    assert!(!bounded.is_whole());
    assert!(bounded.len() <= 400);
    let shown = bounded.harmless(MARK);
    assert!(shown.starts_with("first\n"), "{shown}");
    assert!(shown.ends_with("\nlast"), "{shown}");
    assert!(shown.contains(&format!("[[air:left-out {MARK} ")), "{shown}");
}

#[test]
fn repetitions_are_counted_and_nothing_is_lost() {
    let text = format!("a\n{}b{}\nc", "same line\n".repeat(9000), "x".repeat(90_000));
    let bounded = Bounded::new(&text, 4096);
    assert!(bounded.is_whole());
    let shown = bounded.harmless(MARK);
    assert!(shown.contains("9000 times") && shown.contains("90000 times"), "{shown}");
    assert!(shown.ends_with("\nc"), "{shown}");
}

#[test]
fn secrets_are_not_shown() {
    let shown = Bounded::new("TOKEN=ghp_0123456789abcdef0123", 100).harmless(MARK);
    assert_eq!(shown, "TOKEN=[redacted]");
}

proptest! {
    #[test]
    fn no_text_closes_its_section(
        text in "(\\[|\\]|air:|AIR:|end|begin|\\PC|\n| |00112233445566778899aabbccddeeff){0,60}",
        limit in 0usize..200,
    ) {
        let bounded = Bounded::new(&text, limit);
        let shown = bounded.harmless(MARK);
        let mut own = shown.replace(&format!("[[air:left-out {MARK} "), "");
        own = own.replace(&format!("[[air:repeated {MARK} "), "");
        prop_assert!(!own.to_ascii_lowercase().contains("[[air:"), "{}", own);
        prop_assert!(!own.contains(MARK));
        prop_assert!(bounded.len() <= limit.max(text.len().min(limit)) + 4);
    }

    #[test]
    fn what_is_short_stays(text in "[a-z ]{0,40}") {
        let bounded = Bounded::new(&text, 4096);
        prop_assert!(bounded.is_whole());
        prop_assert_eq!(bounded.harmless(MARK), text);
    }
}
