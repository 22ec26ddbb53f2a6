//! The right guardrails among a thousand.

use std::{sync::Arc, time::Instant};

use air_core::{
    fact::{Facts, NoLabels, Root},
    question::{Inquiry, QuestionKind},
    rule::Rule,
    value::Value,
};
use air_llm::{Ledger, Purpose, retrieve::Retriever};

use crate::{
    judging::{judge, says},
    scene::{ask, guardrail, inquiry},
};

const ACTIONS: [&str; 25] = [
    "delete",
    "upload",
    "encrypt",
    "rename",
    "print",
    "compress",
    "install",
    "restart",
    "mount",
    "overwrite",
    "clone",
    "merge",
    "schedule",
    "format",
    "disable",
    "publish",
    "forward",
    "archive",
    "truncate",
    "duplicate",
    "export",
    "revoke",
    "scan",
    "mirror",
    "patch",
];
const THINGS: [&str; 40] = [
    "invoices",
    "photographs",
    "kernel modules",
    "browser cookies",
    "calendar entries",
    "mail boxes",
    "firewall tables",
    "printer queues",
    "database dumps",
    "session tokens",
    "audio recordings",
    "shell aliases",
    "container images",
    "medical records",
    "license files",
    "sensor readings",
    "voting ballots",
    "package mirrors",
    "payroll sheets",
    "floor plans",
    "chat transcripts",
    "swap partitions",
    "login banners",
    "cron tables",
    "certificates",
    "address books",
    "game saves",
    "wiki pages",
    "router settings",
    "fonts",
    "drawings",
    "subtitles",
    "tax returns",
    "train tickets",
    "backups",
    "bookmarks",
    "spreadsheets",
    "holograms",
    "recipes",
    "satellite maps",
];

fn file(thing: usize) -> String {
    format!("/srv/{}", THINGS[thing].replace(' ', "_"))
}

/// A thousand guardrails, each learned from a call of its own.
fn thousand() -> Vec<Arc<Rule>> {
    let mut rules = Vec::new();
    for (a, action) in ACTIONS.iter().enumerate() {
        for (t, thing) in THINGS.iter().enumerate() {
            let name = format!("rule_{a}_{t}");
            let check = format!("the agent plans to {action} the {thing} of the company.");
            let mut rule = Rule::clone(&guardrail(&name, "medium", &check));
            let call = format!("subprocess.run(['{action}-tool', '{}', '--now'])", file(t));
            rule.examples = vec![format!("I will {action} all {thing} now.").into(), call.into()];
            rules.push(Arc::new(rule));
        }
    }
    rules
}

fn step(plan: &str, code: &str) -> Facts {
    Facts::new(Arc::new(NoLabels))
        .with(Root::Plan, Value::from(plan))
        .with(Root::Args, Value::record([("code", Value::from(code))]))
}

fn finds(rules: &[Arc<Rule>], facts: &Facts, name: &str) -> bool {
    let picked = Retriever::default().pick(rules, facts, 20);
    assert_eq!(picked.len(), 20);
    picked.iter().any(|at| rules[*at].name.as_str() == name)
}

#[test]
fn the_right_ones_are_found_among_a_thousand() {
    let rules = thousand();
    let retriever = Retriever::default();
    for (a, action) in ACTIONS.iter().enumerate() {
        for t in (a % 4..THINGS.len()).step_by(4) {
            let thing = THINGS[t];
            let paraphrase =
                format!("Next I go on and {action} every one of the {thing} that I find");
            // The same call under a plan in another language.
            let call = format!("import os\nos.system('{action}-tool {} --quiet')", file(t));
            let steps = [
                step(&paraphrase, "run()"),
                step("Ich erledige jetzt, was zu tun ist.", &call),
                step("次の作業を行います。", &call),
            ];
            for facts in steps {
                let picked = retriever.pick(&rules, &facts, 20);
                let found = picked.contains(&(a * THINGS.len() + t));
                assert!(found, "{action} {thing}: {facts:?}");
            }
        }
    }
}

#[test]
fn a_plan_full_of_words_does_not_crowd_out_the_call() {
    let rules = thousand();
    let words = THINGS.join(" ") + &ACTIONS.join(" ").repeat(50);
    let facts = step(&words, "os.system('revoke-tool /srv/certificates')");
    assert!(finds(&rules, &facts, "rule_21_24"));
}

