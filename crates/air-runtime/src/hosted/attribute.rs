//! Whose effects these are, where several calls run at once, and people work in the same directory.

use std::{borrow::Cow, path::Path};

use air_core::{
    code::{Activity, CodeFacts, Operation},
    effects::{Effects, FileEffect, Observed},
    evaluation::{Decided, Review},
    id::CheckpointId,
    outcome::{Outcome, Verdict},
    port::{Event, Stream, Workspace},
    session::{SessionEvent, Status},
    step::ProposedStep,
};

use super::{
    concurrent::{Other, Said},
    scope,
};
use crate::{
    respond,
    session::{RuntimeError, Session},
};

/// What has changed while a call ran that is not its own doing, as far as is known.
#[derive(Debug, Default)]
pub(crate) struct Foreign {
    /// What it cannot have done, going by what it says, and nobody else that is known has: a person, or
    /// something in it that is not what it seems.
    files: Vec<FileEffect>,
}

impl Session {
    /// Leaves out of `effects` what others have done while the step ran.
    pub(crate) async fn attribute(
        &self,
        (step, checkpoint, is_unasked): (&ProposedStep, &CheckpointId, bool),
        code: &CodeFacts,
        effects: &mut Effects,
    ) -> Result<Foreign, RuntimeError> {
        if self.is_passive(&step.call.tool) {
            // What has changed meanwhile, others did.
            effects.files = Observed::default();
            effects.processes = Observed::default();
            return Ok(Foreign::default());
        }
        let mut others = self.running_beside(step.index, checkpoint).await?;
        others.extend(self.taken().await?);
        others.extend(self.concurrent.beside(&self.id, &step.call.id));
        let known = self.concurrent.said(&self.id, &step.call.id);
        let Said { named, changes, reach } = known.unwrap_or_else(|| self.said(code));
        let own = [named, changes].concat();
        let (seen, unseen): (Vec<_>, Vec<_>) = others.into_iter().partition(|it| it.is_seen);
        leave_out(effects, &own, &seen);
        let reach = match reach {
            // What else has happened since the last call, anybody may have done.
            None if is_unasked => Some(own.clone()),
            reach => reach,
        };
        let is_own = |file: &FileEffect| {
            let is_others = || unseen.iter().any(|other| within(&other.paths, &file.path));
            match &reach {
                Some(reach) => within(reach, &file.path),
                None => within(&own, &file.path) || !is_others(),
            }
        };
        let all = std::mem::take(&mut effects.files.items);
        let (own, files) = all.into_iter().partition(is_own);
        effects.files.items = own;
        Ok(Foreign { files })
    }

    /// A call begins: other sessions of this process know what it names.
    pub(crate) fn begins(&self, step: &ProposedStep) {
        if !self.is_passive(&step.call.tool) {
            let said = self.said(&self.history.read(&self.ports, step));
            self.concurrent.begin(&self.id, &step.call.id, said);
        }
    }

    fn said(&self, code: &CodeFacts) -> Said {
        let (named, changes) = (self.named(code), self.changes(code));
        Said { named, changes, reach: reach(code, &*self.ports.workspace) }
    }

    /// The session goes on: what of it runs is known to others again.
    pub(crate) async fn register(&self) -> Result<(), RuntimeError> {
        for open in self.machine.open_steps().values() {
            let Some(step) = self.started(open).await? else { continue };
            // From where it began is not known any more, and so not all that it says.
            let said = Said { reach: None, ..self.said(&self.history.read(&self.ports, &step)) };
            if !self.is_passive(&step.call.tool) {
                self.concurrent.begin(&self.id, &step.call.id, said);
            }
        }
        if let Status::Responding { incident } = self.machine.status() {
            let incident = respond::load(&*self.ports.journal, incident).await?;
            let step = respond::Case::load(&self.ports, &incident).await?.step.proposed;
            let taken = self.taken().await?.into_iter().flat_map(|other| other.paths).collect();
            self.concurrent.claim(&self.id, &step.call.id, taken);
        }
        Ok(())
    }

