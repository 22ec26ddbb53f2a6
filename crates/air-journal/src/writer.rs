//! The thread that writes. It takes what is waiting and commits it as one group.

use std::{
    io,
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, JoinHandle},
};

use air_core::port::Durability;
use futures::channel::oneshot;
use rusqlite::{Connection, TransactionBehavior};

use crate::{
    error::StoreError,
    failpoint::Failpoints,
    key::Key,
    store::{self, Row},
};

/// How many requests one commit may carry.
const GROUP_LIMIT: usize = 256;

/// What is to be written.
#[derive(Debug)]
pub(crate) enum Job {
    Append { stream: String, expected: u64, rows: Vec<Row>, durability: Durability },
    PutPayload { id: String, content: Vec<u8> },
    ErasePayload { id: String },
    PutGuardrail { id: String, version: u32, body: String },
}

/// Whether it changed anything.
type Outcome = Result<bool, StoreError>;

struct Request {
    job: Job,
    reply: oneshot::Sender<Outcome>,
}

/// The way to the thread. Dropped, it waits until everything that was asked for is done.
#[derive(Debug)]
pub(crate) struct Writer {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(conn: Connection, key: Key) -> io::Result<Self> {
        let (requests, queue) = mpsc::channel();
        let state = State { conn, key, durability: None, failpoints: Failpoints::from_env() };
        let thread = thread::Builder::new()
            .name("air-journal".to_owned())
            .spawn(move || state.run(&queue))?;
        Ok(Self { requests: Some(requests), thread: Some(thread) })
    }

    /// Has it written. If the thread ended, also by a panic, this is an error and never waits.
    pub(crate) async fn write(&self, job: Job) -> Outcome {
        let (reply, answer) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or(StoreError::Stopped)?;
        requests.send(Request { job, reply }).map_err(|_| StoreError::Stopped)?;
        answer.await.unwrap_or(Err(StoreError::Stopped))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been reported to whoever waited.
            let _ = thread.join();
        }
    }
}

struct State {
    conn: Connection,
    key: Key,
    durability: Option<Durability>,
    failpoints: Failpoints,
}

impl State {
    fn run(mut self, queue: &Receiver<Request>) {
        let limit = if self.failpoints.singly() { 1 } else { GROUP_LIMIT };
        while let Ok(first) = queue.recv() {
            let mut group = vec![first];
            while group.len() < limit
                && let Ok(next) = queue.try_recv()
            {
                group.push(next);
            }
            self.serve(group);
        }
    }

    fn serve(&mut self, group: Vec<Request>) {
        let mut outcomes = self.commit(&group).map_err(|error| vec![error; group.len()]);
        for request in group.into_iter().rev() {
            let outcome = match &mut outcomes {
                Ok(outcomes) => outcomes.pop().unwrap_or(Err(StoreError::Stopped)),
                Err(errors) => Err(errors.pop().unwrap_or(StoreError::Stopped)),
            };
            // Whoever asked may have gone; it is written all the same.
            let _ = request.reply.send(outcome);
        }
    }

    /// All requests in one transaction, each in a savepoint of its own.
    fn commit(&mut self, group: &[Request]) -> Result<Vec<Outcome>, StoreError> {
        let power = group.iter().any(|request| request.job.power());
        self.wait_for(if power { Durability::Power } else { Durability::Process })?;
        let numbers: Vec<u64> =
            group.iter().filter_map(|request| request.job.arrived(&self.failpoints)).collect();
        let mut tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut outcomes = Vec::with_capacity(group.len());
        for request in group {
            let savepoint = tx.savepoint()?;
            let outcome = request.job.run(&savepoint, &self.key);
            match &outcome {
                Ok(_) => savepoint.commit()?,
                Err(_) => drop(savepoint),
            }
            // After some errors SQLite has rolled everything back, the others' work included.
            if let Err(error) = &outcome
                && tx.is_autocommit()
            {
                return Err(error.clone());
            }
            outcomes.push(outcome);
        }
        for number in &numbers {
            self.failpoints.before_commit(*number);
        }
        tx.commit()?;
        for number in &numbers {
            self.failpoints.after_commit(*number);
        }
        if group.iter().any(|request| matches!(request.job, Job::ErasePayload { .. })) {
            let emptied = self.empty_log();
            for (request, outcome) in group.iter().zip(&mut outcomes) {
                if let (Job::ErasePayload { .. }, Ok(_), Err(error)) =
                    (&request.job, &outcome, &emptied)
                {
                    *outcome = Err(error.clone());
                }
            }
        }
        Ok(outcomes)
    }

    /// The log may still hold what was erased.
    fn empty_log(&self) -> Result<(), StoreError> {
        let busy: bool =
            self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy {
            return Err(StoreError::Unusable(
                "payload is erased, but a copy stays in the write-ahead log while another process \
                 reads the journal; erase it again later"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    // FULL syncs the log at the commit, and with it whatever was committed before at NORMAL. The
    // setting can only change between transactions.
    fn wait_for(&mut self, durability: Durability) -> Result<(), StoreError> {
        if self.durability != Some(durability) {
            let level = match durability {
                Durability::Process => "NORMAL",
                Durability::Power => "FULL",
            };
            self.conn.pragma_update(None, "synchronous", level)?;
            self.durability = Some(durability);
        }
        Ok(())
    }
}

impl Job {
    /// Payloads need no sync of their own: the record that names one syncs it too.
    fn power(&self) -> bool {
        match self {
            Self::Append { durability, .. } => *durability == Durability::Power,
            Self::PutPayload { .. } => false,
            Self::ErasePayload { .. } | Self::PutGuardrail { .. } => true,
        }
    }

    fn arrived(&self, failpoints: &Failpoints) -> Option<u64> {
        match self {
            Self::Append { stream, rows, .. } => {
                Some(failpoints.arrived(stream, rows.iter().map(|row| row.body.as_str())))
            }
            Self::PutPayload { .. } | Self::ErasePayload { .. } | Self::PutGuardrail { .. } => None,
        }
    }

    fn run(&self, conn: &Connection, key: &Key) -> Outcome {
        match self {
            Self::Append { stream, expected, rows, .. } => {
                store::append(conn, key, stream, *expected, rows).map(|()| true)
            }
            Self::PutPayload { id, content } => {
                store::put_payload(conn, id, content).map(|()| true)
            }
            Self::ErasePayload { id } => store::erase_payload(conn, id),
            Self::PutGuardrail { id, version, body } => {
                store::put_guardrail(conn, id, *version, body).map(|()| true)
            }
        }
    }
}
