use std::time::{Duration, Instant};

use air_core::{fact::Root, outcome::Outcome};
use air_lang::expr::{Moment, compile};
use serde_json::json;

use crate::{answer, copied, facts, outcome};

#[test]
fn conditions_answer() {
    let facts = facts(&copied());
    for (source, expected) in [
        // The language's own examples.
        (
            r#"effects.files.exists(f, f.change == "created" && "credential" in labels(f.origin))"#,
            "true",
        ),
        (r#"tool == "python_repl" && args.code.contains("shutil.copy")"#, "true"),
        (r#"effects.files.exists(f, under(f.path, "/etc"))"#, "false"),
        (r#"effects.files.all(f, under(f.path, "/workspace"))"#, "true"),
        (r#"code.paths.exists(p, glob(p, "/etc/*"))"#, "true"),
        (r#"code.paths.exists(p, glob(p, "/*"))"#, "false"),
        (r#"code.calls.exists(c, c.name.matches("^shutil\\.(copy|move)$"))"#, "true"),
        // Numbers and texts.
        ("1 + 2 * 3 == 7 && 7 % 4 == 3 && -7 / 2 == -3", "true"),
        ("args.n < 3.5 && args.d > 1 && 3 == 3.0", "true"),
        ("9007199254740993 == 9007199254740992.0", "false"),
        ("1 / 0 == 1", "unknown: division by zero"),
        ("9223372036854775807 + 1 > 0", "unknown: an int overflows"),
        ("false && 1 / 0 == 1", "false"),
        ("1 / 0 == 1 || true", "true"),
        (r#"size("äöü") == 3 && "ÄB".lowerAscii() == "Äb""#, "true"),
        (
            r#"int("42") == 42 && string(42) == "42" && double("1.5") == 1.5 && int(-1.9) == -1"#,
            "true",
        ),
        (r#"int("x") == 1"#, "unknown: the text is not an int"),
        (r#""a" < "b" && "a" + "b" == "ab""#, "true"),
        (r#"tool == "x" ? false : size(args.list) == 3"#, "true"),
        // Lists and maps.
        ("2 in args.list && !(4 in args.list)", "true"),
        (r#""n" in args && !("m" in args)"#, "true"),
        ("args.list.exists_one(x, x > 2) && args.list.existsOne(x, x == 1)", "true"),
        ("args.list.filter(x, x > 1) == [2, 3]", "true"),
        ("args.list.map(x, x * 2) == [2, 4, 6]", "true"),
        ("args.list.map(x, x > 1, x * 2) == [4, 6]", "true"),
        (r#"args.map.exists(k, k == "a") && args.map == {"a": 1}"#, "true"),
        (r#"args["n"] == 3 && args.list[0] == 1"#, "true"),
        ("args.list[3] == 1", "unknown: the list has no item 3"),
        ("[1] + [2] == [1, 2]", "true"),
        // Absence.
        ("has(args.n) && !has(args.m) && has(args.nil)", "true"),
        ("args.m == 1", "unknown: no such key `m`"),
        ("has(args.m) && args.m == 1", "false"),
        (r#"error == null && args.nil != "x""#, "true"),
        ("args.nil + 1 == 1", "unknown: `+` cannot take `null` and an int"),
        ("effects.files.filter(f, has(f.origin)).size() == 1", "true"),
        (r#"effects.files.exists(f, f.origin != null && f.origin.startsWith("/etc"))"#, "true"),
        ("effects.files.all(f, size(labels(f.origin)) < 3)", "true"),
        // The unknown.
        ("args.dark == 1", "unknown: not seen"),
        ("args.dark == 1 && false", "false"),
        ("args.dark == 1 || true", "true"),
        ("!(args.dark == 1)", "unknown: not seen"),
        ("args.dark ? true : true", "unknown: not seen"),
        ("has(args.dark)", "unknown: not seen"),
        (r#"task == "x""#, "unknown: `task` was not observed"),
        (r#"task == "x" && plan == "y""#, "false"),
        (r#"history.exists(h, h.tool == "x")"#, "unknown: `history` was not observed"),
        // Incomplete lists.
        ("effects.processes.exists(p, p.pid == 7)", "true"),
        ("effects.processes.exists(p, p.pid == 8)", "unknown: the watch ended early"),
        ("effects.processes.all(p, p.pid == 8)", "false"),
        ("effects.processes.all(p, p.pid == 7)", "unknown: the watch ended early"),
        ("size(effects.processes) == 1", "unknown: the watch ended early"),
        ("1 in args.gap", "true"),
        ("9 in args.gap", "unknown: cut off"),
        ("args.gap == [1, 2]", "unknown: cut off"),
        ("args.gap == [1]", "false"),
        ("args.gap == [1, 3, 4]", "false"),
        ("args.gap[0] == 1", "unknown: cut off"),
        ("args.gap.exists_one(x, x == 1)", "unknown: cut off"),
        ("args.gap.exists_one(x, x > 0)", "false"),
        ("1 in args.gap.filter(x, x == 1)", "true"),
        ("2 in args.gap.filter(x, x == 1)", "unknown: cut off"),
        ("4 in args.gap.map(x, x * 2)", "true"),
        ("5 in args.gap.map(x, x * 2)", "unknown: cut off"),
        ("9 in (args.list + args.gap)", "unknown: cut off"),
        (
            r#"under("../x", "/etc")"#,
            "unknown: the path climbs out of a directory that is not known",
        ),
        // Run-time types.
        (r#"args.n.contains("x")"#, "unknown: the function cannot take an int"),
        ("args.n", "unknown: the condition gave an int, not true or false"),
        ("args.code > 1", "unknown: `>` cannot compare a string with an int"),
    ] {
        assert_eq!(answer(source, &facts), expected, "`{source}`");
    }
}

#[test]
fn truth_tables_are_kleenes() {
    let facts = facts(&json!({"args": {"t": true, "f": false, "u": {"?": "u"}, "v": {"?": "v"}}}));
    let truth = |name: &str| match name {
        "t" => Outcome::Satisfied,
        "f" => Outcome::Unsatisfied,
        why => Outcome::undetermined(why),
    };
    for left in ["t", "f", "u", "v"] {
        assert_eq!(outcome(&format!("!args.{left}"), &facts), truth(left).not());
        for right in ["t", "f", "u", "v"] {
            let both = |op: &str| outcome(&format!("args.{left} {op} args.{right}"), &facts);
            assert_eq!(both("&&"), truth(left).and(truth(right)), "{left} && {right}");
            assert_eq!(both("||"), truth(left).or(truth(right)), "{left} || {right}");
        }
    }
}

#[test]
fn evaluation_is_bounded() {
    let items: Vec<i64> = (0..300).collect();
    let facts = facts(&json!({"args": {"l": items, "s": "x".repeat(100_000)}}));
    for source in [
        "args.l.all(a, args.l.all(b, args.l.all(c, a + b + c >= 0)))",
        "args.l.all(a, args.l.map(b, args.l).size() > 0)",
        "args.l.all(a, args.l.all(b, !args.s.contains(\"y\")))",
        "args.l.all(a, args.l.all(b, args.l == args.l))",
        "args.l.all(a, args.l.all(b, !args.s.matches(\"(x+x+)+y\")))",
        "args.l.all(a, args.l.all(b, !(400 in args.l + args.l)))",
        "args.l.all(a, args.l.all(b, glob(args.s, args.s + \"*\") || true))",
        "args.l.map(a, args.s + args.s).map(x, x + x).map(x, x + x).map(x, x + x).size() > 0",
    ] {
        let begun = Instant::now();
        assert_eq!(
            answer(source, &facts),
            "unknown: condition exceeded its step budget",
            "{source}"
        );
        assert!(begun.elapsed() < Duration::from_secs(5), "{source}: {:?}", begun.elapsed());
    }
}

#[test]
fn what_is_read_is_known() {
    let condition =
        compile(r#"tool == "x" || effects.files.exists(f, f.path in code.paths)"#, Moment::After)
            .unwrap();
    let reads: Vec<Root> = condition.reads().iter().collect();
    assert_eq!(reads, [Root::Tool, Root::Code, Root::Effects]);
    assert!(condition.source().starts_with("tool"));
}

#[test]
fn long_and_deep_expressions() {
    let facts = facts(&copied());
    let long = vec![r#"tool == "python_repl""#; 500].join(" && ");
    assert_eq!(answer(&long, &facts), "true");
    let nested = |count: usize| format!("{}true{}", "(".repeat(count), ")".repeat(count));
    assert_eq!(answer(&nested(40), &facts), "true");
    let nots = format!("{}true{}", "!(".repeat(40), ")".repeat(40));
    assert_eq!(answer(&nots, &facts), "true");
    let sum = format!("{} > 0", vec!["1"; 90].join(" + "));
    assert_eq!(answer(&sum, &facts), "true");
    for refused in [
        nested(1000),
        format!("{}1{}", "[".repeat(1000), "]".repeat(1000)),
        "[".repeat(8000),
        "!(".repeat(2000),
        vec!["1"; 5000].join("+"),
        vec!["a"; 5000].join("."),
        vec!["a"; 5000].join(" ? b : "),
        format!("a{}", "()".repeat(5000)),
        "x".repeat(20_000),
    ] {
        let begun = Instant::now();
        assert!(compile(&refused, Moment::After).is_err());
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
    // Inputs on which an earlier parser took exponential memory.
    for hostile in [
        "-".repeat(200),
        "!".repeat(200) + "(",
        "((((((((((((((((((((!".into(),
        "[[[[[[[[[[[[[[[[-".into(),
    ] {
        let begun = Instant::now();
        drop(compile(&hostile, Moment::After));
        assert!(begun.elapsed() < Duration::from_secs(2), "{hostile}: {:?}", begun.elapsed());
    }
}