    /// What other calls of the session answer for which still run.
    async fn running_beside(
        &self,
        index: u32,
        checkpoint: &CheckpointId,
    ) -> Result<Vec<Other>, RuntimeError> {
        let mut all = Vec::new();
        for (other, open) in self.machine.open_steps() {
            // What changes nothing by itself answers for nothing.
            if *other == index || self.is_passive(&open.tool) {
                continue;
            }
            let Some(step) = self.started(open).await? else { continue };
            let known = self.concurrent.said(&self.id, &open.call);
            let said = known.unwrap_or_else(|| self.said(&self.history.read(&self.ports, &step)));
            let paths = said.changes;
            // Nothing had changed yet when it began.
            let is_seen = *other < index || open.checkpoint == *checkpoint;
            all.push(Other { paths, is_seen });
        }
        Ok(all)
    }

    /// The paths of the session's incidents so far: another call that ran at once has not done that.
    async fn taken(&self) -> Result<Vec<Other>, RuntimeError> {
        let mut all = Vec::new();
        if *self.machine.status() == Status::Monitoring {
            return Ok(all);
        }
        let journal = &*self.ports.journal;
        for record in journal.read(&Stream::Session(self.id.clone())).await? {
            let Event::Session(SessionEvent::ResponseStarted { incident, .. }) = record.event
            else {
                continue;
            };
            let incident = respond::load(journal, &incident).await?;
            let effects = journal.payload(&incident.detection().effects).await?.unwrap_or_default();
            let effects: Effects = serde_json::from_slice(&effects).unwrap_or_default();
            let paths = effects.files.items.into_iter().map(|file| file.path).collect();
            all.push(Other { paths, is_seen: true });
        }
        Ok(all)
    }

    /// The paths that a call says that it changes, absolute. What it reads is not among them.
    fn changes(&self, code: &CodeFacts) -> Vec<String> {
        let workspace = &*self.ports.workspace;
        let changed = code.operations.iter().filter(|operation| {
            matches!(
                operation.activity,
                Activity::FileWrite
                    | Activity::FileDelete
                    | Activity::FilePermission
                    | Activity::FileOwner
            )
        });
        let paths = changed.filter_map(|operation| unexpanded(&operation.target));
        paths
            .flat_map(|path| {
                let followed = workspace.followed(&path);
                if followed.is_empty() { vec![workspace.absolute(&path)] } else { followed }
            })
            .collect()
    }

    /// The paths that a call names, absolute.
    pub(crate) fn named(&self, code: &CodeFacts) -> Vec<String> {
        code.paths.iter().map(|path| self.ports.workspace.absolute(path)).collect()
    }
}

impl Foreign {
    /// Whether there is nothing of it.
    pub(crate) fn is_none(&self) -> bool {
        self.files.is_empty()
    }

    /// All that has changed while the call ran.
    pub(crate) fn with(&self, own: &Effects) -> Effects {
        let mut all = own.clone();
        all.files.items.extend(self.files.iter().cloned());
        all
    }

    /// What would be an incident if the call had done it: that it has can neither be told nor ruled out, so
    /// a person is to look.
    pub(crate) fn doubt(&self, mut found: Decided<Review>) -> Decided<Review> {
        let shown: Vec<&str> = self.files.iter().take(4).map(|file| file.path.as_str()).collect();
        let why = format!(
            "while the call ran, this changed, which it does not name: {}; somebody else may have done it",
            shown.join(", ")
        );
        let doubted = found.hits.drain(..).map(|mut finding| {
            let outcome = Outcome::Undetermined(why.as_str().into());
            finding.verdict = Verdict { outcome, rationale: why.clone(), ..finding.verdict };
            finding
        });
        found.undetermined.extend(doubted);
        found.decision = Review::Ask;
        found
    }
}

/// Leaves only what a call of a response can have changed: what else is harm then, the incident's own
/// verification finds, or the next look at another call.
pub(crate) fn keep_own(effects: &mut Effects, code: &CodeFacts, workspace: &dyn Workspace) {
    if let Some(reach) = reach(code, workspace) {
        effects.files.items.retain(|file| within(&reach, &file.path));
    }
}

