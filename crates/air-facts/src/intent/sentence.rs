//! Clauses of a text.

use super::lexicon::{Lexicon, Phrase, Verb};

/// Words that belong together.
pub(super) struct Clause {
    words: Vec<String>,
    /// With what it leaves out after its verb.
    whole: Vec<String>,
    question: bool,
    /// It is a condition of what follows.
    condition: bool,
}

/// The clauses of `text`. One without a verb of the table belongs to that before it.
pub(super) fn clauses(text: &str, lexicon: &Lexicon) -> Vec<Clause> {
    let mut all = Vec::new();
    for sentence in sentences(text) {
        let question = sentence.ends_with('?');
        let mut parts: Vec<Clause> = Vec::new();
        for part in pauses(sentence) {
            for (at, piece) in split(part, lexicon).into_iter().enumerate() {
                let has_verb = piece.iter().any(|word| lexicon.is_verb(word));
                match parts.last_mut() {
                    // What is done on a condition is done.
                    Some(last) if at == 0 && last.condition => {
                        parts.push(Clause::new(piece, question));
                    }
                    // What is left out after all.
                    Some(_) if !has_verb && lexicon.leaves_out(&piece) => {}
                    Some(last) if !has_verb || !last.has_verb(lexicon) => last.words.extend(piece),
                    _ => parts.push(Clause::new(piece, question)),
                }
            }
        }
        for part in &mut parts {
            part.whole = part.words.clone();
            part.cut(lexicon);
        }
        all.extend(parts);
    }
    all
}

/// Parted at commas and the like; there are some in addresses and numbers.
fn pauses(sentence: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(sentence);
    std::iter::from_fn(move || {
        let text = rest?;
        let ends = |(at, letter): (usize, char)| {
            let after = text.get(at + 1..).unwrap_or_default();
            (",;:".contains(letter) && after.starts_with(char::is_whitespace)).then_some(at)
        };
        let end = text.char_indices().find_map(ends);
        rest = end.and_then(|at| text.get(at + 1..));
        Some(end.and_then(|at| text.get(..at)).unwrap_or(text))
    })
}

/// A full stop ends a sentence only before white space: there are some in paths.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', '?', '!']).flat_map(|line| line.split(". ")).map(str::trim)
}

/// The words of `part`, parted where another clause begins.
fn split(part: &str, lexicon: &Lexicon) -> Vec<Vec<String>> {
    let marks: &[char] = &['"', '\'', '`', '(', ')', '“', '”'];
    let ends = |letter: char| marks.contains(&letter) || ".!?".contains(letter);
    let words: Vec<String> = part
        .replace('’', "'")
        // `ll="ls -l"`.
        .replace("=\"", " ")
        .replace("='", " ")
        .split_whitespace()
        .map(|word| word.trim_end_matches(ends).trim_start_matches(marks).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    let mut pieces = vec![Vec::new()];
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let rest = words.get(at..).unwrap_or_default();
        if lexicon.joins(rest) {
            pieces.push(Vec::new());
        }
        if let Some(last) = pieces.last_mut() {
            last.push(word.clone());
        }
        at += 1;
    }
    pieces.retain(|piece: &Vec<String>| !piece.is_empty());
    pieces
}

impl Clause {
    fn new(words: Vec<String>, question: bool) -> Self {
        let first = words.first().map(String::as_str);
        let condition = matches!(first, Some("if" | "when" | "once"));
        Self { words, whole: Vec::new(), question, condition }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }

    /// Where the first of these is.
    fn find(&self, phrases: &[Phrase]) -> Option<usize> {
        first_of(&self.words, phrases)
    }

    pub(super) fn has(&self, phrases: &[Phrase]) -> bool {
        self.find(phrases).is_some()
    }

    /// Where the first of these is, and what is left out counts as well.
    pub(super) fn says(&self, phrases: &[Phrase]) -> bool {
        first_of(&self.whole, phrases).is_some()
    }

    /// Whether something takes back the first of these.
    pub(super) fn unsays(&self, phrases: &[Phrase], lexicon: &Lexicon) -> bool {
        let at = first_of(&self.whole, phrases);
        let before = first_of(&self.whole, &lexicon.reports);
        self.question
            || self.has(&lexicon.elsewhere)
            || at.is_some_and(|at| before.is_some_and(|before| before < at))
    }

    /// Whether it names what it speaks of elsewhere: "the file", or `a_variable`.
    pub(super) fn leaves_open(&self, lexicon: &Lexicon) -> bool {
        let of = |phrase: &Phrase| {
            let at = self.words.windows(phrase.len()).position(|words| words == phrase);
            at.is_some_and(|at| self.words.get(at + phrase.len()).is_none_or(|next| next != "of"))
        };
        let is_variable = |word: &String| {
            word.contains('_') && word.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        self.words.iter().any(is_variable) || lexicon.stands_for.iter().any(of)
    }

    /// Whether a word of it has any of these in it.
    pub(super) fn contains(&self, parts: &[String]) -> bool {
        self.words.iter().any(|word| parts.iter().any(|part| word.contains(part.as_str())))
    }

    /// Where the place begins to which something goes, after the word at `verb`.
    pub(super) fn goal(&self, verb: usize) -> Option<usize> {
        let is_goal = |word: &String| matches!(word.as_str(), "to" | "into" | "onto");
        self.words.iter().skip(verb).position(is_goal).map(|at| verb + at)
    }

    /// Without what it leaves out after its verb.
    fn cut(&mut self, lexicon: &Lexicon) {
        let verb = self.words.iter().position(|word| lexicon.is_verb(word));
        let (Some(verb), Some(end)) = (verb, self.find(&lexicon.except)) else { return };
        if verb < end {
            self.words.truncate(end);
        }
    }

    fn has_verb(&self, lexicon: &Lexicon) -> bool {
        self.words.iter().any(|word| lexicon.is_verb(word))
    }

    /// Where a verb is that says what is to be done; not what has been done.
    pub(super) fn verb(&self, verbs: &[Verb]) -> Option<usize> {
        let of = |verb: &Verb| {
            let passive = std::slice::from_ref(&verb.participle);
            let be = |at: &usize| {
                let before = at.checked_sub(1).and_then(|before| self.words.get(before));
                before.is_some_and(|before| before == "be" || before == "get")
            };
            self.find(&verb.plain).or_else(|| self.find(passive).filter(be))
        };
        verbs.iter().filter_map(of).min()
    }

    /// Whether something takes back what the verb at that place says.
    pub(super) fn is_taken_back(&self, verb: usize, lexicon: &Lexicon) -> bool {
        let before = |phrases| self.find(phrases).is_some_and(|at| at < verb);
        self.question
            || self.has(&lexicon.elsewhere)
            || before(&lexicon.negations)
            || before(&lexicon.speaks)
    }
}

/// Where the first of these phrases is.
fn first_of(words: &[String], phrases: &[Phrase]) -> Option<usize> {
    let at = |phrase: &Phrase| words.windows(phrase.len()).position(|words| words == phrase);
    phrases.iter().filter(|phrase| !phrase.is_empty()).filter_map(at).min()
}
