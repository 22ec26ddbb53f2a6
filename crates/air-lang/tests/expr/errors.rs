use std::fmt::Write as _;

use air_lang::expr::{Moment, compile};

/// Each error with the text it is about.
fn report(source: &str, moment: Moment) -> String {
    let mut text = format!("{source}\n");
    match compile(source, moment) {
        Ok(_) => text.push_str("  no error\n"),
        Err(errors) => {
            for error in errors {
                let about = source.get(error.start..error.end).unwrap();
                let _ = writeln!(text, "  `{about}`: {}", error.message);
                if let Some(hint) = error.hint {
                    let _ = writeln!(text, "    {hint}");
                }
            }
        }
    }
    text
}

#[test]
fn messages() {
    let mut text = String::new();
    for source in [
        "",
        "tool",
        "code.calls",
        "tol == \"x\"",
        "zebra",
        "effects.fils.size() > 0",
        "effects.files.exists(f, f.owner == \"root\")",
        "code.calls == \"x\"",
        "duration_ms == \"x\"",
        "tool > 3",
        "tool == null",
        "error == null",
        "code.calls > 3",
        "tool && true",
        "!tool",
        "tool = \"x\"",
        "true and false",
        "true or not false",
        "(tool == \"x\"",
        "tool == \"x\")",
        "tool == \"x",
        "1 +",
        "tool.contains(1)",
        "code.imports.contains(\"os\")",
        "\"x\" in tool",
        "3 in code.imports",
        "len(tool) == 1",
        "tool.startswith(\"x\")",
        "contains(tool, \"x\")",
        "tool.labels() == []",
        "tool.matches(plan)",
        "tool.matches(\"(\")",
        "glob(tool, \"[\")",
        "1u == 1",
        "b\"x\" == b\"x\"",
        "tool.exists(x, x)",
        "code.exists(x, true)",
        "code.calls.exists(c)",
        "code.calls.exists(tool, true)",
        "code.calls.exists(1, true)",
        "code.calls.all(c, c.line == \"1\" && c.nam == \"x\")",
        "has(tool)",
        "has(code.call)",
        "args.n + \"x\" == 1 + 1.0",
        "timestamp(\"x\") == 1",
        "code[\"call\"] == []",
        "plan == \"é\" && plann == \"ß\"",
        "Foo{a: 1} == 1",
        "x.all(y, z)",
        "tool.size == 3",
        "for == 1",
        "true ? 1 : \"x\"",
        "a.b.c(",
        "duration_ms + \"x\" == \"y\"",
    ] {
        text.push_str(&report(source, Moment::After));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_guardrail_sees_only_what_comes_before() {
    let source = "effects.files.size() > 0 || output == \"x\" || plan == \"y\"";
    insta::assert_snapshot!(report(source, Moment::Before));
    assert!(compile(source, Moment::After).is_ok());
    assert!(compile("history.exists(h, size(h.effects.files) > 0)", Moment::Before).is_ok());
}
