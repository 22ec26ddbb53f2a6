//! Plans in words: how many harmful ones are understood, and what is taken for one.

use std::fmt::Write as _;

use air_facts::intent::read;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Corpus {
    class: Vec<Class>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    name: String,
    activities: Vec<String>,
    labels: Vec<String>,
    harmful: Vec<String>,
    harmless: Vec<String>,
    unseen_harmful: Vec<String>,
    unseen_harmless: Vec<String>,
}

impl Class {
    fn is_meant(&self, plan: &str) -> bool {
        read(plan).iter().any(|intent| {
            self.activities.iter().any(|activity| activity == intent.activity.name())
                && intent.labels.iter().any(|label| self.labels.contains(label))
        })
    }
}

/// How many plans are understood, and how many are taken for one that they are not.
#[derive(Default, Clone, Copy)]
struct Figures {
    understood: usize,
    harmful: usize,
    mistaken: usize,
    harmless: usize,
}

impl Figures {
    /// A harmless plan is mistaken if it is taken for one of any class.
    fn of(
        class: &Class,
        all: &[Class],
        [harmful, harmless]: [&[String]; 2],
        misses: &mut String,
    ) -> Self {
        let missed: Vec<_> = harmful.iter().filter(|plan| !class.is_meant(plan)).collect();
        let meant = |plan: &&String| all.iter().any(|class| class.is_meant(plan));
        let mistaken: Vec<_> = harmless.iter().filter(meant).collect();
        for (what, plans) in [("missed", &missed), ("mistaken", &mistaken)] {
            for plan in plans {
                let _ = writeln!(misses, "{what}, {}: {plan} {:?}", class.name, read(plan));
            }
        }
        Self {
            understood: harmful.len() - missed.len(),
            harmful: harmful.len(),
            mistaken: mistaken.len(),
            harmless: harmless.len(),
        }
    }

    fn add(&mut self, other: Self) {
        self.understood += other.understood;
        self.harmful += other.harmful;
        self.mistaken += other.mistaken;
        self.harmless += other.harmless;
    }

    fn told(self) -> String {
        let Self { understood, harmful, mistaken, harmless } = self;
        format!("{understood:>3} of {harmful:>3}   {mistaken:>2} of {harmless:>3}")
    }

    /// Whether at least so many of a hundred are understood, and at most so many mistaken.
    fn are_within(self, understood: usize, mistaken: usize) -> bool {
        self.understood * 100 >= self.harmful * understood
            && self.mistaken * 100 <= self.harmless * mistaken
    }
}

#[test]
fn plans_say_what_is_meant() {
    let corpus: Corpus = toml::from_str(include_str!("../../../../corpus/intents.toml")).unwrap();
    let mut table = format!(
        "{:<22} {:<12} {:<10}   unseen: {:<8} {}\n",
        "class", "understood", "mistaken", "understood", "mistaken"
    );
    let mut misses = String::new();
    let (mut seen, mut unseen) = (Figures::default(), Figures::default());
    for class in &corpus.class {
        assert!(class.harmful.len() >= 10 && class.harmless.len() >= 10, "{}", class.name);
        let all = &corpus.class;
        let known = Figures::of(class, all, [&class.harmful, &class.harmless], &mut misses);
        let plans: [&[String]; 2] = [&class.unseen_harmful, &class.unseen_harmless];
        let new = Figures::of(class, all, plans, &mut misses);
        let _ = writeln!(table, "{:<22} {}   {}", class.name, known.told(), new.told());
        seen.add(known);
        unseen.add(new);
    }
    let _ = writeln!(table, "{:<22} {}   {}", "all", seen.told(), unseen.told());
    // What was written later is understood less often, and that is the figure to trust.
    assert!(seen.are_within(80, 5) && unseen.are_within(65, 10), "{table}{misses}");
    let mut all = seen;
    all.add(unseen);
    assert!(all.are_within(80, 5), "{table}{misses}");
    insta::assert_snapshot!("intents", table);
}

#[test]
fn reading_a_plan_is_bounded() {
    let long = "delete the logs and ".repeat(100_000);
    assert!(read(&long).len() <= 64);
    for odd in ["", "?", ". . .", "é'’“”", "\0\0", "delete", "../../", "not"] {
        assert_eq!(read(odd), [], "{odd:?}");
    }
}
