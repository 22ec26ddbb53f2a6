//! What a judged check costs: over HTTP, against a scripted model on loopback that takes a given time.
//!
//! `AIR_BENCH_ROUNDS` is another number of rounds, `AIR_BENCH_LATENCIES` other latencies, in milliseconds
//! and separated by commas.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark tells, and ends at the first error"
)]

mod scene;

use std::{
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

use air_core::{
    fact::{Facts, NoLabels, Root},
    port::{BoxFuture, Judge as _},
    question::{Inquiry, QuestionKind},
    value::Value,
};
use air_llm::{Call, Client, JudgeSettings, LlmJudge, Model, ModelError, Purpose};
use air_runtime::{ReviewMode, ReviewReply};
use air_testkit::server::ModelServer;
use air_wire::{Answer, Message, Part, Request, Usage};
use futures::executor::block_on;
use rustix::time::{ClockId, clock_gettime};

use self::scene::{Run, asked, checks, client, guardrails, server, verdicts};

const COUNTS: [usize; 3] = [1, 25, 100];

fn main() {
    let rounds = std::env::var("AIR_BENCH_ROUNDS").ok().and_then(|text| text.parse().ok());
    let rounds = rounds.unwrap_or(5);
    let latencies = std::env::var("AIR_BENCH_LATENCIES").unwrap_or_else(|_| "50,1000".to_owned());
    for latency in latencies.split(',').map(|text| Duration::from_millis(text.parse().unwrap())) {
        println!("\nlatency {latency:?}: milliseconds, least / median of {rounds}");
        println!("a judge's verdict on a step: what it adds, and a request a rule in sequence");
        for count in COUNTS {
            inline(count, latency, rounds);
        }
        println!("the same while the agent plans: what it adds on the agent's path");
        for count in COUNTS {
            deferred(count, latency, rounds);
        }
        println!("guardrails before a step");
        for count in [1, 20, 100, 1000] {
            gate(count, latency, rounds);
        }
    }
    println!("\nwhat is sent a step, in the dialect of OpenAI");
    for count in COUNTS {
        sent(count);
    }
    println!("\nof the judge alone, with a model that answers at once");
    for (count, bytes) in [(1, 2 << 10), (100, 2 << 10), (100, 128 << 10)] {
        alone(count, bytes, rounds.max(20));
    }
    connections();
}

/// Verdicts that are waited for.
fn inline(count: usize, latency: Duration, rounds: usize) {
    let (rules, server) = (checks(count), server(latency));
    let model = client(&server);
    let without = step(&mut Run::new(&rules, None, ReviewMode::Inline), rounds);
    let with = step(&mut Run::new(&rules, Some(&model), ReviewMode::Inline), rounds);
    let added = with.since(&without);
    let calls = server.requests().len();
    assert_eq!(calls, rounds + 1, "one a step");
    assert!(server.requests().iter().all(|seen| asked(seen) == count));
    // A hundred seconds are told as well by a quarter of them.
    let looped = if latency.as_millis() > 100 { count.min(25) } else { count };
    let begun = Instant::now();
    for _ in 0..looped {
        ask_plainly(&model, &server);
    }
    let sequence = begun.elapsed();
    let ratio = sequence.as_secs_f64() / added.median().as_secs_f64();
    println!(
        "{count:>5} rules {added}  {:>5.3} L  1 call; {looped} in sequence {:>9.1}, {ratio:.1} times as long",
        added.median().as_secs_f64() / latency.as_secs_f64(),
        milliseconds(sequence),
    );
}

fn step(run: &mut Run, rounds: usize) -> Times {
    // The first one starts threads, and reads tables of labels.
    let first = run.before();
    run.after(first);
    let time = |_| {
        let ticket = run.before();
        let begun = Instant::now();
        assert!(matches!(run.after(ticket), ReviewReply::Continue(_)));
        begun.elapsed()
    };
    Times::new((0..rounds).map(time))
}

/// What a program does that has a question a rule: the data of a step, and one rule.
fn ask_plainly(model: &Client, server: &ModelServer) {
    let seen = server.requests();
    let request = seen.first().unwrap().request.clone();
    let system = request.system.lines().take_while(|line| !line.starts_with("Rule 2 "));
    let system = system.collect::<Vec<_>>().join("\n");
    let request = Request { system, stream: false, ..request };
    block_on(model.answer(Call::new(Purpose::Check, request))).unwrap();
}

/// Verdicts that come while the agent plans its next step, which takes it a little longer than the judge.
fn deferred(count: usize, latency: Duration, rounds: usize) {
    let (rules, server) = (checks(count), server(latency));
    let model = client(&server);
    let review = ReviewMode::Deferred { window: Duration::from_mins(1) };
    let time = |model: Option<&Client>| {
        let mut run = Run::new(&rules, model, review);
        let first = run.before();
        run.after(first);
        let times = (0..rounds).map(|_| {
            std::thread::sleep(latency.mul_f64(1.1));
            let begun = Instant::now();
            let ticket = run.before();
            let reply = run.after(ticket);
            assert_eq!(matches!(reply, ReviewReply::Pending), model.is_some());
            begun.elapsed()
        });
        Times::new(times)
    };
    let (without, with) = (time(None), time(Some(&model)));
    let added = with.since(&without);
    println!(
        "{count:>5} rules {added}  {:>5.3} L  (a step {with}, without a judge {without})",
        added.median().as_secs_f64() / latency.as_secs_f64()
    );
}

/// Guardrails that only a judge decides.
fn gate(count: usize, latency: Duration, rounds: usize) {
    let (rules, server) = (guardrails(count), server(latency));
    let model = client(&server);
    let time = |model: &Client| {
        let mut run = Run::new(&rules, Some(model), ReviewMode::Inline);
        let first = run.before();
        run.after(first);
        Times::new((0..rounds).map(|_| {
            let begun = Instant::now();
            let ticket = run.before();
            let took = begun.elapsed();
            run.after(ticket);
            took
        }))
    };
    let whole = time(&model);
    let requests = server.requests();
    assert_eq!(requests.len(), rounds + 1, "one a step");
    let read = requests.iter().map(|seen| asked(seen)).max().unwrap();
    let ratio = whole.median().as_secs_f64() / latency.as_secs_f64();
    println!("{count:>5} rules {whole}  {ratio:>5.3} L  1 call, {read} rules read");
}

/// Bytes and tokens of one step's request, and how much of it begins as the one before.
fn sent(count: usize) {
    let server = server(Duration::ZERO);
    let model = client(&server);
    let mut run = Run::new(&checks(count), Some(&model), ReviewMode::Inline);
    for _ in 0..10 {
        let ticket = run.before();
        run.after(ticket);
    }
    let seen = server.requests();
    let [.., before, last] = seen.as_slice() else { panic!("no requests") };
    let (earlier, text) = (before.text(), last.text());
    let same = earlier.bytes().zip(text.bytes()).take_while(|(one, other)| one == other).count();
    let taken = model.ledger().spent().of(Purpose::Check).usage;
    println!(
        "{count:>5} rules: the tenth body {} bytes, its text {} bytes, of which the first {same} are those of \
         the ninth; about {} tokens of {} the same; the answer about {} tokens",
        last.raw.len(),
        text.len(),
        text.len() / 4,
        same / 4,
        taken.output / 10,
    );
}

/// Answers at once, without a network.
#[derive(Debug)]
struct AtOnce;

impl Model for AtOnce {
    fn name(&self) -> &'static str {
        "at-once"
    }

    fn answer(&self, call: Call) -> BoxFuture<'static, Result<Answer, ModelError>> {
        let rules = call.request.system.lines().filter(|line| line.starts_with("Rule ")).count();
        let Some(Part::Text(text)) = call.request.messages.iter().flat_map(|it| &it.parts).last()
        else {
            panic!("no text")
        };
        let code = text.lines().rev().find_map(|line| line.strip_prefix("Code of this request: "));
        let said = verdicts(rules, code.unwrap()).to_string();
        let usage = Usage { input: 1, output: 1, ..Usage::default() };
        let answer = Answer { parts: vec![Part::Text(said)], usage, ..Answer::default() };
        Box::pin(std::future::ready(Ok(answer)))
    }
}

