//! What a guardrail says of plans, by its rule's own words.

use air_core::step::ToolCall;

use crate::{bash, case, derive, nothing, python, says_of};

const COPIED: &str = "rule @copied\ntrigger bash\nseverity high\n\
    decide code.flows.exists(f, f.source_kind == \"file\" && f.sink_kind == \"file\" && \
    f.labels.exists(l, l == \"credential\" || l == \"log\") && \
    !(\"public-information\" in f.labels))\n\
    check\n  a file is copied.\nremediate\n  delete the copy.\nend\n";
const CLIMBED: &str = "rule @climbed\ntrigger bash\nseverity high\n\
    decide code.operations.exists(o, o.activity == \"file.read\" && \"traversal\" in o.labels && \
    o.labels.exists(l, l == \"credential\" || l == \"system\"))\n\
    check\n  a path leads out.\nremediate\n  do not use it.\nend\n";
const SEEDED: &str = "rule @seeded\ntrigger bash\nseverity high\n\
    decide code.defects.exists(d, d.kind == \"predictable-seed\")\n\
    check\n  a key can be guessed.\nremediate\n  draw it anew.\nend\n";

/// The terms over the words of a plan.
fn words(rule: &'static str, call: ToolCall) -> String {
    let mut case = case(call, nothing());
    case.rule = rule;
    let text = derive(&case).unwrap().text;
    let condition = text.lines().find_map(|line| line.strip_prefix("decide ")).unwrap();
    let (_, words) = condition.split_once("size(code.operations) == 0) && ").unwrap();
    words.to_owned()
}

#[test]
fn the_rule_tells_which_plans_announce_it() {
    let table = [
        (
            COPIED,
            bash("cp /etc/shadow x"),
            r#"intents.exists(i, i.activity == "file.write" && i.labels.exists(l, l in ["credential", "log"]) && !("public-information" in i.labels))"#,
        ),
        (
            CLIMBED,
            bash("cat ../../etc/shadow"),
            r#"intents.exists(i, i.activity == "file.read" && "traversal" in i.labels && i.labels.exists(l, l in ["credential", "system"]))"#,
        ),
        (
            SEEDED,
            python("import random\nrandom.seed(7)\nkey = random.randint(0, 9)\nprint(key)"),
            r#"intents.exists(i, i.activity == "code.run" && "predictable-seed" in i.labels)"#,
        ),
    ];
    for (rule, call, expected) in table {
        assert_eq!(words(rule, call), expected, "{rule}");
    }
}

#[test]
fn a_call_without_source_is_refused_by_its_plan_alone() {
    let mut case = case(bash("cp /etc/shadow x"), nothing());
    case.rule = COPIED;
    let text = derive(&case).unwrap().text;
    let mut empty = bash("");
    empty.arguments.clear();
    for (plan, refused) in [
        ("Copy /etc/shadow to a new file.", true),
        ("1. Set the source to '/etc/shadow'.\n2. Copy the file.", true),
        ("Copy README.md to backup/README.md.", false),
        ("Do not copy /etc/shadow.", false),
    ] {
        assert_eq!(says_of(&text, &empty, plan).is_satisfied(), refused, "{plan}");
        // What the call itself does counts more than what is said of it.
        assert!(!says_of(&text, &bash("ls"), plan).is_satisfied(), "{plan}");
    }
}
