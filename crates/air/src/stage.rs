//! An agent at work on a host: each of its steps is guarded, and what it says is kept, so that the task
//! can go on in another process.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
};

use air_agent::{Acted, Conversation, Environment, Heard};
use air_core::{
    evaluation::FindingRecord,
    incident::Incident,
    port::{ToolBox as _, ToolInfo},
    step::Arguments,
};
use air_wire::Message;
use serde::{Deserialize, Serialize};

use crate::host::{Host, StepOutcome};

const HELD: &str = "the session is held until a person has looked at it";

/// Hears what becomes of an agent's steps.
pub trait Watcher {
    /// A step is about to be examined.
    fn begins(&mut self, _number: u32, _plan: &str, _tool: &str, _arguments: &Arguments) {}

    /// A rule that could not be decided on an earlier step, of that number.
    fn late(&mut self, _number: u32, _note: &FindingRecord) {}

    /// What became of it.
    fn came(&mut self, _number: u32, _outcome: &StepOutcome) {}
}

/// A host as an agent's environment.
#[derive(Debug)]
pub struct Stage<'a, W> {
    /// The host.
    pub host: &'a mut Host,
    /// Hears the steps.
    pub watcher: W,
    /// Where what is said is kept.
    pub minutes: Option<Minutes>,
    /// The incident that ended the task, as far as it was worked on by then.
    pub incident: Option<Box<Incident>>,
    /// Whether a person must look first.
    pub held: bool,
}

impl<'a, W: Watcher> Stage<'a, W> {
    /// On this host.
    pub fn new(host: &'a mut Host, watcher: W, minutes: Option<Minutes>) -> Self {
        Self { host, watcher, minutes, incident: None, held: false }
    }

    /// Tells what could not be decided on earlier steps.
    fn late(&mut self) {
        for (number, note) in self.host.late() {
            self.watcher.late(number, &note);
        }
    }
}

impl<W: Watcher> Environment for Stage<'_, W> {
    fn tools(&self) -> Vec<ToolInfo> {
        self.host.tools().all()
    }

    async fn act(&mut self, plan: &str, tool: &str, arguments: Arguments) -> Result<Acted, String> {
        let number = self.host.session().next_index();
        self.watcher.begins(number, plan, tool, &arguments);
        let outcome = self.host.step(plan, tool, arguments).await;
        let outcome = outcome.map_err(|error| error.to_string())?;
        self.late();
        self.watcher.came(number, &outcome);
        Ok(match outcome {
            StepOutcome::Ran { observation, .. } => Acted::Seen(observation),
            StepOutcome::Held { .. } => {
                self.held = true;
                Acted::Over(HELD.to_owned())
            }
            StepOutcome::Refused { findings, message } if findings.is_empty() => {
                self.held = self.host.session().held();
                Acted::Over(message)
            }
            StepOutcome::Refused { message, .. } => Acted::Refused(message),
            StepOutcome::Overtaken { incident } | StepOutcome::Incident { incident, .. } => {
                let over = format!("incident {}", incident.id());
                self.incident = Some(incident);
                Acted::Over(over)
            }
        })
    }

    async fn news(&mut self) {
        self.host.verdict().await;
    }

    async fn take_up(&mut self) -> Result<Option<String>, String> {
        let incident = self.host.take_up().await.map_err(|error| error.to_string())?;
        self.late();
        if let Some(incident) = incident {
            let over = format!("incident {}", incident.id());
            self.incident = Some(incident);
            return Ok(Some(over));
        }
        self.held = self.host.session().held();
        Ok(self.held.then(|| HELD.to_owned()))
    }

    fn heard(&mut self, what: Heard<'_>) {
        let Heard::Turn(conversation) = what;
        if let Some(minutes) = &mut self.minutes {
            minutes.keep(conversation);
        }
    }
}

/// Version of the file that a conversation is kept in.
const VERSION: u32 = 1;
const FORMAT: &str = "air-conversation";

#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    version: u32,
}

/// What is said in a session, kept as one JSON object a line. Secrets may stand in it, so that only its
/// owner can read it; it goes when the session is forgotten.
#[derive(Debug)]
pub struct Minutes {
    path: PathBuf,
    file: File,
    kept: usize,
    failed: Option<io::Error>,
}

impl Minutes {
    /// Begins the file of a session whose directory this is.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or there is one.
    pub(crate) fn begin(directory: &Path) -> io::Result<Self> {
        let path = path(directory);
        let mut options = OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.append(true).create_new(true).open(&path)?;
        let head = Head { format: FORMAT.to_owned(), version: VERSION };
        writeln!(file, "{}", serde_json::to_string(&head)?)?;
        Ok(Self { path, file, kept: 0, failed: None })
    }

    /// Opens the file of a session, and what was said so far. A line that was being written when the
    /// process ended is left out.
    ///
    /// # Errors
    ///
    /// If it is not there, or cannot be read.
    pub(crate) fn go_on(directory: &Path) -> io::Result<(Self, Conversation)> {
        let path = path(directory);
        let broken = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let text = BufReader::new(File::open(&path)?);
        let mut lines = text.split(b'\n');
        let head = lines.next().transpose()?.unwrap_or_default();
        let head: Head = serde_json::from_slice(&head)
            .map_err(|_| broken(format!("{} keeps no conversation", path.display())))?;
        if head.format != FORMAT || head.version != VERSION {
            let version = head.version;
            return Err(broken(format!("{} has version {version}", path.display())));
        }
        let mut conversation = Conversation::default();
        for line in lines {
            let line = line?;
            match serde_json::from_slice::<Message>(&line) {
                Ok(message) => conversation.messages.push(message),
                Err(_) => break,
            }
        }
        // What follows a broken line is written anew: the file is exactly what was understood.
        let whole = path.with_extension("new");
        drop(std::fs::remove_file(&whole));
        let mut options = OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.append(true).create_new(true).open(&whole)?;
        writeln!(file, "{}", serde_json::to_string(&head)?)?;
        for message in &conversation.messages {
            writeln!(file, "{}", serde_json::to_string(message)?)?;
        }
        std::fs::rename(&whole, &path)?;
        let kept = conversation.messages.len();
        Ok((Self { path, file, kept, failed: None }, conversation))
    }

    /// Keeps what is new.
    pub fn keep(&mut self, conversation: &Conversation) {
        for message in conversation.messages.iter().skip(self.kept) {
            let line = serde_json::to_string(message).map_err(io::Error::from);
            let written = line.and_then(|line| writeln!(self.file, "{line}"));
            if let Err(error) = written {
                self.failed.get_or_insert(error);
            }
        }
        self.kept = self.kept.max(conversation.messages.len());
    }

    /// Where it is kept.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What kept something from being kept.
    pub fn failed(&self) -> Option<&io::Error> {
        self.failed.as_ref()
    }
}

fn path(directory: &Path) -> PathBuf {
    directory.join("conversation.jsonl")
}
