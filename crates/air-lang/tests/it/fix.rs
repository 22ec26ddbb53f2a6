//! What `check --fix` does: certain, complete, and nothing else.

use std::fs;

use air_lang::{Severity, fix, lint::Settings, parse};
use proptest::prelude::*;

use crate::{FULL, PAPER, format::meaning, lints, parse::mutated};

fn fixed(source: &str) -> String {
    fix(parse(source), &Settings::default()).text
}

#[test]
fn each_certain_mistake_is_mended() {
    let rule = |clauses: &str| format!("rule @a\n{clauses}");
    let body = "check\n  x is y.\nblock\nend\n";
    #[rustfmt::skip]
    let table = [
        // what                     wrong                                            right
        ("indented clauses",        rule("  trigger bash\n  check\n    x is y.\n  block\nend\n"), rule(&format!("trigger bash\n{body}"))),
        ("text on its line",        rule("trigger bash\ncheck x is y.\nblock\nend\n"), rule(&format!("trigger bash\n{body}"))),
        ("text goes on below",      rule("trigger bash\ncheck x is\n     y.\nblock\nend\n"), rule("trigger bash\ncheck\n  x is\n  y.\nblock\nend\n")),
        ("keyword",                 rule(&format!("triger bash\n{body}")),           rule(&format!("trigger bash\n{body}"))),
        ("keyword and colon",       rule("Trigger: bash\nCheck:\n  x is y.\nBlock\nend\n"), rule(&format!("trigger bash\n{body}"))),
        ("severity",                rule(&format!("trigger bash\nseverity hihg\n{body}")), rule(&format!("trigger bash\nseverity high\n{body}"))),
        ("tool twice",              rule(&format!("trigger bash, x, bash, x\n{body}")), rule(&format!("trigger bash, x\n{body}"))),
        ("tool covered",            rule(&format!("trigger fs.a, fs.*\n{body}")),    rule(&format!("trigger fs.*\n{body}"))),
        ("comma",                   rule(&format!("trigger a.b,, c.d,\n{body}")),    rule(&format!("trigger a.b, c.d\n{body}"))),
        ("and",                     rule(&format!("trigger a.b and c.d\n{body}")),   rule(&format!("trigger a.b, c.d\n{body}"))),
        ("sign",                    format!("rule a\ntrigger bash\n{body}"),         rule(&format!("trigger bash\n{body}"))),
        ("no end",                  rule("trigger bash\ncheck\n  x is y.\nblock"),   rule(&format!("trigger bash\n{body}"))),
        ("same clause",             rule(&format!("trigger bash\nseverity low\nseverity low\n{body}")), rule(&format!("trigger bash\nseverity low\n{body}"))),
        ("same rule",               rule(&format!("trigger bash\n{body}")).repeat(2), rule(&format!("trigger bash\n{body}"))),
        ("action",                  rule("trigger bash\ncheck\n  x\nrespond\n  rolback\nremediate\n  y\nend\n"), rule("trigger bash\ncheck\n  x\nrespond\n  rollback\nremediate\n  y\nend\n")),
        ("several at once",         "rule a\n  trigger bash, bash\n  check x is y.\n  blok".to_owned(), rule(&format!("trigger bash\n{body}"))),
    ];
    for (what, wrong, right) in table {
        assert_eq!(fixed(&wrong), right, "{what}");
    }
}

#[test]
fn what_is_not_certain_stays() {
    let body = "check\n  x is y.\nblock\nend\n";
    for source in [
        format!("rule @a\ntrigger bash\nseverity urgent\n{body}"),
        format!("rule @a\ntrigger python repl\n{body}"),
        format!("rule @a\ntrigger bahs\n{body}"),
        format!("rule @a\ntrigger bash\nseverity low\nseverity high\n{body}"),
        format!("rule @a\ntrigger bash\n{body}rule @a\ntrigger x.y\n{body}"),
        "rule @a\ntrigger bash\ncheck\n  x".to_owned(),
        format!("rule @a\ntrigger bash\nxyz\n{body}"),
        PAPER.to_owned(),
        FULL.to_owned(),
    ] {
        assert_eq!(fixed(&source), source);
    }
}

#[test]
fn bytes_that_are_no_text_are_never_lost() {
    let parsed = air_lang::parse_bytes(b"rule @a\ntriger bash\xff\n");
    let text = parsed.text();
    assert_eq!(fix(parsed, &Settings::default()).text, text);
}

/// Every certain fix mends its finding, nothing is left to do, and sound rules mean what they meant.
fn holds(source: &str) -> Result<(), TestCaseError> {
    let before = parse(source);
    let text = fixed(source);
    prop_assert_eq!(&fixed(&text), &text, "idempotent");
    let after = parse(&text);
    let errors = |parsed: &air_lang::Parsed| {
        parsed.diagnostics().iter().filter(|it| it.severity == Severity::Error).count()
    };
    prop_assert!(errors(&after) <= errors(&before));
    for rule in before.rules() {
        // A list may have lost what it had twice.
        let kept = after.rules().iter().find(|it| it.name == rule.name);
        let kept = kept.map(|it| {
            meaning(&air_core::rule::Rule {
                trigger: rule.trigger.clone(),
                tags: rule.tags.clone(),
                ..it.clone()
            })
        });
        prop_assert_eq!(kept, Some(meaning(rule)));
    }
    Ok(())
}

#[test]
fn the_corpus_of_lints_is_mended_without_harm() {
    for file in fs::read_dir(lints::path("tests/lints")).unwrap() {
        let text = fs::read_to_string(file.unwrap().path()).unwrap();
        for block in ["air bad", "air good"].map(|info| lints::blocks(&text, info).join("\n")) {
            holds(&block).unwrap();
            let left = lints::findings(parse(&fixed(&block)));
            assert!(left.iter().all(|found| found.fix.is_empty()), "{block}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn any_file_is_mended_without_harm(source in mutated()) {
        holds(&source)?;
    }
}
