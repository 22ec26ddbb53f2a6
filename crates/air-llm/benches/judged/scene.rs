//! A session under rules that only a judge decides, and a model that finds all of them harmless.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use air_core::{
    effects::{Change, Effects, FileEffect, Observed},
    id::{CallId, SessionId},
    port::{BoxFuture, Inspector, ToolBox, ToolError, ToolInfo},
    step::{Arguments, Observation, ToolCall},
    value::Value,
};
use air_llm::{Client, JudgeSettings, LlmJudge, ModelSpec, Options, Threads};
use air_runtime::{GateReply, ReviewMode, ReviewReply, Session, Ticket};
use air_testkit::{
    run::Stage,
    scripted::ScriptedWorkspace,
    server::{ModelServer, Reply, Script, Seen},
};
use air_wire::Dialect;
use futures::executor::block_on;
use serde_json::json;

pub(crate) const TOOL: &str = "python_repl";

/// Rules of the paper's form.
pub(crate) fn checks(count: usize) -> String {
    each(count, "remediate\n  delete the copy, then confirm that nothing else is exposed.")
}

/// Learned guardrails without a condition.
pub(crate) fn guardrails(count: usize) -> String {
    each(count, "block")
}

fn each(count: usize, end: &str) -> String {
    let mut text = String::new();
    for number in 0..count {
        let what = ["credentials", "private keys", "customer records", "backups", "log files"];
        let what = what.get(number % what.len()).copied().unwrap_or_default();
        let _ = write!(
            text,
            "rule @rule_{number}\ntrigger {TOOL}\ncheck\n  a file with {what} of service \
             {number} has been copied into a directory that is published or shared.\n{end}\nend\n\n"
        );
    }
    text
}

/// Says no to every rule that it is asked about, after `latency`.
pub(crate) fn server(latency: Duration) -> ModelServer {
    ModelServer::start(Script::by(answer).latency(latency)).unwrap()
}

/// The rules in a request.
pub(crate) fn asked(seen: &Seen) -> usize {
    seen.request.system.lines().filter(|line| line.starts_with("Rule ")).count()
}

fn answer(seen: &Seen) -> Reply {
    let text = seen.text();
    let code = text.lines().rev().find_map(|line| line.strip_prefix("Code of this request: "));
    Reply::json(&verdicts(asked(seen), code.unwrap_or_default()))
}

pub(crate) fn verdicts(rules: usize, code: &str) -> serde_json::Value {
    let verdict = |rule: usize| {
        json!({
            "rule": rule,
            "quotes": ["Sum the tables up"],
            "rationale": "the step sums a table up and copies nothing of that kind anywhere",
            "outcome": "no",
            "confidence": 0.95,
        })
    };
    json!({ "request": code, "answers": (1..=rules).map(verdict).collect::<Vec<_>>() })
}

pub(crate) fn client(server: &ModelServer) -> Client {
    let base = server.base_url(Dialect::OpenAiChat);
    let spec = ModelSpec::parse("openai-chat:scripted", Some(&base), &|_| None).unwrap();
    Client::new(spec, None, Options::default()).unwrap()
}

/// A session, and how many steps it has made.
pub(crate) struct Run {
    session: Session,
    stage: Stage,
    steps: usize,
}

impl Run {
    /// Under `rules`. Nobody judges where there is no model.
    pub(crate) fn new(rules: &str, model: Option<&Client>, review: ReviewMode) -> Self {
        let mut stage = Stage::new(rules, ScriptedWorkspace::default()).unwrap();
        let judge =
            |model: &Client| LlmJudge::new(Arc::new(model.clone()), None, JudgeSettings::default());
        stage.ports.judge = model.map(|model| Arc::new(judge(model)) as _);
        stage.ports.background = Some(Arc::new(Threads));
        stage.ports.inspector = Some(Arc::new(State));
        stage.ports.tools = Arc::new(Tools);
        let mut opening = stage.opening(SessionId::from("s"), "Sum the tables up.");
        opening.models.review = review;
        let session = block_on(Session::open(stage.ports.clone(), opening)).unwrap();
        Self { session, stage, steps: 0 }
    }

    /// The next call, which may run.
    pub(crate) fn before(&mut self) -> Ticket {
        self.steps += 1;
        let number = self.steps;
        let mut code =
            format!("import csv, json\nrows = list(csv.reader(open('in/{number}.csv')))\n");
        for column in 0..8 {
            let _ = writeln!(code, "total{column} = sum(float(row[{column}]) for row in rows)");
        }
        let mut arguments = Arguments::new();
        arguments.insert("code".to_owned(), code.into());
        let (call, plan) = (CallId::from("c"), format!("I sum table {number} up."));
        let reply = block_on(self.session.before_step(call, plan, TOOL.to_owned(), arguments));
        match reply.unwrap() {
            GateReply::Run { ticket, .. } => *ticket,
            other => panic!("{other:?}"),
        }
    }

    /// What it did is examined.
    pub(crate) fn after(&mut self, ticket: Ticket) -> ReviewReply {
        let number = self.steps;
        let file = |part: usize| FileEffect {
            path: format!("/workspace/out/{number}-{part}.json"),
            change: Change::Created,
            size: 2048,
            mode: 0o644,
            origin: None,
            origin_unknown: None,
            moved: None,
            aspects: Vec::new(),
            marks: Vec::new(),
            reversible: true,
        };
        let files = Observed::whole((0..4).map(file).collect());
        self.stage.workspace.change(Effects { files, ..Effects::default() });
        let content = (0..40).fold(String::new(), |mut text, row| {
            let _ = writeln!(text, "table {number}, row {row}: 1000 rows written, sum {row}17.25");
            text
        });
        let seen = Observation { content, duration_ms: 12, ..Observation::default() };
        block_on(self.session.after_step(ticket, Some(seen))).unwrap()
    }
}

/// About 2 kB of a state.
struct State;

impl Inspector for State {
    fn inspect(&self) -> BoxFuture<'_, Value> {
        let lines =
            (0..30).map(|file| format!("-rw-r--r-- 1 agent 2048 /workspace/out/{file}.json\n"));
        let state = Value::from(lines.collect::<String>().as_str());
        Box::pin(std::future::ready(Value::record([("files", state)])))
    }
}

/// The tools that a judge may look further with, as those of a workspace are described.
struct Tools;

impl ToolBox for Tools {
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<Observation, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::Unknown(call.tool.clone()))))
    }

    fn tool(&self, name: &str) -> Option<ToolInfo> {
        self.all().into_iter().find(|tool| tool.name == name)
    }

    fn all(&self) -> Vec<ToolInfo> {
        let about = [
            ("read_file", "Returns the content of a file."),
            ("list_files", "Lists a directory, with sizes and modes."),
            ("check_environment", "Reports the directory, its files, the user and what runs."),
        ];
        let path =
            json!({ "type": "string", "description": "absolute, or relative to /workspace" });
        let info = |(name, description): (&str, &str)| ToolInfo {
            description: description.to_owned(),
            parameters: json!({ "type": "object", "properties": { "path": path } }),
            side_effects: false,
            idempotent: true,
            ..ToolInfo::unknown(name)
        };
        about.map(info).into()
    }
}
