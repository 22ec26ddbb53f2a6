//! The words.

use std::collections::{BTreeMap, HashSet};

use air_core::code::Activity;
use serde::Deserialize;

/// The table that ships with AIR.
const BUILT_IN: &str = include_str!("../../intents.toml");

/// Words in a row.
pub(super) type Phrase = Vec<String>;

#[derive(Default)]
pub(super) struct Lexicon {
    joins: Vec<Phrase>,
    pub(super) negations: Vec<Phrase>,
    pub(super) speaks: Vec<Phrase>,
    /// Before the name of a flaw, these speak of it.
    pub(super) reports: Vec<Phrase>,
    pub(super) except: Vec<Phrase>,
    pub(super) elsewhere: Vec<Phrase>,
    pub(super) pronouns: Vec<Phrase>,
    /// What stands for what the plan names elsewhere.
    pub(super) stands_for: Vec<Phrase>,
    /// A clause with one of these says what is meant elsewhere.
    pub(super) binds: Vec<Phrase>,
    /// Parts of words: what a clause with one of these names is where something goes.
    pub(super) goals: Vec<String>,
    /// Directories that are nobody else's.
    pub(super) own: Vec<String>,
    /// Ends of names of programs.
    pub(super) programs: Vec<String>,
    pub(super) things: Vec<Thing>,
    pub(super) meanings: Vec<Meaning>,
    /// First words, of which most words are none.
    first: First,
}

/// First words of phrases.
#[derive(Default)]
struct First {
    joins: HashSet<String>,
    verbs: HashSet<String>,
    things: HashSet<String>,
}

/// What has a label, and which words stand for it.
pub(super) struct Thing {
    pub(super) label: String,
    pub(super) words: Vec<Phrase>,
    pub(super) except: Vec<Phrase>,
}

/// What a verb of one kind and a thing mean together.
pub(super) struct Meaning {
    pub(super) activity: Activity,
    pub(super) verbs: Vec<Verb>,
    pub(super) things: Vec<String>,
    /// Labels that count where a path has them, and not where words stand for them.
    pub(super) paths: Vec<String>,
    /// What counts is named before the place to which it goes.
    pub(super) from: bool,
    /// What tells nothing does not count.
    pub(super) secret: bool,
    /// Words of which one is needed anywhere in the plan.
    pub(super) near: Vec<Phrase>,
    /// Words of which none may be anywhere in the plan.
    pub(super) never: Vec<Phrase>,
    /// Labels of which one is needed beside those of `things`.
    pub(super) also: Vec<String>,
    /// Words of which one is needed.
    pub(super) with: Vec<Phrase>,
    pub(super) unless: Vec<Phrase>,
    /// What it is called, if not by the label of the thing.
    pub(super) label: Option<String>,
}

