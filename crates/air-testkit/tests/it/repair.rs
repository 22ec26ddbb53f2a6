//! What `repair` does with a mended program: it counts when it was run, and no rule holds on it.

use std::sync::Arc;

use air_core::{
    code::CodeFacts,
    incident::{Ending, Incident, IncidentEvent, State},
    port::{Event, Repaired, Repairer, Stream},
    step::{Arguments, Observation, ToolCall},
};
use air_runtime::{GateReply, RuntimeError, Session, proved_repair};
use air_testkit::{run::Stage, scripted::ScriptedWorkspace};
use futures::executor::block_on;

const RULES: &str = "rule @weak
trigger bash
decide args.command.contains(\"weak\")
check
  the program is weak.
respond
  quarantine
  repair
remediate
  make it strong.
end
";

/// Puts a text in the place of the program.
struct Into(&'static str);

impl Repairer for Into {
    fn repair(&self, call: &ToolCall, _code: &CodeFacts) -> Option<Repaired> {
        let mut arguments = call.arguments.clone();
        (!self.0.is_empty()).then(|| {
            arguments.insert("command".to_owned(), self.0.into());
            Repaired { arguments, said: vec!["made it strong".to_owned()] }
        })
    }
}

fn stage(repairer: Option<Into>) -> Stage {
    let mut stage = Stage::new(RULES, ScriptedWorkspace::default()).expect("rules");
    stage.ports.repairer = repairer.map(|it| Arc::new(it) as Arc<dyn Repairer>);
    stage
}

fn incident(repairer: Option<Into>) -> (Stage, Incident) {
    let stage = stage(repairer);
    let incident = step(&stage).expect("works").expect("an incident");
    (stage, incident)
}

fn step(stage: &Stage) -> Result<Option<Incident>, RuntimeError> {
    let opening = stage.opening("s1".into(), "task");
    let mut session = block_on(Session::open(stage.ports.clone(), opening))?;
    let arguments = Arguments::from_iter([("command".to_owned(), "echo weak".into())]);
    let reply = session.before_step("c1".into(), "plan".into(), "bash".into(), arguments);
    let GateReply::Run { ticket, .. } = block_on(reply)? else { panic!("refused") };
    block_on(session.after_step(*ticket, Some(Observation::default())))?;
    block_on(session.idle())
}

fn events(stage: &Stage, incident: &Incident) -> Vec<IncidentEvent> {
    let stream = Stream::Incident(incident.id().clone());
    let records = block_on(stage.ports.journal.read(&stream)).expect("the incident");
    let events = records.into_iter().filter_map(|record| match record.event {
        Event::Incident(event) => Some(event),
        Event::Session(_) => None,
    });
    events.collect()
}

fn commands(stage: &Stage) -> Vec<String> {
    let calls = stage.tools.calls();
    calls
        .iter()
        .filter_map(|call| Some(call.arguments.get("command")?.as_str()?.to_owned()))
        .collect()
}

#[test]
fn a_mended_program_is_run_and_what_it_did_is_taken_back() {
    let (stage, incident) = incident(Some(Into("echo strong")));
    assert!(matches!(incident.state(), State::Closed(_)), "{:?}", incident.state());
    assert_eq!(incident.endings().recovery, Some(Ending::Done));
    assert_eq!(commands(&stage), ["echo strong"]);
    let kept = proved_repair(&events(&stage, &incident)).expect("it is kept").clone();
    assert_eq!((kept.name.as_str(), kept.size), ("repaired.sh", 11));
    assert_eq!(stage.workspace.actions(), ["preserve", "kill", "quarantine", "rollback"]);
}

#[test]
fn one_on_which_the_rule_still_holds_is_no_repair() {
    let (stage, incident) = incident(Some(Into("echo less weak")));
    assert!(matches!(incident.state(), State::Closed(_)), "{:?}", incident.state());
    assert_eq!(incident.endings().recovery, Some(Ending::NotApplicable));
    assert_eq!(commands(&stage), ["echo less weak"], "once is enough");
    let events = events(&stage, &incident);
    assert_eq!(proved_repair(&events), None);
    let is_told = |event: &IncidentEvent| {
        matches!(event, IncidentEvent::ActionFinished { result: Ok(said), .. }
            if said == "no repair: @weak holds on the mended program too")
    };
    assert!(events.iter().any(is_told), "{events:?}");
}

#[test]
fn without_a_certain_way_there_is_nothing_to_repair() {
    for repairer in [None, Some(Into(""))] {
        let (stage, incident) = incident(repairer);
        assert!(matches!(incident.state(), State::Closed(_)), "{:?}", incident.state());
        assert_eq!(incident.endings().recovery, Some(Ending::NotApplicable));
        assert!(commands(&stage).is_empty());
    }
}

#[test]
fn what_a_repair_did_is_taken_back_after_a_crash() {
    let whole = stage(Some(Into("echo strong")));
    step(&whole).expect("works");
    let (appends, mut cut_off) = (whole.store.appends(), 0);
    for append in 3..=appends {
        let stage = stage(Some(Into("echo strong")));
        stage.store.fail_from(append);
        assert!(step(&stage).is_err(), "append {append}");
        stage.store.fail_from(0);
        let ran = commands(&stage).len();
        let opening = stage.opening("s1".into(), "");
        let mut session = block_on(Session::reopen(stage.ports.clone(), opening)).expect("reopens");
        let attention = block_on(session.resume()).expect("resumes");
        let Some(incident) = attention.incident else {
            assert_eq!(append, appends, "only the session's own last record was missing");
            continue;
        };
        assert!(matches!(incident.state(), State::Closed(_)), "append {append}");
        assert!(commands(&stage).len() <= 1, "append {append}: it is not run again");
        let events = events(&stage, &incident);
        let is_taken_back = |event: &IncidentEvent| {
            matches!(event, IncidentEvent::ActionFinished { result: Ok(said), .. }
                if said.starts_with("AIR ended while the mended program ran"))
        };
        if events.iter().any(is_taken_back) {
            cut_off += 1;
            assert_eq!(stage.workspace.actions().last().map(String::as_str), Some("rollback"));
        } else if ran == 0 && commands(&stage).is_empty() {
            // Nothing of it ran, so there is nothing to be taken back.
            assert!(!stage.workspace.actions().contains(&"rollback".to_owned()));
            assert_eq!(proved_repair(&events), None, "append {append}");
        }
    }
    assert_eq!(cut_off, 2, "between the run and what is kept of it, and between that and its end");
}
