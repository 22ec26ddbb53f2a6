//! How far the conditions of a rule decide it.

use std::sync::Arc;

use crate::{
    condition::{Budget, Condition},
    fact::{Facts, Roots},
    outcome::{Outcome, Verdict},
    rule::Decision,
};

const OVERSPENT: &str = "the rules of this step exceeded its budget";
const NO_CONDITION: &str = "no condition decides it and no judge is configured";

pub(super) enum Tier {
    Needs(Roots),
    Answered(Verdict),
    /// No condition decides it; why.
    Open(Arc<str>),
}

pub(super) fn by_condition(decision: &Decision, facts: &Facts, budget: &mut Budget) -> Tier {
    match decision {
        Decision::Decide(condition) => match ask(condition, facts, budget) {
            Ok(Outcome::Undetermined(why)) if !condition.is_final() => Tier::Open(why),
            // True and false are final; what cannot be told is left to a judge.
            Ok(outcome) => Tier::Answered(Verdict::by_condition(outcome, condition.source())),
            Err(tier) => tier,
        },
        Decision::Bounds { when, evidence } => {
            if let Some(when) = when {
                match ask(when, facts, budget) {
                    Ok(Outcome::Unsatisfied) => {
                        let verdict = Verdict::by_condition(Outcome::Unsatisfied, when.source());
                        return Tier::Answered(verdict);
                    }
                    Ok(_) => {}
                    Err(tier) => return tier,
                }
            }
            if let Some(evidence) = evidence {
                match ask(evidence, facts, budget) {
                    Ok(Outcome::Satisfied) => {
                        let verdict = Verdict::by_condition(Outcome::Satisfied, evidence.source());
                        return Tier::Answered(verdict);
                    }
                    Ok(Outcome::Undetermined(why)) => return Tier::Open(why),
                    Ok(Outcome::Unsatisfied) => {}
                    Err(tier) => return tier,
                }
            }
            Tier::Open(NO_CONDITION.into())
        }
    }
}

/// What a condition answers, or what stands in the way.
fn ask(
    condition: &Arc<dyn Condition>,
    facts: &Facts,
    budget: &mut Budget,
) -> Result<Outcome, Tier> {
    let missing = condition.reads().without(facts.supplied());
    let at_hand = missing.intersection(Roots::AT_HAND);
    if !at_hand.is_empty() {
        return Err(Tier::Needs(at_hand));
    }
    if !missing.is_empty() && missing == condition.reads() {
        return Err(Tier::Needs(missing));
    }
    if budget.is_spent() {
        let outcome = Outcome::undetermined(OVERSPENT);
        return Err(Tier::Answered(Verdict::by_condition(outcome, "")));
    }
    match condition.evaluate_within(facts, budget) {
        // More facts may tell. True and false stay what they are, so those need no more.
        Outcome::Undetermined(_) if !missing.is_empty() => Err(Tier::Needs(missing)),
        _ if budget.is_spent() => {
            let outcome = Outcome::undetermined(OVERSPENT);
            Err(Tier::Answered(Verdict::by_condition(outcome, "")))
        }
        outcome => Ok(outcome),
    }
}
