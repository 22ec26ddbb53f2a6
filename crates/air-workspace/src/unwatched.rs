//! A place that cannot be watched: nothing that happens there is known, and nothing can be put back.

use std::{
    future::ready,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

use air_core::{
    effects::{Effects, Observed},
    id::{CheckpointId, IncidentId},
    port::{BoxFuture, Evidence, Tier, Workspace, WorkspaceError},
};

use crate::origin::absolute;

/// The largest source that is read to know what a call runs, in bytes.
const SOURCE_BYTES: u64 = 1 << 20;

/// A directory without a watch, such as a whole home.
#[derive(Debug)]
pub struct Unwatched {
    why: String,
    home: PathBuf,
    cwd: RwLock<PathBuf>,
}

impl Unwatched {
    /// Calls begin in `cwd`; `why` it is not watched.
    pub fn new(cwd: &Path, home: &Path, why: impl Into<String>) -> Self {
        let cwd = RwLock::new(cwd.to_path_buf());
        Self { why: why.into(), home: home.to_path_buf(), cwd }
    }

    /// The next calls begin there.
    pub fn enter(&self, directory: &Path) {
        *self.cwd.write().unwrap_or_else(PoisonError::into_inner) = directory.to_path_buf();
    }

    fn cannot<T>(&self, what: &str) -> BoxFuture<'_, Result<T, WorkspaceError>>
    where
        T: Send + 'static,
    {
        let why = format!("{what}: {}", self.why);
        Box::pin(ready(Err(WorkspaceError::Incomplete(why))))
    }
}

impl Workspace for Unwatched {
    fn tier(&self) -> Tier {
        Tier::T1
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<CheckpointId, WorkspaceError>> {
        Box::pin(ready(Ok("unwatched".into())))
    }

    fn effects<'a>(
        &'a self,
        _since: &'a CheckpointId,
        _mentioned: &'a [String],
    ) -> BoxFuture<'a, Result<Effects, WorkspaceError>> {
        let why = &self.why;
        Box::pin(ready(Ok(Effects {
            files: Observed::partial(Vec::new(), why),
            reads: Observed::partial(Vec::new(), why),
            processes: Observed::partial(Vec::new(), why),
            connections: Observed::partial(Vec::new(), why),
            services: Observed::partial(Vec::new(), why),
            output: Observed::partial(Vec::new(), why),
        })))
    }

    fn preserve<'a>(
        &'a self,
        _since: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<Evidence, WorkspaceError>> {
        let summary = format!("no evidence of files: {}", self.why);
        Box::pin(ready(Ok(Evidence { summary, exhibits: Vec::new() })))
    }

    fn kill(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        Box::pin(ready(Ok("no process is AIR's".to_owned())))
    }

    fn isolate(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.cannot("the network cannot be cut")
    }

    fn quarantine<'a>(
        &'a self,
        _incident: &'a IncidentId,
        _paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        self.cannot("nothing can be moved")
    }

    fn absolute(&self, path: &str) -> String {
        let cwd = self.cwd.read().unwrap_or_else(PoisonError::into_inner);
        absolute(&cwd, &self.home, path).to_string_lossy().into_owned()
    }

    fn source_file(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = self.absolute(path);
        let meta = std::fs::metadata(&path).map_err(|error| error.to_string())?;
        if !meta.is_file() || meta.len() > SOURCE_BYTES {
            return Err("it is no file, or too large".to_owned());
        }
        std::fs::read(&path).map_err(|error| error.to_string())
    }

    fn rollback<'a>(
        &'a self,
        _to: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        self.cannot("nothing can be put back")
    }
}
