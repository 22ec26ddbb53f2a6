//! Kleene's tables.

use super::Outcome;

const T: Outcome = Outcome::Satisfied;
const F: Outcome = Outcome::Unsatisfied;

fn u() -> Outcome {
    Outcome::undetermined("left")
}

#[test]
fn connectives_are_kleenes() {
    #[rustfmt::skip]
    let table = [
        // left right  and  or
        (T,     T,     T,   T),
        (T,     F,     F,   T),
        (T,     u(),   u(), T),
        (F,     T,     F,   T),
        (F,     F,     F,   F),
        (F,     u(),   F,   u()),
        (u(),   T,     u(), T),
        (u(),   F,     F,   u()),
        (u(),   u(),   u(), u()),
    ];
    for (left, right, and, or) in table {
        assert_eq!(left.clone().and(right.clone()), and, "{left:?} and {right:?}");
        assert_eq!(left.clone().or(right.clone()), or, "{left:?} or {right:?}");
        // De Morgan.
        let dual = left.clone().not().or(right.clone().not()).not();
        assert_eq!(dual, and, "{left:?} and {right:?}");
    }
}

#[test]
fn negation_keeps_the_unknown() {
    for (outcome, negated) in [(T, F), (F, T), (u(), u())] {
        assert_eq!(outcome.clone().not(), negated, "{outcome:?}");
        assert_eq!(negated.not(), outcome);
    }
}

#[test]
fn the_first_reason_stays() {
    let right = Outcome::undetermined("right");
    assert_eq!(u().and(right.clone()), u());
    assert_eq!(u().or(right), u());
}

#[test]
fn only_certainty_satisfies() {
    assert!(T.is_satisfied());
    assert!(!F.is_satisfied() && !u().is_satisfied());
}
