//! From settings and flags to language models: names, keys, limits, recordings.

mod absent;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use air::Minds;
use air_llm::{
    Cassette, Client, ClientError, JudgeSettings, Keyring, Ledger, LlmJudge, Model, ModelSpec,
    Options, Price, Prices, Recorder, Replay, SpendLimit, Tape, judge::Confidence,
};

use crate::{
    config::{JudgeMode, ModelSettings, SynthesisBy, provider},
    context::Context,
    error::CliError,
    judge_score,
};

pub use self::absent::Able;

/// What a command says about models.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Language models")]
pub struct ModelArgs {
    /// Language model: `openai:gpt-5`, `anthropic:…`, `gemini:…`, `ollama:…` [env: `AIR_MODEL`]
    #[arg(long, value_name = "PROVIDER:NAME")]
    pub model: Option<String>,
    /// Where it is asked, in place of the provider's own address
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Model that decides checks and guardrails [default: the same]
    #[arg(long, value_name = "PROVIDER:NAME")]
    pub judge_model: Option<String>,
    /// Whether the agent waits for the verdict on a step, or plans its next one meanwhile
    #[arg(long, value_enum, value_name = "MODE")]
    pub judge_mode: Option<JudgeMode>,
    /// Stop before more than so many US dollars are spent
    #[arg(long, value_name = "DOLLARS")]
    pub max_cost: Option<f64>,
    /// Stop after so many requests to models, retries included
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Write requests and answers to a file, to be replayed
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Answer from a recording; no model is asked and no key is needed
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
}

/// Models that can be asked.
#[derive(Clone)]
pub struct Connected {
    /// The agent's own.
    pub agent: Arc<dyn Model>,
    /// Decides what no condition can.
    pub judge: LlmJudge,
    /// The model that it asks.
    pub judging: Arc<dyn Model>,
    /// The one that it asks for a second opinion.
    pub second: Option<Arc<dyn Model>>,
    /// That model, and how far it can be trusted.
    pub about_judge: String,
    /// How it is asked.
    pub settings: JudgeSettings,
    /// What all of them take.
    pub ledger: Ledger,
    /// Whether it drafts guardrails.
    drafts: bool,
    /// What is recorded.
    tape: Option<Tape>,
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connected").field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl Connected {
    /// As a session takes them.
    pub fn minds(&self) -> Minds {
        Minds {
            agent: Some(Arc::clone(&self.agent)),
            judge: Some(Arc::new(self.judge.clone())),
            writer: self.drafts.then(|| Arc::clone(&self.agent)),
            about_judge: Some(self.about_judge.clone()),
            ledger: Some(self.ledger.clone()),
        }
    }

    /// Whether everything was recorded that was to be.
    ///
    /// # Errors
    ///
    /// What went wrong first.
    pub fn finish(&self) -> Result<(), CliError> {
        let checked = self.tape.as_ref().map_or(Ok(()), Tape::check);
        checked.map_err(|error| CliError::Usage {
            what: format!("the recording is not whole: {error}"),
            hint: "record to a place with more space".to_owned(),
        })
    }
}

/// The models that flags, the environment and the settings name; `None` if they name none.
///
/// # Errors
///
/// If one cannot be asked: its name, its address, its key, or the recording cannot be used.
pub fn connect(args: &ModelArgs, context: &Context<'_>) -> Result<Option<Connected>, CliError> {
    let settings = &context.config.models;
    let named = args.model.clone().or_else(|| variable("AIR_MODEL"));
    let Some(name) = named.or_else(|| settings.model.clone()) else {
        return Ok(None);
    };
    let ledger = Ledger::new(SpendLimit {
        micro_dollars: args.max_cost.or(settings.max_cost).map(micro_dollars).transpose()?,
        tokens: settings.max_tokens,
        requests: args.max_calls.or(settings.max_calls),
    });
    if settings.base_url.is_some() && settings.model.is_none() && args.base_url.is_none() {
        return Err(CliError::Usage {
            what: "`model.base_url` of your settings is the address of nobody".to_owned(),
            hint: "an address is that of one provider: set `model.name` beside it".to_owned(),
        });
    }
    let judged_by = args.judge_model.as_ref().or(settings.judge_model.as_ref());
    let seconded_by = settings.second_judge.as_ref();
    let source = match &args.replay {
        Some(file) => replayed(file, context)?,
        None => asked(args, &ledger, context)?,
    };
    let open = |asked: &String| source.open(asked, base(asked, &name, args, settings), &ledger);
    let agent = open(&name)?;
    let judge = judged_by.map_or_else(|| Ok(Arc::clone(&agent)), &open)?;
    let second = seconded_by.map(&open).transpose()?;
    let drafts = settings.synthesis_by != Some(SynthesisBy::Compiler);
    let settings = judging(context);
    let known = judge_score::known(&context.config, judge.name());
    let known = known.unwrap_or_else(|| "not asked known questions".to_owned());
    let about_judge = format!("{}: {known}", judge.name());
    let judging = Arc::clone(&judge);
    let judge = LlmJudge::new(judge, second.clone(), settings.clone());
    let judge = judge.with_ledger(ledger.clone());
    let tape = source.tape();
    Ok(Some(Connected {
        agent,
        judge,
        judging,
        second,
        about_judge,
        settings,
        ledger,
        drafts,
        tape,
    }))
}

