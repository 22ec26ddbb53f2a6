//! Which cases of a split are run.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::data::{Case, Language, sha256};

/// Which cases to take. Nothing set: all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// Only these categories.
    pub categories: Option<BTreeSet<u32>>,
    /// Only this language.
    pub language: Option<Language>,
    /// Only this case.
    pub case: Option<String>,
    /// At most as many of each category and language, the same each time.
    pub sample: Option<usize>,
}

impl Selection {
    /// The cases that are taken, in their order.
    pub fn of(&self, cases: &[Case]) -> Vec<Case> {
        let wanted = |case: &&Case| {
            self.categories.as_ref().is_none_or(|all| all.contains(&case.category_index))
                && self.language.is_none_or(|language| language == case.language)
                && self.case.as_ref().is_none_or(|id| *id == case.id)
        };
        let taken: Vec<Case> = cases.iter().filter(wanted).cloned().collect();
        match self.sample {
            Some(most) => sample(taken, most),
            None => taken,
        }
    }
}

/// At most `most` of each category and language, chosen by a digest of their ids.
pub(crate) fn sample(cases: Vec<Case>, most: usize) -> Vec<Case> {
    let mut strata: BTreeMap<(u32, Language), Vec<(String, &str)>> = BTreeMap::new();
    for case in &cases {
        let stratum = strata.entry((case.category_index, case.language)).or_default();
        stratum.push((sha256(case.id.as_bytes()), &case.id));
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for mut stratum in strata.into_values() {
        stratum.sort();
        taken.extend(stratum.into_iter().take(most).map(|(_, id)| id.to_owned()));
    }
    cases.into_iter().filter(|case| taken.contains(&case.id)).collect()
}
