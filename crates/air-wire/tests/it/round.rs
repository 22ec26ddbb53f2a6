//! What one side writes, the other reads.

use air_wire::{
    Answer, Delta, Dialect, Message, Part, Pieces, Request, Role, Schema, Stop, TokenProbability,
    Tool, ToolCall, ToolChoice, Usage, decode_answer, decode_request, encode_answer,
    encode_request, encode_stream,
};
use proptest::{collection::vec, option::of, prelude::*};
use serde_json::{Value, json};

use crate::streamed;

fn dialect() -> impl Strategy<Value = Dialect> {
    proptest::sample::select(Dialect::ALL.to_vec())
}

/// Any text that is not blank.
fn said() -> impl Strategy<Value = String> {
    "[^\u{0}]{0,20}[a-zé{\"\\\\]\n?"
}

fn arguments() -> impl Strategy<Value = String> {
    proptest::collection::btree_map("[a-z]{1,5}", said(), 0..3)
        .prop_map(|fields| json!(fields).to_string())
}

fn call() -> impl Strategy<Value = ToolCall> {
    ("[a-z]{4}", "[a-z_]{1,8}", arguments()).prop_map(|(id, name, arguments)| ToolCall {
        id,
        name,
        arguments,
    })
}

/// Calls with ids of their own.
fn calls(most: usize) -> impl Strategy<Value = Vec<ToolCall>> {
    vec(call(), 0..=most).prop_map(|mut calls| {
        for (at, call) in calls.iter_mut().enumerate() {
            call.id = format!("{}{at}", call.id);
        }
        calls
    })
}

fn opaque(dialect: Dialect, signature: &str) -> Value {
    match dialect {
        Dialect::OpenAiChat => json!({ "reasoning_content": signature }),
        Dialect::OpenAiResponses => json!({
            "type": "reasoning", "id": "r1", "summary": [], "encrypted_content": signature,
        }),
        Dialect::Anthropic => {
            json!({ "type": "thinking", "thinking": "hm", "signature": signature })
        }
        Dialect::Gemini => json!({ "thoughtSignature": signature }),
    }
}

prop_compose! {
    fn answer(dialect: Dialect)(
        model in "[a-z0-9.-]{1,8}",
        signature in of("[a-zA-Z0-9]{1,9}"),
        text in of(said()),
        calls in calls(3),
        stop in prop_oneof![
            Just(Stop::End), Just(Stop::Length),
            "[a-z ]{1,9}[a-z]".prop_map(Stop::Refused),
            "zz_[a-z_]{1,9}".prop_map(Stop::Other),
        ],
        counts in [0_u64..1 << 40, 0..1 << 40, 0..1 << 40, 0..1 << 40, 0..1 << 40],
        tokens in vec((said(), 0_u16..800, vec((said(), 0_u16..800), 0..3)), 0..3),
    ) -> Answer {
        let mut parts = Vec::new();
        let something = text.is_some() || !calls.is_empty();
        let item = signature.as_deref().map(|signature| opaque(dialect, signature));
        parts.extend(item.filter(|_| something).map(|item| Part::Opaque { dialect, item }));
        parts.extend(text.clone().map(Part::Text));
        parts.extend(calls.iter().cloned().map(Part::ToolCall));
        let [input, cached, written, output, reasoning] = counts;
        let log = |eighths: u16| -f64::from(eighths) / 8.0;
        let probabilities = tokens.into_iter().map(|(token, eighths, top)| TokenProbability {
            token,
            log: log(eighths),
            top: top.into_iter().map(|(token, eighths)| (token, log(eighths))).collect(),
        });
        let heard = dialect != Dialect::Anthropic
            && (dialect != Dialect::OpenAiResponses || text.is_some());
        Answer {
            model,
            stop: if stop == Stop::End && !calls.is_empty() { Stop::ToolUse } else { stop },
            usage: Usage {
                input: input + cached + written,
                cached,
                cache_written: if dialect == Dialect::Gemini { 0 } else { written },
                output: output + reasoning,
                reasoning,
            },
            probabilities: if heard { probabilities.collect() } else { Vec::new() },
            parts,
        }
    }
}

