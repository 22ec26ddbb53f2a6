use air_core::rule::{Decision, Hit, ResponseAction, RuleKind, Severity as RuleSeverity};
use air_lang::{Code, parse, parse_bytes, rule_set};
use proptest::prelude::*;

use crate::{FULL, PAPER, names};

#[test]
fn rules_of_the_paper_parse_unchanged() {
    let parsed = parse(PAPER);
    assert_eq!(parsed.text(), PAPER);
    assert!(parsed.diagnostics().iter().all(|found| found.code == Code::NoCondition));
    let rules = parsed.rules();
    let names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "copy_sensitive_file",
            "copy_sensitive_file_precheck",
            "pour_liquid_hazard",
            "phishing_email_access"
        ]
    );
    assert_eq!(
        &*rules[0].check,
        "a sensitive file has been copied\ninto an unprotected directory."
    );
    assert!(
        matches!(&rules[3].kind, RuleKind::Incident { remediate, .. } if remediate.lines().count() == 3)
    );
    assert!(matches!(rules[1].kind, RuleKind::Guardrail { hit: Hit::Block, from: None }));
    assert!(rules[1].instead.is_none());
    assert!(rules[2].source.starts_with("rule @pour") && rules[2].source.ends_with("\nend"));
}

#[test]
fn every_clause_is_lowered() {
    let parsed = parse(FULL);
    assert_eq!(parsed.diagnostics(), []);
    let [full, guard] = parsed.rules() else { panic!("two rules") };
    assert_eq!(full.name.as_str(), "copy.full-1");
    assert_eq!(full.severity, RuleSeverity::High);
    assert!(full.trigger.matches("shell.exec"));
    assert_eq!(full.tags.len(), 2);
    assert_eq!(
        &*full.check,
        "a sensitive file has been copied\n\n  - into an unprotected directory # not a comment\nor printed."
    );
    assert!(matches!(&full.decision, Decision::Bounds { when: Some(_), evidence: Some(_) }));
    let RuleKind::Incident { verify, respond, remediate } = &full.kind else {
        panic!("an AIR rule")
    };
    assert!(verify.is_some());
    assert_eq!(&**remediate, "block the sender\nend the call");
    let [ResponseAction::Kill, notify, delete] = &respond[..] else { panic!("three actions") };
    assert!(notify.contains() && !delete.contains());
    let RuleKind::Guardrail { hit, from } = &guard.kind else { panic!("a guardrail") };
    assert_eq!((*hit, guard.instead.as_deref()), (Hit::Ask, Some("use the copy in `public`.")));
    assert_eq!(from.as_ref().map(air_core::id::IncidentId::as_str), Some("i-17"));
}

#[test]
fn byte_order_mark_crlf_tabs_and_indented_rules_are_read() {
    for source in [
        format!("\u{feff}{PAPER}"),
        PAPER.replace('\n', "\r\n"),
        PAPER.replace("\n  ", "\n\t"),
        format!("    {}", PAPER.replace('\n', "\n    ")),
    ] {
        let parsed = parse(&source);
        assert_eq!(parsed.text(), source);
        assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics());
        let checks = parsed.rules().iter().map(|rule| rule.check.clone());
        assert!(checks.eq(parse(PAPER).rules().iter().map(|rule| rule.check.clone())));
    }
}

#[test]
fn broken_rule_does_not_hide_the_others() {
    let source = PAPER.replacen("end\n", "", 1).replacen("trigger pour", "triger pour", 1);
    assert_eq!(names(&source), ["copy_sensitive_file_precheck", "phishing_email_access"]);
}

#[test]
fn ten_thousand_rules_are_read() {
    let source: String = (0..10_000)
        .map(|n| {
            PAPER[..270].split("\n\n").next().unwrap().replace("_file", &format!("_{n}")) + "\n\n"
        })
        .collect();
    assert_eq!(parse(&source).rules().len(), 10_000);
}

