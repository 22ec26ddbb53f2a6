//! What calls cost is counted, and limited.

use air_llm::{
    Call, Client, Ledger, Model, ModelError, ModelSpec, Options, Prices, Purpose, SpendLimit,
};
use air_wire::{Message, Request};
use futures::{executor::block_on, future::join_all};

use crate::{
    ask, call, client,
    server::{Reply, Server, refused, said},
};

/// A table in which the test model costs a dollar for a million tokens, and ten for those of an answer.
fn options(limit: SpendLimit) -> Options {
    let table = "version = 1\ndate = \"2026-01-01\"\n[[price]]\nmodel = \"openai:m@127.0.0.1\"\ninput = 1.0\noutput = 10.0\n";
    Options {
        ledger: Ledger::new(limit),
        prices: Prices::parse(table).unwrap(),
        ..Options::default()
    }
}

#[test]
fn what_was_spent_is_known_by_purpose() {
    let server = Server::start(|number, _| match number {
        1 => refused(503, "retry-after-ms: 1\r\n", "busy"),
        3 => refused(404, "", "no such model"),
        _ => said("yes"),
    });
    let client = client(&server, options(SpendLimit::default()));
    ask(&client, "one").unwrap();
    ask(&client, "two").unwrap();
    ask(&client, "three").unwrap_err();
    let check = client.ledger().take().of(Purpose::Check);
    assert_eq!((check.calls, check.requests, check.answered), (3, 4, 2));
    assert_eq!((check.usage.input, check.usage.output, check.cost()), (2000, 200, Some(4000)));

    let request = Request { messages: vec![Message::user("four")], ..Request::default() };
    block_on(client.answer(Call::new(Purpose::Agent, request))).unwrap();
    let more = client.ledger().take();
    assert_eq!(more.iter().map(|(purpose, _)| purpose).collect::<Vec<_>>(), [Purpose::Agent]);
    assert_eq!(more.total().cost(), Some(2000));
    assert_eq!(client.ledger().take().total().calls, 0);
    assert_eq!(client.ledger().spent().total().cost(), Some(6000));
}

#[test]
fn a_limit_stops_after_the_call_that_exceeds_it() {
    let limits = [
        SpendLimit { micro_dollars: Some(5000), ..SpendLimit::default() },
        SpendLimit { tokens: Some(3000), ..SpendLimit::default() },
        SpendLimit { requests: Some(3), ..SpendLimit::default() },
    ];
    for limit in limits {
        let server = Server::start(|_, _| said("yes"));
        let client = client(&server, options(limit));
        let answers: Vec<_> = (0..5).map(|_| ask(&client, "well?")).collect();
        assert!(answers[..3].iter().all(Result::is_ok), "{limit:?}: {answers:?}");
        for answer in &answers[3..] {
            assert!(matches!(answer, Err(ModelError::Spent(_))), "{limit:?}: {answer:?}");
        }
        assert_eq!(server.seen().len(), 3, "{limit:?}");
    }
}

#[test]
fn a_request_that_certainly_exceeds_a_limit_is_not_sent() {
    let limits = [
        SpendLimit { micro_dollars: Some(5000), ..SpendLimit::default() },
        SpendLimit { tokens: Some(5000), ..SpendLimit::default() },
    ];
    for limit in limits {
        let server = Server::start(|_, _| said("yes"));
        let client = client(&server, options(limit));
        let answer = ask(&client, &"a long text ".repeat(10_000));
        assert!(matches!(answer, Err(ModelError::Spent(_))), "{limit:?}: {answer:?}");
        assert!(server.seen().is_empty());
        ask(&client, "a short one").unwrap();
    }
}

#[test]
fn calls_at_once_share_a_limit() {
    let server = Server::start(|_, _| said("yes"));
    let limit = SpendLimit { requests: Some(5), ..SpendLimit::default() };
    let client = client(&server, options(limit));
    let answers = block_on(join_all((0..20).map(|_| client.answer(call("well?")))));
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 5);
    assert_eq!(server.seen().len(), 5);
}

/// A provider that is busy, and quirks of a server, make several requests of one call.
#[test]
fn what_is_tried_again_counts() {
    let server = Server::start(|number, _| match number {
        0 | 2 => refused(503, "retry-after-ms: 1\r\n", "busy"),
        _ => said("yes"),
    });
    let limit = SpendLimit { requests: Some(3), ..SpendLimit::default() };
    let client = client(&server, options(limit));
    ask(&client, "one").unwrap();
    let error = ask(&client, "two").unwrap_err();
    assert!(matches!(error, ModelError::Spent(_)), "{error}");
    assert!(error.to_string().contains("3 requests were sent, and no more than 3"), "{error}");
    ask(&client, "three").unwrap_err();
    assert_eq!(server.seen().len(), 3);
    let total = client.ledger().spent().total();
    assert_eq!((total.calls, total.requests, total.answered), (2, 3, 1));
}

#[test]
fn a_limit_in_dollars_does_not_hold_for_a_model_of_unknown_price() {
    let server = Server::start(|_, _| said("yes"));
    let limit = SpendLimit { micro_dollars: Some(5000), ..SpendLimit::default() };
    let client = client(&server, options(limit));
    let error = ask(&client.sibling("other"), "well?").unwrap_err();
    assert!(error.to_string().contains("give its price"), "{error}");
    // Without such a limit it is asked, and what it costs is not known.
    let free = crate::client(&server, Options::default());
    ask(&free, "well?").unwrap();
    assert_eq!(free.ledger().spent().total().cost(), None);
    // What costs nothing is within every limit.
    let spec =
        ModelSpec::parse("ollama:m", Some(&format!("{}/v1", server.base)), &|_| None).unwrap();
    let limit = SpendLimit { micro_dollars: Some(0), ..SpendLimit::default() };
    let options = Options { ledger: Ledger::new(limit), ..Options::default() };
    ask(&Client::new(spec, None, options).unwrap(), "well?").unwrap();
}

#[test]
fn what_nobody_counted_is_estimated() {
    let server = Server::start(|number, _| match number {
        0 => Reply::Whole(
            200,
            "",
            crate::server::chat("yes!").replace("1000", "0").replace("100,", "0,"),
        ),
        _ => Reply::Whole(200, "", "nonsense".to_owned()),
    });
    let client = client(&server, options(SpendLimit::default()));
    ask(&client, &"x".repeat(4000)).unwrap();
    ask(&client, &"x".repeat(4000)).unwrap_err();
    let total = client.ledger().spent().total();
    assert_eq!((total.calls, total.answered, total.estimated), (2, 1, 2));
    assert_eq!((total.usage.input, total.usage.output, total.cost()), (2000, 1, Some(2010)));
}
