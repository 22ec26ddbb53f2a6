//! What can be told of a host without starting it: whether it would run AIR's hooks. That it does run
//! them, only a sign of life from it proves.

use std::{
    path::{Path, PathBuf},
    thread::{self, JoinHandle},
};

use air_hooks::{
    Away,
    settings::{Hooks, Link, State, trust},
};
use air_server::Beat;
use serde::Serialize;

use super::{
    Host, Scope,
    canary::{self, Canary},
    codex,
    file::SettingsFile,
    ledger::{Added, Ledger, Record},
    program,
};
use crate::{commands::install::installed_away, context::Context, daemon::Daemon, error::CliError};

/// One host.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Which.
    pub host: Host,
    /// Where it is.
    pub program: Option<PathBuf>,
    /// What it says its version is.
    pub version: Option<String>,
    /// Whether AIR was tested with this version.
    pub tested: bool,
    /// Where AIR's hooks were put.
    pub installed: Vec<Installed>,
    /// Why it would not run them.
    pub faults: Vec<String>,
    /// Whether its hooks lead to AIR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<Canary>,
    /// What the daemon has heard of it since it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<Beat>,
    /// Hooks of others on the same events, whose answers it merges with AIR's.
    pub others: Vec<String>,
}

/// A file that AIR's hooks were put into.
#[derive(Debug, Serialize)]
pub struct Installed {
    /// For whom.
    pub scope: Scope,
    /// The file.
    pub file: PathBuf,
    /// Nobody has changed it since.
    pub unchanged: bool,
    /// What becomes of a call while AIR is away; none where AIR's hooks are not in it.
    pub away: Option<&'static str>,
}

/// All hosts. What keeps hooks from running is looked for only where `faults` is set.
///
/// # Errors
///
/// If AIR's own records cannot be read.
pub fn reports(
    context: &Context<'_>,
    project: &Path,
    faults: bool,
) -> Result<Vec<Report>, CliError> {
    let records = Ledger::records(context.config.state_dir()?)?;
    let path = context.environment.path.as_deref();
    // They start slowly, and each on its own.
    let asked = Host::ALL.map(|host| {
        let found = program::find(host, path);
        let asked = found.clone().map(|found| thread::spawn(move || program::version(&found)));
        (host, found, asked)
    });
    let look = Look { context, project };
    let reports = asked.into_iter().map(|(host, program, asked)| {
        let records = records.iter().filter(|record| record.host == host);
        let records: Vec<_> = records.filter(|record| record.trusts.is_none()).collect();
        let version = asked.and_then(|asked: JoinHandle<_>| asked.join().ok().flatten());
        let tested = air_hooks::adapter(host.name())
            .zip(version.as_deref())
            .is_some_and(|(adapter, version)| adapter.tested().contains(&version));
        let mut report = Report {
            host,
            program,
            version,
            tested,
            installed: Vec::new(),
            faults: Vec::new(),
            canary: None,
            heard: None,
            others: Vec::new(),
        };
        for record in records {
            let text = SettingsFile::read(&record.file).ok().and_then(|file| file.text);
            report.installed.push(Installed {
                scope: record.scope,
                file: record.file.clone(),
                unchanged: text.as_ref() == Some(&record.after),
                away: text.as_ref().and_then(|text| Some(away(record, text)?.name())),
            });
            if faults {
                look.at(record, text.as_deref(), &mut report);
            }
        }
        if faults && !report.installed.is_empty() {
            look.around(&mut report);
        }
        report
    });
    Ok(reports.collect())
}

fn away(record: &Record, text: &str) -> Option<Away> {
    let program = match &record.added {
        Added::Hooks(receipt) => receipt.program.as_str(),
        Added::Whole | Added::Trust(_) => "air-hook",
    };
    installed_away(record.host, program, text)
}

struct Look<'a, 'w> {
    context: &'a Context<'w>,
    project: &'a Path,
}

