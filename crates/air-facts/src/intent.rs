//! What the words of a plan say that will be done.

use air_core::code::Intent;

/// The intents in `plan`.
pub fn read(_plan: &str) -> Vec<Intent> {
    Vec::new()
}
