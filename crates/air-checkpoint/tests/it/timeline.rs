//! What a power failure leaves of a timeline.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use air_checkpoint::{Entry, Kind, Scope, Timeline, Tree};

fn observe(timeline: &mut Timeline, names: &[&str]) -> String {
    let entry = Entry {
        kind: Kind::File,
        mode: 0o644,
        uid: 0,
        gid: 0,
        size: 0,
        mtime_ns: 0,
        ctime_ns: 0,
        inode: 0,
        device: 0,
        links: 1,
        digest: None,
        kept: false,
        attributes: Vec::new(),
    };
    let entries = names.iter().map(|name| ((0, name.as_bytes().to_vec()), entry.clone()));
    timeline.observe(&Scope::Everything, Tree { entries: entries.collect(), ..Tree::default() });
    timeline.checkpoint().unwrap()
}

#[test]
fn a_torn_head_or_checkpoint_costs_the_last_checkpoint_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let mut timeline = Timeline::open(folder.path()).unwrap();
    let one = observe(&mut timeline, &["a"]);
    let two = observe(&mut timeline, &["a", "b"]);
    let path = |name: &str| folder.path().join(name);
    let hour = Duration::from_hours(1);
    let file = fs::File::options().append(true).open(path(&one)).unwrap();
    file.set_modified(SystemTime::now() - hour).unwrap();
    for torn in [&b""[..], b"\0\0\0\0", &two.as_bytes()[..5], b"\xff\xfe", b"../../x"] {
        fs::write(path("head"), torn).unwrap();
        let timeline = Timeline::open(folder.path()).unwrap();
        assert_eq!(timeline.last(), Some(&*two), "{torn:?}");
        assert!(timeline.is_behind());
        assert_eq!(timeline.tree().entries.len(), 2);
        assert!(!Timeline::open(folder.path()).unwrap().is_behind(), "it is repaired");
    }
    let whole = fs::read(path(&two)).unwrap();
    for length in [0, 3, 40, whole.len() / 2 + 40, whole.len() - 1] {
        fs::write(path(&two), &whole[..length]).unwrap();
        fs::write(path("head"), &two).unwrap();
        let mut timeline = Timeline::open(folder.path()).unwrap();
        assert_eq!(timeline.last(), Some(&*one), "{length}");
        assert_eq!(Timeline::contents(folder.path()).unwrap().len(), 0);
        assert_eq!(observe(&mut timeline, &["a", "b"]), two, "it goes on");
    }
    fs::write(path(&one), "").unwrap();
    fs::write(path(&two), "").unwrap();
    fs::write(path("head"), "").unwrap();
    let mut timeline = Timeline::open(folder.path()).unwrap();
    assert_eq!(timeline.last(), None);
    assert!(timeline.is_behind());
    observe(&mut timeline, &["a"]);
    assert_eq!(Timeline::open(folder.path()).unwrap().tree().entries.len(), 1);
}

#[test]
fn a_checkpoint_of_another_version_is_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut timeline = Timeline::open(folder.path()).unwrap();
    observe(&mut timeline, &["a"]);
    let two = observe(&mut timeline, &["a", "b"]);
    let newer = "air checkpoint 3\nwhatever";
    fs::write(folder.path().join(two), newer).unwrap();
    assert!(Timeline::open(folder.path()).is_err());
}
