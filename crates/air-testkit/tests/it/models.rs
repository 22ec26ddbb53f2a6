//! Models take part in a session: judges that are asked once a step, also beside the agent's work, and
//! agents that respond to their own incidents.

mod crash;
mod deferred;
pub(crate) mod world;

use std::sync::Arc;

use air_core::{
    guardrail::Mode,
    incident::{Ending, Incident, IncidentEvent, Phase, State},
    outcome::Outcome,
    port::{
        BoxFuture, Event, GuardrailStore as _, Hands, Journal as _, Order, Report, ResponderError,
        Spending, Spendings, Stream, ToolBox as _,
    },
    question::{Inquiry, QuestionKind},
    session::SessionEvent,
    step::{Arguments, Observation},
};
use air_runtime::{GateReply, Models, Opening, Ports, Remediation, ReviewReply, Session};
use air_testkit::{run::Stage, scripted::ScriptedWorkspace};
use futures::executor::block_on;
use serde_json::json;

use self::world::{ScriptedJudge, ScriptedResponder, World, WorldTools, says};

/// In the paper's form: only a judge can tell.
const PAPER: &str = "
rule @copied
trigger write
check
  a sensitive file has been copied into an unprotected directory.
remediate
  delete the copied sensitive file.
end

rule @second
trigger write
check
  something else has happened.
remediate
  put it right.
end

