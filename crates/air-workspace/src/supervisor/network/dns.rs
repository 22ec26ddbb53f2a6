//! Answers to name queries: every name has an address of its own that leads nowhere.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
};

const HEADER: usize = 12;
const ADDRESS_RECORD: u16 = 1;
const POINTER_RECORD: u16 = 12;
const INTERNET: u16 = 1;
/// Seconds that an answer may be kept. Short: after an hour the names may be others.
const TTL: u32 = 60;
/// Names that get an address.
const MOST: usize = 16_384;
/// 198.18.0.0/15 is kept free for tests of networks (RFC 2544).
const FIRST: u32 = 0xc612_0001;

/// Which name has which address.
#[derive(Debug, Default)]
pub(super) struct Names {
    by_name: HashMap<String, Ipv4Addr>,
    by_address: HashMap<Ipv4Addr, String>,
}

/// What a query asks.
#[derive(Debug)]
pub(super) struct Query<'a> {
    header: &'a [u8],
    question: &'a [u8],
    /// Printable, without the last dot.
    pub(super) name: String,
    kind: u16,
}

impl<'a> Query<'a> {
    pub(super) fn parse(message: &'a [u8]) -> Option<Self> {
        let (header, body) = message.split_at_checked(HEADER)?;
        let [_, _, flags, _, 0, 1, ..] = *header else { return None };
        // A query of the usual kind.
        if flags & 0xf8 != 0 {
            return None;
        }
        let mut labels = Vec::new();
        let mut rest = body;
        loop {
            let (length, after) = rest.split_first()?;
            if *length == 0 {
                rest = after;
                break;
            }
            let length = usize::from(*length);
            if length > 63 || labels.len() > 127 {
                return None;
            }
            let (label, after) = after.split_at_checked(length)?;
            labels.push(label.escape_ascii().to_string());
            rest = after;
        }
        let [high, low, 0, 1, ..] = *rest else { return None };
        let question = body.get(..body.len() - rest.len() + 4)?;
        let name = labels.join(".").to_ascii_lowercase();
        Some(Self { header, question, name, kind: u16::from_be_bytes([high, low]) })
    }
}

impl Names {
    /// The name that has this address.
    pub(super) fn name_of(&self, address: IpAddr) -> Option<&str> {
        match address.to_canonical() {
            IpAddr::V4(address) => self.by_address.get(&address).map(String::as_str),
            IpAddr::V6(_) => None,
        }
    }

    fn address_of(&mut self, name: &str) -> Option<Ipv4Addr> {
        if name == "localhost" || name.ends_with(".localhost") {
            return Some(Ipv4Addr::LOCALHOST);
        }
        if let Some(address) = self.by_name.get(name) {
            return Some(*address);
        }
        if self.by_name.len() >= MOST {
            return None;
        }
        let address = Ipv4Addr::from_bits(FIRST + u32::try_from(self.by_name.len()).ok()?);
        self.by_name.insert(name.to_owned(), address);
        self.by_address.insert(address, name.to_owned());
        Some(address)
    }

    /// The reply to a query.
    pub(super) fn answer(&mut self, query: &Query<'_>) -> Vec<u8> {
        let address = match query.kind {
            ADDRESS_RECORD => self.address_of(&query.name),
            _ => None,
        };
        // No error; no such name where there is nothing to say; a failure when there are too many.
        let status = match (query.kind, address) {
            (POINTER_RECORD, _) => 3,
            (ADDRESS_RECORD, None) => 2,
            _ => 0,
        };
        let mut reply: Vec<u8> = query.header.iter().take(2).copied().collect();
        reply.extend([0x81, 0x80 | status, 0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
        reply.extend(query.question);
        if let Some(address) = address {
            // The name is the one at the beginning of the question.
            reply.extend([0xc0, 0x0c]);
            reply.extend(ADDRESS_RECORD.to_be_bytes());
            reply.extend(INTERNET.to_be_bytes());
            reply.extend(TTL.to_be_bytes());
            reply.extend([0, 4]);
            reply.extend(address.octets());
        }
        reply
    }
}
