//! A real llama.cpp server, best with random weights: it answers with rubbish, and none of it may do
//! more than end in an answer or a typed error.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use air_llm::{Call, Client, Model, ModelError, ModelSpec, Options, Purpose};
use air_testkit::llama::Llama;
use air_wire::{Delta, Message, Request, Schema, Tool, ToolChoice};
use futures::{executor::block_on, future::join_all};
use serde_json::json;

/// One of several ways to ask.
fn call(number: usize) -> Call {
    let schema = json!({
        "type": "object",
        "properties": {
            "happened": { "type": "string", "enum": ["yes", "no"] },
            "why": { "type": "string", "maxLength": 20 },
        },
        "required": ["happened", "why"],
        "additionalProperties": false,
    });
    let tool = Tool {
        name: "look".to_owned(),
        description: "Looks at a file.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "path": { "type": "string", "maxLength": 20 } },
            "required": ["path"],
        }),
    };
    let mut request = Request {
        system: "You judge.".to_owned(),
        messages: vec![Message::user(format!("Was the tree deleted? Case {number}."))],
        max_output_tokens: Some([8, 64, 200][number % 3]),
        temperature: number.is_multiple_of(2).then_some(1.0),
        seed: u64::try_from(number).ok(),
        ..Request::default()
    };
    match number % 7 {
        0 => {}
        1 | 2 => {
            request.output = Some(Schema { name: "verdict".to_owned(), schema });
            request.top_logprobs = (number % 2 == 1).then_some(5);
        }
        way => {
            request.tools = vec![tool];
            request.tool_choice = match way {
                3 => ToolChoice::Auto,
                4 => ToolChoice::Required,
                5 => ToolChoice::Named("look".to_owned()),
                _ => ToolChoice::None,
            };
        }
    }
    let mut call = Call::new(Purpose::Check, request);
    if number % 4 >= 2 {
        call.listener = Some(Arc::new(|_: &Delta| {}));
    }
    call
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "what a server answered is to be seen, as that it was skipped"
)]
fn rubbish_is_an_answer_or_a_typed_error() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Llama::start(folder.path()).unwrap() else {
        eprintln!("skipped: AIR_SDK_PYTHON names no interpreter that has `xllamacpp`");
        return;
    };
    let base = server.url();
    for (name, version) in
        [("openai-chat:r", "/v1"), ("openai-responses:r", "/v1"), ("anthropic:r", "")]
    {
        let begun = Instant::now();
        let spec = ModelSpec::parse(name, Some(&format!("{base}{version}")), &|_| None).unwrap();
        let client = Client::new(spec, None, Options::default()).unwrap();
        let calls = (0..210).map(|number| {
            let mut call = call(number);
            call.deadline = Some(Duration::from_mins(2));
            client.answer(call)
        });
        let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
        for (number, result) in block_on(join_all(calls)).into_iter().enumerate() {
            let kind = match result {
                Ok(answer) => {
                    let calls = answer.calls().count();
                    if number % 7 == 1 && number % 2 == 1 && name == "openai-chat:r" {
                        assert!(!answer.probabilities.is_empty(), "{number}: {answer:?}");
                    }
                    format!("{:?} with {calls} calls", answer.stop)
                }
                // Whatever else there is says that the client misread a healthy server.
                Err(error @ (ModelError::Malformed(_) | ModelError::Rejected { .. })) => {
                    error.to_string().chars().take(70).collect()
                }
                Err(other) => panic!("{name} {number}: {other}"),
            };
            *kinds.entry(kind).or_default() += 1;
        }
        let took = client.ledger().spent().total();
        eprintln!("{name} in {:.1?}: {kinds:#?} {took:?}", begun.elapsed());
    }
}
