//! What a run on language models comes to: the paper's tables 1, 4, 5 and 6, and what it took.

use std::{collections::BTreeMap, fmt::Write as _};

use air_core::port::Spending;
use air_llm::dollars;
use serde::Serialize;

use super::{Report, Share, table::share};
use crate::{
    derive::{Source, own_rule},
    mind::{Item, Mind},
    options::Options,
    row::{Body, Guarded, Outcome, Phase},
    world::Truth,
};

/// Seconds in the paper's Table 4, row *Code*: execution, check, response, eradication.
const PAPER: [f64; 4] = [10.162, 6.918, 10.514, 49.273];
/// How times are named in tables.
const AGENT: &str = "agent";

/// What a run on language models comes to, beside all counts.
#[derive(Debug, Clone, Serialize)]
pub struct Models {
    /// The agent's model.
    pub agent: String,
    /// The judge's.
    pub judge: String,
    /// Whether rules are in the paper's form.
    pub judged: bool,
    /// Rules by category.
    pub rules: BTreeMap<u32, usize>,
    /// Rules altogether.
    pub rule_count: usize,
    /// Example tasks that they were written from, where a model wrote them.
    pub examples: Option<usize>,
    /// Where the time goes.
    pub times: Seconds,
    /// Response without being told how.
    pub unaided: Response,
    /// Response as rules say.
    pub aided: Response,
    /// What models took, by purpose.
    pub spent: Vec<Item>,
    /// Cases and phases that they took it for.
    pub played: usize,
}

/// Mean times in seconds; `None` of nothing.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Seconds {
    /// Cases that are incidents and were found.
    pub incidents: usize,
    /// The agent's model and its tools.
    pub exec: Option<f64>,
    /// Until an incident is told.
    pub check: Option<f64>,
    /// Containment and recovery.
    pub response: Option<f64>,
    /// Learning a guardrail.
    pub eradication: Option<f64>,
    /// Benign twins.
    pub safe: usize,
    /// A benign twin's task: the agent's model and its tools.
    pub safe_before: Option<f64>,
    /// The same and AIR.
    pub safe_after: Option<f64>,
}

/// How incidents were responded to.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Response {
    /// Undone, of those found that can be undone.
    pub rem: Share,
    /// Mean time in seconds of all that were found.
    pub seconds: Option<f64>,
}

#[derive(Default)]
struct Mean {
    sum: f64,
    n: u32,
}

impl Mean {
    fn add(&mut self, us: u64) {
        self.sum += f64::from(u32::try_from(us / 1000).unwrap_or(u32::MAX)) / 1000.0;
        self.n += 1;
    }

    fn get(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / f64::from(self.n))
    }
}

/// Time of a case without AIR, in microseconds.
fn exec(guarded: &Guarded) -> u64 {
    let items = guarded.work.iter().flat_map(|work| &work.spent);
    let agent = items.filter(|item| item.spending.purpose == AGENT).map(|item| item.ms);
    agent.sum::<u64>().saturating_mul(1000).saturating_add(guarded.took.tool)
}

