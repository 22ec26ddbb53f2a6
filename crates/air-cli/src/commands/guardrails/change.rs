//! A person's decisions about a guardrail: each is a version of its own, with who and why.

use air::Air;
use air_core::{
    guardrail::{Guardrail, Mode, Provenance},
    port::{Clock as _, GuardrailStore as _, RuleReader as _},
    redact::redact,
    rule::RuleKind,
};
use futures::executor::block_on;

use super::{Action, Document, version};
use crate::{args::Format, context::Context, error::CliError, exit::Exit, guard, stores::Whose};

/// Whoever decides on the command line.
const OPERATOR: &str = "operator";

/// Adds the version that `action` asks for.
pub(super) fn run(
    air: &Air,
    whose: Whose,
    action: &Action,
    held: &Guardrail,
    context: &mut Context<'_>,
) -> Result<Exit, CliError> {
    // A version that cannot be read has its number all the same.
    let damaged = block_on(air.journal().damaged())?;
    let damaged = damaged.into_iter().find(|one| one.id == held.id);
    let last = damaged.as_ref().map_or(held.version, |one| one.version.max(held.version));
    let by = OPERATOR.to_owned();
    let decided = |mode: Mode, why: &str| {
        let provenance = Provenance::Decided { by: by.clone(), why: redact(why) };
        Guardrail { mode, provenance, ..held.clone() }
    };
    let changed = match action {
        Action::Promote { deciding, wider: false } => {
            usable(decided(Mode::Enforce, &deciding.why))?
        }
        Action::Promote { deciding, wider: true } => {
            let promoted = decided(Mode::Enforce, &deciding.why);
            let text = held.wider.clone().ok_or_else(|| CliError::Usage {
                what: format!("{} has no wider form in shadow", held.id),
                hint: "without `--wider` its own text is promoted".to_owned(),
            })?;
            usable(Guardrail { text, wider: None, tried: None, ..promoted })?
        }
        Action::Shadow(one) => usable(decided(Mode::Shadow, &one.why))?,
        Action::Retire(one) => decided(Mode::Retired, &one.why),
        Action::Rollback { deciding, to } => {
            let history = block_on(air.journal().history(&held.id))?;
            let to = to.unwrap_or_else(|| last.saturating_sub(1));
            let older = version(&history, held, to)?;
            let why = redact(&deciding.why);
            usable(Guardrail { provenance: Provenance::RolledBack { to, by, why }, ..older })?
        }
        Action::Replace { file, why, .. } => {
            let text = replacement(held, file, context)?;
            let provenance = Provenance::Edited { by, why: redact(why) };
            Guardrail { text, wider: None, tried: None, provenance, ..held.clone() }
        }
        _ => return Ok(Exit::Fine),
    };
    if damaged.is_none() && changed.text == held.text && changed.mode == held.mode {
        let (id, version, mode) = (&held.id, held.version, held.mode.name());
        writeln!(context.streams.err, "{id} is so already: version {version}, {mode}")?;
        return Ok(Exit::Fine);
    }
    let changed = Guardrail {
        version: last.saturating_add(1),
        created_at: air::SystemClock.now(),
        ..changed
    };
    block_on(air.journal().put(&changed))?;
    match context.format {
        Format::Json => context.json(&Document::of(whose, [&changed]))?,
        Format::Human => {
            let Guardrail { id, version, mode, .. } = &changed;
            let (mode, from) = (mode.name(), super::from(&changed));
            writeln!(context.streams.out, "{id} version {version}, {mode}: {from}")?;
        }
    }
    Ok(Exit::Fine)
}

/// The version, if it can be put to use.
fn usable(guardrail: Guardrail) -> Result<Guardrail, CliError> {
    let read = air_lang::LangRules.rule(&guardrail.text);
    match read {
        Ok(_) => Ok(guardrail),
        Err(_) if guardrail.mode == Mode::Retired => Ok(guardrail),
        Err(why) => Err(CliError::Usage {
            what: format!(
                "the text of {} version {} is broken: {why}",
                guardrail.id, guardrail.version
            ),
            hint: "`airctl guardrails rollback ID --to V` goes back to a version that is not"
                .to_owned(),
        }),
    }
}

/// The text of the one guardrail in a rule file; nothing of a file with an error.
fn replacement(
    held: &Guardrail,
    file: &std::path::Path,
    context: &mut Context<'_>,
) -> Result<String, CliError> {
    let mut rules = guard::load_rules(context, &[file.to_owned()])?;
    let refuse = |what: String| {
        let hint = "the file holds one guardrail, under the name that it has".to_owned();
        Err(CliError::Usage { what, hint })
    };
    let (Some(rule), true) = (rules.pop(), rules.is_empty()) else {
        return refuse(format!("`{}` does not hold exactly one rule", file.display()));
    };
    if !matches!(rule.kind, RuleKind::Guardrail { .. }) {
        return refuse(format!("@{} is an AIR rule, no guardrail", rule.name));
    }
    // The name of a text that is broken cannot be told for certain; its first line says it.
    let first = held.text.lines().next().unwrap_or_default();
    let name = first.trim().strip_prefix("rule @").unwrap_or_default();
    if !name.is_empty() && name != rule.name.as_str() {
        return refuse(format!("@{} is not @{name}", rule.name));
    }
    Ok(format!("{}\n", rule.source.trim_end()))
}
