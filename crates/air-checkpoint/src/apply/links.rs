//! Names of one file: those that shall be so become so again, those that shall not are parted.

use std::collections::{HashMap, HashSet};

use super::{
    Applier, Change,
    decide::{Deed, Step, look},
};
use crate::tree::{Entry, Kind, Place};

type File = (u64, u64);

fn identity(entry: &Entry) -> File {
    (entry.device, entry.inode)
}

pub(super) fn connect(applier: &Applier<'_>, changes: &[Change], steps: &mut [Step]) {
    let mut files: HashMap<File, Vec<usize>> = HashMap::new();
    for (index, change) in changes.iter().enumerate() {
        if let Some(to) = change.to.as_ref().filter(|to| to.kind == Kind::File) {
            files.entry(identity(to)).or_default().push(index);
        }
    }
    part(changes, steps);
    let mut files: Vec<Vec<usize>> = files.into_values().collect();
    files.sort();
    let changing: HashSet<&Place> = changes.iter().map(|change| &change.place).collect();
    for members in files {
        join(applier, (changes, &changing), steps, &members);
    }
}

/// What is one file now and shall be several: all but the first get copies of their own, and so does
/// what shall have no other name.
fn part(changes: &[Change], steps: &mut [Step]) {
    let mut first: HashMap<File, File> = HashMap::new();
    for (change, step) in changes.iter().zip(steps) {
        let has_names =
            |was: &&Entry| was.links > 1 && !matches!(was.kind, Kind::Directory | Kind::Other);
        let Some(was) = step.was.as_ref().filter(has_names) else { continue };
        let Some(to) = change.to.as_ref().filter(|to| to.kind == was.kind) else { continue };
        if !matches!(step.deed, Deed::Nothing | Deed::Alter(_)) {
            continue;
        }
        let kept = *first.entry(identity(was)).or_insert_with(|| identity(to));
        // It was tied to names that are not among the changes.
        let from = change.from.as_ref().map(identity);
        let tied = to.links == 1 && from == Some(identity(was)) && from != Some(identity(to));
        if (tied || kept != identity(to)) && (was.digest.is_some() || was.kind != Kind::File) {
            step.deed = Deed::Put(Entry { digest: was.digest, ..to.clone() });
        }
    }
}

fn join(
    applier: &Applier<'_>,
    (changes, changing): (&[Change], &HashSet<&Place>),
    steps: &mut [Step],
    members: &[usize],
) {
    let acts = |step: &Step| !matches!(step.deed, Deed::Refuse(_));
    let members: Vec<usize> =
        members.iter().copied().filter(|index| steps.get(*index).is_some_and(acts)).collect();
    let Some((change, to)) = members
        .first()
        .and_then(|index| changes.get(*index))
        .and_then(|change| Some((change, change.to.as_ref()?)))
        .filter(|(_, to)| to.links > 1)
    else {
        return;
    };
    let others = applier.siblings.map(|siblings| siblings(to)).unwrap_or_default();
    let other = others.into_iter().filter(|place| !changing.contains(place)).find_map(|place| {
        let now = look(applier, change, &place, None).ok()??;
        to.is_same(&now).then(|| (place, identity(&now)))
    });
    // The file of most of the names stays, so that as little as possible changes.
    let stays = |index: &&usize| {
        let step = steps.get(**index);
        step.is_some_and(|step| matches!(step.deed, Deed::Nothing | Deed::Alter(_)))
    };
    let file_of = |index: usize| steps.get(index)?.was.as_ref().map(identity);
    let mut names: HashMap<Option<File>, usize> = HashMap::new();
    for index in members.iter().filter(stays) {
        *names.entry(file_of(*index)).or_default() += 1;
    }
    let first = members.iter().filter(stays).rev();
    let first = first.max_by_key(|index| names.get(&file_of(**index)));
    let first = first.or(members.first()).copied();
    let Some((leader, file)) = other.or_else(|| {
        let index = first?;
        let stays = stays(&&index);
        let file = file_of(index).filter(|_| stays).unwrap_or_default();
        Some((changes.get(index)?.place.clone(), file))
    }) else {
        return;
    };
    for index in members {
        let (Some(change), Some(step)) = (changes.get(index), steps.get_mut(index)) else {
            continue;
        };
        let is_so = matches!(step.deed, Deed::Nothing | Deed::Alter(_))
            && step.was.as_ref().is_some_and(|was| identity(was) == file);
        if change.place == leader || is_so {
            continue;
        }
        let goal = step.goal().or(change.to.as_ref()).cloned();
        if let Some(goal) = goal {
            step.deed = Deed::Link(goal, leader.clone());
        }
    }
}
