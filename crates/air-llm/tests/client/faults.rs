//! What goes wrong ends in an error that says what, after as many tries as make sense.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use air_llm::{Client, Clock, Limits, Model, ModelError, Options, Retry};
use futures::{executor::block_on, future::join_all};

use crate::{
    KEY, Skipping, ask, call, client,
    server::{Reply, Server, chat, refused, said},
    spec,
};

#[test]
fn an_answer_arrives_with_the_key_in_its_header() {
    let server = Server::start(|_, _| said("yes"));
    let client = client(&server, Options::default());
    let answer = ask(&client, "well?").unwrap();
    assert_eq!((answer.text().as_str(), answer.usage.input), ("yes", 1000));
    let seen = &server.seen()[0];
    assert!(seen.head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", seen.head);
    assert!(seen.head.contains(&format!("authorization: Bearer {KEY}")));
    assert!(seen.body.contains("well?") && !seen.body.contains(KEY));
    assert_eq!(client.name(), "openai:m");
}

#[test]
fn every_status_has_its_error_and_its_number_of_tries() {
    #[rustfmt::skip]
    let table = [
        // status  requests  error
        (301,      1,        "refuses the request"),
        (400,      1,        "refuses the request"),
        (401,      1,        "refuses the key"),
        (403,      1,        "refuses the key"),
        (404,      1,        "refuses the request"),
        (408,      3,        "overloaded"),
        (409,      3,        "overloaded"),
        (413,      1,        "refuses the request"),
        (418,      1,        "refuses the request"),
        (422,      1,        "refuses the request"),
        (429,      3,        "overloaded"),
        (500,      3,        "failed"),
        (501,      1,        "failed"),
        (502,      3,        "failed"),
        (503,      3,        "overloaded"),
        (504,      3,        "failed"),
        (529,      3,        "overloaded"),
    ];
    for (status, requests, words) in table {
        let server = Server::start(move |_, _| refused(status, "", "bad luck"));
        let clock = Skipping::new();
        let retry = Retry { tries: 3, ..Retry::default() };
        let options =
            Options { clock: Arc::<Skipping>::clone(&clock), retry, ..Options::default() };
        let error = ask(&client(&server, options), "well?").unwrap_err().to_string();
        assert!(error.contains(words), "{status}: {error}");
        assert!(error.contains(&status.to_string()), "{status}: {error}");
        assert!(error.contains("bad luck") || status == 301, "{status}: {error}");
        assert_eq!(server.seen().len(), requests, "{status}");
        assert_eq!(clock.waits().len(), requests - 1, "{status}");
    }
}

#[test]
fn it_waits_as_long_as_it_is_told_and_then_succeeds() {
    let server = Server::start(|number, _| match number {
        0 => refused(429, "retry-after: 7\r\n", "slow down"),
        1 => refused(529, "retry-after-ms: 12500\r\n", "slow down"),
        2 => Reply::Drop,
        _ => said("at last"),
    });
    let clock = Skipping::new();
    let options = Options { clock: Arc::<Skipping>::clone(&clock), ..Options::default() };
    assert_eq!(ask(&client(&server, options), "well?").unwrap().text(), "at last");
    let waits = clock.waits();
    assert_eq!(waits[..2], [Duration::from_secs(7), Duration::from_millis(12_500)]);
    assert!(waits[2] >= Duration::from_secs(1) && waits[2] <= Duration::from_secs(2), "{waits:?}");
    assert_eq!(server.seen().len(), 4);
}

#[test]
fn it_does_not_wait_past_the_deadline() {
    let server = Server::start(|_, _| refused(429, "retry-after: 3600\r\n", "slow down"));
    let clock = Skipping::new();
    let options = Options { clock: Arc::<Skipping>::clone(&clock), ..Options::default() };
    let error = ask(&client(&server, options), "well?").unwrap_err();
    assert!(matches!(error, ModelError::Overloaded { tries: 1, .. }), "{error}");
    assert!(error.to_string().ends_with("slow down; it asks to wait 3600s"), "{error}");
    assert_eq!((server.seen().len(), clock.waits().len()), (1, 0));
}

#[test]
fn what_another_try_does_not_better_is_not_tried_again() {
    let parse = "Failed to parse input at pos 17: <tool_call>{";
    for (headers, message) in [
        ("x-should-retry: false\r\n", "no"),
        ("", "insufficient_quota: You exceeded your current quota"),
    ] {
        let server = Server::start(move |_, _| refused(429, headers, message));
        let error = ask(&client(&server, Options::default()), "well?").unwrap_err();
        assert!(matches!(error, ModelError::Overloaded { tries: 1, .. }), "{error}");
    }
    let server = Server::start(move |_, _| refused(500, "", parse));
    let error = ask(&client(&server, Options::default()), "well?").unwrap_err();
    assert!(matches!(error, ModelError::Malformed(_)), "{error}");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn nobody_at_the_address_is_no_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let spec = air_llm::ModelSpec::parse("openai:m", Some(&base), &|_| None).unwrap();
    let clock = Skipping::new();
    let options = Options { clock: Arc::<Skipping>::clone(&clock), ..Options::default() };
    let error = ask(&Client::new(spec, None, options).unwrap(), "well?").unwrap_err();
    assert!(
        matches!(&error, ModelError::Connection(why) if why.starts_with("127.0.0.1")),
        "{error}"
    );
    assert!(error.to_string().ends_with("is the server running?"), "{error}");
    assert_eq!(clock.waits().len(), 3);
}

#[test]
fn a_server_that_never_answers_ends_with_the_deadline() {
    let server = Server::start(|_, _| Reply::Silence);
    let limit = Duration::from_millis(150);
    let mut call = call("well?");
    call.deadline = Some(limit);
    let error = block_on(client(&server, Options::default()).answer(call)).unwrap_err();
    assert_eq!(error, ModelError::Timeout(limit));
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn impatience_is_no_fault_of_the_provider() {
    let server =
        Server::start(
            |_, seen| {
                if seen.body.contains("hurry") { Reply::Silence } else { said("yes") }
            },
        );
    let limits = Limits { failures: 1, ..Limits::default() };
    let client = client(&server, Options { limits, ..Options::default() });
    for _ in 0..3 {
        let mut call = call("hurry");
        call.deadline = Some(Duration::from_millis(20));
        block_on(client.answer(call)).unwrap_err();
    }
    ask(&client, "well?").unwrap();
}

#[test]
fn what_is_no_answer_is_malformed_and_asked_once() {
    let cut = chat("yes").len() - 20;
    let table = [
        String::new(),
        "null".to_owned(),
        "<html>login</html>".to_owned(),
        "{\"choices\": 7}".to_owned(),
        "[".repeat(100_000),
        chat("yes")[..cut].to_owned(),
        "\u{feff}{\"choices\": [".to_owned(),
    ];
    for body in table {
        let shown = body.chars().take(30).collect::<String>();
        let server = Server::start(move |_, _| Reply::Whole(200, "", body.clone()));
        let error = ask(&client(&server, Options::default()), "well?").unwrap_err();
        assert!(matches!(error, ModelError::Malformed(_)), "{shown}: {error}");
        assert_eq!(server.seen().len(), 1, "{shown}");
    }
}

#[test]
fn an_answer_that_breaks_off_is_not_asked_for_again() {
    let server = Server::start(|_, _| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n";
        Reply::Raw(format!("{head}\r\n{}", &chat("yes")[..40]))
    });
    let error = ask(&client(&server, Options::default()), "well?").unwrap_err();
    assert!(matches!(error, ModelError::Connection(_)), "{error}");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_huge_answer_is_cut_short() {
    let endless = Server::start(|_, _| Reply::Endless);
    let told = Server::start(|_, _| {
        Reply::Raw("HTTP/1.1 200 OK\r\ncontent-length: 200000000\r\n\r\n{".to_owned())
    });
    for server in [endless, told] {
        let limits = Limits { answer_bytes: 1_000_000, ..Limits::default() };
        let error = ask(&client(&server, Options { limits, ..Options::default() }), "well?");
        assert_eq!(error.unwrap_err(), ModelError::TooLong(1_000_000));
    }
}

#[test]
fn a_huge_error_is_cut_short_and_stays_an_error() {
    let server = Server::start(|_, _| Reply::Whole(404, "", "x\u{1b}[31m ".repeat(100_000)));
    let error = ask(&client(&server, Options::default()), "well?").unwrap_err().to_string();
    assert!(error.len() < 1000 && !error.contains('\u{1b}'), "{error}");
}

#[test]
fn redirects_are_not_followed() {
    let other = Server::start(|_, _| said("stolen"));
    let to: &'static str = format!("location: {}/v1\r\n", other.base).leak();
    for status in [301, 302, 307, 308] {
        let server = Server::start(move |_, _| refused(status, to, "moved"));
        let error = ask(&client(&server, Options::default()), "well?").unwrap_err();
        assert!(
            matches!(&error, ModelError::Rejected { message, .. } if message.contains("127.0.0.1"))
        );
    }
    assert!(other.seen().is_empty());
}

#[test]
fn no_error_holds_the_key() {
    let echo = |_: usize, seen: &crate::server::Seen| {
        if seen.body.contains("whole") {
            Reply::Whole(401, "", seen.head.clone())
        } else {
            refused(401, "", &format!("Incorrect API key provided: {KEY}."))
        }
    };
    let server = Server::start(echo);
    let client = client(&server, Options::default());
    for text in ["whole", "part"] {
        let error = ask(&client, text).unwrap_err();
        for shown in [error.to_string(), format!("{error:?}")] {
            assert!(!shown.contains(KEY) && !shown.contains(&KEY[3..20]), "{shown}");
        }
    }
    assert!(!format!("{client:?} {:?}", client.spec()).contains(KEY));
}

#[test]
fn a_provider_that_fails_again_and_again_is_left_alone_for_a_while() {
    let up = Arc::new(AtomicUsize::new(0));
    let is_up = Arc::clone(&up);
    let server = Server::start(move |_, _| match is_up.load(Ordering::SeqCst) {
        0 => refused(503, "", "down"),
        _ => said("back"),
    });
    let clock = Skipping::new();
    let options = Options {
        clock: Arc::<Skipping>::clone(&clock),
        retry: Retry { tries: 1, ..Retry::default() },
        limits: Limits { failures: 3, rest: Duration::from_mins(1), ..Limits::default() },
        ..Options::default()
    };
    let client = client(&server, options);
    for _ in 0..3 {
        assert!(matches!(ask(&client, "well?").unwrap_err(), ModelError::Overloaded { .. }));
    }
    let sibling = client.sibling("n");
    let open = ModelError::Open { failures: 3, wait: Duration::from_mins(1) };
    assert_eq!(ask(&client, "well?").unwrap_err(), open);
    assert_eq!(ask(&sibling, "well?").unwrap_err(), open);
    assert_eq!(server.seen().len(), 3);

    up.store(1, Ordering::SeqCst);
    drop(clock.sleep(Duration::from_mins(1)));
    assert_eq!(ask(&sibling, "well?").unwrap().text(), "back");
    assert_eq!(ask(&client, "well?").unwrap().text(), "back");
    // Refusals are answers.
    let refuses = Server::start(|_, _| refused(404, "", "no such model"));
    let client = crate::client(&refuses, Options::default());
    for _ in 0..9 {
        assert!(matches!(ask(&client, "well?").unwrap_err(), ModelError::Rejected { .. }));
    }
}

#[test]
fn no_more_calls_run_at_once_than_may() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, peak) = (Arc::clone(&running), Arc::clone(&most));
    let server = Server::start(move |_, _| {
        let count = now.fetch_add(1, Ordering::SeqCst) + 1;
        peak.fetch_max(count, Ordering::SeqCst);
        // Long enough that others would overlap if they could; nothing depends on it but that.
        let until = Instant::now() + Duration::from_millis(20);
        while Instant::now() < until && now.load(Ordering::SeqCst) < 4 {
            std::thread::yield_now();
        }
        now.fetch_sub(1, Ordering::SeqCst);
        said("yes")
    });
    let limits = Limits { concurrency: 3, ..Limits::default() };
    let client = client(&server, Options { limits, ..Options::default() });
    let calls = (0..20).map(|_| client.answer(call("well?")));
    let answers = block_on(join_all(calls));
    assert!(answers.iter().all(Result::is_ok));
    assert!(most.load(Ordering::SeqCst) <= 3, "{most:?}");
    assert!(most.load(Ordering::SeqCst) > 1, "nothing ran at once");
}

