//! `airctl guardrails`: what was learned from incidents, and a person's decisions about it.

mod change;
mod export;

use air::Air;
use air_core::{
    guardrail::{Guardrail, Provenance},
    port::GuardrailStore as _,
};
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    args::Format,
    context::Context,
    daemon::Daemon,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    stores::{self, In, Stores, Whose},
    tell::plain,
    time,
};

/// Show what was learned from incidents, and decide about it
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// What to do; without it, the list
    #[command(subcommand)]
    pub action: Option<Action>,
    /// The workspace whose guardrails are meant [default: the current directory]
    #[arg(long, value_name = "DIR", global = true)]
    pub workspace: Option<std::path::PathBuf>,
}

/// One guardrail.
#[derive(Debug, Clone, clap::Args)]
pub struct One {
    /// The guardrail; the start of its id is enough where only one has it
    #[arg(value_name = "ID")]
    pub id: String,
}

/// A decision about one guardrail.
#[derive(Debug, Clone, clap::Args)]
pub struct Deciding {
    /// The guardrail.
    #[command(flatten)]
    pub one: One,
    /// Why, for whoever reads its history
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub why: String,
}

/// What to do with the guardrails.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum Action {
    /// List them
    List,
    /// Show one as rule text, with what it was learned from
    Show(One),
    /// List the versions of one
    History(One),
    /// Show what two versions of one differ in
    Diff {
        /// The guardrail.
        #[command(flatten)]
        one: One,
        /// The older version [default: the one before the newer]
        #[arg(value_name = "V1", requires = "newer")]
        older: Option<u32>,
        /// The newer version [default: the last]
        #[arg(value_name = "V2")]
        newer: Option<u32>,
    },
    /// Let one act from now on
    Promote {
        /// The decision.
        #[command(flatten)]
        deciding: Deciding,
        /// Its wider form, which is in shadow, in place of its text
        #[arg(long)]
        wider: bool,
    },
    /// Let one watch and not act from now on
    Shadow(Deciding),
    /// Take one out of use; it is kept for the record
    Retire(Deciding),
    /// Go back to an earlier version: its text and whether it acts
    Rollback {
        /// The decision.
        #[command(flatten)]
        deciding: Deciding,
        /// That version [default: the one before the last]
        #[arg(long, value_name = "V")]
        to: Option<u32>,
    },
    /// Put another text in place of one; it is checked first
    Replace {
        /// The guardrail.
        #[command(flatten)]
        one: One,
        /// A rule file with the guardrail in it, under its name
        #[arg(value_name = "FILE")]
        file: std::path::PathBuf,
        /// Why, for whoever reads its history
        #[arg(long, value_name = "TEXT", default_value = "")]
        why: String,
    },
    /// Write them for another policy engine; what cannot be said there exactly is left out and named
    Export {
        /// Which; without ids, all that are not retired
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        /// In which language
        #[arg(long, value_enum, value_name = "LANGUAGE")]
        to: export::Language,
    },
}

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    guardrails: Vec<Listed<'d>>,
}

#[derive(Serialize)]
struct Listed<'d> {
    #[serde(flatten)]
    guardrail: &'d Guardrail,
    store: Whose,
}

impl<'d> Document<'d> {
    fn of(whose: Whose, guardrails: impl IntoIterator<Item = &'d Guardrail>) -> Self {
        let listed = |guardrail| Listed { guardrail, store: whose };
        Self { version: 1, guardrails: guardrails.into_iter().map(listed).collect() }
    }
}

