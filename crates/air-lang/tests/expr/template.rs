use air_lang::expr::{Moment, compile_call};
use serde_json::json;

use crate::{copied, facts};

fn expand(template: &str, loop_var: Option<(&str, &str)>) -> Result<serde_json::Value, String> {
    let template = compile_call(template, loop_var, Moment::After)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    let calls = template.expand(&facts(&copied())).map_err(|why| why.to_string())?;
    Ok(json!(calls))
}

#[test]
fn templates_expand() {
    assert_eq!(
        expand(
            r#"{"a": "literal", "b": "${args.list}", "c": ["n is ${args.n} of ${size(args.list)}", 1],
                "d": {"e": "$${x}"}, "f": "${args.n}", "g": "${\"}\" + tool}", "h": "a$b"}"#,
            None
        ),
        Ok(
            json!([{"a": "literal", "b": [1, 2, 3], "c": ["n is 3 of 3", 1], "d": {"e": "${x}"}, "f": 3,
                   "g": "}python_repl", "h": "a$b"}])
        )
    );
    assert_eq!(
        expand(
            r#"{"path": "${f.path}"}"#,
            Some(("f", r#"effects.files.filter(f, f.change == "created")"#))
        ),
        Ok(json!([{"path": "/workspace/x"}]))
    );
}

#[test]
fn what_is_not_known_is_not_called() {
    for (template, loop_var, why) in [
        (r#"{"a": "${args.dark}"}"#, None, "not seen"),
        (r#"{"a": "${args.gap}"}"#, None, "cut off"),
        (r#"{"a": "x ${args.list}"}"#, None, "a list cannot be part of a text"),
        (r#"{"a": "${p.pid}"}"#, Some(("p", "effects.processes")), "the watch ended early"),
        (r#"{"a": "${h.tool}"}"#, Some(("h", "history")), "`history` was not observed"),
    ] {
        assert_eq!(expand(template, loop_var), Err(why.into()), "{template}");
    }
}

#[test]
fn errors_are_where_they_were_written() {
    for (template, loop_var, about, message) in [
        (r#"{"a": "é\n\"${tol}"}"#, None, "tol", "there is no fact `tol`"),
        (r#"{"a": "\u00e9${ 1 +tool}"}"#, None, "1 +tool", "`+` cannot take an int and a string"),
        (r#"{"a": "${tool"}"#, None, "${", "`${` is never closed"),
        (r#"{"a": 1,}"#, None, "}", "the arguments are not JSON: trailing comma"),
        (r#"["a"]"#, None, r#"["a"]"#, "the arguments of a call are a JSON object"),
        (r#"{"${tool}": 1}"#, None, r#""${tool}""#, "the name of an argument holds no expression"),
        (
            r#"{"a": "x${code.calls}"}"#,
            None,
            "code.calls",
            "a list of `call` records cannot be part of a text",
        ),
        (
            r#"{"a": "${f.pth}"}"#,
            Some(("f", "effects.files")),
            "pth",
            "a `file effect` record has no field `pth`",
        ),
        (r#"{"a": 1}"#, Some(("f", "tool")), "tool", "`for` needs a list, this is a string"),
    ] {
        let errors = compile_call(template, loop_var, Moment::After).unwrap_err();
        let error = &errors[0];
        let text = if error.in_loop { loop_var.unwrap().1 } else { template };
        assert_eq!(
            (&text[error.start..error.end], &*error.message),
            (about, message),
            "{template}"
        );
    }
    assert!(compile_call(r#"{"a": "${output}"}"#, None, Moment::Before).is_err());
}
