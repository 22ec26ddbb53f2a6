//! Laws of the incident machine, over every state that can be reached.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{
    evaluation::FindingRecord,
    outcome::{Outcome, Verdict},
    port::{Tier, action_id},
    rule::Severity,
};

const ID: &str = "i1";
const DEADLINE: Timestamp = Timestamp(60_000);

fn call(idempotent: bool) -> Action {
    Action::Call { tool: "send".into(), arguments: "p1".into(), idempotent }
}

fn detection(response: &[(Phase, Action)], restorable: bool) -> Detection {
    let finding = FindingRecord {
        rule: "copy_sensitive_file".into(),
        severity: Severity::High,
        verdict: verdict(Outcome::Satisfied),
    };
    Detection {
        session: "s1".into(),
        index: 1,
        tool: "python_repl".into(),
        findings: vec![finding],
        rules: vec!["p1".into()],
        step: "p2".into(),
        effects: "p3".into(),
        evidence: vec!["created /workspace/passwd".into()],
        checkpoint: "k1".into(),
        tier: Tier::T3,
        response: response
            .iter()
            .map(|(phase, action)| PlannedAction { phase: *phase, action: action.clone() })
            .collect(),
        restorable,
    }
}

/// Every kind of plan: none, containment only, both, and the actions that may not succeed.
fn detections() -> Vec<Detection> {
    use Phase::{Containment as C, Recovery as R};
    let impossible = Action::Impossible { why: "`${x}` is unknown".into() };
    let quarantine = Action::Quarantine { paths: vec!["/workspace/passwd".into()] };
    let order = Action::Order { told: true, fallback: true };
    let plans: [&[(Phase, Action)]; 7] = [
        &[],
        &[(C, Action::Kill), (C, quarantine)],
        &[(C, Action::Isolate), (R, Action::Rollback)],
        &[(C, call(false)), (R, call(false))],
        &[(R, impossible.clone()), (R, call(true))],
        &[(C, impossible), (R, Action::Rollback)],
        &[(C, Action::Kill), (R, order)],
    ];
    plans.into_iter().flat_map(|plan| [true, false].map(|it| detection(plan, it))).collect()
}

fn verdict(outcome: Outcome) -> Verdict {
    Verdict::by_condition(outcome, "")
}

fn adopted() -> Adopted {
    Adopted { id: "g-i1".into(), version: 1 }
}

/// One of every input, and more where its content matters.
fn inputs(incident: &Incident) -> Vec<Input> {
    vec![
        Input::OrderGiven { deadline: DEADLINE },
        Input::AgentAnswered(Ok("it wants to end".into())),
        Input::AgentAnswered(Err("it was cut off".into())),
        Input::Starting(action_id(&incident.id, incident.started + 1)),
        Input::Finished(Ok("done".into())),
        Input::Finished(Err("failed".into())),
        Input::Acting { tool: "bash".into(), step: "p3".into(), checkpoint: "c2".into() },
        Input::Acted {
            tool: "bash".into(),
            step: "p4".into(),
            refused: None,
            undone: None,
            undetermined: Vec::new(),
        },
        Input::Reported { summary: "the file is gone".into(), confidence: 0.9 },
        Input::Lost,
        Input::PortFailed("tools are gone".into()),
        Input::Verified(verdict(Outcome::Satisfied)),
        Input::Verified(verdict(Outcome::Unsatisfied)),
        Input::Verified(verdict(Outcome::undetermined("no judge"))),
        Input::NotApplicable,
        Input::Adopted(adopted()),
        Input::SynthesisOff,
        Input::SynthesisFailed("nothing can be said".into()),
        Input::Settle,
        Input::Resume(Phase::Containment),
        Input::Resume(Phase::Recovery),
        Input::Resume(Phase::Eradication),
        Input::Dismiss(Classification::BenignPositive),
        Input::GiveUp("too late".into()),
    ]
}

/// The state without what grows for ever and what only people read, so that there are finitely many.
fn key(incident: &Incident) -> String {
    let mut incident = incident.clone();
    incident.revision = 0;
    incident.started = 0;
    incident.running = incident.running.map(|_| "a".into());
    incident.spoiled = incident.spoiled.map(|_| String::new());
    for phase in [Phase::Containment, Phase::Recovery, Phase::Eradication] {
        if let Some(Ending::Failed { why }) = incident.endings.slot(phase) {
            why.clear();
        }
    }
    format!("{incident:?}")
}