/// Leaves out of `effects` what another call answers for and this one does not name: it is examined with that
/// one. Paths are absolute.
fn leave_out(effects: &mut Effects, own: &[String], others: &[Other]) {
    effects.files.items.retain(|file| {
        within(own, &file.path) || !others.iter().any(|other| within(&other.paths, &file.path))
    });
}

fn within(paths: &[String], path: &str) -> bool {
    let path = Path::new(path);
    paths.iter().any(|named| path.starts_with(named))
}

/// All that a call can change, where it says that: it runs nothing but well-known programs that change what
/// they are told to. `None`: it may reach anything.
fn reach(code: &CodeFacts, workspace: &dyn Workspace) -> Option<Vec<String>> {
    if !code.incomplete.is_empty() || (code.language.is_none() && code.operations.is_empty()) {
        return None;
    }
    let mut reach = Vec::new();
    for Operation { activity, target, detail, .. } in &code.operations {
        match activity {
            Activity::FileRead | Activity::DirectoryList | Activity::EnvironmentRead => {}
            Activity::FileWrite
            | Activity::FileDelete
            | Activity::FilePermission
            | Activity::FileOwner => {
                let places = workspace.followed(&unexpanded(target)?);
                if places.is_empty() {
                    return None;
                }
                reach.extend(places);
            }
            Activity::ProcessLaunch if scope::does_as_told(target, detail.as_deref()) => {}
            _ => return None,
        }
    }
    // What a program is told by name it may change, as it does by what is known of it.
    for path in &code.paths {
        reach.extend(unexpanded(path).map(|path| workspace.followed(&path)).unwrap_or_default());
    }
    Some(reach)
}

/// Where a path is a pattern, the directory of what it matches.
fn unexpanded(path: &str) -> Option<Cow<'_, str>> {
    let Some(at) = path.find(['*', '?', '[', '{', '$', '`']) else { return Some(path.into()) };
    let (before, _) = path.split_at_checked(at)?;
    Some(
        before.rsplit_once('/').map_or(".".into(), |(directory, _)| format!("{directory}/").into()),
    )
}

#[cfg(test)]
mod tests {
    use air_core::effects::Change;

    use super::*;

    fn effects(paths: &[&str]) -> Effects {
        let file = |path: &&str| FileEffect {
            path: (*path).to_owned(),
            change: Change::Created,
            size: 1,
            mode: 0o644,
            origin: None,
            origin_unknown: None,
            moved: None,
            aspects: Vec::new(),
            marks: Vec::new(),
            reversible: true,
        };
        let files = Observed::whole(paths.iter().map(file).collect());
        Effects { files, ..Effects::default() }
    }

    fn left(of: &[&str], own: &[&str], running: &[&[&str]]) -> Vec<String> {
        let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        let running: Vec<Other> =
            running.iter().map(|paths| Other { paths: owned(paths), is_seen: true }).collect();
        let mut effects = effects(of);
        let own: Vec<String> = owned(own);
        leave_out(&mut effects, &own, &running);
        effects.files.items.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn what_a_running_call_names_is_its_own() {
        assert_eq!(left(&["/r/a", "/r/b"], &["/r/a"], &[&["/r/b"]]), ["/r/a"]);
        assert_eq!(left(&["/r/d/x"], &["/r/a"], &[&["/r/d"]]), Vec::<String>::new());
    }

    #[test]
    fn what_nobody_or_both_name_stays() {
        assert_eq!(left(&["/r/c"], &["/r/a"], &[&["/r/b"]]), ["/r/c"]);
        assert_eq!(left(&["/r/a"], &["/r/a"], &[&["/r/a"]]), ["/r/a"]);
        assert_eq!(left(&["/r/b"], &["/r/a"], &[]), ["/r/b"]);
    }

    #[test]
    fn a_pattern_reaches_all_of_its_directory() {
        let cases =
            [("a/*.txt", "a/"), ("*.txt", "."), ("a/b", "a/b"), ("a/{b,c}/d", "a/"), ("/*", "/")];
        for (path, wanted) in cases {
            assert_eq!(unexpanded(path).as_deref(), Some(wanted), "{path}");
        }
    }
}
