//! What was attempted, in order, within bounds.

use std::{
    collections::{HashMap, VecDeque},
    net::SocketAddr,
};

use super::target::Who;
use crate::protocol::{Connection, Direction, Protocol, Transport};

/// Connections recorded one by one between two marks.
const MOST_A_STEP: usize = 4096;
/// Connections kept in all.
const MOST: usize = 4 * MOST_A_STEP;
/// Bytes kept of one connection.
const PAYLOAD_BYTES: usize = 1 << 20;
/// Bytes kept of what one connection answered.
const RECEIVED_BYTES: usize = 256 << 10;
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
    pub(super) protocol: Option<Protocol>,
    sent: Kept,
    received: Kept,
    turns: u32,
    /// Whether something was received since something was sent.
    is_answered: bool,
}

/// Bytes that went one way, and the first of them.
#[derive(Debug, Clone, Default)]
struct Kept {
    bytes: u64,
    head: Vec<u8>,
    truncated: bool,
}

/// What may still be kept between two marks.
#[derive(Debug)]
struct Room {
    bytes: usize,
    heads: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { bytes: PAYLOAD_A_STEP_BYTES, heads: PAYLOADS_A_STEP }
    }
}

impl Kept {
    fn add(&mut self, content: &[u8], most: usize, room: &mut Room) {
        let begins = self.head.is_empty();
        let free = room.bytes.min(most.saturating_sub(self.head.len()));
        let free = if begins && room.heads == 0 { 0 } else { free.min(content.len()) };
        self.bytes = self.bytes.saturating_add(u64::try_from(content.len()).unwrap_or(u64::MAX));
        self.truncated |= free < content.len();
        self.head.extend(content.iter().take(free));
        room.bytes -= free;
        room.heads -= usize::from(begins && free > 0);
    }

    fn forget(&mut self) {
        self.truncated |= !self.head.is_empty();
        self.head = Vec::new();
    }

    /// Its head as far as there is room for it, and whether there was more.
    fn head(&self, room: &mut usize) -> (Vec<u8>, bool) {
        let kept = self.head.len().min(*room);
        *room -= kept;
        let truncated = self.truncated || kept < self.head.len();
        (self.head.iter().take(kept).copied().collect(), truncated)
    }
}

impl Record {
    pub(super) fn new(host: &str, to: SocketAddr, transport: Transport, who: Who) -> Self {
        Self {
            host: host.chars().take(HOST_CHARS).collect(),
            to,
            transport,
            direction: Direction::Out,
            who,
            delivered: false,
            protocol: None,
            sent: Kept::default(),
            received: Kept::default(),
            turns: 0,
            is_answered: false,
        }
    }

    /// The same connection, of which nothing has been seen.
    fn anew(&self) -> Self {
        let (sent, received) = (Kept::default(), Kept::default());
        Self { sent, received, turns: 0, delivered: false, ..self.clone() }
    }

    pub(super) fn local(mut self, delivered: bool) -> Self {
        self.direction = Direction::Local;
        self.delivered = delivered;
        self
    }

    pub(super) fn speaking(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
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
    room: Room,
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
            record.sent.forget();
            record.received.forget();
        }
        self.marks = [old, mark].into();
        self.room = Room::default();
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
        let Some((record, room)) = self.current(id) else { return };
        record.sent.add(content, PAYLOAD_BYTES, room);
        record.turns = record.turns.saturating_add(u32::from(record.is_answered));
        record.is_answered = false;
    }

    /// Adds what the other side answered, as with what was sent.
    pub(super) fn received(&mut self, id: &mut Option<Id>, content: &[u8]) {
        let Some((record, room)) = self.current(id) else { return };
        record.received.add(content, RECEIVED_BYTES, room);
        record.is_answered = true;
    }

    fn current(&mut self, id: &mut Option<Id>) -> Option<(&mut Record, &mut Room)> {
        if (*id)? < self.last_mark() {
            *id = self.get_mut(*id).map(|record| record.anew()).and_then(|anew| self.open(anew));
        }
        let at = usize::try_from((*id)?.checked_sub(self.first)?).ok()?;
        Some((self.records.get_mut(at)?, &mut self.room))
    }

    /// All since a mark; and why some are missing.
    pub(super) fn since(&self, mark: Id) -> (Vec<Connection>, Option<String>) {
        let skipped = usize::try_from(mark.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let mut room = ANSWER_BYTES;
        let connections = self.records.iter().skip(skipped).map(|record| {
            let (payload, truncated) = record.sent.head(&mut room);
            let (received, received_truncated) = record.received.head(&mut room);
            let is_silent = record.sent.bytes == 0;
            Connection {
                host: record.host.clone(),
                address: record.to.ip(),
                port: record.to.port(),
                transport: record.transport,
                direction: record.direction,
                bytes_sent: record.sent.bytes,
                payload,
                truncated,
                bytes_received: record.received.bytes,
                received,
                received_truncated,
                turns: record.turns,
                protocol: record.protocol.or((!is_silent).then_some(Protocol::Other)),
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
