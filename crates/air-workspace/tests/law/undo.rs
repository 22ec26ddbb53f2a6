//! Undo, and undo of the undo.

use air_core::{id::CheckpointId, port::Workspace};
use air_workspace::{LocalWorkspace, Span, UndoRequest, Undone, UndoneAs};
use futures::executor::block_on;

use crate::{
    Bench, Way, check,
    deeds::{Round, rounds},
    is_there,
    seen::{Seen, differences, outside, with_times_of, without_names, without_times, workspace},
    sees_all,
};

/// Calls in one session.
const CALLS: usize = 5;
const DEEDS: usize = 14;

/// A session that has ended, and the user's files.
struct Ended {
    bench: Bench,
    workspace: LocalWorkspace,
}

impl Ended {
    /// Whether what `before` was has become what is expected.
    fn is(&self, what: &str, expected: &Seen, before: &Seen) -> Result<(), String> {
        let found = outside(&self.bench.root());
        let expected = with_times_of(expected.clone(), &found, before);
        let wrong = differences(&expected, &found);
        if wrong.is_empty() { Ok(()) } else { Err(format!("{what}:\n{wrong}")) }
    }

    fn undo(&self, from: &CheckpointId, to: Option<&CheckpointId>) -> Result<Undone, String> {
        let spans = vec![Span::between(from.clone(), to.cloned())];
        let request = UndoRequest { spans, only: Vec::new(), dry_run: false };
        fine(block_on(self.workspace.undo(request)).map_err(|error| error.to_string())?)
    }

    fn again(&self, undone: &Undone) -> Result<Undone, String> {
        let Some(id) = undone.id.clone() else { return Ok(Undone::default()) };
        let again = block_on(self.workspace.undo_again(id, false));
        fine(again.map_err(|error| error.to_string())?)
    }
}

fn fine(undone: Undone) -> Result<Undone, String> {
    let wrong = |done: &UndoneAs| matches!(done, UndoneAs::Refused(_) | UndoneAs::Merged);
    match undone.paths.iter().find(|(_, done)| wrong(done)) {
        Some((path, done)) => Err(format!("{path:?}: {done:?}")),
        None if undone.late.is_empty() => Ok(undone),
        None => Err(format!("late: {:?}", undone.late)),
    }
}

fn law(way: Way, rounds: &[Round]) -> Result<(), String> {
    let bench = Bench::new(way);
    let start = outside(&bench.root());
    let mut states: Vec<(CheckpointId, Seen)> = Vec::new();
    for round in rounds {
        let id = bench.checkpoint();
        let played = bench.play(&round.deeds, !sees_all());
        states.push((id, workspace(&played.before)));
    }
    let seen = workspace(&bench.play(&[], false).after);
    if way == Way::Layered && !differences(&start, &outside(&bench.root())).is_empty() {
        return Err("the user's files changed before they were handed over".to_owned());
    }
    let end = bench.checkpoint();
    let published = block_on(bench.workspace.publish()).unwrap();
    if let Some(held) = published.filter(|published| !published.held_back.is_empty()) {
        return Err(format!("held back: {:?}", held.held_back));
    }
    let ended = outside(&bench.root());
    let plain =
        |seen: &Seen| if way == Way::Layered { without_names(seen.clone()) } else { seen.clone() };
    let wrong = differences(&without_times(plain(&seen)), &without_times(plain(&ended)));
    if !wrong.is_empty() {
        return Err(format!("the user has not what the agent saw:\n{wrong}"));
    }
    let workspace = LocalWorkspace::open_ended(bench.config.clone()).unwrap();
    let all = Ended { bench, workspace };

    let undone = all.undo(&states[0].0, None).map_err(|why| format!("undo: {why}"))?;
    all.is("undo of all", &start, &ended)?;
    let redone = all.again(&undone).map_err(|why| format!("redo: {why}"))?;
    all.is("redo of all", &ended, &start)?;
    let twice = all.again(&redone).map_err(|why| format!("redo of the redo: {why}"))?;
    all.is("redo of the redo", &start, &ended)?;
    all.again(&twice).map_err(|why| format!("and back: {why}"))?;
    all.is("and back", &ended, &start)?;

    // Step by step backwards.
    let mut after: Option<&CheckpointId> = Some(&end);
    let mut done = Vec::new();
    for (at, (id, then)) in states.iter().enumerate().rev() {
        let undone = all.undo(id, after).map_err(|why| format!("undo of call {at}: {why}"))?;
        let found = outside(&all.bench.root());
        let wrong = differences(&without_times(plain(then)), &without_times(plain(&found)));
        if !wrong.is_empty() {
            return Err(format!("undo of call {at}:\n{wrong}"));
        }
        done.push(undone);
        after = Some(id);
    }
    all.is("undo of all calls", &start, &ended)?;
    for undone in done.iter().rev() {
        all.again(undone).map_err(|why| format!("redo of a call: {why}"))?;
    }
    // By then, names of one file may have been changed one by one.
    let wrong = differences(
        &without_times(without_names(ended)),
        &without_times(without_names(outside(&all.bench.root()))),
    );
    if wrong.is_empty() { Ok(()) } else { Err(format!("redo of all calls:\n{wrong}")) }
}

#[test]
fn undo_of_what_was_handed_over_leads_back_and_forth() {
    check(&[(Way::Layered, 32)], &rounds(CALLS, DEEDS), law);
}

#[test]
fn undo_of_what_was_done_in_place_leads_back_and_forth() {
    check(&[(Way::Direct, 22), (Way::Landlock, 22)], &rounds(CALLS, DEEDS), law);
}

#[test]
fn a_file_with_two_names_goes_back_and_forth() {
    let round = |text: &str| Round { deeds: crate::deeds::plain(text), back: None };
    for way in [Way::Direct, Way::Layered] {
        if is_there(way) {
            law(way, &[round("replace 10 10 509"), round("write 0 0 1")]).unwrap();
        }
    }
}
