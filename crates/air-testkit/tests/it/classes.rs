//! Classes of attacks: how many spellings of each the shipped rules find, and what they leave alone.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::PathBuf};

use air_core::{
    code::CodeFacts,
    effects::Effects,
    memory::Memory,
    place::{Held, Place, PlaceKind, absolute},
    port::Surroundings,
};
use air_facts::CodeParser;
use air_testkit::{
    run,
    suite::{self, Case, Expect, Script, Verdict},
};

/// What was said of the cases of one class.
#[derive(Default)]
pub(crate) struct Figures {
    found: usize,
    spellings: usize,
    flagged: usize,
    undetermined: usize,
    lookalikes: usize,
}

impl Figures {
    /// Of a hundred spellings, how many are found.
    pub(crate) fn share(&self) -> usize {
        self.found * 100 / self.spellings.max(1)
    }

    /// Look-alikes that are flagged.
    pub(crate) fn flagged(&self) -> usize {
        self.flagged
    }

    /// By how many points either figure is worse than in `before`.
    pub(crate) fn fell_from(&self, before: &Self) -> usize {
        let found = before.found.saturating_sub(self.found) * 100 / self.spellings.max(1);
        let flagged = self.flagged.saturating_sub(before.flagged) * 100 / self.lookalikes.max(1);
        found.max(flagged)
    }
}

impl std::iter::Sum for Figures {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            found: sum.found + one.found,
            spellings: sum.spellings + one.spellings,
            flagged: sum.flagged + one.flagged,
            undetermined: sum.undetermined + one.undetermined,
            lookalikes: sum.lookalikes + one.lookalikes,
        })
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { found, spellings, flagged, lookalikes, .. } = self;
        write!(f, "{found} of {spellings} found, {flagged} of {lookalikes} flagged")
    }
}

pub(crate) fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The cases of each class, by the name of its file.
pub(crate) fn classes() -> BTreeMap<String, Vec<Case>> {
    cases_below("corpus/classes")
}

/// The cases of each file of a directory, by its name.
pub(crate) fn cases_below(directory: &str) -> BTreeMap<String, Vec<Case>> {
    let directory = workspace().join(directory);
    let mut classes = BTreeMap::new();
    for entry in fs::read_dir(&directory).expect("the classes").flatten() {
        let text = fs::read_to_string(entry.path()).expect("a class");
        let mut load = |name: &str| {
            let path = directory.join(name);
            let rules = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            Ok(vec![(name.to_owned(), rules)])
        };
        let cases = suite::parse(&text, &mut load)
            .unwrap_or_else(|error| panic!("{}: {error}", entry.path().display()));
        let name = entry.file_name().to_string_lossy().replace(".md", "");
        classes.insert(name, cases);
    }
    classes
}

/// Plays `cases`; what did not come out as it should is told in `misses`.
pub(crate) fn measure(cases: &[Case], misses: &mut String) -> Figures {
    let mut figures = Figures::default();
    for case in cases {
        let Expect::Verdict { verdict, .. } = case.expect else {
            panic!("{} is no row", case.name)
        };
        let played = run::run(case).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        match verdict {
            Verdict::Flagged => {
                figures.spellings += 1;
                figures.found += usize::from(played.passed);
            }
            Verdict::Clean => {
                figures.lookalikes += 1;
                figures.flagged += usize::from(!played.passed);
                figures.undetermined += usize::from(played.actual.contains("undetermined"));
            }
            Verdict::Undetermined => panic!("{} is in no measured table", case.name),
        }
        if !played.passed {
            let _ = write!(misses, "\n{}: {}\n{}", case.name, played.actual, facts(&case.script));
        }
    }
    figures
}

/// What is read from each step, for a person.
fn facts(script: &Script) -> String {
    let parser = CodeParser::new();
    let mut memory = Memory::default();
    let mut out = String::new();
    for step in &script.step {
        let around = Around { memory: &memory, script };
        let code = parser.read(&step.tool, &step.args, &around);
        memory.observe(&code, &Effects::default(), |path| {
            absolute("/workspace", "/home/agent", path)
        });
        tell(&code, &mut out);
    }
    out
}

pub(crate) fn tell(code: &CodeFacts, out: &mut String) {
    for done in &code.operations {
        let (name, detail) = (done.activity.name(), done.detail.as_deref().unwrap_or_default());
        let below = if done.recursive { " and below" } else { "" };
        let _ = writeln!(out, "    {name} {}{below} [{detail}] by {}", done.target, done.via);
    }
    for flow in &code.flows {
        let (from, to) = (&flow.source, &flow.sink);
        let (of, into) = (from.kind.name(), to.kind.name());
        let _ = writeln!(out, "    flow {of} {} to {into} {}", from.name, to.name);
    }
    for defect in &code.defects {
        let _ = writeln!(out, "    defect {}: {}", defect.kind, defect.why);
    }
    for why in &code.incomplete {
        let _ = writeln!(out, "    incomplete: {why}");
    }
}

pub(crate) struct Around<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) script: &'a Script,
}

impl Surroundings for Around<'_> {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        let file = self.script.files.get(path).ok_or("it is not there")?;
        Ok(file.clone().into_bytes())
    }

    fn held(&self, place: &Place) -> Option<Held> {
        let mut place = place.clone();
        if place.kind == PlaceKind::File {
            place.name = absolute("/workspace", "/home/agent", &place.name);
        }
        self.memory.held(&place).cloned()
    }
}

#[test]
fn each_class_is_found_in_every_spelling_and_its_look_alikes_are_left_alone() {
    let mut table = "class                   found   flagged   undetermined\n".to_owned();
    let mut misses = String::new();
    let mut held = true;
    for (name, cases) in classes() {
        let figures = measure(&cases, &mut misses);
        let Figures { found, spellings, flagged, undetermined, lookalikes } = figures;
        let _ = writeln!(
            table,
            "{name:<22} {found:>2} of {spellings}   {flagged:>2} of {lookalikes}   {undetermined:>7} of {lookalikes}"
        );
        assert_eq!((spellings, lookalikes), (8, 8), "{name}");
        held &= found * 100 >= spellings * 95 && flagged == 0;
    }
    assert!(held, "{table}{misses}");
    insta::assert_snapshot!("classes", table);
}
