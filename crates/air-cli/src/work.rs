//! An agent on a language model at work, told as it happens.

use std::{cell::RefCell, io::BufRead as _, sync::Arc, task::Poll};

use air::{Air, Host, Nobody, Stage, StepOutcome, Watcher};
use air_agent::{Agent, AgentError, Conversation, Ended, Style};
use air_core::{evaluation::FindingRecord, id::SessionId, session::Status, step::Arguments};
use air_llm::ModelError;
use air_wire::Delta;
use futures::{StreamExt as _, channel::mpsc, executor::block_on, future};

use crate::{
    args::Format,
    context::Context,
    error::CliError,
    model::Connected,
    tell::{End, Teller, steps},
};

/// What the agent is called in records.
const AGENT: &str = "airctl";

/// What is to be done.
#[derive(Debug)]
pub enum Task {
    /// This, and then it is over.
    Once(String),
    /// What a person types, line by line.
    Asked,
    /// What a session was at when its process ended; with a further word, if there is one.
    Again(SessionId, Option<String>),
}

/// Runs an agent until it has answered, or something ends it.
///
/// # Errors
///
/// If the model gives no answer, or AIR itself failed. The session stays open then, and can go on.
pub fn work(
    air: &Air,
    models: &Connected,
    style: Style,
    task: &Task,
    context: &mut Context<'_>,
) -> Result<End, CliError> {
    let begun = match task {
        Task::Once(text) => begin(air, text)?,
        Task::Asked => match next_line(context)? {
            Some(line) => begin(air, &line)?,
            None => return Ok(End::DONE),
        },
        Task::Again(id, word) => match again(air, id, word.as_deref(), context)? {
            Ok(begun) => begun,
            Err(end) => return Ok(end),
        },
    };
    let (mut host, minutes, mut conversation) = begun;
    let (sender, heard) = mpsc::unbounded();
    let mut agent = Agent::new(Arc::clone(&models.agent), style);
    let streams = context.format == Format::Human;
    if streams {
        agent.listener = Some(Arc::new(move |delta: &Delta| {
            if let Delta::Text(text) = delta {
                let _ = sender.unbounded_send(text.clone());
            }
        }));
    }
    let teller = RefCell::new(Teller::new(context, air));
    if !matches!(task, Task::Again(..)) {
        teller.borrow_mut().session(&host)?;
    }
    let heard = RefCell::new(heard);
    let mut minutes = Some(minutes);
    let mut refused = 0;
    let end = loop {
        let witness = Witness {
            teller: &teller,
            heard: &heard,
            tool: String::new(),
            refused: 0,
            failed: RefCell::default(),
        };
        let mut stage = Stage::new(&mut host, witness, minutes.take());
        let done = listened(agent.work(&mut conversation, &mut stage), &heard, &teller);
        said(&heard, &mut teller.borrow_mut())?;
        let Stage { watcher, minutes: kept, incident, held, .. } = stage;
        refused += watcher.refused;
        if let Some(error) = watcher.failed.into_inner() {
            // Nobody can be told, and harm is to be contained all the same.
            let _ = block_on(host.idle());
            return Err(error);
        }
        minutes = kept;
        if let Some(incident) = incident {
            break teller.borrow_mut().whole_incident(&mut host, &incident)?;
        }
        if held {
            break End::Held { step: steps(&host) };
        }
        match done {
            Ok(Ended::Answered(text)) => {
                if !streams {
                    teller.borrow_mut().answer(&text)?;
                }
                if !matches!(task, Task::Asked) {
                    break End::Done { refused };
                }
                // A person may not type for long.
                if let Some(end) = teller.borrow_mut().settled(&mut host)? {
                    break end;
                }
                let line = next_line(teller.borrow_mut().context())?;
                let Some(line) = line else { break End::Done { refused } };
                conversation.say(line);
            }
            Ok(Ended::Over(why) | Ended::Limit(why)) => break End::Limit { why },
            Err(AgentError::Model(error)) => {
                let found = teller.borrow_mut().settled(&mut host)?;
                if let Some(end) = found {
                    teller.borrow_mut().warn(&error.to_string())?;
                    break end;
                }
                teller.borrow_mut().spent(&models.ledger.spent())?;
                return Err(stopped(&error, &host));
            }
            Err(error) => return Err(lost(&error.to_string())),
        }
    };
    let mut teller = teller.into_inner();
    let end = teller.end(&mut host, end)?;
    teller.spent(&models.ledger.spent())?;
    teller.ended(&end, steps(&host))?;
    if let Some(error) = minutes.as_ref().and_then(air::Minutes::failed) {
        teller.warn(&format!("the conversation was not kept whole: {error}"))?;
    }
    Ok(end)
}

/// Waits for `work`, and shows meanwhile what the model says.
fn listened<T>(
    work: impl Future<Output = T>,
    heard: &RefCell<Heard>,
    teller: &RefCell<Teller<'_, '_>>,
) -> T {
    let mut work = std::pin::pin!(work);
    block_on(future::poll_fn(|context| {
        while let Poll::Ready(Some(text)) = heard.borrow_mut().poll_next_unpin(context) {
            // What cannot be written is noticed when the next step is told.
            let _ = teller.borrow_mut().says(&text);
        }
        work.as_mut().poll(context)
    }))
}

