//! Answers that come in pieces.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use air_llm::{Limits, Model, ModelError, Options};
use air_wire::{Answer, Delta};
use futures::executor::block_on;

use crate::{
    call, client,
    server::{Reply, Server, chat, piece, refused, said},
};

/// What was heard, and what came of it.
fn listen(client: &dyn Model) -> (String, Result<Answer, ModelError>) {
    let heard = Arc::new(Mutex::new(String::new()));
    let mut call = call("well?");
    let ear = Arc::clone(&heard);
    call.listener = Some(Arc::new(move |delta: &Delta| {
        if let Delta::Text(text) = delta {
            ear.lock().unwrap().push_str(text);
        }
    }));
    let answer = block_on(client.answer(call));
    let heard = heard.lock().unwrap().clone();
    (heard, answer)
}

#[test]
fn pieces_are_heard_and_make_up_the_answer() {
    let server = Server::start(|number, _| match number {
        // Before anything was heard, it may be tried again.
        0 => refused(503, "retry-after-ms: 1\r\n", "busy"),
        _ => Reply::Events(vec![piece("ye", None), piece("s", Some("stop")), "[DONE]".to_owned()]),
    });
    let (heard, answer) = listen(&client(&server, Options::default()));
    assert_eq!((heard.as_str(), answer.unwrap().text().as_str()), ("yes", "yes"));
    assert!(server.seen().iter().all(|seen| seen.body.contains("\"stream\":true")));
}

#[test]
fn a_server_that_does_not_stream_is_heard_all_the_same() {
    let server = Server::start(|_, _| said("yes"));
    let (heard, answer) = listen(&client(&server, Options::default()));
    assert_eq!((heard.as_str(), answer.unwrap().text().as_str()), ("yes", "yes"));
}

#[test]
fn a_stream_that_breaks_off_is_no_answer_and_not_asked_for_again() {
    let table = [
        vec![piece("ye", None)],
        vec![],
        vec![piece("ye", None), "{\"choices\": [".to_owned()],
        vec![piece("ye", None), "nonsense".to_owned(), "[DONE]".to_owned()],
    ];
    for events in table {
        let shown = format!("{events:?}");
        let server = Server::start(move |_, _| Reply::Events(events.clone()));
        let (_, answer) = listen(&client(&server, Options::default()));
        let error = answer.unwrap_err();
        let expected = matches!(error, ModelError::Malformed(_) | ModelError::Connection(_));
        assert!(expected, "{shown}: {error}");
        assert_eq!(server.seen().len(), 1, "{shown}");
    }
}

#[test]
fn a_connection_that_is_cut_within_a_stream_is_an_error() {
    let server = Server::start(|_, _| {
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
        let event = format!("data: {}\n\n", piece("ye", None));
        Reply::Raw(format!("{head}\r\n\r\n{:x}\r\n{event}\r\n", event.len()))
    });
    let (heard, answer) = listen(&client(&server, Options::default()));
    let error = answer.unwrap_err();
    assert!(matches!(error, ModelError::Connection(_)), "{error}");
    assert_eq!((heard.as_str(), server.seen().len()), ("ye", 1));
}

#[test]
fn a_connection_that_is_reset_within_a_stream_is_an_error() {
    let server = Server::start(|_, _| Reply::Reset(vec![piece("ye", None); 3]));
    for _ in 0..10 {
        let (_, answer) = listen(&client(&server, Options::default()));
        let error = answer.unwrap_err();
        assert!(matches!(error, ModelError::Connection(_)), "{error}");
    }
}

#[test]
fn a_stream_that_stalls_ends_with_the_idle_limit() {
    let server = Server::start(|_, _| Reply::Stall(vec![piece("ye", None)]));
    let idle = Duration::from_millis(150);
    let limits = Limits { idle, ..Limits::default() };
    let (heard, answer) = listen(&client(&server, Options { limits, ..Options::default() }));
    assert_eq!((heard.as_str(), answer.unwrap_err()), ("ye", ModelError::Timeout(idle)));
}

#[test]
fn a_stream_without_end_is_cut_short() {
    let events = vec![piece(&"y".repeat(50_000), None); 40];
    let server = Server::start(move |_, _| Reply::Events(events.clone()));
    let limits = Limits { answer_bytes: 1_000_000, ..Limits::default() };
    let (_, answer) = listen(&client(&server, Options { limits, ..Options::default() }));
    assert_eq!(answer.unwrap_err(), ModelError::TooLong(1_000_000));
}

#[test]
fn a_full_answer_counts_as_cut_off_whatever_the_server_says() {
    let server = Server::start(|_, _| said("{\"happened\": "));
    let client = client(&server, Options::default());
    for (most, stop) in [(100, air_wire::Stop::Length), (101, air_wire::Stop::End)] {
        let mut call = call("well?");
        call.request.max_output_tokens = Some(most);
        assert_eq!(block_on(client.answer(call)).unwrap().stop, stop);
    }
}

#[test]
fn arguments_that_are_cut_off_are_told_as_such() {
    let body = chat("yes").replace("\"finish_reason\":\"stop\"", "\"finish_reason\":\"length\"");
    let call = r#""tool_calls":[{"id":"1","type":"function","function":{"name":"look","arguments":"{\"a\": "}}]"#;
    let body = body.replace("\"role\":\"assistant\"", &format!("\"role\":\"assistant\",{call}"));
    let server = Server::start(move |_, _| Reply::Whole(200, "", body.clone()));
    let answer = crate::ask(&client(&server, Options::default()), "well?").unwrap();
    assert_eq!(answer.stop, air_wire::Stop::Length);
    assert!(answer.calls().next().unwrap().parsed().is_err());
}