impl Models {
    /// Of the rows that `source` holds.
    pub(crate) fn new(mind: &Mind, options: &Options, source: &Source<'_>) -> Self {
        let mut models = Self {
            agent: mind.agent.model.name().to_owned(),
            judge: mind.judge.model.name().to_owned(),
            judged: mind.judged,
            rules: BTreeMap::new(),
            rule_count: options.rules.len(),
            examples: options.examples,
            times: Seconds::default(),
            unaided: Response::default(),
            aided: Response::default(),
            spent: Vec::new(),
            played: 0,
        };
        for case in source.cases {
            let has = own_rule(case.category_index, source.rules).is_some();
            models.rules.insert(case.category_index, usize::from(has));
        }
        let found = |phase: Phase| {
            let rows =
                source.cases.iter().filter_map(move |case| source.store.row(&case.id, phase));
            rows.filter_map(|row| match &row.body {
                Body::Guarded(guarded) if guarded.outcome == Outcome::Incident => Some(&**guarded),
                _ => None,
            })
            .filter(|guarded| guarded.happened() == Some(Truth::True))
        };
        let [mut run, mut check, mut response, mut eradication] =
            std::array::from_fn(|_| Mean::default());
        for guarded in found(Phase::R1) {
            models.times.incidents += 1;
            run.add(exec(guarded));
            check.add(guarded.took.check);
            response.add(guarded.took.response);
            eradication.add(guarded.took.eradication);
        }
        models.aided = responded(found(Phase::R1));
        models.unaided = responded(found(Phase::Unaided));
        let [mut before, mut after] = std::array::from_fn(|_| Mean::default());
        for twin in source.benign {
            let row = source.store.row(&twin.id, Phase::R4);
            let Some(Body::Guarded(guarded)) = row.map(|row| &row.body) else { continue };
            models.times.safe += 1;
            before.add(exec(guarded));
            after.add(
                exec(guarded) + guarded.took.check + guarded.took.look + guarded.took.response,
            );
        }
        let times = &mut models.times;
        (times.exec, times.check, times.response) = (run.get(), check.get(), response.get());
        (times.eradication, times.safe_before, times.safe_after) =
            (eradication.get(), before.get(), after.get());
        models.bill(source);
        models
    }

    fn bill(&mut self, source: &Source<'_>) {
        let mut all: BTreeMap<String, Item> = BTreeMap::new();
        for case in source.cases.iter().chain(source.benign) {
            for phase in [Phase::R1, Phase::R2, Phase::R4, Phase::Unaided] {
                let row = source.store.row(&case.id, phase).map(|row| &row.body);
                let Some(Body::Guarded(guarded)) = row else { continue };
                let Some(work) = &guarded.work else { continue };
                self.played += 1;
                for item in &work.spent {
                    let name = item.spending.purpose.clone();
                    match all.get_mut(&name) {
                        Some(sum) => add(sum, item),
                        None => drop(all.insert(name, item.clone())),
                    }
                }
            }
        }
        self.spent = all.into_values().collect();
    }
}

fn add(sum: &mut Item, item: &Item) {
    let (of, more) = (&mut sum.spending, &item.spending);
    of.calls += more.calls;
    of.input_tokens = of.input_tokens.saturating_add(more.input_tokens);
    of.cached_tokens = of.cached_tokens.saturating_add(more.cached_tokens);
    of.output_tokens = of.output_tokens.saturating_add(more.output_tokens);
    of.micro_usd = of.micro_usd.zip(more.micro_usd).map(|(a, b)| a.saturating_add(b));
    sum.ms = sum.ms.saturating_add(item.ms);
}

fn responded<'a>(found: impl Iterator<Item = &'a Guarded>) -> Response {
    let (mut rem, mut time) = (Share::default(), Mean::default());
    for guarded in found {
        time.add(guarded.took.response);
        if let Some(undone) = guarded.remedy.remediated {
            rem.count(undone);
        }
    }
    Response { rem, seconds: time.get() }
}

fn seconds(time: Option<f64>) -> String {
    time.map_or("–".to_owned(), |time| format!("{time:.3}"))
}

/// Beside `base`, as a factor of it.
fn beside(time: Option<f64>, base: Option<f64>) -> String {
    let factor = time.zip(base.filter(|base| *base > 0.0)).map(|(time, base)| time / base);
    let factor = factor.map_or(String::new(), |factor| format!(" ({factor:.2}x)"));
    format!("{}{factor}", seconds(time))
}

fn percent(share: Share) -> String {
    share.rate().map_or("–".to_owned(), |rate| format!("{:.1} %", rate * 100.0))
}

/// The paper's tables, of this run.
pub(super) fn markdown(text: &mut String, report: &Report, models: &Models) {
    let form = if models.judged { "`check` and `remediate` alone, judged" } else { "as they are" };
    let _ = writeln!(
        text,
        "## The paper's tables, of this run\n\nAgent: {}. Judge: {}. Rules: {form}.\n",
        models.agent, models.judge
    );
    effectiveness(text, report, models);
    timeliness(text, &models.times);
    written(text, report, models);
    ablation(text, models);
    taken(text, &models.spent, models.played);
}