/// Where the model of that name is asked, if not where its provider is: no other provider's key, and
/// nothing that is meant for another, is sent there. The flag is for the `agent`'s provider.
fn base<'a>(
    name: &str,
    agent: &str,
    args: &'a ModelArgs,
    settings: &'a ModelSettings,
) -> Option<&'a str> {
    let of = |whose: &str| provider(whose) == provider(name);
    let flag = args.base_url.as_deref().filter(|_| of(agent));
    let own = settings.model.as_deref().is_some_and(of);
    flag.or(settings.base_url.as_deref().filter(|_| own))
}

/// Where answers come from.
enum Source {
    /// A recording.
    Played(Cassette),
    /// Providers, and what is recorded of them.
    Asked(Box<Options>, Option<Tape>),
}

impl Source {
    fn open(
        &self,
        name: &str,
        base: Option<&str>,
        ledger: &Ledger,
    ) -> Result<Arc<dyn Model>, CliError> {
        let (options, tape) = match self {
            Self::Played(cassette) => {
                let replay = Replay::new(name, cassette.clone());
                return Ok(Arc::new(replay.with_ledger(ledger.clone(), None)));
            }
            Self::Asked(options, tape) => (options, tape),
        };
        let options = Options::clone(options);
        let client = Client::connect(name, base, &variable, &Keyring::desktop(), options);
        let client: Arc<dyn Model> = Arc::new(client.map_err(|error| refused(&error))?);
        Ok(match tape {
            Some(tape) => Arc::new(Recorder::new(client, tape.clone())),
            None => client,
        })
    }

    fn tape(self) -> Option<Tape> {
        match self {
            Self::Played(_) => None,
            Self::Asked(_, tape) => tape,
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn replayed(file: &Path, context: &Context<'_>) -> Result<Source, CliError> {
    let cassette = Cassette::open(&context.cwd.join(file)).map_err(|error| CliError::Usage {
        what: format!("cannot replay `{}`: {error}", file.display()),
        hint: "`--record FILE` writes one".to_owned(),
    })?;
    Ok(Source::Played(cassette))
}

fn asked(args: &ModelArgs, ledger: &Ledger, context: &Context<'_>) -> Result<Source, CliError> {
    let settings = &context.config.models;
    let mut options = Options { ledger: ledger.clone(), ..Options::default() };
    if let Some(seconds) = settings.timeout_s {
        options.limits.deadline = Duration::from_secs(seconds.get().into());
    }
    if let Some(at_once) = settings.concurrency {
        options.limits.concurrency = usize::try_from(at_once.get()).unwrap_or(usize::MAX);
    }
    if let Some(file) = &settings.prices {
        options.prices = Prices::shipped().with(prices(file)?);
    }
    let tape = args.record.as_ref().map(|file| {
        Tape::create(&context.cwd.join(file)).map_err(CliError::file("record to", file))
    });
    Ok(Source::Asked(Box::new(options), tape.transpose()?))
}

/// What the tokens of a model cost that flags or settings name; `None` if that is not known.
///
/// # Errors
///
/// If there is no such model, or the table of prices cannot be read.
pub fn price(
    name: &str,
    args: &ModelArgs,
    context: &Context<'_>,
) -> Result<Option<Price>, CliError> {
    let settings = &context.config.models;
    let base = base(name, args.model.as_deref().unwrap_or(name), args, settings);
    let spec = ModelSpec::parse(name, base, &variable);
    let spec = spec.map_err(|error| refused(&ClientError::from(error)))?;
    let mut table = Prices::shipped();
    if let Some(file) = &settings.prices {
        table = table.with(prices(file)?);
    }
    Ok(table.of(&spec))
}

pub(crate) fn judging(context: &Context<'_>) -> JudgeSettings {
    let settings = &context.config.models;
    let mut judging = JudgeSettings::default();
    if let Some(threshold) = settings.threshold {
        judging.threshold = threshold;
    }
    if let Some(votes) = settings.votes {
        judging.confidence = Confidence::Votes(votes.get());
    } else if settings.log_probabilities {
        judging.confidence = Confidence::LogProbabilities;
    }
    judging
}

fn refused(error: &ClientError) -> CliError {
    let text = error.to_string();
    // What to do about it stands behind the first semicolon.
    let (what, hint) = text.split_once("; ").unwrap_or((&text, "name another model"));
    CliError::Usage { what: what.to_owned(), hint: hint.to_owned() }
}

fn micro_dollars(dollars: f64) -> Result<u64, CliError> {
    const MOST: f64 = 1e9;
    if dollars.is_finite() && (0.0..=MOST).contains(&dollars) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 10^15"
        )]
        return Ok((dollars * 1e6).round() as u64);
    }
    Err(CliError::Usage {
        what: format!("{dollars} is no limit"),
        hint: "give an amount in US dollars, such as 2.50".to_owned(),
    })
}

fn prices(file: &Path) -> Result<Prices, CliError> {
    let text = std::fs::read_to_string(file).map_err(CliError::file("read prices", file))?;
    Prices::parse(&text).map_err(|why| CliError::Usage {
        what: format!("`{}`: {why}", file.display()),
        hint: "docs/model.md shows its form".to_owned(),
    })
}
