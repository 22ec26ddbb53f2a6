//! Nothing that is sent makes a codec panic, or grow without bound.

use air_wire::{
    DecodeError, Dialect, StreamDecoder, decode_answer, decode_error, decode_request,
    encode_request,
};
use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

use crate::{events, streamed};

/// The words that codecs look for.
const KEYS: [&str; 40] = [
    "choices",
    "message",
    "messages",
    "content",
    "delta",
    "tool_calls",
    "function",
    "arguments",
    "index",
    "id",
    "output",
    "input",
    "item",
    "response",
    "type",
    "role",
    "candidates",
    "parts",
    "text",
    "functionCall",
    "args",
    "usage",
    "error",
    "logprobs",
    "output_index",
    "content_block",
    "contents",
    "inlineData",
    "image_url",
    "source",
    "data",
    "tools",
    "name",
    "logprob",
    "token",
    "finish_reason",
    "functionResponse",
    "system",
    "thoughtSignature",
    "status",
];

const WORDS: [&str; 24] = [
    "",
    "user",
    "assistant",
    "model",
    "tool",
    "text",
    "image",
    "function_call",
    "message",
    "tool_use",
    "tool_result",
    "reasoning",
    "thinking",
    "content_block_start",
    "content_block_delta",
    "message_stop",
    "message_delta",
    "response.completed",
    "response.output_item.added",
    "stop",
    "data:image/png;base64,%%",
    "error",
    "input_image",
    "image_url",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let key = proptest::sample::select(&KEYS[..]);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key, inner), 0..6).prop_map(|fields| {
                let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value));
                Value::Object(fields.collect::<Map<_, _>>())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_value_is_read_or_refused(value in value()) {
        let text = value.to_string();
        for dialect in Dialect::ALL {
            let _ = decode_answer(dialect, text.as_bytes());
            let _ = decode_error(dialect, 500, text.as_bytes());
            let stream = events(&[&text, &text, "[DONE]"]);
            let whole = streamed(dialect, stream.as_bytes(), usize::MAX);
            prop_assert_eq!(streamed(dialect, stream.as_bytes(), 3), whole);
            if let Ok(request) = decode_request(dialect, "/v1beta/models/m:generateContent", &value) {
                for dialect in Dialect::ALL {
                    encode_request(dialect, &request);
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..300)) {
        for dialect in Dialect::ALL {
            let _ = decode_answer(dialect, &bytes);
            let _ = decode_error(dialect, 500, &bytes);
            let _ = streamed(dialect, &bytes, 7);
        }
    }
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    for dialect in Dialect::ALL {
        for (open, close) in [("[", "]"), (r#"{"choices":"#, "}")] {
            let deep = format!("{}0{}", open.repeat(100_000), close.repeat(100_000));
            assert!(matches!(decode_answer(dialect, deep.as_bytes()), Err(DecodeError::Json(_))));
            assert!(streamed(dialect, events(&[&deep]).as_bytes(), 4096).is_err());
        }
    }
}

#[test]
fn a_stream_is_read_up_to_its_limit() {
    let chunk = r#"{"choices":[{"delta":{"content":"more and more"}}]}"#;
    let bytes = events(&[chunk]);
    let mut decoder = StreamDecoder::new(Dialect::OpenAiChat).limit(10_000);
    let refused = (0..1000).find_map(|_| decoder.push(bytes.as_bytes()).err());
    assert_eq!(refused, Some(DecodeError::TooLong(10_000)));
}

#[test]
fn numbers_of_calls_and_blocks_take_no_room() {
    let far = u64::MAX;
    let call = json!({ "index": far, "id": "a", "function": { "name": "a", "arguments": "{}" } });
    let chunk =
        json!({ "choices": [{ "delta": { "tool_calls": [call] }, "finish_reason": "stop" }] });
    let stream = events(&[&chunk.to_string()]);
    let (answer, _) = streamed(Dialect::OpenAiChat, stream.as_bytes(), 999).expect("an answer");
    assert_eq!(answer.calls().count(), 1);
    let block = json!({ "type": "content_block_start", "index": far, "content_block": { "type": "text", "text": "hi" } });
    let stream = events(&[&block.to_string(), r#"{"type":"message_stop"}"#]);
    let (answer, _) = streamed(Dialect::Anthropic, stream.as_bytes(), 999).expect("an answer");
    assert_eq!(answer.text(), "hi");
}

#[test]
fn a_stream_of_nothing_but_calls_is_refused() {
    let mut decoder = StreamDecoder::new(Dialect::OpenAiChat);
    let refused = (0..5000).find_map(|index| {
        let call = json!({ "index": index, "id": index.to_string(), "function": { "name": "a" } });
        let chunk = json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }).to_string();
        decoder.push(events(&[&chunk]).as_bytes()).err()
    });
    assert!(matches!(refused, Some(DecodeError::Form(_))));
}
