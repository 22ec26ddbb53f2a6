//! Guardrails in other languages: what can be said exactly, and what is left out.

use air_core::{
    guardrail::{Guardrail, Mode, Provenance},
    id::Timestamp,
};
use air_lang::export;

/// Guardrails with these conditions, numbered; `@` stands for a trigger of its own.
fn guardrails() -> Vec<Guardrail> {
    let conditions = [
        r#"code.calls.exists(c, c.name == "shutil.copy" && ".env" in c.args)"#,
        r#"args.path.startsWith("/etc/") && !(args.path.endsWith(".md") || plan.contains("a*\"b"))"#,
        r#"has(args.mode) && "rm" in code.imports && size(code.calls) > 2"#,
        "code.calls.all(c, c.line < 10 || code.calls.exists(d, d.name == c.name && !(d.line == 1)))",
        r#"args.command.matches("rm .*")"#,
        "args.n < 3",
        r#"labels(args.path).exists(l, l == "credential")"#,
    ];
    let guardrail = |(number, condition): (usize, &&str)| Guardrail {
        rule: None,
        wider: None,
        tried: None,
        examples: Vec::new(),
        id: format!("g-{number}").as_str().into(),
        version: 1,
        text: format!(
            "rule @r{number}\ntrigger bash, fs.*\ndecide {condition}\ncheck\n  it does {number}.\nblock\nend\n"
        ),
        mode: Mode::Enforce,
        provenance: Provenance::Authored { by: "a person".into() },
        created_at: Timestamp(1),
    };
    let mut all: Vec<_> = (1..).zip(&conditions).map(guardrail).collect();
    all.push(Guardrail { mode: Mode::Shadow, ..guardrail((8, &conditions[0])) });
    let mut asks = guardrail((9, &conditions[1]));
    asks.text = asks.text.replace("block", "ask").replace("bash, fs.*", "*");
    all.push(asks);
    let mut bounds = guardrail((10, &conditions[0]));
    bounds.text = bounds.text.replace("decide", "evidence");
    all.push(bounds);
    all
}

#[test]
fn rego_says_what_it_can_say_exactly() {
    insta::assert_snapshot!(export::rego(&guardrails()).text);
}

#[test]
fn cedar_says_what_it_can_say_exactly() {
    insta::assert_snapshot!(export::cedar(&guardrails()).text);
}

#[test]
fn whatever_is_left_out_is_named() {
    for export in [export::rego(&guardrails()), export::cedar(&guardrails())] {
        let marked = export.text.matches("left out: ").count();
        assert_eq!(marked, export.left_out.len());
        assert!(export.left_out.iter().all(|(_, why)| !why.is_empty()));
    }
}

#[test]
fn a_document_has_the_condition_as_a_tree() {
    let document = serde_json::to_string_pretty(&export::structured(&guardrails()[0]));
    insta::assert_snapshot!(document.expect("JSON"));
}
