//! What `airctl bench code` says about the language models that play its cases.

use std::sync::Arc;

use air_agent::Style;
use air_bench::{
    forecast::Forecast,
    mind::{Mind, Priced},
};
use air_core::port::BoxFuture;
use air_llm::{Call, Model, ModelError, dollars};
use air_wire::Answer;

use crate::{
    args::Format,
    commands::run::AgentStyle,
    config::JudgeMode,
    context::Context,
    error::CliError,
    model::{self, Connected, ModelArgs},
};

/// Language models that play the cases, in the place of scripts.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct PlayingArgs {
    /// How an agent on a language model acts
    #[arg(long, value_enum, value_name = "STYLE", default_value = "codeact", requires = "model")]
    agent: AgentStyle,
    /// Steps of an agent on a language model, for each case
    #[arg(long, value_name = "N", default_value_t = 4, requires = "model")]
    steps: u32,
    /// Take rules as the paper has them: a model decides each `check`, and the agent does what
    /// `remediate` says; conditions and responses are left out
    #[arg(long, requires = "model")]
    judged: bool,
    /// Play the cases once more without that part, for Table 6
    #[arg(long, value_enum, value_name = "PART", requires = "judged")]
    pub(super) ablate: Option<Part>,
    /// Example tasks that a model wrote the rules from, for Table 5
    #[arg(long, value_name = "N", requires = "model")]
    pub(super) rule_examples: Option<usize>,
    /// Say which calls it takes and what they cost, and send nothing
    #[arg(long, requires = "model")]
    pub(super) dry_run: bool,
    /// Models.
    #[command(flatten)]
    models: ModelArgs,
}

/// What can be left out.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum Part {
    /// The agent is not told what rules say in `remediate`.
    Remediate,
}

impl PlayingArgs {
    /// The models, where a flag names them: settings and the environment alone do not.
    pub(super) fn connect(&self, context: &Context<'_>) -> Result<Option<Connected>, CliError> {
        if matches!(self.models.judge_mode, Some(JudgeMode::Deferred)) {
            return Err(CliError::Usage {
                what: "a benchmark waits for every verdict".to_owned(),
                hint: "leave out `--judge-mode`".to_owned(),
            });
        }
        if self.models.model.is_none() || self.dry_run {
            return Ok(None);
        }
        model::connect(&self.models, context)
    }

    /// What plays; without `models`, what would.
    pub(super) fn mind(
        &self,
        models: Option<&Connected>,
        context: &Context<'_>,
    ) -> Result<Option<Mind>, CliError> {
        let settings = &context.config.models;
        let Some(name) = self.models.model.clone() else { return Ok(None) };
        let priced = |model: Arc<dyn Model>| {
            let price = model::price(model.name(), &self.models, context)?;
            Ok::<_, CliError>(Priced { model, price })
        };
        let unasked = |name: &String| -> Arc<dyn Model> { Arc::new(Unasked(name.clone())) };
        let (agent, judge, second) = if let Some(models) = models {
            let (agent, judge) = (&models.agent, &models.judging);
            (Arc::clone(agent), Arc::clone(judge), models.second.clone())
        } else {
            let judge = self.models.judge_model.as_ref().or(settings.judge_model.as_ref());
            let second = settings.second_judge.as_ref().map(unasked);
            (unasked(&name), unasked(judge.unwrap_or(&name)), second)
        };
        Ok(Some(Mind {
            agent: priced(agent)?,
            judge: priced(judge)?,
            second: second.map(priced).transpose()?,
            judging: models
                .map_or_else(|| model::judging(context), |models| models.settings.clone()),
            style: match self.agent {
                AgentStyle::React => Style::ReAct,
                AgentStyle::Codeact => Style::CodeAct,
            },
            steps: self.steps.max(1),
            judged: self.judged,
        }))
    }
}

/// A model that is named and not asked.
#[derive(Debug)]
struct Unasked(String);

impl Model for Unasked {
    fn name(&self) -> &str {
        &self.0
    }

    fn answer(&self, _: Call) -> BoxFuture<'static, Result<Answer, ModelError>> {
        Box::pin(async { Err(ModelError::Connection("nothing is sent".to_owned())) })
    }
}

/// Tells what a run will take.
pub(super) fn show(forecast: &Forecast, context: &mut Context<'_>) -> Result<(), CliError> {
    if context.format == Format::Json {
        return context.json(forecast);
    }
    let cost = |micros: Option<u64>| micros.map_or("price not known".to_owned(), dollars);
    let out = &mut context.streams.out;
    writeln!(out, "{} runs of cases are left. Expected, if each is an incident:\n", forecast.runs)?;
    writeln!(out, "{:<14}{:>10}{:>14}{:>14}  cost", "purpose", "calls", "tokens in", "tokens out")?;
    for line in &forecast.items {
        let (calls, input, output) = (line.calls, line.input_tokens, line.output_tokens);
        let cost = cost(line.micro_usd);
        writeln!(out, "{:<14}{calls:>10}{input:>14}{output:>14}  {cost}", line.purpose)?;
    }
    writeln!(out, "\nAltogether: {}. Nothing was sent.", cost(forecast.micro_usd))?;
    writeln!(
        out,
        "Tokens are estimated from the text of the requests; reasoning and retries come on top. \
         `--max-cost` and `--max-calls` stop a run, and the same command goes on later."
    )?;
    Ok(())
}
