//! A real server: llama.cpp with random weights.

use std::{collections::BTreeMap, io::Write as _, sync::Arc, time::Duration};

use air_core::{
    outcome::Outcome,
    port::{ReadOnly, ToolBox},
};
use air_llm::{Client, JudgeSettings, LlmJudge, ModelSpec, Options, judge::Confidence};
use air_testkit::llama::Llama;

use crate::{
    looking::Tools,
    scene::{facts, inquiry, judged, try_ask},
};

/// Every answer is a verdict or a typed error, whatever a model says.
#[test]
fn two_hundred_requests_are_answered_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut server) = Llama::start(folder.path()).unwrap() else {
        let why = "skipped: AIR_SDK_PYTHON names no interpreter that has `xllamacpp`";
        let _ = writeln!(std::io::stderr(), "{why}");
        return;
    };
    let base = format!("{}/v1", server.url());
    let spec = ModelSpec::parse("openai:random", Some(&base), &|_| None).unwrap();
    let model = Arc::new(Client::new(spec, None, Options::default()).unwrap());
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let sent = || model.ledger().spent().total().requests;
    let mut number = 0;
    // One question is several requests: it looks, and an answer that is wrong is asked for once more.
    while sent() < 200 {
        let confidence = match number % 4 {
            0 => Confidence::LogProbabilities,
            _ => Confidence::Stated,
        };
        let settings = JudgeSettings {
            confidence,
            deadline: Some(Duration::from_mins(1)),
            cached_verdicts: 0,
            ..JudgeSettings::default()
        };
        let rules: Vec<_> =
            (0..=number % 3).map(|n| judged(&format!("rule_{n}"), "the site is slow.")).collect();
        let mut asked = inquiry(&rules, facts());
        if number % 5 == 0 {
            asked.look = Some(ReadOnly::new(Arc::new(Tools::default()) as Arc<dyn ToolBox>));
        }
        let judge = LlmJudge::new(Arc::clone(&model) as _, None, settings);
        let told = match try_ask(&judge, asked) {
            Ok(verdicts) => {
                assert_eq!(verdicts.len(), rules.len());
                match &verdicts[0].outcome {
                    Outcome::Undetermined(why) => why.chars().take(90).collect(),
                    outcome => format!("{outcome:?}"),
                }
            }
            Err(error) => format!("{error:?}").chars().take(120).collect(),
        };
        *seen.entry(told).or_default() += 1;
        number += 1;
    }
    let _ = writeln!(std::io::stderr(), "{number} questions, {} requests: {seen:#?}", sent());
    assert_eq!(seen.values().sum::<usize>(), number);
    assert!(server.is_alive());
}
