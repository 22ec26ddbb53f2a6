//! All sessions of all hosts: who asks is brought together with the session it is about.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use air::{AirError, Asking, Attended, Joined, Told, tree_of};
use air_core::{
    id::{CallId, SessionId},
    session::{Beside, Status as Standing},
};
use air_protocol::{Answer, Capability, Event, InputFrom, Point, Status, VERSION};
use tokio::{
    sync::{Notify, RwLock, RwLockReadGuard},
    task::JoinSet,
    time::timeout,
};

use crate::{
    Options,
    agents::Agents,
    beat::{Beats, now},
    call::{call, observation, plan},
    canary,
    line::Line,
    question::{directory, failed, is_sub_agent, key, missing, nothing},
    slot::{Key, Slot, Work},
    told::{answer, reach},
};

/// How long before a host gives up it is answered.
const MARGIN: Duration = Duration::from_millis(500);

/// All sessions of all hosts.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) options: Options,
    pub(crate) attended: Attended,
    pub(crate) agents: Agents,
    pub(crate) beats: Beats,
    pub(crate) stop: Arc<Notify>,
    pub(crate) since: Instant,
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    /// The last session on record of each host's.
    known: Mutex<HashMap<Key, SessionId>>,
    /// Of the rules in force.
    generation: AtomicU64,
    minted: AtomicU64,
    /// Held by whoever works on a session; all of it by whoever makes room.
    pub(crate) work: RwLock<()>,
    tasks: Mutex<JoinSet<()>>,
}

/// Who asks, and how long it waits.
#[derive(Debug)]
pub(crate) struct Asker {
    pub(crate) who: Who,
    /// How long the host waits for an answer.
    pub(crate) patience: Option<Duration>,
}

/// How the process of a host is known.
#[derive(Debug)]
pub(crate) enum Who {
    /// It has started this shim.
    Shim(u32),
    /// It is at the other end of this connection.
    Host(Line),
    /// It, or a program of its, is at the other end of this connection.
    Program(Line),
    /// It is not.
    Nobody,
}

impl Room {
    pub(crate) async fn open(
        options: Options,
        attended: Attended,
        stop: Arc<Notify>,
    ) -> Result<Arc<Self>, AirError> {
        let all = attended.all().await?;
        let room = Arc::new(Self {
            agents: Agents::read(&options.state),
            options,
            attended,
            beats: Beats::default(),
            stop,
            since: Instant::now(),
            slots: Mutex::default(),
            known: Mutex::default(),
            generation: AtomicU64::new(1),
            minted: AtomicU64::new(0),
            work: RwLock::default(),
            tasks: Mutex::default(),
        });
        room.keep_critical();
        for known in all {
            let key = Key { host: known.beside.host, session: known.beside.session };
            room.known().insert(key.clone(), known.id);
            // What an ended daemon left undone; what runs may have ended, or lost its host.
            if known.is_open || matches!(known.status, Standing::Responding { .. }) {
                room.rest(&key);
            }
        }
        Ok(room)
    }

    /// Answers one question. What cannot be decided is refused where that keeps something from
    /// happening.
    pub(crate) async fn ask(self: &Arc<Self>, event: Event, asker: Asker) -> Answer {
        let begun = Instant::now();
        if event.v != VERSION {
            let why =
                format!("AIR speaks version {VERSION} of air-hook, and was asked in {}", event.v);
            return failed(&event, &why);
        }
        if let Some(what) = missing(&event) {
            return failed(
                &event,
                &format!("AIR could not decide: the question does not say {what}"),
            );
        }
        if let Some(answer) = canary::answer(&event) {
            return answer;
        }
        self.beats.heard(&event);
        let room = Arc::clone(self);
        let asked = event.clone();
        let Asker { who, patience } = asker;
        // A host that goes away does not leave a question half answered.
        let answered = tokio::spawn(async move { room.answer(asked, patience).await });
        let (answered, ()) = tokio::join!(answered, self.agents.meet(key(&event), who));
        let mut answer = match answered {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => failed(&event, &format!("AIR could not decide: {error}")),
            Err(_) => failed(&event, "AIR could not decide: it failed by itself"),
        };
        answer.latency_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        answer
    }

