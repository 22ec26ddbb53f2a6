//! The plain cases, and merges.

use std::fs;

use air_checkpoint::apply::{Applied, ApplyError, Fate, changes, describe};

use crate::apply_world::{World, fate, refusal};

#[test]
fn what_an_agent_did_is_undone_and_done_again() {
    let world = World::new();
    world.write("kept", "kept");
    world.write("changed", "old");
    world.write("removed", "removed");
    fs::create_dir(world.path("gone")).unwrap();
    world.write("gone/in it", "in it");
    let before = world.scan();
    let picture = world.picture();

    world.write("changed", "new");
    fs::remove_file(world.path("removed")).unwrap();
    fs::remove_dir_all(world.path("gone")).unwrap();
    fs::create_dir_all(world.path("made/deep")).unwrap();
    world.write("made/deep/file", "made");
    let after = world.scan();
    let later = world.picture();

    let undo = changes(&after, &before);
    let planned: Vec<_> =
        world.plan(&undo).into_iter().map(|plan| (plan.place, plan.fate)).collect();
    assert_eq!(world.picture(), later);
    let undone = world.apply(&undo);
    assert!(undone.complete && undone.late.is_empty(), "{undone:?}");
    assert_eq!(undone.fates, planned);
    assert!(undone.fates.iter().all(|(_, fate)| *fate == Fate::Done), "{undone:?}");
    assert_eq!(world.picture(), picture);
    let recorded = Applied { made: Vec::new(), ..undone.clone() };
    assert_eq!(world.applier().record(&undone.id).unwrap(), Some(recorded));

    let again = world.apply(&undo);
    assert!(again.fates.iter().all(|(_, fate)| *fate == Fate::Already), "{again:?}");

    let redone = world.apply(&undone.inverse);
    assert!(redone.fates.iter().all(|(_, fate)| *fate == Fate::Done), "{redone:?}");
    assert_eq!(world.picture(), later);
    assert_eq!(world.left(), Vec::<String>::new());
    assert!(world.applier().recover().unwrap().is_empty());

    world.applier().forget(&undone.id).unwrap();
    assert_eq!(world.applier().record(&undone.id).unwrap(), None);
}

#[test]
fn texts_that_somebody_else_changed_are_merged() {
    let world = World::new();
    let text = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n{last}\n");
    world.write("a", text("1", "8"));
    let before = world.scan();
    world.write("a", text("agent", "8"));
    let after = world.scan();
    world.write("a", text("agent", "person"));
    let changes = changes(&after, &before);

    let planned = world.plan(&changes);
    assert_eq!(planned[0].fate, Fate::Merged);
    assert_eq!(planned[0].merged.as_deref(), Some(text("1", "person").as_bytes()));
    let applied = world.apply(&changes);
    assert_eq!(fate(&applied, "a"), &Fate::Merged);
    assert_eq!(world.read("a"), text("1", "person"));
    world.apply(&applied.inverse);
    assert_eq!(world.read("a"), text("agent", "person"));
}

#[test]
fn a_conflict_touches_nothing() {
    let mut world = World::new();
    world.write("a", "1\n");
    world.write("binary", b"\0one");
    let before = world.scan();
    world.write("a", "agent\n");
    world.write("binary", b"\0agent");
    let after = world.scan();
    world.write("a", "person\n");
    world.write("binary", b"\0person");
    let changes = changes(&after, &before);
    let applied = world.apply(&changes);
    assert!(refusal(&applied, "a").contains("merge them by hand"), "{applied:?}");
    assert!(refusal(&applied, "binary").contains("no text"), "{applied:?}");
    assert_eq!(world.read("a"), "person\n");
    world.merge = false;
    assert_eq!(refusal(&world.apply(&changes), "a"), "it was changed since");
}

#[test]
fn modes_and_contents_are_merged_each_by_itself() {
    let world = World::new();
    world.write("a", "1\n");
    world.mode("a", 0o600);
    let before = world.scan();
    world.write("a", "agent\n");
    let after = world.scan();
    world.mode("a", 0o640);
    let applied = world.apply(&changes(&after, &before));
    assert_eq!(fate(&applied, "a"), &Fate::Merged);
    let entry = world.scan().entries[&(0, b"a".to_vec())].clone();
    assert_eq!((entry.mode, world.read("a").as_str()), (0o640, "1\n"));
}

#[test]
fn two_at_once_are_told_apart() {
    let world = World::new();
    let lock = fs::File::create(world.directory.join("lock")).unwrap();
    lock.lock().unwrap();
    assert!(matches!(world.applier().apply(&[]), Err(ApplyError::Busy)));
}

#[test]
fn a_plan_is_readable() {
    let world = World::new();
    world.write("a", "one\ntwo\nthree\n");
    world.write("b", b"\0\x01");
    world.mode("b", 0o600);
    let before = world.scan();
    world.write("a", "one\n2\nthree\n");
    world.write("b", vec![0; 12_345]);
    world.mode("b", 0o644);
    std::os::unix::fs::symlink("a", world.path("link\x1b[2J")).unwrap();
    let after = world.scan();
    let planned = world.plan(&changes(&after, &before));
    let applier = world.applier();
    let content = |plan: &_, entry: &_| applier.content(plan, entry);
    let text = describe(&world.roots, &planned, &content, 10_000);
    assert_eq!(
        text,
        "--- /project/a\n+++ /project/a\n@@ -1,3 +1,3 @@\n one\n-2\n+two\n three\n\
         /project/b: mode 644 -> 600\n/project/b: binary, 12 kB -> 2 B\n\
         /project/link\u{fffd}[2J: remove link to a\n"
    );
    let short = describe(&world.roots, &planned, &content, 40);
    assert!(short.len() < 60 && short.ends_with("... and more\n"), "{short}");
}
