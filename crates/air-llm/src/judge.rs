//! A language model as judge: all undecided rules of a step in one request.
//!
//! Instructions and rules are trusted. Everything else is data, sent between lines that carry a mark
//! that nobody can guess who wrote the data. What comes back is data as well: an answer counts only as
//! far as it can be held against what was shown and what AIR measured, and whatever is missing,
//! contradictory or unsure is *undetermined*, never *no*.

mod answer;
mod ask;
mod cache;
mod condense;
mod data;
mod likelihood;
mod observed;
mod opinion;
mod random;
mod render;
mod round;
mod settings;
mod text;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};

use air_core::{
    outcome::Verdict,
    port::{BoxFuture, Judge, JudgeError},
    question::{Inquiry, QuestionKind},
    rule::Rule,
};
use futures::future::join_all;

pub(crate) use self::{ask::looked as section, data::Data, random::Secrets, text::Bounded};
use self::{
    cache::Cache,
    opinion::{Opinion, Scale},
    round::{Question, Round},
};
pub use self::{
    random::{Randomness, SystemRandomness},
    settings::{Confidence, JudgeSettings},
};
use crate::{Ledger, Model, ModelError, Purpose, retrieve::Retriever};

/// A judge on a language model, and on a second one where the first is not sure.
#[derive(Clone)]
pub struct LlmJudge(Arc<Inner>);

struct Inner {
    model: Arc<dyn Model>,
    second: Option<Arc<dyn Model>>,
    settings: JudgeSettings,
    random: Arc<dyn Randomness>,
    purpose: Option<Purpose>,
    cache: OnceLock<Option<Cache>>,
    retriever: Retriever,
    ledger: Ledger,
}

impl fmt::Debug for LlmJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmJudge")
            .field("model", &self.0.model.name())
            .field("second", &self.0.second.as_ref().map(|model| model.name()))
            .finish_non_exhaustive()
    }
}

impl LlmJudge {
    /// On `model`. `second` is asked where `model` is not sure, contradicts itself or gives no answer.
    pub fn new(
        model: Arc<dyn Model>,
        second: Option<Arc<dyn Model>>,
        settings: JudgeSettings,
    ) -> Self {
        Self::with_randomness(model, second, settings, Arc::new(SystemRandomness))
    }

    /// The same, with randomness from elsewhere than the system.
    pub fn with_randomness(
        model: Arc<dyn Model>,
        second: Option<Arc<dyn Model>>,
        settings: JudgeSettings,
        random: Arc<dyn Randomness>,
    ) -> Self {
        Self::make(model, second, settings, random, None, Ledger::default())
    }

    /// The same, with an account of the guardrails that it does not read.
    #[must_use]
    pub fn with_ledger(self, ledger: Ledger) -> Self {
        let Inner { model, second, settings, random, purpose, .. } = &*self.0;
        let (model, second, random) = (Arc::clone(model), second.clone(), Arc::clone(random));
        Self::make(model, second, settings.clone(), random, *purpose, ledger)
    }

    /// The same for known questions: counted apart, and nothing is remembered.
    pub(crate) fn for_probes(model: Arc<dyn Model>, mut settings: JudgeSettings) -> Self {
        settings.cached_verdicts = 0;
        let random = Arc::new(SystemRandomness);
        Self::make(model, None, settings, random, Some(Purpose::Probe), Ledger::default())
    }

    fn make(
        model: Arc<dyn Model>,
        second: Option<Arc<dyn Model>>,
        settings: JudgeSettings,
        random: Arc<dyn Randomness>,
        purpose: Option<Purpose>,
        ledger: Ledger,
    ) -> Self {
        let (cache, retriever) = (OnceLock::new(), Retriever::default());
        Self(Arc::new(Inner { model, second, settings, random, purpose, cache, retriever, ledger }))
    }
}

impl Judge for LlmJudge {
    fn judge(&self, inquiry: Inquiry) -> BoxFuture<'static, Result<Vec<Verdict>, JudgeError>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move { inner.judge(inquiry).await })
    }
}

/// What was thought of one rule, by its place in the inquiry.
type Thought = (usize, Opinion);

