//! Signs of life: which hooks of which host have asked, and when.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use air_protocol::{Event, Point};
use serde::{Deserialize, Serialize};

/// What was heard of a host last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// Its version, where it tells.
    pub version: Option<String>,
    /// The last session that was heard of.
    pub session: String,
    /// How its questions come.
    pub adapter: String,
    /// By point: when it was asked last, in milliseconds since the Unix epoch.
    pub points: BTreeMap<String, u64>,
}

/// All hosts, by name.
#[derive(Debug, Default)]
pub(crate) struct Beats(Mutex<BTreeMap<String, Beat>>);

impl Beats {
    pub(crate) fn heard(&self, event: &Event) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let beat = all.entry(event.host.name.clone()).or_default();
        if event.host.version.is_some() {
            beat.version.clone_from(&event.host.version);
        }
        beat.session.clone_from(&event.session.id);
        beat.adapter.clone_from(&event.host.adapter);
        beat.points.insert(name(event.point), now());
    }

    pub(crate) fn all(&self) -> BTreeMap<String, Beat> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn name(point: Point) -> String {
    let value = serde_json::to_value(point).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
