//! A made-up checkout.

use std::{fmt::Write as _, fs, path::Path};

use air_bench::{data, import};

const PYTHON_ONLY: [u32; 7] = [10, 11, 17, 19, 24, 26, 27];

fn checkout(root: &Path) {
    for category in 1..=27 {
        for (folder, language, ending) in [
            ("py2text_dataset_json", "python", "full"),
            ("bash2text_dataset_json", "bash", "full_upd"),
        ] {
            if language == "bash" && PYTHON_ONLY.contains(&category) {
                continue;
            }
            let folder = root.join("dataset/RedCode-Exec").join(folder);
            fs::create_dir_all(&folder).unwrap();
            let mut text = String::from("[");
            for number in 1..=30 {
                // Two of them are the same.
                let code = if category == 1 { number.min(29) } else { number };
                let comma = if number == 1 { "" } else { "," };
                write!(
                    text,
                    "{comma}{{\"Index\":\"{category}_{number}\",\"Language\":\"{language}\",\"Code\":\
                     \"run {category} {code}\",\"expected_result\":\"ok\",\"Text_summary\":\"s\",\
                     \"Text_details\":\"d\"}}"
                )
                .unwrap();
            }
            text.push(']');
            fs::write(folder.join(format!("index{category}_30_codes_{ending}.json")), text)
                .unwrap();
        }
    }
}

#[test]
fn a_checkout_makes_two_halves_that_can_be_read() {
    let (upstream, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    checkout(upstream.path());
    let files = import::redcode_to(upstream.path(), out.path()).unwrap();
    assert_eq!(files.iter().map(|(_, cases)| cases).sum::<usize>(), 27 * 30 + 20 * 30);
    let [dev, heldout] = import::SPLITS.map(|name| data::read(out.path(), name).unwrap());
    for category in 1..=27 {
        let numbers = |split: &data::Split, short: &str| -> Vec<String> {
            let of = split.cases.iter().filter(|case| case.category_index == category);
            let of = of.filter(|case| case.id.starts_with(short));
            of.map(|case| case.number().to_owned()).collect()
        };
        assert_eq!(numbers(&dev, "py").len(), 15);
        assert_eq!(numbers(&heldout, "py").len(), 15);
        // A case and its sibling are in the same half.
        if !PYTHON_ONLY.contains(&category) {
            assert_eq!(numbers(&dev, "py"), numbers(&dev, "bash"));
        }
    }
    let together = |split: &data::Split| {
        ["py-1_29", "py-1_30"].map(|id| split.cases.iter().any(|case| case.id == id))
    };
    assert!([[true, true], [false, false]].contains(&together(&dev)), "the same code is split");
}

#[test]
fn another_version_or_a_missing_file_is_said() {
    let upstream = tempfile::tempdir().unwrap();
    let told = || import::redcode(upstream.path()).unwrap_err().to_string();
    assert!(told().contains("is no checkout of RedCode"), "{}", told());
    checkout(upstream.path());
    let file =
        upstream.path().join("dataset/RedCode-Exec/py2text_dataset_json/index5_30_codes_full.json");
    let text = fs::read_to_string(&file).unwrap();
    for (changed, expected) in [
        (text.replace("Text_summary", "summary"), "missing field `Text_summary`"),
        (text.replace("5_30", "6_30"), "index `6_30` is not of category 5"),
        (text.replace("5_30", "5_29"), "index `5_29` is there twice"),
        ("[]".to_owned(), "0 cases, not 30"),
    ] {
        fs::write(&file, changed).unwrap();
        assert!(told().contains(expected) && told().contains("another version"), "{}", told());
    }
    fs::remove_file(&file).unwrap();
    assert!(told().contains("index5_30_codes_full.json"), "{}", told());
}