/// Visits every transition out of every state that `detection` can lead to.
fn explore(detection: Detection, mut visit: impl FnMut(&Incident, &Input, Option<&Incident>)) {
    let first = vec![IncidentEvent::Detected(detection)];
    let mut seen = BTreeSet::new();
    let mut todo = vec![first];
    while let Some(events) = todo.pop() {
        let before = Incident::replay(ID.into(), &events).unwrap();
        if !seen.insert(key(&before)) {
            continue;
        }
        assert!(seen.len() < 5_000, "the states are not finite");
        assert_eq!(before.next().is_none(), before.state.is_terminal(), "{before:?}");
        assert_eq!(before.revision(), events.len() as u64, "{before:?}");
        for input in inputs(&before) {
            let Ok(caused) = before.handle(input.clone()) else {
                visit(&before, &input, None);
                continue;
            };
            assert!(!caused.is_empty(), "{input:?} was taken and changed nothing");
            let mut after = before.clone();
            for event in &caused {
                after.apply(event);
            }
            let mut events = events.clone();
            events.extend(caused);
            assert_eq!(Incident::replay(ID.into(), &events), Ok(after.clone()), "{input:?}");
            visit(&before, &input, Some(&after));
            todo.push(events);
        }
    }
}

/// What a driver would report for the directive, where everything goes well.
fn happy(directive: Directive) -> Vec<Input> {
    match directive {
        Directive::Act { id, .. } => vec![Input::Starting(id), Input::Finished(Ok("done".into()))],
        Directive::Reconcile { .. } => vec![Input::Finished(Ok("done".into()))],
        Directive::Verify(_) => vec![Input::Verified(verdict(Outcome::Satisfied))],
        Directive::AwaitAgent(_) => vec![Input::AgentAnswered(Ok("it wants to end".into()))],
        Directive::Eradicate => vec![Input::Adopted(adopted())],
        Directive::Settle => vec![Input::Settle],
        Directive::AwaitOperator => vec![Input::Dismiss(Classification::TruePositive)],
    }
}

fn feed(incident: &mut Incident, input: Input) {
    for event in incident.handle(input).unwrap() {
        incident.apply(&event);
    }
}

fn follow(incident: &mut Incident) {
    for _ in 0..50 {
        let Some(directive) = incident.next() else { return };
        for input in happy(directive) {
            feed(incident, input);
        }
    }
    panic!("the incident does not end: {incident:?}");
}

fn open(response: &[(Phase, Action)]) -> Incident {
    Incident::open(ID.into(), detection(response, true))
}

/// Recovers, eradicates, and leaves it to a person: only `containment` failed.
fn uncontained() -> Incident {
    let mut incident = open(&[(Phase::Recovery, Action::Rollback)]);
    feed(&mut incident, Input::Verified(verdict(Outcome::undetermined("no judge"))));
    incident
}

#[test]
fn transitions() {
    let mut table: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for detection in detections() {
        explore(detection, |before, input, after| {
            if let Some(after) = after {
                let row = table.entry((before.state.name(), input.name())).or_default();
                row.insert(after.state.name());
            }
        });
    }
    let row = |((state, input), next): (&(&str, &str), &BTreeSet<&str>)| {
        let next: Vec<&str> = next.iter().copied().collect();
        format!("{state:<16} | {input:<23} | {}", next.join(" / "))
    };
    insta::assert_snapshot!(table.iter().map(row).collect::<Vec<_>>().join("\n"));
}

#[test]
fn nothing_is_taken_once_it_is_over() {
    for detection in detections() {
        explore(detection, |before, input, after| {
            assert!(!before.state.is_terminal() || after.is_none(), "{input:?} in {before:?}");
        });
    }
}

#[test]
fn what_next_says_is_always_admitted() {
    for detection in detections() {
        explore(detection, |before, _, _| {
            if let Some(directive) = before.next() {
                let mut incident = before.clone();
                for input in happy(directive) {
                    feed(&mut incident, input);
                }
            }
        });
    }
}

