//! What is read from untrusted bytes, and what is kept of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::{
    dns::{Names, Query},
    record::{Log, Record},
    talk::{Talk, recognize},
    target::Who,
};
use crate::protocol::{Connection, Transport};

fn query(name: &str, kind: u8) -> Vec<u8> {
    let mut bytes = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(label.bytes());
    }
    bytes.extend([0, 0, kind, 0, 1]);
    bytes
}

fn record(port: u16) -> Record {
    let to = SocketAddr::from((Ipv4Addr::new(10, 0, 0, 1), port));
    let who = Who { pid: 2, argv: ["x".to_owned()].into() };
    Record::new("10.0.0.1", to, Transport::Tcp, who)
}

#[test]
fn every_name_has_an_address_of_its_own() {
    let mut names = Names::default();
    let mut address = |name: &str| {
        let bytes = query(name, 1);
        let reply = names.answer(&Query::parse(&bytes).unwrap());
        let octets: [u8; 4] = *reply.last_chunk().unwrap();
        let address = IpAddr::from(octets);
        (address, names.name_of(address).map(str::to_owned))
    };
    let (first, name) = address("a.Example");
    assert_eq!(name.unwrap(), "a.example");
    assert_ne!(address("b.example").0, first);
    assert_eq!(address("a.example").0, first);
    assert_eq!(address("localhost").0, IpAddr::V4(Ipv4Addr::LOCALHOST));
    let reply = names.answer(&Query::parse(&query("a.example", 28)).unwrap());
    assert_eq!(reply[3] & 15, 0);
    assert_eq!(reply[7], 0, "no address of IPv6");
}

#[test]
fn damaged_queries_and_greetings_are_survived() {
    let good = query("some.name.example", 1);
    for length in 0..good.len() {
        assert!(Query::parse(&good[..length]).is_none());
        for byte in [0, 63, 64, 192, 255] {
            let mut bad = good.clone();
            bad[length] = byte;
            let _ = Query::parse(&bad);
        }
    }
    let hello = [&[22, 3, 1, 0, 47, 1, 0, 0, 43, 3, 3][..], &[0; 38], &[0, 5, 0, 0, 255]].concat();
    for length in 0..hello.len() {
        for byte in [0, 1, 127, 255] {
            let mut bad = hello[..=length].to_vec();
            bad[length] = byte;
            let _ = recognize(&bad);
        }
    }
}

#[test]
fn requests_are_told_from_other_streams() {
    assert_eq!(recognize(b"POS"), Talk::Unclear);
    assert_eq!(recognize(b"HELO there\r\n"), Talk::Other);
    assert_eq!(recognize(b"POST / HTTP/1.1\r\nA: b\r\n"), Talk::Unclear);
    let Talk::Http(post) = recognize(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab") else {
        panic!("no request")
    };
    assert_eq!(post.length, Some(38 + 9));
    let chunked = recognize(b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    assert!(matches!(chunked, Talk::Http(put) if put.length.is_none()));
    let huge = b"POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n";
    assert!(matches!(recognize(huge), Talk::Http(post) if post.length == Some(u64::MAX)));
}

#[test]
fn what_is_kept_is_bounded_and_what_is_not_is_said() {
    let mut log = Log::default();
    let mut ids = Vec::new();
    for port in 0..5000 {
        ids.push(log.open(record(port)));
    }
    for id in &mut ids {
        log.sent(id, &vec![b'x'; 100 << 10]);
    }
    let (seen, incomplete) = log.since(0);
    assert!(incomplete.is_some());
    let kept: usize = seen.iter().map(|one| one.payload.len()).sum();
    assert_eq!(kept, 8 << 20);
    assert!(seen.iter().all(|one| one.bytes_sent == 100 << 10));
    assert!(seen.last().unwrap().truncated);
    let again = log.open(record(7));
    assert_eq!(again, ids[7], "counted with the others of its kind");

    let mark = log.mark();
    let (seen, incomplete) = log.since(mark);
    assert!(seen.is_empty() && incomplete.is_none());
    let mut id = again;
    log.sent(&mut id, b"later");
    assert_ne!(id, again);
    let (seen, _) = log.since(mark);
    assert_eq!((seen.len(), seen[0].bytes_sent), (1, 5));
    assert_eq!(seen[0].payload, b"later");
    for _ in 0..9 {
        log.mark();
    }
    assert!(log.since(0).0.iter().all(|one| one.payload.is_empty()));
}

#[test]
fn payloads_survive_the_way_to_the_host() {
    for length in 0..9 {
        let mut log = Log::default();
        let mut id = log.open(record(1));
        log.sent(&mut id, &[0, 255, 16, 62, 63, 200, 1, 9][..length.min(8)]);
        let (seen, _) = log.since(0);
        let text = serde_json::to_string(&seen).unwrap();
        let read: Vec<Connection> = serde_json::from_str(&text).unwrap();
        assert_eq!(read[0].payload, seen[0].payload);
    }
}
