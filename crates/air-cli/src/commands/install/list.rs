//! `airctl install --list`: the hosts on this machine, and where AIR's hooks are.

use serde::Serialize;

use super::Place;
use crate::{
    args::Format,
    context::Context,
    error::CliError,
    exit::Exit,
    hosts::report::{Report, reports},
    tell::plain,
    time,
};

#[derive(Serialize)]
struct Document {
    version: u32,
    hosts: Vec<Report>,
}

/// Lists them.
pub(super) fn run(place: &Place, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let project = place.directory(&context.cwd)?;
    let document = Document { version: 1, hosts: reports(context, &project, false)? };
    match context.format {
        Format::Json => context.json(&document)?,
        Format::Human => {
            for report in &document.hosts {
                show(report, context)?;
            }
        }
    }
    Ok(Exit::Fine)
}

/// One host, for a person.
pub(crate) fn show(report: &Report, context: &mut Context<'_>) -> Result<(), CliError> {
    let out = &mut context.streams.out;
    let told = match (&report.program, &report.version) {
        (None, _) => "not found".to_owned(),
        (Some(_), None) => "of unknown version".to_owned(),
        (Some(_), Some(version)) if report.tested => plain(version),
        (Some(_), Some(version)) => format!("{}, which AIR was not tested with", plain(version)),
    };
    writeln!(out, "{:<12} {told}", report.host.name())?;
    for place in &report.installed {
        let changed = if place.unchanged { "" } else { " (changed since)" };
        writeln!(out, "             installed in {}{changed}", place.file.display())?;
        let away = match place.away {
            Some("closed") => "no call runs (closed)",
            Some("critical") => "its critical guardrails alone decide (critical)",
            Some("open") => "every call runs (open)",
            _ => continue,
        };
        writeln!(out, "             while AIR is away: {away}")?;
    }
    for fault in &report.faults {
        writeln!(out, "             broken: {}", plain(fault))?;
    }
    if let Some(canary) = &report.canary {
        match &canary.fault {
            None => writeln!(
                out,
                "             live: a call that AIR refuses was refused, and another one let pass"
            )?,
            Some(why) => writeln!(out, "             not live: {}", plain(why))?,
        }
        match report.heard.as_ref().and_then(|beat| Some((beat, beat.points.values().max()?))) {
            Some((beat, last)) => {
                let version = beat.version.as_deref().unwrap_or("of unknown version");
                let at = time::local(*last);
                writeln!(out, "             heard of ({}) at {at}", plain(version))?;
            }
            None => writeln!(
                out,
                "             not heard of since the daemon began: that it runs its hooks is \
                 proved once it has been used"
            )?,
        }
    }
    for other in &report.others {
        writeln!(out, "             beside it: {}", plain(other))?;
    }
    Ok(())
}
