//! `tests/corpus/repair.txt`: programs before and after. Nothing after `=>` stands for no repair.

use air_facts::repair::{Mended, mend_python, mend_shell};
use proptest::prelude::*;

use crate::{python, shell};

fn cases() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    include_str!("../corpus/repair.txt").split("\n== ").skip(1).map(|case| {
        let (title, rest) = case.split_once('\n').unwrap();
        let (before, after) = rest.split_once("=>\n").unwrap();
        (title, before, after)
    })
}

fn mend(title: &str, source: &str) -> Option<Mended> {
    if title.starts_with("shell") { mend_shell(source) } else { mend_python(source) }
}

#[test]
fn programs_before_and_after() {
    let mut failures = Vec::new();
    for (title, before, after) in cases() {
        let mended = mend(title, before).map(|mended| mended.source).unwrap_or_default();
        if mended.trim_end() != after.trim_end() {
            failures.push(format!("== {title}\n{mended}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn there_is_nothing_left_to_repair() {
    for (title, _, after) in cases().filter(|(_, _, after)| !after.trim().is_empty()) {
        assert_eq!(mend(title, after), None, "{title}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Lines before and after a program stay as they are, whatever they say.
    #[test]
    fn what_is_around_stays(
        before in proptest::collection::vec("[a-z ]{0,20}", 0..4),
        after in proptest::collection::vec("[a-zα-ω# ]{0,20}", 0..4),
        at in 0_usize..64,
    ) {
        let all: Vec<_> = cases().filter(|(_, _, after)| !after.trim().is_empty()).collect();
        let (title, source, _) = all[at % all.len()];
        let comment = |(number, text): (usize, &String)| format!("# {number} {text}\n");
        let head: String = before.iter().enumerate().map(comment).collect();
        let foot: String = after.iter().enumerate().map(comment).collect();
        let mended = mend(title, &format!("{head}{}\n{foot}", source.trim_end()));
        let mended = mended.expect("mended").source;
        prop_assert!(mended.starts_with(&head), "{mended}");
        prop_assert!(mended.ends_with(&foot), "{mended}");
        prop_assert_eq!(mend(title, &mended), None);
    }

    /// Cut anywhere, a program is mended or left, and a mended one has no more defects than before.
    #[test]
    fn a_mended_program_is_no_worse(at in 0_usize..64, cut in 0_usize..2000) {
        let all: Vec<_> = cases().collect();
        let (title, source, _) = all[at % all.len()];
        let end = source.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(source.len());
        let source = source.get(..end).unwrap();
        if let Some(mended) = mend(title, source) {
            let read = if title.starts_with("shell") { shell } else { python };
            let (before, after) = (read(source).defects.len(), read(&mended.source).defects.len());
            prop_assert!(after < before, "{}", mended.source);
            prop_assert_eq!(mend(title, &mended.source), None);
        }
    }
}