/// Shows what the model has said and is not shown yet.
fn said(heard: &RefCell<Heard>, teller: &mut Teller<'_, '_>) -> Result<(), CliError> {
    while let Ok(text) = heard.borrow_mut().try_recv() {
        teller.says(&text)?;
    }
    teller.said()
}

/// What the model says, piece by piece.
type Heard = mpsc::UnboundedReceiver<String>;

type Begun = (Host, air::Minutes, Conversation);

fn begin(air: &Air, task: &str) -> Result<Begun, CliError> {
    let host = block_on(air.host(task, AGENT, Arc::new(Nobody)))?;
    let mut minutes = air.minutes(host.session().id())?;
    let conversation = Conversation::begin(task);
    minutes.keep(&conversation);
    Ok((host, minutes, conversation))
}

/// Goes on with a session, or tells what has ended its task.
fn again(
    air: &Air,
    id: &SessionId,
    word: Option<&str>,
    context: &mut Context<'_>,
) -> Result<Result<Begun, End>, CliError> {
    // First, so that no other process is at work on the session any more.
    let (mut host, attention) = block_on(air.host_again(id, Arc::new(Nobody)))?;
    let (mut minutes, mut conversation) = air.minutes_again(id)?;
    let mut teller = Teller::new(context, air);
    teller.session(&host)?;
    teller.notes(steps(&host), &attention.undetermined)?;
    let over = match attention.incident {
        Some(incident) => Some(teller.whole_incident(&mut host, &incident)?),
        None => teller.settled(&mut host)?,
    };
    if let Some(end) = over {
        let end = teller.end(&mut host, end)?;
        teller.ended(&end, steps(&host))?;
        return Ok(Err(end));
    }
    if *host.session().status() != Status::Monitoring {
        return Err(CliError::Usage {
            what: format!("the task of session {id} is over"),
            hint: "begin a new one with `--task`".to_owned(),
        });
    }
    conversation.close("The process ended before this call returned. It may or may not have run.");
    let note = "Your process was interrupted, and goes on now. The interpreter has been started \
                anew; files are as you left them.";
    conversation.say(word.map_or_else(|| note.to_owned(), |word| format!("{note}\n\n{word}")));
    minutes.keep(&conversation);
    Ok(Ok((host, minutes, conversation)))
}

fn next_line(context: &mut Context<'_>) -> Result<Option<String>, CliError> {
    /// Longest line that is taken for a task.
    const MOST: u64 = 1 << 20;
    if context.streams.terminal {
        write!(context.streams.err, "> ")?;
        context.streams.err.flush()?;
    }
    let mut line = String::new();
    let mut input = std::io::BufReader::with_capacity(1, &mut *context.streams.input);
    std::io::Read::take(&mut input, MOST).read_line(&mut line)?;
    let line = line.trim();
    Ok((!line.is_empty()).then(|| line.to_owned()))
}

fn lost(why: &str) -> CliError {
    CliError::Usage {
        what: format!("the agent cannot go on: {why}"),
        hint: "`airctl resume` examines what is left, and ends the session".to_owned(),
    }
}

fn stopped(error: &ModelError, host: &Host) -> CliError {
    let id = host.session().id();
    CliError::Usage {
        what: error.to_string(),
        hint: format!(
            "the same command with `--resume {id}` in the place of `--task` goes on where it stopped; \
             `airctl resume` ends the session and hands its changes over"
        ),
    }
}

/// Tells each step while it is made.
struct Witness<'a, 't, 'w> {
    heard: &'a RefCell<Heard>,
    tool: String,
    /// Calls that were refused.
    refused: usize,
    teller: &'a RefCell<Teller<'t, 'w>>,
    failed: RefCell<Option<CliError>>,
}

impl Witness<'_, '_, '_> {
    fn note(&self, told: Result<(), CliError>) {
        if let Err(error) = told {
            self.failed.borrow_mut().get_or_insert(error);
        }
    }
}

impl Watcher for Witness<'_, '_, '_> {
    fn begins(&mut self, number: u32, plan: &str, tool: &str, arguments: &Arguments) {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        tool.clone_into(&mut self.tool);
        let mut teller = self.teller.borrow_mut();
        let told = said(self.heard, &mut teller).and_then(|()| teller.planned(number, plan, tool));
        self.note(told.and_then(|()| teller.step(number, tool, arguments)));
    }

    fn late(&mut self, number: u32, note: &FindingRecord) {
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let told = self.teller.borrow_mut().notes(number, std::slice::from_ref(note));
        self.note(told);
    }

    fn came(&mut self, number: u32, outcome: &StepOutcome) {
        let refused =
            matches!(outcome, StepOutcome::Refused { findings, .. } if !findings.is_empty());
        self.refused += usize::from(refused);
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let mut teller = self.teller.borrow_mut();
        self.note(teller.came(number, &self.tool, outcome));
    }
}
