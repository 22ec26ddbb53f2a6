//! Laws of the session machine, over every state that can be reached with three steps.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::port::Tier;

/// One of every event, and more where its content matters.
fn events() -> Vec<SessionEvent> {
    let opened = SessionEvent::Opened {
        task: "p1".into(),
        agent: "react".into(),
        tier: Tier::T3,
        rules: "d1".into(),
        judge: None,
        beside: None,
    };
    let gated = SessionEvent::Gated {
        index: 1,
        tool: "bash".into(),
        step: None,
        gate: Gate::Block,
        hits: vec![],
        undetermined: vec![],
        shadow: vec![],
    };
    let mut events = vec![opened, gated, SessionEvent::Released, SessionEvent::TaskEnded];
    events.push(undone());
    for index in 1..=3 {
        events.push(started(index));
        if index == 1 {
            events.push(SessionEvent::StepGoesOn { index, background: "b1".into() });
        }
        for review in [Review::Continue, Review::Ask, Review::Respond] {
            events.push(reviewed(index, review));
        }
    }
    events.push(SessionEvent::ApprovalAsked {
        approval: "a1".into(),
        tool: "bash".into(),
        call: "p3".into(),
        question: "let `bash` run?".into(),
        until: Timestamp(60_000),
    });
    for (allowed, by) in
        [(true, DecidedBy::Operator), (false, DecidedBy::Operator), (false, DecidedBy::Timeout)]
    {
        events.push(SessionEvent::ApprovalGiven { approval: "a1".into(), allowed, by });
    }
    for incident in ["i1", "i2"].map(IncidentId::from) {
        events.extend([
            SessionEvent::ResponseStarted { incident: incident.clone(), index: 1 },
            SessionEvent::ResponseEnded { incident: incident.clone() },
            SessionEvent::ResponseEscalated { incident: incident.clone() },
            SessionEvent::ResponseResumed { incident },
        ]);
    }
    events
}

fn started(index: u32) -> SessionEvent {
    SessionEvent::StepStarted {
        index,
        call: "c1".into(),
        tool: "bash".into(),
        step: "p2".into(),
        checkpoint: "k1".into(),
        approval: None,
    }
}

fn undone() -> SessionEvent {
    SessionEvent::Undone { change: "u1".into(), redo_of: None, summary: String::new() }
}

fn reviewed(index: u32, review: Review) -> SessionEvent {
    SessionEvent::StepReviewed {
        index,
        review,
        done: "p".into(),
        undetermined: vec![],
        shadow: vec![],
    }
}

/// Visits every event in every state: before, the event, and after where it is admitted.
fn explore(mut visit: impl FnMut(&Session, &SessionEvent, Option<&Session>)) {
    let mut seen = BTreeSet::new();
    let mut todo: Vec<Vec<SessionEvent>> = vec![vec![]];
    while let Some(path) = todo.pop() {
        let before = Session::replay(&path);
        let mut key = before.clone();
        key.revision = key.revision.min(1);
        if !seen.insert(format!("{key:?}")) {
            continue;
        }
        assert!(seen.len() < 5_000, "the states are not finite");
        assert_eq!(before.revision(), path.len() as u64);
        for event in events() {
            let admitted = before.admits(&event).is_ok();
            let mut longer = path.clone();
            longer.push(event.clone());
            let after = Session::replay(&longer);
            visit(&before, &event, admitted.then_some(&after));
            if admitted {
                todo.push(longer);
            }
        }
    }
}

fn after(events: &[SessionEvent]) -> Session {
    let mut session = Session::default();
    for event in events {
        session.admits(event).unwrap();
        session.apply(event);
    }
    session
}

fn opened() -> SessionEvent {
    events().remove(0)
}

#[test]
fn transitions() {
    let mut table: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    explore(|before, event, after| {
        if let Some(after) = after {
            let row = table.entry((before.status.name(), event.name())).or_default();
            row.insert(after.status.name());
        }
    });
    let row = |((status, event), next): (&(&str, &str), &BTreeSet<&str>)| {
        let next: Vec<&str> = next.iter().copied().collect();
        format!("{status:<10} | {event:<18} | {}", next.join(" / "))
    };
    insta::assert_snapshot!(table.iter().map(row).collect::<Vec<_>>().join("\n"));
}

#[test]
fn once_it_is_terminated_and_no_call_runs_it_can_only_be_undone() {
    explore(|before, event, after| {
        let over = before.status == Status::Terminated && before.open.is_empty();
        let undone = matches!(event, SessionEvent::Undone { .. });
        assert!(!over || after.is_none() || undone, "{event:?} in {before:?}");
    });
}

#[test]
fn nothing_is_undone_while_a_call_runs_or_air_responds() {
    explore(|before, event, after| {
        if matches!(event, SessionEvent::Undone { .. }) && after.is_some() {
            let over = before.status == Status::Terminated;
            assert!(over || before.open.is_empty(), "{before:?}");
            assert!(!matches!(before.status, Status::Responding { .. }), "{before:?}");
        }
    });
}

