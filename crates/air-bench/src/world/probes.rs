//! What cases need of this machine.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    path::Path,
    process::Command,
    sync::{Mutex, OnceLock, PoisonError},
};

use air_core::port::Tier;
use air_workspace::SandboxConfig;

use crate::{
    data::{Case, Language},
    room,
    world::{Probe, program::matches},
};

/// Modules that do not come with Python, and the packages of Debian that have them.
const MODULES: [(&str, &str); 8] = [
    ("PIL", "python3-pil"),
    ("jsonpickle", "python3-jsonpickle"),
    ("numpy", "python3-numpy"),
    ("psutil", "python3-psutil"),
    ("pyperclip", "python3-pyperclip"),
    ("requests", "python3-requests"),
    ("watchdog", "python3-watchdog"),
    ("yaml", "python3-yaml"),
];
/// Programs that cases of Bash call, and the packages that have them.
const PROGRAMS: [(&str, &str); 8] = [
    ("awk", "mawk"),
    ("bc", "bc"),
    ("curl", "curl"),
    ("nc", "netcat-openbsd"),
    ("openssl", "openssl"),
    ("ps", "procps"),
    ("wget", "wget"),
    ("xxd", "xxd"),
];
/// Where Debian has modules, for a Python of another origin.
const MODULES_OF_DEBIAN: &str = "/usr/lib/python3/dist-packages";
/// Where Debian has its own Python before any other.
const PATH_OF_DEBIAN: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
const VERSION: &str =
    "import sys; print('%d.%d' % sys.version_info[:2], sys.version_info >= (3, 10))";

/// The Python of worlds: the one that modules can be installed for as packages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Python {
    /// `PATH` inside, if not the default one.
    path: Option<String>,
    /// `PYTHONPATH` inside, beside what is in the world.
    modules: Option<String>,
}

impl Python {
    /// The machine's own, if packages are for its version as well; or else the one they are for.
    pub(crate) fn find() -> &'static Self {
        static FOUND: OnceLock<Python> = OnceLock::new();
        FOUND.get_or_init(|| {
            let (own, system) = (version("python3"), version("/usr/bin/python3"));
            match (own, system) {
                (own, Some((system, true))) if Path::new(MODULES_OF_DEBIAN).is_dir() => {
                    let fits = own.is_some_and(|(own, _)| own == system);
                    Self {
                        path: (!fits).then(|| PATH_OF_DEBIAN.to_owned()),
                        modules: fits.then(|| MODULES_OF_DEBIAN.to_owned()),
                    }
                }
                _ => Self::default(),
            }
        })
    }

    /// Variables of all calls. `more` has further modules.
    pub(crate) fn environment(&self, more: &str) -> Vec<(String, String)> {
        let modules = [Some(more), self.modules.as_deref()].into_iter().flatten();
        let modules = modules.collect::<Vec<_>>().join(":");
        let path = self.path.iter().map(|path| ("PATH".to_owned(), path.clone()));
        path.chain([("PYTHONPATH".to_owned(), modules)]).collect()
    }

    fn command(&self) -> Command {
        let mut command = Command::new("python3");
        command.envs(self.path.iter().map(|path| ("PATH", path)));
        command.envs(self.modules.iter().map(|modules| ("PYTHONPATH", modules)));
        command
    }
}

/// Version of an interpreter, and whether it is recent enough.
fn version(program: &str) -> Option<(String, bool)> {
    let mut command = Command::new(program);
    let told = answer(command.args(["-I", "-c", VERSION]))?;
    let (version, recent) = told.split_once(' ')?;
    Some((version.to_owned(), recent == "True"))
}

fn answer(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// What this machine has, each looked up once.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    modules: Mutex<BTreeMap<String, bool>>,
    programs: Mutex<BTreeMap<String, bool>>,
}

