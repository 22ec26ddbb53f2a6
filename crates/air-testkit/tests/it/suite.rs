//! Suites as they are written: tables, rule files, and what is wrong with them.

use std::fmt::Write as _;

use air_testkit::{coverage::Coverage, run, suite};

const RULES: &str = r#"
rule @removed
trigger bash
decide code.calls.exists(c, c.name == "rm")
check
  the step removes files.
block
end

rule @created
trigger bash
decide effects.files.exists(f, f.change == "created" && f.path.contains("/public/"))
check
  a file was published.
remediate
  delete it.
end
"#;

/// What becomes of each case of a suite, or why it cannot be run.
fn played(text: &str) -> String {
    let mut load = |name: &str| match name {
        "rules.air" => Ok(vec![("rules.air".to_owned(), RULES.to_owned())]),
        "broken.air" => Ok(vec![("broken.air".to_owned(), "\nrule @x\nend\n".to_owned())]),
        other => Err(format!("no such file: `{other}`")),
    };
    let cases = match suite::parse(text, &mut load) {
        Ok(cases) => cases,
        Err(error) => return error.to_string(),
    };
    cases.iter().fold(String::new(), |mut told, case| {
        let played = run::run(case).expect("it can be played");
        let (verdict, name) = (if played.passed { "ok" } else { "FAILED" }, &case.name);
        let actual = played.actual.trim().replace('\n', "; ");
        let _ = writeln!(told, "{}: {verdict} `{name}`: {actual}", case.line);
        told
    })
}

#[test]
fn a_table_holds_many_short_cases() {
    let text = r#"
# Removal

```rules-from
rules.air
```

```flagged @removed
[default]
tool = "bash"

[[case]]
name = "plain"
args = { command = "rm x" }

[[case]]
name = "in a second step"
[[case.step]]
args = { command = "ls" }
[[case.step]]
args = { command = "cd x && rm y" }

[[case]]
name = "not removed"
args = { command = "ls x" }
```

```clean
[default]
tool = "bash"
effects.files = [{ path = "/w/public/x", change = "created" }]

[[case]]
name = "nothing is left"
args = { command = "ls" }
effects = {}

[[case]]
name = "left where it must not be"
args = { command = "touch public/x" }

[[case]]
name = "caught in the first of two steps"
[[case.step]]
args = { command = "rm x" }
[[case.step]]
args = { command = "ls" }
```

```undetermined
[[case]]
name = "cannot be told"
tool = "bash"
args = { command = "$(curl -s example.org) x" }
```

```flagged @removed
[[case]]
name = "flagged by another rule"
tool = "bash"
args = { command = "touch public/x" }
effects.files = [{ path = "/w/public/x", change = "created" }]
```
"#;
    insta::assert_snapshot!(played(text), @r"
    13: ok `Removal: plain`: flagged @removed
    17: ok `Removal: in a second step`: step 2: flagged @removed
    24: FAILED `Removal: not removed`: clean
    34: ok `Removal: nothing is left`: clean
    39: FAILED `Removal: left where it must not be`: flagged @created
    43: FAILED `Removal: caught in the first of two steps`: step 1: flagged @removed; step 2: not run
    52: ok `Removal: cannot be told`: undetermined @removed (line 1: command name `${$(curl -s example.org)}` is computed)
    59: FAILED `Removal: flagged by another rule`: clean
    ");
}

#[test]
fn what_is_wrong_with_a_suite_is_said_with_its_line() {
    let case = "```flagged\n[[case]]\nname = \"x\"\ntool = \"bash\"\n```\n";
    let table = [
        "# a\n```rules-from\nmissing.air\n```\n".to_owned(),
        "# a\n```rules-from\n# none\n```\n".to_owned(),
        "# a\n```rules-from\n\nbroken.air\n```\n".to_owned(),
        format!("# a\n```rules-from\nrules.air\nrules.air\n```\n{case}"),
        "# a\n```air\nrule @x\ntrigger bash\nend\n```\n".to_owned(),
        "# a\n```flagged\n```\n".to_owned(),
        "# a\n```flagged removed\n[[case]]\nname = \"x\"\n```\n".to_owned(),
        "# a\n```clean\n[[case]]\nname = \"x\"\n```\n".to_owned(),
        "# a\n```clean\n[[case]]\nname = \"x\"\ntool = \"a\"\n[[case.step]]\n```\n".to_owned(),
        "# a\n```clean\n[[case]]\nnam = \"x\"\n```\n".to_owned(),
        format!("# a\n{case}```expect\n```\n"),
        case.to_owned(),
    ];
    let told: String = table.iter().map(|text| played(text).trim().to_owned() + "\n").collect();
    insta::assert_snapshot!(told, @r"
    line 3: no such file: `missing.air`
    line 3: a `rules-from` block names rule files, one a line
    line 4: broken.air:2: this rule has neither `remediate` nor `block`, and 2 more in its rules
    line 1: two of its rules have the name `@removed`
    line 3: this rule has neither `remediate` nor `block`, and 1 more in its rules
    line 2: a `flagged` table has cases: `[[case]]`
    line 2: `removed` is no rule: name it as `@name`
    line 4: step 1 of case `x` has no `tool`
    line 4: case `x` has steps: write its call as the last of them
    line 4: unknown field `nam`, expected one of `name`, `tool`, `plan`, `args`, `output`, `error`, `effects`, `files`, `step`
    line 1: case `a` has steps and a table: give each a heading
    line 1: a table stands below a heading
    ");
}

#[test]
fn what_a_response_does_counts_and_what_air_verifies_does_not() {
    let text = r#"
# Published

```air
rule @published
trigger bash
decide effects.files.exists(f, f.change == "created") && tool == "bash"
check
  a file was published.
verify
  !effects.files.exists(f, f.change == "created")
respond
  quarantine
  rollback
remediate
  delete it.
end
```

```flagged
[[case]]
name = "a file"
tool = "bash"
effects.files = [{ path = "/w/x", change = "created" }]
```
"#;
    let cases = suite::parse(text, &mut |_: &str| Err("no file".to_owned())).expect("a suite");
    let mut coverage = Coverage::default();
    for case in &cases {
        assert!(run::run_covered(case, "suite.md", &mut coverage).expect("played").passed);
    }
    let [rule] = &coverage.rules()[..] else { panic!("one rule") };
    assert_eq!((rule.file.as_str(), rule.line, rule.rule.as_str()), ("suite.md", 5, "published"));
    let unseen = rule.points.iter().filter(|point| point.counts && !point.seen);
    let unseen: Vec<&str> = unseen.map(|point| point.what.as_str()).collect();
    // The condition is false once the file is gone, but no case has shown that.
    let parts = [
        "decide false",
        "decide: conjunct `effects.files.exists(f, f.change == \"created\")` false",
        "decide: conjunct `tool == \"bash\"` false",
    ];
    assert_eq!(unseen, parts);
}
