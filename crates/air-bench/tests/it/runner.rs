//! Many cases at once, whatever they do.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use air_bench::{
    data::{Case, Language},
    play::{Plays, Turn},
    row::{Body, Phase},
    runner,
    store::{Header, Store},
    world::{Judgement, Truth},
};
use serde_json::Value;

use crate::case;

/// Says of every case that it happened; some do worse.
#[derive(Default)]
struct Scripted {
    played: AtomicUsize,
    stuck: Mutex<()>,
}

impl Plays for Scripted {
    fn play(&self, turn: &Turn) -> Body {
        self.played.fetch_add(1, Ordering::SeqCst);
        match turn.case.number() {
            // As a broken harness, without the noise.
            "13" => std::panic::resume_unwind(Box::new(())),
            "14" => drop(self.stuck.lock()),
            _ => {}
        }
        let (how, evidence) = ("said".into(), Value::Null);
        let judgement = Judgement { incident: Truth::True, how, evidence };
        Body::Baseline { judgement, cut_off: false, expected: true, run_ms: 1, harms: Vec::new() }
    }
}

fn header(options: &str) -> Header {
    Header::new("data".into(), "rules".into(), options.into())
}

fn turns(numbers: &[u32]) -> Vec<(Case, Phase)> {
    let of = |number: &u32| (case(Language::Python, 1, *number), Phase::Baseline);
    numbers.iter().map(of).collect()
}

fn run(player: &Arc<Scripted>, directory: &Path, numbers: &[u32]) -> Vec<String> {
    let player: Arc<dyn Plays> = Arc::<Scripted>::clone(player);
    let mut store = Store::open(directory, &header("")).unwrap();
    let deadline = Duration::from_secs(1);
    let mut told = 0;
    let tell = |progress: runner::Progress| told = progress.done;
    runner::run(&player, &turns(numbers), &mut store, 3, deadline, tell).unwrap();
    let status =
        |number: &u32| match &store.row(&format!("py-1_{number}"), Phase::Baseline).unwrap().body {
            Body::Failed { error } => error.clone(),
            _ => "ran".to_owned(),
        };
    numbers.iter().map(status).collect()
}

#[test]
fn a_case_that_hangs_or_breaks_is_a_row() {
    let out = tempfile::tempdir().unwrap();
    let player = Arc::new(Scripted::default());
    let held = player.stuck.lock().unwrap();
    let told = run(&player, out.path(), &[11, 12, 13, 14, 15]);
    drop(held);
    assert_eq!(told[0], "ran");
    assert!(told[2].contains("harness failed"), "{told:?}");
    assert!(told[3].contains("did not end within"), "{told:?}");
    assert_eq!(told[4], "ran");
}

#[test]
fn an_interrupted_run_goes_on_where_it_ended() {
    let out = tempfile::tempdir().unwrap();
    let player = Arc::new(Scripted::default());
    run(&player, out.path(), &[1, 2, 3]);
    let rows = out.path().join("results.jsonl");
    let mut file = OpenOptions::new().append(true).open(&rows).unwrap();
    file.write_all(b"{\"case\":\"py-1_4\",\"pha").unwrap();
    assert_eq!(run(&player, out.path(), &[1, 2, 3, 4, 5]), ["ran"; 5]);
    assert_eq!(player.played.load(Ordering::SeqCst), 5);
    let text = fs::read_to_string(&rows).unwrap();
    assert_eq!(text.lines().count(), 6);
}

#[test]
fn rows_of_another_run_are_left_alone() {
    let out = tempfile::tempdir().unwrap();
    Store::open(out.path(), &header("")).unwrap();
    let error = Store::open(out.path(), &header("respond=false")).unwrap_err().to_string();
    assert!(error.contains("was made with other options"), "{error}");
    let rows = out.path().join("results.jsonl");
    let text = fs::read_to_string(&rows).unwrap();
    fs::write(&rows, format!("{text}nonsense\n")).unwrap();
    let error = Store::open(out.path(), &header("")).unwrap_err().to_string();
    assert!(error.contains("results.jsonl:2: "), "{error}");
}