#[test]
fn a_dropped_call_frees_its_place() {
    let server = Server::start(|number, _| if number == 0 { Reply::Silence } else { said("yes") });
    let limits = Limits { concurrency: 1, ..Limits::default() };
    let client = client(&server, Options { limits, ..Options::default() });
    let mut first = client.answer(call("well?"));
    let waker = futures::task::noop_waker();
    let mut context = std::task::Context::from_waker(&waker);
    assert!(first.as_mut().poll(&mut context).is_pending());
    let until = Instant::now() + Duration::from_secs(20);
    while server.seen().is_empty() && Instant::now() < until {
        std::thread::yield_now();
    }
    drop(first);
    assert_eq!(ask(&client, "well?").unwrap().text(), "yes");
}

#[test]
fn a_key_is_not_sent_unencrypted_to_the_world() {
    let parse = |base| air_llm::ModelSpec::parse("openai:m", Some(base), &|_| None).unwrap();
    let key = || Some(air_llm::Key::new(KEY).unwrap());
    let error = Client::new(parse("http://llm.example/v1"), key(), Options::default()).unwrap_err();
    assert!(error.to_string().contains("AIR_MODEL_PLAINTEXT=1"), "{error}");
    assert!(!error.to_string().contains(KEY));
    assert!(Client::new(parse("http://llm.example/v1"), None, Options::default()).is_ok());
    let server = Server::start(|_, _| said("yes"));
    assert!(Client::new(spec(&server, "openai:m"), key(), Options::default()).is_ok());
}
