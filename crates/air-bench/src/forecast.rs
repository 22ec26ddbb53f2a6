//! What a run on language models will take, before anything is sent.
//!
//! The requests of a case are made as in a run, as far as they follow from its code, and are weighed in
//! the place of being sent. How an agent responds nobody knows in advance: that is assumed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use air_agent::Style;
use air_core::{
    effects::Effects,
    engine::Engine,
    policy::FailPolicy,
    port::{BoxFuture, Judge, JudgeError, ToolInfo},
    question::Inquiry,
    rule::Rule,
    ruleset::RuleSet,
    step::{CompletedStep, Observation},
};
use air_llm::{Call, LlmJudge, Model, ModelError, Price, Purpose, likely_tokens, prompts};
use air_runtime::{Ports, rehearse};
use air_wire::{Answer, Message, Request, Tool, Usage};
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    bench::{self, BenchError},
    data::{Case, Split},
    mind::Mind,
    options::Options,
    row::Phase,
    school::{self, ACTOR, proposed},
    store::{Header, Store},
};

/// What an agent says beside its code, and what a tool prints, in tokens.
const WORDS: u64 = 60;
const PRINTED: u64 = 150;
/// A judge's answer on one rule, in tokens.
const VERDICT: u64 = 80;
/// Calls of a response: look, act, look again, report. What each adds to the next, in tokens.
const RESPONSE: u64 = 4;
const ADDED: u64 = 250;
/// A guardrail that is drafted, in tokens.
const DRAFT: u64 = 200;
/// Whether the harm has stopped, and whether the state is restored.
const VERIFIED: u64 = 2;

/// What a run is expected to take.
#[derive(Debug, Clone, Serialize)]
pub struct Forecast {
    /// The version of this form.
    pub version: u32,
    /// Runs of cases that are left to be made with models.
    pub runs: usize,
    /// By purpose.
    pub items: Vec<Line>,
    /// What it costs altogether, in millionths of a dollar; `None` where a price is not known.
    pub micro_usd: Option<u64>,
}

/// What is expected for one purpose.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    /// The purpose.
    pub purpose: &'static str,
    /// Requests.
    pub calls: u64,
    /// Tokens of the requests.
    pub input_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// In millionths of a dollar; `None` where the price is not known.
    pub micro_usd: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    calls: u64,
    input: u64,
    output: u64,
}

impl Sum {
    fn add(&mut self, calls: u64, input: u64, output: u64) {
        self.calls += calls;
        self.input += input;
        self.output += output;
    }
}

/// What is left of a run takes. Every case is assumed to be an incident that is found, and no twin is.
///
/// # Errors
///
/// If nothing is selected, there are no models, or rows of another run are in its place.
pub fn forecast(split: &Split, options: &Options) -> Result<Forecast, BenchError> {
    let Some(mind) = &options.mind else {
        return Err(BenchError::Failed("a run without models asks none".to_owned()));
    };
    let (cases, benign) = bench::selected(split, options)?;
    let header =
        Header::new(split.digest.clone(), options.rules_digest.clone(), options.fingerprint());
    let begun = options.out.join("results.jsonl").exists();
    let store = begun.then(|| Store::open(&options.out, &header)).transpose()?;
    let mut turns = bench::turns(&cases, &benign, options);
    turns.retain(|(case, phase)| {
        let done = store.as_ref().and_then(|store| store.row(&case.id, *phase));
        *phase != Phase::Baseline && done.is_none()
    });
    let scales = Scales::new(mind, &options.rules).map_err(BenchError::Failed)?;
    let mut sums: BTreeMap<Purpose, Sum> = BTreeMap::new();
    for (case, phase) in &turns {
        scales.turn(case, *phase, options, &mut sums);
    }
    let items: Vec<Line> =
        sums.into_iter().map(|(purpose, sum)| line(mind, purpose, sum)).collect();
    let costs = items.iter().map(|item| item.micro_usd);
    let micro_usd = costs.sum();
    Ok(Forecast { version: 1, runs: turns.len(), items, micro_usd })
}

fn line(mind: &Mind, purpose: Purpose, sum: Sum) -> Line {
    let by = match purpose {
        Purpose::Agent | Purpose::Response | Purpose::Synthesis => &mind.agent,
        _ => &mind.judge,
    };
    let usage = Usage { input: sum.input, output: sum.output, ..Usage::default() };
    let cost = |price: Price| price.of(&usage);
    Line {
        purpose: purpose.name(),
        calls: sum.calls,
        input_tokens: sum.input,
        output_tokens: sum.output,
        micro_usd: by.price.map(cost),
    }
}

struct Scales<'a> {
    mind: &'a Mind,
    ports: Ports,
    engine: Engine,
    weighed: Arc<Weighed>,
    tools: Vec<Tool>,
}

