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

/// `PYTHONPATH` inside, where the machine's `python3` is not the one that its packages are for.
pub(crate) fn python_path() -> Option<String> {
    static PATH: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let ask = "import sys; print(*sys.version_info[:2], sys.base_prefix)";
        let own = answer(Command::new("python3").args(["-I", "-c", ask]))?;
        let system = answer(Command::new("/usr/bin/python3").args(["-I", "-c", ask]))?;
        let version = |text: &str| text.split(' ').take(2).collect::<Vec<_>>().join(".");
        // Compiled modules fit their own version only.
        let fits = own != system && version(&own) == version(&system);
        (fits && Path::new(MODULES_OF_DEBIAN).is_dir()).then(|| MODULES_OF_DEBIAN.to_owned())
    };
    PATH.get_or_init(find).clone()
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
            let mut command = Command::new("python3");
            command.args(["-c", ask, name]);
            if let Some(path) = python_path() {
                command.env("PYTHONPATH", path);
            }
            command.output().is_ok_and(|output| output.status.success())
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
        let mut all = vec![sandbox(supervisor), python()];
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

fn python() -> Probe {
    let ask = "import sys; print('%d.%d' % sys.version_info[:2]); \
               sys.exit(sys.version_info < (3, 10))";
    let told = answer(Command::new("python3").args(["-I", "-c", ask]));
    Probe {
        name: "python3 from 3.10".to_owned(),
        found: told.ok_or_else(|| "not found, or older".to_owned()),
        needed: true,
        fix: "install it, on Debian: apt-get install python3".to_owned(),
    }
}
