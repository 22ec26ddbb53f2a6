//! `airctl explain`: the story of one incident.

use air::{Air, records::IncidentRecord};
use air_core::{
    guardrail::Guardrail,
    id::PayloadId,
    incident::{Ending, Exhibit, IncidentEvent, PlannedAction},
    port::{GuardrailStore as _, Journal as _, Spending, action_id},
    session::SessionEvent,
    step::CompletedStep,
};
use air_llm::{dollars, told_unread};
use futures::executor::block_on;
use serde::Serialize;

use crate::{
    args::Format,
    context::Context,
    error::CliError,
    exit::Exit,
    guard::Target,
    stores::Stores,
    tell::{classification_name, plain, state_name},
    time,
};

/// Tell the story of one incident
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The incident; the start of its id is enough where only one has it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Write one piece of the evidence, such as `changes.diff`, as it is where the output is no
    /// terminal; it may hold secrets
    #[arg(long, value_name = "NAME")]
    pub show: Option<String>,
    /// The workspace of the incident [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<std::path::PathBuf>,
}

/// The story, with everything resolved that the journal refers to.
#[derive(Serialize)]
struct Story {
    version: u32,
    id: String,
    state: String,
    session: String,
    /// The host beside which it goes on, where AIR does not run the tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    tier: String,
    step: u32,
    tool: String,
    /// Absent if it was erased.
    call: Option<serde_json::Value>,
    findings: Vec<Finding>,
    evidence: Vec<String>,
    exhibits: Vec<Shown>,
    timeline: Vec<Entry>,
    /// The judge of the session, and how far it could be trusted then.
    #[serde(skip_serializing_if = "Option::is_none")]
    judge: Option<String>,
    /// What models took for the step and its response.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    models: Vec<Spending>,
    guardrail: Option<Learned>,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    bytes: u64,
}

#[derive(Serialize)]
struct Finding {
    rule: String,
    severity: &'static str,
    because: String,
    judge: String,
}

#[derive(Serialize)]
struct Entry {
    at_ms: u64,
    stage: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Learned {
    id: String,
    version: u32,
    mode: &'static str,
    text: String,
}

/// Tells it.
///
/// # Errors
///
/// If there is no such incident or the store cannot be read.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    let target = Target { workspace: args.workspace.clone(), ..Target::default() };
    let stores = Stores::read(context, &target)?;
    let found = stores.incident(&args.id)?;
    let (air, record) = (stores.of(&found)?, &found.item);
    if let Some(name) = &args.show {
        return show(air, record, name, context);
    }
    let story = tell(air, record)?;
    match context.format {
        Format::Json => context.json(&story)?,
        Format::Human => write(&story, context)?,
    }
    Ok(Exit::Fine)
}

fn tell(air: &Air, record: &IncidentRecord) -> Result<Story, CliError> {
    let detection = record.incident.detection();
    let journal = air.journal();
    let step = block_on(journal.payload(&detection.step))?;
    let step = step.and_then(|json| serde_json::from_slice::<CompletedStep>(&json).ok());
    let guardrail = match record.incident.adopted() {
        Some(adopted) => {
            let history = block_on(journal.history(&adopted.id))?;
            history.into_iter().find(|version| version.version == adopted.version)
        }
        None => None,
    };
    let after = record.events.iter().skip(1).map(|(_, event)| Some(event)).chain([None]);
    let entries = record.events.iter().zip(after).filter_map(|((at, event), next)| {
        // A call that came back is told then.
        let came_back = matches!(next, Some(IncidentEvent::AgentActed { .. }));
        if matches!(event, IncidentEvent::AgentActing { .. }) && came_back {
            return None;
        }
        let (stage, mut text) = entry(event, &record.incident)?;
        if let IncidentEvent::AgentActing { step, .. } | IncidentEvent::AgentActed { step, .. } =
            event
        {
            text.push_str(&called(air, step));
        }
        if let IncidentEvent::AgentActed { undetermined, .. } = event {
            let notes = undetermined.iter().map(|note| format!("; undecided: @{}", note.rule));
            text.extend(notes);
        }
        Some(Entry { at_ms: at.0, stage, text })
    });
    let events = block_on(air::records::session_events(journal, &detection.session))?;
    let spent = events.iter().flat_map(|event| match event {
        SessionEvent::Spent { index, spent } if *index == detection.index => spent.as_slice(),
        _ => &[],
    });
    Ok(Story {
        version: 1,
        id: record.incident.id().to_string(),
        state: state_name(record.incident.state()),
        session: detection.session.to_string(),
        host: events.iter().find_map(|event| match event {
            SessionEvent::Opened { beside, .. } => beside.as_ref().map(|it| it.host.clone()),
            _ => None,
        }),
        tier: detection.tier.to_string(),
        step: detection.index,
        tool: detection.tool.clone(),
        call: step.map(|step| redacted(step.proposed.call.arguments.into())),
        findings: detection
            .findings
            .iter()
            .map(|found| Finding {
                rule: format!("@{}", found.rule),
                severity: found.severity.keyword(),
                because: found.verdict.rationale.clone(),
                judge: found.verdict.judge.clone(),
            })
            .collect(),
        evidence: detection.evidence.clone(),
        exhibits: exhibits(record)
            .map(|exhibit| Shown { name: exhibit.name.clone(), bytes: exhibit.size })
            .collect(),
        timeline: entries.collect(),
        judge: events.iter().find_map(|event| match event {
            SessionEvent::Opened { judge, .. } => judge.clone(),
            _ => None,
        }),
        models: summed(spent),
        guardrail: guardrail.map(learned),
    })
}

