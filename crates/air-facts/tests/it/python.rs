//! Laws that hold of all Python source.

use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};

use air_core::{code::CodeFacts, port::Alone};
use air_facts::python::read_counting;

/// The sources of the corpus.
fn sources() -> Vec<String> {
    let corpus = format!("\n{}", include_str!("../corpus/python.txt"));
    let cases = corpus.split("\n== ").skip(1);
    cases
        .map(|case| {
            let (_, rest) = case.split_once('\n').unwrap();
            rest.split_once("--\n").unwrap().0.to_owned()
        })
        .collect()
}

/// What is done, with or without the lines.
fn done(facts: &CodeFacts, lines: u32) -> BTreeSet<String> {
    let operations = facts.operations.iter().map(|done| {
        let line = done.line * lines;
        format!("{line} {} {} {:?}", done.activity.name(), done.target, done.detail)
    });
    let flows = facts.flows.iter().map(|flow| {
        let line = flow.line * lines;
        format!("{line} {:?} -> {:?}", flow.source, flow.sink)
    });
    operations.chain(flows).collect()
}

/// Every name that the source itself binds, with a letter more.
fn renamed(source: &str) -> String {
    let names = [
        "data", "path", "target", "source", "secret", "found", "send", "load", "gone", "fd", "key",
        "text", "block", "report", "buffer", "token", "out", "cmd", "inner", "outer", "apply",
        "each", "Job", "Agent",
    ];
    let mut renamed = String::new();
    let mut word = String::new();
    let mut quoted = None;
    for letter in source.chars().chain([' ']) {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        // An attribute, a keyword argument, or a text may mean something to others.
        let attribute = renamed.ends_with('.') || letter == '=' || quoted.is_some();
        renamed.push_str(&word);
        if !attribute && names.contains(&word.as_str()) {
            renamed.push_str("_of_ours");
        }
        word.clear();
        match quoted {
            Some(open) if open == letter => quoted = None,
            None if matches!(letter, '"' | '\'') => quoted = Some(letter),
            _ => {}
        }
        renamed.push(letter);
    }
    renamed
}

#[test]
fn names_of_variables_do_not_matter() {
    let mut tried = 0;
    for source in sources() {
        let other = renamed(&source);
        // Names in texts, in attributes and in `name = value` are not renamed along.
        let plain = !source.contains("exec")
            && !source.contains(" = ")
            && !source.contains("f\"")
            && !source.contains("path=\"")
            && !source.contains("class ");
        if other.trim() == source.trim() || !plain {
            continue;
        }
        tried += 1;
        let (before, after) = (crate::python(&source), crate::python(&other));
        assert_eq!(done(&before, 1), done(&after, 1), "{source}\n{other}");
    }
    assert!(tried >= 5, "{tried} sources were renamed");
}

#[test]
fn comments_and_blank_lines_move_lines_only() {
    for source in sources() {
        // A line that is continued, or is in a text, is not one of its own.
        if source.contains("\"\"\"") || source.contains("coding") || source.contains("(:") {
            continue;
        }
        let spaced = source.lines().map(|line| {
            // The grammar allows no comment after a decorator.
            let comment = if line.contains('@') { "" } else { "# x\n" };
            format!("\n{line}\n{comment}")
        });
        let spaced: Vec<String> = spaced.collect();
        let spaced = spaced.concat();
        let (before, after) = (crate::python(&source), crate::python(&spaced));
        assert_eq!(done(&before, 0), done(&after, 0), "{source}");
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "whoever runs the tests is told the figures")]
fn ordinary_source_is_read_whole() {
    let ask = [
        "-I",
        "-c",
        "import sys; print(sys.base_prefix, sys.version_info[0], sys.version_info[1])",
    ];
    let Ok(answer) = Command::new("python3").args(ask).output() else {
        return eprintln!("skipped: there is no python3");
    };
    let answer = String::from_utf8(answer.stdout).unwrap();
    let [prefix, major, minor] = answer.split_whitespace().collect::<Vec<_>>()[..] else {
        return eprintln!("skipped: python3 does not say where its library is");
    };
    let library = PathBuf::from(format!("{prefix}/lib/python{major}.{minor}"));
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in
        ["", "json", "email", "http", "asyncio", "concurrent/futures", "xml/etree", "logging"]
    {
        let Ok(entries) = fs::read_dir(library.join(folder)) else { continue };
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "py"));
    if files.is_empty() {
        return eprintln!("skipped: Python's library is not there");
    }
    files.sort();
    // All of them take a minute without optimisation.
    let files: Vec<PathBuf> = files.into_iter().step_by(4).collect();
    let labels = air_facts::LabelTable::built_in().unwrap();
    let (mut incomplete, mut labelled) = (0, Vec::new());
    for file in &files {
        let Ok(source) = fs::read_to_string(file) else { continue };
        let (facts, steps) = read_counting(&source, &Alone);
        assert!(steps <= 100_000 + 10 * source.len(), "{}: {steps} steps", file.display());
        incomplete += usize::from(!facts.incomplete.is_empty());
        let secret = |label: &std::sync::Arc<str>| &**label == "credential";
        let labelled_flow =
            facts.flows.iter().find(|flow| flow.source.labels(&labels).iter().any(secret));
        labelled.extend(labelled_flow.map(|_| file.file_name().unwrap().to_owned()));
    }
    let share = 100 * incomplete / files.len();
    eprintln!(
        "{incomplete} of {} files are incomplete, {share} %; flows of labelled data: {labelled:?}",
        files.len()
    );
    assert!(share <= 40, "{share} % of the library's files are incomplete");
    assert!(100 * labelled.len() <= 3 * files.len(), "flows of labelled data in {labelled:?}");
}

#[test]
fn steps_grow_with_the_source_and_no_faster() {
    let table: [fn(usize) -> String; 8] = [
        |size| "f(x)\n".repeat(size),
        |size| "a = b + 'x'\n".repeat(size),
        |size| "x.append(x)\n".repeat(size),
        |size| format!("f({})", "'a' + ".repeat(size) + "'b'"),
        |size| format!("[{}]", "1, ".repeat(size)),
        |size| "if a:\n    x = 1\nelse:\n    x = y\n".repeat(size),
        |size| "def f(a):\n    return f(a) + f(a)\nf(f(f(1)))\n".repeat(size),
        |size| "for i in range(60):\n    for j in range(60):\n        x = i\n".repeat(size),
    ];
    for source in table {
        let (once, twice) = (source(500), source(1000));
        let steps = |source: &str| read_counting(source, &Alone).1;
        let (once, twice) = (steps(&once), steps(&twice));
        assert!(twice <= once * 5 / 2, "{}: {once} steps, twice {twice}", source(1));
    }
}