#[test]
fn a_call_that_outlives_the_task_may_be_an_incident_of_its_own() {
    let started = |id: &str, index| SessionEvent::ResponseStarted { incident: id.into(), index };
    let ended = |id: &str| SessionEvent::ResponseEnded { incident: id.into() };
    let escalated = |id: &str| SessionEvent::ResponseEscalated { incident: id.into() };
    let responding = |id: &str| Status::Responding { incident: id.into() };
    let mut session = Session::replay(&events()[..1]);
    let mut take = |event: SessionEvent| {
        session.admits(&event).unwrap();
        session.apply(&event);
        session.status().clone()
    };
    for index in 1..=3 {
        take(self::started(index));
    }
    assert_eq!(take(started("i1", 1)), responding("i1"));
    assert_eq!(take(started("i2", 2)), responding("i1"), "it has its turn later");
    assert_eq!(take(escalated("i1")), responding("i2"));
    let waits = Status::Unresolved { incident: "i1".into() };
    assert_eq!(take(ended("i2")), waits, "a person is still needed");
    assert_eq!(take(ended("i1")), Status::Terminated);
    assert_eq!(take(started("i3", 3)), responding("i3"), "it ran on");
    assert_eq!(take(ended("i3")), Status::Terminated);
}

#[test]
fn a_session_opens_once_and_before_all_else() {
    explore(|before, event, after| {
        let opens = matches!(event, SessionEvent::Opened { .. });
        assert!(after.is_none() || opens == (before.revision == 0), "{event:?} in {before:?}");
    });
}

#[test]
fn no_step_starts_unless_monitored_and_not_held() {
    explore(|before, event, after| {
        if let (SessionEvent::StepStarted { index, .. }, Some(after)) = (event, after) {
            assert_eq!(before.status, Status::Monitoring);
            assert!(!before.held);
            assert!(*index > before.last_index);
            assert!(after.open.contains_key(index));
        }
    });
}

#[test]
fn only_an_open_step_is_reviewed_and_only_once() {
    explore(|before, event, after| {
        if let (SessionEvent::StepReviewed { index, .. }, Some(after)) = (event, after) {
            assert!(before.open.contains_key(index));
            assert!(!after.open.contains_key(index));
        }
    });
}

#[test]
fn a_call_that_goes_on_stays_open_under_the_name_that_the_host_gives_it() {
    let goes_on = SessionEvent::StepGoesOn { index: 1, background: "b1".into() };
    let session = after(&[opened(), started(1), goes_on.clone()]);
    assert_eq!(session.open_steps()[&1].background.as_deref(), Some("b1"));
    let session = after(&[opened(), started(1), reviewed(1, Review::Continue)]);
    assert!(session.admits(&goes_on).is_err());
}

#[test]
fn a_response_ends_only_for_its_own_incident() {
    use SessionEvent as E;
    explore(|before, event, after| {
        let (
            E::ResponseEnded { incident: named }
            | E::ResponseEscalated { incident: named }
            | E::ResponseResumed { incident: named },
            Some(_),
        ) = (event, after)
        else {
            return;
        };
        let (Status::Responding { incident } | Status::Unresolved { incident }) = &before.status
        else {
            panic!("{event:?} in {before:?}");
        };
        assert_eq!(incident, named);
    });
}

#[test]
fn a_person_releases_a_held_session() {
    let mut session = after(&[opened(), started(1), reviewed(1, Review::Ask)]);
    assert!(session.held());
    let error = session.admits(&started(2)).unwrap_err();
    assert_eq!(error.to_string(), "session is monitoring: cannot take `step_started`");
    session.apply(&SessionEvent::Released);
    assert_eq!(session.admits(&started(2)), Ok(()));
    assert!(session.admits(&SessionEvent::Released).is_err());
}

#[test]
fn a_step_to_respond_to_holds_the_session_until_the_response_starts() {
    let session = after(&[opened(), started(1), reviewed(1, Review::Respond)]);
    assert!(session.admits(&started(2)).is_err(), "a crash in between must not let a call pass");
    let start = SessionEvent::ResponseStarted { incident: "i1".into(), index: 1 };
    assert_eq!(session.admits(&start), Ok(()));
}

#[test]
fn a_step_open_at_the_incident_stays_open() {
    let start = SessionEvent::ResponseStarted { incident: "i1".into(), index: 1 };
    let session = after(&[opened(), started(1), started(2), start]);
    assert_eq!(session.open_steps().keys().copied().collect::<Vec<_>>(), [2]);
    assert_eq!(session.admits(&reviewed(2, Review::Continue)), Ok(()));
}

#[test]
fn events_survive_json() {
    for event in events() {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<SessionEvent>(&text).unwrap(), event, "{text}");
    }
}
