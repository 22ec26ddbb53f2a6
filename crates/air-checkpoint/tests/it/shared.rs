//! Many who look at the same roots, each at its own times: all see what a full scan sees.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use air_checkpoint::{Dirty, Looker, Root, Scanner, Tree, Watches};

struct Eyes {
    looker: Looker,
    roots: Vec<Root>,
    tree: Tree,
}

fn scanner<'a>(roots: &'a [Root], known: &'a Tree) -> Scanner<'a> {
    Scanner { roots, known, store: None, retained_file_bytes: 1 << 20, entries: 1 << 20 }
}

impl Eyes {
    fn on(watches: &Arc<Watches>, host: &Path) -> Self {
        let roots = vec![Root { host: host.to_path_buf(), agent: PathBuf::from("/w") }];
        let looker = watches.looker(&roots).unwrap();
        let mut eyes = Self { looker, roots, tree: Tree::default() };
        assert!(eyes.look(), "the first look is at everything");
        eyes
    }

    /// Looks at what is dirty, and proves that nothing else has changed; whether that was everything.
    fn look(&mut self) -> bool {
        let dirty = self.looker.dirty();
        let known = self.tree.clone();
        dirty.look(&scanner(&self.roots, &known), &mut self.tree);
        let full = scanner(&self.roots, &Tree::default()).scan();
        assert_eq!(self.tree.entries, full.entries, "{dirty:?}");
        matches!(dirty, Dirty::Everything(_))
    }
}

fn tree(dir: &tempfile::TempDir, name: &str) -> PathBuf {
    let host = dir.path().join(name);
    fs::create_dir_all(host.join("d")).unwrap();
    fs::write(host.join("d/f"), "one").unwrap();
    host
}

#[test]
fn each_is_told_what_it_has_not_seen() {
    let dir = tempfile::tempdir().unwrap();
    let host = tree(&dir, "root");
    let watches = Watches::new(&dir.path().join("private"));
    let (mut often, mut seldom) = (Eyes::on(&watches, &host), Eyes::on(&watches, &host));
    for round in 0..5 {
        fs::write(host.join("d/f"), format!("two {round}")).unwrap();
        assert!(!often.look());
        fs::create_dir_all(host.join("new/deep")).unwrap();
        assert!(!often.look());
        fs::write(host.join("new/deep/f"), "three").unwrap();
        assert!(!often.look());
        fs::rename(host.join("new/deep"), host.join("deep")).unwrap();
        assert!(!often.look());
        fs::remove_dir_all(host.join("deep")).unwrap();
    }
    seldom.look();
    often.look();
    fs::write(host.join("d/g"), "late").unwrap();
    assert!(!seldom.look());
}

#[test]
fn a_name_that_was_there_between_two_looks_of_another_is_no_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let host = tree(&dir, "root");
    let watches = Watches::new(&dir.path().join("private"));
    let (mut often, mut seldom) = (Eyes::on(&watches, &host), Eyes::on(&watches, &host));
    fs::hard_link(host.join("d/f"), host.join("other")).unwrap();
    often.look();
    fs::write(host.join("other"), "changed by another name").unwrap();
    fs::remove_file(host.join("other")).unwrap();
    assert!(seldom.look(), "the name came and went");
    often.look();
}

#[test]
fn who_has_no_queue_looks_at_everything() {
    let dir = tempfile::tempdir().unwrap();
    let hosts = ["one", "two", "three"].map(|name| tree(&dir, name));
    let watches = Watches::at_most(2, &dir.path().join("private"));
    let mut eyes: Vec<Eyes> = hosts.iter().map(|host| Eyes::on(&watches, host)).collect();
    let mut looks = |at: usize| {
        fs::write(hosts[at].join("d/f"), format!("{at}")).unwrap();
        eyes[at].look()
    };
    // The first was looked at longest ago: the third has its queue.
    assert!(!looks(2));
    assert!(!looks(1));
    assert!(looks(0), "it had none");
    assert!(!looks(0), "now it has, and the third none");
    assert!(looks(2));
}

#[test]
fn a_root_that_is_replaced_is_so_for_all() {
    let dir = tempfile::tempdir().unwrap();
    let host = tree(&dir, "root");
    let watches = Watches::new(&dir.path().join("private"));
    let mut eyes = [Eyes::on(&watches, &host), Eyes::on(&watches, &host)];
    fs::rename(&host, dir.path().join("gone")).unwrap();
    tree(&dir, "root");
    for eyes in &mut eyes {
        assert!(eyes.look());
        assert!(!eyes.look());
    }
}

#[test]
fn nobody_left_to_look_frees_the_queue() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (tree(&dir, "one"), tree(&dir, "two"));
    let watches = Watches::at_most(1, &dir.path().join("private"));
    let mut first = Eyes::on(&watches, &one);
    drop(Eyes::on(&watches, &two));
    assert!(first.look(), "the other had the queue");
    fs::write(one.join("d/f"), "again").unwrap();
    assert!(!first.look());
}
