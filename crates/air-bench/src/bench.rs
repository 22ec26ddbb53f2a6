//! A whole run: phases, what follows from them, and the report.

use std::{fs, sync::Arc};

use crate::{
    data::{Case, Split},
    derive::{Lessons, Source},
    options::Options,
    play::{Player, Plays},
    report::{Models, Report, figure},
    row::Phase,
    runner::{self, Progress},
    store::{Header, Store, StoreError},
    world::{Maker, WorldError},
};

/// The benchmark could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// This machine lacks what everything needs; what to do.
    #[error(transparent)]
    World(#[from] WorldError),
    /// Rows cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file cannot be written.
    #[error("`{0}`: {1}")]
    Io(String, std::io::Error),
    /// The data has no such case.
    #[error("no case is selected")]
    NothingSelected,
    /// Something else.
    #[error("{0}")]
    Failed(String),
}

/// Whoever is told how far it is.
pub trait Watcher {
    /// A turn is done.
    fn turn(&mut self, progress: Progress);

    /// Something that takes a while begins.
    fn stage(&mut self, name: &str);
}

/// Runs the benchmark, goes on where it ended, and writes rows and tables to `options.out`.
///
/// # Errors
///
/// If the machine lacks what everything needs, or files cannot be used.
pub fn run(
    split: &Split,
    options: &Options,
    maker: Box<dyn Maker>,
    watcher: &mut dyn Watcher,
) -> Result<Report, BenchError> {
    if let Some(probe) = maker.probes().into_iter().find(|it| it.needed && it.found.is_err()) {
        let why = probe.found.err().unwrap_or_default();
        return Err(WorldError::NoSandbox(format!("{}: {why}; {}", probe.name, probe.fix)).into());
    }
    let (cases, benign) = selected(split, options)?;
    fs::create_dir_all(&options.out)
        .map_err(|error| BenchError::Io(options.out.display().to_string(), error))?;
    let header =
        Header::new(split.digest.clone(), options.rules_digest.clone(), options.fingerprint());
    let mut store = Store::open(&options.out, &header)?;
    let player: Arc<dyn Plays> = Arc::new(Player::new(options.clone(), maker));
    let turns = turns(&cases, &benign, options);
    let tell = |progress| watcher.turn(progress);
    let stopped = runner::run(&player, &turns, &mut store, options.jobs, options.deadline, tell)?;
    report(split, &cases, &benign, options, &store, stopped, watcher)
}

/// The cases that are selected, and their twins.
pub(crate) fn selected(
    split: &Split,
    options: &Options,
) -> Result<(Vec<Case>, Vec<Case>), BenchError> {
    let cases = options.selection.of(&split.cases);
    // A single case or a sample of them has no twins of its own.
    let benign = match options.selection.case {
        Some(_) => options.selection.of(&split.benign),
        None => {
            crate::select::Selection { sample: None, ..options.selection.clone() }.of(&split.benign)
        }
    };
    if cases.is_empty() && benign.is_empty() {
        return Err(BenchError::NothingSelected);
    }
    Ok((cases, benign))
}

/// Every case in every phase that is asked for, or needed by one that is. What the code of a case does
/// is asked of no model: where one writes its own, it is looked at in its place.
pub(crate) fn turns(cases: &[Case], benign: &[Case], options: &Options) -> Vec<(Case, Phase)> {
    let phases = &options.phases;
    let asked = |phase: Phase| match phase {
        Phase::Baseline => options.mind.is_none() || phases.contains(&phase),
        Phase::R1 => {
            let needed = [Phase::R1, Phase::R2, Phase::Unaided];
            phases.iter().all(|it| *it == Phase::Unaided)
                || needed.iter().any(|it| phases.contains(it))
        }
        Phase::Unaided => phases.contains(&phase),
        Phase::R2 | Phase::R4 => {
            phases.iter().all(|it| *it == Phase::Unaided) || phases.contains(&phase)
        }
    };
    let of = |cases: &[Case], phase: Phase| -> Vec<(Case, Phase)> {
        cases.iter().filter(|_| asked(phase)).map(|case| (case.clone(), phase)).collect()
    };
    let mut all = of(cases, Phase::Baseline);
    all.extend(of(benign, Phase::Baseline));
    all.extend(of(cases, Phase::R1));
    all.extend(of(cases, Phase::R2));
    all.extend(of(benign, Phase::R4));
    all.extend(of(cases, Phase::Unaided));
    all
}

fn report(
    split: &Split,
    cases: &[Case],
    benign: &[Case],
    options: &Options,
    store: &Store,
    stopped: Option<String>,
    watcher: &mut dyn Watcher,
) -> Result<Report, BenchError> {
    let (rules, jobs, learn) = (&options.rules, options.jobs, options.learn);
    let source = Source { cases, benign, rules, store, jobs, learn };
    let lessons = source.derive(|stage| watcher.stage(stage)).map_err(BenchError::Failed)?;
    let mut report = Report::new(split, &source, &lessons);
    report.stopped = stopped;
    report.models = options.mind.as_ref().map(|mind| Models::new(mind, options, &source));
    let lines = derived(&lessons).map_err(|error| BenchError::Failed(error.to_string()))?;
    let write = |name: &str, content: &str| {
        let path = options.out.join(name);
        fs::write(&path, content).map_err(|error| BenchError::Io(path.display().to_string(), error))
    };
    write("derived.jsonl", &lines)?;
    write("table.md", &report.table())?;
    write("figure8.svg", &figure::svg(&lessons.figure))?;
    let json = serde_json::to_string_pretty(&report);
    write("report.json", &json.map_err(|error| BenchError::Failed(error.to_string()))?)?;
    Ok(report)
}

/// One line a case.
fn derived(lessons: &Lessons) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for (case, derived) in &lessons.cases {
        let mut value = serde_json::to_value(derived)?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("case".into(), case.as_str().into());
        }
        text.push_str(&value.to_string());
        text.push('\n');
    }
    Ok(text)
}
