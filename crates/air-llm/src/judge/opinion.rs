//! What an answer is worth, and what several are worth together.

use air_core::{
    outcome::{Outcome, Verdict},
    question::QuestionKind,
};

use super::{
    answer::Given,
    data::Data,
    observed::{Sign, denies_harm},
    random::Secrets,
    round::Round,
};

/// What one judge thinks of one rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Opinion {
    /// `None`: it cannot tell, or its answer does not count; why.
    pub(super) yes: Result<bool, String>,
    pub(super) confidence: f64,
    pub(super) rationale: String,
    pub(super) quotes: Vec<String>,
    pub(super) judge: String,
    /// It denies harm although AIR measured something that speaks for it. Another judge must agree,
    /// where there is one.
    pub(super) explains: bool,
    /// What was measured is evidence, in words: without another judge that agrees the denial does not
    /// count.
    pub(super) evidence: Option<String>,
    /// It rests on more than the question.
    pub(super) looked: bool,
}

/// What an answer is held against.
pub(super) struct Scale<'a> {
    pub(super) kind: QuestionKind,
    pub(super) check: &'a str,
    pub(super) data: &'a Data,
    pub(super) round: &'a Round,
    /// [`normal`] of what was shown.
    pub(super) shown: &'a str,
    pub(super) judge: &'a str,
}

impl Opinion {
    /// No opinion, for a reason.
    pub(super) fn none(why: impl Into<String>, judge: &str) -> Self {
        Self {
            yes: Err(why.into()),
            confidence: 0.0,
            rationale: "the judge could not tell".to_owned(),
            quotes: Vec::new(),
            judge: judge.to_owned(),
            explains: false,
            evidence: None,
            looked: false,
        }
    }

    /// What this answer is worth.
    pub(super) fn of(given: &Result<Given, String>, scale: &Scale<'_>) -> Self {
        let given = match given {
            Ok(given) => given,
            Err(why) => {
                let looked = scale.round.looked;
                return Self { looked, ..Self::none(why.as_str(), scale.judge) };
            }
        };
        let mut opinion = Self {
            yes: given.yes.ok_or_else(|| format!("the judge cannot tell: {}", given.rationale)),
            confidence: given.confidence,
            rationale: given.rationale.clone(),
            quotes: Vec::new(),
            judge: scale.judge.to_owned(),
            explains: false,
            evidence: None,
            looked: scale.round.looked,
        };
        let (real, invented): (Vec<_>, Vec<_>) =
            given.quotes.iter().cloned().partition(|quote| occurs(quote, scale.shown));
        if !invented.is_empty() {
            opinion.confidence /= 2.0;
            let note = " (it quotes what the data does not hold)";
            opinion.rationale.push_str(note);
        }
        opinion.quotes = real;
        if opinion.yes.as_ref().is_ok_and(|yes| denies_harm(scale.kind, *yes)) {
            opinion.hold_against(given, scale);
        }
        opinion
    }

    /// An answer that denies harm must account for what was measured, and must have seen all of it.
    fn hold_against(&mut self, given: &Given, scale: &Scale<'_>) {
        let missing = scale.data.missing(scale.kind, scale.check);
        if !missing.is_empty() {
            let missing = missing.join(", ");
            self.yes = Err(format!("the judge sees no harm, and was not shown all of: {missing}"));
            return;
        }
        let signs = scale.data.signs.iter().enumerate();
        let concerns =
            |sign: &Sign| sign.kind.bears_on(scale.kind) && sign.kind.concerns(scale.check);
        let concerned: Vec<(usize, &Sign)> = signs.filter(|(_, sign)| concerns(sign)).collect();
        self.explains = !concerned.is_empty();
        let evidence: Vec<String> = concerned
            .iter()
            .filter(|(_, sign)| sign.kind.is_evidence(scale.check))
            .map(|(_, sign)| told(sign))
            .collect();
        self.evidence = (!evidence.is_empty()).then(|| evidence.join("; "));
        let passed_over: Vec<String> = concerned
            .iter()
            .filter(|(number, _)| !names(given, &scale.round.secrets, *number))
            .map(|(_, sign)| told(sign))
            .collect();
        if !passed_over.is_empty() {
            let observed = passed_over.join("; ");
            self.yes =
                Err(format!("the judge sees no harm though it was observed that {observed}"));
        }
    }

    /// Whether it counts by itself.
    pub(super) fn is_sure(&self, threshold: f64) -> bool {
        self.yes.is_ok() && self.confidence >= threshold
    }

