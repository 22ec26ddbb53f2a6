use std::sync::Arc;

use super::{MOST_PLACES, MOST_TEXT, Memory};
use crate::{
    code::CodeFacts,
    effects::{Change, Effects, FileEffect},
    fact::PathLabels,
    place::{Held, Place, PlaceKind, absolute},
    value::Value,
};

#[derive(Debug)]
struct Secrets;

impl PathLabels for Secrets {
    fn labels(&self, path: &str) -> Vec<Arc<str>> {
        if path.ends_with("/.env") { vec!["credential".into()] } else { Vec::new() }
    }
}

fn file(path: &str) -> Place {
    Place::new(PlaceKind::File, path)
}

fn leaves(place: Place, sources: &[&str]) -> CodeFacts {
    let sources = sources.iter().map(|path| file(path)).collect();
    CodeFacts { leaves: vec![(place, Held { sources, ..Held::default() })], ..CodeFacts::default() }
}

fn change(path: &str, change: Change, origin: Option<&str>, moved: Option<&str>) -> Effects {
    let mut effects = Effects::default();
    effects.files.items.push(FileEffect {
        path: path.to_owned(),
        change,
        size: 1,
        mode: 0o644,
        origin: origin.map(str::to_owned),
        origin_unknown: None,
        moved: moved.map(str::to_owned),
        aspects: Vec::new(),
        marks: Vec::new(),
        reversible: true,
    });
    effects
}

fn observe(memory: &mut Memory, code: &CodeFacts, effects: &Effects) {
    memory.observe(code, effects, |path| absolute("/workspace", "/home/agent", path));
}

/// `origin -> place` of each item of the fact.
fn tainted(memory: &Memory) -> (Vec<String>, bool) {
    let Value::List(list) = memory.to_value(&Secrets) else { return (Vec::new(), false) };
    let text = |value: &Value| match value {
        Value::String(text) => text.to_string(),
        _ => String::new(),
    };
    let items = list.items.iter().map(|item| match item {
        Value::Map(map) => format!("{} -> {}", text(&map["origin"]), text(&map["place"])),
        _ => String::new(),
    });
    (items.collect(), list.incomplete.is_none())
}

#[test]
fn what_was_copied_is_followed_by_name_and_by_content() {
    let mut memory = Memory::default();
    observe(&mut memory, &leaves(file("a.txt"), &["/workspace/.env"]), &Effects::default());
    let none = CodeFacts::default();
    observe(&mut memory, &none, &change("/workspace/b", Change::Created, Some("/srv/.env"), None));
    observe(
        &mut memory,
        &none,
        &change("/workspace/c", Change::Created, None, Some("/workspace/a.txt")),
    );
    let variable = Place::new(PlaceKind::Variable, "data");
    observe(&mut memory, &leaves(variable.clone(), &["/workspace/.env"]), &Effects::default());
    let (items, whole) = tainted(&memory);
    assert!(whole);
    assert_eq!(
        items,
        [
            "/srv/.env -> /workspace/b",
            "/workspace/.env -> /workspace/a.txt",
            "/workspace/.env -> /workspace/c",
            "/workspace/.env -> data",
        ]
    );
    // What is removed, or written anew from elsewhere, is not there any more.
    observe(&mut memory, &none, &change("/workspace/b", Change::Deleted, None, None));
    observe(&mut memory, &leaves(variable, &["/workspace/notes"]), &Effects::default());
    assert_eq!(tainted(&memory).0.len(), 2);
}

#[test]
fn memory_is_bounded_and_says_what_it_lost() {
    let mut memory = Memory::default();
    for number in 0..MOST_PLACES {
        observe(&mut memory, &leaves(file(&format!("f{number}")), &["/.env"]), &Effects::default());
    }
    assert!(tainted(&memory).1);
    // The same again takes no more place.
    for _ in 0..2 * MOST_PLACES {
        observe(&mut memory, &leaves(file("f7"), &["/.env"]), &Effects::default());
    }
    let (items, whole) = tainted(&memory);
    assert!(items.len() == MOST_PLACES && whole && memory.order[1].len() <= 2 * MOST_PLACES);
    // Texts, however many, push none of it out.
    for number in 0..MOST_PLACES {
        let held = Held { text: Some("x".to_owned()), ..Held::default() };
        let leaves = vec![(file(&format!("junk{number}")), held)];
        observe(&mut memory, &CodeFacts { leaves, ..CodeFacts::default() }, &Effects::default());
    }
    let (items, whole) = tainted(&memory);
    assert!(items.len() == MOST_PLACES && whole, "{}", items.len());
    // One more, and the oldest is forgotten.
    observe(&mut memory, &leaves(file("new"), &["/.env"]), &Effects::default());
    let (items, whole) = tainted(&memory);
    assert!(items.len() == MOST_PLACES && !whole);
    assert!(!items.contains(&"/.env -> /workspace/f0".to_owned()));
    assert!(items.contains(&"/.env -> /workspace/f7".to_owned()));

    let mut memory = Memory::default();
    for number in 0..200 {
        let held = Held { text: Some("x".repeat(MOST_TEXT / 100)), ..Held::default() };
        let code =
            CodeFacts { leaves: vec![(file(&format!("t{number}")), held)], ..CodeFacts::default() };
        observe(&mut memory, &code, &Effects::default());
    }
    let kept =
        (0..200).filter(|number| memory.held(&file(&format!("/workspace/t{number}"))).is_some());
    assert!(kept.count() <= 100);
    // Texts only: nothing is missed.
    assert!(tainted(&memory).1);
}