/// Processor time and memory of one question.
fn alone(count: usize, bytes: usize, rounds: usize) {
    let rules: Vec<_> = air_lang::parse(&checks(count)).into_rules();
    let rules: Vec<_> = rules.into_iter().map(Arc::new).collect();
    let settings = JudgeSettings { cached_verdicts: 0, ..JudgeSettings::default() };
    let judge = LlmJudge::new(Arc::new(AtOnce), None, settings);
    let output = "row 17: 1000 rows written, sum 4\n".repeat(bytes / 32);
    let ask = || {
        let facts = Facts::new(Arc::new(NoLabels))
            .with(Root::Task, Value::from("Sum the tables up."))
            .with(Root::Output, Value::from(output.as_str()));
        let rules = rules.clone();
        let kind = QuestionKind::Happened;
        let inquiry = Inquiry { kind, rules, facts, images: Vec::new(), look: None };
        block_on(judge.judge(inquiry)).unwrap()
    };
    assert_eq!(ask().len(), count);
    let times = Times::new((0..rounds).map(|_| {
        let begun = processor();
        ask();
        processor().saturating_sub(begun)
    }));
    let memory = allocation_counter::measure(|| drop(ask()));
    println!(
        "{count:>5} rules, {:>3} KiB of data {times} of the processor; {} allocations, {} KiB, {} KiB at once",
        bytes >> 10,
        memory.count_total,
        memory.bytes_total >> 10,
        memory.bytes_max >> 10,
    );
}

/// What a connection costs that a request makes for itself.
fn connections() {
    let server = server(Duration::ZERO);
    let connect = |_| {
        let begun = Instant::now();
        drop(TcpStream::connect(server.address()).unwrap());
        begun.elapsed()
    };
    let times = Times::new((0..100).map(connect));
    let model = client(&server);
    let ask = |_| {
        let request = Request { messages: vec![Message::user("hello")], ..Request::default() };
        let begun = Instant::now();
        block_on(model.answer(Call::new(Purpose::Check, request))).unwrap();
        begun.elapsed()
    };
    let asked = Times::new((0..100).map(ask));
    println!("\na connection on loopback {times}; a whole request of a word with its own {asked}");
}

fn processor() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Times of one row, the least first.
struct Times(Vec<Duration>);

impl Times {
    fn new(times: impl Iterator<Item = Duration>) -> Self {
        let mut times: Vec<_> = times.collect();
        times.sort_unstable();
        Self(times)
    }

    fn median(&self) -> Duration {
        self.0.get(self.0.len() / 2).copied().unwrap_or_default()
    }

    /// Each without the median of `other`.
    fn since(&self, other: &Self) -> Self {
        let base = other.median();
        Self(self.0.iter().map(|time| time.saturating_sub(base)).collect())
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let least = self.0.first().copied().unwrap_or_default();
        write!(f, "{:>9.2} / {:>9.2}", milliseconds(least), milliseconds(self.median()))
    }
}