/// Shows, decides or exports.
///
/// # Errors
///
/// If there is no such guardrail, it does not admit what was asked, or the store fails.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let target = Target { workspace: args.workspace.clone(), ..Target::default() };
    let stores = Stores::read(context, &target)?;
    let current = stores.each(|air| block_on(air.journal().current()))?;
    let current = || {
        let all = current.iter();
        all.map(|one| In { store: one.store, whose: one.whose, item: one.item.clone() })
    };
    let pick = |id: &str| {
        guard::by_prefix(current().collect(), |found| found.item.id.as_str(), id, "guardrail")
    };
    match &args.action {
        None | Some(Action::List) => {
            for store in &stores.all {
                guard::tell_faults(&store.air, context)?;
            }
            list(&current().collect::<Vec<_>>(), context)
        }
        Some(Action::Show(One { id })) => {
            let found = pick(id)?;
            texts(found.whose, &[found.item], context)
        }
        Some(Action::History(One { id })) => {
            let found = pick(id)?;
            let history = block_on(stores.of(&found)?.journal().history(&found.item.id))?;
            texts(found.whose, &history, context)
        }
        Some(Action::Diff { one, older, newer }) => {
            let found = pick(&one.id)?;
            let (older, newer) = two(stores.of(&found)?, &found.item, *older, *newer)?;
            diff(found.whose, &older, &newer, context)
        }
        Some(Action::Export { ids, to }) => {
            let chosen = if ids.is_empty() {
                let in_use = |held: &&Guardrail| held.mode != air_core::guardrail::Mode::Retired;
                current().map(|found| found.item).filter(|held| in_use(&held)).collect()
            } else {
                let chosen = ids.iter().map(|id| Ok::<_, CliError>(pick(id)?.item));
                chosen.collect::<Result<Vec<_>, _>>()?
            };
            export::run(*to, &chosen, context)
        }
        Some(action) => {
            let id = match action {
                Action::Shadow(one) | Action::Retire(one) => &one.one.id,
                Action::Promote { deciding, .. } | Action::Rollback { deciding, .. } => {
                    &deciding.one.id
                }
                Action::Replace { one, .. } => &one.id,
                _ => return Ok(Exit::Fine),
            };
            stores::person(context)?;
            let In { whose, item: held, .. } = pick(id)?;
            drop(stores);
            let air = match whose {
                Whose::Workspace => guard::open_without_rules(context, &target)?,
                Whose::Hosts => stores::open_hosts(context)?,
            };
            let done = change::run(&air, whose, action, &held, context)?;
            let daemon = Daemon::of(context)?;
            if whose == Whose::Hosts && daemon.runs() {
                // It decides by what it has read.
                let _: bool = daemon.post("/v1/reload", &serde_json::json!({}))?;
            } else if whose == Whose::Hosts {
                // The next daemon makes it anew.
                let hosts = daemon.hosts();
                air::forget_critical(&hosts).map_err(CliError::file("change", hosts))?;
            }
            Ok(done)
        }
    }
}

/// The two versions that are to be compared.
fn two(
    air: &Air,
    held: &Guardrail,
    older: Option<u32>,
    newer: Option<u32>,
) -> Result<(Guardrail, Guardrail), CliError> {
    let history = block_on(air.journal().history(&held.id))?;
    let newer = newer.unwrap_or(held.version);
    let older = older.unwrap_or_else(|| newer.saturating_sub(1));
    Ok((version(&history, held, older)?, version(&history, held, newer)?))
}

/// One version.
pub(super) fn version(
    history: &[Guardrail],
    held: &Guardrail,
    wanted: u32,
) -> Result<Guardrail, CliError> {
    let found = history.iter().find(|one| one.version == wanted);
    found.cloned().ok_or_else(|| {
        let there: Vec<String> = history.iter().map(|one| one.version.to_string()).collect();
        CliError::Usage {
            what: format!("guardrail {} has no version {wanted} that can be read", held.id),
            hint: format!("it has {}", there.join(", ")),
        }
    })
}

