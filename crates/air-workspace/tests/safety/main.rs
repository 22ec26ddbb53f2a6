//! What an agent may try, in real sandboxes: each time AIR answers in time, the next call works,
//! nothing outside has changed, and no process is left.
//!
//! One test at a time: they fill what they are given.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper that fails is a test that fails")]

mod as_user;
mod bombs;
mod escapes;
mod files;
mod frozen;
mod layers;
mod many;
mod moving;
mod places;
mod space;
mod stuck;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use air_core::{
    effects::{Effects, FileEffect},
    id::{CallId, CheckpointId},
    port::{Publication, Tier, ToolBox, ToolError, Workspace},
    step::{Observation, ToolCall},
};
use air_workspace::{LocalWorkspace, Overlay, SandboxConfig, Tools, detect};
use futures::executor::block_on;
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_secs(10);
/// Beyond the time of a call: until all is ended and answered.
const GRACE: Duration = Duration::from_secs(15);
/// For what is known to take all the time that it gets.
const SHORT: Duration = Duration::from_secs(2);
const PROCESSES: u32 = 100;
const MIB: u64 = 1 << 20;

/// How tools reach the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// T3, on a layer above it.
    Layer,
    /// T3, on the directory itself.
    Direct,
    /// T2, on the directory itself.
    Rules,
}

impl Way {
    const ALL: [Self; 3] = [Self::Layer, Self::Direct, Self::Rules];

    fn tier(self) -> Tier {
        if self == Self::Rules { Tier::T2 } else { Tier::T3 }
    }
}

/// One sandbox, with a file beside its workspace that nothing may touch.
struct Bench {
    way: Way,
    tier: Tier,
    workspace: LocalWorkspace,
    tools: Tools,
    /// Whether the kernel limits memory of the whole sandbox, and so may be faster.
    has_group: bool,
    folder: tempfile::TempDir,
}

/// Runs a test at each tier that contains, alone.
fn at_each_tier(test: impl Fn(&Bench)) {
    at(&[Tier::T3, Tier::T2], test);
}

fn at(tiers: &[Tier], test: impl Fn(&Bench)) {
    within(tiers, TIMEOUT, test);
}

fn within(tiers: &[Tier], timeout: Duration, test: impl Fn(&Bench)) {
    let ways = tiers.iter().map(|tier| if *tier == Tier::T3 { Way::Direct } else { Way::Rules });
    let prepare = |config: &mut SandboxConfig| config.limits.timeout = timeout;
    on(&ways.collect::<Vec<_>>(), prepare, |bench| {
        test(&bench);
        bench.finish();
    });
}

