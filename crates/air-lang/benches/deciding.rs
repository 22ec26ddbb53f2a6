//! What it costs to decide a step, and to load rules.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a benchmark ends at the first error")]

use std::{fmt::Write, hint::black_box, sync::Arc, time::Duration};

use air_core::{
    engine::Engine,
    evaluation::{Advance, Decided, Gate},
    fact::{Facts, NoLabels, Root},
    policy::FailPolicy,
    port::Alone,
    ruleset::RuleSet,
    value::Value,
};
use air_facts::CodeParser;
use air_lang::parse;
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;

/// A rule file with one guardrail for each of `conditions`.
fn guardrails(tool: &str, conditions: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for (number, condition) in conditions.enumerate() {
        write!(
            text,
            "rule @g{number}\ntrigger {tool}\ndecide {condition}\ncheck\n  it does harm.\nblock\nend\n\n"
        )
        .unwrap();
    }
    text
}

fn engine(text: &str) -> Engine {
    let parsed = parse(text);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics().first());
    Engine::new(RuleSet::enforced(parsed.into_rules()).unwrap(), FailPolicy::default())
}

/// Decides a call before it runs. Facts are supplied when they are needed, as a session does it.
fn decide(
    engine: &Engine,
    code: &CodeParser,
    tool: &str,
    args: &serde_json::Value,
) -> Decided<Gate> {
    let mut facts = Facts::new(Arc::new(NoLabels));
    let mut evaluation = engine.before_step(tool);
    loop {
        let need = match evaluation.advance(&facts) {
            Advance::Decided(decided) => return decided,
            Advance::Need(need) => need,
            Advance::Ask(_) => panic!("there is no judge"),
        };
        for root in need.iter() {
            facts.set(
                root,
                match root {
                    Root::Tool => Value::from(tool),
                    Root::Args => Value::from(args),
                    Root::Code => {
                        code.read(tool, args.as_object().unwrap(), &Alone).to_value(&NoLabels)
                    }
                    root => Value::unknown(format!("`{root}` is not measured here")),
                },
            );
        }
    }
}

fn python(lines: usize) -> serde_json::Value {
    let lines = (0..lines).map(|line| match line % 5 {
        0 => format!("value{line} = open('data/input{line}.csv').read()\n"),
        1 => format!("rows = [row.split(',') for row in value{}.splitlines()]\n", line - 1),
        2 => format!("total{line} = sum(float(row[2]) for row in rows if len(row) > 2)\n"),
        3 => format!("print('total {line}', total{})\n", line - 1),
        _ => format!("json.dump({{'total': {line}}}, open('out/result{line}.json', 'w'))\n"),
    });
    json!({"code": lines.collect::<String>()})
}

/// Ten guardrails that no text of the call excludes, about its code.
fn ten() -> Engine {
    engine(&guardrails(
        "python_repl",
        (0..10).map(|number| {
            format!(
                "code.calls.exists(c, (c.name == \"open\" || c.name == \"shutil.rmtree\") && \
                 c.args.exists(a, under(a, \"/etc/{number}\") || a.endsWith(\".key{number}\")))"
            )
        }),
    ))
}

fn no_match(c: &mut Criterion) {
    for count in [1, 1000, 100_000] {
        let conditions = (0..count).map(|number| format!("args.path == \"/{number}\""));
        let text = guardrails("write_file, mcp.files.*", conditions);
        let engine = engine_in_parts(&text);
        let facts = Facts::new(Arc::new(NoLabels));
        c.bench_function(&format!("before_step, no trigger matches, {count} guardrails"), |b| {
            b.iter(|| {
                let mut evaluation = engine.before_step(black_box("python_repl"));
                matches!(evaluation.advance(&facts), Advance::Decided(_))
            });
        });
    }
}

/// A set larger than one file may be.
fn engine_in_parts(text: &str) -> Engine {
    let rules = text.split_inclusive("\nend\n\n").collect::<Vec<_>>();
    let parts = rules.chunks(5000).map(<[&str]>::concat);
    let rules = parts.flat_map(|part| {
        let parsed = parse(&part);
        assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics().first());
        parsed.into_rules()
    });
    Engine::new(RuleSet::enforced(rules).unwrap(), FailPolicy::default())
}

fn ten_matching(c: &mut Criterion) {
    let (engine, code) = (ten(), CodeParser::new());
    let args = python(10);
    let value = code.read("python_repl", args.as_object().unwrap(), &Alone).to_value(&NoLabels);
    let facts = Facts::new(Arc::new(NoLabels)).with(Root::Code, value);
    c.bench_function("10 guardrails with conditions, facts at hand", |b| {
        b.iter(|| match engine.before_step(black_box("python_repl")).advance(&facts) {
            Advance::Decided(decided) => decided.decision,
            other => panic!("{other:?}"),
        });
    });
    for lines in [10, 110] {
        let args = python(lines);
        c.bench_function(&format!("10 guardrails, {lines} lines of Python to read"), |b| {
            b.iter(|| decide(&engine, &code, "python_repl", black_box(&args)).decision);
        });
    }
}

fn many_on_one_tool(c: &mut Criterion) {
    let code = CodeParser::new();
    for count in [10, 1000, 100_000] {
        let conditions = (0..count).map(|number| match number % 2 {
            0 => format!("args.path == \"/home/user/file{number}\""),
            _ => format!("has(args.content) && args.content.contains(\"secret{number}.\")"),
        });
        let engine = engine_in_parts(&guardrails("write_file", conditions));
        let args =
            json!({"path": "/home/user/notes", "content": "what was said today ".repeat(10)});
        c.bench_function(&format!("{count} guardrails on one tool, none concerned"), |b| {
            b.iter(|| decide(&engine, &code, "write_file", black_box(&args)).decision);
        });
        let args = json!({"path": "/home/user/file4", "content": "it is secret3."});
        c.bench_function(&format!("{count} guardrails on one tool, 2 concerned"), |b| {
            b.iter(|| decide(&engine, &code, "write_file", black_box(&args)).decision);
        });
    }
}

fn overlapping(c: &mut Criterion) {
    let conditions = (0..10_000)
        .map(|number| format!("args.path == \"/x\" && size(args.content) > {}", number + 1000));
    let engine = engine_in_parts(&guardrails("write_file", conditions));
    let args = json!({"path": "/x", "content": "short"});
    c.bench_function("10000 guardrails that need the same text", |b| {
        b.iter(|| decide(&engine, &CodeParser::new(), "write_file", black_box(&args)).decision);
    });
}

fn loading(c: &mut Criterion) {
    let text = guardrails(
        "python_repl, shell.exec",
        (0..10_000).map(|number| {
            format!(
                "code.calls.exists(c, c.name == \"shutil.copy\" && \
                 c.args.exists(a, under(a, \"/srv/{number}\")))"
            )
        }),
    );
    c.bench_function("parse and compile 10000 rules", |b| b.iter(|| parse(&text).rules().len()));
    let rules = parse(&text).into_rules();
    c.bench_function("index 10000 rules", |b| {
        b.iter_with_large_drop(|| RuleSet::enforced(rules.iter().cloned()).unwrap());
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(3));
    targets = no_match, ten_matching, many_on_one_tool, overlapping, loading
}
criterion_main!(benches);
