//! Guardrails in the store: broken ones neither stop a session nor are lost; dismissed ones retire.

use air_core::{
    guardrail::{Guardrail, Mode, Provenance},
    id::Timestamp,
    incident::{Classification, State},
    port::GuardrailStore as _,
    step::Arguments,
};
use air_runtime::{Decision, GateReply, Session};
use air_testkit::{run::Stage, scripted::ScriptedWorkspace};
use futures::executor::block_on;

use crate::{RULES, step};

const GOOD: &str = "rule @g\ntrigger bash\ndecide args.command.startsWith(\"rm\")\n\
    check\n  it removes.\nblock\nend\n";
const BROKEN: &str = "rule @g\ntrigger bash\ndecide 1 +\ncheck\n  it removes.\nblock\nend\n";

pub(crate) fn version(version: u32, text: &str, mode: Mode) -> Guardrail {
    Guardrail {
        id: "g-1".into(),
        version,
        text: text.to_owned(),
        mode,
        rule: None,
        wider: None,
        tried: None,
        examples: Vec::new(),
        provenance: Provenance::Authored { by: "a person".into() },
        created_at: Timestamp(1),
    }
}

/// What a session says of these versions, and what becomes of calls: `rm`, `ls`, and another tool.
fn told(versions: &[Guardrail]) -> String {
    let stage = Stage::new("", ScriptedWorkspace::default()).expect("no rules");
    for version in versions {
        block_on(stage.store.put(version)).expect("kept");
    }
    let opening = stage.opening("s1".into(), "task");
    let mut session = block_on(Session::open(stage.ports.clone(), opening)).expect("it opens");
    let mut lines: Vec<String> = session.faults().iter().map(ToString::to_string).collect();
    for (tool, command) in [("bash", "rm x"), ("bash", "ls"), ("other", "rm x")] {
        let arguments = Arguments::from_iter([("command".to_owned(), command.into())]);
        let reply = session.before_step("c".into(), String::new(), tool.into(), arguments);
        lines.push(match block_on(reply).expect("journaled") {
            GateReply::Refused { message, .. } => format!("{tool} {command}: {message}"),
            GateReply::Incident(_) => panic!("there is no judge to wait for"),
            GateReply::Run { ticket, .. } => {
                block_on(session.after_step(*ticket, None)).expect("journaled");
                format!("{tool} {command}: runs")
            }
        });
    }
    lines.join("\n")
}

