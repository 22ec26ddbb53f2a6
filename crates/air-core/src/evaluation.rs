//! Decides one step: which facts are needed, which questions remain, and then the decision.
//!
//! A driver calls [`Evaluation::advance`] until it is decided, supplying facts and answers between.
//! Nothing here acts or waits.

mod concerned;
mod tier;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::{
    concerned::Concerned,
    tier::{Tier, by_condition},
};
use crate::{
    condition::Budget,
    fact::{Facts, Roots},
    guardrail::Mode,
    id::RuleName,
    names::Names,
    outcome::{Outcome, Verdict},
    policy::{FailPolicy, OnUndetermined},
    question::QuestionKind,
    rule::{Hit, Rule, RuleKind, Severity},
    ruleset::RuleSet,
};

/// Steps that the conditions of all rules together may take at one point. Past it, a rule is
/// undetermined.
pub const STEP_BUDGET: u64 = 4_000_000;
/// How many undetermined rules a decision names.
pub const MAX_UNDETERMINED: usize = 256;

/// What to do with a step that has not run yet. The strictest hit wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Run it.
    Allow,
    /// Run it and tell the agent.
    Warn,
    /// Hold it for a person; where nobody can be asked, refuse it.
    Ask,
    /// Refuse it.
    Block,
}

/// What to do after a step has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Review {
    /// Go on.
    Continue,
    /// Take no further call until a person has looked.
    Ask,
    /// It is an incident.
    Respond,
}

/// A rule that counted, and why.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Its verdict: satisfied or undetermined.
    pub verdict: Verdict,
}

/// A finding as it is journaled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingRecord {
    /// The rule's name.
    pub rule: RuleName,
    /// Its severity.
    pub severity: Severity,
    /// The verdict.
    pub verdict: Verdict,
}

impl Finding {
    /// What is journaled of it.
    pub fn record(&self) -> FindingRecord {
        FindingRecord {
            rule: self.rule.name.clone(),
            severity: self.rule.severity,
            verdict: self.verdict.clone(),
        }
    }
}

/// A decision, and all that led to it.
#[derive(Debug, Clone)]
pub struct Decided<D> {
    /// What to do.
    pub decision: D,
    /// Rules that hold, gravest first.
    pub hits: Vec<Finding>,
    /// Rules that could not be decided, gravest first; [`MAX_UNDETERMINED`] at most.
    pub undetermined: Vec<Finding>,
    /// How many more could not be decided.
    pub more_undetermined: usize,
    /// Rules in shadow that hold. They do not act.
    pub shadow: Vec<Finding>,
}

/// What an evaluation needs next.
#[derive(Debug)]
pub enum Advance<D> {
    /// These facts; supply each, as unknown if it cannot be had.
    Need(Roots),
    /// Answers to these questions, by number, through [`Evaluation::answer`].
    Ask(Vec<(usize, Arc<Rule>)>),
    /// Nothing: it is decided.
    Decided(Decided<D>),
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::BeforeStep {}
    impl Sealed for super::AfterStep {}
}

/// A point in the agent's loop. Each has its own type of decision, so that they cannot be mixed up.
pub trait Point: sealed::Sealed {
    /// What an evaluation ends in.
    type Decision: Copy;
    /// What a judge is asked.
    const QUESTION: QuestionKind;
    /// Whether nothing else that is found can change the decision once this rule holds.
    #[doc(hidden)]
    fn is_final(rule: &Rule) -> bool;
    #[doc(hidden)]
    fn decide(hits: &[Finding], undetermined: &[Finding], policy: &FailPolicy) -> Self::Decision;
}

/// Before a step: guardrails.
#[derive(Debug)]
pub enum BeforeStep {}

/// After a step: AIR rules.
#[derive(Debug)]
pub enum AfterStep {}

impl Point for BeforeStep {
    type Decision = Gate;
    const QUESTION: QuestionKind = QuestionKind::WouldCause;

    fn is_final(rule: &Rule) -> bool {
        matches!(rule.kind, RuleKind::Guardrail { hit: Hit::Block, .. })
    }

    fn decide(hits: &[Finding], undetermined: &[Finding], policy: &FailPolicy) -> Gate {
        let hits = hits.iter().map(|finding| match finding.rule.kind {
            RuleKind::Guardrail { hit, .. } => hit,
            RuleKind::Incident { .. } => Hit::Warn,
        });
        let unknown = undetermined.iter().map(|finding| policy.before(&finding.rule));
        match hits.chain(unknown).max() {
            None => Gate::Allow,
            Some(Hit::Warn) => Gate::Warn,
            Some(Hit::Ask) => Gate::Ask,
            Some(Hit::Block) => Gate::Block,
        }
    }
}

impl Point for AfterStep {
    type Decision = Review;
    const QUESTION: QuestionKind = QuestionKind::Happened;

