//! Generalisation by explanation: the part of the incident's rule that says why it is one.
//!
//! Where a rule can be decided before a step, the alternative of its condition that the step fulfilled is
//! the widest class of which every member is an incident by the rule's own words (Mitchell, Keller and
//! Kedar-Cabelli, 1986). Nothing is guessed.

use air_core::{
    fact::{Facts, Root, Roots},
    rule::Rule,
};
use air_lang::expr::{self, Moment};

/// The alternatives of the rule's condition that can be told before a step.
pub(crate) fn alternatives(rule: &Rule) -> Vec<String> {
    let Some(condition) = rule.decision.sufficient() else { return Vec::new() };
    let parts = expr::alternatives(condition.source());
    parts.into_iter().filter(|part| is_told_before(part)).collect()
}

fn is_told_before(part: &str) -> bool {
    let of_the_call = Roots::NONE.with(Root::Code).with(Root::Args).with(Root::Taint);
    expr::compile(part, Moment::Before).is_ok_and(|condition| {
        let reads = condition.reads();
        reads.without(of_the_call) != reads
    })
}

/// Whether `part` holds.
pub(crate) fn holds(part: &str, facts: &Facts) -> bool {
    expr::compile(part, Moment::Before)
        .is_ok_and(|condition| condition.evaluate(facts).is_satisfied())
}

/// Whether it speaks of the call by the class of what it does, and not by its tool or arguments.
pub(crate) fn is_of_any_tool(part: &str) -> bool {
    let of_one_tool = Roots::NONE.with(Root::Args).with(Root::Tool);
    expr::compile(part, Moment::Before).is_ok_and(|condition| {
        let reads = condition.reads();
        reads.without(of_one_tool) == reads
    })
}
