//! A copy of the critical guardrails in force, beside the store of all hosts: what decides while no daemon
//! can be asked. It is rule text with a digest. One that is missing, damaged or of another version decides
//! nothing, and its reader refuses.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use air_core::{
    engine::Engine,
    guardrail::Guardrail,
    id::{GuardrailId, PayloadId},
    port::{BoxFuture, Durability, GuardrailStore, Ids, Journal, JournalError, Record, Stream},
    step::{ProposedStep, ToolCall},
};
use air_facts::{CodeParser, LabelTable};
use air_runtime::{Kept, Ports, Told, ask_critical, critical, critical_engine};
use air_workspace::Unwatched;
use serde::{Deserialize, Serialize};

use crate::{Attended, Nobody, RandomIds, SystemClock, beside::OfHost};

/// Below AIR's directory for all hosts.
const FILE: &str = "critical.json";
/// Of the file. What another one wrote is not used.
const VERSION: u32 = 1;
/// A copy that is larger is none, in bytes.
const LARGEST: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
struct Copy {
    version: u32,
    /// Of `guardrails`, as JSON.
    digest: String,
    guardrails: Vec<Kept>,
}

/// Why the copy decides nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// It cannot be read.
    #[error("the copy of the critical guardrails cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is not as it was written.
    #[error("the copy of the critical guardrails is damaged")]
    Damaged,
    /// Another version of AIR wrote it.
    #[error("the copy of the critical guardrails is of version {0}, and {VERSION} is read here")]
    Version(u32),
}

/// The critical guardrails, and nothing else of AIR.
#[derive(Debug)]
pub struct Critical {
    engine: Engine,
    labels: Arc<LabelTable>,
    home: PathBuf,
}

impl Attended {
    /// Keeps a copy of the critical guardrails in force. Where that fails there is none, rather than one that
    /// is out of date.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn keep_critical(&self) -> io::Result<()> {
        let hosts = &self.air().settings.state;
        let kept = write(hosts, critical(&self.engine()));
        if kept.is_err() {
            forget_critical(hosts)?;
        }
        kept
    }
}

/// Removes the copy: somebody else than a daemon may change what is in force. Without one nothing passes.
///
/// # Errors
///
/// If it cannot be removed.
pub fn forget_critical(hosts: &Path) -> io::Result<()> {
    match fs::remove_file(hosts.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write(hosts: &Path, guardrails: Vec<Kept>) -> io::Result<()> {
    let digest = digest(&guardrails)?;
    let json = serde_json::to_vec_pretty(&Copy { version: VERSION, digest, guardrails })?;
    let path = hosts.join(FILE);
    let new = path.with_extension("new");
    let mut options = fs::OpenOptions::new();
    let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(&new)?;
    file.write_all(&json)?;
    file.sync_all()?;
    fs::rename(new, path)
}

fn digest(guardrails: &[Kept]) -> io::Result<String> {
    Ok(blake3::hash(&serde_json::to_vec(guardrails)?).to_hex().to_string())
}

impl Critical {
    /// The copy below `hosts`, AIR's directory for all hosts. `home` is the user's.
    ///
    /// # Errors
    ///
    /// If it cannot be used.
    pub fn read(hosts: &Path, home: PathBuf, labels: LabelTable) -> Result<Self, CopyError> {
        let path = hosts.join(FILE);
        if fs::metadata(&path)?.len() > LARGEST {
            return Err(CopyError::Damaged);
        }
        let json: serde_json::Value =
            serde_json::from_slice(&fs::read(&path)?).map_err(|_| CopyError::Damaged)?;
        // A later one may have another shape.
        let version = json.get("version").and_then(serde_json::Value::as_u64);
        match version.and_then(|version| u32::try_from(version).ok()) {
            Some(VERSION) => {}
            Some(other) => return Err(CopyError::Version(other)),
            None => return Err(CopyError::Damaged),
        }
        let copy: Copy = serde_json::from_value(json).map_err(|_| CopyError::Damaged)?;
        if digest(&copy.guardrails)? != copy.digest {
            return Err(CopyError::Damaged);
        }
        let engine = critical_engine(copy.guardrails, &air_lang::LangRules);
        let engine = engine.map_err(|_| CopyError::Damaged)?;
        Ok(Self { engine, labels: Arc::new(labels), home })
    }

    /// What they say of a call of `agent` that begins in `cwd`: [`Told::Go`] or [`Told::Refused`].
    pub async fn ask(&self, agent: &str, cwd: &Path, plan: String, call: ToolCall) -> Told {
        let workspace = Unwatched::new(cwd, &self.home, "no daemon can be asked");
        let nowhere = Arc::new(Nowhere);
        let ports = Ports {
            journal: Arc::<Nowhere>::clone(&nowhere),
            guardrails: nowhere,
            workspace: Arc::new(workspace),
            tools: Arc::new(OfHost),
            repairer: None,
            code: Arc::new(CodeParser::new()),
            rules: Arc::new(air_lang::LangRules),
            labels: Arc::<LabelTable>::clone(&self.labels),
            operator: Arc::new(Nobody),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            inspector: None,
            judge: None,
            background: None,
            responder: None,
            spendings: None,
            synthesizer: None,
        };
        let session = RandomIds.session();
        let step = ProposedStep { session, index: 1, plan, call };
        ask_critical(&ports, &self.engine, agent, &step).await
    }
}

/// A record that holds nothing and takes nothing.
#[derive(Debug)]
struct Nowhere;

fn nothing<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, JournalError>> {
    let error = JournalError::Unusable("nothing is on record without a daemon".to_owned());
    Box::pin(std::future::ready(Err(error)))
}

impl Journal for Nowhere {
    fn append<'a>(
        &'a self,
        _stream: &'a Stream,
        _expected: u64,
        _records: &'a [Record],
        _durability: Durability,
    ) -> BoxFuture<'a, Result<(), JournalError>> {
        nothing()
    }

    fn read<'a>(&'a self, _stream: &'a Stream) -> BoxFuture<'a, Result<Vec<Record>, JournalError>> {
        nothing()
    }

    fn streams(&self) -> BoxFuture<'_, Result<Vec<Stream>, JournalError>> {
        nothing()
    }

    fn put_payload<'a>(
        &'a self,
        _content: &'a [u8],
    ) -> BoxFuture<'a, Result<PayloadId, JournalError>> {
        nothing()
    }

    fn payload<'a>(
        &'a self,
        _id: &'a PayloadId,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, JournalError>> {
        nothing()
    }
}

impl GuardrailStore for Nowhere {
    fn current(&self) -> BoxFuture<'_, Result<Vec<Guardrail>, JournalError>> {
        nothing()
    }

    fn history<'a>(
        &'a self,
        _id: &'a GuardrailId,
    ) -> BoxFuture<'a, Result<Vec<Guardrail>, JournalError>> {
        nothing()
    }

    fn put<'a>(&'a self, _guardrail: &'a Guardrail) -> BoxFuture<'a, Result<(), JournalError>> {
        nothing()
    }
}