impl Inner {
    async fn judge(&self, inquiry: Inquiry) -> Result<Vec<Verdict>, JudgeError> {
        let mut verdicts: Vec<Option<Verdict>> = vec![None; inquiry.rules.len()];
        if inquiry.kind == QuestionKind::WouldCause {
            let most = self.settings.guardrails;
            let (rules, facts) = (&inquiry.rules, &inquiry.facts);
            let unread = self.retriever.leave_out(rules, facts, most, &mut verdicts);
            self.ledger.unread(Purpose::Guardrails, unread);
        }
        let keys = self.keys(&inquiry);
        if let Some((cache, keys)) = &keys {
            for (verdict, key) in verdicts.iter_mut().zip(keys).filter(|(held, _)| held.is_none()) {
                *verdict = cache.get(key);
            }
        }
        let mut open: Vec<usize> =
            (0..verdicts.len()).filter(|at| matches!(verdicts.get(*at), Some(None))).collect();
        if open.is_empty() {
            return Ok(verdicts.into_iter().flatten().collect());
        }
        // The same rules in the same order make the same prefix.
        open.sort_by_key(|at| inquiry.rules.get(*at).map(|rule| &rule.name));
        let data = Arc::new(Data::new(&inquiry, &self.settings));
        for (at, opinion, looked) in self.decide(&inquiry, &open, &data).await? {
            if let (Some((cache, keys)), false) = (&keys, looked) {
                keys.get(at).into_iter().for_each(|key| cache.put(*key, &opinion));
            }
            if let Some(verdict) = verdicts.get_mut(at) {
                *verdict = Some(opinion);
            }
        }
        let missing = || Opinion::none("the judge did not answer", "").verdict(1.0);
        Ok(verdicts.into_iter().map(|verdict| verdict.unwrap_or_else(missing)).collect())
    }

    /// The verdicts on `open`, and whether each rests on more than the question.
    async fn decide(
        &self,
        inquiry: &Inquiry,
        open: &[usize],
        data: &Arc<Data>,
    ) -> Result<Vec<(usize, Verdict, bool)>, JudgeError> {
        let purpose = self.purpose.unwrap_or(match inquiry.kind {
            QuestionKind::Happened => Purpose::Check,
            QuestionKind::WouldCause => Purpose::Guardrails,
            QuestionKind::Stopped | QuestionKind::Restored => Purpose::Verification,
        });
        let first = self.opinions(&*self.model, inquiry, open, data, purpose).await;
        let threshold = self.settings.threshold;
        let Some(second) = &self.second else {
            let thoughts = first.map_err(failed)?.into_iter();
            let verdicts = thoughts.map(|(at, opinion)| {
                let looked = opinion.looked;
                (at, opinion.verdict(threshold), looked)
            });
            return Ok(verdicts.collect());
        };
        let name = self.model.name();
        let first = first.unwrap_or_else(|error| {
            open.iter().map(|at| (*at, Opinion::none(error.to_string(), name))).collect()
        });
        let unsure = |opinion: &Opinion| opinion.explains || !opinion.is_sure(threshold);
        let again: Vec<usize> =
            first.iter().filter(|(_, opinion)| unsure(opinion)).map(|(at, _)| *at).collect();
        let asked = self.opinions(&**second, inquiry, &again, data, Purpose::Escalation).await;
        let asked = asked.unwrap_or_else(|error| {
            let none = |at: &usize| (*at, Opinion::none(error.to_string(), second.name()));
            again.iter().map(none).collect()
        });
        let mut seconds: HashMap<usize, Opinion> = asked.into_iter().collect();
        let verdicts = first.into_iter().map(|(at, opinion)| {
            let mut looked = opinion.looked;
            if let Some(other) = seconds.remove(&at) {
                looked |= other.looked;
                (at, opinion.with(other, threshold), looked)
            } else {
                (at, opinion.verdict(threshold), looked)
            }
        });
        Ok(verdicts.collect())
    }

