//! Each file of `tests/lints` is named after a lint. Every rule of its blocks `air bad` gives that
//! lint, in pairs where it takes two; no rule of its blocks `air good` does.

use std::{fmt::Write as _, fs, path::PathBuf};

use air_lang::{Code, Diagnostic, Parsed, Severity, lint, parse};

pub(crate) fn path(of: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(of)
}

/// The blocks of a Markdown file that are fenced as `info`.
pub(crate) fn blocks(text: &str, info: &str) -> Vec<String> {
    let opening = format!("```{info}");
    let mut found: Vec<String> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_end() == opening {
            let block = lines.by_ref().take_while(|line| !line.starts_with("```"));
            found.push(block.fold(String::new(), |text, line| text + line + "\n"));
        }
    }
    found
}

/// All findings of a set of one file, those of the parser included.
pub(crate) fn findings(parsed: Parsed) -> Vec<Diagnostic> {
    let mut found = parsed.diagnostics().to_vec();
    found.extend(lint(&[("a.air", parsed)], &lint::Settings::default()).remove(0));
    found
}

/// How often `code` was given within each rule of `source`, by where the rules start.
fn given(source: &str, code: Code) -> Vec<(String, usize)> {
    let found = findings(parse(source));
    let starts: Vec<usize> = source.match_indices("rule @").map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([source.len()]);
    let rules = starts.iter().zip(ends).map(|(start, end)| {
        let within = |it: &&Diagnostic| it.code == code && (*start..end).contains(&it.span.start);
        let name = source[*start..end].lines().next().unwrap_or("").to_owned();
        (name, found.iter().filter(within).count())
    });
    rules.collect()
}

#[test]
fn each_lint_is_given_where_it_belongs_and_nowhere_else() {
    let mut wrong = String::new();
    for file in fs::read_dir(path("tests/lints")).unwrap() {
        let file = file.unwrap().path();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let code = Code::ALL.iter().find(|code| code.as_str() == name);
        let code = *code.unwrap_or_else(|| panic!("`{name}` is no lint"));
        let text = fs::read_to_string(&file).unwrap();
        let (bad, good) =
            (blocks(&text, "air bad").join("\n"), blocks(&text, "air good").join("\n"));
        let pairs = matches!(code, Code::DuplicateRule | Code::SubsumedRule);
        let (bad, good) = (given(&bad, code), given(&good, code));
        let most =
            matches!(code, Code::TooSpecific | Code::TooAbstract | Code::IdealizedRemediation);
        let least = if most { 8 } else { 3 };
        assert!(bad.len() >= least && good.len() >= least, "{name}: too few cases");
        for (at, (rule, count)) in bad.iter().enumerate() {
            if (*count == 0) != (pairs && at % 2 == 0) {
                let _ = writeln!(wrong, "{name}: `{rule}` gives it {count} times");
            }
        }
        for (rule, count) in good.iter().filter(|(_, count)| *count > 0) {
            let _ = writeln!(wrong, "{name}: `{rule}` gives it {count} times, and is good");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn findings_read_well() {
    let mut files: Vec<PathBuf> =
        fs::read_dir(path("tests/lints")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort_unstable();
    let mut shown = String::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let _ = writeln!(shown, "# {name}");
        for found in findings(parse(&blocks(&text, "air bad").join("\n"))) {
            if found.code.as_str() == name {
                let hint = found.hint.unwrap_or_default();
                let _ = writeln!(shown, "{:?} {}\n    {hint}", found.severity, found.message);
            }
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn rules_that_ship_have_no_warning() {
    let mut shown = String::new();
    let mut sets: Vec<(String, String)> = Vec::new();
    for file in ["rules/starter.air", "examples/paper-a1.air"] {
        sets.push((file.to_owned(), fs::read_to_string(path("../..").join(file)).unwrap()));
    }
    for file in fs::read_dir(path("../../corpus")).unwrap() {
        let file = file.unwrap().path();
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for (at, block) in blocks(&text, "air").into_iter().enumerate() {
            sets.push((format!("{} {at}", file.display()), block));
        }
    }
    assert!(sets.len() > 8);
    for (name, source) in sets {
        for found in findings(parse(&source)) {
            if found.severity != Severity::Note {
                let _ = writeln!(
                    shown,
                    "{name}:{} {}: {}",
                    found.start.line, found.code, found.message
                );
            }
        }
    }
    assert!(shown.is_empty(), "\n{shown}");
}

/// Findings that no example can show.
const WITHOUT_EXAMPLE: [Code; 6] = [
    Code::HiddenCharacter,
    Code::InvalidUtf8,
    Code::NotAllCompared,
    Code::NotExact,
    Code::TooLarge,
    Code::TooManyFindings,
];

#[test]
fn every_finding_is_documented_with_examples_that_hold() {
    let text = fs::read_to_string(path("../../docs/lints.md")).unwrap();
    let sections: Vec<(&str, &str)> =
        text.split("\n## ").skip(1).map(|section| section.split_once('\n').unwrap()).collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let named: Vec<&str> = sections.iter().map(|(name, _)| *name).collect();
    for code in &codes {
        assert!(named.contains(code), "`{code}` is not in docs/lints.md");
    }
    assert!(named.is_sorted() && named.len() == codes.len(), "{named:?}");
    for (name, section) in sections {
        let code = Code::ALL.iter().find(|code| code.as_str() == name).unwrap();
        let found = |info: &str| -> Vec<bool> {
            let blocks = blocks(section, info).into_iter();
            blocks.map(|it| findings(parse(&it)).iter().any(|it| it.code == *code)).collect()
        };
        if !WITHOUT_EXAMPLE.contains(code) {
            assert_eq!((found("air bad"), found("air good")), (vec![true], vec![false]), "{name}");
        }
    }
}
