//! A host that makes AIR's own calls through its agent's tools.

use air_runtime::{Models, Reach, Remediation, Told};
use futures::executor::block_on;

use super::{COPY, Host, is_go, is_over, ordered};

const REMOVAL: &str = "rm -f -- '/workspace/copy'";

impl Host {
    /// One that makes calls, at a harmful call that has come back.
    fn harmed(remediation: Remediation) -> (Self, Told) {
        let mut host = Self::with(remediation);
        host.before("c1", COPY);
        host.run(COPY);
        host.hosted.reach(Reach::Calls);
        let told = host.after("c1", COPY);
        (host, told)
    }
}

/// The commands that the host is to make.
fn issued(told: &Told) -> Vec<&str> {
    let Told::Ordered(ordered) = told else { panic!("it is told to respond: {told:?}") };
    let commands = ordered.calls.iter().map(|call| {
        assert_eq!(call.tool, "shell.exec");
        call.arguments.get("command").and_then(|command| command.as_str()).expect("a command")
    });
    commands.collect()
}

#[test]
fn what_an_incident_created_is_removed_by_a_call_that_air_issues() {
    let (mut host, told) = Host::harmed(Remediation::Agent);
    assert_eq!(issued(&told), [REMOVAL]);
    let told = host.before("t1", REMOVAL);
    assert!(is_go(&told), "{told:?}");
    host.run("rm /workspace/copy");
    assert!(is_over(&host.after("t1", REMOVAL)), "AIR has verified it");
    host.rest();
    let all = host.incidents();
    assert_eq!((all.len(), all[0].0.state().name()), (1, "closed"));
    assert!(all[0].0.adopted().is_some(), "a guardrail was learned");
}

#[test]
fn a_name_is_one_word_whatever_is_in_it() {
    for (said, name, removal) in [
        ("\"/workspace/it's a copy\"", "it's a copy", r"rm -f -- '/workspace/it'\''s a copy'"),
        ("'/workspace/$(x) *'", "$(x) *", "rm -f -- '/workspace/$(x) *'"),
        ("/workspace/-rf", "-rf", "rm -f -- '/workspace/-rf'"),
    ] {
        let mut host = Host::new();
        let command = format!("cp /etc/passwd {said}");
        let path = format!("/workspace/{name}");
        host.before("c1", &command);
        host.world.put(&path, "root:x:0:0");
        host.hosted.reach(Reach::Calls);
        assert_eq!(issued(&host.after("c1", &command)), [removal]);
        let told = host.before("t1", removal);
        assert!(is_go(&told), "{told:?}");
        host.world.remove(&path);
        assert!(is_over(&host.after("t1", removal)), "{name}");
    }
}

#[test]
fn a_host_without_that_power_is_given_words() {
    let (mut host, _) = Host::harmed(Remediation::Agent);
    host.hosted.reach(Reach::Words);
    let told = block_on(host.hosted.stand()).expect("told");
    assert_eq!(issued(&told), [""; 0]);
    // Its own calls are the response as ever.
    assert!(is_go(&host.before("c2", "rm /workspace/copy")));
}

#[test]
fn a_call_that_did_not_help_is_not_issued_again() {
    let (mut host, told) = Host::harmed(Remediation::Agent);
    assert_eq!(issued(&told), [REMOVAL]);
    assert!(is_go(&host.before("t1", REMOVAL)));
    // It has done nothing.
    let told = host.after("t1", REMOVAL);
    assert_eq!(issued(&told), [""; 0], "once");
    assert_eq!(ordered(&host.idle()), 2, "the try counts");
    host.restart();
    host.hosted.reach(Reach::Calls);
    let told = block_on(host.hosted.stand()).expect("told");
    assert_eq!(issued(&told), [""; 0], "nor by another process");
    assert!(is_go(&host.before("c2", "rm /workspace/copy")));
    host.run("rm /workspace/copy");
    assert!(is_over(&host.after("c2", "rm /workspace/copy")));
}

#[test]
fn a_call_that_the_host_does_not_make_is_not_issued_again() {
    let (mut host, told) = Host::harmed(Remediation::Agent);
    assert_eq!(issued(&told), [REMOVAL]);
    let told = host.before("c2", "touch /workspace/page");
    assert_eq!(issued(&told), [""; 0]);
    assert_eq!(issued(&block_on(host.hosted.stand()).expect("told")), [""; 0]);
    assert_eq!(ordered(&host.idle()), 2);
    assert!(is_over(&host.idle()), "the last try is AIR's own");
    assert!(!host.has("/workspace/copy"));
}

#[test]
fn of_calls_at_once_it_removes_what_the_harmful_one_made() {
    let mut host = Host::new();
    for (id, command) in [("c1", COPY), ("c2", "touch /workspace/page")] {
        assert!(is_go(&host.before(id, command)));
        host.run(command);
    }
    host.hosted.reach(Reach::Calls);
    assert!(is_go(&host.after("c2", "touch /workspace/page")));
    host.world.put("/workspace/mine", "a person's");
    assert_eq!(issued(&host.after("c1", COPY)), [REMOVAL]);
}

#[test]
fn what_a_removal_does_not_mend_is_told_in_words() {
    let mut host = Host::new();
    host.world.put("/workspace/page", "important, too");
    let command = "cp /etc/passwd /workspace/copy; rm /workspace/page";
    host.before("c1", command);
    host.run(COPY);
    host.world.remove("/workspace/page");
    host.hosted.reach(Reach::Calls);
    assert_eq!(issued(&host.after("c1", command)), [""; 0]);
}

#[test]
fn an_agent_that_is_on_its_own_gets_no_help() {
    let (_, told) = Host::harmed(Remediation::Alone);
    assert_eq!(issued(&told), [""; 0]);

    let mut host = Host::of(Models { told: false, ..Models::default() });
    host.before("c1", COPY);
    host.run(COPY);
    host.hosted.reach(Reach::Calls);
    assert_eq!(issued(&host.after("c1", COPY)), [""; 0]);
}