/// Runs a test alone, in workspaces that are prepared before they are opened.
fn on(ways: &[Way], prepare: impl Fn(&mut SandboxConfig), test: impl Fn(Bench)) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for way in ways {
        if let Some(bench) = Bench::try_new(*way, &prepare) {
            test(bench);
        }
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

fn config(folder: &Path, tier: Tier) -> SandboxConfig {
    let built = || OsString::from(env!("CARGO_BIN_EXE_air-supervise"));
    let supervisor = vec![std::env::var_os("AIR_SUPERVISE").unwrap_or_else(built)];
    let mut config = SandboxConfig::new(folder.join("ws"), folder.join("state"), "s1", supervisor);
    config.minimum = Some(tier);
    config.maximum = Some(tier);
    let limits = &mut config.limits;
    limits.timeout = TIMEOUT;
    limits.processes = PROCESSES;
    limits.memory_bytes = 1024 * MIB;
    limits.total_memory_bytes = 768 * MIB;
    limits.file_bytes = 64 * MIB;
    config
}

impl Bench {
    fn try_new(way: Way, prepare: impl Fn(&mut SandboxConfig)) -> Option<Self> {
        let tier = way.tier();
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        fs::write(folder.path().join("outside"), "untouched").unwrap();
        let mut config = config(folder.path(), tier);
        config.overlay = (way == Way::Layer).then(|| Overlay::of(&config.session_dir));
        prepare(&mut config);
        let plain = SandboxConfig { overlay: None, ..config.clone() };
        let report = detect(&plain).into_iter().find(|report| report.tier == tier).unwrap();
        if !report.available {
            let required = std::env::var("AIR_REQUIRE_TIER").unwrap_or_default();
            assert!(tier.to_string() > required, "{tier} is required: {}", report.why);
            skip(&format!("{tier}: {} (fix: {:?})", report.why, report.fix));
            return None;
        }
        let workspace = LocalWorkspace::open(config).unwrap();
        let has_group = !report.note.is_some_and(|note| note.contains("memory of all"));
        let tools = Tools::new(workspace.clone());
        Some(Self { way, tier, workspace, tools, has_group, folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("ws").join(name)
    }

    fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A file of the workspace, as the agent calls it.
    fn inside(&self, name: &str) -> String {
        let root = if self.tier == Tier::T3 { PathBuf::from("/workspace") } else { self.path("") };
        root.join(name).to_str().unwrap().to_owned()
    }

    fn checkpoint(&self) -> CheckpointId {
        block_on(self.workspace.checkpoint()).unwrap()
    }

    fn effects(&self, since: &CheckpointId) -> Effects {
        block_on(self.workspace.effects(since, &[])).unwrap()
    }

    /// The effect on a file of the workspace, if there is one.
    fn effect(&self, since: &CheckpointId, name: &str) -> Option<FileEffect> {
        let path = self.inside(name);
        self.effects(since).files.items.into_iter().find(|file| file.path == path)
    }

    fn rollback(&self, to: &CheckpointId) -> Result<String, String> {
        block_on(self.workspace.rollback(to)).map_err(|error| error.to_string())
    }

    /// Hands a layer over, or does nothing.
    fn publish(&self) -> Publication {
        block_on(self.workspace.publish()).unwrap().unwrap_or_default()
    }

    fn is_layered(&self) -> bool {
        self.way == Way::Layer
    }

    /// A call, which has to be answered in time.
    fn call(&self, tool: &str, arguments: Value) -> Observation {
        self.try_call(tool, arguments).unwrap()
    }

    fn try_call(&self, tool: &str, arguments: Value) -> Result<Observation, ToolError> {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let call =
            ToolCall { id: CallId::from("c"), tool: tool.to_owned(), arguments, native: None };
        let begun = Instant::now();
        let seen = block_on(self.tools.call(&call));
        assert!(begun.elapsed() < TIMEOUT + GRACE, "answered after {:?}", begun.elapsed());
        seen
    }

    fn python(&self, code: &str) -> Observation {
        self.call("python_repl", json!({ "code": code }))
    }

    fn bash(&self, command: &str) -> Observation {
        self.call("bash", json!({ "command": command }))
    }

    fn kill(&self) -> String {
        block_on(self.workspace.kill()).unwrap()
    }

    /// Whether a bomb runs as somebody whom the kernel limits: never as root of the machine.
    fn is_bound(&self) -> bool {
        let is_root = rustix::process::geteuid().is_root();
        let bound = if self.tier == Tier::T3 {
            self.bash("sleep 60 & disown");
            let bound = self.own_processes().into_iter().all(|pid| real_user(pid) != Some(0));
            self.kill();
            bound
        } else {
            !is_root
        };
        if !bound {
            skip(&format!("{}: it would run as root", self.tier));
        }
        bound
    }

    /// Processes of this sandbox outside: those that have its pid namespace or its directories.
    fn own_processes(&self) -> Vec<u32> {
        let spaces = spaces();
        let home = self.folder.path().join("state").into_os_string().into_encoded_bytes();
        let is_own = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            space(*pid).is_some_and(|space| spaces.contains(&space))
                || environment.windows(home.len()).any(|part| part == home)
        };
        let me = std::process::id();
        pids().into_iter().filter(|pid| *pid != me).filter(is_own).collect()
    }

    /// Checks what holds after whatever was tried.
    fn finish(self) {
        assert_eq!(self.bash("echo fine").content, "fine\n", "{}", self.tier);
        let seen = self.python("40 + 2");
        assert!(seen.content.ends_with("42\n"), "{}: {seen:?}", self.tier);
        let running = self.own_processes();
        assert_eq!(fs::read_to_string(self.outside()).unwrap(), "untouched");
        let Self { workspace, tools, folder, .. } = self;
        drop((workspace, tools));
        let deadline = Instant::now() + GRACE;
        let is_left = |pid: &u32| Path::new("/proc").join(pid.to_string()).exists();
        while running.iter().any(is_left) {
            assert!(Instant::now() < deadline, "processes are left");
            std::thread::sleep(Duration::from_millis(10));
        }
        fs::remove_dir_all(folder.path().join("ws")).unwrap();
    }
}

/// Pid namespaces below this process.
fn spaces() -> BTreeSet<PathBuf> {
    let mut below = BTreeSet::from([std::process::id()]);
    loop {
        let more: Vec<u32> = pids()
            .into_iter()
            .filter(|pid| !below.contains(pid))
            .filter(|pid| parent(*pid).is_some_and(|parent| below.contains(&parent)))
            .collect();
        if more.is_empty() {
            break;
        }
        below.extend(more);
    }
    let own = space(std::process::id());
    below.into_iter().filter_map(space).filter(|space| Some(space) != own.as_ref()).collect()
}

fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn space(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

fn real_user(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().next()?.parse().ok()
}
