//! The clock of the machine goes forward or back: between a question and its answer, and between steps.

use air_core::id::Timestamp;
use air_runtime::{Told, Waiting};
use futures::executor::block_on;

use super::{COPY, Host, is_go, is_over, ordered};

/// Questions of these tests are open for one minute.
const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;

impl Host {
    fn set(&self, now: u64) {
        self.stage.counting.set(Timestamp(now));
    }

    fn asked(&mut self) -> Waiting {
        match self.before("c1", "deploy now") {
            Told::Waiting(waiting) => waiting,
            other => panic!("it waits: {other:?}"),
        }
    }

    /// The question is over; the same call is asked about anew, with the time of the clock as it is.
    #[track_caller]
    fn is_asked_anew(&mut self, before: &Waiting, now: u64) {
        let late = block_on(self.hosted.answer(&before.approval, true));
        assert!(late.is_err(), "its time is over at {now}");
        let again = self.asked();
        assert_ne!(again.approval, before.approval, "{now}");
        assert!((now..=now + 2 * MINUTE).contains(&again.until.0), "{now}: {again:?}");
    }
}

#[test]
fn a_question_whose_time_seems_over_is_not_granted() {
    for now in [DAY + MINUTE, 2 * DAY, 1000 * DAY] {
        let mut host = Host::new();
        host.set(DAY);
        let waiting = host.asked();
        host.set(now + 10);
        host.is_asked_anew(&waiting, now);
        assert!(is_go(&host.before("c3", "ls")), "others go on");
        // Nor when the clock is set right again.
        host.set(DAY + 10);
        assert!(block_on(host.hosted.answer(&waiting.approval, true)).is_err(), "{now}");
    }
}

#[test]
fn a_clock_that_goes_back_keeps_no_question_open_for_ever() {
    for now in [0, DAY / 2, DAY - 2 * MINUTE] {
        let mut host = Host::new();
        host.set(DAY);
        let waiting = host.asked();
        host.set(now);
        // Who looks after what nobody asks about finds it as well.
        host.rest();
        host.is_asked_anew(&waiting, now);
    }
}

#[test]
fn a_clock_that_is_set_right_by_a_little_changes_nothing() {
    for now in [DAY - MINUTE / 2, DAY - 1, DAY + MINUTE / 2] {
        let mut host = Host::new();
        host.set(DAY);
        let waiting = host.asked();
        host.set(now);
        assert_eq!(host.before("c2", "deploy now"), Told::Waiting(waiting.clone()), "{now}");
        block_on(host.hosted.answer(&waiting.approval, true)).expect("in time");
        host.set(now / 2);
        assert!(is_go(&host.before("c3", "deploy now")), "what was granted is granted");
        assert!(matches!(host.before("c4", "deploy now"), Told::Waiting(_)), "once");
    }
}

#[test]
fn after_a_restart_it_is_the_same() {
    let mut host = Host::new();
    host.set(DAY);
    let waiting = host.asked();
    host.restart();
    host.set(0);
    let again = host.asked();
    assert_ne!(again.approval, waiting.approval);
    assert!(again.until.0 <= 2 * MINUTE, "{again:?}");
}

#[test]
fn an_incident_is_put_right_whatever_the_clock_says_between_its_steps() {
    for jumps in [[DAY, 0, 2 * DAY, 0], [0, DAY, 0, DAY], [DAY, DAY / 2, DAY / 4, 0]] {
        let mut host = Host::new();
        let [first, second, third, fourth] = jumps;
        host.set(first);
        assert!(is_go(&host.before("c1", COPY)));
        host.run(COPY);
        host.set(second);
        assert_eq!(ordered(&host.after("c1", COPY)), 3);
        host.set(third.min(second));
        assert!(is_go(&host.before("c2", "rm /workspace/copy")), "{jumps:?}");
        host.run("rm /workspace/copy");
        host.set(fourth.min(second));
        assert!(is_over(&host.after("c2", "rm /workspace/copy")), "{jumps:?}");
        host.rest();
        let all = host.incidents();
        assert_eq!((all.len(), all[0].0.state().name()), (1, "closed"), "{jumps:?}");
    }
}

#[test]
fn an_order_whose_time_seems_over_is_carried_out_by_air() {
    let mut host = Host::new();
    host.before("c1", COPY);
    host.run(COPY);
    ordered(&host.after("c1", COPY));
    // Each try has its time.
    for day in 1..=3 {
        host.set(day * DAY);
        host.rest();
    }
    assert!(!host.has("/workspace/copy"), "it was not waited for");
    assert!(is_over(&host.before("c2", "ls")));
    assert_eq!(host.incidents()[0].0.state().name(), "closed");
}

#[test]
fn an_order_is_not_waited_for_for_ever_because_the_clock_went_back() {
    let mut host = Host::new();
    host.set(100 * DAY);
    host.before("c1", COPY);
    host.run(COPY);
    ordered(&host.after("c1", COPY));
    for day in (1..=3).rev() {
        host.set(day * DAY);
        host.rest();
    }
    assert!(!host.has("/workspace/copy"), "it was not waited for");
    assert!(is_over(&host.before("c2", "ls")));
}
