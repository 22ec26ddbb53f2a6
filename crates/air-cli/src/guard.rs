//! From settings and flags to a guarded workspace.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use air::{Air, Minds, Settings, Shape};
use air_core::rule::Rule;
use air_lang::Parsed;
use futures::executor::block_on;

use crate::{config::JudgeMode, context::Context, error::CliError, rule_files, tell::plain};

/// What a command says about the workspace.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// The agent's directory; the current one where it is not named.
    pub workspace: Option<PathBuf>,
    /// Rule files in place of the configured ones.
    pub rules: Vec<PathBuf>,
    /// Whether a tier that contains nothing will do.
    pub unsandboxed: bool,
    /// Learn nothing, whatever the settings say.
    pub no_learn: bool,
    /// Let tools work on the workspace itself, whatever the settings say.
    pub direct: bool,
    /// The models that take part.
    pub minds: Minds,
    /// When verdicts are waited for, in place of what the settings say.
    pub judge_mode: Option<JudgeMode>,
}

/// Settings for the workspace, with no rules loaded.
///
/// # Errors
///
/// If there is no such directory, or no place for state.
pub fn settings(context: &Context<'_>, target: &Target) -> Result<Settings, CliError> {
    let named = target.workspace.as_deref().unwrap_or(Path::new("."));
    let workspace = context.cwd.join(named);
    let workspace = workspace.canonicalize().map_err(CliError::file("open workspace", named))?;
    if !workspace.is_dir() {
        return Err(CliError::Usage {
            what: format!("workspace `{}` is no directory", named.display()),
            hint: "name the directory that the agent works in".to_owned(),
        });
    }
    let program = env::current_exe().map_err(CliError::file("find", "airctl"))?;
    let supervisor = vec![program.into(), "__supervise".into()];
    let config = &context.config;
    let mut settings = Settings::new(&workspace, config.state_dir()?, supervisor);
    settings.policy = config.policy;
    settings.unsandboxed = target.unsandboxed;
    settings.models = config.models.models(target.judge_mode);
    settings.minds = target.minds.clone();
    settings.learn = config.learn && !target.no_learn;
    settings.layered = config.layered && !target.direct;
    if config.system {
        settings.shape = Shape::System;
    }
    settings.environment.clone_from(&config.environment);
    settings.services.clone_from(&config.services);
    let limits = &mut settings.limits;
    let kib = |value: std::num::NonZeroU32| u64::from(value.get()) << 10;
    let mib = |value: std::num::NonZeroU32| u64::from(value.get()) << 20;
    if let Some(seconds) = config.limits.timeout_s {
        limits.timeout = Duration::from_secs(seconds.get().into());
    }
    if let Some(output) = config.limits.output_kib {
        limits.output_bytes = kib(output);
    }
    if let Some(memory) = config.limits.memory_mib {
        limits.memory_bytes = mib(memory);
    }
    if let Some(processes) = config.limits.processes {
        limits.processes = processes.get();
    }
    if let Some(file) = config.limits.file_mib {
        limits.file_bytes = mib(file);
    }
    if let Some(store) = config.limits.store_mib {
        limits.store_bytes = mib(store);
    }
    Ok(settings)
}

/// A guarded workspace with its rules loaded.
///
/// # Errors
///
/// If the rules cannot be loaded whole, or the store cannot be opened.
pub fn open(context: &mut Context<'_>, target: &Target) -> Result<Air, CliError> {
    let mut settings = settings(context, target)?;
    // Where no agent runs, as where a person looks at what is kept from their home, it may be.
    if settings.state.starts_with(&settings.workspace) {
        return Err(CliError::Usage {
            what: "the state directory lies in the workspace, within the agent's reach".to_owned(),
            hint: "name another one with `--state`, or work in a directory below".to_owned(),
        });
    }
    let paths =
        if target.rules.is_empty() { context.config.rules.clone() } else { target.rules.clone() };
    if paths.is_empty() {
        return Err(CliError::Usage {
            what: "no rules: nothing would be detected".to_owned(),
            hint: "name rule files with `--rules`, or run `airctl init`".to_owned(),
        });
    }
    settings.rules = load_rules(context, &paths)?;
    if settings.rules.is_empty() {
        return Err(CliError::Usage {
            what: "the rule files hold no rule: nothing would be detected".to_owned(),
            hint: "`airctl check` says what is in them; `airctl init` writes rules to start from"
                .to_owned(),
        });
    }
    Ok(Air::open(settings, context.config.label_table()?)?)
}

