//! What is kept of agents' sessions does not grow without end.

use std::{
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use air::{Air, Attended, Settings};
use air_core::id::Timestamp;
use air_facts::LabelTable;
use futures::executor::block_on;

use super::machine::{Agent, Machine, RULES};
use crate::story::said;

const DAY: u64 = 24 * 60 * 60 * 1000;

#[test]
fn what_nobody_will_undo_makes_room_and_its_story_stays() {
    let machine = Machine::attended(RULES);
    // It does not shrink.
    let noise: Vec<u8> =
        (0..2_u32 << 20).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    for name in ["one", "two"] {
        let mut content = noise.clone();
        content.extend(name.bytes());
        std::fs::write(machine.path("project").join(name), content).expect("written");
    }
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t1", "rm one two");
    agent.leave();
    machine.stop();

    let mut settings =
        Settings::new(&machine.path("state/hosts"), &machine.path("state"), Vec::new());
    settings.state = machine.path("state/hosts");
    let open = |budget| {
        let mut settings = settings.clone();
        settings.limits.store_bytes = budget;
        let air = Air::open(settings, LabelTable::built_in().expect("labels")).expect("a store");
        block_on(Attended::open(air, machine.path("home"))).expect("it is free").0
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    let now = u64::try_from(now).expect("before the end of times");
    let kept = |attended: &Attended| {
        attended.air().archive().expect("an archive").sessions().expect("names").len()
    };

    let roomy = open(1 << 30);
    assert!(!roomy.is_crowded().expect("it is known"));
    block_on(roomy.make_room(Timestamp(now + 2 * DAY))).expect("nothing to do");
    assert_eq!(kept(&roomy), 1);
    drop(roomy);
    let narrow = open(1 << 20);
    assert!(narrow.is_crowded().expect("it is known"));
    block_on(narrow.make_room(Timestamp(now))).expect("nothing is old enough");
    assert_eq!(kept(&narrow), 1);
    // What was kept a moment ago may be somebody's who is just about to say so.
    let kept_in = machine.path("state/hosts");
    let mut older = Command::new("find");
    older.arg(&kept_in).args(["-type", "f", "-exec", "touch", "-d", "3 days ago", "{}", "+"]);
    assert!(older.status().expect("it runs").success());
    block_on(narrow.make_room(Timestamp(now + 2 * DAY))).expect("there is room");
    assert_eq!(kept(&narrow), 0);
    assert!(!narrow.is_crowded().expect("it is known"));
    drop(narrow);

    // The agent goes on, and is watched as before.
    machine.start();
    let mut agent = Agent::new(&machine, "s1");
    agent.call("t2", "echo made > made");
    let output = machine.here(&["undo", "--step", "2"]);
    assert!(!machine.path("project/made").exists(), "{}", said(&output));
}
