//! The law of the workspace, on random sequences of file operations in real sandboxes: what is
//! observed is what happened, and the way back leads to what was, bit for bit.
//!
//! Each run takes the same cases. `AIR_LAW_SEED` names others, `random` for ones of chance; a failure
//! prints the seed, with the smallest case found.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::format_push_string,
    reason = "a helper that fails is a test that fails"
)]

mod deeds;
mod rollback;
mod seen;
mod undo;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use air_core::{
    id::{CallId, CheckpointId},
    port::{Tier, ToolBox, Workspace},
    step::ToolCall,
};
use air_workspace::{LocalWorkspace, Overlay, SandboxConfig, Tools, detect};
use futures::executor::block_on;
use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngSeed, TestRunner},
};
use serde_json::Value;

use crate::{
    deeds::{Deed, Round, code},
    seen::{Seen, inside},
};

/// How tools work on the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Layered,
    Direct,
    Landlock,
}

impl Way {
    fn tier(self) -> Tier {
        if self == Self::Landlock { Tier::T2 } else { Tier::T3 }
    }
}

/// A workspace with things in it, and its tools.
struct Bench {
    way: Way,
    config: SandboxConfig,
    workspace: LocalWorkspace,
    tools: Tools,
    folder: tempfile::TempDir,
}

/// What a call saw before and after what it did, and how it calls the roots.
struct Played {
    before: Seen,
    after: Seen,
    roots: BTreeMap<String, String>,
}

fn config(folder: &Path, way: Way) -> SandboxConfig {
    let built = || OsString::from(env!("CARGO_BIN_EXE_air-supervise"));
    let supervisor = vec![std::env::var_os("AIR_SUPERVISE").unwrap_or_else(built)];
    let mut config = SandboxConfig::new(folder.join("ws"), folder.join("state"), "s1", supervisor);
    config.minimum = Some(way.tier());
    config.maximum = Some(way.tier());
    config.limits.timeout = Duration::from_secs(30);
    config.overlay = (way == Way::Layered).then(|| Overlay::of(&config.session_dir));
    config
}

/// Whether this machine has what the way needs; otherwise says why not.
fn is_there(way: Way) -> bool {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("ws")).unwrap();
    let (config, tier) = (config(folder.path(), way), way.tier());
    for layer in config.overlay.iter().flat_map(|overlay| [&overlay.upper, &overlay.work]) {
        fs::create_dir_all(layer).unwrap();
    }
    let report = detect(&config).into_iter().find(|report| report.tier == tier).unwrap();
    if !report.available {
        let required = std::env::var("AIR_REQUIRE_TIER").unwrap_or_default();
        assert!(tier.to_string() > required, "{tier} is required: {}", report.why);
        #[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
        {
            eprintln!("skipped: {way:?}: {} (fix: {:?})", report.why, report.fix);
        }
    }
    report.available
}

impl Bench {
    fn new(way: Way) -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        furnish(&folder.path().join("ws"));
        let config = config(folder.path(), way);
        let workspace = LocalWorkspace::open(config.clone()).unwrap();
        assert_eq!(workspace.is_layered(), way == Way::Layered);
        Self { way, config, tools: Tools::new(workspace.clone()), workspace, folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    /// Where the agent's changes are.
    fn raw(&self) -> PathBuf {
        self.config.overlay.as_ref().map_or_else(|| self.root(), |overlay| overlay.upper.clone())
    }

    fn play(&self, deeds: &[Deed], opens: bool) -> Played {
        let arguments = BTreeMap::from([("code".to_owned(), Value::from(code(deeds, opens)))]);
        let arguments = arguments.into_iter().collect();
        let call = ToolCall {
            id: CallId::from("c"),
            tool: "python_repl".to_owned(),
            arguments,
            native: None,
        };
        let seen = block_on(self.tools.call(&call)).unwrap();
        assert_eq!(seen.error, None, "{}", seen.content);
        let line = seen.content.lines().last().unwrap_or_default();
        let shown: Value = serde_json::from_str(line).unwrap_or_else(|error| {
            panic!("{error}: {}", seen.content);
        });
        let roots = serde_json::from_value(shown["roots"].clone()).unwrap();
        Played { before: inside(&shown["before"]), after: inside(&shown["after"]), roots }
    }

    fn checkpoint(&self) -> CheckpointId {
        block_on(self.workspace.checkpoint()).unwrap()
    }
}

/// The user's files at the start.
fn furnish(root: &Path) {
    fs::create_dir_all(root.join("k/s")).unwrap();
    fs::create_dir(root.join("d")).unwrap();
    for (name, mode) in [("a", 0o644), ("k/1", 0o600), ("k/s/deep", 0o755), ("d/b", 0o444)] {
        fs::write(root.join(name), format!("the user's {name}\n").repeat(300)).unwrap();
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::hard_link(root.join("k/1"), root.join("k/2")).unwrap();
    symlink("k/1", root.join("b")).unwrap();
    // On file systems without such attributes there are none to lose.
    let _ =
        rustix::fs::setxattr(root.join("a"), "user.m1", b"user", rustix::fs::XattrFlags::empty());
    // What is as old as this is not taken to change at the moment.
    let old = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(root.join("a")).unwrap().set_modified(old).unwrap();
}

/// Whether AIR itself may look into what the agent closes.
fn sees_all() -> bool {
    rustix::process::geteuid().is_root()
}

/// Checks `law` of `cases` random cases.
fn check<S: Strategy<Value = Vec<Round>>>(
    ways: &[(Way, u32)],
    strategy: &S,
    law: impl Fn(Way, &[Round]) -> Result<(), String>,
) {
    let seed: u64 = match std::env::var("AIR_LAW_SEED").as_deref() {
        Ok("random") => SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into(),
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => 1,
    };
    for (way, cases) in ways {
        if !is_there(*way) {
            continue;
        }
        let config = Config {
            cases: *cases,
            failure_persistence: None,
            max_shrink_iters: 100,
            max_shrink_time: 60_000,
            rng_seed: RngSeed::Fixed(seed),
            ..Config::default()
        };
        let found = TestRunner::new(config).run(strategy, |rounds| {
            law(*way, &rounds).map_err(proptest::test_runner::TestCaseError::fail)
        });
        if let Err(error) = found {
            panic!("AIR_LAW_SEED={seed}: {way:?}: {error}");
        }
    }
}
