//! One application of changes, from its intent to its record.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs::File,
    io,
};

use rustix::{
    fs::{AtFlags, FileType, statat},
    process::geteuid,
};

use super::{
    Applied, Applier, Change, Fate, Late,
    act::{self, Outcome},
    ahead::{FEW, Identity, Systems, identity},
    aside,
    decide::{self, Deed, Eye, Step},
    intent::{Frame, Log},
    meta, site, sqlite,
};
use crate::{
    scan,
    tree::{Entry, Kind, Place},
};

/// How often a place that somebody else changes is decided upon.
const TRIES: u32 = 8;

pub(super) struct Run<'a> {
    pub(super) applier: &'a Applier<'a>,
    pub(super) log: Log,
    pub(super) changes: Vec<Change>,
    pub(super) steps: Vec<Step>,
    pub(super) fates: Vec<Option<Fate>>,
    /// Directories that had to be opened up, with their modes.
    pub(super) opened: BTreeMap<Place, u32>,
    pub(super) displaced: Vec<(Place, String)>,
    pub(super) late: Vec<Late>,
    /// Side files whose old one is out already.
    pub(super) taken_out: HashSet<usize>,
    /// Databases that are locked.
    pub(super) locks: BTreeMap<Place, File>,
    /// New databases, locked until the end.
    pub(super) held: Vec<File>,
    /// Files that are written and not put at their places yet.
    pub(super) ahead: HashMap<usize, Identity>,
    /// Files that were made.
    pub(super) made: HashMap<usize, Identity>,
    /// Whether it goes on with what another process began.
    pub(super) again: bool,
    touched: BTreeSet<Place>,
    complete: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(applier: &'a Applier<'a>, log: Log, changes: Vec<Change>) -> Self {
        Self {
            applier,
            log,
            fates: vec![None; changes.len()],
            changes,
            steps: Vec::new(),
            opened: BTreeMap::new(),
            displaced: Vec::new(),
            late: Vec::new(),
            taken_out: HashSet::new(),
            locks: BTreeMap::new(),
            held: Vec::new(),
            ahead: HashMap::new(),
            made: HashMap::new(),
            again: false,
            touched: BTreeSet::new(),
            complete: true,
        }
    }

    pub(super) fn eye(&self) -> Eye<'_> {
        Eye { store: Some(self.applier.store), opened: &self.opened }
    }

    /// Opens up the directories that are closed to this process and belong to it, each written down
    /// before. A root that has gone is made again.
    pub(super) fn open_up(&mut self) {
        let mut directories = BTreeSet::new();
        for change in &self.changes {
            let mut place = site::parent(&change.place);
            while let Some(directory) = place {
                place = site::parent(&directory);
                directories.insert(directory);
            }
        }
        for place in directories {
            let puts = |change: &Change| change.place.0 == place.0 && change.to.is_some();
            if place.1.is_empty() && self.changes.iter().any(puts) {
                self.make_root(&place);
            }
            if geteuid().is_root() {
                continue;
            }
            // What cannot be opened is refused later, by what is in it.
            let _ = self.open_directory(&place);
        }
    }

    fn make_root(&self, place: &Place) {
        let Some(root) = self.applier.roots.get(place.0) else { return };
        let is_change = self.changes.iter().any(|change| change.place == *place);
        if !is_change && !root.host.exists() {
            // What fails here fails again, and is told, at what is in it.
            let _ = std::fs::create_dir_all(&root.host);
        } else if is_change && let Some(parent) = root.host.parent() {
            let _ = std::fs::create_dir_all(parent);
        }
    }

    fn open_directory(&mut self, place: &Place) -> io::Result<()> {
        let handle = site::spot(self.applier.roots, place)?.handle()?;
        let stat = rustix::fs::fstat(&handle)?;
        let mode = stat.st_mode & 0o7777;
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        if !is_directory || mode & 0o700 == 0o700 || stat.st_uid != geteuid().as_raw() {
            return Ok(());
        }
        if !self.opened.contains_key(place) {
            self.log.append(&Frame::Opened(place.clone(), mode))?;
            self.opened.insert(place.clone(), mode);
        }
        site::set_mode(&handle, mode | 0o700)
    }

    /// Writes down what is decided, before any of it is done.
    pub(super) fn decided(&mut self, steps: Vec<Step>) -> io::Result<()> {
        self.steps = steps;
        self.log.append(&Frame::Decided(self.steps.clone()))
    }

    /// Leaves everything as it was.
    pub(super) fn give_up(&mut self) {
        self.steps.clear();
        self.close_directories();
        self.log.remove();
    }

    pub(super) fn go(&mut self) {
        let all = 0..self.changes.len();
        if self.again {
            for index in all.clone() {
                self.guarded(index, act::resume);
            }
        }
        sqlite::lock(self);
        // What is in a directory sorts after it.
        for index in all.clone().rev() {
            if self.steps.get(index).is_some_and(Step::removes) {
                self.perform(index);
            }
        }
        for index in all.clone() {
            if self.is_side_swap(index) && !self.taken_out.contains(&index) {
                self.guarded(index, act::take_side_out);
            }
        }
        // What is altered may have other names, which are replaced as they were decided upon.
        self.perform_all(|deed| matches!(deed, Deed::Put(goal) if goal.kind != Kind::File));
        self.put_files();
        self.perform_all(|deed| matches!(deed, Deed::Link(..)));
        self.perform_all(|_| true);
        for index in all.rev() {
            self.finish_directory(index);
        }
        self.close_directories();
    }

    fn perform_all(&mut self, is_due: fn(&Deed) -> bool) {
        for index in 0..self.changes.len() {
            if self.steps.get(index).is_some_and(|step| is_due(&step.deed)) {
                self.perform(index);
            }
        }
    }

    fn is_side_swap(&self, index: usize) -> bool {
        let (Some(change), Some(step)) = (self.changes.get(index), self.steps.get(index)) else {
            return false;
        };
        let replaces = step.was.is_some() && matches!(step.deed, Deed::Put(_));
        replaces && self.is_open(index) && sqlite::is_side_file(&change.place)
    }

    pub(super) fn is_open(&self, index: usize) -> bool {
        self.fates.get(index).is_some_and(Option::is_none)
    }

    pub(super) fn perform(&mut self, index: usize) {
        for _ in 0..TRIES {
            if !self.is_open(index) {
                return;
            }
            self.guarded(index, act::attempt);
        }
        if self.is_open(index) {
            self.settle(index, Fate::Refused("it keeps changing: try again later".to_owned()));
        }
    }

    fn guarded(&mut self, index: usize, act: fn(&mut Self, usize) -> io::Result<Outcome>) {
        if !self.is_open(index) {
            return;
        }
        match act(self, index) {
            Ok(Outcome::Done) => {
                let fate = self.steps.get(index).map_or(Fate::Already, Step::fate);
                self.settle(index, fate);
            }
            Ok(Outcome::Refused(why)) => self.settle(index, Fate::Refused(why)),
            Ok(Outcome::Open) => {}
            Ok(Outcome::Raced) => self.decide_anew(index),
            Err(error) => self.failed(index, &error),
        }
    }

    fn failed(&mut self, index: usize, error: &io::Error) {
        let full =
            matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        if !full && self.taken_out.remove(&index) {
            // What cannot go back now goes back, or is found, when this is gone on with.
            let _ = act::give_back(self, index);
        }
        if full || act::is_halfway(self, index) {
            self.complete = false;
        }
        self.settle(index, Fate::Refused(act::why(error)));
    }

    fn decide_anew(&mut self, index: usize) {
        let Some(change) = self.changes.get(index) else { return };
        let mut step = decide::one(self.applier, change, self.eye());
        self.taken_out.remove(&index);
        let old = self.steps.get(index).map(|step| &step.deed);
        if let Some(Deed::Link(goal, leader)) = old
            && let Deed::Put(_) | Deed::Alter(_) | Deed::Nothing = step.deed
        {
            let goal = step.goal().unwrap_or(goal).clone();
            step.deed = Deed::Link(goal, leader.clone());
        }
        if let Err(error) = self.log.append(&Frame::Again(index, step.clone())) {
            self.failed(index, &error);
            return;
        }
        let fate = step.fate();
        let ends = matches!(step.deed, Deed::Nothing | Deed::Refuse(_));
        if let Some(old) = self.steps.get_mut(index) {
            *old = step;
        }
        if ends {
            self.settle(index, fate);
        }
    }

    fn settle(&mut self, index: usize, fate: Fate) {
        if let Some(old) = self.fates.get_mut(index) {
            *old = Some(fate);
        }
        let parent = self.changes.get(index).and_then(|change| site::parent(&change.place));
        self.touched.extend(parent);
    }

    /// Refuses a place at which nothing has been done, but that its file may be taken out.
    pub(super) fn refuse_undone(&mut self, index: usize, why: &str) {
        let step = self.steps.get(index);
        let acts = step.is_some_and(|step| !matches!(step.deed, Deed::Nothing | Deed::Refuse(_)));
        if !acts || !self.is_open(index) {
            return;
        }
        if self.taken_out.remove(&index) && act::give_back(self, index).is_err() {
            self.complete = false;
        }
        self.settle(index, Fate::Refused(why.to_owned()));
    }

    /// Notes where something went that was swapped out.
    pub(super) fn displaced(&mut self, index: usize, kept: Option<String>, why: Option<&str>) {
        let Some(place) = self.changes.get(index).map(|change| change.place.clone()) else {
            return;
        };
        let name = kept.unwrap_or_else(|| "objects".to_owned());
        // The report has them in any case; the log is for who goes on after a crash.
        if let Some(why) = why {
            let late = Late { place, kept: name, why: why.to_owned() };
            let _ = self.log.note(&Frame::Late(late.clone()));
            self.late.push(late);
        } else {
            let _ = self.log.note(&Frame::Displaced(place.clone(), name.clone()));
            self.displaced.push((place, name));
        }
    }

    /// Names what was moved away by a process that ended before it could say so.
    fn find_unnamed(&mut self) {
        let late = self.late.iter().map(|late| &late.kept);
        let named = self.displaced.iter().map(|(_, kept)| kept).chain(late);
        let named: HashSet<String> = named.cloned().collect();
        for (index, kept) in aside::list(self.applier.directory, &self.log.id) {
            if named.contains(&kept) {
                continue;
            }
            let was = self.steps.get(index).and_then(|step| step.was.as_ref()?.digest);
            let is_known = was.is_some_and(|was| kept.ends_with(&was.to_string()));
            let why = "somebody changed it at the moment at which the process ended";
            self.displaced(index, Some(kept), (!is_known).then_some(why));
        }
    }

    /// Modes and times of directories, which everything else changed.
    fn finish_directory(&mut self, index: usize) {
        let (Some(change), Some(step)) = (self.changes.get(index), self.steps.get(index)) else {
            return;
        };
        let refused = matches!(self.fates.get(index), Some(Some(Fate::Refused(_))));
        let goal = match &step.deed {
            Deed::Nothing => change.to.as_ref(),
            _ => step.goal(),
        };
        let Some(goal) = goal.filter(|goal| goal.kind == Kind::Directory && !refused) else {
            return;
        };
        let finished = site::spot(self.applier.roots, &change.place).and_then(|spot| {
            let handle = spot.handle()?;
            let stat = rustix::fs::fstat(&handle)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            meta::give(&handle, goal)
        });
        if let Err(error) = finished {
            self.failed(index, &error);
        }
    }

    fn close_directories(&mut self) {
        let steps = self.changes.iter().zip(&self.steps);
        let altered: HashSet<&Place> = steps
            .filter(|(_, step)| step.goal().is_some() || step.removes())
            .map(|(change, _)| &change.place)
            .collect();
        // The inner ones first.
        for (place, mode) in self.opened.iter().rev() {
            if !altered.contains(place) {
                // One that has gone meanwhile needs no mode.
                let _ = site::spot(self.applier.roots, place)
                    .and_then(|spot| spot.handle())
                    .and_then(|handle| site::set_mode(&handle, *mode));
            }
        }
    }

    pub(super) fn end(mut self) -> Applied {
        // What a failing machine loses here is found and done again: the intent is there.
        let _ = self.write_names_through();
        self.find_unnamed();
        for (place, kept) in &self.displaced {
            if aside::has_changed(self.applier.directory, kept) {
                self.late.push(Late {
                    place: place.clone(),
                    kept: kept.clone(),
                    why: "a program wrote to it after it was swapped out".to_owned(),
                });
            }
        }
        let (mut inverse, mut made) = (Vec::new(), Vec::new());
        for index in 0..self.changes.len() {
            if let Some(change) = self.inverse(index) {
                made.extend(self.made_at(index, &change));
                inverse.push(change);
            }
        }
        let places = self.changes.iter().map(|change| change.place.clone());
        let fates = self.fates.iter().map(|fate| fate.clone().unwrap_or(Fate::Already));
        let mut applied = Applied {
            id: self.log.id.clone(),
            fates: places.zip(fates).collect(),
            inverse,
            late: self.late,
            displaced: self.displaced,
            made,
            complete: self.complete,
            earlier: Vec::new(),
        };
        if applied.complete {
            applied.complete = self.log.end(&applied).is_ok();
        }
        applied
    }

    fn write_names_through(&self) -> io::Result<()> {
        let mut systems = Systems::default();
        for place in &self.touched {
            let Ok(spot) = site::spot(self.applier.roots, &(place.0, join(&place.1))) else {
                continue;
            };
            if self.touched.len() <= FEW {
                rustix::fs::fsync(&spot.parent)?;
            } else {
                systems.add(identity(&spot.parent)?.0, spot.parent);
            }
        }
        systems.write_through()
    }

    fn inverse(&self, index: usize) -> Option<Change> {
        let (change, step) = (self.changes.get(index)?, self.steps.get(index)?);
        if matches!(self.fates.get(index)?, None | Some(Fate::Refused(_))) {
            return None;
        }
        let was = step.was.clone();
        let is = match &step.deed {
            Deed::Nothing => {
                let (now, to) = (was.as_ref()?, change.to.as_ref()?);
                // The other names are needed to tie them together again.
                let has_names = now.kind == Kind::File && (now.links > 1 || to.links > 1);
                if !has_names && now.mtime_ns == to.mtime_ns {
                    return None;
                }
                was.clone()
            }
            _ => step.goal().cloned(),
        };
        let from = is.map(|is| self.as_it_is(&change.place, is));
        Some(Change { place: change.place.clone(), from, to: was })
    }

    /// The file that was made at a place, if it is there and nobody has written to it: it would not
    /// have the time that it was given.
    fn made_at(&self, index: usize, inverse: &Change) -> Option<(Place, Entry)> {
        let goal = self.steps.get(index)?.goal()?;
        let now = inverse.from.as_ref()?;
        let is_ours = self.made.get(&index) == Some(&(now.device, now.inode));
        let is_as_made = now.mtime_ns == goal.mtime_ns && now.size == goal.size;
        let is_old =
            !scan::is_doubtful(&Entry { ctime_ns: now.mtime_ns, ..now.clone() }, now.ctime_ns);
        (is_ours && is_as_made && is_old).then(|| (inverse.place.clone(), now.clone()))
    }

    /// With the identity and the times that it has by now.
    fn as_it_is(&self, place: &Place, goal: Entry) -> Entry {
        let stat = site::spot(self.applier.roots, place)
            .and_then(|spot| Ok(statat(&spot.parent, &spot.name, AtFlags::SYMLINK_NOFOLLOW)?));
        let Ok(stat) = stat else { return goal };
        let found = scan::entry(&stat, goal.kind.clone());
        Entry { digest: goal.digest, kept: goal.kept, attributes: goal.attributes, ..found }
    }
}

/// A name in the directory, to open it by.
fn join(directory: &[u8]) -> Vec<u8> {
    if directory.is_empty() { b"x".to_vec() } else { [directory, b"/x"].concat() }
}
