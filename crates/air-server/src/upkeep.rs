//! What is done once in a while: sessions that nobody asks about, orders and questions whose time is over, room
//! for what is kept.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use air_core::{id::Timestamp, session::Status as Standing};

use tokio::runtime::Handle;

use crate::{
    beat::now,
    room::Room,
    slot::{Key, Slot},
};

/// A session that nobody has asked about for so long is read again when somebody does.
const FORGOTTEN: Duration = Duration::from_mins(30);
/// How often it is looked whether too much is kept, in seconds, and when first.
const ROOM_EVERY: u64 = 10 * 60;
const ROOM_AT: u64 = 60;

impl Room {
    /// Forgets how to undo what nobody will, where much is kept.
    async fn make_room(&self) {
        if self.attended.is_crowded().unwrap_or(false) {
            // Whoever works is not kept waiting behind it.
            let Ok(_alone) = self.work.try_write() else { return };
            // It is tried again later.
            let _ = self.attended.make_room(Timestamp(now())).await;
        }
    }

    /// Leaves sessions to the journal that nobody asks about.
    fn forget(&self) {
        let mut by_age = BTreeMap::new();
        for (key, slot) in self.slots().iter() {
            by_age
                .entry(slot.touched())
                .or_insert_with(Vec::new)
                .push((key.clone(), Arc::clone(slot)));
        }
        let all: usize = by_age.values().map(Vec::len).sum();
        let mut over = all.saturating_sub(self.options.live_sessions);
        let old = now().saturating_sub(u64::try_from(FORGOTTEN.as_millis()).unwrap_or(u64::MAX));
        for (touched, slots) in by_age {
            for (key, slot) in slots {
                if touched > old && over == 0 {
                    return;
                }
                let mut slots = self.slots();
                // Whoever is about to ask has it too: it must not find another one.
                let (by_map, by_age) = (1, 1);
                if Arc::strong_count(&slot) > by_map + by_age {
                    continue;
                }
                let Ok(mut work) = slot.work.try_lock() else { continue };
                let responds = work.joined.as_ref().is_some_and(|joined| {
                    matches!(joined.hosted.machine().status(), Standing::Responding { .. })
                });
                if !responds && !work.is_open() {
                    work.joined = None;
                    slots.remove(&key);
                    over = over.saturating_sub(1);
                }
            }
        }
    }
}

/// Looks after what nobody asks about: orders whose time is over, questions that nobody answers, calls whose
/// host was ended.
pub(crate) async fn tick(room: Arc<Room>) {
    let mut every = tokio::time::interval(Duration::from_secs(1));
    for second in 0_u64.. {
        every.tick().await;
        // Not when it has just begun: whoever started it waits for an answer.
        if second % ROOM_EVERY == ROOM_AT {
            let (room, here) = (Arc::clone(&room), Handle::current());
            // It lists files, and takes its time: on no thread that answers.
            tokio::task::spawn_blocking(move || here.block_on(room.make_room()));
        }
        let slots: Vec<(Key, Arc<Slot>)> =
            room.slots().iter().map(|(key, slot)| (key.clone(), Arc::clone(slot))).collect();
        for (key, slot) in slots {
            let Ok(work) = slot.work.try_lock() else { continue };
            let waits = work.joined.as_ref().is_some_and(|joined| {
                let machine = joined.hosted.machine();
                matches!(machine.status(), Standing::Responding { .. })
                    || machine.approvals().values().any(|asked| asked.allowed.is_none())
            });
            let is_over = work.has_ended() || (work.is_open() && room.agents.are_gone(&key));
            drop(work);
            if waits || is_over {
                room.rest(&key);
            }
        }
        room.forget();
    }
}
