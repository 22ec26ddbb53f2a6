//! What a provider does wrong.

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

use air_testkit::server::{ModelServer, Reply, Script, When};
use air_wire::{DecodeError, Dialect, StreamDecoder, decode_error, encode_request};
use serde_json::json;

use crate::{
    http::{post, read, send},
    talk::{request, ways},
};

fn serving(reply: Reply) -> ModelServer {
    ModelServer::start(Script::default().otherwise(reply)).expect("a port")
}

#[test]
fn errors_come_with_their_status_headers_and_message() {
    for status in [400, 401, 403, 404, 408, 413, 429, 500, 503, 529] {
        let server = serving(Reply::error(status, "not now").header("retry-after", "7"));
        for (dialect, stream) in ways() {
            let reply =
                post(&server.base_url(dialect), dialect, &request("?", stream)).expect("a reply");
            assert_eq!((reply.status, reply.header("retry-after")), (status, Some("7")));
            assert_eq!(decode_error(dialect, status, &reply.body()), "not now");
        }
    }
}

#[test]
fn a_reset_is_an_error_and_no_answer() {
    let before = serving(Reply::reset());
    let within = serving(Reply::text("a long text that comes in pieces").reset_after(2));
    for (dialect, stream) in ways() {
        let request = request("?", stream);
        let error = post(&before.base_url(dialect), dialect, &request).expect_err("a reset");
        let kinds = [ErrorKind::ConnectionReset, ErrorKind::UnexpectedEof];
        assert!(kinds.contains(&error.kind()), "{dialect}: {error}");
        let reply = post(&within.base_url(dialect), dialect, &request).expect("its beginning");
        assert!(reply.broken.is_some() && !reply.pieces.is_empty(), "{dialect} {stream}");
        assert!(read(dialect, &request, &reply).is_err(), "{dialect} {stream}");
    }
}

#[test]
fn a_server_that_never_answers_lets_the_client_wait_and_ends_when_dropped() {
    let server = serving(Reply::never());
    let base = server.base_url(Dialect::OpenAiChat);
    let waiting =
        std::thread::spawn(move || post(&base, Dialect::OpenAiChat, &request("?", false)));
    let deadline = Instant::now() + Duration::from_secs(4);
    while server.requests().is_empty() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(!waiting.is_finished());
    drop(server);
    assert!(waiting.join().expect("no panic").is_err());
}

#[test]
fn a_delay_and_a_latency_add_up() {
    let wait = Duration::from_millis(40);
    let script = Script::default()
        .latency(wait)
        .rule(When::any().last("slow"), Reply::text("at last").after(wait));
    let server = ModelServer::start(script).expect("a port");
    for (text, least) in [("slow", 2 * wait), ("fast", wait)] {
        let begun = Instant::now();
        post(&server.base_url(Dialect::Gemini), Dialect::Gemini, &request(text, false))
            .expect("a reply");
        assert!(begun.elapsed() >= least, "{text}");
    }
}

#[test]
fn an_answer_of_any_size_is_sent_and_read_up_to_a_limit() {
    let server = serving(Reply::of_size(200 << 20));
    for (dialect, stream) in ways() {
        let encoded = encode_request(dialect, &request("?", stream));
        let body = encoded.body.to_string();
        let reply =
            send("POST", &server.base_url(dialect), &encoded.path, &[], body.as_bytes(), 1 << 20);
        let reply = reply.expect("its beginning");
        assert_eq!(reply.broken.as_ref().map(std::io::Error::kind), Some(ErrorKind::FileTooLarge));
        if stream {
            let mut decoder = StreamDecoder::new(dialect).limit(1 << 18);
            let refused = reply.pieces.iter().find_map(|piece| decoder.push(piece).err());
            assert_eq!(refused, Some(DecodeError::TooLong(1 << 18)), "{dialect}");
        }
    }
    let server = serving(Reply::of_size(1 << 20));
    for (dialect, stream) in ways() {
        let request = request("?", stream);
        let reply = post(&server.base_url(dialect), dialect, &request).expect("a reply");
        let (answer, _) = read(dialect, &request, &reply).expect("an answer");
        assert!(answer.text().len() >= 1 << 20, "{dialect} {stream}");
    }
}

#[test]
fn bodies_that_are_no_json_are_refused() {
    let server = serving(Reply::raw(200, "{\"choices\": [{"));
    let stream = serving(Reply::raw_stream("data: {\"choices\": [{\n\ndata: [DONE]\n\n"));
    for dialect in Dialect::ALL {
        for (server, streams) in [(&server, false), (&stream, true)] {
            let request = request("?", streams);
            let reply = post(&server.base_url(dialect), dialect, &request).expect("a reply");
            let error = read(dialect, &request, &reply).expect_err("no answer");
            assert!(matches!(error, DecodeError::Json(_)), "{dialect}: {error}");
        }
    }
}

#[test]
fn requests_that_cannot_be_read_or_have_no_key_are_refused() {
    let server = ModelServer::start(Script::default().key("right")).expect("a port");
    for dialect in Dialect::ALL {
        let reply =
            post(&server.base_url(dialect), dialect, &request("?", false)).expect("a reply");
        assert_eq!(reply.status, 401, "{dialect}");
    }
    let server = ModelServer::start(Script::default().key("key")).expect("a port");
    for dialect in Dialect::ALL {
        let base = server.base_url(dialect);
        let reply = post(&base, dialect, &request("?", false)).expect("a reply");
        assert_eq!(reply.status, 200, "{dialect}");
        let path = encode_request(dialect, &request("?", false)).path;
        let key = [air_wire::authorization(dialect, "key")];
        for body in ["", "[]", "{\"messages\": 7}", &"[".repeat(100_000)] {
            let reply = send("POST", &base, &path, &key, body.as_bytes(), 9999).expect("a reply");
            assert_eq!(reply.status, 400, "{dialect}: {body:.20}");
        }
    }
    assert_eq!((server.refused(), server.requests().len()), (16, 4));
    let models = send("GET", &server.base_url(Dialect::OpenAiChat), "/models", &[], b"", 9999);
    let models = models.expect("a reply").body();
    let models: serde_json::Value = serde_json::from_slice(&models).expect("JSON");
    assert_eq!(models.pointer("/data/0/id"), Some(&json!("scripted")));
    let other = send("GET", &server.base_url(Dialect::Gemini), "/nothing", &[], b"", 9999);
    assert_eq!(other.expect("a reply").status, 404);
}