impl Look<'_, '_> {
    /// At one file.
    fn at(&self, record: &Record, text: Option<&str>, report: &mut Report) {
        let file = record.file.display();
        let again = format!("`airctl install {}{}`", record.host.name(), record.scope.flag());
        let Some(text) = text else {
            report.faults.push(format!("`{file}` is gone or cannot be read: {again} puts it back"));
            return;
        };
        let Added::Hooks(receipt) = &record.added else {
            let asked = Daemon::of(self.context).map(|daemon| {
                canary::by_plugin(record.host, self.project, |payload| {
                    let path = format!("/hook/{}", record.host.name());
                    daemon.post(&path, payload).map_err(|error| {
                        let hint = error.hint().unwrap_or_default();
                        format!("{error}; {hint}")
                    })
                })
            });
            report.canary = asked.ok();
            if text != record.after {
                report.faults.push(format!("`{file}` is not as AIR wrote it: {again} tells more"));
            }
            return;
        };
        if let Err(error) = program::shim(Some(Path::new(&receipt.program)), Path::new("/")) {
            report.faults.push(format!("{error}, and `{file}` runs it: {again} names another one"));
        }
        let away = away(record, text).unwrap_or_default();
        let link = Link::Command { program: &receipt.program, away };
        let Some(hooks) = Hooks::new(record.host.name(), &link) else { return };
        let line = hooks.line(text, record.host.before_a_call());
        if let Ok(Some(line)) = line.map(|line| line.filter(|line| !line.starts_with("http"))) {
            let canary = canary::by_command(record.host, &line, self.project);
            if report.canary.as_ref().is_none_or(|known| known.fault.is_none()) {
                report.canary = Some(canary);
            }
        }
        match hooks.state(text) {
            Err(error) => report.faults.push(format!("`{file}` is broken: {error}")),
            Ok(State::Absent) => {
                report.faults.push(format!("AIR's hooks are no longer in `{file}`: {again}"));
            }
            Ok(State::Older) if text != record.after => {
                report
                    .faults
                    .push(format!("some of AIR's hooks in `{file}` were changed: {again}"));
            }
            Ok(State::Older | State::Current) => {}
        }
        if let Some(error) = hooks.unread(text) {
            let host = record.host.name();
            report.faults.push(format!("{host} does not read `{file}`: {error}"));
        }
        if record.host == Host::Codex {
            self.codex(record, &receipt.program, report);
        }
    }

    /// At what the host reads beside that, of the user and of the project.
    fn around(&self, report: &mut Report) {
        let host = report.host;
        let link = Link::Command { program: "air-hook", away: Away::Closed };
        let Some(hooks) = Hooks::new(host.name(), &link) else { return };
        for scope in [Scope::User, Scope::Project, Scope::Local] {
            let Ok(path) = host.file(scope, &self.context.environment, self.project) else {
                continue;
            };
            let Ok(Some(text)) = SettingsFile::read(&path).map(|file| file.text) else { continue };
            let file = path.display();
            if let Ok(Some(why)) = hooks.switched_off(&text) {
                report.faults.push(format!("`{file}` switches hooks off: {why}"));
            }
            for other in hooks.others(&text).unwrap_or_default() {
                report.others.push(format!("{} in `{file}`: {}", other.event, other.runs));
            }
        }
    }

    fn codex(&self, record: &Record, shim: &str, report: &mut Report) {
        let Ok(home) = Host::Codex.home(&self.context.environment) else { return };
        let config = home.join("config.toml");
        let text = SettingsFile::read(&config).ok().and_then(|file| file.text);
        if text.is_some_and(|text| trust::switched_off(&text).unwrap_or(false)) {
            let file = config.display();
            report.faults.push(format!("`{file}` switches hooks off: `features.hooks` is false"));
        }
        let Some(program) = &report.program else { return };
        match codex::hooks(program, &home, self.project, &record.file, shim) {
            Err(error) => report.faults.push(error.to_string()),
            Ok(found) => {
                let untrusted = found.iter().filter(|(_, trusted)| !trusted).count();
                if untrusted > 0 || found.is_empty() && record.scope == Scope::User {
                    report.faults.push(format!(
                        "codex sees {} of AIR's hooks and passes over {untrusted}, which it does not \
                         trust: trust them in codex with `/hooks`, or `airctl install codex --trust`",
                        found.len(),
                    ));
                }
            }
        }
    }
}
