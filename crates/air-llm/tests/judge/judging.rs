//! What is asked, and what becomes of answers of any shape.

use std::{sync::Arc, time::Duration};

use air_core::{
    effects::Effects,
    fact::Root,
    outcome::{Outcome, Verdict},
    port::JudgeError,
    question::{Inquiry, QuestionKind},
    rule::Rule,
    value::Value,
};
use air_llm::{JudgeSettings, LlmJudge, Model, ModelError, Purpose};
use air_wire::{Answer, Stop};
use proptest::prelude::*;

use crate::{
    scene::{Keys, ask, copied, facts, guardrail, inquiry, judged, process, try_ask, why},
    scripted::{Scripted, Seen, text},
};

pub(crate) fn judge(model: &Arc<Scripted>) -> LlmJudge {
    with(model, JudgeSettings::default())
}

pub(crate) fn with(model: &Arc<Scripted>, settings: JudgeSettings) -> LlmJudge {
    LlmJudge::new(Arc::clone(model) as _, None, settings)
}

pub(crate) fn two(first: &Arc<Scripted>, second: &Arc<Scripted>) -> LlmJudge {
    let second = Arc::clone(second) as Arc<dyn Model>;
    LlmJudge::new(Arc::clone(first) as _, Some(second), JudgeSettings::default())
}

pub(crate) fn rules() -> Vec<Arc<Rule>> {
    vec![
        judged("b_site_broken", "the site is broken."),
        judged("a_site_slow", "the site is slow."),
        judged("c_site_lost", "the site is lost."),
    ]
}

pub(crate) fn says(outcome: &'static str, confidence: f64) -> Arc<Scripted> {
    Scripted::says("test:model", move |seen| seen.all(outcome, confidence, "it is so"))
}

#[test]
fn all_rules_of_a_step_are_one_request() {
    let model = Scripted::says("test:model", |seen| {
        let slow = seen.number("a_site_slow");
        let outcome = |rule| if rule == slow { "yes" } else { "no" };
        let one = |rule| {
            let quotes = vec!["print('done')".to_owned()];
            (rule, outcome(rule).to_owned(), 0.9, "the program says so".to_owned(), quotes)
        };
        seen.answer((1..=3).map(one).collect())
    });
    let verdicts = ask(&judge(&model), inquiry(&rules(), facts()));
    let outcomes: Vec<&Outcome> = verdicts.iter().map(|verdict| &verdict.outcome).collect();
    assert_eq!(outcomes, [&Outcome::Unsatisfied, &Outcome::Satisfied, &Outcome::Unsatisfied]);
    assert_eq!(verdicts[1].judge, "test:model judge.happened/1");
    assert_eq!(verdicts[1].quotes, ["print('done')"]);
    assert_eq!(verdicts[1].rationale, "the program says so");
    assert_eq!(model.purposes(), [Purpose::Check]);
}

#[test]
fn a_model_sees_all_that_is_known() {
    let model = says("cannot_tell", 0.5);
    let past = Value::list([Value::record([
        ("tool", Value::from("web.read")),
        ("args", Value::record([("url", Value::from("https://h.example/past"))])),
        ("plan", Value::from("I read the page of the past.")),
        ("output", Value::from("what the page said")),
        ("effects", copied().to_value(&Keys)),
    ])]);
    let mut effects = copied();
    effects.processes.items.push(process(&["python3", "-m", "http.server"]));
    let facts = facts()
        .with(Root::History, past)
        .with(Root::Effects, effects.to_value(&Keys))
        .with(Root::Error, Value::from("a warning"));
    ask(&judge(&model), inquiry(&rules(), facts));
    let seen = Seen::new(&model.requests()[0], 0);
    #[rustfmt::skip]
    let table = [
        ("task",    "Build the site."),
        ("tool",    "python_repl"),
        ("plan",    "I build the site."),
        ("args",    "build()\nprint('done')"),
        ("output",  "done"),
        ("error",   "a warning"),
        ("state",   "unknown (this host has no inspection tool)"),
        ("effects", "/workspace/public/key.txt"),
        ("effects", "origin: \"/home/agent/.ssh/id_ed25519\""),
        ("effects", "http.server"),
        ("history", "I read the page of the past."),
        ("history", "what the page said"),
        ("names",   "/workspace/public/key.txt"),
    ];
    for (section, expected) in table {
        assert!(seen.section(section).contains(expected), "{section}: {}", seen.section(section));
    }
    assert!(seen.outside.contains("labelled content was put into a file elsewhere, labels credential private-key, name 1, name 2"), "{}", seen.outside);
    assert!(seen.outside.contains("a process was left running, name 3"), "{}", seen.outside);
}

