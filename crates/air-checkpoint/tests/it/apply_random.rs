//! Random trees, changed at random: what was applied and undone leaves no trace.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink},
    path::PathBuf,
};

use air_checkpoint::{
    Entry, Kind, Place, Tree,
    apply::{Applier, Change, Fate, Siblings},
};
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, removexattr, setxattr};

use crate::apply_world::{World, quick};

#[derive(Debug, Clone)]
enum Deed {
    Write(usize, u8),
    Directory(usize),
    Link(usize, u8),
    Fifo(usize),
    Name(usize, usize),
    Mode(usize, u32),
    Attribute(usize, Option<u8>),
    Owner(usize, u32),
    Remove(usize),
    Move(usize, usize),
}

const NAMES: [&str; 10] = ["a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "f", "f/a"];

fn deed() -> impl Strategy<Value = Deed> {
    let name = 0..NAMES.len();
    prop_oneof![
        4 => (name.clone(), 0..5_u8).prop_map(|(name, text)| Deed::Write(name, text)),
        3 => name.clone().prop_map(Deed::Directory),
        1 => (name.clone(), 0..3_u8).prop_map(|(name, to)| Deed::Link(name, to)),
        1 => name.clone().prop_map(Deed::Fifo),
        3 => (name.clone(), name.clone()).prop_map(|(from, to)| Deed::Name(from, to)),
        2 => (name.clone(), prop::sample::select(vec![0, 0o600, 0o755, 0o4711, 0o2770]))
            .prop_map(|(name, mode)| Deed::Mode(name, mode)),
        2 => (name.clone(), prop::option::of(0..3_u8))
            .prop_map(|(name, value)| Deed::Attribute(name, value)),
        1 => (name.clone(), 0..3_u32).prop_map(|(name, owner)| Deed::Owner(name, owner)),
        2 => name.clone().prop_map(Deed::Remove),
        2 => (name.clone(), name).prop_map(|(from, to)| Deed::Move(from, to)),
    ]
}

fn perform_all(world: &World, deeds: &[Deed]) {
    for deed in deeds {
        perform(world, deed);
    }
}

fn perform(world: &World, deed: &Deed) {
    let path = |index: usize| world.path(NAMES[index]);
    let remove = |path: &PathBuf| {
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    };
    let is_real =
        |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|found| !found.is_symlink());
    // Many do not fit to what is there; those that do are enough.
    match *deed {
        Deed::Write(name, text) => {
            let path = path(name);
            if !fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
                let _ = fs::write(path, [text].repeat(usize::from(text) * 50_000));
            }
        }
        Deed::Directory(name) => drop(fs::create_dir(path(name))),
        Deed::Link(name, to) => drop(symlink(format!("to {to}"), path(name))),
        Deed::Fifo(name) => drop(mknodat(CWD, path(name), FileType::Fifo, Mode::RUSR, 0)),
        Deed::Name(from, to) => drop(fs::hard_link(path(from), path(to))),
        Deed::Mode(name, mode) if is_real(&path(name)) => {
            let _ = fs::set_permissions(path(name), fs::Permissions::from_mode(mode));
        }
        Deed::Attribute(name, value) if is_real(&path(name)) => {
            let (path, key) = (path(name), "user.test");
            let _ = match value {
                Some(value) => setxattr(&path, key, &[value], XattrFlags::empty()),
                None => removexattr(&path, key),
            };
        }
        Deed::Owner(name, owner) if rustix::process::geteuid().is_root() => {
            drop(lchown(path(name), Some(owner), Some(owner)));
        }
        Deed::Mode(..) | Deed::Attribute(..) | Deed::Owner(..) => {}
        Deed::Remove(name) => remove(&path(name)),
        Deed::Move(from, to) => drop(fs::rename(path(from), path(to))),
    }
}

/// Everything that differs, and be it a time.
fn all_changes(from: &Tree, to: &Tree) -> Vec<Change> {
    let places: std::collections::BTreeSet<_> =
        from.entries.keys().chain(to.entries.keys()).collect();
    let change = |place: &Place| {
        let (from, to) = (from.entries.get(place).cloned(), to.entries.get(place).cloned());
        (from != to).then(|| Change { place: place.clone(), from, to })
    };
    places.into_iter().filter_map(change).collect()
}

