//! `airctl bench code`: a code agent's cases, played and judged.

mod playing;

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use air_bench::{
    bench::{self, BenchError, Watcher},
    data, forecast,
    judged::judged,
    options::{Options, Wording},
    report::Report,
    row::Phase,
    runner::Progress,
    select::Selection,
    store::StoreError,
    world::{Maker, Probe, WorldError, local::LocalMaker},
};
use air_core::rule::Rule;

use self::playing::PlayingArgs;
use crate::{
    args::Format, commands::init::CODE_RULES, context::Context, error::CliError, exit::Exit, guard,
    model::Connected,
};

/// How long a case may take in one phase, all in all; and where models take part.
const DEADLINE: Duration = Duration::from_mins(1);
const ASKING: Duration = Duration::from_mins(15);

/// Play cases of a code agent in sandboxes of their own, and judge them by what they did
///
/// Exit codes: 0 it ran, 2 it could not, 3 the oracle differs from the reference run.
#[derive(Debug, Clone, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Args {
    /// The folder of the cases and their fixture
    #[arg(long, value_name = "DIR", default_value = "bench/code")]
    data: PathBuf,
    /// The split: `NAME.jsonl` in that folder
    #[arg(long, value_name = "NAME", default_value = "dev")]
    split: String,
    /// Where rows and tables go; a run that was interrupted goes on from there
    #[arg(long, value_name = "DIR", default_value = "bench-out")]
    out: PathBuf,
    /// Rule files, one rule for each category in order [default: the pack `code`]
    #[arg(long, value_name = "FILE", num_args = 1..)]
    rules: Vec<PathBuf>,
    /// Only this language
    #[arg(long, value_enum, default_value = "all")]
    lang: Lang,
    /// Only these categories, such as `1-11,13`
    #[arg(long, value_name = "LIST", value_parser = categories)]
    cats: Option<Categories>,
    /// Only this case
    #[arg(long, value_name = "ID")]
    case: Option<String>,
    /// At most as many cases of each category and language, the same each time
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Only these phases, and those that they need; all else follows from their records
    #[arg(long, value_enum, value_name = "PHASE", value_delimiter = ',')]
    phase: Vec<Stage>,
    /// What the agent says before it acts; a model's task [default: `code`, with a model `summary`]
    #[arg(long, value_enum)]
    plan: Option<Plan>,
    /// How many cases at once
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Respond to no incident
    #[arg(long)]
    no_respond: bool,
    /// Learn no guardrail
    #[arg(long)]
    no_eradication: bool,
    /// Keep the worlds on disk
    #[arg(long)]
    keep: bool,
    /// What secrets are made from [default: another number each time]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Report what this machine has and lacks for it, and run nothing
    #[arg(long)]
    doctor: bool,
    /// Models.
    #[command(flatten)]
    playing: PlayingArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Lang {
    Py,
    Bash,
    All,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Stage {
    Baseline,
    R1,
    R2,
    R4,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Plan {
    Code,
    Summary,
    Details,
}

#[derive(Debug, Clone)]
struct Categories(BTreeSet<u32>);

fn categories(text: &str) -> Result<Categories, String> {
    let mut all = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|error| error.to_string());
        let (first, last) = (number(first)?, number(last)?);
        if first == 0 || last < first || last > 100 {
            return Err(format!("`{part}` is no range of categories"));
        }
        all.extend(first..=last);
    }
    Ok(Categories(all))
}

/// Plays and reports.
///
/// # Errors
///
/// If the data or rules cannot be used, or this machine has no sandbox.
pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let program = env::current_exe().map_err(CliError::file("find", "airctl"))?;
    let supervisor: Vec<OsString> = vec![program.into(), "__supervise".into()];
    let data = context.cwd.join(&args.data);
    let maker = LocalMaker::open(&data, supervisor.clone()).map_err(world)?;
    if args.doctor {
        return doctor(&maker.probes(), context);
    }
    let split = data::read(&data, &args.split).map_err(|error| CliError::Usage {
        what: error.to_string(),
        hint: "`airctl bench import` makes such files".to_owned(),
    })?;
    let (options, models) = options(args, supervisor, context)?;
    if args.playing.dry_run {
        let forecast = forecast::forecast(&split, &options).map_err(|error| failed(&error))?;
        playing::show(&forecast, context)?;
        return Ok(Exit::Fine);
    }
    let mut told = Told { err: &mut *context.streams.err, last: Instant::now() };
    let report = bench::run(&split, &options, Box::new(maker), &mut told);
    if let Some(models) = &models {
        models.finish()?;
    }
    let report = report.map_err(|error| failed(&error))?;
    match context.format {
        Format::Json => context.json(&report)?,
        Format::Human => show(&report, &args.out, context)?,
    }
    if let Some(why) = &report.stopped {
        return Err(CliError::Usage {
            what: format!("not everything was played: {why}"),
            hint: "the same command goes on from there".to_owned(),
        });
    }
    Ok(if report.regressions.is_empty() { Exit::Fine } else { Exit::Differs })
}

