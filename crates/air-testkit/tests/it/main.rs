//! The driver over scripted ports: crashes at every append, journals that fail, harm that goes on.
#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod ceiling;
mod classes;
mod coding;
mod guardrails;
mod hosted;
mod learning;
mod literals;
mod models;
mod pack;
mod quotes;
mod rename;
mod repair;
mod replay;
mod siblings;
mod suite;

use air_core::{
    effects::{Change, Effects, FileEffect, Observed},
    incident::{Ending, Incident, IncidentEvent, Phase, State},
    port::{Event, Journal as _, Stream},
    session::Status,
    step::{Arguments, Observation},
};
use air_runtime::{GateReply, Session};
use air_testkit::{run::Stage, scripted::ScriptedWorkspace};
use futures::executor::block_on;

/// Recovery ends in a call that, done twice, takes effect twice.
const RULES: &str = r#"
rule @created
trigger bash
decide effects.files.exists(f, f.change == "created")
check
  a file was created.
respond
  quarantine
  rollback
  call notify {"text": "put back"}
remediate
  delete it.
end
"#;

fn effects() -> Effects {
    let file = FileEffect {
        path: "/workspace/x".into(),
        change: Change::Created,
        size: 1,
        mode: 0o644,
        origin: None,
        origin_unknown: None,
        moved: None,
        aspects: Vec::new(),
        marks: Vec::new(),
        reversible: true,
    };
    Effects { files: Observed::whole(vec![file]), ..Effects::default() }
}

fn arguments() -> Arguments {
    Arguments::from_iter([("command".to_owned(), "touch x".into())])
}

/// One step from its gate to the rest of the incident, as far as the journal lets it.
fn step(stage: &Stage) -> Result<Option<Incident>, air_runtime::RuntimeError> {
    let opening = stage.opening("s1".into(), "task");
    let mut session = block_on(Session::open(stage.ports.clone(), opening))?;
    let (plan, tool) = ("plan".to_owned(), "bash".to_owned());
    let reply = block_on(session.before_step("c1".into(), plan, tool, arguments()))?;
    let GateReply::Run { ticket, .. } = reply else { panic!("refused") };
    stage.workspace.change(effects());
    block_on(session.after_step(*ticket, Some(Observation::default())))?;
    block_on(session.idle())
}

#[test]
fn nothing_may_run_that_the_journal_cannot_record() {
    for append in 1..=2 {
        let stage = Stage::new(RULES, ScriptedWorkspace::default()).expect("rules");
        stage.store.fail_from(append);
        assert!(step(&stage).is_err(), "append {append}");
        // Neither a response action nor a change: the tool was never let run.
        assert!(stage.workspace.actions().is_empty(), "append {append}");
    }
}

#[test]
fn after_a_crash_at_any_append_no_call_is_made_twice() {
    let stage = Stage::new(RULES, ScriptedWorkspace::default()).expect("rules");
    let whole = step(&stage).expect("no failure").expect("an incident");
    assert!(matches!(whole.state(), State::Closed(_)), "{:?}", whole.state());
    assert_eq!(stage.tools.calls().len(), 1);
    let appends = stage.store.appends();
    let mut doubted = 0;
    for append in 3..=appends {
        let stage = Stage::new(RULES, ScriptedWorkspace::default()).expect("rules");
        stage.store.fail_from(append);
        assert!(step(&stage).is_err(), "append {append}");
        stage.store.fail_from(0);
        let opening = stage.opening("s1".into(), "");
        let mut session = block_on(Session::reopen(stage.ports.clone(), opening)).expect("reopens");
        let attention = block_on(session.resume()).expect("resumes");
        let calls = stage.tools.calls().len();
        assert!(calls <= 1, "append {append}: {calls} calls");
        match attention.incident.as_ref().map(Incident::state) {
            Some(State::Escalated(failed)) => {
                // The call was started, and whether it took effect is unknown.
                assert_eq!(*failed, [Phase::Recovery], "append {append}");
                doubted += 1;
                assert!(matches!(session.status(), Status::Unresolved { .. }));
            }
            Some(State::Closed(_)) => {
                assert_eq!(calls, 1, "append {append}");
                assert_eq!(*session.status(), Status::Terminated);
            }
            // Only the session's own last record was missing.
            None => assert_eq!(append, appends),
            other => panic!("append {append}: {other:?}"),
        }
    }
    assert_eq!(doubted, 1, "only between the call and its return is there doubt");
}

#[test]
fn harm_that_goes_on_is_escalated_after_three_tries_and_still_learned_from() {
    let mut workspace = ScriptedWorkspace::default();
    workspace.stubborn = true;
    let stage = Stage::new(RULES, workspace).expect("rules");
    let incident = step(&stage).expect("no failure").expect("an incident");
    assert_eq!(*incident.state(), State::Escalated(vec![Phase::Containment, Phase::Recovery]));
    assert_eq!(stage.workspace.actions(), ["preserve", "kill", "quarantine"].repeat(3));
    assert_eq!(incident.endings().eradication, Some(Ending::Done));
    assert!(stage.tools.calls().is_empty(), "recovery is skipped while the harm goes on");
}

#[test]
fn evidence_that_cannot_be_kept_does_not_let_harm_go_on() {
    let stage = Stage::new(RULES, ScriptedWorkspace::default()).expect("rules");
    stage.store.refuse(b"scripted");
    let incident = step(&stage).expect("no failure").expect("an incident");
    assert!(matches!(incident.state(), State::Closed(_)), "{:?}", incident.state());
    assert_eq!(stage.workspace.actions(), ["preserve", "kill", "quarantine", "rollback"]);
    let stream = Stream::Incident(incident.id().clone());
    let records = block_on(stage.store.read(&stream)).expect("readable");
    let said = records.iter().any(|record| {
        let Event::Incident(IncidentEvent::ActionFinished { result: Ok(done), .. }) = &record.event
        else {
            return false;
        };
        done.starts_with("preserve; changes.diff was not kept: ")
    });
    assert!(said, "{records:?}");
}
