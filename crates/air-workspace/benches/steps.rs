//! What a step costs around its tool, and what a rollback does: 10,000 files in 500 directories,
//! 500 MB. `AIR_BENCH_FILES` is another number of files, `AIR_BENCH_ROUNDS` another of repetitions.
#![expect(clippy::unwrap_used, reason = "a benchmark ends at the first error")]

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use air_checkpoint::Store;
use air_core::{
    id::{CallId, CheckpointId},
    port::{Tier, ToolBox, Workspace},
    step::ToolCall,
};
use air_workspace::{LocalWorkspace, Overlay, SandboxConfig, Tools, detect};
use futures::executor::block_on;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const FILES: usize = 10_000;
const FILES_OF_A_DIRECTORY: usize = 20;
const BYTES: usize = 50_000;
/// A look at everything comes after so many at what is reported.
const PARTIAL: usize = 64;

/// Elapsed and processor time of each round of one row.
struct Row {
    name: String,
    rounds: Vec<(Duration, Duration)>,
}

impl Row {
    fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), rounds: Vec::new() }
    }

    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (begun, used) = (Instant::now(), processor());
        let done = work();
        self.rounds.push((begun.elapsed(), processor().saturating_sub(used)));
        done
    }

    fn tell(mut self) {
        let median = self.rounds.len() / 2;
        let mut column = |pick: fn(&(Duration, Duration)) -> Duration| {
            self.rounds.sort_by_key(pick);
            let at = |index: usize| self.rounds.get(index).map(pick).unwrap_or_default();
            format!("{:>10.2} {:>10.2}", milliseconds(at(0)), milliseconds(at(median)))
        };
        let (elapsed, used) = (column(|round| round.0), column(|round| round.1));
        let count = self.rounds.len();
        say(&format!("{:<44} {elapsed} {used} {count:>7}", self.name));
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn say(line: &str) {
    let told = writeln!(std::io::stdout(), "{line}");
    told.unwrap();
}

/// Of this process: the tools' own is not in it.
fn processor() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(used).unwrap()
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn fill(root: &Path, files: usize) {
    for file in 0..files {
        let directory = root.join((file / FILES_OF_A_DIRECTORY).to_string());
        fs::create_dir_all(&directory).unwrap();
        let mut content = String::new();
        let mut number = file as u64 + 1;
        while content.len() < BYTES {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            writeln!(content, "{number:x} is on a line of file {file}").unwrap();
        }
        fs::write(directory.join(file.to_string()), content).unwrap();
    }
}

/// One session on the workspace.
struct Session {
    workspace: LocalWorkspace,
    tools: Tools,
}

impl Session {
    fn open(folder: &Path, name: &str, is_layered: bool) -> Self {
        let workspace = LocalWorkspace::open(config(folder, name, is_layered)).unwrap();
        Self { tools: Tools::new(workspace.clone()), workspace }
    }

    fn call(&self, tool: &str, arguments: &Value) {
        let arguments = arguments.as_object().unwrap().clone();
        let call =
            ToolCall { id: CallId::from("c"), tool: tool.to_owned(), arguments, native: None };
        let seen = block_on(self.tools.call(&call)).unwrap();
        assert_eq!(seen.error, None, "{}", seen.content);
    }

    fn bash(&self, command: &str) {
        self.call("bash", &json!({ "command": command }));
    }

    fn checkpoint(&self) -> CheckpointId {
        block_on(self.workspace.checkpoint()).unwrap()
    }

    fn step(&self, tool: &str, arguments: &Value) {
        let before = self.checkpoint();
        self.call(tool, arguments);
        let effects = block_on(self.workspace.effects(&before, &[])).unwrap();
        assert_eq!(effects.files.incomplete, None);
        assert_eq!(effects.files.items.len(), 1);
    }
}

fn config(folder: &Path, name: &str, is_layered: bool) -> SandboxConfig {
    let supervisor = vec![env!("CARGO_BIN_EXE_air-supervise").into()];
    let (workspace, state) = (folder.join("workspace"), folder.join("state"));
    let mut config = SandboxConfig::new(workspace, state, name, supervisor);
    config.minimum = Some(Tier::T3);
    config.overlay = is_layered.then(|| Overlay::of(&config.session_dir));
    config
}

/// What the steps of one session cost.
fn steps(session: &Session, mode: &str, rounds: usize) {
    // The sandbox, its interpreter and the labels are there before.
    session.step("python_repl", &json!({ "code": "open('warm', 'w').write('1')" }));
    let mut python = Row::new(format!("{mode}: python step"));
    for round in 0..rounds {
        let code = format!("open('0/python', 'w').write('{round}')");
        python.time(|| session.step("python_repl", &json!({ "code": code })));
    }
    python.tell();
    let mut shell = Row::new(format!("{mode}: shell step"));
    for round in 0..rounds {
        let command = format!("echo {round} > 1/shell");
        shell.time(|| session.step("bash", &json!({ "command": command })));
    }
    shell.tell();
}

/// Three files are changed before each checkpoint.
fn checkpoints_in_layer(session: &Session, rounds: usize) {
    let mut row = Row::new("layered: checkpoint");
    for round in 0..rounds {
        session.bash(&format!("for at in 3 4 5; do echo {round} > $at/changed; done"));
        row.time(|| session.checkpoint());
    }
    row.tell();
}

fn checkpoints_of_directory(session: &Session, workspace: &Path, rounds: usize) {
    let mut dirty = Row::new("direct: checkpoint");
    let mut scan = Row::new("direct: checkpoint with a look at everything");
    for round in 0..rounds * (PARTIAL + 1) {
        for at in ["3", "4", "5"] {
            fs::write(workspace.join(at).join("changed"), round.to_string()).unwrap();
        }
        let (begun, used) = (Instant::now(), processor());
        session.checkpoint();
        let spent = (begun.elapsed(), processor().saturating_sub(used));
        dirty.rounds.push(spent);
    }
    // One of each so many is a look at everything, and those are the longest.
    dirty.rounds.sort_by_key(|round| std::cmp::Reverse(round.1));
    scan.rounds = dirty.rounds.drain(..rounds).collect();
    dirty.tell();
    scan.tell();
}

fn restores(session: &Session, workspace: &Path, mode: &str, (files, rounds): (usize, usize)) {
    let mut row = Row::new(format!("{mode}: rollback of `rm -rf *`"));
    let before = pictures(workspace);
    for _ in 0..rounds {
        let checkpoint = session.checkpoint();
        session.bash("rm -rf *");
        row.time(|| block_on(session.workspace.rollback(&checkpoint)).unwrap());
        assert!(pictures(workspace) == before, "not restored");
        session.bash(&format!("test $(find . -type f | wc -l) -ge {files}"));
    }
    row.tell();
}

/// Each file's path, mode, time and content.
fn pictures(workspace: &Path) -> Vec<(PathBuf, fs::Permissions, std::time::SystemTime, Vec<u8>)> {
    let mut pictures = Vec::new();
    let mut pending = vec![workspace.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let content = if meta.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
            pictures.push((path.clone(), meta.permissions(), meta.modified().unwrap(), content));
            if meta.is_dir() {
                pending.push(path);
            }
        }
    }
    pictures.sort_by(|one, other| one.0.cmp(&other.0));
    pictures
}