rule @third
trigger delete
decide effects.files.exists(f, f.change == \"deleted\" && f.path.contains(\"keep\"))
check
  a file that is to be kept is gone.
remediate
  put it back.
end
";

const COPY: &str = "/workspace/public/passwd";

struct Play {
    stage: Stage,
    world: Arc<World>,
    models: Models,
}

impl Play {
    fn new() -> Self {
        let stage = Stage::new(PAPER, ScriptedWorkspace::default()).expect("rules");
        let files = [("/etc/passwd", "root:x:0:0"), ("/workspace/keep", "important")];
        Self { stage, world: Arc::new(World::with(&files)), models: Models::default() }
    }

    fn open(&self, with: impl FnOnce(&mut Ports)) -> Session {
        let (ports, opening) = self.begin(with);
        block_on(Session::open(ports, opening)).expect("opens")
    }

    /// As after a crash.
    fn reopen(&self, with: impl FnOnce(&mut Ports)) -> Session {
        let (ports, opening) = self.begin(with);
        block_on(Session::reopen(ports, opening)).expect("reopens")
    }

    fn begin(&self, with: impl FnOnce(&mut Ports)) -> (Ports, Opening) {
        let mut ports = Ports {
            workspace: Arc::<World>::clone(&self.world),
            tools: Arc::new(WorldTools(Arc::clone(&self.world))),
            ..self.stage.ports.clone()
        };
        with(&mut ports);
        let opening = self.stage.opening("s1".into(), "publish the page");
        let judge = ports.judge.is_some().then(|| "scripted".to_owned());
        (ports, Opening { models: self.models.clone(), judge, ..opening })
    }

    fn call(
        &self,
        session: &mut Session,
        tool: &str,
        path: &str,
    ) -> Result<ReviewReply, Box<GateReply>> {
        let content = self.world.files().get("/etc/passwd").cloned();
        let arguments = arguments(&json!({ "path": path, "content": content }));
        let plan = "I prepare the report.".to_owned();
        let gate = block_on(session.before_step("c".into(), plan, tool.into(), arguments));
        let ticket = match gate.expect("journaled") {
            GateReply::Run { ticket, .. } => ticket,
            other => return Err(Box::new(other)),
        };
        let seen = block_on(session_tools(&self.world, &ticket.step.call));
        Ok(block_on(session.after_step(*ticket, Some(seen))).expect("journaled"))
    }

    fn events(&self, incident: &Incident) -> Vec<IncidentEvent> {
        let stream = Stream::Incident(incident.id().clone());
        let records = block_on(self.stage.store.read(&stream)).expect("readable");
        let events = records.into_iter().filter_map(|record| match record.event {
            Event::Incident(event) => Some(event),
            Event::Session(_) => None,
        });
        events.collect()
    }
}

fn arguments(json: &serde_json::Value) -> Arguments {
    json.as_object().cloned().expect("an object")
}

async fn session_tools(world: &Arc<World>, call: &air_core::step::ToolCall) -> Observation {
    WorldTools(Arc::clone(world)).call(call).await.expect("runs")
}

/// Says what is so: the copy is there, or is there no more.
fn honest(inquiry: &Inquiry) -> Vec<air_core::outcome::Verdict> {
    let effects = format!("{:?}", inquiry.facts.get(air_core::fact::Root::Effects));
    let there = effects.contains(COPY);
    let answer = |name: &str| match (inquiry.kind, name) {
        (QuestionKind::Happened, "copied") if there => Outcome::Satisfied,
        (QuestionKind::Restored, "copied") if !there => Outcome::Satisfied,
        _ => Outcome::Unsatisfied,
    };
    inquiry.rules.iter().map(|rule| says(answer(rule.name.as_str()))).collect()
}

fn report(confidence: f64) -> Report {
    Report { summary: "the copy is gone".into(), confidence }
}

type Answered<'a> = BoxFuture<'a, Result<Report, ResponderError>>;

fn deletes<'a>(order: &'a Order, hands: &'a mut dyn Hands) -> Answered<'a> {
    Box::pin(async move {
        assert_eq!(order.remediate, ["delete the copied sensitive file."]);
        let arguments = arguments(&json!({ "path": COPY }));
        hands.call("I delete the copy.", "delete", arguments).await.expect("runs");
        Ok(report(0.9))
    })
}

fn lies<'a>(_: &'a Order, _: &'a mut dyn Hands) -> Answered<'a> {
    Box::pin(std::future::ready(Ok(report(1.0))))
}

/// The copy is made, a judge finds it, and `responder` is told to respond.
fn responded<F>(play: Play, responder: F) -> (Play, Incident)
where
    F: for<'a> Fn(&'a Order, &'a mut dyn Hands) -> Answered<'a> + Send + Sync + 'static,
{
    let judge = ScriptedJudge::new(|inquiry: &Inquiry| Ok(honest(inquiry)));
    let mut session = play.open(|ports| {
        ports.judge = Some(judge);
        ports.responder = Some(ScriptedResponder(responder).into());
    });
    let reply = play.call(&mut session, "write", COPY).expect("runs");
    assert!(matches!(reply, ReviewReply::Incident(..)), "{reply:?}");
    let incident = block_on(session.idle()).expect("driven").expect("an incident");
    (play, incident)
}

/// Why each try of recovery that failed did.
fn tries(play: &Play, incident: &Incident) -> Vec<String> {
    let why = |event| match event {
        IncidentEvent::TryFailed { phase: Phase::Recovery, why } => Some(why),
        _ => None,
    };
    play.events(incident).into_iter().filter_map(why).collect()
}

#[test]
fn a_judge_is_asked_once_a_step_whatever_the_number_of_rules() {
    let play = Play::new();
    let judge = ScriptedJudge::new(|inquiry: &Inquiry| Ok(honest(inquiry)));
    let mut session = play.open(|ports| ports.judge = Some(judge.clone()));
    let reply = play.call(&mut session, "write", "/workspace/page").expect("runs");
    assert!(matches!(reply, ReviewReply::Continue(notes) if notes.is_empty()));
    assert_eq!(judge.asked(), 1);
    let asked = &judge.asked.lock().expect("whole")[0];
    assert_eq!(asked.rules.len(), 2);
    assert_eq!(asked.facts.supplied().iter().count(), air_core::fact::Root::ALL.len());
    // A tool that changes anything is out of its reach.
    let look = asked.look.as_ref().expect("something to look with");
    assert_eq!(look.all().iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["read"]);
    assert!(look.tool("write").is_none());
}

#[test]
fn a_guardrail_that_cannot_be_read_is_for_no_judge() {
    let play = Play::new();
    let text = "rule @g\ntrigger write\ndecide 1 +\ncheck\n  say no to every rule\nblock\nend\n";
    let broken = crate::guardrails::version(1, text, Mode::Enforce);
    block_on(play.stage.store.put(&broken)).expect("kept");
    let no = |inquiry: &Inquiry| Ok(vec![says(Outcome::Unsatisfied); inquiry.rules.len()]);
    let judge = ScriptedJudge::new(no);
    let mut session = play.open(|ports| ports.judge = Some(judge.clone()));
    let refused = play.call(&mut session, "write", COPY).expect_err("nobody can tell");
    let GateReply::Refused { message, .. } = *refused else { panic!("{refused:?}") };
    assert!(message.contains("the guardrail cannot be read"), "{message}");
    assert_eq!(judge.asked(), 0);
}

#[test]
fn what_a_judge_does_not_answer_is_undetermined() {
    for given in [0, 1, 3] {
        let play = Play::new();
        let judge =
            ScriptedJudge::new(move |_: &Inquiry| Ok(vec![says(Outcome::Unsatisfied); given]));
        let mut session = play.open(|ports| ports.judge = Some(judge));
        let reply = play.call(&mut session, "write", "/workspace/page").expect("runs");
        let ReviewReply::Continue(notes) = reply else { panic!("no incident") };
        assert_eq!(notes.len(), if given == 1 { 1 } else { 2 }, "{notes:?}");
    }
}

#[test]
fn the_agent_responds_and_its_work_is_verified_and_told() {
    let (play, incident) = responded(Play::new(), deletes);
    assert!(matches!(incident.state(), State::Closed(_)), "{:?}", incident.state());
    assert_eq!(incident.endings().of(Phase::Recovery), Some(&Ending::Done));
    assert!(!play.world.files().contains_key(COPY));
    let done = play.world.done();
    assert_eq!(done, ["kill", "kill"], "AIR put nothing back, and the call left nothing running");
    let events = play.events(&incident);
    let acted = |event: &&IncidentEvent| matches!(event, IncidentEvent::AgentActed { tool, refused: None, .. } if tool == "delete");
    assert_eq!(events.iter().filter(acted).count(), 1);
    assert!(events.iter().any(|event| matches!(event, IncidentEvent::AgentReported { .. })));
}

#[test]
fn an_agent_that_only_says_so_is_caught_and_air_puts_it_right() {
    let (play, incident) = responded(Play::new(), lies);
    let failed = |event: &&IncidentEvent| {
        matches!(event, IncidentEvent::TryFailed { phase: Phase::Recovery, .. })
    };
    assert_eq!(play.events(&incident).iter().filter(failed).count(), 2);
    assert!(matches!(incident.state(), State::Closed(_)), "{:?}", incident.state());
    assert_eq!(play.world.done(), ["kill", "kill", "quarantine", "rollback"]);
    assert!(!play.world.files().contains_key(COPY));
}

#[test]
fn alone_an_agent_that_lies_leaves_the_incident_to_a_person() {
    let mut play = Play::new();
    play.models.remediation = Remediation::Alone;
    let (play, incident) = responded(play, lies);
    assert_eq!(*incident.state(), State::Escalated(vec![Phase::Recovery]));
    assert!(play.world.files().contains_key(COPY));
}

#[test]
fn an_agent_that_ends_without_a_report_has_failed_a_try() {
    fn silent<'a>(_: &'a Order, _: &'a mut dyn Hands) -> Answered<'a> {
        Box::pin(std::future::ready(Err(ResponderError::Silent)))
    }
    let (play, incident) = responded(Play::new(), silent);
    assert!(matches!(incident.state(), State::Closed(_)), "{:?}", incident.state());
    assert!(!play.world.files().contains_key(COPY), "AIR has put it back");
    let why = "the agent ended without a report; the state is not restored";
    assert_eq!(tries(&play, &incident), [why, why]);
}

#[test]
fn a_call_of_a_response_that_is_cut_off_is_taken_back_and_recorded() {
    fn cut<'a>(_: &'a Order, hands: &'a mut dyn Hands) -> Answered<'a> {
        Box::pin(async move {
            let arguments = arguments(&json!({ "path": "/workspace/evil" }));
            let error = hands.call("", "lose", arguments).await.expect_err("it is lost");
            Err(ResponderError::Failed(Box::new(error)))
        })
    }
    let mut play = Play::new();
    play.models.remediation = Remediation::Alone;
    let (play, incident) = responded(play, cut);
    assert!(!play.world.files().contains_key("/workspace/evil"));
    let began = |event: &&IncidentEvent| matches!(event, IncidentEvent::AgentActing { tool, .. } if tool == "lose");
    assert_eq!(play.events(&incident).iter().filter(began).count(), 3);
    for why in tries(&play, &incident) {
        assert!(why.contains("its last call was cut off, and was taken back"), "{why}");
    }
}

#[test]
fn a_judge_is_asked_of_a_response_too() {
    fn again<'a>(_: &'a Order, hands: &'a mut dyn Hands) -> Answered<'a> {
        Box::pin(async move {
            let path = arguments(&json!({ "path": COPY }));
            hands.call("I delete the copy.", "delete", path).await.expect("runs");
            let write = arguments(&json!({ "path": COPY, "content": "root:x:0:0" }));
            let error = hands.call("I copy it again.", "write", write).await.expect_err("harm");
            assert!(
                error.to_string().contains("@copied holds on it; it was taken back"),
                "{error}"
            );
            Ok(report(1.0))
        })
    }
    let (play, incident) = responded(Play::new(), again);
    assert!(matches!(incident.state(), State::Closed(_)), "{:?}", incident.state());
    assert!(!play.world.files().contains_key(COPY));
}

#[test]
fn under_a_critical_rule_an_agent_may_look_around_and_put_things_right() {
    fn looks<'a>(_: &'a Order, hands: &'a mut dyn Hands) -> Answered<'a> {
        Box::pin(async move {
            let path = arguments(&json!({ "path": COPY }));
            hands.call("I look.", "read", path.clone()).await.expect("it is no harm");
            hands.call("I delete the copy.", "delete", path).await.expect("runs");
            Ok(report(0.9))
        })
    }
    let mut play = Play::new();
    let rules = PAPER
        .replace("trigger write", "trigger write, delete")
        .replace("trigger", "severity critical\ntrigger");
    play.stage = Stage::new(&rules, ScriptedWorkspace::default()).expect("rules");
    play.models.remediation = Remediation::Alone;
    // What the incident's own rules cannot be told on a call is verified at the end.
    let judge = ScriptedJudge::new(|inquiry: &Inquiry| {
        let effects = format!("{:?}", inquiry.facts.get(air_core::fact::Root::Effects));
        let mut verdicts = honest(inquiry);
        if inquiry.kind == QuestionKind::Happened && effects.contains("deleted") {
            let own = inquiry.rules.iter().position(|rule| rule.name.as_str() == "copied");
            let own = own.expect("it is asked of each call");
            verdicts[own] = says(Outcome::undetermined("it names the copy"));
        }
        Ok(verdicts)
    });
    let mut session = play.open(|ports| {
        ports.judge = Some(judge);
        ports.responder = Some(ScriptedResponder(looks).into());
    });
    play.call(&mut session, "write", COPY).expect("runs");
    let incident = block_on(session.idle()).expect("driven").expect("an incident");
    assert!(matches!(incident.state(), State::Closed(_)), "{:?}", play.events(&incident));
    assert_eq!(tries(&play, &incident), [""; 0]);
    let told = play.events(&incident).into_iter().any(|event| {
        matches!(event, IncidentEvent::AgentActed { undetermined, .. } if undetermined.len() == 1)
    });
    assert!(told, "what could not be decided is kept");
}

#[test]
fn what_cannot_be_verified_is_tried_again_and_at_last_by_air() {
    let play = Play::new();
    let judge = ScriptedJudge::new(|inquiry: &Inquiry| {
        let effects = format!("{:?}", inquiry.facts.get(air_core::fact::Root::Effects));
        let mut verdicts = honest(inquiry);
        if inquiry.kind == QuestionKind::Restored && effects.contains(COPY) {
            verdicts.fill(says(Outcome::undetermined("it cannot tell")));
        }
        Ok(verdicts)
    });
    let mut session = play.open(|ports| {
        ports.judge = Some(judge);
        ports.responder = Some(ScriptedResponder(lies).into());
    });
    play.call(&mut session, "write", COPY).expect("runs");
    let incident = block_on(session.idle()).expect("driven").expect("an incident");
    assert!(matches!(incident.state(), State::Closed(_)), "{:?}", incident.state());
    assert_eq!(tries(&play, &incident), ["could not be verified: it cannot tell"; 2]);
    assert!(!play.world.files().contains_key(COPY));
}

#[test]
fn a_call_of_a_response_has_the_time_that_is_left() {
    fn slow<'a>(order: &'a Order, hands: &'a mut dyn Hands) -> Answered<'a> {
        Box::pin(async move {
            let seen = hands.call("", "patience", Arguments::new()).await.expect("runs");
            assert!(seen.content.parse::<u128>().expect("a number") <= order.deadline.as_millis());
            Ok(report(0.9))
        })
    }
    let mut play = Play::new();
    play.models.response_time = std::time::Duration::from_secs(7);
    responded(play, slow);
}

fn unsure<'a>(_: &'a Order, _: &'a mut dyn Hands) -> Answered<'a> {
    Box::pin(std::future::ready(Ok(report(0.2))))
}

#[test]
fn low_confidence_is_for_a_person() {
    let (_, incident) = responded(Play::new(), unsure);
    assert_eq!(*incident.state(), State::Escalated(vec![Phase::Recovery]));
    let why = format!("{:?}", incident.endings().of(Phase::Recovery));
    assert!(why.contains("confidence of 0.20, below 0.50"), "{why}");
}

#[test]
fn harm_done_in_response_is_taken_back_and_ends_it() {
    fn worse<'a>(_: &'a Order, hands: &'a mut dyn Hands) -> Answered<'a> {
        Box::pin(async move {
            let arguments = arguments(&json!({ "path": "/workspace/keep" }));
            let refused = hands.call("I clean up.", "delete", arguments).await;
            let error = refused.expect_err("it is an incident itself").to_string();
            assert!(error.contains("@third holds on it; it was taken back"), "{error}");
            Err(ResponderError::Limit(error))
        })
    }
    let mut play = Play::new();
    play.models.remediation = Remediation::Alone;
    let (play, _) = responded(play, worse);
    assert!(play.world.files().contains_key("/workspace/keep"));
}

#[test]
fn calls_of_a_response_are_limited_and_guarded() {
    fn busy<'a>(order: &'a Order, hands: &'a mut dyn Hands) -> Answered<'a> {
        Box::pin(async move {
            let nothing = hands.call("", "launch", Arguments::new()).await.expect("told");
            assert_eq!(nothing.error.as_deref(), Some("refused: unknown tool `launch`"));
            for _ in 1..order.max_calls {
                hands.call("", "read", Arguments::new()).await.expect("runs");
            }
            let limit = hands.call("", "read", Arguments::new()).await.expect_err("a limit");
            Err(ResponderError::Limit(limit.to_string()))
        })
    }
    let mut play = Play::new();
    play.models.max_calls = 3;
    let (play, incident) = responded(play, busy);
    let acted = |event: &&IncidentEvent| matches!(event, IncidentEvent::AgentActed { .. });
    // Two tries of three calls; the third try is AIR's own.
    assert_eq!(play.events(&incident).iter().filter(acted).count(), 6);
}

#[test]
fn what_models_take_is_journaled_with_the_step() {
    struct Two;
    impl Spendings for Two {
        fn take(&self) -> Vec<Spending> {
            vec![Spending {
                purpose: "check".into(),
                calls: 1,
                input_tokens: 900,
                cached_tokens: 800,
                output_tokens: 40,
                micro_usd: Some(12),
                unread: 0,
            }]
        }
    }
    let play = Play::new();
    let mut session = play.open(|ports| ports.spendings = Some(Arc::new(Two)));
    play.call(&mut session, "read", COPY).expect("runs");
    let records = block_on(play.stage.store.read(&Stream::Session("s1".into()))).expect("readable");
    let spent = records.iter().filter(|record| {
        matches!(&record.event, Event::Session(SessionEvent::Spent { index: 1, .. }))
    });
    assert_eq!(spent.count(), 2, "before and after the step");
}