#[test]
fn a_happy_driver_ends_every_state() {
    for detection in detections() {
        explore(detection, |before, _, _| follow(&mut before.clone()));
    }
}

#[test]
fn a_happy_driver_closes() {
    for detection in detections() {
        let possible =
            |planned: &PlannedAction| !matches!(planned.action, Action::Impossible { .. });
        let all_possible = detection.response.iter().all(possible);
        let actions = detection.response.len();
        let mut incident = Incident::open(ID.into(), detection);
        follow(&mut incident);
        assert_eq!(incident.state, State::Closed(Classification::TruePositive), "{incident:?}");
        // A driver that says that the impossible was done is believed: it is not asked by the core.
        assert!(incident.started as usize == actions || !all_possible, "{incident:?}");
        assert_eq!(incident.adopted, Some(adopted()));
    }
}

#[test]
fn a_phase_fails_at_the_third_try() {
    for phase in [Phase::Containment, Phase::Recovery] {
        let mut incident = open(&[]);
        if phase == Phase::Recovery {
            feed(&mut incident, Input::Verified(verdict(Outcome::Satisfied)));
        }
        for tries in 0..MAX_TRIES {
            assert_eq!(incident.phase(), Some(phase));
            assert_eq!(incident.tries(), tries);
            feed(&mut incident, Input::Verified(verdict(Outcome::Unsatisfied)));
        }
        assert_eq!(incident.endings.failed().first(), Some(&phase));
        assert_eq!(incident.tries(), 0);
        assert_eq!(incident.phase(), Some(Phase::Eradication));
    }
}

#[test]
fn each_try_repeats_the_actions_under_new_ids() {
    let mut incident = open(&[(Phase::Containment, Action::Kill)]);
    let mut ids = BTreeSet::new();
    for _ in 0..MAX_TRIES {
        let Some(Directive::Act { id, action: Action::Kill }) = incident.next() else {
            panic!("{incident:?}");
        };
        assert!(ids.insert(id.clone()), "{id} twice");
        feed(&mut incident, Input::Starting(id));
        feed(&mut incident, Input::Finished(Ok("ended 0 processes".into())));
        feed(&mut incident, Input::Verified(verdict(Outcome::Unsatisfied)));
    }
    assert_eq!(incident.state, State::Uncontained);
}

#[test]
fn an_action_that_failed_spoils_its_try_whatever_is_verified() {
    let mut incident = open(&[(Phase::Containment, Action::Kill)]);
    feed(&mut incident, Input::Starting("i1.1".into()));
    feed(&mut incident, Input::Finished(Err("permission denied".into())));
    feed(&mut incident, Input::Verified(verdict(Outcome::Satisfied)));
    assert_eq!((incident.state.clone(), incident.tries), (State::Detected, 1));
    follow(&mut incident);
    assert_eq!(incident.state, State::Closed(Classification::TruePositive));
}

#[test]
fn a_started_action_is_reconciled_after_a_crash() {
    let mut incident = open(&[(Phase::Containment, call(false))]);
    feed(&mut incident, Input::Starting("i1.1".into()));
    let directive = Directive::Reconcile { id: "i1.1".into(), action: call(false) };
    assert_eq!(incident.next(), Some(directive));
    feed(&mut incident, Input::Lost);
    assert_eq!(incident.state, State::Uncontained);
}

#[test]
fn undetermined_fails_the_phase_at_the_first_try() {
    let mut incident = open(&[]);
    feed(&mut incident, Input::Verified(verdict(Outcome::Satisfied)));
    feed(&mut incident, Input::Verified(verdict(Outcome::undetermined("no judge"))));
    let why = "could not be verified: no judge".into();
    assert_eq!(incident.endings.of(Phase::Recovery), Some(&Ending::Failed { why }));
    assert_eq!(incident.state, State::Unrecovered);
}