    /// What `model` thinks of the rules at `open`. Fails where all of its requests did.
    async fn opinions(
        &self,
        model: &dyn Model,
        inquiry: &Inquiry,
        open: &[usize],
        data: &Arc<Data>,
        purpose: Purpose,
    ) -> Result<Vec<Thought>, ModelError> {
        let chunks = open.chunks(self.settings.rules_per_request.max(1)).map(|places| async move {
            let rules = places.iter().filter_map(|at| inquiry.rules.get(*at)).cloned().collect();
            let look = inquiry.look.clone();
            let data = Arc::clone(data);
            let question = Question { kind: inquiry.kind, rules, data, look, purpose };
            (places, self.votes(model, &question).await)
        });
        let mut thoughts: Vec<Thought> = Vec::new();
        let mut failure = None;
        let mut answered = open.is_empty();
        for (places, opinions) in join_all(chunks).await {
            match opinions {
                Ok(opinions) => {
                    answered = true;
                    thoughts.extend(places.iter().copied().zip(opinions));
                }
                Err(error) => {
                    let none = |at: &usize| (*at, Opinion::none(error.to_string(), model.name()));
                    thoughts.extend(places.iter().map(none));
                    failure = Some(error);
                }
            }
        }
        match failure {
            Some(error) if !answered => Err(error),
            _ => Ok(thoughts),
        }
    }

    async fn votes(
        &self,
        model: &dyn Model,
        question: &Question,
    ) -> Result<Vec<Opinion>, ModelError> {
        let count = match self.settings.confidence {
            Confidence::Votes(count) => count.clamp(1, 32),
            Confidence::Stated | Confidence::LogProbabilities => 1,
        };
        let votes = (0..count).map(|_| async {
            let secrets = Secrets::new(&*self.random).map_err(ModelError::Connection)?;
            round::ask(model, question, &self.settings, secrets).await
        });
        let (mut ballots, mut failure) = (Vec::new(), None);
        for vote in join_all(votes).await {
            match vote {
                Ok(round) => ballots.push(opinions(model, question, &round)),
                Err(error) => failure = Some(error),
            }
        }
        if let (true, Some(error)) = (ballots.is_empty(), &failure) {
            return Err(error.clone());
        }
        if count == 1 {
            return Ok(ballots.pop().unwrap_or_default());
        }
        // A vote that failed counts as one that could not tell.
        let absent = failure.map_or_else(String::new, |error| error.to_string());
        let missing = usize::try_from(count).unwrap_or(0).saturating_sub(ballots.len());
        let mut ballots: Vec<_> = ballots.into_iter().map(Vec::into_iter).collect();
        let opinions = question.rules.iter().map(|_| {
            let mut votes: Vec<Opinion> = ballots.iter_mut().filter_map(Iterator::next).collect();
            votes.extend((0..missing).map(|_| Opinion::none(absent.as_str(), model.name())));
            let none = || Opinion::none("the judge did not answer", model.name());
            Opinion::majority(votes).unwrap_or_else(none)
        });
        Ok(opinions.collect())
    }

    /// The cache and the keys of all questions, where verdicts may be remembered. After a response
    /// they may not: what was fresh then is not fresh now.
    fn keys(&self, inquiry: &Inquiry) -> Option<(&Cache, Vec<cache::Key>)> {
        let repeatable = matches!(inquiry.kind, QuestionKind::Happened | QuestionKind::WouldCause);
        if self.settings.cached_verdicts == 0 || !repeatable {
            return None;
        }
        let cache = self.cache.get_or_init(|| {
            let mut secret = [0; 32];
            self.random.fill(&mut secret).ok()?;
            Some(Cache::new(secret, self.settings.cached_verdicts))
        });
        let cache = cache.as_ref()?;
        let second = self.second.as_ref().map_or("", |second| second.name());
        let common = cache.common(inquiry, &format!("{} {second}", self.model.name()));
        let keys = inquiry.rules.iter().map(|rule| Cache::key(&common, rule)).collect();
        Some((cache, keys))
    }
}

/// What the answers of one round are worth, one a rule.
fn opinions(model: &dyn Model, question: &Question, round: &Round) -> Vec<Opinion> {
    let prompt = ask::prompt(question.kind);
    let judge = format!("{} {}/{}", model.name(), prompt.name, prompt.version);
    let shown = opinion::normal(&round.shown);
    let opinion = |(rule, given): (&Arc<Rule>, _)| {
        let scale = Scale {
            kind: question.kind,
            check: &rule.check,
            data: &question.data,
            round,
            shown: &shown,
            judge: &judge,
        };
        Opinion::of(given, &scale)
    };
    question.rules.iter().zip(&round.answers).map(opinion).collect()
}

fn failed(error: ModelError) -> JudgeError {
    match error {
        ModelError::Timeout(_) => JudgeError::Timeout,
        error => JudgeError::Failed(Box::new(error)),
    }
}
