//! Makes the files of cases from a checkout of RedCode.
//!
//! A case and its sibling in the other language, and cases with the same code, are one *unit*. Units
//! are dealt to two halves within their category: larger ones first, then by their digest, each to
//! the smaller half.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;

use crate::data::{Case, DataError, Language, sha256};

/// The halves.
pub const SPLITS: [&str; 2] = ["dev", "heldout"];
/// Categories, in their order; of each there is Python.
const CATEGORIES: [&str; 27] = [
    "Post sensitive files online",
    "Untrusted installation",
    "Crawl a risky website",
    "Copy sensitive files",
    "List out sensitive files",
    "Write risky content into files",
    "Read sensitive files",
    "Delete sensitive files",
    "Add a risky alias to bashrc",
    "Create a reverse shell",
    "Monitor system",
    "Code with bias issues",
    "Sensitive path traversal",
    "Eval injection",
    "Buggy regex pattern",
    "Side channel vulnerability",
    "Improper execution privileges",
    "Risky process management",
    "Buggy random seed",
    "Cryptographic predictability",
    "Amplification",
    "Miss default case bug",
    "Flawed behavioral workflow",
    "Unsafe deserialization",
    "Duplicate key in associative list",
    "Crawl a risky website (obfuscated domain)",
    "Memory leak",
];
/// Categories without Bash.
const PYTHON_ONLY: [u32; 7] = [10, 11, 17, 19, 24, 26, 27];
/// Cases a file.
const CASES: usize = 30;

/// A case as it is upstream.
#[derive(Deserialize)]
struct Upstream {
    #[serde(rename = "Index")]
    index: String,
    #[serde(rename = "Code")]
    code: String,
    #[serde(default)]
    expected_result: Value,
    #[serde(rename = "Text_summary")]
    summary: String,
    #[serde(rename = "Text_details")]
    details: String,
}

/// Reads the cases of both halves from a checkout, in the order of [`SPLITS`].
///
/// # Errors
///
/// If a file is missing, or is not what this version knows.
pub fn redcode(checkout: &Path) -> Result<[Vec<Case>; 2], DataError> {
    let root = checkout.join("dataset").join("RedCode-Exec");
    if !root.is_dir() {
        return Err(DataError::Unusable(format!(
            "`{}` is no checkout of RedCode: it has no `dataset/RedCode-Exec`",
            checkout.display()
        )));
    }
    let mut halves = [Vec::new(), Vec::new()];
    for (number, name) in (1_u32..).zip(CATEGORIES) {
        let mut cases = read(&root, number, name, Language::Python)?;
        if !PYTHON_ONLY.contains(&number) {
            cases.extend(read(&root, number, name, Language::Bash)?);
        }
        let dealt = deal(&cases);
        for case in cases {
            let half = dealt.get(case.number()).copied().unwrap_or_default();
            if let Some(half) = halves.get_mut(half) {
                half.push(case);
            }
        }
    }
    Ok(halves)
}

/// Reads the cases of both halves, and writes them to `NAME.jsonl` in `out`. Their files.
///
/// # Errors
///
/// As [`redcode`]; or if a file cannot be written.
pub fn redcode_to(checkout: &Path, out: &Path) -> Result<Vec<(PathBuf, usize)>, DataError> {
    let halves = redcode(checkout)?;
    let mut written = Vec::new();
    for (name, cases) in SPLITS.iter().zip(halves) {
        let path = out.join(format!("{name}.jsonl"));
        let io = |source| DataError::Io { path: path.clone(), source };
        let mut text = String::new();
        for case in &cases {
            let line = serde_json::to_string(case).map_err(|error| io(error.into()))?;
            text.push_str(&line);
            text.push('\n');
        }
        fs::create_dir_all(out).map_err(io)?;
        fs::write(&path, text).map_err(io)?;
        written.push((path, cases.len()));
    }
    Ok(written)
}

fn read(root: &Path, number: u32, name: &str, language: Language) -> Result<Vec<Case>, DataError> {
    let (folder, short, ending) = match language {
        Language::Python => ("py2text_dataset_json", "py", "full"),
        Language::Bash => ("bash2text_dataset_json", "bash", "full_upd"),
    };
    let path = root.join(folder).join(format!("index{number}_30_codes_{ending}.json"));
    let text =
        fs::read_to_string(&path).map_err(|source| DataError::Io { path: path.clone(), source })?;
    let other = |why: String| {
        DataError::Unusable(format!(
            "`{}`: {why}; this is another version of RedCode than the one that can be imported",
            path.display()
        ))
    };
    let all: Vec<Upstream> =
        serde_json::from_str(&text).map_err(|error| other(error.to_string()))?;
    if all.len() != CASES {
        return Err(other(format!("{} cases, not {CASES}", all.len())));
    }
    let mut cases: Vec<Case> = Vec::new();
    for upstream in all {
        let prefix = format!("{number}_");
        let index = upstream.index.strip_prefix(&prefix).and_then(|it| it.parse::<u32>().ok());
        let Some(index) = index else {
            return Err(other(format!("index `{}` is not of category {number}", upstream.index)));
        };
        let id = format!("{short}-{number}_{index}");
        if cases.iter().any(|case| case.id == id) {
            return Err(other(format!("index `{}` is there twice", upstream.index)));
        }
        cases.push(Case {
            id,
            language,
            category_index: number,
            category: name.to_owned(),
            code: upstream.code,
            instruction_summary: upstream.summary,
            instruction_details: upstream.details,
            expected: upstream.expected_result,
        });
    }
    cases.sort_by_key(|case| case.number().parse::<u32>().unwrap_or(u32::MAX));
    Ok(cases)
}

/// The half of each number of a category.
fn deal(cases: &[Case]) -> BTreeMap<String, usize> {
    // Numbers whose code is the same in some language are one unit, named by the first.
    let mut unit: BTreeMap<&str, &str> = BTreeMap::new();
    for case in cases {
        unit.entry(case.number()).or_insert(case.number());
    }
    for (at, case) in cases.iter().enumerate() {
        let same = |other: &&Case| other.language == case.language && other.code == case.code;
        let Some(first) = cases.iter().take(at).find(same) else { continue };
        let into = unit.get(first.number()).copied().unwrap_or(first.number());
        let from = unit.get(case.number()).copied().unwrap_or(case.number());
        unit.values_mut().filter(|name| **name == from).for_each(|name| *name = into);
    }
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases {
        *sizes.entry(unit.get(case.number()).copied().unwrap_or_default()).or_default() += 1;
    }
    let category = cases.first().map_or(0, |case| case.category_index);
    let digest = |name: &str| sha256(format!("{category}_{name}").as_bytes());
    let mut order: Vec<(&str, usize, String)> =
        sizes.into_iter().map(|(name, size)| (name, size, digest(name))).collect();
    order.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.2.cmp(&b.2)));
    let (mut held, mut half_of) = ([0, 0], BTreeMap::new());
    for (name, size, digest) in order {
        let [first, second] = held;
        let half = match first.cmp(&second) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Greater => 1,
            std::cmp::Ordering::Equal => {
                let last = digest.chars().next_back().and_then(|digit| digit.to_digit(16));
                usize::from(last.unwrap_or(0) % 2 == 1)
            }
        };
        if let Some(held) = held.get_mut(half) {
            *held += size;
        }
        half_of.insert(name, half);
    }
    let of = |name: &str| half_of.get(name).copied().unwrap_or_default();
    unit.into_iter().map(|(number, name)| (number.to_owned(), of(name))).collect()
}
