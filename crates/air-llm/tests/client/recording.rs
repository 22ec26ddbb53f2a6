//! Recordings.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use air_llm::{
    Call, Cassette, Ledger, Model, ModelError, Options, Price, Purpose, Recorder, Replay, Tape,
};
use air_wire::{Delta, Message, Part, Request};
use futures::executor::block_on;

use crate::{
    KEY, ask, call, client,
    server::{Reply, Seen, Server, piece, refused, said},
};

/// Records what `script` asks of a provider, and plays it again.
fn record(
    play: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static,
    script: impl Fn(&dyn Model),
) -> (String, Cassette) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("cassette.jsonl");
    let server = Server::start(play);
    let tape = Tape::create(&path).unwrap();
    let model = Arc::new(client(&server, Options::default()));
    script(&Recorder::new(model, tape.clone()));
    tape.check().unwrap();
    (fs::read_to_string(&path).unwrap(), Cassette::open(&path).unwrap())
}

#[test]
fn equal_requests_are_answered_in_their_order() {
    let (text, cassette) = record(
        |number, _| match number {
            3 => refused(404, "", "no such model"),
            number => said(&format!("answer {number}")),
        },
        |model| {
            for question in ["a", "a", "b", "c"] {
                let _ = ask(model, question);
            }
        },
    );
    assert!(!text.contains(KEY));
    let model = Replay::new("openai:m", cassette.clone());
    assert_eq!(cassette.left(), 4);
    assert_eq!(ask(&model, "b").unwrap().text(), "answer 2");
    assert_eq!(ask(&model, "a").unwrap().text(), "answer 0");
    assert_eq!(ask(&model, "a").unwrap().text(), "answer 1");
    let error = ask(&model, "c").unwrap_err();
    assert!(matches!(error, ModelError::Rejected { status: 404, .. }), "{error}");
    let error = ask(&model, "a").unwrap_err().to_string();
    assert!(error.contains("asked 2 times"), "{error}");
    assert_eq!(cassette.left(), 0);
}

#[test]
fn what_is_not_recorded_is_told_by_its_difference_without_its_text() {
    let (_, cassette) = record(|_, _| said("yes"), |model| drop(ask(model, "the state is fine")));
    let model = Replay::new("openai:m", cassette);
    let error = ask(&model, "the state is f...").unwrap_err();
    assert!(matches!(error, ModelError::NotRecorded(_)));
    let error = error.to_string();
    assert!(error.contains("`messages[0].parts[0].text` differs from character 15 on"), "{error}");
    let mut other = call("the state is fine");
    other.purpose = Purpose::Agent;
    let error = block_on(model.answer(other)).unwrap_err().to_string();
    assert!(error.contains("nothing more is recorded for `agent`"), "{error}");
    let mut warm = call("the state is fine");
    warm.request.temperature = Some(1.0);
    let error = block_on(model.answer(warm)).unwrap_err().to_string();
    assert!(error.contains("`temperature` differs"), "{error}");
}

#[test]
fn nonces_are_exchanged_in_requests_and_answers() {
    let ask = |model: &dyn Model, nonce: &str| {
        let mut call = call(&format!("<data {nonce}> text </data {nonce}>"));
        call.nonces = vec![nonce.to_owned()];
        block_on(model.answer(call)).unwrap().text()
    };
    let (text, cassette) = record(
        |_, _| said("seen between <data 0123456789abcdef> and its end"),
        |model| drop(ask(model, "0123456789abcdef")),
    );
    assert!(!text.contains("0123456789abcdef"), "{text}");
    let model = Replay::new("openai:m", cassette);
    let answer = ask(&model, "fedcba9876543210");
    assert_eq!(answer, "seen between <data fedcba9876543210> and its end");
}

/// A judge whose opinion is the number of letters of the question.
fn judge(seen: &Seen) -> Reply {
    let body: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
    let text = body["messages"][1]["content"].to_string();
    let code = text.split("Code of this request: ").nth(1).unwrap_or_default();
    let code: String = code.chars().take(8).collect();
    let answer = ["yes", "no"][text.split(' ').count() % 2];
    let answer = serde_json::json!({ "rule": 1, "outcome": answer, "confidence": 0.9, "rationale": "so it is", "quotes": [] });
    said(&serde_json::json!({ "request": code, "answers": [answer] }).to_string())
}

/// Every request of a judge holds marks that nobody can guess.
#[test]
fn a_judge_is_played_again() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("cassette.jsonl");
    let server = Server::start(|_, seen| judge(seen));
    let tape = Tape::create(&path).unwrap();
    let model = Arc::new(client(&server, Options::default()));
    let settings = air_llm::JudgeSettings::default;
    let score = |model| block_on(air_llm::probe(model, settings())).unwrap();
    let live = score(Arc::new(Recorder::new(model, tape)));
    assert!(live.undetermined * 2 < live.right + live.wrong, "{live:?}");
    let cassette = Cassette::open(&path).unwrap();
    let again = score(Arc::new(Replay::new("openai:m", cassette.clone())));
    assert_eq!((again, cassette.left()), (live, 0));
}