/// A verb in its forms.
pub(super) struct Verb {
    /// `copy`, `copies`, `copying`.
    pub(super) plain: Vec<Phrase>,
    /// `copied`: meant only after `be`.
    pub(super) participle: Phrase,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    joins: Vec<String>,
    negations: Vec<String>,
    speaks: Vec<String>,
    reports: Vec<String>,
    except: Vec<String>,
    elsewhere: Vec<String>,
    pronouns: Vec<String>,
    stands_for: Vec<String>,
    binds: Vec<String>,
    goals: Vec<String>,
    own: Vec<String>,
    programs: Vec<String>,
    things: BTreeMap<String, RawThing>,
    intent: Vec<RawMeaning>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawThing {
    words: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMeaning {
    activity: Activity,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    things: Vec<String>,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    from: bool,
    #[serde(default)]
    secret: bool,
    #[serde(default)]
    near: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    label: Option<String>,
}

impl Lexicon {
    /// The table that ships with AIR; empty if it were broken, which a test rules out.
    pub(super) fn built_in() -> Self {
        toml::from_str(BUILT_IN).map(Self::of).unwrap_or_default()
    }

    fn of(raw: Raw) -> Self {
        let things = raw.things.into_iter().map(|(label, thing)| Thing {
            label,
            words: thing.words.iter().flat_map(|word| number(word)).collect(),
            except: phrases(&thing.except),
        });
        let meanings = raw.intent.into_iter().map(|raw| Meaning {
            activity: raw.activity,
            verbs: raw.verbs.iter().map(|verb| forms(verb)).collect(),
            things: raw.things,
            paths: raw.paths,
            from: raw.from,
            secret: raw.secret,
            near: phrases(&raw.near),
            never: phrases(&raw.never),
            also: raw.also,
            with: phrases(&raw.with),
            unless: phrases(&raw.unless),
            label: raw.label,
        });
        Self {
            joins: phrases(&raw.joins),
            negations: phrases(&raw.negations),
            speaks: phrases(&raw.speaks),
            reports: phrases(&raw.reports),
            except: phrases(&raw.except),
            elsewhere: phrases(&raw.elsewhere),
            pronouns: phrases(&raw.pronouns),
            stands_for: phrases(&raw.stands_for),
            binds: phrases(&raw.binds),
            goals: raw.goals,
            own: raw.own,
            programs: raw.programs,
            things: things.collect(),
            meanings: meanings.collect(),
            first: First::default(),
        }
        .indexed()
    }

    fn indexed(mut self) -> Self {
        let verbs = self.meanings.iter().flat_map(|meaning| &meaning.verbs);
        let verbs = verbs.flat_map(|verb| verb.plain.iter().chain([&verb.participle]));
        self.first = First {
            joins: first(self.joins.iter()),
            verbs: first(verbs),
            things: first(self.things.iter().flat_map(|thing| &thing.words)),
        };
        self
    }

    /// Whether those words begin with what parts clauses.
    pub(super) fn joins(&self, words: &[String]) -> bool {
        words.first().is_some_and(|word| self.first.joins.contains(word))
            && self.joins.iter().any(|join| words.starts_with(join))
    }

    /// Whether any of those words may begin the name of a thing.
    pub(super) fn may_name<'a>(&self, mut words: impl Iterator<Item = &'a str>) -> bool {
        words.any(|word| self.first.things.contains(word))
    }

    /// Whether those words begin with what is left out.
    pub(super) fn leaves_out(&self, words: &[String]) -> bool {
        let starts = |phrase: &Phrase| {
            words.starts_with(phrase) || words.get(1..).is_some_and(|rest| rest.starts_with(phrase))
        };
        self.except.iter().any(starts)
    }

    /// Whether that word is a form of any verb of the table.
    pub(super) fn is_verb(&self, word: &str) -> bool {
        self.first.verbs.contains(word)
    }
}

fn first<'a>(phrases: impl Iterator<Item = &'a Phrase>) -> HashSet<String> {
    phrases.filter_map(|phrase| phrase.first().cloned()).collect()
}

fn phrases(all: &[String]) -> Vec<Phrase> {
    all.iter().map(|phrase| phrase.split(' ').map(str::to_owned).collect()).collect()
}

/// A noun, once and many times.
fn number(noun: &str) -> [Phrase; 2] {
    let many = consonant_y(noun).map_or_else(|| format!("{noun}s"), |stem| format!("{stem}ies"));
    [noun.to_owned(), many].map(|noun| noun.split(' ').map(str::to_owned).collect())
}

/// What is before a `y` that becomes `ie` in other forms.
fn consonant_y(word: &str) -> Option<&str> {
    word.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']))
}

/// The forms of a verb in the table; all words but its first stay.
fn forms(verb: &str) -> Verb {
    let (verb, irregular) =
        verb.split_once('|').map_or((verb, None), |(verb, past)| (verb, Some(past)));
    let mut words = verb.split(' ').map(str::to_owned);
    let first = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    let with =
        |first: String| -> Phrase { std::iter::once(first).chain(rest.iter().cloned()).collect() };
    let stem = first.strip_suffix('e').unwrap_or(&first);
    let twice = first.chars().next_back().map_or_else(String::new, |last| format!("{first}{last}"));
    let many =
        first.strip_suffix('y').map_or_else(|| format!("{first}s"), |stem| format!("{stem}ies"));
    let es = format!("{first}es");
    let going = [format!("{stem}ing"), format!("{twice}ing"), format!("{first}ing")];
    let past = match (irregular, consonant_y(&first)) {
        (Some(past), _) => past.to_owned(),
        (None, Some(stem)) => format!("{stem}ied"),
        (None, _) if is_short(&first) => format!("{twice}ed"),
        (None, _) => format!("{stem}ed"),
    };
    let plain = std::iter::once(first).chain([many, es]).chain(going).map(with).collect();
    Verb { plain, participle: with(past) }
}

/// Whether the last letter is doubled before an ending, as in `drop` and `stop`.
fn is_short(verb: &str) -> bool {
    let vowel = |letter: char| "aeiou".contains(letter);
    let letters: Vec<char> = verb.chars().rev().take(3).collect();
    let [last, middle, before] = letters.as_slice() else { return false };
    verb.len() <= 4 && !vowel(*last) && !"wxy".contains(*last) && vowel(*middle) && !vowel(*before)
}
