//! What was attempted, in order, within bounds.

use std::{
    collections::{HashMap, VecDeque},
    net::SocketAddr,
};

use super::target::Who;
use crate::protocol::{Connection, Direction, Transport};

/// Connections recorded one by one between two marks.
const MOST_A_STEP: usize = 4096;
/// Connections kept in all.
const MOST: usize = 4 * MOST_A_STEP;
/// Bytes kept of one connection.
const PAYLOAD_BYTES: usize = 1 << 20;
/// Bytes kept between two marks.
const PAYLOAD_A_STEP_BYTES: usize = 16 << 20;
/// Connections of which bytes are kept between two marks.
const PAYLOADS_A_STEP: usize = 256;
/// Of a host's name: its bytes may have been escaped.
const HOST_CHARS: usize = 255;
/// Bytes of an answer.
const ANSWER_BYTES: usize = 8 << 20;

/// Names a record. Never used twice.
pub(super) type Id = u64;

#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) host: String,
    pub(super) to: SocketAddr,
    pub(super) transport: Transport,
    pub(super) direction: Direction,
    pub(super) who: Who,
    pub(super) delivered: bool,
    pub(super) bytes: u64,
    payload: Vec<u8>,
    truncated: bool,
}

impl Record {
    pub(super) fn new(host: &str, to: SocketAddr, transport: Transport, who: Who) -> Self {
        let (direction, delivered) = (Direction::Out, false);
        let (bytes, payload, truncated) = (0, Vec::new(), false);
        let host = host.chars().take(HOST_CHARS).collect();
        Self { host, to, transport, direction, who, delivered, bytes, payload, truncated }
    }

    pub(super) fn local(mut self, delivered: bool) -> Self {
        self.direction = Direction::Local;
        self.delivered = delivered;
        self
    }

    /// Names the host, as far as only its address was known.
    pub(super) fn name(&mut self, host: &str) {
        if self.host == self.to.ip().to_canonical().to_string() {
            self.host = host.chars().take(HOST_CHARS).collect();
        }
    }

    pub(super) fn is_local(&self) -> bool {
        self.direction == Direction::Local
    }
}

/// What connections have in common that only differ in how often.
type Place = (String, SocketAddr, Transport, Direction);

#[derive(Debug, Default)]
pub(super) struct Log {
    records: VecDeque<Record>,
    /// The id of the first that is still there.
    first: Id,
    marks: VecDeque<Id>,
    /// The first of each kind since the mark: further ones are added to it when there are too many.
    places: HashMap<Place, Id>,
    payloads: usize,
    payload_bytes: usize,
    /// The id that the last one would have had that was not recorded.
    dropped_at: Option<Id>,
}

impl Log {
    /// The id of the next record.
    pub(super) fn next(&self) -> Id {
        self.first + u64::try_from(self.records.len()).unwrap_or(u64::MAX)
    }

    fn last_mark(&self) -> Id {
        self.marks.back().copied().unwrap_or_default()
    }

    /// Separates what was from what comes.
    pub(super) fn mark(&mut self) -> Id {
        let mark = self.next();
        // What came before the mark before is asked for no more, or with less.
        let old = self.last_mark();
        let aged = usize::try_from(old.saturating_sub(self.first)).unwrap_or(usize::MAX);
        for record in self.records.iter_mut().take(aged) {
            record.truncated |= !record.payload.is_empty();
            record.payload = Vec::new();
        }
        self.marks = [old, mark].into();
        (self.payloads, self.payload_bytes) = (0, 0);
        self.places.clear();
        while self.records.len() > MOST {
            self.records.pop_front();
            self.first += 1;
        }
        mark
    }

    /// `None` if there are too many of different kinds.
    pub(super) fn open(&mut self, record: Record) -> Option<Id> {
        let id = self.next();
        let place = (record.host.clone(), record.to, record.transport, record.direction);
        if id - self.last_mark() >= u64::try_from(MOST_A_STEP).unwrap_or(u64::MAX) {
            let same = self.places.get(&place).copied();
            if same.is_none() {
                self.dropped_at = Some(id);
            }
            return same;
        }
        self.places.entry(place).or_insert(id);
        self.records.push_back(record);
        Some(id)
    }

    pub(super) fn get_mut(&mut self, id: Option<Id>) -> Option<&mut Record> {
        let at = id?.checked_sub(self.first)?;
        self.records.get_mut(usize::try_from(at).ok()?)
    }

    /// Adds what was sent. After a mark it goes to a record of its own, whose id takes the place.
    pub(super) fn sent(&mut self, id: &mut Option<Id>, content: &[u8]) {
        let Some(old) = *id else { return };
        if old < self.last_mark() {
            let Some(record) = self.get_mut(*id).cloned() else {
                *id = None;
                return;
            };
            let (bytes, payload, truncated) = (0, Vec::new(), false);
            *id = self.open(Record { bytes, payload, truncated, ..record });
        }
        let room = PAYLOAD_A_STEP_BYTES.saturating_sub(self.payload_bytes);
        let may_begin = self.payloads < PAYLOADS_A_STEP;
        let Some(record) = self.get_mut(*id) else { return };
        let begins = record.payload.is_empty();
        let room = room.min(PAYLOAD_BYTES.saturating_sub(record.payload.len()));
        let room = if begins && !may_begin { 0 } else { room.min(content.len()) };
        record.bytes += u64::try_from(content.len()).unwrap_or(u64::MAX);
        record.truncated |= room < content.len();
        record.payload.extend(content.iter().take(room));
        self.payload_bytes += room;
        self.payloads += usize::from(begins && room > 0);
    }

    /// All since a mark; and why some are missing.
    pub(super) fn since(&self, mark: Id) -> (Vec<Connection>, Option<String>) {
        let skipped = usize::try_from(mark.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let mut room = ANSWER_BYTES;
        let connections = self.records.iter().skip(skipped).map(|record| {
            let kept = record.payload.len().min(room);
            room -= kept;
            Connection {
                host: record.host.clone(),
                address: record.to.ip(),
                port: record.to.port(),
                transport: record.transport,
                direction: record.direction,
                bytes_sent: record.bytes,
                payload: record.payload.iter().take(kept).copied().collect(),
                truncated: record.truncated || kept < record.payload.len(),
                delivered: record.delivered,
                pid: record.who.pid,
                argv: record.who.argv.to_vec(),
            }
        });
        let connections = connections.collect();
        let too_many = mark < self.first || self.dropped_at.is_some_and(|at| at > mark);
        (connections, too_many.then(|| "there were too many to record".to_owned()))
    }
}
