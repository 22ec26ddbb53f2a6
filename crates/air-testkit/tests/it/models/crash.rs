//! The process ends while the agent responds to its incident.

use air_core::{
    incident::{Incident, Phase, State},
    port::{Hands, Order, ResponderError},
    question::Inquiry,
    session::Status,
    step::ToolCall,
};
use air_runtime::{Decision, GateReply, Ports, Remediation, RuntimeError};
use futures::executor::block_on;
use serde_json::json;

use super::{
    Answered, COPY, Play, arguments, honest, report, responded, session_tools,
    world::{ScriptedJudge, ScriptedResponder},
};

/// Makes a mess on its way, and tidies it up.
fn deletes<'a>(_: &'a Order, hands: &'a mut dyn Hands) -> Answered<'a> {
    let failed = |error| ResponderError::Failed(Box::new(error));
    Box::pin(async move {
        let mess = json!({ "path": "/workspace/mess", "content": "half done" });
        hands.call("", "write", arguments(&mess)).await.map_err(failed)?;
        for path in [COPY, "/workspace/mess"] {
            let path = arguments(&json!({ "path": path }));
            hands.call("", "delete", path).await.map_err(failed)?;
        }
        Ok(report(0.9))
    })
}

fn minds(ports: &mut Ports) {
    ports.judge = Some(ScriptedJudge::new(|inquiry: &Inquiry| Ok(honest(inquiry))));
    ports.responder = Some(ScriptedResponder(deletes).into());
}

/// The incident to its rest, as far as the journal lets it.
fn respond(play: &Play, fail_from: u64) -> Result<Option<Incident>, RuntimeError> {
    let mut session = play.open(minds);
    play.stage.store.fail_from(fail_from);
    let call = json!({ "path": COPY, "content": "root:x:0:0" });
    let gate =
        block_on(session.before_step("c".into(), String::new(), "write".into(), arguments(&call)))?;
    let GateReply::Run { ticket, .. } = gate else { panic!("it may run: {gate:?}") };
    let seen = block_on(session_tools(&play.world, &ticket.step.call));
    block_on(session.after_step(*ticket, Some(seen)))?;
    block_on(session.idle())
}

#[test]
fn a_crash_at_any_append_leaves_nothing_of_a_response_that_was_not_recorded() {
    let play = Play::new();
    let before = play.world.files();
    let whole = respond(&play, 0).expect("no failure").expect("an incident");
    assert!(matches!(whole.state(), State::Closed(_)), "{:?}", whole.state());
    assert_eq!(play.world.files(), before);
    let appends = play.stage.store.appends();
    // Of the session and of the step, two are before anything runs.
    for append in 3..=appends {
        let play = Play::new();
        assert!(respond(&play, append).is_err(), "append {append}");
        play.stage.store.fail_from(0);
        let mut session = play.reopen(minds);
        let attention = block_on(session.resume()).expect("resumes");
        assert_eq!(play.world.files(), before, "append {append}");
        if let Some(incident) = attention.incident {
            assert!(matches!(incident.state(), State::Closed(_)), "append {append}: {incident:?}");
        }
        assert_eq!(*session.status(), Status::Terminated, "append {append}");
    }
}

#[test]
fn a_call_that_was_cut_off_is_taken_back_once() {
    fn unsure<'a>(_: &'a Order, hands: &'a mut dyn Hands) -> Answered<'a> {
        Box::pin(async move {
            let evil = arguments(&json!({ "path": "/workspace/evil" }));
            hands.call("", "lose", evil).await.expect_err("it is lost");
            Ok(report(0.2))
        })
    }
    fn idle<'a>(_: &'a Order, _: &'a mut dyn Hands) -> Answered<'a> {
        Box::pin(std::future::ready(Ok(report(0.9))))
    }
    let mut play = Play::new();
    play.models.remediation = Remediation::Alone;
    let (play, incident) = responded(play, unsure);
    assert_eq!(*incident.state(), State::Escalated(vec![Phase::Recovery]));
    assert!(!play.world.files().contains_key("/workspace/evil"));
    // A person puts things right, and has it looked at again.
    let right = json!({ "path": "/workspace/mended", "content": "by hand" });
    let call = ToolCall {
        id: "p".into(),
        tool: "write".into(),
        arguments: arguments(&right),
        native: None,
    };
    block_on(session_tools(&play.world, &call));
    let mut session = play.reopen(|ports| {
        minds(ports);
        ports.responder = Some(ScriptedResponder(idle).into());
    });
    block_on(session.decide(incident.id(), Decision::Retry(Phase::Recovery))).expect("decided");
    assert!(play.world.files().contains_key("/workspace/mended"));
}
