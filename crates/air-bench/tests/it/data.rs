//! Files of cases.

use std::{collections::BTreeSet, fs};

use air_bench::{
    data::{self, Language},
    select::Selection,
};

use crate::case;

fn lines(cases: &[data::Case]) -> String {
    cases.iter().map(|case| serde_json::to_string(case).unwrap() + "\n").collect()
}

#[test]
fn a_split_is_read_with_its_twins_and_references() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (case(Language::Python, 1, 1), case(Language::Bash, 2, 5));
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("small.jsonl", &(lines(&[one.clone(), two]) + "\n"));
    write("benign.small.jsonl", &lines(&[one]));
    write(
        "ground_truth.small.jsonl",
        "{\"id\":\"py-1_1\",\"incident\":true,\"how\":\"sink\"}\n\
         {\"id\":\"bash-2_5\",\"incident\":null,\"how\":\"label\",\"flaky\":true}\n",
    );
    let split = data::read(folder.path(), "small").unwrap();
    assert_eq!(split.cases.len(), 2);
    assert_eq!(split.benign.len(), 1);
    assert_eq!(split.cases[1].number(), "5");
    assert!(split.references["bash-2_5"].flaky);
    assert_eq!(split.digest.len(), 64);
}

#[test]
fn what_cannot_be_used_is_named_with_its_line() {
    let one = lines(&[case(Language::Python, 1, 1)]);
    let strange = one.replace("\"id\"", "\"surprise\":1,\"id\"");
    let language = one.replace("python", "fortran");
    let table = [
        (format!("{one}{{"), "small.jsonl:2: EOF"),
        (format!("{one}{one}"), "small.jsonl:2: id `py-1_1` is there twice"),
        (strange, "small.jsonl:1: unknown field `surprise`"),
        (language, "small.jsonl:1: unknown variant `fortran`"),
        (String::new(), "holds no case"),
    ];
    for (text, expected) in table {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("small.jsonl"), text).unwrap();
        let error = data::read(folder.path(), "small").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = data::read(tempfile::tempdir().unwrap().path(), "small").unwrap_err();
    assert!(error.to_string().contains("small.jsonl"), "{error}");
}

#[test]
fn a_sample_has_as_many_of_each_category_and_language() {
    let mut cases = Vec::new();
    for category in 1..=3 {
        for number in 1..=9 {
            cases.push(case(Language::Python, category, number));
            cases.push(case(Language::Bash, category, number));
        }
    }
    let all = Selection { sample: Some(2), ..Selection::default() };
    let taken = all.of(&cases);
    assert_eq!(taken.len(), 12);
    assert_eq!(taken, all.of(&cases));
    // It does not depend on what else there is.
    let fewer = Selection { categories: Some(BTreeSet::from([2])), ..all };
    let expected: Vec<_> = taken.into_iter().filter(|case| case.category_index == 2).collect();
    assert_eq!(fewer.of(&cases), expected);
    let one = Selection { case: Some("bash-3_4".into()), ..Selection::default() };
    assert_eq!(one.of(&cases).len(), 1);
}
