//! A process that ends at any append of a story, and the next one that goes on.

use air_core::incident::IncidentEvent;
use air_runtime::Told;
use futures::executor::block_on;

use super::{COPY, Host};

/// One thing that the host tells, and what it does by itself where AIR lets it.
#[derive(Debug, Clone, Copy)]
enum Tells {
    Before(&'static str, &'static str),
    After(&'static str, &'static str),
    Idle,
    Rest,
}

const STORY: [Tells; 8] = [
    Tells::Before("c1", COPY),
    Tells::After("c1", COPY),
    Tells::Before("c2", "touch /workspace/other"),
    Tells::Idle,
    Tells::Before("c3", "rm /workspace/copy"),
    Tells::After("c3", "rm /workspace/copy"),
    Tells::Idle,
    Tells::Rest,
];

/// Tells the story; the `n`-th append and all after it fail, until the next process is there. Whether the
/// host asks again what was not answered.
fn tell(n: u64, again: bool) -> (Host, bool) {
    let mut host = Host::new();
    host.stage.store.fail_from(n);
    let (mut crashed, mut ran) = (false, Vec::new());
    for tells in STORY {
        for _ in 0..2 {
            let told = match tells {
                Tells::Before(id, command) => host.try_before(id, command),
                // What did not run does not come back.
                Tells::After(id, _) if !ran.contains(&id) => break,
                Tells::After(id, command) => host.try_after(id, command),
                Tells::Idle => block_on(host.hosted.idle(&[])),
                Tells::Rest => block_on(host.hosted.rest()).map(|_| Told::Go { notes: Vec::new() }),
            };
            match (tells, told) {
                (Tells::Before(id, command), Ok(Told::Go { .. })) => {
                    host.run(command);
                    ran.push(id);
                    break;
                }
                (_, Ok(_)) => break,
                (_, Err(_)) => {
                    assert!(!crashed, "the store works again");
                    crashed = true;
                    host.restart();
                    if !again {
                        break;
                    }
                }
            }
        }
    }
    // The agent comes to an end, whatever it was told.
    for _ in 0..6 {
        host.idle();
        host.rest();
    }
    (host, crashed)
}

#[test]
fn a_process_that_ends_at_any_append_loses_nothing_and_repeats_nothing() {
    for again in [true, false] {
        let mut n = 0;
        loop {
            n += 1;
            let (host, crashed) = tell(n, again);
            let case = format!("append {n}, asked again: {again}");
            assert!(!host.has("/workspace/copy"), "{case}");
            assert!(host.has("/workspace/keep"), "{case}");
            let all = host.incidents();
            assert!(all.len() <= 1, "{case}");
            for (incident, events) in &all {
                assert_eq!(incident.state().name(), "closed", "{case}: {events:#?}");
                let acted = events.iter().filter(|event| {
                    matches!(event, IncidentEvent::AgentActed { refused: None, .. })
                });
                assert!(acted.count() <= 1, "no call of the response counts twice: {case}");
            }
            if !crashed {
                assert!(n > 20, "the story has many appends: {n}");
                assert_eq!(all.len(), 1);
                break;
            }
        }
    }
}