    async fn answer(
        self: Arc<Self>,
        event: Event,
        patience: Option<Duration>,
    ) -> Result<Answer, AirError> {
        let key = key(&event);
        let is_known = self.known().contains_key(&key);
        match event.point {
            // A sign of life begins nothing.
            Point::SessionStart | Point::Notice | Point::AgentStart | Point::SessionEnd
                if !is_known && !self.slots().contains_key(&key) =>
            {
                return Ok(Answer::allow(event.id));
            }
            Point::Notice => return Ok(Answer::allow(event.id)),
            // A sub-agent with a session of its own has ended, and not the one it works for.
            Point::SessionEnd if event.session.parent.is_some() => {
                return Ok(Answer::allow(event.id));
            }
            _ => {}
        }
        let slot = self.slot(&key);
        slot.touch();
        let until = Instant::now() + self.patience(patience);
        loop {
            let at_work = self.at_work().await;
            let mut work = slot.work.lock().await;
            if let Some(answer) = work.answered(&event) {
                return Ok(answer.clone());
            }
            let mut notified = Box::pin(slot.answered.notified());
            notified.as_mut().enable();
            work.begin();
            let told = self.told(&mut work, &key, &event).await?;
            work.is_torn = false;
            let left = until.saturating_duration_since(Instant::now());
            if let Told::Waiting(waiting) = &told
                && !left.is_zero()
            {
                drop((work, at_work));
                let open = Duration::from_millis(waiting.until.0.saturating_sub(now()));
                let decided = timeout(left.min(open), notified).await;
                if decided.is_ok() || waiting.until.0 > now() {
                    continue;
                }
                self.rest(&key);
                let why = format!("AIR: nobody has decided in time: {}", waiting.question);
                return Ok(Answer::deny(event.id, why));
            }
            let waits = matches!(told, Told::Waiting(_));
            let answer = answer(&event, told);
            let status = work.joined.as_ref().map(|joined| joined.hosted.status().clone());
            // What was right before an incident is not right after it.
            if status != Some(Standing::Monitoring) {
                work.forget();
            }
            if !waits {
                work.keep(&event, &answer);
            }
            let responding = matches!(status, Some(Standing::Responding { .. }));
            drop(work);
            if responding {
                self.rest(&key);
            }
            return Ok(answer);
        }
    }

    /// How long a question waits for a person.
    fn patience(&self, host: Option<Duration>) -> Duration {
        let host = host.map_or(Duration::ZERO, |all| all.saturating_sub(MARGIN));
        host.min(self.options.approval_wait)
    }

    async fn told(&self, work: &mut Work, key: &Key, event: &Event) -> Result<Told, AirError> {
        if matches!(event.point, Point::SessionStart | Point::Input | Point::PreToolCall) {
            work.ending = None;
        }
        let joined = self.joined(work, key, event).await?;
        joined.enter(directory(event));
        let hosted = &mut joined.hosted;
        hosted.reach(reach(event));
        let told = match event.point {
            Point::Input => match &event.input {
                Some(input) if input.from == InputFrom::User => hosted.input(&input.text).await,
                _ => hosted.stand().await,
            },
            Point::PreToolCall => {
                let Some(tool) = &event.tool else { return Ok(nothing()) };
                let mut call = call(tool);
                if call.id.as_str().is_empty() {
                    call.id = self.mint();
                }
                let asking = if event.host.caps.contains(&Capability::Ask) {
                    Asking::Host
                } else {
                    Asking::Journal { timeout: self.options.approval_timeout }
                };
                hosted.before(call, plan(event), asking).await
            }
            Point::PostToolCall => {
                let Some(tool) = &event.tool else { return Ok(nothing()) };
                let mut call = call(tool);
                if call.id.as_str().is_empty() {
                    let known = hosted.same(&call).await.map_err(AirError::from)?;
                    call.id = known.unwrap_or_else(|| self.mint());
                }
                match &event.result {
                    Some(result) if result.status == Status::Background => {
                        let id = result.background_id.clone();
                        let id = id.unwrap_or_else(|| call.id.to_string());
                        hosted.goes_on(&call.id, id).await
                    }
                    Some(result) if result.status == Status::Denied => {
                        hosted.refused(call, observation(result)).await
                    }
                    Some(result) => hosted.after(call, plan(event), observation(result)).await,
                    None => hosted.stand().await,
                }
            }
            Point::BackgroundEnd => {
                let result = event.result.as_ref();
                let id = result.and_then(|result| result.background_id.clone());
                let seen = result.map(observation).unwrap_or_default();
                hosted.ended(&id.unwrap_or_default(), seen).await
            }
            // What it did is examined with its calls, and those of others still run.
            Point::Idle if is_sub_agent(event) => hosted.steps_back().await,
            Point::Idle => {
                let background = event.idle.as_ref().map(|idle| idle.background.clone());
                hosted.idle(&background.unwrap_or_default()).await
            }
            Point::SessionEnd if !hosted.machine().open_steps().is_empty() => {
                // It may still run, and tell of itself.
                let told = hosted.look().await;
                work.ending = Some(Instant::now());
                told
            }
            Point::SessionEnd => {
                hosted.end().await.map_err(AirError::from)?;
                work.joined = None;
                return Ok(nothing());
            }
            Point::SessionStart
            | Point::AgentStart
            | Point::Approval
            | Point::PostModelCall
            | Point::Notice => hosted.stand().await,
        };
        told.map_err(AirError::from)
    }

