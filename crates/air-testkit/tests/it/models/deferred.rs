//! The verdict comes while the agent plans its next step.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use air_core::{
    incident::State,
    outcome::{Outcome, Verdict},
    port::{BoxFuture, Judge, JudgeError},
    question::Inquiry,
    session::Status,
    step::Arguments,
};
use air_runtime::{GateReply, Ports, ReviewMode, ReviewReply};
use air_testkit::{run::Stage, scripted::ScriptedWorkspace};
use futures::{FutureExt as _, executor::block_on};
use serde_json::json;

use super::{
    COPY, PAPER, Play, arguments, honest,
    world::{Aside, ScriptedJudge},
};

fn deferred() -> Play {
    let mut play = Play::new();
    let window = Duration::from_secs(2);
    play.models.review = ReviewMode::Deferred { window };
    play
}

/// A judge that says what is so, beside the session's work.
fn beside(aside: &Arc<Aside>) -> impl FnOnce(&mut Ports) {
    let aside = Arc::clone(aside);
    move |ports| {
        ports.judge = Some(ScriptedJudge::new(|inquiry: &Inquiry| Ok(honest(inquiry))));
        ports.background = Some(aside);
    }
}

#[test]
fn a_deferred_verdict_stops_the_next_call() {
    let play = deferred();
    let aside = Arc::new(Aside::default());
    let mut session = play.open(beside(&aside));
    let reply = play.call(&mut session, "write", COPY).expect("runs");
    assert!(matches!(reply, ReviewReply::Pending), "{reply:?}");
    aside.work();
    let next =
        block_on(session.before_step("c".into(), String::new(), "write".into(), Arguments::new()));
    let GateReply::Incident(incident) = next.expect("journaled") else { panic!("it went on") };
    assert_eq!(incident.detection().index, 1);
    assert!(!play.world.files().contains_key(COPY), "AIR has put it back");
}

#[test]
fn what_a_condition_has_proved_waits_for_no_judge() {
    const BOTH: &str = "
rule @proved
trigger write
decide effects.files.exists(f, f.path.contains(\"public\"))
check
  something was published.
respond
  rollback
remediate
  take it back.
end
";
    for mut play in [deferred(), Play::new()] {
        let rules = format!("{PAPER}\n{BOTH}");
        play.stage = Stage::new(&rules, ScriptedWorkspace::default()).expect("rules");
        let judge = ScriptedJudge::new(|inquiry: &Inquiry| Ok(honest(inquiry)));
        let mut session = play.open(|ports| {
            ports.judge = Some(judge.clone());
            ports.background = Some(Arc::new(Aside::default()));
        });
        let reply = play.call(&mut session, "write", COPY).expect("runs");
        assert!(matches!(reply, ReviewReply::Incident(..)), "{reply:?}");
        assert_eq!(judge.asked(), 0);
    }
}

#[test]
fn a_deferred_verdict_comes_at_the_latest_at_the_end() {
    let play = deferred();
    let aside = Arc::new(Aside::default());
    let mut session = play.open(beside(&aside));
    play.call(&mut session, "write", COPY).expect("runs");
    aside.work();
    let incident = block_on(session.idle()).expect("driven");
    assert!(incident.is_some_and(|incident| matches!(incident.state(), State::Closed(_))));
}

#[test]
fn a_verdict_that_is_too_late_is_undetermined_and_policy_decides() {
    let play = deferred();
    let aside = Arc::new(Aside { late: true, ..Aside::default() });
    let mut session = play.open(beside(&aside));
    play.call(&mut session, "write", COPY).expect("runs");
    let reply = play.call(&mut session, "read", COPY).expect("runs");
    assert!(matches!(reply, ReviewReply::Continue(_)));
    let late = session.late();
    let [(1, one), _] = late.as_slice() else { panic!("{late:?}") };
    let Outcome::Undetermined(why) = &one.verdict.outcome else { panic!("{one:?}") };
    assert!(why.contains("within the window of 2s"), "{why}");
}

#[test]
fn a_verdict_can_be_waited_for_beside_other_work() {
    let play = deferred();
    let aside = Arc::new(Aside::default());
    let mut session = play.open(beside(&aside));
    assert!(session.verdict().now_or_never().is_none(), "none is awaited");
    play.call(&mut session, "write", COPY).expect("runs");
    assert!(session.verdict().now_or_never().is_none(), "it is not there yet");
    // Whoever does not wait to the end loses nothing, either.
    assert!(session.take_up().now_or_never().is_none());
    assert!(session.idle().now_or_never().is_none());
    aside.work();
    session.verdict().now_or_never().expect("it is there");
    let incident = block_on(session.idle()).expect("driven");
    assert!(incident.is_some(), "it was not lost");
}

#[test]
fn a_judge_that_is_late_is_left() {
    let play = deferred();
    let aside = Arc::new(Aside { late: true, ..Aside::default() });
    let dropped = Arc::new(AtomicBool::new(false));
    let judge = Stuck(Arc::clone(&dropped));
    let mut session = play.open(|ports| {
        ports.judge = Some(Arc::new(judge));
        ports.background = Some(aside.clone());
    });
    play.call(&mut session, "write", COPY).expect("runs");
    play.call(&mut session, "read", COPY).expect("runs");
    // The work ends though the judge never does.
    aside.work();
    assert!(dropped.load(Ordering::SeqCst));
}

/// Never answers.
struct Stuck(Arc<AtomicBool>);

struct Told(Arc<AtomicBool>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Judge for Stuck {
    fn judge(&self, _: Inquiry) -> BoxFuture<'static, Result<Vec<Verdict>, JudgeError>> {
        let told = Told(Arc::clone(&self.0));
        Box::pin(async move {
            let _told = told;
            std::future::pending().await
        })
    }
}

#[test]
fn a_crash_is_no_way_round_a_judge() {
    for judged in [true, false] {
        let play = deferred();
        let aside = Arc::new(Aside::default());
        let mut session = play.open(|ports| {
            if judged {
                beside(&aside)(ports);
            }
        });
        // The process ends before the verdict, and no judge is there afterwards.
        let arguments = arguments(&json!({ "path": "/workspace/page" }));
        let gate =
            block_on(session.before_step("c".into(), String::new(), "write".into(), arguments));
        assert!(matches!(gate, Ok(GateReply::Run { .. })));
        drop(session);
        let mut session = play.reopen(|_| {});
        let attention = block_on(session.resume()).expect("resumes");
        assert_eq!(attention.undetermined.len(), 2, "{attention:?}");
        block_on(session.end()).expect("journaled");
        // Held until a person releases it; without a judge, policy decides as ever.
        assert_eq!(*session.status() == Status::Terminated, !judged);
        if judged {
            block_on(session.release()).expect("a person has looked");
            assert_eq!(*session.status(), Status::Terminated);
        }
    }
}
