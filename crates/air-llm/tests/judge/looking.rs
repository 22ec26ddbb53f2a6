//! A judge that looks further.

use std::sync::{Arc, Mutex};

use air_core::{
    outcome::Outcome,
    port::{BoxFuture, ReadOnly, ToolBox, ToolError, ToolInfo},
    question::Inquiry,
    step::{Observation, ToolCall},
};
use air_llm::{JudgeSettings, LlmJudge, Purpose};
use air_wire::{Part, ToolChoice};
use serde_json::json;

use crate::{
    scene::{ask, facts, inquiry, judged},
    scripted::{Scripted, Seen, calls, text},
};

#[derive(Default)]
pub(crate) struct Tools {
    ran: Mutex<Vec<String>>,
}

impl ToolBox for Tools {
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<Observation, ToolError>> {
        self.ran.lock().unwrap().push(call.tool.clone());
        let content = format!("content of {}: {}", call.arguments["path"], "x y ".repeat(20_000));
        Box::pin(std::future::ready(Ok(Observation { content, ..Observation::default() })))
    }

    fn tool(&self, name: &str) -> Option<ToolInfo> {
        self.all().into_iter().find(|tool| tool.name == name)
    }

    fn all(&self) -> Vec<ToolInfo> {
        let read = ToolInfo { side_effects: false, ..ToolInfo::unknown("read_file") };
        vec![read, ToolInfo::unknown("delete_file")]
    }
}

fn asked(tools: &Arc<Tools>) -> Inquiry {
    let look = Some(ReadOnly::new(Arc::clone(tools) as Arc<dyn ToolBox>));
    Inquiry { look, ..inquiry(&[judged("site_broken", "the site is broken.")], facts()) }
}

fn judge(model: &Arc<Scripted>) -> LlmJudge {
    LlmJudge::new(Arc::clone(model) as _, None, JudgeSettings::default())
}

#[test]
fn what_a_judge_looks_at_is_data() {
    let model = Scripted::new("test:model", |seen| {
        if seen.nth % 2 == 0 {
            return Ok(calls(&[("read_file", json!({ "path": "index.html" }))]));
        }
        assert!(seen.section("result").contains("content of \"index.html\""));
        let quote = vec!["content of \"index.html\"".to_owned()];
        Ok(text(seen.answer(vec![(1, "no".into(), 0.9, "it is whole".into(), quote)])))
    });
    let tools = Arc::new(Tools::default());
    let judge = judge(&model);
    let verdicts = ask(&judge, asked(&tools));
    assert_eq!(verdicts[0].outcome, Outcome::Unsatisfied, "{verdicts:?}");
    assert_eq!(model.purposes(), [Purpose::Check, Purpose::Inspection]);
    let requests = model.requests();
    let offered: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["read_file"]);
    assert!(Seen::new(&requests[1], 0).section("result").len() < 17 << 10);
    // It rests on what may be another the next time.
    ask(&judge, asked(&tools));
    assert!(model.requests().len() > 2);
}

#[test]
fn nothing_that_changes_anything_can_be_reached() {
    let model = Scripted::new("test:model", |seen| {
        Ok(match seen.nth {
            0 | 1 => calls(&[("delete_file", json!({ "path": "index.html" }))]),
            _ => text(seen.all("yes", 0.9, "so")),
        })
    });
    let tools = Arc::new(Tools::default());
    let verdicts = ask(&judge(&model), asked(&tools));
    assert!(verdicts[0].outcome.is_satisfied());
    assert!(tools.ran.lock().unwrap().is_empty());
    let requests = model.requests();
    let said = format!("{:?}", requests[1].messages);
    assert!(said.contains("there is no such tool among those that are offered"), "{said}");
    let choices = [&requests[1].tool_choice, &requests[2].tool_choice];
    assert_eq!(choices, [&ToolChoice::Auto, &ToolChoice::None], "it is said once");
}

#[test]
fn looking_is_bounded() {
    let many: Vec<_> = (0..5).map(|n| ("read_file", json!({ "path": format!("{n}") }))).collect();
    let model = Scripted::new("test:model", move |_| Ok(calls(&many)));
    let tools = Arc::new(Tools::default());
    let verdicts = ask(&judge(&model), asked(&tools));
    assert!(matches!(verdicts[0].outcome, Outcome::Undetermined(_)));
    assert_eq!(tools.ran.lock().unwrap().len(), 6);
    // Two rounds, an answer that must not call, and its repair.
    assert_eq!(model.requests().len(), 4);
    let requests = model.requests();
    let said = requests[2].messages.iter().flat_map(|message| &message.parts);
    let refused = said.filter(|part| matches!(part, Part::ToolResult { is_error: true, .. }));
    assert_eq!(refused.count(), 4);
}

#[test]
fn arguments_that_are_cut_off_are_said_so() {
    let model = Scripted::new("test:model", |seen| {
        let mut answer = calls(&[("read_file", json!({ "path": "index.html" }))]);
        if let Some(Part::ToolCall(call)) = answer.parts.first_mut() {
            call.arguments.truncate(5);
        }
        Ok(if seen.nth == 0 { answer } else { text(seen.all("yes", 0.9, "so")) })
    });
    let tools = Arc::new(Tools::default());
    assert!(ask(&judge(&model), asked(&tools))[0].outcome.is_satisfied());
    assert!(tools.ran.lock().unwrap().is_empty());
    assert!(format!("{:?}", model.requests()[1].messages).contains("the arguments are no JSON"));
}
