use air_core::rule::{Decision, Rule, RuleKind};
use air_lang::{format, parse};
use proptest::prelude::*;

use crate::{FULL, PAPER, parse::mutated};

/// What a rule means, apart from blanks in expressions.
pub(crate) fn meaning(rule: &Rule) -> Vec<String> {
    let words = |text: &str| text.split_whitespace().collect::<String>();
    let mut out = vec![format!(
        "{:?} {:?} {:?} {:?} {}",
        rule.name, rule.trigger, rule.severity, rule.tags, rule.check
    )];
    match &rule.decision {
        Decision::Decide(condition) => out.push(words(condition.source())),
        Decision::Bounds { when, evidence } => {
            out.extend(
                [when, evidence].map(|c| c.as_ref().map_or(String::new(), |c| words(c.source()))),
            );
        }
    }
    match &rule.kind {
        RuleKind::Incident { verify, respond, remediate } => {
            out.push(verify.as_ref().map_or(String::new(), |c| words(c.source())));
            out.extend(respond.iter().map(|action| {
                words(
                    &format!("{action:?}")
                        .replace("\\n", " ")
                        .replace("\\t", " ")
                        .replace("\\r", " "),
                )
            }));
            out.push(remediate.to_string());
        }
        kind @ RuleKind::Guardrail { .. } => out.push(format!("{kind:?}")),
    }
    out.push(format!("{:?}", rule.instead));
    out
}

#[test]
fn well_laid_out_files_stay() {
    for source in [PAPER, &FULL.replace("full-1            #", "full-1  #")] {
        assert_eq!(format(&parse(source)), source);
    }
}

#[test]
fn blanks_lines_and_one_line_clauses_are_put_right() {
    let source = "\n\n# top  \n\n\n\n#next\n  rule @a   # why\n    trigger  a ,b\n    severity high  \n    check a file\n        was copied\n\n\n    # note\n    respond\n       kill\n       call x {\n           \"a\": 1\n       }\n    remediate\n        do\n\n          this\n  end\n\n\n\nrule @b\ntrigger c\nwhen\n     true &&\n   false\ncheck\n  x\nblock\nend\n# last";
    insta::assert_snapshot!(format(&parse(source)), @r#"
    # top

    #next
    rule @a  # why
    trigger a, b
    severity high
    check
      a file
      was copied

    # note
    respond
      kill
      call x {
          "a": 1
      }
    remediate
      do

        this
    end

    rule @b
    trigger c
    when
        true &&
      false
    check
      x
    block
    end

    # last
    "#);
}

#[test]
fn broken_rules_stay_as_they_are() {
    let broken = "rule @a\ntrigger   b\n chek\n     x\nend";
    let formatted = format(&parse(&format!("{broken}\n\n\n\n{PAPER}")));
    assert_eq!(formatted, format!("{broken}\n\n{PAPER}"));
}

#[test]
fn strings_over_lines_stay_as_they_are() {
    let source = "rule @a\ntrigger b\nwhen plan == '''a\n     b'''\ncheck\n      x\nblock\nend\n";
    assert_eq!(format(&parse(source)), source);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn formatting_is_idempotent_and_keeps_the_meaning(source in mutated()) {
        let before = parse(&source);
        let once = format(&before);
        let after = parse(&once);
        prop_assert_eq!(&format(&after), &once);
        let meaning = |parsed: &air_lang::Parsed| parsed.rules().iter().map(meaning).collect::<Vec<_>>();
        prop_assert_eq!(meaning(&before), meaning(&after));
        let comments = |text: &str| text.lines().filter(|line| line.trim().starts_with('#')).count();
        prop_assert_eq!(comments(&source), comments(&once));
    }

    /// A rule is shown, stored and read again as its own text.
    #[test]
    fn the_text_of_a_rule_is_that_rule(source in mutated()) {
        for rule in parse(&source).rules() {
            let alone = parse(&rule.source);
            let alone: Vec<_> = alone.rules().iter().map(|it| (meaning(it), &it.source)).collect();
            prop_assert_eq!(alone, [(meaning(rule), &rule.source)]);
        }
    }

    #[test]
    fn formatting_any_text_is_idempotent(source in "[a-z# @\n\t\r,]{0,80}") {
        let once = format(&parse(&source));
        prop_assert_eq!(&format(&parse(&once)), &once);
    }
}