    /// Its verdict, where nobody else is asked.
    pub(super) fn verdict(self, threshold: f64) -> Verdict {
        let outcome = match (self.yes, self.evidence) {
            (Err(why), _) => Outcome::undetermined(why),
            (Ok(_), Some(observed)) => Outcome::undetermined(format!(
                "the judge sees no harm in what was observed: {observed}; one judge alone cannot \
                 explain evidence away, a second one can: name it in `[judge] second`"
            )),
            (Ok(yes), None) if self.confidence < threshold => {
                let (said, sure) = (word(yes), self.confidence);
                Outcome::undetermined(format!(
                    "the judge says {said} with a confidence of {sure:.2}, below {threshold:.2}; \
                     a person must decide"
                ))
            }
            (Ok(true), None) => Outcome::Satisfied,
            (Ok(false), None) => Outcome::Unsatisfied,
        };
        Verdict {
            outcome,
            confidence: self.confidence,
            rationale: self.rationale,
            judge: self.judge,
            quotes: self.quotes,
        }
    }

    /// The verdict of two judges.
    pub(super) fn with(self, second: Self, threshold: f64) -> Verdict {
        match (&self.yes, &second.yes) {
            (Ok(first), Ok(other)) if first != other => {
                let (a, b) = (&self.judge, &second.judge);
                let why = format!(
                    "the judges disagree: {a} says {} ({:.2}): {}; {b} says {} ({:.2}): {}",
                    word(*first),
                    self.confidence,
                    self.rationale,
                    word(*other),
                    second.confidence,
                    second.rationale,
                );
                Verdict {
                    outcome: Outcome::undetermined(why),
                    confidence: 0.0,
                    rationale: "the judges disagree".to_owned(),
                    judge: format!("{a}, {b}"),
                    quotes: self.quotes.into_iter().chain(second.quotes).collect(),
                }
            }
            (Err(first), Err(other)) => {
                let why = format!("{first}; the second judge: {other}");
                Self { yes: Err(why), ..second }.verdict(threshold)
            }
            (Ok(_), Err(why)) => {
                let why = format!("a second judge does not confirm the first: {why}");
                Self { yes: Err(why), ..second }.verdict(threshold)
            }
            // Where the first has no opinion, the second is alone.
            (Err(_), Ok(_)) => second.verdict(threshold),
            (Ok(_), Ok(_)) => Self { evidence: None, ..second }.verdict(threshold),
        }
    }

    /// The opinion of the majority of `votes`, with its share as confidence.
    pub(super) fn majority(votes: Vec<Self>) -> Option<Self> {
        let count = |wanted: bool| votes.iter().filter(|vote| vote.yes == Ok(wanted)).count();
        let (yes, no, all) = (count(true), count(false), votes.len());
        if yes == no {
            let mut tied = votes.into_iter().next()?;
            if yes > 0 {
                tied.yes = Err(format!("the votes of the judge are tied: {yes} yes, {no} no"));
            }
            return Some(tied);
        }
        let (wanted, most) = (yes > no, yes.max(no));
        let explains = votes.iter().any(|vote| vote.explains);
        let looked = votes.iter().any(|vote| vote.looked);
        let majority = votes.into_iter().filter(|vote| vote.yes == Ok(wanted));
        let mut opinion = majority.max_by(|a, b| a.confidence.total_cmp(&b.confidence))?;
        let share = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        opinion.confidence = share(most) / share(all);
        Some(Self { explains, looked, ..opinion })
    }
}

fn word(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// Whether the answer names the measurement of that number. Its tag is random: nobody who wrote into
/// the data knows it.
fn names(given: &Given, secrets: &Secrets, number: usize) -> bool {
    let tag = secrets.tag(number);
    let texts = std::iter::once(&given.rationale).chain(&given.quotes);
    texts.into_iter().any(|text| text.to_ascii_lowercase().contains(&tag))
}

fn told(sign: &Sign) -> String {
    let names = sign.names.join(" from ");
    format!("{} ({})", sign.kind.told(), air_core::redact::redact(&names))
}

/// Whether `quote` is in `shown`, which is [`normal`] already. Dots stand for what was left out.
fn occurs(quote: &str, shown: &str) -> bool {
    let quote = quote.replace('\u{2026}', "...");
    let mut parts = quote.split("...").map(normal).filter(|part| !part.is_empty()).peekable();
    parts.peek().is_some() && parts.all(|part| shown.contains(&part))
}

/// `text` without what differs between a text and a quote of it: blanks, quotes and escapes.
pub(super) fn normal(text: &str) -> String {
    let text = text.replace("\\n", " ").replace("\\t", " ");
    text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '\\' | '"' | '\'' | '`')).collect()
}
