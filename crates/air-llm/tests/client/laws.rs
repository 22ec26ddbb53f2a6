//! What holds whatever comes.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU32, Ordering},
};

use air_core::port::BoxFuture;
use air_llm::{
    Call, Cassette, Key, Model, ModelError, ModelSpec, Price, Prices, Recorder, Replay, Tape,
};
use air_wire::{Answer, Dialect, Part, Stop, TokenProbability, ToolCall, Usage};
use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::json;

use crate::call;

/// A model that says what it was made with.
#[derive(Debug)]
struct Fixed(Mutex<Vec<Result<Answer, ModelError>>>);

impl Model for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn answer(&self, _: Call) -> BoxFuture<'static, Result<Answer, ModelError>> {
        let next = self.0.lock().unwrap().remove(0);
        Box::pin(async { next })
    }
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        any::<String>().prop_map(Part::Text),
        (any::<String>(), any::<String>(), any::<String>())
            .prop_map(|(id, name, arguments)| Part::ToolCall(ToolCall { id, name, arguments })),
        any::<Vec<u8>>()
            .prop_map(|data| Part::Image { media_type: "image/png".to_owned(), data: data.into() }),
        any::<String>().prop_map(|text| Part::Opaque {
            dialect: Dialect::Anthropic,
            item: json!({ "signed": [text, null, 1] }),
        }),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    let stop = prop_oneof![
        Just(Stop::End),
        Just(Stop::Length),
        any::<String>().prop_map(Stop::Refused),
        any::<String>().prop_map(Stop::Other),
    ];
    let parts = prop::collection::vec(part(), 0..4);
    (any::<String>(), parts, stop, any::<[u64; 5]>(), any::<String>()).prop_map(
        |(model, parts, stop, [input, cached, cache_written, output, reasoning], token)| Answer {
            model,
            parts,
            stop,
            usage: Usage { input, cached, cache_written, output, reasoning },
            probabilities: vec![TokenProbability {
                top: vec![(token.clone(), -0.25)],
                token,
                log: -0.25,
            }],
        },
    )
}

fn error() -> impl Strategy<Value = ModelError> {
    let text = any::<String>;
    prop_oneof![
        text().prop_map(ModelError::Connection),
        text().prop_map(ModelError::Malformed),
        text().prop_map(ModelError::Spent),
        any::<u64>().prop_map(ModelError::TooLong),
        any::<u32>()
            .prop_map(|ms| ModelError::Timeout(std::time::Duration::from_millis(ms.into()))),
        (any::<u16>(), text())
            .prop_map(|(status, message)| ModelError::Rejected { status, message }),
        (any::<u16>(), any::<u32>(), text())
            .prop_map(|(status, tries, message)| ModelError::Server { status, tries, message }),
    ]
}

static FILES: AtomicU32 = AtomicU32::new(0);

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_recorded_is_played(
        results in prop::collection::vec(prop_oneof![3 => answer().prop_map(Ok), 1 => error().prop_map(Err)], 1..4),
        questions in prop::collection::vec(any::<String>(), 4),
    ) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(FILES.fetch_add(1, Ordering::Relaxed).to_string());
        let tape = Tape::create(&path).unwrap();
        let model = Recorder::new(Arc::new(Fixed(Mutex::new(results.clone()))), tape.clone());
        for (_, question) in results.iter().zip(&questions) {
            let _ = block_on(model.answer(call(question)));
        }
        tape.check().unwrap();
        let replay = Replay::new("fixed", Cassette::open(&path).unwrap());
        for (result, question) in results.iter().zip(&questions) {
            prop_assert_eq!(&block_on(replay.answer(call(question))), result);
        }
    }

    #[test]
    fn no_name_address_key_or_table_is_too_odd(text in any::<String>(), base in any::<String>()) {
        for text in [text.clone(), format!("openai:{text}"), format!("ollama:{text}")] {
            let host = |name: &str| (name == "OLLAMA_HOST").then(|| base.clone());
            for base in [None, Some(base.as_str()), Some("https://llm.example/v1")] {
                if let Ok(spec) = ModelSpec::parse(&text, base, &host) {
                    prop_assert!(!spec.model.is_empty() && !spec.base().ends_with('/'));
                }
            }
        }
        let _ = (Key::new(&text), Prices::parse(&text), Cassette::parse(&text));
    }

    #[test]
    fn more_tokens_never_cost_less(usage in any::<[u64; 4]>(), more in any::<u64>(), rates in any::<[u32; 2]>()) {
        let [input, cached, cache_written, output] = usage;
        let [input_rate, output_rate] = rates.map(u64::from);
        let price = Price { input: input_rate, cached: input_rate / 2, written: input_rate, output: output_rate };
        let less = Usage { input, cached, cache_written, output, reasoning: 0 };
        let output = output.saturating_add(more);
        let more = Usage { output, ..less };
        prop_assert!(price.of(&less) <= price.of(&more));
    }
}