fn effectiveness(text: &mut String, report: &Report, models: &Models) {
    text.push_str(
        "### Table 1: effectiveness\n\n\
         | Risk Task Type | # exe. | # det. | # rem. | # era. | # rul. |\n|--|--|--|--|--|--|\n",
    );
    let lines = report.rows.iter().chain([&report.total]);
    for line in lines {
        let count = |name: &str| line.counts.get(name);
        let rem = match count("rem") {
            Share { of: 0, .. } => "–".to_owned(),
            rem => rem.k.to_string(),
        };
        let rules = match line.category {
            Some(category) => models.rules.get(&category).copied().unwrap_or(0),
            None => models.rule_count,
        };
        let (exe, det, era) = (count("exe").k, count("det").k, count("era").k);
        let _ = writeln!(text, "| {} | {exe} | {det} | {rem} | {era} | {rules} |", line.name);
    }
    text.push('\n');
}

fn timeliness(text: &mut String, times: &Seconds) {
    text.push_str(
        "### Table 4: times in seconds, means\n\n\
         | | Exec. | Check | Response | Eradication | Before | After |\n|--|--|--|--|--|--|--|\n",
    );
    let Seconds { exec, check, response, eradication, safe_before, safe_after, .. } = *times;
    let _ = writeln!(
        text,
        "| this run | {} | {} | {} | {} | {} | {} |",
        seconds(exec),
        beside(check, exec),
        beside(response, exec),
        seconds(eradication),
        seconds(safe_before),
        beside(safe_after, safe_before),
    );
    let [exec, check, response, eradication] = PAPER.map(Some);
    let _ = writeln!(
        text,
        "| the paper, Code | {} | {} | {} | {} | – | – |\n",
        seconds(exec),
        beside(check, exec),
        beside(response, exec),
        seconds(eradication),
    );
    let _ = writeln!(
        text,
        "Of {} incidents that were found, and of {} safe tasks. `Exec.` and `Before` are the agent's \
         model and its tools, of the same runs.\n",
        times.incidents, times.safe
    );
}

fn written(text: &mut String, report: &Report, models: &Models) {
    text.push_str(
        "### Table 5: the rules of this run\n\n\
         | # Example / # Rule | # Success / # Total | det. | rem. | era. |\n|--|--|--|--|--|\n",
    );
    let count = |name: &str| report.total.counts.get(name);
    let examples = models.examples.map_or("–".to_owned(), |examples| examples.to_string());
    let exe = count("exe");
    let _ = writeln!(
        text,
        "| {examples} / {} | {} / {} | {} | {} | {} |\n\n\
         It is the paper's where `--rules` names rules of `airctl rules generate`.\n",
        models.rule_count,
        exe.k,
        exe.of,
        percent(count("det")),
        percent(count("rem")),
        percent(count("era")),
    );
}

fn ablation(text: &mut String, models: &Models) {
    text.push_str(
        "### Table 6: response without being told how, and as rules say\n\n\
         | self-remediation rem. | Response (s) | AIR rem. | Response (s) |\n|--|--|--|--|\n",
    );
    let of = |one: &Response| {
        format!("{}, {} | {}", share(one.rem), percent(one.rem), seconds(one.seconds))
    };
    let _ = writeln!(text, "| {} | {} |\n", of(&models.unaided), of(&models.aided));
    if models.unaided.seconds.is_none() {
        text.push_str("`--judged --ablate remediate` plays what the first half is of.\n\n");
    }
}

fn taken(text: &mut String, spent: &[Item], played: usize) {
    let _ = writeln!(
        text,
        "### What models took, for {played} runs of cases\n\n\
         | purpose | calls | tokens in | from a cache | tokens out | cost | waited, s |\n\
         |--|--|--|--|--|--|--|"
    );
    for Item { spending, ms } in spent {
        let Spending {
            purpose, calls, input_tokens, cached_tokens, output_tokens, micro_usd, ..
        } = spending;
        let cost = micro_usd.map_or("not known".to_owned(), dollars);
        let _ = writeln!(
            text,
            "| {purpose} | {calls} | {input_tokens} | {cached_tokens} | {output_tokens} | {cost} | {}.{:03} |",
            ms / 1000,
            ms % 1000
        );
    }
    text.push('\n');
}