fn main() {
    let files = setting("AIR_BENCH_FILES", FILES).max(FILES_OF_A_DIRECTORY * 8);
    let rounds = setting("AIR_BENCH_ROUNDS", 5).max(1);
    let folder = tempfile::tempdir().unwrap();
    let (folder, workspace) = (folder.path(), folder.path().join("workspace"));
    fill(&workspace, files);
    let tiers = detect(&config(folder, "probe", false));
    if !tiers.iter().any(|report| report.tier == Tier::T3 && report.available) {
        return say("T3 is not there: `airctl doctor` says why");
    }
    let directories = files.div_ceil(FILES_OF_A_DIRECTORY);
    say(&format!("{files} files in {directories} directories; milliseconds, by the clock and"));
    say("of AIR's processor time (without that of the tools and of the supervisor)");
    say(&format!(
        "{:<44} {:>10} {:>10} {:>10} {:>10} {:>7}",
        "", "min", "median", "cpu min", "median", "rounds"
    ));

    let mut first = Row::new("layered: open and first checkpoint");
    for round in 0..rounds {
        first.time(|| Session::open(folder, &format!("first{round}"), true).checkpoint());
    }
    first.tell();
    let layered = Session::open(folder, "layered", true);
    steps(&layered, "layered", rounds * 10);
    checkpoints_in_layer(&layered, rounds * 10);
    restores(&layered, &workspace, "layered", (files, rounds));
    drop(layered);

    let mut first = Row::new("direct: open and first checkpoint");
    first.time(|| Session::open(folder, "direct0", false).checkpoint());
    first.tell();
    assert!(Store::open(&folder.join("state")).unwrap().settle());
    let mut later = Row::new("direct: the same of a later session");
    for round in 0..rounds {
        later.time(|| Session::open(folder, &format!("later{round}"), false).checkpoint());
    }
    later.tell();
    let direct = Session::open(folder, "direct", false);
    steps(&direct, "direct", rounds * 10);
    checkpoints_of_directory(&direct, &workspace, rounds);
    restores(&direct, &workspace, "direct", (files, rounds));
}