#[test]
fn pieces_are_heard_again() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listen = |model: &dyn Model, with: bool| {
        let ear = Arc::clone(&heard);
        let mut call = call("well?");
        if with {
            call.listener =
                Some(Arc::new(move |delta: &Delta| ear.lock().unwrap().push(delta.clone())));
        }
        let answer = block_on(model.answer(call)).unwrap();
        (std::mem::take(&mut *heard.lock().unwrap()), answer)
    };
    let events =
        || Reply::Events(vec![piece("ye", None), piece("s", Some("stop")), "[DONE]".to_owned()]);
    let first = Mutex::new(None);
    let (_, cassette) = record(
        move |number, _| if number == 0 { events() } else { said("whole") },
        |model| {
            *first.lock().unwrap() = Some(listen(model, true));
            listen(model, false);
        },
    );
    let model = Replay::new("openai:m", cassette);
    let again = listen(&model, true);
    assert_eq!(again.0, [Delta::Text("ye".to_owned()), Delta::Text("s".to_owned())]);
    assert_eq!(Some(again), first.into_inner().unwrap());
    // Recorded whole, heard whole.
    assert_eq!(listen(&model, true).0, [Delta::Text("whole".to_owned())]);
}

#[test]
fn secrets_of_a_request_are_not_written() {
    let secret = "AKIAIOSFODNN7EXAMPLE";
    let question = format!("the file holds {secret}");
    let (text, cassette) = record(|_, _| said("yes"), |model| drop(ask(model, &question)));
    assert!(!text.contains(secret), "{text}");
    assert_eq!(ask(&Replay::new("m", cassette), &question).unwrap().text(), "yes");
}

/// A short secret could be found by trying, were the digest one of it.
#[test]
fn a_digest_tells_nothing_of_a_secret() {
    let (text, _) = record(
        |_, _| said("yes"),
        |model| {
            for question in ["password=1234", "password=5678", "no word is said"] {
                ask(model, question).unwrap();
            }
        },
    );
    let lines = text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap());
    let digests: Vec<_> = lines.map(|line: serde_json::Value| line["digest"].clone()).collect();
    assert_eq!(digests[0], digests[1], "{text}");
    assert_ne!(digests[0], digests[2]);
}

#[test]
fn a_replay_is_accounted_for() {
    let (_, cassette) = record(|_, _| said("yes"), |model| drop(ask(model, "well?")));
    let ledger = Ledger::default();
    let price = Price { input: 1_000_000, output: 1_000_000, ..Price::FREE };
    let model = Replay::new("m", cassette).with_ledger(ledger.clone(), Some(price));
    ask(&model, "well?").unwrap();
    ask(&model, "well?").unwrap_err();
    let total = ledger.spent().total();
    assert_eq!((total.calls, total.answered, total.cost()), (1, 1, Some(1100)));
}

#[test]
fn a_tape_overwrites_nothing_and_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("cassette.jsonl");
    drop(Tape::create(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(Tape::create(&path).is_err());
    assert!(Tape::create(Path::new("/dev/full")).is_err());
}

/// Recordings of version 1 can be played for ever.
#[test]
fn version_1_is_read() {
    let cassette = Cassette::parse(include_str!("cassette_1.jsonl")).unwrap();
    assert_eq!(cassette.left(), 3);
    let model = Replay::new("openai:m", cassette);
    let text = "Is <data 0123456789abcdef>rm -rf /</data 0123456789abcdef> harmful?";
    let request = Request {
        system: "You judge.".to_owned(),
        messages: vec![Message::user(text)],
        temperature: Some(0.0),
        ..Request::default()
    };
    let mut call = Call::new(Purpose::Check, request);
    call.nonces = vec!["0123456789abcdef".to_owned()];
    let answer = block_on(model.answer(call.clone())).unwrap();
    let Part::ToolCall(found) = &answer.parts[1] else { panic!("{answer:?}") };
    assert_eq!((answer.text().as_str(), found.name.as_str()), ("yes", "verdict"));
    assert_eq!((answer.usage.input, answer.probabilities.len()), (40, 1));
    let error = block_on(model.answer(call.clone())).unwrap_err();
    assert!(matches!(error, ModelError::Overloaded { status: 429, tries: 4, .. }), "{error}");
    assert_eq!(block_on(model.answer(call)).unwrap().text(), "quoted 0123456789abcdef");
}

#[test]
fn what_is_no_recording_is_told() {
    #[rustfmt::skip]
    let table = [
        ("",                                                              "no recording"),
        ("{}",                                                            "no recording"),
        ("{\"format\":\"har\",\"version\":1}",                            "no recording"),
        ("{\"format\":\"air-cassette\",\"version\":2}",                   "version 2"),
        ("{\"format\":\"air-cassette\",\"version\":1}\n\n{\"purpose\":",  "line 3"),
    ];
    for (text, words) in table {
        let error = Cassette::parse(text).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}
