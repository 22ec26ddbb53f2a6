//! The workspace as the core asks for it. Work runs on threads of its own.

use air_core::{
    effects::{Effects, Observed, OutputEffect},
    id::{CheckpointId, IncidentId},
    port::{BoxFuture, Evidence, Publication, Tier, Workspace, WorkspaceError},
};

use crate::{
    source,
    workspace::{Inner, LocalWorkspace, failed},
};

impl Workspace for LocalWorkspace {
    fn tier(&self) -> Tier {
        self.inner.tier
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<CheckpointId, WorkspaceError>> {
        self.off_thread(Inner::checkpoint)
    }

    fn effects<'a>(
        &'a self,
        since: &'a CheckpointId,
        mentioned: &'a [String],
    ) -> BoxFuture<'a, Result<Effects, WorkspaceError>> {
        let (since, mentioned) = (since.clone(), mentioned.to_vec());
        self.off_thread(move |inner| inner.effects(&since, &mentioned))
    }

    fn left<'a>(&'a self, by: &'a CheckpointId) -> BoxFuture<'a, Result<(), WorkspaceError>> {
        let by = by.clone();
        self.off_thread(move |inner| inner.left(&by))
    }

    fn after<'a>(
        &'a self,
        by: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<Option<CheckpointId>, WorkspaceError>> {
        let by = by.clone();
        self.off_thread(move |inner| inner.running().layers.name_after(&by).map_err(failed))
    }

    fn followed(&self, path: &str) -> Vec<String> {
        self.inner.followed(path)
    }

    fn output<'a>(
        &'a self,
        since: &'a CheckpointId,
        output: &'a str,
        mentioned: &'a [String],
    ) -> BoxFuture<'a, Option<Observed<OutputEffect>>> {
        let (since, mentioned) = (since.clone(), mentioned.to_vec());
        let output = output.to_owned();
        Box::pin(async move {
            let examined =
                self.off_thread(move |inner| inner.output(&since, &output, &mentioned)).await;
            Some(examined.unwrap_or_else(|why| Observed::partial(Vec::new(), why.to_string())))
        })
    }

    fn preserve<'a>(
        &'a self,
        since: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<Evidence, WorkspaceError>> {
        let since = since.clone();
        self.off_thread(move |inner| Ok(inner.preserve(&since)))
    }

    fn kill(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.off_thread(|inner| Ok(inner.kill()))
    }

    fn isolate(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.off_thread(|inner| inner.isolate_in(&mut inner.running()))
    }

    fn quarantine<'a>(
        &'a self,
        incident: &'a IncidentId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        let (incident, paths) = (incident.clone(), paths.to_vec());
        self.off_thread(move |inner| inner.quarantine(&incident, &paths))
    }

    fn rollback<'a>(
        &'a self,
        to: &'a CheckpointId,
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        let to = to.clone();
        self.off_thread(move |inner| inner.rollback(&to, None))
    }

    fn rollback_of<'a>(
        &'a self,
        to: &'a CheckpointId,
        paths: &'a [String],
    ) -> BoxFuture<'a, Result<String, WorkspaceError>> {
        let (to, paths) = (to.clone(), paths.to_vec());
        self.off_thread(move |inner| inner.rollback(&to, Some(&paths)))
    }

    fn absolute(&self, path: &str) -> String {
        self.inner.view.meant(path).to_string_lossy().into_owned()
    }

    fn source_file(&self, path: &str) -> Result<Vec<u8>, String> {
        let path = self.inner.view.meant(path);
        let running = self.inner.running();
        source::read(&running.layers, &path, &self.inner.view)
    }

    fn restart(&self) -> BoxFuture<'_, Result<String, WorkspaceError>> {
        self.off_thread(Inner::restart)
    }

    fn publish(&self) -> BoxFuture<'_, Result<Option<Publication>, WorkspaceError>> {
        self.off_thread(Inner::publish)
    }
}