    /// The session, from memory, from the journal, or a new one.
    async fn joined<'a>(
        &self,
        work: &'a mut Work,
        key: &Key,
        event: &Event,
    ) -> Result<&'a mut Joined, AirError> {
        self.wake(work, key).await?;
        let generation = self.generation.load(Ordering::Acquire);
        let joined = if let Some(joined) = work.joined.take() {
            joined
        } else {
            let tree = tree_of(directory(event)).to_string_lossy().into_owned();
            let (host, session) = (key.host.clone(), key.session.clone());
            let task = event.input.as_ref().map_or("", |input| input.text.as_str());
            let joined = self.attended.begin(Beside { host, session, tree }, task).await?;
            self.known().insert(key.clone(), joined.hosted.id().clone());
            work.generation = generation;
            joined
        };
        let joined = work.joined.insert(joined);
        if work.generation != generation {
            joined.hosted.swap(self.attended.engine());
            work.generation = generation;
        }
        Ok(joined)
    }

    /// Reads the session of the journal that is not in memory. One whose task has ended without an
    /// incident is left where it is: what comes now is a new one.
    async fn wake(&self, work: &mut Work, key: &Key) -> Result<(), AirError> {
        if work.joined.is_none() {
            let known = self.known().get(key).cloned();
            if let Some(id) = known {
                work.generation = self.generation.load(Ordering::Acquire);
                work.joined = Some(self.attended.go_on(&id).await?);
            }
        }
        if let Some(joined) = &work.joined
            && joined.hosted.has_ended_well().await?
        {
            work.joined = None;
        }
        Ok(())
    }

    /// Does what is not on the agent's path.
    pub(crate) fn rest(self: &Arc<Self>, key: &Key) {
        let (room, key) = (Arc::clone(self), key.clone());
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let slot = room.slot(&key);
            let _at_work = room.at_work().await;
            let mut work = slot.work.lock().await;
            // It is tried again when the session is asked about next.
            let _ = room.rest_of(&mut work, &key).await;
        });
    }

    async fn rest_of(&self, work: &mut Work, key: &Key) -> Result<(), AirError> {
        work.begin();
        self.wake(work, key).await?;
        let is_over = work.has_ended() || (work.is_open() && self.agents.are_gone(key));
        let incident = match &mut work.joined {
            // Nobody tells of its calls any more.
            Some(joined) if is_over => joined.hosted.end().await?,
            Some(joined) => joined.hosted.rest().await?,
            None => None,
        };
        if is_over {
            (work.joined, work.ending) = (None, None);
        }
        work.is_torn = false;
        if incident.is_some_and(|incident| incident.adopted().is_some()) {
            self.renew().await?;
        }
        Ok(())
    }

    /// Leave to work on a session, to be had before the session.
    pub(crate) async fn at_work(&self) -> RwLockReadGuard<'_, ()> {
        self.work.read().await
    }

    /// Waits until what was begun is done.
    pub(crate) async fn settle(&self) {
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while tasks.join_next().await.is_some() {}
        let slots: Vec<Arc<Slot>> = self.slots().values().cloned().collect();
        for slot in slots {
            drop(slot.work.lock().await);
        }
    }

    /// Takes the guardrails of the store up, from the next call on.
    pub(crate) async fn renew(&self) -> Result<(), AirError> {
        self.attended.reload().await?;
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.keep_critical();
        Ok(())
    }

    /// For hooks that find no daemon.
    fn keep_critical(&self) {
        // Without it they refuse.
        let _ = self.attended.keep_critical();
    }

    pub(crate) fn live(&self) -> usize {
        self.slots().len()
    }

    pub(crate) fn slot_of(&self, session: &SessionId) -> Option<(Key, Arc<Slot>)> {
        let known = self.known();
        let (key, _) = known.iter().find(|(_, id)| *id == session)?;
        let key = key.clone();
        drop(known);
        let slot = self.slot(&key);
        Some((key, slot))
    }

    /// The session of a slot, from the journal where it is not in memory.
    pub(crate) async fn with<'a>(
        &self,
        work: &'a mut Work,
        key: &Key,
    ) -> Result<Option<&'a mut Joined>, AirError> {
        self.wake(work, key).await?;
        Ok(work.joined.as_mut())
    }

    fn slot(&self, key: &Key) -> Arc<Slot> {
        Arc::clone(self.slots().entry(key.clone()).or_default())
    }

    pub(crate) fn slots(&self) -> MutexGuard<'_, HashMap<Key, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, SessionId>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mint(&self) -> CallId {
        let number = self.minted.fetch_add(1, Ordering::Relaxed);
        CallId::from(format!("c{:x}-{number:x}", now()).as_str())
    }
}