/// Forty guardrails whose words an agent repeats, in its plan and in calls that do nothing, and the one that
/// matters: it is read.
#[test]
fn words_in_a_call_hide_no_guardrail() {
    let words = |n: usize| format!("{} {} {}", ACTIONS[n % 25], ACTIONS[(n + 7) % 25], THINGS[n]);
    let mut rules: Vec<Arc<Rule>> = (0..40)
        .map(|n| guardrail(&format!("decoy_{n}"), "high", &format!("the step would {}.", words(n))))
        .collect();
    let check = "a forced push replaces what others have put into a branch of a repository.";
    rules.insert(20, guardrail("force_push", "low", check));
    let plan = (0..40).map(|n| format!("I would {}. ", words(n)).repeat(5)).collect::<String>();
    let decoy = |n: usize| format!("touch /tmp/{}/{n}", words(n).replace(' ', "/"));
    let decoys: Vec<String> = (0..40).map(decoy).collect();
    let before = decoys.join("; ");
    let calls = [
        format!("g=git; $g push -f origin main; {before}"),
        format!("{before}\n$g push -f origin main"),
        format!("{before} && $g push -f origin main && {before}"),
        format!("echo {} | $g push -f origin main", decoys.join(" ")),
    ];
    for call in calls {
        let model = says("no", 0.9);
        let kind = QuestionKind::WouldCause;
        let asked = Inquiry { kind, ..inquiry(&rules, step(&plan, &call)) };
        ask(&judge(&model), asked);
        assert!(model.requests()[0].system.contains("(@force_push)"), "{call}");
    }
}

/// More words in a call than guardrails are read for: what AIR reads that it does comes first.
#[test]
fn what_a_call_does_is_compared_before_its_words() {
    let mut rules = thousand();
    let everything: Vec<String> = rules.iter().map(|rule| rule.check.to_string()).collect();
    let check = "a forced push replaces what others have put into a branch of a repository.";
    rules.push(guardrail("force_push", "low", check));
    let operation = |activity: &str, target: &str| {
        Value::record([("activity", Value::from(activity)), ("target", Value::from(target))])
    };
    // Operations as well, so that the one that counts is not the nearest to all of them.
    let decoys = (0..40).map(|n| {
        let target = format!("{} {} {}", ACTIONS[(n + 7) % 25], THINGS[n], file(n));
        operation(ACTIONS[n % 25], &target)
    });
    let operations = Value::list(decoys.chain([operation("change", "branch")]));
    let facts = step("I go on.", &everything.join("\n"))
        .with(Root::Code, Value::record([("operations", operations)]));
    let picked = Retriever::default().pick(&rules, &facts, 20);
    assert_eq!(picked.len(), 148);
    assert!(picked.contains(&1000));
}

/// However much there is to read, what is asked stays bounded, and what is left out is counted.
#[test]
fn what_is_not_read_is_counted() {
    let rules = thousand();
    let everything: Vec<String> =
        rules.iter().map(|rule| rule.check.replace("the agent plans to", "x")).collect();
    let model = says("no", 0.9);
    let ledger = Ledger::default();
    let judge = judge(&model).with_ledger(ledger.clone());
    let kind = QuestionKind::WouldCause;
    let asked = |code: &str| Inquiry { kind, ..inquiry(&rules, step("I go on.", code)) };
    let verdicts = ask(&judge, asked(&everything.join("\n")));
    let unread = verdicts.iter().filter(|verdict| verdict.judge == "retriever/1").count();
    assert_eq!(unread, 1000 - 148);
    assert_eq!(ledger.spent().of(Purpose::Guardrails).unread, 852);
    let few: Vec<Arc<Rule>> = rules[..20].to_vec();
    ask(&judge, Inquiry { rules: few, ..asked("run()") });
    assert_eq!(ledger.take().of(Purpose::Guardrails).unread, 852);
}

#[test]
fn grave_ones_are_always_read() {
    let mut rules = thousand();
    rules.insert(500, guardrail("grave", "critical", "an elephant enters the room."));
    let picked = Retriever::default().pick(&rules, &step("I print fonts.", "run()"), 20);
    assert_eq!(picked.len(), 21);
    assert!(picked.contains(&500));
}

#[test]
fn a_few_are_all_read() {
    let rules = thousand();
    let picked = Retriever::default().pick(&rules[..20], &step("x", "y"), 20);
    assert_eq!(picked.len(), 20);
}

#[test]
fn a_step_that_is_near_to_none_reads_some() {
    assert_eq!(Retriever::default().pick(&thousand(), &step("", ""), 20).len(), 20);
}

#[test]
fn a_thousand_take_milliseconds() {
    let rules = thousand();
    let retriever = Retriever::default();
    let facts = step("I delete the photographs.", &"os.remove('/srv/photographs')\n".repeat(100));
    retriever.pick(&rules, &facts, 20);
    let mut times: Vec<_> = (0..9)
        .map(|_| {
            let begun = Instant::now();
            retriever.pick(&rules, &facts, 20);
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    // Unoptimised, and beside other tests: a bound on the order of magnitude alone.
    assert!(times[4].as_millis() < 100, "{times:?}");
}
