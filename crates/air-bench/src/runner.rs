//! Plays many cases, several at once. Whatever a case does, there is a row of it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use crate::{
    data::Case,
    play::{Plays, Turn, turn},
    row::{Body, Phase, Row},
    store::{Store, StoreError},
};

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Turns that are done.
    pub done: usize,
    /// All of them, as far as is known.
    pub of: usize,
    /// Since it began.
    pub elapsed: Duration,
}

impl Progress {
    /// How long it will take from now on, if it goes on like this.
    pub fn left(&self) -> Option<Duration> {
        let done = u32::try_from(self.done).ok().filter(|done| *done > 0)?;
        let left = u32::try_from(self.of.saturating_sub(self.done)).ok()?;
        Some(self.elapsed / done * left)
    }
}

/// Plays every case in every one of `phases`, in their order, but for what is in `store` already.
///
/// Tells why not everything was played, where models cannot be asked any more.
///
/// # Errors
///
/// If a row cannot be kept.
pub fn run(
    player: &Arc<dyn Plays>,
    cases: &[(Case, Phase)],
    store: &mut Store,
    jobs: usize,
    deadline: Duration,
    mut tell: impl FnMut(Progress),
) -> Result<Option<String>, StoreError> {
    let begun = Instant::now();
    let mut progress = Progress { done: 0, of: cases.len(), elapsed: Duration::ZERO };
    let mut phases: Vec<Phase> = cases.iter().map(|(_, phase)| *phase).collect();
    phases.sort();
    phases.dedup();
    for phase in phases {
        let mut queue = VecDeque::new();
        for (case, _) in cases.iter().filter(|(_, of)| *of == phase) {
            match turn(case, phase, store) {
                Some(turn) if store.row(&case.id, phase).is_none() => queue.push_back(turn),
                _ => progress.done += 1,
            }
        }
        let before = progress.done;
        progress.of = progress.of.max(before + queue.len());
        let queue = Arc::new(Mutex::new(queue));
        let (rows, received) = mpsc::channel();
        for _ in 0..jobs.max(1) {
            let (player, queue, rows) = (Arc::clone(player), Arc::clone(&queue), rows.clone());
            thread::spawn(move || work(&player, &queue, &rows, deadline));
        }
        drop(rows);
        let mut stopped = None;
        for row in received {
            if let Body::Stopped { why } = row.body {
                queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
                stopped = Some(why);
                continue;
            }
            store.put(row)?;
            progress.done += 1;
            progress.elapsed = begun.elapsed();
            tell(progress);
        }
        if stopped.is_some() {
            return Ok(stopped);
        }
    }
    Ok(None)
}

fn work(
    player: &Arc<dyn Plays>,
    queue: &Mutex<VecDeque<Turn>>,
    rows: &mpsc::Sender<Row>,
    deadline: Duration,
) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(turn) = next else { return };
        let begun = Instant::now();
        let (case, phase) = (turn.case.id.clone(), turn.phase);
        let body = within(player, turn, deadline);
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if rows.send(Row { case, phase, ms, body }).is_err() {
            return;
        }
    }
}

/// Plays on a thread of its own, which is left behind where it does not end: the sandbox has limits,
/// and this is for where they fail.
fn within(player: &Arc<dyn Plays>, turn: Turn, deadline: Duration) -> Body {
    let (send, done) = mpsc::channel();
    let player = Arc::clone(player);
    thread::spawn(move || send.send(player.play(&turn)));
    let error = match done.recv_timeout(deadline) {
        Ok(body) => return body,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            format!("the case did not end within {} s", deadline.as_secs())
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            "the harness failed while the case was played".to_owned()
        }
    };
    Body::Failed { error }
}