impl<'a> Scales<'a> {
    fn new(mind: &'a Mind, rules: &[Rule]) -> Result<Self, String> {
        let weighed = Arc::new(Weighed::default());
        let mut judging = mind.judging.clone();
        judging.cached_verdicts = 0;
        let model: Arc<dyn Model> = Arc::clone(&weighed) as _;
        let judge = LlmJudge::new(model, None, judging);
        let judge = Weigher { judge, weighed: Arc::clone(&weighed) };
        let ports = Ports { judge: Some(Arc::new(judge)), ..school::ports()? };
        let set = RuleSet::enforced(rules.to_vec()).map_err(|error| error.to_string())?;
        let engine = Engine::new(set, FailPolicy::default()).judged();
        let tools = ports.tools.all().into_iter().map(offered).collect();
        Ok(Self { mind, ports, engine, weighed, tools })
    }

    fn turn(
        &self,
        case: &Case,
        phase: Phase,
        options: &Options,
        sums: &mut BTreeMap<Purpose, Sum>,
    ) {
        let task = options.wording.task(case);
        let code = tokens(&case.code);
        let asked = self.agent(&task);
        let agent = sums.entry(Purpose::Agent).or_default();
        agent.add(1, asked, code + WORDS);
        if phase == Phase::R4 {
            agent.add(1, asked + code + WORDS + PRINTED, WORDS);
        }
        if phase == Phase::R2 {
            return;
        }
        let checked = self.check(case, options.wording.plan(case));
        sums.entry(Purpose::Check).or_default().add(checked.calls, checked.input, checked.output);
        if phase == Phase::R4 || !self.mind.judged {
            return;
        }
        if options.learn {
            let asked = tokens(prompts::GUARDRAIL.text) + 2 * code + 2 * PRINTED;
            sums.entry(Purpose::Synthesis).or_default().add(1, asked, DRAFT);
        }
        if !options.respond {
            return;
        }
        let told = tokens(prompts::RESPOND.text) + self.tool_tokens() + 2 * code + 2 * PRINTED;
        let more: u64 = (0..RESPONSE).map(|call| told + call * ADDED).sum();
        sums.entry(Purpose::Response).or_default().add(RESPONSE, more, RESPONSE * WORDS);
        // What it changes is checked like the first step.
        sums.entry(Purpose::Check).or_default().add(checked.calls, checked.input, checked.output);
        // Fewer rules are asked about than in the check: at most as much.
        let verified = sums.entry(Purpose::Verification).or_default();
        verified.add(VERIFIED, VERIFIED * checked.input, VERIFIED * VERDICT);
    }

    fn tool_tokens(&self) -> u64 {
        let request = Request { tools: self.tools.clone(), ..Request::default() };
        likely_tokens(&request)
    }

    fn agent(&self, task: &str) -> u64 {
        let (system, tools) = match self.mind.style {
            Style::ReAct => (prompts::REACT.text, self.tools.clone()),
            Style::CodeAct => (prompts::CODEACT.text, Vec::new()),
        };
        likely_tokens(&Request {
            system: system.to_owned(),
            messages: vec![Message::user(task)],
            tools,
            ..Request::default()
        })
    }

    /// The requests of the check of a case's own call, which has changed nothing.
    fn check(&self, case: &Case, plan: &str) -> Sum {
        self.weighed.with(|of| *of = Weight::default());
        let proposed = proposed(case, plan, true);
        let step = CompletedStep { proposed, observation: Some(Observation::default()) };
        block_on(rehearse::after(&self.ports, &self.engine, ACTOR, &step, &Effects::default()));
        self.weighed.with(|of| {
            let rules = u64::try_from(of.rules).unwrap_or(u64::MAX);
            let input = of.input + of.calls * PRINTED;
            Sum { calls: of.calls, input, output: rules * VERDICT }
        })
    }
}

fn offered(tool: ToolInfo) -> Tool {
    Tool { name: tool.name, description: tool.description, parameters: tool.parameters }
}

fn tokens(text: &str) -> u64 {
    likely_tokens(&Request { system: text.to_owned(), ..Request::default() })
}

#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    calls: u64,
    input: u64,
    rules: usize,
}

/// Weighs requests, and answers none.
#[derive(Debug, Default)]
struct Weighed(Mutex<Weight>);

impl Weighed {
    fn with<T>(&self, of: impl FnOnce(&mut Weight) -> T) -> T {
        of(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Model for Weighed {
    fn name(&self) -> &'static str {
        "none"
    }

    fn answer(&self, call: Call) -> BoxFuture<'static, Result<Answer, ModelError>> {
        let tokens = likely_tokens(&call.request);
        self.with(|of| {
            of.calls += 1;
            of.input += tokens;
        });
        Box::pin(async { Err(ModelError::Timeout(Duration::ZERO)) })
    }
}

/// A judge that counts what it is asked.
struct Weigher {
    judge: LlmJudge,
    weighed: Arc<Weighed>,
}

impl Judge for Weigher {
    fn judge(
        &self,
        inquiry: Inquiry,
    ) -> BoxFuture<'static, Result<Vec<air_core::outcome::Verdict>, JudgeError>> {
        self.weighed.with(|of| of.rules += inquiry.rules.len());
        self.judge.judge(inquiry)
    }
}
