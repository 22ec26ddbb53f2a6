//! Clauses of a text.

use super::lexicon::{Lexicon, Phrase, Verb};

/// Words that belong together.
pub(super) struct Clause {
    words: Vec<String>,
    question: bool,
}

/// The clauses of `text`. One without a verb of the table belongs to that before it.
pub(super) fn clauses(text: &str, lexicon: &Lexicon) -> Vec<Clause> {
    let mut all = Vec::new();
    for sentence in sentences(text) {
        let question = sentence.ends_with('?');
        let mut parts: Vec<Clause> = Vec::new();
        for piece in sentence.split([',', ';', ':']).flat_map(|part| split(part, lexicon)) {
            let has_verb = piece.iter().any(|word| lexicon.is_verb(word));
            match parts.last_mut() {
                // What is left out after all.
                Some(_) if !has_verb && lexicon.leaves_out(&piece) => {}
                Some(last) if !has_verb || !last.has_verb(lexicon) => last.words.extend(piece),
                _ => parts.push(Clause { words: piece, question }),
            }
        }
        for part in &mut parts {
            part.cut(lexicon);
        }
        all.extend(parts);
    }
    all
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
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }

    /// Where the first of these is.
    fn find(&self, phrases: &[Phrase]) -> Option<usize> {
        let at =
            |phrase: &Phrase| self.words.windows(phrase.len()).position(|words| words == phrase);
        phrases.iter().filter(|phrase| !phrase.is_empty()).filter_map(at).min()
    }

    pub(super) fn has(&self, phrases: &[Phrase]) -> bool {
        self.find(phrases).is_some()
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
