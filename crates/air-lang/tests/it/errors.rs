use air_lang::{Code, Severity, parse, render};

use crate::PAPER;

/// What a person reads about `source`, apart from notes.
fn shown(source: &str) -> String {
    let parsed = parse(source);
    let found = parsed.diagnostics().iter().filter(|found| found.severity != Severity::Note);
    render(&found.cloned().collect::<Vec<_>>(), "my.rules", source, false)
}

/// `line:column code: message` of everything but notes.
fn listed(source: &str) -> String {
    let parsed = parse(source);
    let found = parsed.diagnostics().iter().filter(|found| found.severity != Severity::Note);
    let lines = found.map(|f| {
        let hint = f.hint.as_deref().unwrap_or("");
        format!("{}:{} {} {}\n     {hint}\n", f.start.line, f.start.column, f.code, f.message)
    });
    lines.collect()
}

#[test]
fn misspelled_clause_is_shown_with_its_line() {
    let source = "rule @a\ntrigger b\nchek\n  x\nblock\nend\n";
    insta::assert_snapshot!(shown(source), @r#"
    error[unknown-clause]: unknown clause `chek`
     --> my.rules:3:1
      |
    3 | chek
      | ^^^^
      |
      = help: did you mean `check`?
    "#);
}

#[test]
fn text_at_the_margin_is_shown_indented() {
    let source = "rule @a\ntrigger b\ncheck\na file was copied\nand printed\nremediate\n  x\nend\n";
    insta::assert_snapshot!(shown(source), @r#"
    error[text-not-indented]: `a file was copied` is not indented
     --> my.rules:4:1
      |
    4 | a file was copied
      | ^^^^^^^^^^^^^^^^^
      |
      = help: text is deeper than its clause: `  a file was copied`
    "#);
}

#[test]
fn text_on_the_line_of_its_clause_is_read() {
    let source = "rule @a\ntrigger b\ncheck a file was copied\n  twice\nremediate delete it\nend\n";
    insta::assert_snapshot!(shown(source), @r#"
    warning[text-on-clause-line]: what belongs below `check` is on its line
     --> my.rules:3:1
      |
    3 | check a file was copied
      | ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: `fmt` puts `a file was copied` below it, indented

    warning[text-on-clause-line]: what belongs below `remediate` is on its line
     --> my.rules:5:1
      |
    5 | remediate delete it
      | ^^^^^^^^^^^^^^^^^^^
      |
      = help: `fmt` puts `delete it` below it, indented
    "#);
    assert_eq!(&*parse(source).rules()[0].check, "a file was copied\ntwice");
}

#[test]
fn note_says_what_a_model_is_needed_for() {
    let parsed = parse(&PAPER[..PAPER.find("\n\n").unwrap()]);
    insta::assert_snapshot!(render(parsed.diagnostics(), "my.rules", &parsed.text(), false), @r#"
    note[no-condition]: no condition: without a model its check is undetermined
     --> my.rules:1:6
      |
    1 | rule @copy_sensitive_file
      |      ^^^^^^^^^^^^^^^^^^^^
      |
      = help: `decide`, `evidence` or `when` followed by an expression answers without a model
    "#);
}

#[test]
fn missing_and_conflicting_clauses_are_named() {
    insta::assert_snapshot!(listed("\
rule @empty
end
rule
trigger
check
block
end
rule @both
trigger a
trigger b
check
  x
remediate
  y
block
end
rule @two
trigger a
check
  x
ask
warn
end
rule @decided
trigger a
decide true
when true
evidence true
check
  x
respond
  kill
verify true
block
end
rule @incident
trigger a
check
  x
remediate
  y
instead
  z
from incident i-1
end
rule @open
trigger a
check
  x
block
"), @r#"
    1:1 missing-clause this rule has neither `remediate` nor `block`
         an AIR rule has `remediate`, a guardrail one of `block`, `ask` and `warn`
    1:1 missing-clause this rule has no `trigger`
         `trigger TOOL` says which tool it is about, `trigger *` every tool
    1:1 missing-clause this rule has no `check`
         `check` and deeper lines of text say what to look for
    3:1 empty-clause `rule` is empty
         a name follows on its line: `rule @copied_secret`
    4:1 empty-clause `trigger` is empty
         tools follow on its line: `trigger shell.exec, fs.*`
    5:1 empty-clause `check` is empty
         text follows on deeper lines
    10:1 duplicate-clause this rule has `trigger` already
         name several tools with commas between: `trigger a, b`
    15:1 conflicting-clauses `remediate` and `block` exclude each other
         a rule has either `remediate` or one of `block`, `ask` and `warn`
    22:1 conflicting-clauses `ask` and `warn` exclude each other
         a rule has either `remediate` or one of `block`, `ask` and `warn`
    27:1 conflicting-clauses `decide` excludes `when`
         `decide` is final both ways, so nothing is left for the other
    28:1 conflicting-clauses `decide` excludes `evidence`
         `decide` is final both ways, so nothing is left for the other
    31:1 misplaced-clause `respond` does not belong in a guardrail
         only an AIR rule has it: a rule with `remediate`
    33:1 misplaced-clause `verify` does not belong in a guardrail
         only an AIR rule has it: a rule with `remediate`
    44:1 misplaced-clause `from` does not belong in an AIR rule
         only a guardrail has it: a rule with `block`, `ask` or `warn`
    46:1 missing-end no `end` before the end of the file
         close the rule with `end` on a line of its own
    "#);
}

#[test]
fn bad_arguments_are_named() {
    insta::assert_snapshot!(listed("\
rule bad name!
trigger a b, , c
severity hihg
tags
from session 4
check
  x
blok
end
rule @a
trigger a
severity urgent
check
  x
respond
  kil
  rollback now
  call
  call fs.delete
  call fs.delete {\"a\": \"}\"
  call fs.delete {} while x
  contain kill
  dance
remediate
  y
end
rule @a
trigger a
when a ??
check
  x
block it
end
end
trigger b
"), @r#"
    1:6 bad-name bad rule name `bad name!`
         a name is `@`, a letter or `_`, then letters, digits, `_`, `.` and `-`: `@bad_name`
    2:9 bad-argument `a b` is not one word
         put commas between: `a, b`
    2:9 bad-argument `trigger` has a comma with nothing beside it
         remove the comma
    3:10 unknown-severity unknown severity `hihg`
         did you mean `high`?
    4:1 empty-clause `tags` is empty
         its value follows on its line
    5:6 bad-argument `session 4` is not the name of an incident
         write `from incident ID`
    8:1 unknown-clause unknown clause `blok`
         did you mean `block`?
    12:10 unknown-severity unknown severity `urgent`
         severities are `low`, `medium`, `high` and `critical`
    16:3 bad-action unknown action `kil`
         did you mean `kill`?
    17:12 bad-action `rollback` takes no argument
         one action a line
    18:3 bad-action `call` names no tool
         write `call TOOL {"argument": "value or ${expression}"}`
    19:8 bad-action the arguments of `fs.delete` are missing
         write `call TOOL {"argument": "value or ${expression}"}`
    20:18 bad-action the arguments have no closing `}`
         write `call TOOL {"argument": "value or ${expression}"}`
    21:21 bad-action `while x` after the arguments
         only `for x in EXPRESSION` may follow
    22:11 bad-action `contain` is not followed by `call`
         write `contain call TOOL {…}`
    23:3 bad-action unknown action `dance`
         actions are `kill`, `isolate`, `quarantine`, `rollback`, `restart`, `repair`, `call TOOL {…}` and `contain call TOOL {…}`
    27:1 missing-clause this rule has neither `remediate` nor `block`
         an AIR rule has `remediate`, a guardrail one of `block`, `ask` and `warn`
    27:6 duplicate-name `@a` is the name of another rule
         the other one is in line 10; names are unique in a rule set
    29:6 bad-condition unexpected `a`
         
    29:9 bad-condition unexpected `?`
         a choice is written `condition ? a : b`
    32:1 text-not-indented `block it` is not indented
         as text it is deeper, `  block it`; as a clause, `block` stands alone
    34:1 unexpected-text `end` is outside of any rule
         no rule is open here; does it close one twice?
    "#);
}

#[test]
fn common_variations_of_generated_rules_are_explained() {
    insta::assert_snapshot!(listed("\
```
RULE @upper
Trigger: a
Check:
  x
  Block
block
END
rule @inner
  trigger a
  check
    x
  remediate
    end the call
end
rule @below
trigger
  a
check
  x
block
  the call
end
rule @sentences
trigger a
check
  x
remediate
block the sender
then end the call
rule out the cause
end the call
end
```
"), @r#"
    1:1 unexpected-text ````` is outside of any rule
         a rule starts with `rule @name`, a comment with `#`
    2:1 unknown-clause unknown clause `RULE`
         did you mean `rule`?
    3:1 unknown-clause unknown clause `Trigger:`
         did you mean `trigger`?
    4:1 unknown-clause unknown clause `Check:`
         did you mean `check`?
    8:1 unknown-clause unknown clause `END`
         did you mean `end`?
    10:3 indented-clause the clauses of this rule are indented
         `fmt` moves them to the indentation of `rule`
    17:1 empty-clause `trigger` is empty
         tools follow on its line: `trigger shell.exec, fs.*`
    18:3 unexpected-text `trigger` takes no lines below it
         write all of them on its line, with commas between
    22:3 unexpected-text `block` takes no lines below it
         what the agent shall do instead goes below `instead`
    29:1 text-not-indented `block the sender` is not indented
         as text it is deeper, `  block the sender`; as a clause, `block` stands alone
    34:1 unexpected-text ````` is outside of any rule
         a rule starts with `rule @name`, a comment with `#`
    "#);
}

#[test]
fn hundred_errors_are_a_hundred_findings() {
    let source: String = (0..100)
        .map(|n| format!("rule @r{n}\ntrigger a\nseverity no\ncheck\n  x\nblock\nend\n"))
        .collect();
    let errors =
        parse(&source).diagnostics().iter().filter(|f| f.code == Code::UnknownSeverity).count();
    assert_eq!(errors, 100);
}

#[test]
fn endless_errors_end() {
    let source = format!("rule @a\n{}", "?\n".repeat(200_000));
    let parsed = parse(&source);
    assert_eq!(parsed.diagnostics().len(), 10_001);
    assert!(parsed.rules().is_empty());
}

#[test]
fn report_is_json_for_machines() {
    let parsed = parse("rule @a\nseverity x\n");
    insta::assert_snapshot!(serde_json::to_string(&parsed.diagnostics()[0].report("f.rules")).unwrap(), @r#"{"file":"f.rules","line":1,"column":1,"end_line":1,"end_column":8,"code":"missing-end","severity":"error","message":"no `end` before the end of the file","hint":"close the rule with `end` on a line of its own"}"#);
}

#[test]
fn terminal_escapes_are_not_passed_on() {
    let source = "rule @\u{1b}[31mred\ntrigger a\n\u{1b}]0;x\u{7}\nend\n";
    assert!(!shown(source).contains(['\u{1b}', '\u{7}']));
}
