//! Rules over what was recorded: what they would have changed, and what cannot be told.

use air_core::{policy::FailPolicy, port::RuleReader as _, step::Arguments};
use air_runtime::{
    GateReply, ReviewReply, Session,
    replay::{Change, Found, Trial, recorded_steps, replay},
};
use air_testkit::{run::Stage, scripted::ScriptedWorkspace};
use futures::executor::block_on;

use crate::{RULES, effects};

const GUARDRAIL: &str = "rule @removal\ntrigger bash\n\
    decide code.calls.exists(c, c.name == \"rm\")\ncheck\n  it removes.\nblock\nend\n";

/// A session that runs these commands. `touch` creates a file, and so is an incident.
fn session(stage: &Stage, id: &str, commands: &[&str]) {
    let opening = stage.opening(id.into(), "task");
    let mut session = block_on(Session::open(stage.ports.clone(), opening)).expect("opens");
    for command in commands {
        let arguments = Arguments::from_iter([("command".to_owned(), (*command).into())]);
        let tool = "bash".to_owned();
        let reply = session.before_step("c".into(), String::new(), tool, arguments);
        let GateReply::Run { ticket, .. } = block_on(reply).expect("journaled") else { continue };
        if command.starts_with("touch") {
            stage.workspace.change(effects());
        }
        let seen = Some(air_core::step::Observation::default());
        let reply = block_on(session.after_step(*ticket, seen)).expect("journaled");
        if let ReviewReply::Incident(..) = reply {
            block_on(session.idle()).expect("journaled");
        }
    }
    block_on(session.end()).expect("journaled");
}

fn recorded(rules: &str) -> Stage {
    let stage = Stage::new(rules, ScriptedWorkspace::default()).expect("rules");
    session(&stage, "s1", &["ls", "rm x", "touch x"]);
    session(&stage, "s2", &["ls && rm y", "pwd"]);
    stage
}

/// What changed, as `session/step change`.
fn changes(stage: &Stage, trial: Trial) -> Vec<String> {
    let steps = block_on(replay(&stage.ports, trial, FailPolicy::default(), None));
    let changed = steps.expect("it can be replayed").into_iter();
    let changed = changed.filter(|step| step.change != Change::None);
    changed.map(|step| format!("{}/{} {}", step.session, step.index, step.change.name())).collect()
}

fn rule(text: &str) -> air_core::rule::Rule {
    air_lang::LangRules.rule(text).expect("a rule")
}

#[test]
fn a_candidate_is_tried_beside_what_there_was() {
    let stage = recorded(RULES);
    let appends = stage.store.appends();
    let found = changes(&stage, Trial::Beside(vec![rule(GUARDRAIL)]));
    assert_eq!(found, ["s1/2 newly blocked", "s2/1 newly blocked"]);
    assert_eq!(stage.store.appends(), appends, "a replay writes nothing");
}

#[test]
fn rules_are_tried_in_place_of_those_that_were() {
    let stage = recorded(RULES);
    let flags = GUARDRAIL.replace("block", "remediate\n  restore it.");
    // The incident's own guardrail is in force, and would have refused what became the incident.
    let found = changes(&stage, Trial::Instead(vec![rule(&flags)]));
    assert_eq!(found, ["s1/2 newly flagged", "s1/3 newly blocked", "s2/1 newly flagged"]);
    let strict = recorded(&format!("{RULES}\n{GUARDRAIL}"));
    let found = changes(&strict, Trial::Instead(vec![]));
    assert_eq!(
        found,
        ["s1/2 no longer blocked", "s1/2 newly blocked", "s2/1 no longer blocked"],
        "a refused call has the position of the one that ran next"
    );
}

#[test]
fn what_cannot_be_told_is_said() {
    let stage = recorded(RULES);
    // Nothing is known of the state when it happened.
    let state =
        RULES.replace("effects.files.exists(f, f.change == \"created\")", "state.ok == true");
    let steps = block_on(replay(
        &stage.ports,
        Trial::Instead(vec![rule(&state)]),
        FailPolicy::default(),
        Some(&"s2".into()),
    ));
    let steps = steps.expect("it can be replayed");
    assert_eq!(steps.len(), 2);
    assert!(steps.iter().all(|step| step.change == Change::None));
    assert!(steps.iter().all(|step| step.undetermined.len() == 1));
}

#[test]
fn the_last_recorded_steps_are_evidence() {
    let stage = recorded(RULES);
    let all = block_on(recorded_steps(&*stage.store, 100)).expect("readable");
    let told: Vec<_> =
        all.iter().map(|step| (step.session.as_str(), step.index, step.is_benign())).collect();
    assert_eq!(
        told,
        [("s1", 1, true), ("s1", 2, true), ("s1", 3, false), ("s2", 1, true), ("s2", 2, true)]
    );
    assert!(matches!(&all[2].found, Found::Incident { .. }));
    assert_eq!(all[2].effects, effects());
    let last = block_on(recorded_steps(&*stage.store, 3)).expect("readable");
    assert_eq!(last, all[2..]);
}