fn user_parts() -> impl Strategy<Value = Vec<Part>> {
    let image = vec(any::<u8>(), 0..20)
        .prop_map(|data| Part::Image { media_type: "image/png".into(), data: data.into() });
    vec(prop_oneof![3 => said().prop_map(Part::Text), 1 => image], 1..3)
}

prop_compose! {
    /// Turns with their results: what the user says, what the model answers, what the tools return.
    fn messages()(
        turns in vec((user_parts(), of(said()), calls(2), said(), any::<bool>()), 0..3),
    ) -> Vec<Message> {
        let mut messages: Vec<Message> = Vec::new();
        let mut results: Vec<Part> = Vec::new();
        for (number, (asked, text, mut calls, content, is_error)) in turns.into_iter().enumerate() {
            for call in &mut calls {
                call.id = format!("{}-{number}", call.id);
            }
            let parts = std::mem::take(&mut results).into_iter().chain(asked).collect();
            messages.push(Message { role: Role::User, parts });
            let mut parts: Vec<Part> = text.or_else(|| calls.is_empty().then(|| "ok".into())).map(Part::Text).into_iter().collect();
            parts.extend(calls.iter().cloned().map(Part::ToolCall));
            messages.push(Message { role: Role::Assistant, parts });
            results = calls.into_iter().map(|call| Part::ToolResult {
                call: call.id, name: call.name, content: content.clone(), is_error,
            }).collect();
        }
        messages
    }
}

prop_compose! {
    fn request(dialect: Dialect)(
        model in "[a-z0-9.:-]{1,8}[a-z]",
        system in of(said()),
        mut messages in messages(),
        tools in vec("[a-z_]{1,8}", 0..3),
        choice in 0_usize..4,
        output in of("[a-z]{1,8}"),
        max_output_tokens in 1_u32..100_000,
        temperature in of(0_u8..20),
        seed in of(0_u64..1 << 31),
        top in of(0_u8..20),
        stream in any::<bool>(),
    ) -> Request {
        let openai = matches!(dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses);
        for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
            if let Part::ToolResult { is_error, .. } = part {
                *is_error &= !openai;
            }
        }
        let schema = |name: &String| json!({ "type": "object", "properties": { (name): { "type": "string" } } });
        let named = tools.first().cloned();
        let tool_choice = match (named, choice) {
            (None, _) | (_, 0) => ToolChoice::Auto,
            (_, 1) => ToolChoice::None,
            (_, 2) => ToolChoice::Required,
            (Some(name), _) => ToolChoice::Named(name),
        };
        Request {
            model,
            system: system.unwrap_or_default(),
            messages,
            tools: tools.iter().map(|name| Tool {
                name: name.clone(), description: format!("does {name}"), parameters: schema(name),
            }).collect(),
            tool_choice,
            output: output.map(|name| Schema { schema: schema(&name), name }),
            max_output_tokens: Some(max_output_tokens),
            temperature: temperature.map(|tenths| f64::from(tenths) / 8.0),
            seed: seed.filter(|_| matches!(dialect, Dialect::OpenAiChat | Dialect::Gemini)),
            top_logprobs: top.filter(|_| dialect != Dialect::Anthropic),
            stream,
        }
    }
}