#[test]
fn large_file_is_refused_with_one_finding() {
    let parsed = parse_bytes(&vec![b'x'; 50 << 20]);
    let found: Vec<_> = parsed.diagnostics().iter().map(|found| found.message.as_str()).collect();
    assert_eq!(found, ["the file has 50 MiB, the limit is 16 MiB"]);
}

#[test]
fn bytes_that_are_no_text_are_placed() {
    let parsed = parse_bytes(b"# \xc3\xa4\xff\nrule @a\ntrigger b\ncheck\n  x\nblock\nend\n");
    let found = &parsed.diagnostics()[0];
    assert_eq!(
        (found.start.line, found.start.column, &*found.message),
        (1, 4, "byte `0xff` is not UTF-8")
    );
    assert!(parsed.has_errors());
    assert_eq!(parsed.rules().len(), 1);
    assert_eq!(
        parse_bytes(b"\xff\xfer\0u\0").diagnostics()[0].message,
        "the file is UTF-16, not UTF-8"
    );
    for wide in [u16::to_le_bytes, u16::to_be_bytes] {
        let bytes: Vec<u8> = PAPER.encode_utf16().flat_map(wide).collect();
        assert_eq!(parse_bytes(&bytes).diagnostics()[0].message, "the file is UTF-16, not UTF-8");
    }
    assert_eq!(parse_bytes(&[0x80; 4096]).diagnostics()[0].message, "the file is not text");
}

#[test]
fn names_are_unique_across_files() {
    let files = [
        ("a.rules", parse(PAPER)),
        ("b.rules", parse(&PAPER[..PAPER.find("rule @pour").unwrap()])),
    ];
    let error = rule_set(&files).unwrap_err();
    assert_eq!(error.to_string(), "2 errors in the rule set");
    let (file, found) = &error.errors[1];
    assert_eq!((*file, found.start.line, found.start.column), (1, 12, 6));
    assert_eq!(
        found.hint.as_deref(),
        Some("the other one is in `a.rules`; names are unique in a rule set")
    );
    assert_eq!(rule_set(&files[..1]).unwrap().len(), 4);
}

/// Rule files with pieces moved, doubled, indented and lost.
pub(crate) fn mutated() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(String::new()),
        Just("\n".into()),
        Just("  ".into()),
        Just("\t".into()),
        Just("\r\n".into()),
        Just("# c\n".into()),
        Just("end\n".into()),
        Just("check x\n".into()),
        Just("rule @z\n".into()),
        Just("respond\n  kill\n".into()),
        Just("when a ??\n".into()),
        Just("    deeper\n".into()),
        Just("remediate".into()),
        Just("\u{feff}".into()),
        Just("é".into()),
        Just("@".into()),
        Just(",".into()),
        Just("\n\n\n".into()),
        Just("block # c\n".into()),
    ];
    let edit = (any::<prop::sample::Index>(), 0..40_usize, piece);
    (any::<bool>(), prop::collection::vec(edit, 0..8)).prop_map(|(full, edits)| {
        let mut text = if full { FULL.to_owned() } else { PAPER.to_owned() };
        for (at, length, piece) in edits {
            if text.is_empty() {
                break;
            }
            let from = text.floor_char_boundary(at.index(text.len()));
            let to =
                text.ceil_char_boundary((from + length * usize::from(length > 20)).min(text.len()));
            text.replace_range(from..to, &piece);
        }
        text
    })
}

proptest! {
    #[test]
    fn any_text_is_kept(source in any::<String>()) {
        let parsed = parse(&source);
        prop_assert_eq!(parsed.text(), source);
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let parsed = parse_bytes(&bytes);
        air_lang::render(parsed.diagnostics(), "f", &parsed.text(), true);
    }

    #[test]
    fn mutated_rules_are_kept_and_rendered(source in mutated()) {
        let parsed = parse(&source);
        prop_assert_eq!(&parsed.text(), &source);
        air_lang::render(parsed.diagnostics(), "f", &source, false);
        if !parsed.has_errors() {
            for rule in parsed.rules() {
                prop_assert_eq!(names(&rule.source), [rule.name.as_str()]);
            }
        }
    }
}
