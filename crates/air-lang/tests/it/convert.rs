//! Rules of the authors' dialect, translated. All fixtures are our own.

use air_core::rule::{Hit, RuleKind};
use air_lang::{Code, Converted, Converter, Severity, format, parse, render};
use proptest::prelude::*;

fn convert(source: &str) -> Converted {
    Converter::default().convert(source)
}

fn shown(source: &str) -> String {
    let converted = convert(source);
    let found = render(&converted.diagnostics, "a.rules", source, false);
    format!("{}--------\n{found}", converted.text)
}

#[test]
fn each_form_of_the_dialect_is_translated() {
    insta::assert_snapshot!(shown(
        r##"
// Wet things and
// sockets.
rule @wet_socket
trigger "pour" "spill", wipe "pour"
/* Both at
 * once. */
check "a liquid is near a socket" && ("the socket is live" || !"the \"power\" is off")
orchestrate
    "turn the socket's power off"
    "wipe it dry,
     with a dry cloth"
end

rule @wet_socket_guard trigger "pour" check 'the plan would pour near a socket'
orchestrate "Block execution before running the tool." end // learned

# The same name again, and a name that is none here.
rule @wet_socket
trigger "press key"
check "# schlüssel — 鍵"
remediate "first", "second"
end
"##
    ));
}

#[test]
fn each_mistake_is_placed_and_hides_no_other_rule() {
    insta::assert_snapshot!(shown(
        r#"
trigger "stray"
rule
trigger "a" check "b" orchestrate "c" end
rule @words
trigger a
check a file was copied
orchestrate "c"
end
rule @two_texts
trigger "a"
check "b" "c"
orchestrate "c"
end
rule @misspelled
triger "a"
check "b"
orchestrate "c"
end
rule @open
trigger "a"
check ("b" && "c"
orchestrate "c"
end
rule @empty
trigger ""
check "b"
orchestrate "c"
end
rule @twice
trigger "a" check "b" check "c" orchestrate "c" end
rule @missing
trigger "a"
end
rule @not_closed
trigger "a" check "b" orchestrate "c"
rule @good
trigger "a" check "b" orchestrate "c" end
rule @never
trigger "a" check "b
orchestrate "c"
end
"#
    ));
}

#[test]
fn what_was_learned_blocks() {
    let text = convert(
        "rule @a trigger 'x' check 'y' orchestrate 'block execution before  running the tool' end",
    )
    .text;
    let parsed = parse(&text);
    assert!(
        matches!(parsed.rules()[0].kind, RuleKind::Guardrail { hit: Hit::Block, .. }),
        "{text}"
    );
}

#[test]
fn files_without_a_rule_and_deep_nesting_are_refused() {
    let codes = |source: &str| -> Vec<Code> {
        convert(source).diagnostics.iter().map(|found| found.code).collect()
    };
    assert_eq!(codes(""), [Code::MissingClause]);
    assert_eq!(codes("// nothing"), [Code::MissingClause]);
    let deep = format!("rule @a trigger 'x' check {}'y'", "(".repeat(10_000));
    assert!(codes(&deep).contains(&Code::UnexpectedText));
    let negated =
        format!("rule @a trigger 'x' check {}'y' orchestrate 'z' end", "!".repeat(10_000));
    assert!(codes(&negated).is_empty());
    assert_eq!(codes("rule @a /* never closed"), [Code::MissingEnd, Code::UnexpectedText]);
}

#[test]
fn names_are_unique_over_files() {
    let mut converter = Converter::default();
    let source = "rule @a trigger 'x' check 'y' orchestrate 'z' end";
    let texts = [source, source].map(|source| converter.convert(source).text);
    assert!(texts[1].starts_with("rule @a_2\n"));
}

/// A text as it may stand in a rule: escapes, several lines, other scripts, odd beginnings.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-zA-Z#@!(&|'*/ ]{1,20}",
        "[\\PC]{1,12}",
        Just("end".to_owned()),
        Just("rule @x".to_owned()),
        Just("# no comment".to_owned()),
        Just("  block".to_owned()),
        Just("\t- a".to_owned()),
        Just(String::new()),
    ];
    prop::collection::vec(line, 1..4)
        .prop_map(|lines| lines.join("\n"))
        .prop_filter("a text", |text| text.chars().any(char::is_alphanumeric))
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\t', "\\t"))
}

fn check() -> impl Strategy<Value = (String, Vec<String>)> {
    let leaf = text().prop_map(|text| (quote(&text), vec![text]));
    leaf.prop_recursive(3, 8, 3, |inner| {
        (prop::collection::vec(inner, 1..4), any::<bool>(), any::<bool>()).prop_map(
            |(parts, all, not)| {
                let (sources, texts): (Vec<String>, Vec<Vec<String>>) = parts.into_iter().unzip();
                let joined = sources.join(if all { " && " } else { "\n|| " });
                let not = if not { "!" } else { "" };
                (format!("{not}({joined})"), texts.concat())
            },
        )
    })
}

fn rule() -> impl Strategy<Value = (String, Vec<String>)> {
    let steps = prop::collection::vec(text(), 1..4);
    let tools = prop::collection::vec("[a-z_.*]{1,8}", 1..4);
    (tools, check(), steps, any::<bool>()).prop_map(
        |(tools, (check, mut texts), steps, comment)| {
            let quoted: Vec<String> = steps.iter().map(|step| quote(step)).collect();
            texts.extend(steps);
            let comment = if comment { "// odd \"quotes\n" } else { "" };
            let tools: Vec<String> = tools.iter().map(|tool| quote(tool)).collect();
            let (tools, steps) = (tools.join(" "), quoted.join("\n"));
            (
                format!("{comment}rule @r trigger {tools} check {check} orchestrate {steps} end\n"),
                texts,
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn generated_rules_are_kept(rules in prop::collection::vec(rule(), 1..4)) {
        let source: String = rules.iter().map(|(source, _)| source.as_str()).collect();
        let converted = convert(&source);
        let errors = |found: &[air_lang::Diagnostic]| found.iter().any(|it| it.severity == Severity::Error);
        prop_assert!(!errors(&converted.diagnostics), "{:?}", converted.diagnostics);
        let parsed = parse(&converted.text);
        prop_assert!(!errors(parsed.diagnostics()), "{}\n{:?}", converted.text, parsed.diagnostics());
        prop_assert_eq!(parsed.rules().len(), rules.len());
        prop_assert_eq!(&format(&parsed), &converted.text);
        for ((_, texts), rule) in rules.iter().zip(parsed.rules()) {
            let RuleKind::Incident { remediate, .. } = &rule.kind else { panic!("a guardrail") };
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
            let kept = words(&format!("{} {remediate}", rule.check));
            for text in texts {
                // A line that would be a comment has a backslash before it.
                for line in text.lines().map(words).filter(|line| !line.is_empty()) {
                    prop_assert!(kept.contains(&line), "{line:?} in {kept}");
                }
            }
        }
    }

    #[test]
    fn any_text_is_answered(source in any::<String>()) {
        let converted = convert(&source);
        render(&converted.diagnostics, "f", &source, false);
    }

    #[test]
    fn any_tokens_are_answered(source in "(rule|@a|end|check|trigger|orchestrate|\"|'|&&|\\|\\||!|\\(|\\)|,|/\\*|\\*/|//|#|\n| |x|é){0,60}") {
        let converted = convert(&source);
        prop_assert!(!parse(&converted.text).has_errors());
        prop_assert!(converted.rules > 0 || !converted.diagnostics.is_empty());
    }
}