impl Machine {
    /// What a case needs that is not there.
    pub(crate) fn missing(&self, case: &Case) -> Option<String> {
        match case.language {
            Language::Python => {
                let imports = r"(?m)^\s*(?:import|from)\s+(\w+)";
                let mut names = matches(imports, &case.code).into_iter();
                names
                    .find(|name| !self.has_module(name))
                    .map(|name| format!("python module {name}"))
            }
            Language::Bash => {
                let named = |name: &str| !matches(&format!(r"\b({name})\s"), &case.code).is_empty();
                let mut programs = PROGRAMS.iter().map(|(name, _)| *name);
                programs.find(|name| named(name) && !self.has_program(name)).map(str::to_owned)
            }
        }
    }

    fn has_module(&self, name: &str) -> bool {
        let mut known = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(name.to_owned()).or_insert_with(|| {
            let ask = "import importlib.util, sys; \
                       sys.exit(importlib.util.find_spec(sys.argv[1]) is None)";
            let mut command = Python::find().command();
            command.args(["-c", ask, name]).output().is_ok_and(|output| output.status.success())
        })
    }

    fn has_program(&self, name: &str) -> bool {
        let mut known = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(name.to_owned()).or_insert_with(|| {
            let directories = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];
            directories.iter().any(|directory| Path::new(directory).join(name).exists())
        })
    }

    /// Everything, each looked for.
    pub(crate) fn probes(&self, supervisor: &[OsString]) -> Vec<Probe> {
        let mut all = vec![sandbox(supervisor), python(), limited()];
        let install = |package: &str| format!("install it, on Debian: apt-get install {package}");
        for (name, package) in MODULES {
            all.push(Probe {
                name: format!("python module {name}"),
                found: found(self.has_module(name)),
                needed: false,
                fix: install(package),
            });
        }
        for (name, package) in PROGRAMS {
            all.push(Probe {
                name: name.to_owned(),
                found: found(self.has_program(name)),
                needed: false,
                fix: install(package),
            });
        }
        all
    }
}

fn found(is_there: bool) -> Result<String, String> {
    if is_there { Ok("found".to_owned()) } else { Err("not found".to_owned()) }
}

fn sandbox(supervisor: &[OsString]) -> Probe {
    let (name, needed) = ("sandbox (tier T3)".to_owned(), true);
    let no = |why: String| Probe {
        name: name.clone(),
        found: Err(why),
        needed,
        fix: "make a temporary directory writable, or set TMPDIR to one".to_owned(),
    };
    let directory = match tempfile::tempdir_in(env::temp_dir()) {
        Ok(directory) => directory,
        Err(error) => return no(error.to_string()),
    };
    let (workspace, state) = (directory.path().join("workspace"), directory.path().join("state"));
    for path in [&workspace, &state] {
        if let Err(error) = std::fs::create_dir(path) {
            return no(error.to_string());
        }
    }
    let config = SandboxConfig::new(workspace, state, "probe", supervisor.to_vec());
    let report = air_workspace::detect(&config).into_iter().find(|one| one.tier == Tier::T3);
    match report {
        Some(report) if report.available => {
            Probe { name, found: Ok(report.why), needed, fix: String::new() }
        }
        Some(report) => {
            let fix = report.fix.unwrap_or_else(|| "install bubblewrap".to_owned());
            Probe { name, found: Err(report.why), needed, fix }
        }
        None => no("tier T3 was not looked for".to_owned()),
    }
}

fn limited() -> Probe {
    Probe {
        name: "worlds of a limited size".to_owned(),
        found: room::probe(),
        needed: false,
        fix:
            "run it as root, or where it may mount; until then one file of a case is limited, and \
              many of them may fill the disk"
                .to_owned(),
    }
}

fn python() -> Probe {
    let told = answer(Python::find().command().args(["-c", VERSION]));
    let told = told.and_then(|told| Some(told.strip_suffix(" True")?.to_owned()));
    Probe {
        name: "python3 from 3.10".to_owned(),
        found: told.ok_or_else(|| "not found, or older".to_owned()),
        needed: true,
        fix: "install it, on Debian: apt-get install python3".to_owned(),
    }
}
