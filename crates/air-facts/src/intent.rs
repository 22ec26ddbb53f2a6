//! What the words of a plan say that will be done.
//!
//! A clause means something if it has a verb and a thing of one entry of the table, and nothing before
//! the verb takes it back. Plain English only; what is not understood is not in the list, so that the
//! list proves nothing by what it lacks.

mod lexicon;
mod sentence;

use std::sync::LazyLock;

use air_core::{code::Intent, fact::PathLabels as _};

use self::{
    lexicon::Lexicon,
    sentence::{Clause, clauses},
};
use crate::LabelTable;

/// Bytes of a plan that are read.
const MOST_TEXT: usize = 16 * 1024;
/// Intents of one plan.
const MOST: usize = 64;

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::built_in);
static LABELS: LazyLock<Option<LabelTable>> = LazyLock::new(|| LabelTable::built_in().ok());

/// The intents in `plan`.
pub fn read(plan: &str) -> Vec<Intent> {
    let plan = plan.get(..plan.floor_char_boundary(MOST_TEXT)).unwrap_or_default();
    let lexicon = &*LEXICON;
    let mut found: Vec<Intent> = Vec::new();
    let mut before: Vec<String> = Vec::new();
    for clause in clauses(plan, lexicon) {
        let mut labels = things(&clause, lexicon);
        let own = !labels.is_empty();
        if clause.has(&lexicon.pronouns) {
            labels.extend(before.iter().cloned());
        }
        labels.sort_unstable();
        labels.dedup();
        for meaning in &lexicon.meanings {
            let among = |of: &[String]| -> Vec<String> {
                labels.iter().filter(|label| of.contains(label)).cloned().collect()
            };
            let things = among(&meaning.things);
            if things.is_empty() {
                continue;
            }
            let Some(verb) = clause.verb(&meaning.verbs) else { continue };
            let whole = (meaning.also.is_empty() || !among(&meaning.also).is_empty())
                && (meaning.with.is_empty() || clause.has(&meaning.with));
            if !whole || clause.has(&meaning.unless) || clause.is_taken_back(verb, lexicon) {
                continue;
            }
            let labels = meaning.label.clone().map_or(things, |label| vec![label]);
            let intent = Intent { activity: meaning.activity, labels, words: clause.text() };
            if found.len() < MOST && !found.contains(&intent) {
                found.push(intent);
            }
        }
        if own {
            before = labels;
        }
    }
    found
}

/// The labels of what a clause speaks of.
fn things(clause: &Clause, lexicon: &Lexicon) -> Vec<String> {
    let mut labels = Vec::new();
    let named = lexicon.may_name(clause.words());
    for thing in lexicon.things.iter().filter(|_| named) {
        if clause.has(&thing.words) && !clause.has(&thing.except) {
            labels.push(thing.label.clone());
        }
    }
    let paths = clause.words().filter(|word| word.contains(['/', '.', '~', '_']));
    for path in paths.filter(|path| !path.contains("://")) {
        let of_it = LABELS.as_ref().map(|table| table.labels(path)).unwrap_or_default();
        let excepted = |label: &str| {
            lexicon.things.iter().any(|thing| thing.label == label && clause.has(&thing.except))
        };
        labels.extend(of_it.iter().filter(|it| !excepted(it)).map(ToString::to_string));
    }
    labels
}