/// What the agent called in response, in short.
fn called(air: &Air, step: &PayloadId) -> String {
    const MOST: usize = 120;
    let Ok(Some(json)) = block_on(air.journal().payload(step)) else { return String::new() };
    let Ok(step) = serde_json::from_slice::<CompletedStep>(&json) else { return String::new() };
    let arguments = redacted(step.proposed.call.arguments.into()).to_string();
    let shown: String = arguments.chars().take(MOST).collect();
    let more = if shown.len() < arguments.len() { " …" } else { "" };
    format!(" with {shown}{more}")
}

/// What models took, by purpose, in the order in which they were first asked.
fn summed<'s>(spent: impl Iterator<Item = &'s Spending>) -> Vec<Spending> {
    let mut all: Vec<Spending> = Vec::new();
    for one in spent {
        match all.iter_mut().find(|sum| sum.purpose == one.purpose) {
            Some(sum) => {
                sum.calls += one.calls;
                sum.unread += one.unread;
                sum.input_tokens += one.input_tokens;
                sum.cached_tokens += one.cached_tokens;
                sum.output_tokens += one.output_tokens;
                sum.micro_usd = sum.micro_usd.zip(one.micro_usd).map(|(a, b)| a + b);
            }
            None => all.push(one.clone()),
        }
    }
    all
}

fn exhibits(record: &IncidentRecord) -> impl Iterator<Item = &Exhibit> {
    record.events.iter().flat_map(|(_, event)| match event {
        IncidentEvent::Preserved { exhibits } => exhibits.as_slice(),
        _ => &[],
    })
}

/// Writes one piece of evidence as it is, but to a terminal what that would not obey.
fn show(
    air: &Air,
    record: &IncidentRecord,
    name: &str,
    context: &mut Context<'_>,
) -> Result<Exit, CliError> {
    let found = exhibits(record).filter(|exhibit| exhibit.name == name).last();
    let content = match found {
        Some(exhibit) => block_on(air.journal().payload(&exhibit.content))?,
        None => None,
    };
    let Some(content) = content else {
        let there: Vec<&str> = exhibits(record).map(|exhibit| exhibit.name.as_str()).collect();
        let hint = if there.is_empty() {
            "none was kept of this incident".to_owned()
        } else {
            format!("there are {}; one that was erased cannot be shown", there.join(", "))
        };
        return Err(CliError::Usage { what: format!("no evidence `{name}`"), hint });
    };
    let out = &mut context.streams.out;
    if context.streams.terminal {
        for line in String::from_utf8_lossy(&content).lines() {
            writeln!(out, "{}", plain(line))?;
        }
    } else {
        out.write_all(&content)?;
    }
    Ok(Exit::Fine)
}

fn learned(guardrail: Guardrail) -> Learned {
    Learned {
        id: guardrail.id.to_string(),
        version: guardrail.version,
        mode: guardrail.mode.name(),
        text: guardrail.text,
    }
}

/// Arguments without secrets.
pub(crate) fn redacted(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value as Json;
    match value {
        Json::String(text) => Json::String(air_core::redact::redact(&text)),
        Json::Array(items) => Json::Array(items.into_iter().map(redacted).collect()),
        Json::Object(fields) => {
            Json::Object(fields.into_iter().map(|(name, value)| (name, redacted(value))).collect())
        }
        other => other,
    }
}