proptest! {
    #[test]
    fn requests((dialect, request) in dialect().prop_flat_map(|dialect| (Just(dialect), request(dialect)))) {
        let encoded = encode_request(dialect, &request);
        let read = decode_request(dialect, &encoded.path, &encoded.body);
        prop_assert_eq!(read.expect("a request"), request);
    }

    #[test]
    fn answers((dialect, answer) in dialect().prop_flat_map(|dialect| (Just(dialect), answer(dialect)))) {
        let body = encode_answer(dialect, &answer).to_string();
        prop_assert_eq!(decode_answer(dialect, body.as_bytes()).expect("an answer"), answer);
    }

    #[test]
    fn streams(
        (dialect, answer) in dialect().prop_flat_map(|dialect| (Just(dialect), answer(dialect))),
        most in 1_usize..9,
        usage in any::<bool>(),
        size in 1_usize..40,
    ) {
        let events = encode_stream(dialect, &answer, Pieces { most, usage });
        let bytes: String = events.iter().map(ToString::to_string).collect();
        let (read, heard) = streamed(dialect, bytes.as_bytes(), size).expect("an answer");
        prop_assert_eq!(heard_text(&heard), answer.text());
        prop_assert_eq!(heard_calls(&heard), answer.calls().map(|call| (call.name.clone(), call.arguments.clone())).collect::<Vec<_>>());
        let mut expected = answer;
        if dialect == Dialect::OpenAiChat && !usage {
            expected.usage = Usage::default();
        }
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn a_stream_that_is_cut_is_no_answer(
        (dialect, answer) in dialect().prop_flat_map(|dialect| (Just(dialect), answer(dialect))),
        events in 0_usize..60,
    ) {
        let all = encode_stream(dialect, &answer, Pieces { most: 4, usage: true });
        let needed = if dialect == Dialect::OpenAiChat { 3 } else { 1 };
        let kept = events.min(all.len() - needed);
        let bytes: String = all.iter().take(kept).map(ToString::to_string).collect();
        prop_assert!(streamed(dialect, bytes.as_bytes(), 50).is_err());
    }
}

fn heard_text(heard: &[Delta]) -> String {
    let texts = heard.iter().filter_map(|delta| match delta {
        Delta::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn heard_calls(heard: &[Delta]) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for delta in heard {
        match delta {
            Delta::CallBegun { at, name } => {
                assert_eq!(*at, calls.len());
                calls.push((name.clone(), String::new()));
            }
            Delta::Arguments { at, text } => calls[*at].1.push_str(text),
            _ => {}
        }
    }
    calls
}

#[test]
fn an_answer_is_the_same_wherever_its_stream_is_split() {
    let call = |id: &str| {
        let arguments = r#"{"path":"é"}"#.to_owned();
        Part::ToolCall(ToolCall { id: id.into(), name: "look".into(), arguments })
    };
    let answer = Answer {
        model: "m".into(),
        parts: vec![Part::Text("Grüße 🙂".into()), call("a"), call("b")],
        stop: Stop::ToolUse,
        usage: Usage { input: 5, cached: 2, output: 3, ..Usage::default() },
        probabilities: Vec::new(),
    };
    for dialect in Dialect::ALL {
        let events = encode_stream(dialect, &answer, Pieces { most: 5, usage: true });
        let bytes: Vec<u8> =
            events.iter().flat_map(|event| event.to_string().into_bytes()).collect();
        for at in 0..bytes.len() {
            let mut decoder = air_wire::StreamDecoder::new(dialect);
            let (head, tail) = bytes.split_at(at);
            decoder.push(head).expect("a head");
            assert!(!decoder.has_ended());
            decoder.push(tail).expect("a tail");
            assert_eq!(decoder.has_ended(), dialect != Dialect::Gemini);
            assert_eq!(decoder.finish().as_ref(), Ok(&answer), "{dialect} at {at}");
        }
        let (read, _) = streamed(dialect, &bytes, 1).expect("an answer");
        assert_eq!(read, answer, "{dialect}, byte by byte");
    }
}

#[test]
fn arguments_that_are_cut_off_stay_so() {
    for dialect in Dialect::ALL {
        let cut =
            ToolCall { id: "c".into(), name: "look".into(), arguments: r#"{"path": "/et"#.into() };
        let answer = Answer {
            parts: vec![Part::ToolCall(cut.clone())],
            stop: Stop::Length,
            ..Answer::default()
        };
        let body = encode_answer(dialect, &answer).to_string();
        let read = decode_answer(dialect, body.as_bytes()).expect("an answer");
        assert_eq!((read.calls().next(), &read.stop), (Some(&cut), &Stop::Length), "{dialect}");
        assert!(cut.parsed().is_err());
        let events = encode_stream(dialect, &answer, Pieces { most: 5, usage: true });
        let bytes: String = events.iter().map(ToString::to_string).collect();
        let (read, _) = streamed(dialect, bytes.as_bytes(), 7).expect("an answer");
        assert_eq!((read.calls().next(), &read.stop), (Some(&cut), &Stop::Length), "{dialect}");
    }
}
