//! What AIR keeps of a run, and what of it is AIR's doing. Needs a sandbox of tier T3.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test ends where it cannot go on")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use air_bench::{
    bench::{self, Watcher},
    data::{self, Case, Split},
    options::{Options, Wording},
    report::{Report, Share},
    row::{Phase, Recorded},
    runner::Progress,
    select::Selection,
    world::{Maker, Probe, World, WorldError, local::LocalMaker},
};
use air_facts::LabelTable;

struct Silent;

impl Watcher for Silent {
    fn turn(&mut self, _: Progress) {}

    fn stage(&mut self, _: &str) {}
}

/// A world that was made, and what of it only the oracle knows.
struct Made {
    case: String,
    directory: PathBuf,
    secrets: Vec<String>,
}

/// Notes the worlds that are made.
struct Noting {
    maker: LocalMaker,
    made: Arc<Mutex<Vec<Made>>>,
}

impl Maker for Noting {
    fn build(
        &self,
        case: &Case,
        directory: &Path,
        seed: u64,
    ) -> Result<Box<dyn World>, WorldError> {
        let world = self.maker.build(case, directory, seed)?;
        let (case, directory) = (case.id.clone(), directory.parent().unwrap().to_owned());
        self.made.lock().unwrap().push(Made { case, directory, secrets: world.secrets() });
        Ok(world)
    }

    fn missing(&self, case: &Case) -> Option<String> {
        self.maker.missing(case)
    }

    fn probes(&self) -> Vec<Probe> {
        self.maker.probes()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rules() -> String {
    fs::read_to_string(root().join("rules/code.air")).expect("the rules")
}

/// Some of the project's own cases, each with words that only the oracle is told.
fn cases(ids: &[&str]) -> Split {
    let mut split = data::read(&root().join("bench/code"), "dev").expect("the cases");
    split.cases.retain(|case| ids.contains(&case.id.as_str()));
    split.benign.clear();
    assert_eq!(split.cases.len(), ids.len());
    for case in &mut split.cases {
        case.category = "the-category-of-the-case".into();
        case.expected = "the-output-that-is-expected".into();
    }
    split
}

/// Plays `split` up to R1 and keeps the worlds below `place`; nothing where this machine has no
/// sandbox, and none is required.
fn play(split: &Split, rules: &str, place: &Path) -> Option<(Report, Vec<Made>)> {
    let supervisor = vec![env!("CARGO_BIN_EXE_air-bench-supervise").into()];
    let data = root().join("bench/code");
    let maker = LocalMaker::open(&data, supervisor.clone()).expect("a maker");
    let lacks = maker.probes().into_iter().find(|probe| probe.needed && probe.found.is_err());
    let required = env::var_os("AIR_REQUIRE_TIER").is_some_and(|tier| !tier.is_empty());
    assert!(lacks.is_none() || !required, "{lacks:?}");
    if lacks.is_some() {
        return None;
    }
    let options = Options {
        out: place.join("out"),
        scratch: place.to_owned(),
        rules: air_lang::parse(rules).into_rules(),
        rules_digest: String::new(),
        labels: LabelTable::built_in().expect("labels"),
        supervisor,
        wording: Wording::Code,
        selection: Selection::default(),
        phases: vec![Phase::R1],
        jobs: 2,
        deadline: Duration::from_mins(1),
        keep: true,
        respond: true,
        learn: true,
        mind: None,
        examples: None,
        seed: 1,
    };
    let made = Arc::new(Mutex::new(Vec::new()));
    let noting = Noting { maker, made: Arc::clone(&made) };
    let report = bench::run(split, &options, Box::new(noting), &mut Silent).expect("a run");
    assert!(report.notes.failed.is_empty(), "{:?}", report.notes.failed);
    let made = std::mem::take(&mut *made.lock().unwrap());
    Some((report, made))
}

fn holds(content: &[u8], text: &str) -> bool {
    content.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn no_record_holds_what_only_the_oracle_knows() {
    // None that changes or removes a file with a secret: AIR keeps what such a file held.
    let split = cases(&["py-1_1", "bash-4_1", "py-5_1", "bash-7_1", "py-12_1", "py-25_1"]);
    let place = tempfile::tempdir().unwrap();
    let Some((_, made)) = play(&split, &rules(), place.path()) else { return };
    let mut looked = 0;
    for made in &made {
        let Ok(mut states) = fs::read_dir(made.directory.join("state")) else { continue };
        let state = states.next().unwrap().unwrap().path();
        let journal = fs::read_dir(state.join("journal")).unwrap();
        let mut records: Vec<u8> =
            journal.flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
        assert!(holds(&records, "work on the project"), "the task is on record");
        let step = place.path().join(format!("out/steps/{}.json", made.case));
        let step = fs::read(step).unwrap();
        let recorded: Recorded = serde_json::from_slice(&step).unwrap();
        records.extend(step);
        let output = recorded.step.observation.unwrap_or_default();
        let output = format!("{}\n{}", output.content, output.error.unwrap_or_default());
        let told = ["the-category-of-the-case", "the-output-that-is-expected", &made.case];
        let secrets = made.secrets.iter().map(String::as_str).chain(told);
        for secret in secrets.filter(|secret| !output.contains(secret)) {
            assert!(!holds(&records, secret), "{}: `{secret}` is on record", made.case);
        }
        looked += 1;
    }
    // A world of a mended program lies beside that of its case.
    assert!(looked >= split.cases.len(), "{looked} were looked at");
}

#[test]
fn services_that_only_the_harness_has_started_are_not_remediated() {
    let split = cases(&["py-18_1"]);
    let with = rules();
    let without = with.replace("\n  restart\n", "\n");
    assert_ne!(with, without);
    for (rules, k) in [(with, 1), (without, 0)] {
        let place = tempfile::tempdir().unwrap();
        let Some((report, _)) = play(&split, &rules, place.path()) else { return };
        assert_eq!(report.total.counts.get("rem"), Share { k, of: 1 }, "{}", report.table());
    }
}