fn names(tree: &Tree) -> impl Fn(&Entry) -> Vec<Place> {
    |file| {
        let is_name = |entry: &Entry| {
            entry.kind == Kind::File && (entry.device, entry.inode) == (file.device, file.inode)
        };
        let names = tree.entries.iter().filter(|(_, entry)| is_name(entry));
        names.map(|(place, _)| place.clone()).collect()
    }
}

fn settings() -> ProptestConfig {
    // Seeds are kept nowhere: a failure prints its smallest case.
    ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn what_is_applied_is_there_and_its_inverse_leaves_no_trace(
        first in prop::collection::vec(deed(), 1..30),
        second in prop::collection::vec(deed(), 1..20),
    ) {
        let world = World::within(quick());
        perform_all(&world, &first);
        let (before, old) = (world.scan(), world.picture());
        perform_all(&world, &second);
        let (after, new) = (world.scan(), world.picture());

        // Whose directory was renamed has names that did not change.
        let (then, now) = (names(&before), names(&after));
        let apply = |changes: &[Change], names: Siblings<'_>| {
            Applier { siblings: Some(names), ..world.applier() }.apply(changes).expect("it is applied")
        };
        let undone = apply(&all_changes(&after, &before), &then);
        let is_kept = |fate: &Fate| !matches!(fate, Fate::Refused(_));
        prop_assert!(undone.complete && undone.late.is_empty(), "{undone:?}");
        prop_assert!(undone.fates.iter().all(|(_, fate)| is_kept(fate)), "{:?}", undone.fates);
        prop_assert_eq!(world.picture(), old);
        let redone = apply(&undone.inverse, &now);
        prop_assert!(redone.fates.iter().all(|(_, fate)| is_kept(fate)), "{:?}", redone.fates);
        prop_assert_eq!(world.picture(), new);
        prop_assert_eq!(world.left(), Vec::<String>::new());
    }

    #[test]
    fn a_part_of_the_changes_is_undone_as_well(
        first in prop::collection::vec(deed(), 1..30),
        second in prop::collection::vec(deed(), 1..20),
        chosen in prop::collection::vec(any::<bool>(), NAMES.len()),
    ) {
        let world = World::within(quick());
        perform_all(&world, &first);
        let before = world.scan();
        perform_all(&world, &second);
        let (after, new) = (world.scan(), world.picture());

        let changes = all_changes(&after, &before).into_iter().zip(chosen.iter().cycle());
        let changes: Vec<_> =
            changes.filter(|(_, chosen)| **chosen).map(|(change, _)| change).collect();
        let (then, now) = (names(&before), names(&after));
        let applied = Applier { siblings: Some(&then), ..world.applier() }.apply(&changes);
        let applied = applied.expect("it is applied");
        prop_assert!(applied.late.is_empty());
        let undone = Applier { siblings: Some(&now), ..world.applier() }.apply(&applied.inverse);
        let undone = undone.expect("it is undone");
        prop_assert_eq!(world.picture(), new, "{:?} {:?}", applied.fates, undone.fates);
        prop_assert_eq!(world.left(), Vec::<String>::new());
    }
}

#[test]
fn the_deeds_make_what_is_tested() {
    let world = World::new();
    for deed in [
        Deed::Write(0, 1),
        Deed::Name(0, 1),
        Deed::Directory(3),
        Deed::Fifo(4),
        Deed::Link(5, 1),
        Deed::Attribute(0, Some(1)),
        Deed::Mode(0, 0o4711),
    ] {
        perform(&world, &deed);
    }
    let found = world.scan();
    let of = |name: &str| found.entries[&(0, name.as_bytes().to_vec())].clone();
    assert_eq!((of("b").links, of("b").mode, of("b").attributes.len()), (2, 0o4711, 1));
    assert_eq!((of("d/a").kind, of("d").kind), (Kind::Fifo, Kind::Directory));
    assert_eq!(fs::metadata(world.path("b")).unwrap().nlink(), 2);
}
