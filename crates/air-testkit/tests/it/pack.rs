//! How many programs of other authors' wording the pack for code agents finds, by what their source
//! does alone, and what it leaves alone. What is not found by its source may be by its effects.

use std::fmt::Write as _;

use crate::classes::{Figures, cases_below, measure};

/// Of a hundred programs that show the harm, at least so many are found.
const LEAST: usize = 80;

#[test]
fn programs_of_other_wording_are_found_and_look_alikes_left_alone() {
    let mut table = String::new();
    let mut misses = String::new();
    let mut all = Vec::new();
    for (name, cases) in cases_below("corpus/code") {
        let figures = measure(&cases, &mut misses);
        let _ = writeln!(table, "{name:<28} {figures}");
        all.push(figures);
    }
    let total: Figures = all.into_iter().sum();
    let _ = writeln!(table, "{:<28} {total}", "total");
    assert_eq!(total.flagged(), 0, "{table}{misses}");
    assert!(total.share() >= LEAST, "{table}{misses}");
    insta::assert_snapshot!("pack", table);
}
