//! What the words of a plan say that will be done.
//!
//! A clause means something if it has a verb and a thing of one entry of the table, and nothing before
//! the verb takes it back. What a clause leaves open ("copies the file") is what the plan names
//! elsewhere ("set the path to …"). Plain English only; what is not understood is not in the list, so that the
//! list proves nothing by what it lacks.

mod lexicon;
mod sentence;
mod things;

use std::sync::LazyLock;

use air_core::code::Intent;

use self::{
    lexicon::{Lexicon, Meaning},
    sentence::{Clause, clauses},
    things::Things,
};

/// Bytes of a plan that are read.
const MOST_TEXT: usize = 16 * 1024;
/// Intents of one plan.
const MOST: usize = 64;

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::built_in);

/// The intents in `plan`.
pub fn read(plan: &str) -> Vec<Intent> {
    let plan = plan.get(..plan.floor_char_boundary(MOST_TEXT)).unwrap_or_default();
    let lexicon = &*LEXICON;
    let clauses = clauses(plan, lexicon);
    let named: Vec<Things> = clauses.iter().map(|clause| Things::of(clause, lexicon)).collect();
    let mut bound = Things::default();
    for (clause, things) in clauses.iter().zip(&named) {
        if clause.has(&lexicon.binds) {
            bound.add_sources(things, clause.contains(&lexicon.goals));
        }
    }
    let anywhere = |phrases: &[_]| clauses.iter().any(|clause| clause.says(phrases));
    let fits = |meaning: &Meaning| {
        (meaning.near.is_empty() || anywhere(&meaning.near)) && !anywhere(&meaning.never)
    };
    let mut found: Vec<Intent> = Vec::new();
    let mut before = Things::default();
    for (clause, own) in clauses.iter().zip(named) {
        let mut inherited = Things::default();
        if clause.has(&lexicon.pronouns) {
            inherited.add(&before);
        }
        if !own.has_paths() && clause.leaves_open(lexicon) {
            inherited.add_paths(&before);
            inherited.add_paths(&bound);
        }
        for meaning in &lexicon.meanings {
            let Some(labels) = labels(meaning, clause, &own, &inherited, lexicon) else { continue };
            if !fits(meaning) {
                continue;
            }
            let intent = Intent { activity: meaning.activity, labels, words: clause.text() };
            if found.len() < MOST && !found.contains(&intent) {
                found.push(intent);
            }
        }
        before.followed_by(own, &inherited);
    }
    found
}

/// The labels of what a clause means to do so, if it means it.
fn labels(
    meaning: &Meaning,
    clause: &Clause,
    own: &Things,
    inherited: &Things,
    lexicon: &Lexicon,
) -> Option<Vec<String>> {
    if meaning.verbs.is_empty() {
        // The words themselves say it.
        let says = clause.says(&meaning.with) && !clause.says(&meaning.unless);
        return (says && !clause.unsays(&meaning.with, lexicon))
            .then(|| meaning.label.iter().cloned().collect());
    }
    let verb = clause.verb(&meaning.verbs)?;
    let end = if meaning.from { clause.goal(verb) } else { None };
    let all = own.before(end).and(inherited);
    let things = all.among(&meaning.things, &meaning.paths, meaning.secret);
    let whole = !things.is_empty()
        && (meaning.also.is_empty() || !all.among(&meaning.also, &[], false).is_empty())
        && (meaning.with.is_empty() || clause.has(&meaning.with));
    if !whole || clause.has(&meaning.unless) || clause.is_taken_back(verb, lexicon) {
        return None;
    }
    Some(meaning.label.clone().map_or(things, |label| vec![label]))
}