#[test]
fn the_last_good_version_stays_in_force() {
    let enforced = |number, text| version(number, text, Mode::Enforce);
    insta::assert_snapshot!(told(&[enforced(1, GOOD), enforced(2, BROKEN)]), @r"
    guardrail `g-1` version 2 cannot be used: the expression ends too early; version 1 stays in force
    bash rm x: guardrail @g: it removes.
    bash ls: runs
    other rm x: runs
    ");
    // One that was taken out of use is not the one to go back to.
    let retired = version(2, &GOOD.replace("rm", "ls"), Mode::Retired);
    insta::assert_snapshot!(told(&[enforced(1, GOOD), retired, enforced(3, BROKEN)]), @r"
    guardrail `g-1` version 3 cannot be used: the expression ends too early; version 1 stays in force
    bash rm x: guardrail @g: it removes.
    bash ls: runs
    other rm x: runs
    ");
    // Retired, it needs no text.
    insta::assert_snapshot!(told(&[enforced(1, GOOD), version(2, BROKEN, Mode::Retired)]), @r"
    bash rm x: runs
    bash ls: runs
    other rm x: runs
    ");
}

#[test]
fn without_a_good_version_it_counts_as_undetermined_for_its_trigger() {
    insta::assert_snapshot!(told(&[version(1, BROKEN, Mode::Enforce)]), @r"
    guardrail `g-1` version 1 cannot be used: the expression ends too early; it counts as undetermined for the calls that it is about
    bash rm x: guardrail @g-1 could not be decided: the guardrail cannot be read: the expression ends too early
    bash ls: guardrail @g-1 could not be decided: the guardrail cannot be read: the expression ends too early
    other rm x: runs
    ");
    insta::assert_snapshot!(told(&[version(1, "?", Mode::Enforce)]), @r"
    guardrail `g-1` version 1 cannot be used: `?` is outside of any rule; it counts as undetermined for the calls that it is about
    bash rm x: guardrail @g-1 could not be decided: the guardrail cannot be read: `?` is outside of any rule
    bash ls: guardrail @g-1 could not be decided: the guardrail cannot be read: `?` is outside of any rule
    other rm x: guardrail @g-1 could not be decided: the guardrail cannot be read: `?` is outside of any rule
    ");
    let rule = GOOD.replace("block", "remediate\n  it.");
    insta::assert_snapshot!(told(&[version(1, &rule, Mode::Enforce)]), @r"
    guardrail `g-1` version 1 cannot be used: it is an AIR rule, no guardrail; it counts as undetermined for the calls that it is about
    bash rm x: guardrail @g-1 could not be decided: the guardrail cannot be read: it is an AIR rule, no guardrail
    bash ls: guardrail @g-1 could not be decided: the guardrail cannot be read: it is an AIR rule, no guardrail
    other rm x: runs
    ");
}

#[test]
fn a_name_that_is_taken_keeps_no_guardrail_out_of_force() {
    let other =
        Guardrail { id: "g-2".into(), ..version(1, &GOOD.replace("rm", "ls"), Mode::Enforce) };
    insta::assert_snapshot!(told(&[version(1, GOOD, Mode::Enforce), other]), @r"
    bash rm x: guardrail @g: it removes.
    bash ls: guardrail @g.2: it removes.
    other rm x: runs
    ");
}

#[test]
fn what_was_learned_from_an_incident_that_was_none_is_retired() {
    for (dismissal, mode) in [
        (Classification::FalsePositive, Mode::Retired),
        (Classification::BenignPositive, Mode::Enforce),
    ] {
        let mut workspace = ScriptedWorkspace::default();
        workspace.stubborn = true;
        let stage = Stage::new(RULES, workspace).expect("rules");
        let incident = step(&stage).expect("no failure").expect("an incident");
        assert!(matches!(incident.state(), State::Escalated(_)));
        let opening = stage.opening("s1".into(), "");
        let mut session = block_on(Session::reopen(stage.ports.clone(), opening)).expect("opens");
        block_on(session.decide(incident.id(), Decision::Dismiss(dismissal))).expect("dismissed");
        let current = block_on(stage.store.current()).expect("readable");
        assert_eq!(current.iter().map(|held| held.mode).collect::<Vec<_>>(), [mode]);
        let why = Provenance::Dismissed { incident: incident.id().clone() };
        assert_eq!(current[0].provenance == why, mode == Mode::Retired);
    }
}

#[test]
fn what_was_widened_for_an_incident_that_was_none_is_as_it_was_before() {
    let mut workspace = ScriptedWorkspace::default();
    workspace.stubborn = true;
    let stage = Stage::new(RULES, workspace).expect("rules");
    let incident = step(&stage).expect("no failure").expect("an incident");
    let learned = block_on(stage.store.current()).expect("readable").remove(0);
    let widened = Guardrail {
        version: 2,
        text: learned.text.replace("decide ", "decide true || "),
        provenance: Provenance::Refined { replaces: 1, incident: Some(incident.id().clone()) },
        ..learned.clone()
    };
    block_on(stage.store.put(&widened)).expect("kept");
    let opening = stage.opening("s1".into(), "");
    let mut session = block_on(Session::reopen(stage.ports.clone(), opening)).expect("opens");
    let dismissal = Decision::Dismiss(Classification::FalsePositive);
    block_on(session.decide(incident.id(), dismissal)).expect("dismissed");
    let current = block_on(stage.store.current()).expect("readable").remove(0);
    assert_eq!((current.version, current.mode, current.text), (3, Mode::Enforce, learned.text));
}
