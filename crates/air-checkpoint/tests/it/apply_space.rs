//! No space, other file systems, and a directory of AIR's own that fails.

use std::{fs, path::Path, process::Command};

use air_checkpoint::apply::{ApplyError, Fate, changes};

use crate::apply_world::{World, fate, refusal};

#[test]
fn what_is_swapped_out_to_another_file_system_is_in_the_store() {
    let (world, _root) = World::apart();
    world.write("a", "old");
    let before = world.scan();
    world.write("a", "new");
    world.write("made", "made");
    let after = world.scan();
    let applied = world.apply(&changes(&after, &before));
    assert!(applied.fates.iter().all(|(_, fate)| *fate == Fate::Done), "{applied:?}");
    assert_eq!(world.read("a"), "old");
    let undone = world.apply(&applied.inverse);
    assert!(undone.fates.iter().all(|(_, fate)| *fate == Fate::Done), "{undone:?}");
    assert_eq!((world.read("a"), world.read("made")), ("new".to_owned(), "made".to_owned()));
    assert_eq!(world.left(), Vec::<String>::new());
}

#[test]
fn what_cannot_be_written_down_is_not_done() {
    let world = World::new();
    world.write("a", "old");
    let before = world.scan();
    world.write("a", "new");
    let after = world.scan();
    world.write("../air/intents", "not a directory");
    let applied = world.applier().apply(&changes(&after, &before));
    assert!(matches!(applied, Err(ApplyError::Intent(_))), "{applied:?}");
    assert_eq!(world.read("a"), "new");
}

#[test]
fn a_newer_record_is_not_guessed_at() {
    let world = World::new();
    let id = world.apply(&[]).id;
    world.write(&format!("../air/records/{id}"), "air-apply 2\n");
    assert!(matches!(world.applier().record(&id), Err(ApplyError::Record(..))));
    world.write("../air/intents/1", "air-apply 2\n");
    assert!(matches!(world.applier().recover(), Err(ApplyError::Record(..))));
}

/// Runs in a mount name space of its own, with a root that is too small.
#[test]
fn too_little_space() {
    let Some(path) = std::env::var_os("AIR_TEST_CHILD") else { return };
    let world = World::at(Path::new(&path));
    let text = |letter: &str| letter.repeat(150_000);
    world.write("big", text("a"));
    world.write("small", "old");
    let before = world.scan();
    fs::remove_file(world.path("big")).unwrap();
    world.write("small", "new");
    let after = world.scan();
    world.write("person's", text("b"));
    let undo = changes(&after, &before);
    let applied = world.apply(&undo);
    assert!(refusal(&applied, "big").contains("no space is left"), "{applied:?}");
    assert_eq!(fate(&applied, "small"), &Fate::Done);
    assert!(!applied.complete);
    assert_eq!(world.applier().record(&applied.id).unwrap(), None);
    assert_eq!(world.left(), Vec::<String>::new());
    fs::remove_file(world.path("person's")).unwrap();
    let recovered = world.applier().recover().unwrap();
    assert_eq!(recovered.len(), 1);
    assert!(recovered[0].complete && recovered[0].id == applied.id);
    assert!(recovered[0].fates.iter().all(|(_, fate)| *fate == Fate::Done), "{recovered:?}");
    assert_eq!((world.read("big"), world.read("small")), (text("a"), "old".to_owned()));
}

#[test]
fn without_space_the_rest_is_refused_and_gone_on_with_later() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let script = r#"mount -t tmpfs -o size=256k tmpfs "$1" || exit 77
        exec "$2" --exact apply_space::too_little_space"#;
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", script, "sh"])
        .arg(&root)
        .arg(std::env::current_exe().unwrap())
        .env("AIR_TEST_CHILD", dir.path())
        .output();
    // Machines that allow no such mount test the rest.
    let Ok(output) = output.ok().filter(|output| output.status.code() != Some(77)).ok_or(()) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}