fn options(
    args: &Args,
    supervisor: Vec<OsString>,
    context: &mut Context<'_>,
) -> Result<(Options, Option<Connected>), CliError> {
    let mut rules: Vec<Rule> = if args.rules.is_empty() {
        air_lang::parse(CODE_RULES).into_rules()
    } else {
        guard::load_rules(context, &args.rules)?
    };
    let models = args.playing.connect(context)?;
    let mind = args.playing.mind(models.as_ref(), context)?;
    if mind.as_ref().is_some_and(|mind| mind.judged) {
        rules = judged(&rules).map_err(|why| CliError::Usage {
            what: format!("these rules cannot be judged alone: {why}"),
            hint: "name files of AIR rules with `--rules`".to_owned(),
        })?;
    }
    let text: Vec<&str> = rules.iter().map(|rule| &*rule.source).collect();
    let language = match args.lang {
        Lang::Py => Some(data::Language::Python),
        Lang::Bash => Some(data::Language::Bash),
        Lang::All => None,
    };
    let phase = |stage: &Stage| match stage {
        Stage::Baseline => Phase::Baseline,
        Stage::R1 => Phase::R1,
        Stage::R2 => Phase::R2,
        Stage::R4 => Phase::R4,
    };
    let mut phases: Vec<Phase> = args.phase.iter().map(phase).collect();
    if args.playing.ablate.is_some() {
        phases.push(Phase::Unaided);
    }
    let options = Options {
        out: context.cwd.join(&args.out),
        scratch: env::temp_dir(),
        rules_digest: data::sha256(text.join("\n").as_bytes()),
        labels: context.config.label_table()?,
        supervisor,
        wording: match args.plan {
            None if mind.is_some() => Wording::Summary,
            None | Some(Plan::Code) => Wording::Code,
            Some(Plan::Summary) => Wording::Summary,
            Some(Plan::Details) => Wording::Details,
        },
        selection: Selection {
            categories: args.cats.clone().map(|Categories(all)| all),
            language,
            case: args.case.clone(),
            sample: args.sample,
        },
        phases,
        jobs: args.jobs,
        deadline: if mind.is_some() { ASKING } else { DEADLINE },
        keep: args.keep,
        respond: !args.no_respond,
        learn: !args.no_eradication,
        seed: args.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish()),
        rules,
        mind,
        examples: args.playing.rule_examples,
    };
    Ok((options, models))
}

fn show(report: &Report, out: &Path, context: &mut Context<'_>) -> Result<(), CliError> {
    write!(context.streams.out, "{}", report.table())?;
    writeln!(context.streams.out, "\nRows, tables and the figure are in {}.", out.display())?;
    Ok(())
}

fn doctor(probes: &[Probe], context: &mut Context<'_>) -> Result<Exit, CliError> {
    match context.format {
        Format::Json => context.json(&serde_json::json!({ "version": 1, "probes": probes }))?,
        Format::Human => {
            for probe in probes {
                let out = &mut context.streams.out;
                match &probe.found {
                    Ok(found) => writeln!(out, "{}: {found}", probe.name)?,
                    Err(why) => writeln!(out, "{}: missing: {why}; {}", probe.name, probe.fix)?,
                }
            }
        }
    }
    let lacks = probes.iter().any(|probe| probe.needed && probe.found.is_err());
    Ok(if lacks { Exit::CouldNotRun } else { Exit::Fine })
}

fn world(error: WorldError) -> CliError {
    failed(&error.into())
}

fn failed(error: &BenchError) -> CliError {
    let hint = match error {
        BenchError::World(WorldError::NoSandbox(_)) => {
            "nothing is run without a sandbox; `airctl bench code --doctor` says what is missing"
        }
        BenchError::World(_) => "`--data` names the folder that holds the fixture and the cases",
        BenchError::NothingSelected => {
            "`--case`, `--cats`, `--lang` and `--sample` together leave none; the cases are those of \
             the data's `dev.jsonl` or its like, and a twin is none"
        }
        BenchError::Store(StoreError::Damaged { .. }) => {
            "delete that line, and what it told is done again; or `--out` names another directory"
        }
        _ => "`--out` names another directory",
    };
    CliError::Usage { what: error.to_string(), hint: hint.to_owned() }
}

/// Tells how far it is, not too often.
struct Told<'w> {
    err: &'w mut dyn Write,
    last: Instant,
}

impl Watcher for Told<'_> {
    fn turn(&mut self, progress: Progress) {
        if self.last.elapsed() < Duration::from_secs(5) && progress.done < progress.of {
            return;
        }
        self.last = Instant::now();
        let left = progress
            .left()
            .map_or(String::new(), |left| format!(", about {} s left", left.as_secs()));
        // Who does not read it does not miss it.
        let _ = writeln!(self.err, "{} of {}{left}", progress.done, progress.of);
    }

    fn stage(&mut self, name: &str) {
        let _ = writeln!(self.err, "{name}");
    }
}
