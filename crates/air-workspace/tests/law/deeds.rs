//! What is done at random.

use std::fmt::Write as _;

use proptest::prelude::*;

/// One system call, or a few that belong together.
#[derive(Debug, Clone)]
pub(crate) struct Deed {
    what: &'static str,
    at: usize,
    other: usize,
    number: u32,
}

/// One call of the agent, and whether there is a way back after it.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) deeds: Vec<Deed>,
    /// Chooses the checkpoint that is gone back to.
    pub(crate) back: Option<usize>,
}

#[rustfmt::skip]
const DEEDS: [(u32, &str); 24] = [
    (6, "write"), (2, "patch"), (3, "append"), (2, "truncate"), (2, "sparse"), (3, "replace"),
    (4, "memory"), (3, "again"), (6, "rename"), (4, "delete"), (2, "clear"), (4, "directory"),
    (2, "becomes directory"), (2, "becomes file"), (3, "mode"), (3, "open up"), (2, "link"),
    (4, "name"), (1, "pipe"), (2, "mark"), (1, "unmark"), (1, "time"), (1, "write"), (1, "rename"),
];

/// Where things are done: `w` is the workspace, `h` the agent's home.
pub(crate) fn names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "w/a",
        "w/b",
        "w/c d",
        "w/d",
        "w/d/a",
        "w/d/b",
        "w/d/e",
        "w/d/e/f",
        "w/d/e/g/h",
        "w/k",
        "w/k/1",
        "w/k/2",
        "w/k/s",
        "w/k/s/deep",
        "w/.wh.a",
        "w/-rf",
        "w/é\u{301}",
        "h/x",
        "h/y",
        "h/y/z",
    ]
    .map(|name| name.as_bytes().to_vec())
    .to_vec();
    names.push(b"w/\xff%41\n".to_vec());
    names.push(b"w/d/\xfe\t".to_vec());
    names.push([&b"w/"[..], &[b'n'; 255]].concat());
    names.push([&b"w/d/e/"[..], &[b'm'; 255]].concat());
    names
}

fn deed() -> impl Strategy<Value = Deed> {
    let what = DEEDS.map(|(weight, what)| (weight, Just(what)));
    let what = prop::strategy::Union::new_weighted(what.to_vec());
    let place = 0..names().len();
    (what, place.clone(), place, 0..1000_u32).prop_map(|(what, at, other, number)| Deed {
        what,
        at,
        other,
        number,
    })
}

pub(crate) fn rounds(count: usize, deeds: usize) -> impl Strategy<Value = Vec<Round>> {
    let back = prop::option::weighted(0.4, 0..1000_usize);
    let round = (prop::collection::vec(deed(), 1..deeds), back);
    prop::collection::vec(round.prop_map(|(deeds, back)| Round { deeds, back }), count)
}

/// The call that does it.
pub(crate) fn code(deeds: &[Deed], opens: bool) -> String {
    let mut code = concat!(include_str!("inside.py"), "\nplay([").to_owned();
    let names = names();
    for Deed { what, at, other, number } in deeds {
        let (at, other) = (hex(&names[*at]), hex(&names[*other]));
        let _ = write!(code, "('{what}', '{at}', '{other}', {number}),");
    }
    let _ = write!(code, "], {})", if opens { "True" } else { "False" });
    code
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Deeds by name, place, other place and number; for cases that were found once.
pub(crate) fn plain(text: &str) -> Vec<Deed> {
    let deed = |line: &str| {
        let mut words = line.rsplitn(4, ' ');
        let mut number = || words.next().unwrap().parse::<usize>().unwrap();
        let (number, other, at) = (number(), number(), number());
        let what = words.next().unwrap();
        let what = DEEDS.iter().find(|(_, known)| *known == what).unwrap().1;
        Deed { what, at, other, number: u32::try_from(number).unwrap() }
    };
    text.lines().map(deed).collect()
}
