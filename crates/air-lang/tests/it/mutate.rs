//! Rules that are changed in one place.

use air_core::port::RuleReader as _;
use air_lang::{LangRules, expr, mutants};

const RULE: &str = r#"rule @r
trigger bash, python_repl
decide (tool == "bash" || tool == "sh")
  && effects.files.exists(f, f.size > 1 && !f.path.contains("x"))
check
  something.
verify
  true
respond
  kill
  rollback
remediate
  undo it.
end"#;

/// Every change, as `line clause: what`, with the lines that differ.
fn told(rule: &str) -> String {
    let rule = LangRules.rule(rule).expect("a rule");
    let mutants = mutants(&rule);
    let lines = mutants.iter().map(|mutant| {
        let differing = mutant.rule.source.lines().filter(|line| !rule.source.contains(line));
        let differing: Vec<&str> = differing.map(str::trim).collect();
        let differing = differing.join(" / ");
        format!("{} {}: {}: {differing}", mutant.line, mutant.clause, mutant.what)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_place_of_a_rule_is_changed_by_itself() {
    insta::assert_snapshot!(told(RULE));
}

#[test]
fn a_guardrail_is_weakened() {
    let rule = "rule @r\ntrigger bash\ndecide has(args.n) && args.n == 1\ncheck\n  x.\nblock\nend";
    insta::assert_snapshot!(told(rule));
}

#[test]
fn every_part_of_a_tree_is_where_it_says() {
    fn check(source: &str, tree: &expr::Tree) {
        let text = &source[tree.span.clone()];
        let again = expr::tree(text).unwrap_or_else(|_| panic!("`{text}` of `{source}`"));
        assert_eq!(again.canonical(), tree.canonical(), "`{text}` of `{source}`");
        for part in tree.parts() {
            check(source, part);
        }
    }
    for source in [
        r#"(a || b) && (c || (d && e)) && !(f == "(")"#,
        r#"code.calls.exists(c, c.name in ["rm", 'x)'] && size(c.args) + 1 >= 2) ? (a) : {"k": [b][0]}"#,
        r#"((a && b) || c) && has(args.x) && -(1 + 2) * 3 < 4.5 && "ü" != args["y"]"#,
    ] {
        check(source, &expr::tree(source).expect("it parses"));
    }
}