fn diff(
    whose: Whose,
    older: &Guardrail,
    newer: &Guardrail,
    context: &mut Context<'_>,
) -> Result<Exit, CliError> {
    if context.format == Format::Json {
        context.json(&Document::of(whose, [older, newer]))?;
        return Ok(Exit::Fine);
    }
    let mut options = diffy::DiffOptions::new();
    let header =
        |one: &Guardrail| format!("{} version {}, {}", one.id, one.version, one.mode.name());
    options.set_original_filename(header(older)).set_modified_filename(header(newer));
    let patch = options.create_patch(&older.text, &newer.text);
    for line in patch.to_string().lines() {
        writeln!(context.streams.out, "{}", plain(line))?;
    }
    Ok(Exit::Fine)
}

fn list(current: &[In<Guardrail>], context: &mut Context<'_>) -> Result<Exit, CliError> {
    if context.format == Format::Json {
        let listed =
            current.iter().map(|In { whose, item, .. }| Listed { guardrail: item, store: *whose });
        let guardrails = listed.collect();
        context.json(&Document { version: 1, guardrails })?;
        return Ok(Exit::Fine);
    }
    if current.is_empty() {
        writeln!(context.streams.err, "no guardrails have been learned in this workspace")?;
    }
    for In { whose, item: guardrail, .. } in current {
        let Guardrail { id, version, mode, created_at, .. } = guardrail;
        let (at, mode, from) = (time::local(created_at.0), mode.name(), from(guardrail));
        let name = plain(guardrail.text.lines().next().unwrap_or_default());
        let beside =
            if *whose == Whose::Hosts { "  (for all agents in their own hosts)" } else { "" };
        writeln!(context.streams.out, "{id}  v{version}  {mode:<7}  {at}  {from}  {name}{beside}")?;
    }
    Ok(Exit::Fine)
}

fn texts(whose: Whose, shown: &[Guardrail], context: &mut Context<'_>) -> Result<Exit, CliError> {
    if context.format == Format::Json {
        context.json(&Document::of(whose, shown))?;
        return Ok(Exit::Fine);
    }
    for guardrail in shown {
        let Guardrail { id, version, mode, created_at, .. } = guardrail;
        let (at, mode, from) = (time::local(created_at.0), mode.name(), from(guardrail));
        let out = &mut context.streams.out;
        writeln!(out, "# {id} version {version}, {mode}, {from}, {at}")?;
        for line in guardrail.text.trim_end().lines() {
            writeln!(out, "{}", plain(line))?;
        }
        if let Some(tried) = guardrail.tried {
            let (benign, most) = (tried.benign, 100.0 * tried.false_positive_bound());
            writeln!(
                out,
                "# holds on none of {benign} benign steps: on at most {most:.1} % of such, with 95 % confidence"
            )?;
        }
        if let Some(wider) = &guardrail.wider {
            writeln!(out, "# in shadow, a wider form; `promote {id} --wider` lets it act")?;
            for line in wider.trim_end().lines() {
                writeln!(out, "# {}", plain(line))?;
            }
        }
    }
    Ok(Exit::Fine)
}

/// Where a version came from.
fn from(guardrail: &Guardrail) -> String {
    let because = |why: &str| if why.is_empty() { String::new() } else { format!(" ({why})") };
    plain(&match &guardrail.provenance {
        Provenance::Authored { by } => format!("written by {by}"),
        Provenance::Synthesized { incident, by } => {
            // What became of a draft stands behind the compiler's name.
            let draft = by.find([',', ';']).and_then(|at| by.get(at..)).unwrap_or_default();
            format!("from incident {incident}{draft}")
        }
        Provenance::Refined { replaces, .. } => format!("refines version {replaces}"),
        Provenance::Decided { by, why } => {
            format!("{} by {by}{}", guardrail.mode.decided(), because(why))
        }
        Provenance::Edited { by, why } => format!("edited by {by}{}", because(why)),
        Provenance::RolledBack { to, by, why } => {
            format!("back to version {to} by {by}{}", because(why))
        }
        Provenance::Dismissed { incident } => format!("incident {incident} was none"),
    })
}
