//! `airctl rules generate`: one rule a category, drafted by a model, checked and tried. Nothing is enforced.

mod files;
mod input;
mod report;
mod trial;

use std::path::PathBuf;

use air_core::rule::Rule;
use air_llm::{ModelError, RuleBrief, RuleWriter, WriteError};
use futures::executor::block_on;

use self::{
    files::Place,
    input::{Category, Input},
    report::{Outcome, Report, Row},
    trial::{Fault, Records},
};
use crate::{
    context::Context,
    error::CliError,
    exit::Exit,
    model::{self, ModelArgs},
};

/// What a rule is drafted from, and where it goes
///
/// Good drafts are written to the directory, the others to `returned` in it, with the reasons. What is
/// there already is kept, so that the same command goes on where an earlier one ended.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    /// What the agent is and does, as text
    #[arg(long, value_name = "FILE")]
    agent: PathBuf,
    /// Its tools: a JSON list of objects with `name`, `description` and `schema` [default: those of
    /// the code agent]
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// Rules by people, as examples of form; three are enough
    #[arg(long, value_name = "FILE")]
    examples: PathBuf,
    /// Risky tasks by category: TOML with a list of texts a category, or JSONL with `category` and
    /// `task`
    #[arg(long, value_name = "FILE")]
    tasks: PathBuf,
    /// Only this category; may be given more than once
    #[arg(long, value_name = "NAME")]
    category: Vec<String>,
    /// Directory for the rules
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Ask again for what was returned earlier
    #[arg(long)]
    again: bool,
    /// Try each draft on the recorded steps of a session, or of `all`
    #[arg(long, value_name = "SESSION|all")]
    recorded: Option<String>,
    /// The workspace whose sessions those are [default: the current directory]
    #[arg(long, value_name = "DIR", requires = "recorded")]
    workspace: Option<PathBuf>,
    /// Language models.
    #[command(flatten)]
    models: ModelArgs,
}

/// A draft that was read.
struct Read {
    text: String,
    rule: Option<Rule>,
    faults: Vec<Fault>,
}

/// Drafts the rules. Returned ones are findings.
///
/// # Errors
///
/// If it could not be done for all of them. What was written stays, and was told.
pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let input = Input::read(args, context)?;
    let place = Place::open(&context.cwd.join(&args.out))?;
    let records = match &args.recorded {
        Some(session) => Some(Records::open(session, args.workspace.clone(), context)?),
        None => None,
    };
    let models = model::connect(&args.models, context)?.ok_or_else(|| CliError::Usage {
        what: "no language model is named".to_owned(),
        hint: "name one with `--model PROVIDER:NAME`".to_owned(),
    })?;
    let job = Job { writer: RuleWriter::new(models.agent.clone()), input: &input, records };
    let mut report = Report::new(job.writer.name());
    let mut stopped = None;
    for category in &input.categories {
        let kept = place.kept(&category.name, args.again);
        let row = match (kept, &stopped) {
            (Some(outcome), _) => Row::new(category, outcome),
            (None, Some(_)) => Row::new(category, Outcome::NotWritten),
            (None, None) => match job.draft(category)? {
                Ok((read, tried)) => {
                    let is_good = read.faults.is_empty();
                    place.write(category, &read, &job.writer.name())?;
                    let outcome = if is_good { Outcome::Good } else { Outcome::Returned };
                    let mut row = Row::new(category, outcome);
                    (row.faults, row.tried) = (read.faults, tried);
                    row
                }
                Err(error) => {
                    stopped = Some(error);
                    Row::new(category, Outcome::NotWritten)
                }
            },
        };
        report.add(row, context)?;
    }
    report.write(context)?;
    models.finish()?;
    match stopped {
        Some(error) => Err(CliError::Usage {
            what: format!("{} rules are not written: {error}", report.not_written()),
            hint: "what was written stays; the same command goes on with the rest".to_owned(),
        }),
        None if report.returned() > 0 => Ok(Exit::Findings),
        None => Ok(Exit::Fine),
    }
}

/// All that every draft needs.
struct Job<'i> {
    writer: RuleWriter,
    input: &'i Input,
    records: Option<Records>,
}

type Drafted = (Read, Option<trial::Tried>);

impl Job<'_> {
    /// A draft, put right once where it has faults, and tried; or why no model can be asked.
    fn draft(&self, category: &Category) -> Result<Result<Drafted, ModelError>, CliError> {
        let mut read = match self.ask(category, None) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        if !read.faults.is_empty() {
            let why = read.told();
            read = match self.ask(category, Some((&read.text, &why))) {
                Ok(read) => read,
                Err(error) => return Ok(Err(error)),
            };
        }
        let mut tried = None;
        if let (Some(records), Some(rule), true) =
            (&self.records, &read.rule, read.faults.is_empty())
        {
            let found = records.try_on(rule)?;
            read.faults.extend(found.fault());
            tried = Some(found);
        }
        Ok(Ok((read, tried)))
    }

    fn ask(&self, category: &Category, refused: Option<(&str, &str)>) -> Result<Read, ModelError> {
        let brief = RuleBrief {
            name: &category.name,
            category: &category.title,
            agent: &self.input.agent,
            tools: &self.input.tools,
            examples: &self.input.examples,
            tasks: &category.tasks,
            refused,
        };
        match block_on(self.writer.write(brief)) {
            Ok(text) => Ok(trial::read(text, &category.name, &self.input.lints)),
            Err(WriteError::Model(error)) => Err(error),
            Err(error) => {
                let faults = vec![Fault { code: "no-rule", message: error.to_string() }];
                Ok(Read { text: String::new(), rule: None, faults })
            }
        }
    }
}

impl Read {
    /// What is wrong, for whoever writes it again.
    fn told(&self) -> String {
        let told = self.faults.iter().map(|fault| format!("{}: {}\n", fault.code, fault.message));
        told.collect()
    }
}