fn entry(
    event: &IncidentEvent,
    incident: &air_core::incident::Incident,
) -> Option<(&'static str, String)> {
    Some(match event {
        IncidentEvent::Detected(_) => ("detected", "the session's task was ended".to_owned()),
        IncidentEvent::AgentActing { tool, .. } => {
            ("cut off", format!("the agent's call of `{tool}` did not end"))
        }
        IncidentEvent::AgentActed { tool, undone: Some(why), .. } => {
            ("taken back", format!("the agent's call of `{tool}`: {why}"))
        }
        IncidentEvent::AgentActed { tool, refused: None, .. } => {
            ("response", format!("the agent called `{tool}`"))
        }
        IncidentEvent::AgentActed { tool, refused: Some(why), .. } => {
            ("refused", format!("the agent's call of `{tool}`: {why}"))
        }
        IncidentEvent::AgentReported { summary, confidence, .. } => {
            ("reported", format!("by the agent, with confidence {confidence:.2}: {summary}"))
        }
        IncidentEvent::OrderGiven { .. } => ("ordered", "the agent was told to respond".to_owned()),
        IncidentEvent::AgentAnswered => ("answered", "the agent has responded".to_owned()),
        IncidentEvent::ActionStarted { .. } => return None,
        IncidentEvent::Preserved { exhibits } => {
            let names: Vec<&str> = exhibits.iter().map(|exhibit| exhibit.name.as_str()).collect();
            ("evidence", format!("kept {}", names.join(", ")))
        }
        IncidentEvent::ActionFinished { action, result } => {
            let planned = &incident.detection().response;
            let keyword = keyword(incident, action, planned);
            match result {
                Ok(done) => ("action", format!("{keyword}{done}")),
                Err(why) => ("failed", format!("{keyword}{why}")),
            }
        }
        IncidentEvent::TryFailed { phase, why } => ("again", format!("{}: {why}", phase.name())),
        IncidentEvent::PhaseEnded { phase, ending, verdict, .. } => {
            let proof = verdict.as_ref().map(|verdict| format!("; proof: {}", verdict.rationale));
            let proof = proof.unwrap_or_default();
            let text = match ending {
                Ending::Done => format!("{} done{proof}", phase.name()),
                Ending::NotApplicable => format!("{} not applicable", phase.name()),
                Ending::Off => format!("{} off", phase.name()),
                Ending::Failed { why } => format!("{} failed: {why}{proof}", phase.name()),
            };
            ("phase", text)
        }
        IncidentEvent::Escalated { .. } => ("escalated", "a person is needed".to_owned()),
        IncidentEvent::Resumed { phase } => ("resumed", format!("{} again", phase.name())),
        IncidentEvent::Closed { classification } => {
            ("closed", classification_name(*classification).to_owned())
        }
        IncidentEvent::GivenUp { why } => ("given up", why.clone()),
    })
}

/// The keyword of an action in its first try, where it is told by its number.
fn keyword(
    incident: &air_core::incident::Incident,
    action: &air_core::id::ActionId,
    planned: &[PlannedAction],
) -> String {
    let numbered = (1..).zip(planned);
    let mut ours = numbered.filter(|(number, _)| action_id(incident.id(), *number) == *action);
    ours.next().map_or_else(String::new, |(_, planned)| format!("{}: ", planned.action.keyword()))
}

fn write(story: &Story, context: &mut Context<'_>) -> Result<(), CliError> {
    let bold = context.style(anstyle::Style::new().bold());
    let out = &mut context.streams.out;
    writeln!(out, "{bold}incident {}{bold:#}  {}", story.id, story.state)?;
    writeln!(out, "\n{bold}what{bold:#}")?;
    writeln!(
        out,
        "  step {} of session {}, {}: `{}` was called with",
        story.step,
        story.session,
        match &story.host {
            Some(host) => format!("beside {}", plain(host)),
            None => format!("in tier {}", story.tier),
        },
        story.tool
    )?;
    match &story.call {
        Some(serde_json::Value::Object(fields)) => {
            for (name, value) in fields {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                writeln!(out, "    {}:", plain(name))?;
                for line in text.lines() {
                    writeln!(out, "      {}", plain(line))?;
                }
            }
        }
        _ => writeln!(out, "    (erased)")?,
    }
    writeln!(out, "\n{bold}why{bold:#}")?;
    for found in &story.findings {
        writeln!(out, "  {} ({}) holds, by {}:", found.rule, found.severity, found.judge)?;
        for line in found.because.lines() {
            writeln!(out, "    {}", plain(line.trim()))?;
        }
    }
    writeln!(out, "\n{bold}evidence{bold:#}")?;
    for line in &story.evidence {
        writeln!(out, "  {}", plain(line))?;
    }
    for exhibit in &story.exhibits {
        writeln!(out, "  {} ({} bytes; `--show {0}`)", exhibit.name, exhibit.bytes)?;
    }
    writeln!(out, "\n{bold}response{bold:#}")?;
    for entry in &story.timeline {
        let at = time::local(entry.at_ms);
        writeln!(out, "  {at}  {:<9}  {}", entry.stage, one_line(&entry.text))?;
    }
    if !story.models.is_empty() || story.judge.is_some() {
        writeln!(out, "\n{bold}models{bold:#}, for this step")?;
    }
    if let Some(judge) = &story.judge {
        writeln!(out, "  judge {}", plain(judge))?;
    }
    for spent in &story.models {
        let cost = spent.micro_usd.map_or_else(|| "price unknown".to_owned(), dollars);
        writeln!(
            out,
            "  {:<12}  {} calls, {} tokens in ({} cached), {} out, {cost}{}",
            spent.purpose,
            spent.calls,
            spent.input_tokens,
            spent.cached_tokens,
            spent.output_tokens,
            told_unread(spent.unread)
        )?;
    }
    writeln!(out, "\n{bold}guardrail{bold:#}")?;
    match &story.guardrail {
        Some(learned) => {
            writeln!(out, "  {} version {}, {}:", learned.id, learned.version, learned.mode)?;
            for line in learned.text.lines() {
                writeln!(out, "    {line}")?;
            }
        }
        None => writeln!(out, "  none")?,
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}