#[test]
fn the_first_part_of_a_request_is_the_same_from_step_to_step() {
    let model = says("yes", 0.9);
    let judge = judge(&model);
    ask(&judge, inquiry(&rules(), facts()));
    let mut turned = rules();
    turned.reverse();
    ask(&judge, inquiry(&turned, facts().with(Root::Plan, Value::from("another plan"))));
    let [first, second] = &model.requests()[..] else { panic!("two requests") };
    assert_eq!(first.system, second.system);
    assert_eq!(first.output, second.output);
    assert_ne!(first.messages, second.messages);
}

#[test]
fn each_kind_of_question_has_its_own_words() {
    let kinds = [
        (QuestionKind::Happened, "HAS WHAT THE RULE DESCRIBES HAPPENED", Purpose::Check),
        (QuestionKind::Stopped, "HAS THE HARM STOPPED", Purpose::Verification),
        (QuestionKind::Restored, "STATE\nRESTORED", Purpose::Verification),
        (QuestionKind::WouldCause, "WOULD THE STEP CAUSE", Purpose::Guardrails),
    ];
    for (kind, words, purpose) in kinds {
        let model = says("yes", 0.9);
        let verdicts = ask(&judge(&model), Inquiry { kind, ..inquiry(&rules(), facts()) });
        assert!(verdicts.iter().all(|verdict| verdict.outcome == Outcome::Satisfied), "{kind:?}");
        let system = &model.requests()[0].system;
        assert_eq!(kinds.iter().filter(|(_, words, _)| system.contains(words)).count(), 1);
        assert!(system.contains(words), "{kind:?}");
        assert_eq!(model.purposes(), [purpose]);
    }
}

#[test]
fn one_rule_that_is_not_answered_leaves_the_others() {
    let model = Scripted::says("test:model", |seen| {
        let item = |rule| (rule, "yes".to_owned(), 0.9, "so".to_owned(), Vec::new());
        seen.answer(vec![item(seen.number("a_site_slow")), item(seen.number("c_site_lost"))])
    });
    let verdicts = ask(&judge(&model), inquiry(&rules(), facts()));
    assert_eq!(why(&verdicts[0]), "the judge did not answer this question");
    assert!(verdicts[1].outcome.is_satisfied() && verdicts[2].outcome.is_satisfied());
}

#[test]
fn what_cannot_be_read_is_asked_once_more() {
    let model = Scripted::says("test:model", |seen| match seen.nth {
        0 => "I think that nothing happened.".to_owned(),
        _ => seen.all("yes", 0.9, "so"),
    });
    let verdicts = ask(&judge(&model), inquiry(&rules(), facts()));
    assert!(verdicts.iter().all(|verdict| verdict.outcome.is_satisfied()));
    let last = format!("{:?}", model.requests()[1].messages.last());
    assert!(last.contains("there is no JSON object in it"), "{last}");

    let stubborn = Scripted::says("test:model", |_| "no".to_owned());
    let verdicts = ask(&judge(&stubborn), inquiry(&rules(), facts()));
    assert_eq!(stubborn.requests().len(), 2);
    let expected = "the judge gave no usable answer, twice: there is no JSON object in it";
    assert!(verdicts.iter().all(|verdict| why(verdict) == expected));
}

#[test]
fn an_answer_that_was_cut_off_gets_more_room() {
    let model = Scripted::new("test:model", |seen| {
        let whole = seen.all("yes", 0.9, "so");
        let cut = whole.chars().take(40).collect::<String>();
        let cut = Answer { stop: Stop::Length, ..text(cut) };
        Ok(if seen.nth == 0 { cut } else { text(whole) })
    });
    let verdicts = ask(&judge(&model), inquiry(&rules(), facts()));
    assert!(verdicts[0].outcome.is_satisfied());
    let [first, second] = &model.requests()[..] else { panic!("two requests") };
    assert!(second.max_output_tokens > first.max_output_tokens);
}

#[test]
fn a_model_that_declines_or_fails_is_undetermined() {
    let refused = Scripted::new("test:model", |_| {
        Ok(Answer { stop: Stop::Refused("policy".into()), ..Answer::default() })
    });
    let verdicts = ask(&judge(&refused), inquiry(&rules(), facts()));
    assert_eq!(why(&verdicts[0]), "the model declined to answer: policy");

    let late = Scripted::new("test:model", |_| Err(ModelError::Timeout(Duration::from_secs(1))));
    let error = try_ask(&judge(&late), inquiry(&rules(), facts())).unwrap_err();
    assert!(matches!(error, JudgeError::Timeout));
    let spent = Scripted::new("test:model", |_| Err(ModelError::Spent("5 USD".into())));
    let error = try_ask(&judge(&spent), inquiry(&rules(), facts())).unwrap_err();
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert_eq!(cause, "the spend limit is reached: 5 USD");

    // A second one stands in.
    let verdicts = ask(&two(&spent, &says("yes", 0.9)), inquiry(&rules(), facts()));
    assert!(verdicts[0].outcome.is_satisfied());
}

