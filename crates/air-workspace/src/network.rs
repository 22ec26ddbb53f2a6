//! The connections that were attempted inside, as the host takes them.

use std::{collections::VecDeque, io, time::Duration};

use air_core::{
    effects::{ConnectionEffect, Observed},
    id::CheckpointId,
};

use serde::Serialize;

use crate::{
    origin::Origin,
    protocol::{Connection, Direction, Reply, Request},
    sandbox::Sandbox,
    workspace::unexpected,
};

/// Checkpoints whose connections can be told from earlier ones.
const MARKS: usize = 256;
/// More than a supervisor reports.
const MOST: usize = 32 << 10;
const HOST_CHARS: usize = 255;
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection, and the first bytes that were sent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Seen {
    #[serde(flatten)]
    pub(crate) effect: ConnectionEffect,
    #[serde(serialize_with = "crate::base64::serialize")]
    pub(crate) payload: Vec<u8>,
    /// Whether more was sent.
    pub(crate) truncated: bool,
    /// The first bytes that were answered.
    #[serde(serialize_with = "crate::base64::serialize")]
    pub(crate) received: Vec<u8>,
    /// Whether more was answered.
    pub(crate) received_truncated: bool,
}

/// Connections that were seen, and why some are missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sightings {
    pub(crate) items: Vec<Seen>,
    pub(crate) incomplete: Option<String>,
}

impl Sightings {
    fn missing(why: impl Into<String>) -> Self {
        Self { items: Vec::new(), incomplete: Some(why.into()) }
    }

    /// With the origins of what was sent.
    pub(crate) fn observed(
        self,
        origin: impl Fn(&[u8], bool) -> Origin,
    ) -> Observed<ConnectionEffect> {
        let items = self.items.into_iter().map(|seen| {
            let mut effect = seen.effect;
            match origin(&seen.payload, seen.truncated) {
                Origin::From(path) => effect.payload_origin = Some(path),
                Origin::Unknown(why) => effect.origin_unknown = Some(why),
                Origin::Nowhere => {}
            }
            effect
        });
        Observed { items: items.collect(), incomplete: self.incomplete }
    }
}

/// Which connections belong to which checkpoint.
#[derive(Debug, Default)]
pub(crate) struct Network {
    /// Whether anything answers in the place of the outside world.
    leads_out: bool,
    /// Sandboxes started so far.
    starts: u32,
    marks: VecDeque<(CheckpointId, Mark)>,
    /// What the last sandbox had seen when it was ended.
    last: Option<(CheckpointId, Sightings)>,
    /// Whether the network is cut for good.
    is_cut: bool,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    starts: u32,
    /// `None`: no sandbox ran.
    at: Option<u64>,
}

impl Network {
    pub(crate) fn new(leads_out: bool) -> Self {
        Self { leads_out, ..Self::default() }
    }

    /// A sandbox was started.
    pub(crate) fn started(&mut self) {
        self.starts += 1;
    }

    /// The network is cut for good: in sandboxes that are started from now on as well.
    pub(crate) fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Whether it is.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// What is attempted from now on comes after the checkpoint.
    pub(crate) fn mark(&mut self, sandbox: Option<&mut Sandbox>, checkpoint: &CheckpointId) {
        self.marks.retain(|(id, _)| id != checkpoint);
        self.last = None;
        let at = match running(sandbox).map(|sandbox| sandbox.call(&Request::Mark {}, PATIENCE)) {
            None => None,
            Some(Ok(Reply::Marked(at))) => Some(at),
            // Without a mark they are not known.
            Some(_) => return,
        };
        self.marks.push_back((checkpoint.clone(), Mark { starts: self.starts, at }));
        if self.marks.len() > MARKS {
            self.marks.pop_front();
        }
    }

    /// What has been attempted since a checkpoint.
    pub(crate) fn since(
        &self,
        sandbox: Option<&mut Sandbox>,
        checkpoint: &CheckpointId,
    ) -> Sightings {
        if let Some((_, last)) = self.last.iter().find(|(id, _)| id == checkpoint) {
            return last.clone();
        }
        let mark = self.marks.iter().find(|(id, _)| id == checkpoint).map(|(_, mark)| *mark);
        let since = match mark {
            None => return Sightings::missing("not observed since this checkpoint"),
            Some(Mark { starts, at: None }) if starts == self.starts => {
                return Sightings::default();
            }
            Some(Mark { starts, at: None }) if starts + 1 == self.starts => 0,
            Some(Mark { starts, at: Some(at) }) if starts == self.starts => at,
            Some(_) => return Sightings::missing("the sandbox was replaced"),
        };
        let Some(sandbox) = running(sandbox) else {
            return Sightings::missing("the sandbox has ended");
        };
        match sandbox.call(&Request::Connections { since }, PATIENCE) {
            Ok(Reply::Connections(seen)) => {
                let mut incomplete = seen.incomplete;
                if seen.items.len() > MOST {
                    incomplete.get_or_insert("there were too many".to_owned());
                }
                let items = seen.items.into_iter().take(MOST);
                let items = items.map(|one| Seen::new(one, self.leads_out)).collect();
                Sightings { items, incomplete }
            }
            Ok(other) => Sightings::missing(unexpected(other).to_string()),
            Err(error) => Sightings::missing(error.to_string()),
        }
    }

    /// Keeps what has been seen since a checkpoint: the sandbox is about to be ended.
    pub(crate) fn keep(&mut self, sandbox: Option<&mut Sandbox>, checkpoint: &CheckpointId) {
        let seen = self.since(sandbox, checkpoint);
        self.last = Some((checkpoint.clone(), seen));
    }
}

/// Cuts what is open; says so.
pub(crate) fn isolate(sandbox: Option<&mut Sandbox>) -> io::Result<String> {
    let Some(sandbox) = running(sandbox) else {
        return Ok("nothing was running".to_owned());
    };
    let reply = sandbox.call(&Request::Isolate {}, PATIENCE);
    // Whatever the supervisor says.
    sandbox.end_answers();
    match reply? {
        Reply::Isolated { closed: 0 } => Ok("cut the network".to_owned()),
        Reply::Isolated { closed: 1 } => Ok("cut the network and 1 connection".to_owned()),
        Reply::Isolated { closed } => Ok(format!("cut the network and {closed} connections")),
        other => Err(unexpected(other)),
    }
}

fn running(sandbox: Option<&mut Sandbox>) -> Option<&mut Sandbox> {
    sandbox.filter(|sandbox| sandbox.is_running())
}

impl Seen {
    fn new(seen: Connection, leads_out: bool) -> Self {
        let direction = match seen.direction {
            Direction::Out => "out",
            Direction::Local => "local",
            Direction::Listen => "listen",
        };
        let host = seen.host.chars().take(HOST_CHARS);
        let host = host.map(|letter| if letter.is_ascii_graphic() { letter } else { '?' });
        let effect = ConnectionEffect {
            host: host.collect(),
            port: seen.port,
            direction: direction.to_owned(),
            bytes_sent: seen.bytes_sent,
            payload_origin: None,
            origin_unknown: None,
            // Whatever a supervisor says, the namespace itself has no way out.
            delivered: seen.delivered && (leads_out || seen.direction == Direction::Local),
            transport: seen.transport.name().to_owned(),
            protocol: seen.protocol.map(|protocol| protocol.name().to_owned()),
            bytes_received: seen.bytes_received,
            turns: seen.turns,
        };
        Self {
            effect,
            payload: seen.payload,
            truncated: seen.truncated,
            received: seen.received,
            received_truncated: seen.received_truncated,
        }
    }
}