    fn is_final(_: &Rule) -> bool {
        true
    }

    fn decide(hits: &[Finding], undetermined: &[Finding], policy: &FailPolicy) -> Review {
        let holds = |finding: &Finding| policy.after(finding.rule.severity) == OnUndetermined::Hold;
        if !hits.is_empty() {
            Review::Respond
        } else if undetermined.iter().any(holds) {
            Review::Ask
        } else {
            Review::Continue
        }
    }
}

/// The rules that one step concerns, and what is known of each.
#[derive(Debug)]
#[must_use = "an evaluation decides nothing until it is advanced"]
pub struct Evaluation<P> {
    rules: Arc<RuleSet>,
    concerned: Concerned,
    budget: Budget,
    policy: FailPolicy,
    judged: bool,
    point: std::marker::PhantomData<P>,
}

impl<P: Point> Evaluation<P> {
    /// `judged`: whether a judge can be asked; otherwise what no condition decides is undetermined.
    pub(crate) fn new(
        rules: &Arc<RuleSet>,
        tool: Names<'_>,
        policy: FailPolicy,
        judged: bool,
    ) -> Self {
        Self {
            rules: Arc::clone(rules),
            concerned: Concerned::by(rules.index(P::QUESTION), tool),
            budget: Budget::new(STEP_BUDGET),
            policy,
            judged,
            point: std::marker::PhantomData,
        }
    }

    /// Whether no rule is activated: the step needs no facts at all.
    pub fn is_empty(&self) -> bool {
        self.concerned.is_empty()
    }

    /// Goes as far as `facts` and the answers so far allow.
    pub fn advance(&mut self, facts: &Facts) -> Advance<P::Decision> {
        let mut need = self.concerned.look_up(self.rules.index(P::QUESTION), facts);
        let mut ask = Vec::new();
        let judged = self.judged;
        for (at, item) in self.concerned.items.iter_mut().enumerate() {
            if item.verdict.is_none() && !item.for_judge {
                match by_condition(&item.rule.decision, facts, &mut self.budget) {
                    Tier::Needs(roots) => need = need.union(roots),
                    Tier::Answered(verdict) => item.verdict = Some(verdict),
                    Tier::Open(_) if judged => item.for_judge = true,
                    Tier::Open(why) => {
                        item.verdict = Some(Verdict::by_condition(Outcome::undetermined(why), ""));
                    }
                }
            }
            if item.verdict.is_none() && item.for_judge {
                ask.push((at, Arc::clone(&item.rule)));
            }
        }
        if !need.is_empty() {
            Advance::Need(need)
        } else if !ask.is_empty() && !self.is_settled() {
            Advance::Ask(ask)
        } else {
            Advance::Decided(self.decide())
        }
    }

    /// Whether a rule in force holds that decides, whatever a judge would say of others: what a condition
    /// has proved waits for nobody.
    fn is_settled(&self) -> bool {
        self.concerned.items.iter().any(|item| {
            let holds = item.verdict.as_ref().is_some_and(|it| it.outcome.is_satisfied());
            holds && item.mode == Mode::Enforce && P::is_final(&item.rule)
        })
    }

    /// A judge's answer to the question of that number.
    pub fn answer(&mut self, at: usize, verdict: Verdict) {
        if let Some(item) = self.concerned.items.get_mut(at) {
            item.verdict = Some(verdict);
        }
    }

    fn decide(&mut self) -> Decided<P::Decision> {
        let (mut hits, mut undetermined, mut shadow) = (Vec::new(), Vec::new(), Vec::new());
        let mut items = std::mem::take(&mut self.concerned.items);
        items.sort_unstable_by_key(|item| item.at);
        for item in items {
            let Some(verdict) = item.verdict else { continue };
            let list = match (&verdict.outcome, item.mode) {
                (Outcome::Unsatisfied, _)
                | (_, Mode::Retired)
                | (Outcome::Undetermined(_), Mode::Shadow) => continue,
                (Outcome::Satisfied, Mode::Shadow) => &mut shadow,
                (Outcome::Satisfied, Mode::Enforce) => &mut hits,
                (Outcome::Undetermined(_), Mode::Enforce) => &mut undetermined,
            };
            list.push(Finding { rule: item.rule, verdict });
        }
        let gravest = |finding: &Finding| std::cmp::Reverse(finding.rule.severity);
        hits.sort_by_key(gravest);
        undetermined.sort_by_key(gravest);
        let decision = P::decide(&hits, &undetermined, &self.policy);
        let more_undetermined = undetermined.len().saturating_sub(MAX_UNDETERMINED);
        undetermined.truncate(MAX_UNDETERMINED);
        Decided { decision, hits, undetermined, more_undetermined, shadow }
    }
}

#[cfg(test)]
mod tests;