/// As [`open`], for a session that goes on: where no step is open, no rule is needed, and where one
/// is, the session says which.
///
/// # Errors
///
/// As those of [`open`].
pub fn open_to_resume(context: &mut Context<'_>, target: &Target) -> Result<Air, CliError> {
    if target.rules.is_empty() && context.config.rules.is_empty() {
        return open_without_rules(context, target);
    }
    open(context, target)
}

/// The store of the workspace, to work on it without running an agent.
///
/// # Errors
///
/// If it cannot be opened.
pub fn open_without_rules(context: &Context<'_>, target: &Target) -> Result<Air, CliError> {
    let settings = settings(context, target)?;
    Ok(Air::open(settings, context.config.label_table()?)?)
}

/// The store of the workspace, to read it.
///
/// # Errors
///
/// If there is none or it cannot be opened.
pub fn open_read_only(context: &Context<'_>, target: &Target) -> Result<Option<Air>, CliError> {
    let settings = settings(context, target)?;
    if !settings.state.exists() {
        return Ok(None);
    }
    Ok(Some(Air::open_read_only(settings, context.config.label_table()?)?))
}

/// Says on standard error which guardrails cannot be used, and what is in force in their place.
///
/// # Errors
///
/// If the store cannot be read.
pub fn tell_faults(air: &Air, context: &mut Context<'_>) -> Result<(), CliError> {
    for fault in block_on(air.guardrail_faults())? {
        let id = fault.id.as_str();
        writeln!(context.streams.err, "warning: {}", plain(&fault.to_string()))?;
        writeln!(
            context.streams.err,
            "hint: `airctl guardrails rollback {id}` or `replace {id} FILE` mends it, `retire {id}` \
             ends it"
        )?;
    }
    Ok(())
}

/// All rules of the files, or none: a set with an error is never loaded in part.
///
/// # Errors
///
/// If a file cannot be read or has an error; the errors have been written then.
pub fn load_rules(context: &mut Context<'_>, paths: &[PathBuf]) -> Result<Vec<Rule>, CliError> {
    let mut files: Vec<(String, Parsed)> = Vec::new();
    for path in rule_files::find_all(&context.cwd, paths)? {
        let bytes = fs::read(context.cwd.join(&path)).map_err(CliError::file("read", &path))?;
        files.push((path.display().to_string(), air_lang::parse_bytes(&bytes)));
    }
    air_lang::rule_set(&files).map_err(|set| {
        for (at, error) in &set.errors {
            if let Some((name, parsed)) = files.get(*at) {
                let text = parsed.text();
                let color = context.streams.color;
                let shown = air_lang::render(std::slice::from_ref(error), name, &text, color);
                // The error that follows says it in short, if this cannot be written.
                let _ = context.streams.err.write_all(shown.as_bytes());
            }
        }
        CliError::Usage {
            what: format!("{set}: no rule was loaded"),
            hint: "`airctl check` shows all findings".to_owned(),
        }
    })
}

/// The one item whose id starts with `prefix`.
///
/// # Errors
///
/// If there is none, or more than one.
pub fn by_prefix<T>(
    items: Vec<T>,
    id: impl Fn(&T) -> &str,
    prefix: &str,
    noun: &str,
) -> Result<T, CliError> {
    let mut found: Vec<T> = items.into_iter().filter(|item| id(item).starts_with(prefix)).collect();
    if let Some(exact) = found.iter().position(|item| id(item) == prefix) {
        return Ok(found.swap_remove(exact));
    }
    match (found.pop(), found.is_empty()) {
        (Some(item), true) => Ok(item),
        (None, _) => Err(CliError::Usage {
            what: format!("no {noun} `{prefix}` in the store of this workspace"),
            hint: if noun == "session" {
                "`--workspace` names another workspace".to_owned()
            } else {
                format!("`airctl {noun}s` lists them; `--workspace` names another workspace")
            },
        }),
        (Some(_), false) => Err(CliError::Usage {
            what: format!("more than one {noun} starts with `{prefix}`"),
            hint: "give more of its id".to_owned(),
        }),
    }
}
