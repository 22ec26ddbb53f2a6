use air_core::{
    fact::{Facts, Root},
    outcome::Outcome,
    value::{List, Value},
};
use air_lang::expr::{Moment, compile, compile_call};
use proptest::prelude::*;
use serde_json::json;

use crate::{copied, facts, value};

fn boolean() -> impl Strategy<Value = String> {
    let atom = prop::sample::select(vec![
        "args.a == args.b",
        "args.a != args.l",
        "args.a < args.b",
        "args.a in args.l",
        "args.l == args.m",
        "size(args.l) > size(args.m)",
        "has(args.a)",
        "has(args.z)",
        "\"a\" in args",
        "args.l[0] == args.a",
        "args.t",
        "args.l.exists_one(x, x == args.a)",
        "args.l + args.m == args.m + args.l",
        "args.l.filter(x, x != args.a)[0] == args.b",
        "args.l.map(x, x == args.b) == [true, false]",
        "args.l.map(x, x == args.a, x) == args.m",
        "size(args.l.filter(x, x == 1)) == 1",
        "args == args",
        "args.z == 1",
        "(args.t ? args.a : args.b) == 1",
        "args.exists(k, k == \"a\")",
        "args.a + args.b == 2",
        "args.s.contains(args.p)",
        "under(args.s, args.p)",
        "glob(args.s, args.p)",
        "args.s == args.p",
        "labels(args.s) == [\"credential\", \"system\"]",
        "{\"k\": args.a} == {\"k\": args.b}",
        "args.l in [args.m, [1]]",
        "-args.a < 0",
        "args.l.all(x, args.m.exists(y, x == y))",
        "args.l == [0, 1, 2]",
        "args.l != []",
        "string(args.a) == args.s",
        "[args.a, args.l][0] == args.b",
    ])
    .prop_map(str::to_owned);
    atom.prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} && {right})")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} || {right})")),
            inner.clone().prop_map(|operand| format!("!({operand})")),
            inner.clone().prop_map(|body| format!("args.l.exists(q, q == args.a || {body})")),
            inner.clone().prop_map(|body| format!("args.m.all(q, q != args.b && {body})")),
            (inner.clone(), inner).prop_map(|(left, right)| format!("({left} ? {right} : args.t)")),
        ]
    })
}

fn scalar() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        (0..3_i64).prop_map(|number| json!(number)),
        Just(json!(1.0)),
        Just(json!(null)),
        Just(json!(true)),
        Just(json!("/etc")),
        Just(json!("x")),
    ]
}

fn arguments() -> impl Strategy<Value = serde_json::Value> {
    let list = || prop::collection::vec(scalar(), 0..4);
    let path = || prop::sample::select(vec!["/etc", "/etc/x", "x", "", "../x", "/*", "."]);
    (scalar(), scalar(), list(), list(), any::<bool>(), path(), path(), prop::option::of(scalar()))
        .prop_map(|(a, b, l, m, t, s, p, z)| {
            let mut args = json!({"a": a, "b": b, "l": l, "m": m, "t": t, "s": s, "p": p});
            if let Some(z) = z {
                args["z"] = z;
            }
            args
        })
}

/// Forgets parts: a value becomes unknown, a list loses items and says so.
pub(crate) fn forget(value: &Value, choices: &mut impl Iterator<Item = u8>) -> Value {
    let choice = choices.next().unwrap_or(255);
    if choice < 24 {
        return Value::unknown("forgotten");
    }
    match value {
        Value::List(list) => {
            let incomplete = choice < 80;
            let mut items = Vec::new();
            for item in &*list.items {
                if !(incomplete && choices.next().unwrap_or(255) < 80) {
                    items.push(forget(item, choices));
                }
            }
            let reason = incomplete.then(|| "cut off".into());
            Value::List(List {
                items: items.into(),
                incomplete: list.incomplete.clone().or(reason),
            })
        }
        Value::Map(fields) => {
            Value::record(fields.iter().map(|(name, field)| (&**name, forget(field, choices))))
        }
        other => other.clone(),
    }
}

fn refines(source: &str, whole: &Facts, partial: &Facts) -> Result<(), TestCaseError> {
    let condition = compile(source, Moment::After)
        .map_err(|e| TestCaseError::fail(format!("{source}: {e:?}")))?;
    let (known, less) = (condition.evaluate(whole), condition.evaluate(partial));
    let agrees = matches!(less, Outcome::Undetermined(_)) || less == known;
    prop_assert!(agrees, "`{}`: {:?}, with less known {:?}", source, known, less);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Knowing less never answers otherwise, only not at all.
    #[test]
    fn the_unknown_refines(
        source in boolean(),
        args in arguments(),
        choices in prop::collection::vec(any::<u8>(), 40),
    ) {
        let args = value(&args);
        let partial = forget(&args, &mut choices.into_iter());
        let facts = facts(&json!({}));
        refines(&source, &facts.clone().with(Root::Args, args), &facts.with(Root::Args, partial))?;
    }

    /// The same on facts of the schema.
    #[test]
    fn the_unknown_refines_records(
        source in prop::sample::select(vec![
            r#"effects.files.exists(f, f.change == "created" && "credential" in labels(f.origin))"#,
            r#"effects.files.all(f, has(f.origin) || f.change == "deleted")"#,
            r#"effects.processes.exists(p, "sleep" in p.argv) && error == null"#,
            r#"code.calls.exists(c, c.name == "shutil.copy" && c.args[0] in code.paths)"#,
            r#"effects.files.filter(f, under(f.origin, "/etc")).map(f, f.path) == ["/workspace/x"]"#,
            r#"!code.complete || size(code.defects) > 0 || duration_ms > 10 && output == "done""#,
        ]),
        choices in prop::collection::vec(any::<u8>(), 120),
        dropped in any::<u16>(),
    ) {
        let whole = facts(&copied());
        let mut choices = choices.into_iter();
        let mut partial = facts(&json!({}));
        for (place, root) in Root::ALL.into_iter().enumerate() {
            if let (Some(fact), true) = (whole.get(root), dropped & 3 << place != 0) {
                partial.set(root, forget(fact, &mut choices));
            }
        }
        refines(source, &whole, &partial)?;
    }

    /// Whatever is written, there is an answer and no panic, and errors lie within the text.
    #[test]
    fn compiling_never_panics(source in prop_oneof![
        any::<String>(),
        "[-a-z().,\"'&|!?:=<>+*/%0-9 \\[\\]{}é`$\\\\]{0,40}",
        prop::collection::vec(prop::sample::select(vec![
            "tool", "effects", ".files", ".exists(", "f", ",", ")", "(", "[", "]", "{", "}", "==", "&&", "||",
            "!", "-", "?", ":", "1", "1u", "\"é\"", "'x'", "r'\\'", "in", "has(", ".matches(", "null", "`a`", " ", "\n", "//",
        ]), 0..16).prop_map(|parts| parts.concat()),
    ]) {
        let within = |errors: Vec<air_lang::expr::ExprError>, text: &str| {
            !errors.is_empty() && errors.iter().all(|error| text.get(error.start..error.end).is_some())
        };
        match compile(&source, Moment::After) {
            Ok(condition) => drop(condition.evaluate(&facts(&copied()))),
            Err(errors) => prop_assert!(within(errors, &source)),
        }
        let template = json!({"a": format!("é\n{source}"), "b": format!("${{{source}}}")}).to_string();
        if let Err(errors) = compile_call(&template, None, Moment::After) {
            prop_assert!(within(errors.clone(), &template), "{} {:?}", template, errors);
        }
    }
}