#[test]
fn recovery_is_skipped_and_eradication_is_not_where_containment_failed() {
    let mut incident = uncontained();
    assert_eq!(incident.state, State::Uncontained);
    assert!(matches!(incident.endings.of(Phase::Recovery), Some(Ending::Failed { .. })));
    assert_eq!(incident.next(), Some(Directive::Eradicate));
    feed(&mut incident, Input::Adopted(adopted()));
    feed(&mut incident, Input::Settle);
    let failed = vec![Phase::Containment, Phase::Recovery];
    assert_eq!(incident.state, State::Escalated(failed));
    assert_eq!(incident.started, 0);
}

#[test]
fn a_person_resumes_dismisses_or_gives_up() {
    let mut escalated = uncontained();
    feed(&mut escalated, Input::SynthesisFailed("nothing can be said".into()));
    feed(&mut escalated, Input::Settle);

    let mut resumed = escalated.clone();
    feed(&mut resumed, Input::Resume(Phase::Containment));
    assert_eq!(resumed.state, State::Detected);
    feed(&mut resumed, Input::Verified(verdict(Outcome::Satisfied)));
    assert_eq!(resumed.state, State::Contained, "recovery, which was skipped, is tried again");
    follow(&mut resumed);
    assert_eq!(
        resumed.state,
        State::Closed(Classification::TruePositive),
        "what is left is escalated again, and the driver dismisses it"
    );

    let mut once = escalated.clone();
    feed(&mut once, Input::Resume(Phase::Eradication));
    assert_eq!(once.state, State::Uncontained);

    let mut dismissed = escalated.clone();
    feed(&mut dismissed, Input::Dismiss(Classification::FalsePositive));
    assert_eq!(dismissed.state, State::Closed(Classification::FalsePositive));

    feed(&mut escalated, Input::GiveUp("too late".into()));
    assert_eq!(escalated.state, State::Failed);
}

#[test]
fn only_a_phase_that_failed_is_resumed() {
    for detection in detections() {
        explore(detection, |before, input, after| {
            if let (Input::Resume(phase), Some(_)) = (input, after) {
                assert!(before.endings.failed().contains(phase), "{before:?}");
            }
        });
    }
}

#[test]
fn an_agent_elsewhere_is_waited_for_in_each_try() {
    let order = Action::Order { told: true, fallback: true };
    let mut incident = open(&[(Phase::Containment, Action::Kill), (Phase::Recovery, order)]);
    for _ in 0..2 {
        let next = incident.next().unwrap();
        for input in happy(next) {
            feed(&mut incident, input);
        }
    }
    assert_eq!(incident.state(), &State::Contained);
    for tried in 0..MAX_TRIES {
        assert_eq!(incident.tries(), tried);
        let Some(Directive::Act { id, .. }) = incident.next() else { panic!("{incident:?}") };
        feed(&mut incident, Input::Starting(id));
        // After a crash here the order is given again.
        assert!(matches!(incident.next(), Some(Directive::Reconcile { .. })));
        feed(&mut incident, Input::OrderGiven { deadline: DEADLINE });
        assert_eq!(incident.next(), Some(Directive::AwaitAgent(DEADLINE)));
        assert_eq!(incident.phase(), Some(Phase::Recovery));
        feed(&mut incident, Input::AgentAnswered(Ok("it wants to end".into())));
        assert_eq!(incident.next(), Some(Directive::Verify(Phase::Recovery)));
        feed(&mut incident, Input::Verified(verdict(Outcome::Unsatisfied)));
    }
    assert_eq!(incident.state(), &State::Unrecovered);
}

#[test]
fn events_survive_json() {
    for detection in detections() {
        explore(detection, |before, input, _| {
            for event in before.handle(input.clone()).unwrap_or_default() {
                let text = serde_json::to_string(&event).unwrap();
                assert_eq!(serde_json::from_str::<IncidentEvent>(&text).unwrap(), event, "{text}");
            }
        });
    }
}

#[test]
fn a_journal_starts_with_a_detection() {
    assert_eq!(Incident::replay(ID.into(), &[]), Err(TransitionError::NotOpened));
    let answered = [IncidentEvent::AgentAnswered];
    assert_eq!(Incident::replay(ID.into(), &answered), Err(TransitionError::NotOpened));
}

#[test]
fn what_makes_no_sense_is_named() {
    let error = open(&[]).handle(Input::Settle).unwrap_err();
    assert_eq!(error.to_string(), "incident is detected: cannot take settle");
}
