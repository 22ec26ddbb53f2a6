//! Python source of any kind is read: no panic, no hang, and the facts become values.
#![no_main]

use air_core::{fact::NoLabels, port::Alone};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let facts = air_facts::python::read(source, &Alone);
    drop(facts.to_value(&NoLabels));
});
