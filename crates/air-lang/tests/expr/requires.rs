//! What a condition reads and requires, and that nothing holds where a requirement is unmet.

use air_core::{
    condition::Condition,
    fact::{Facts, Root},
    outcome::Outcome,
    requirement::{Need, Needle},
};
use air_lang::expr::{Moment, compile};
use proptest::prelude::*;
use serde_json::json;

use crate::{copied, facts, laws::forget};

/// Clauses separated by `;`, alternatives by `|`. A field that may be absent has a `?`.
fn required(condition: &dyn Condition) -> String {
    let need = |need: &Need| match &need.text {
        Needle::Equals(text) => format!("{} = {text}", need.place),
        Needle::Contains(text) => format!("{} ~ {text}", need.place),
    };
    let clauses = condition.requires().clauses().iter();
    let clauses = clauses.map(|clause| clause.iter().map(need).collect::<Vec<_>>().join(" | "));
    clauses.collect::<Vec<_>>().join("; ")
}

#[test]
fn requirements_are_texts_that_must_be_there() {
    #[rustfmt::skip]
    let table = [
        (r#"tool == "x""#,                                            "tool = x"),
        (r#""x" == tool"#,                                            "tool = x"),
        (r#"tool != "x""#,                                            ""),
        (r#"!(tool == "x")"#,                                         ""),
        (r#"args.path == "/x" && args.n == 3"#,                       "args.path = /x"),
        (r#"args["path"] == "/x""#,                                   "args.path = /x"),
        (r#"args.a == "x" && args.b == "y""#,                         "args.a = x; args.b = y"),
        (r#"args.a == "x" || args.b == "y""#,                         "args.a = x | args.b = y"),
        (r#"args.a == "x" || args.n == 3"#,                           ""),
        (r#"(tool == "a" && plan == "b") || tool == "c""#,            "tool = a | tool = c; plan = b | tool = c"),
        (r#"args.command.contains("rm")"#,                            "args.command ~ rm"),
        (r#"args.command.startsWith("rm")"#,                          "args.command ~ rm"),
        (r#"args.command.contains("")"#,                              ""),
        (r#"args.command.lowerAscii().contains("rm")"#,               "args.command ~ rm"),
        (r#"args.command.lowerAscii() == "rm""#,                      "args.command ~ rm"),
        (r#"tool in ["a", "b"]"#,                                     "tool = a | tool = b"),
        (r#"tool in ["a", plan]"#,                                    ""),
        (r#""os" in code.imports"#,                                   "code.imports[] = os"),
        (r#""path" in args"#,                                         "args[] = path"),
        (r#"args.exists(k, k == "x")"#,                               "args[] = x"),
        (r#"glob(args.path, "/etc/**/passwd*")"#,                     "args.path ~ passwd"),
        (r#"glob(args.path, "**")"#,                                  ""),
        (r#"glob(args.path, "{a,b}long")"#,                           ""),
        (r#"code.calls.exists(c, c.name == "rm" && "-r" in c.args)"#, "code.calls[].name = rm; code.calls[].args[] = -r"),
        (r#"code.calls.exists(c, c.args.exists(a, a.contains("x")))"#, "code.calls[].args[] ~ x"),
        (r#"code.calls.exists(c, tool == "x")"#,                      ""),
        (r#"code.calls.exists(c, c.name == "a" || tool == "x")"#,     "code.calls[].name = a | tool = x"),
        (r#"code.calls.exists_one(c, c.name == "rm")"#,               "code.calls[].name = rm"),
        (r#"code.calls.all(c, c.name == "rm")"#,                      ""),
        (r#"code.calls.filter(c, c.line > 1).exists(c, c.name == "rm")"#, ""),
        (r#"[1].exists(x, tool == "rm")"#,                            ""),
        (r#"args.t ? tool == "a" : tool == "b""#,                     ""),
        ("false",                                                     ""),
    ];
    for (source, expected) in table {
        let condition = compile(source, Moment::After).unwrap();
        assert_eq!(required(&*condition), expected, "{source}");
    }
}

#[test]
fn what_is_never_true_requires_what_is_never_there() {
    for source in ["false", r#"tool == "x" && false"#, "false || false", "tool in []"] {
        let condition = compile(source, Moment::After).unwrap();
        assert!(condition.requires().is_unmet(&facts(&json!({}))), "{source}");
    }
}

#[test]
fn a_condition_names_the_places_that_it_reads() {
    #[rustfmt::skip]
    let table = [
        (r#"tool == "x" && tool != plan"#,                  "tool, plan"),
        ("has(args.a.b) && args.c[plan] == 1",           "args.a.b, args.c, plan"),
        (r#"effects.files.exists(f, under(f.path, "/x"))"#, "effects.files, effects.files[].path"),
        ("effects.connections.all(c, effects.reads.exists(r, r.path == c.host))",
            "effects.connections, effects.reads, effects.reads[].path, effects.connections[].host"),
        (r#"code.calls.map(c, c.name).exists(n, n == "x")"#, "code.calls, code.calls[].name"),
        ("[effects][0] == effects",                      "effects"),
        ("state.door.open",                              "state.door.open"),
        (r#"{"k": error}["k"] == output"#,                  "error, output"),
        ("true",                                            ""),
    ];
    for (source, expected) in table {
        let condition = compile(source, Moment::After).unwrap();
        let places: Vec<String> = condition.paths().iter().map(ToString::to_string).collect();
        assert_eq!(places.join(", "), expected, "{source}");
    }
}

fn condition() -> impl Strategy<Value = String> {
    let subject = prop::sample::select(vec![
        "args.a",
        "args.b",
        "args.z",
        "tool",
        "plan",
        "args.m.k",
        "args.a.lowerAscii()",
        "code.language",
    ]);
    let text = prop::sample::select(vec!["a", "ab", "b", "B", ""]);
    let on = (subject, text.clone(), 0..6).prop_map(|(subject, text, form)| match form {
        0 => format!("{subject} == {text:?}"),
        1 => format!("{text:?} == {subject}"),
        2 => format!("{subject}.contains({text:?})"),
        3 => format!("{subject} in [{text:?}, \"a\"]"),
        4 => format!("glob({subject}, \"*{text}*\")"),
        _ => format!("{subject}.endsWith({text:?})"),
    });
    let listed = (prop::sample::select(vec!["args.l", "args.m", "args.a", "code.imports"]), text)
        .prop_map(|(list, text)| format!("{text:?} in {list}"));
    let other = prop::sample::select(vec![
        "has(args.z)",
        "has(args.a)",
        "has(args.m.k)",
        "args.n == 1",
        "true",
        "false",
        "size(args.l) > 1",
    ]);
    let atom = prop_oneof![4 => on, 2 => listed, 2 => other.prop_map(str::to_owned)];
    let item = prop::sample::select(vec![
        r#"x == "a""#,
        r#"x.contains("b")"#,
        r#"x.k == "a""#,
        r#"has(x.k) && x.k == "b""#,
        r#"x == "a" || x == "b""#,
        r#"x == "a" && tool == "b""#,
        r#"x.exists(y, y == "a")"#,
    ]);
    let of_items = (prop::sample::select(vec!["args.l", "args.m", "args.b"]), item, any::<bool>());
    let of_items = of_items.prop_map(|(list, body, one)| {
        format!("{list}.{}(x, {body})", if one { "exists_one" } else { "exists" })
    });
    prop_oneof![2 => atom, 1 => of_items].prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            3 => (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} && {right})")),
            3 => (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left} || {right})")),
            1 => inner.clone().prop_map(|operand| format!("!({operand})")),
            1 => inner.clone().prop_map(|body| format!("args.l.exists(q, q == \"a\" && {body})")),
            1 => (inner.clone(), inner).prop_map(|(left, right)| format!("({left} ? {right} : {left})")),
        ]
    })
}

fn scalar() -> impl Strategy<Value = serde_json::Value> {
    prop_oneof![
        4 => "[abAB]{0,3}".prop_map(|text| json!(text)),
        1 => Just(json!(1)),
        1 => Just(json!(null)),
        1 => Just(json!({"k": "a"})),
        1 => Just(json!(["a", "c"])),
    ]
}

fn world() -> impl Strategy<Value = serde_json::Value> {
    let list = || prop::collection::vec(scalar(), 0..4);
    let map = prop::option::of(scalar());
    let texts = || "[ab]{0,2}";
    let imports = prop::collection::vec("[ab]{0,2}", 0..3);
    let language = prop::option::of("[ab]{1,2}");
    (
        scalar(),
        scalar(),
        prop::option::of(scalar()),
        list(),
        map,
        texts(),
        texts(),
        imports,
        language,
    )
        .prop_map(|(a, b, z, l, k, tool, plan, imports, language)| {
            let mut args = json!({"a": a, "b": b, "l": l, "m": {}, "n": 1});
            if let Some(z) = z {
                args["z"] = z;
            }
            if let Some(k) = k {
                args["m"]["k"] = k;
            }
            let code = json!({"imports": imports, "language": language});
            json!({"args": args, "tool": tool, "plan": plan, "code": code})
        })
}

fn unmet_is_false(source: &str, facts: &Facts) -> Result<bool, TestCaseError> {
    let condition = compile(source, Moment::After)
        .map_err(|errors| TestCaseError::fail(format!("{source}: {errors:?}")))?;
    let unmet = condition.requires().is_unmet(facts);
    if unmet {
        let answer = condition.evaluate(facts);
        prop_assert_eq!(answer, Outcome::Unsatisfied, "`{}` on {:?}", source, facts);
    }
    Ok(unmet)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Also where parts of the facts are unknown, or lists incomplete.
    #[test]
    fn what_is_unmet_is_false(
        source in condition(),
        world in world(),
        choices in prop::collection::vec(any::<u8>(), 60),
    ) {
        let whole = facts(&world);
        let mut choices = choices.into_iter();
        let mut partial = facts(&json!({}));
        for root in [Root::Args, Root::Tool, Root::Plan, Root::Code] {
            if let Some(fact) = whole.get(root) {
                partial.set(root, forget(fact, &mut choices));
            }
        }
        unmet_is_false(&source, &whole)?;
        unmet_is_false(&source, &partial)?;
    }
}

#[test]
fn what_blows_up_is_unknown_soon() {
    let numbers: Vec<i64> = (0..1000).collect();
    let long = "a".repeat(5 << 20);
    let world = facts(&json!({"args": {"l": numbers, "s": long, "t": "x".repeat(1000)}}));
    let mut doubling = "[args.t]".to_owned();
    for _ in 0..24 {
        doubling = format!("{doubling}.map(x, x + x)");
    }
    let mut lists = "[args.l]".to_owned();
    for _ in 0..24 {
        lists = format!("{lists}.map(x, x + x)");
    }
    let mut shared = "args.l".to_owned();
    for _ in 0..30 {
        shared = format!("[{shared}, 0].map(x, [x, x])");
    }
    #[rustfmt::skip]
    let table = [
        "args.l.all(x, args.l.all(y, args.l.all(z, x + y + z >= 0)))".to_owned(),
        "args.l.exists(x, args.l.exists(y, args.l.exists(z, x + y + z < 0)))".to_owned(),
        "size(args.l.map(x, args.l.map(y, args.l.map(z, x)))) == 0".to_owned(),
        r#"args.s.matches("(a*)*b")"#.to_owned(),
        r#"args.l.exists(x, args.s.contains("aab"))"#.to_owned(),
        r#"args.l.exists(x, args.s + "b" == args.s)"#.to_owned(),
        r#"args.l.exists(x, args.s.lowerAscii() == "b")"#.to_owned(),
        format!("size({doubling}[0]) == 0"),
        format!("size({lists}[0]) == 0"),
        format!("{shared} == {shared}"),
    ];
    for source in table {
        let condition = compile(&source, Moment::After).unwrap();
        let answer = condition.evaluate(&world);
        let expected = Outcome::undetermined("condition exceeded its step budget");
        assert_eq!(answer, expected, "{source}");
    }
    // Within its bounds: one look at a long text.
    let once = compile(r#"args.s.contains("ab")"#, Moment::After).unwrap();
    assert_eq!(once.evaluate(&world), Outcome::Unsatisfied);
    assert_eq!(once.evaluate(&facts(&copied())), Outcome::undetermined("no such key `s`"));
}