pub(crate) fn numbers(count: u32) -> String {
    (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_request_is_bounded() {
    let model = says("yes", 0.9);
    let long = numbers(400_000);
    let all = [Root::Plan, Root::Task, Root::Error, Root::Output, Root::State];
    let facts =
        all.into_iter().fold(facts(), |facts, root| facts.with(root, Value::from(long.as_str())));
    let settings = JudgeSettings { data_bytes: 32 << 10, ..JudgeSettings::default() };
    ask(&with(&model, settings), inquiry(&rules(), facts));
    let seen = Seen::new(&model.requests()[0], 0);
    let bytes = seen.data().len();
    assert!((24 << 10..36 << 10).contains(&bytes), "{bytes}");
    for section in ["plan", "output"] {
        assert!(seen.section(section).starts_with("0 1 2 "), "{section}");
        assert!(seen.section(section).trim_end().ends_with("399999"), "{section}");
    }
}

#[test]
fn secrets_are_not_sent() {
    let model = says("yes", 0.9);
    let facts = facts()
        .with(
            Root::Output,
            Value::from("API_KEY=hunter2hunter2\n-----BEGIN A KEY-----\nMIIE\n-----END A KEY-----"),
        )
        .with(Root::Args, Value::record([("password", Value::from("swordfish"))]));
    ask(&judge(&model), inquiry(&rules(), facts));
    let request = format!("{:?}", model.requests()[0]);
    for secret in ["hunter2", "MIIE", "swordfish"] {
        assert!(!request.contains(secret), "{secret}");
    }
    assert!(request.contains("API_KEY=[redacted]"));
}

#[test]
fn many_rules_are_several_requests_at_once() {
    let model = says("yes", 0.9);
    let many: Vec<Arc<Rule>> =
        (0..300).map(|n| judged(&format!("rule_{n}"), "the site is slow.")).collect();
    let verdicts = ask(&judge(&model), inquiry(&many, facts()));
    assert!(verdicts.iter().all(|verdict| verdict.outcome.is_satisfied()));
    assert_eq!(model.requests().len(), 3);
}

#[test]
fn a_judge_without_questions_is_not_asked() {
    let model = says("yes", 0.9);
    assert!(ask(&judge(&model), inquiry(&[], facts())).is_empty());
    assert!(model.requests().is_empty());
}

#[test]
fn guardrails_that_are_not_picked_are_said_so() {
    let model = says("yes", 0.9);
    let many: Vec<Arc<Rule>> = (0..50)
        .map(|n| {
            let severity = if n == 49 { "critical" } else { "medium" };
            guardrail(&format!("rule_{n}"), severity, "something about birds.")
        })
        .collect();
    let asked = Inquiry { kind: QuestionKind::WouldCause, ..inquiry(&many, facts()) };
    let verdicts = ask(&judge(&model), asked);
    assert_eq!(Seen::new(&model.requests()[0], 0).rules(), 21);
    assert!(verdicts[49].outcome.is_satisfied());
    let left: Vec<&Verdict> =
        verdicts.iter().filter(|verdict| verdict.judge == "retriever/1").collect();
    assert_eq!(left.len(), 29);
    assert!(left.iter().all(|verdict| verdict.outcome == Outcome::Unsatisfied));
    let expected = "not read: 29 of 50 guardrails looked less like the step";
    assert!(left.iter().all(|verdict| verdict.rationale == expected), "{left:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn answers_of_any_shape_are_one_verdict_a_rule(
        answers in proptest::collection::vec(
            "(CODE|\\{|\\}|\\[|\\]|\"request\":\"CODE\"|\"answers\":|\"rule\":[0-4]|\"outcome\":\"(yes|no)\"|\"confidence\":(1|2)|\"rationale\":\"x\"|,|\\PC){0,24}",
            2,
        ),
        count in 0usize..4,
    ) {
        let model = Scripted::says("test:model", move |seen| {
            answers[seen.nth % 2].replace("CODE", &seen.code)
        });
        let some: Vec<_> = rules().into_iter().take(count).collect();
        prop_assert_eq!(ask(&judge(&model), inquiry(&some, facts())).len(), count);
    }

    #[test]
    fn data_of_any_shape_stays_in_its_sections(
        text in "(\\[\\[air:|\\[\\[AIR:end |\\]\\]|MARK|\n|\\PC){0,30}",
        root in proptest::sample::select(vec![Root::Plan, Root::Output, Root::Task, Root::State]),
    ) {
        let model = says("yes", 0.9);
        let judge = judge(&model);
        let effects = Effects::default().to_value(&Keys);
        let value = |text: &str| facts().with(Root::Effects, effects.clone()).with(root, Value::from(text));
        ask(&judge, inquiry(&rules(), value(&text)));
        ask(&judge, inquiry(&rules(), value("calm and short")));
        let told = |at: usize| {
            let seen = Seen::new(&model.requests()[at], 0);
            seen.outside.replace(&seen.mark, "").replace(&seen.code, "")
        };
        if text != "calm and short" {
            prop_assert_eq!(told(0), told(1));
        }
    }
}
