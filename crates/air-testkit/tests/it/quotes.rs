//! What ships quotes no case of the benchmark that it is measured on: no host, file name, name or
//! sentence of it is in a rule, a table, or a text of an analysis.
//!
//! The cases are not part of the project. They are looked for in `../shared/datasets/redcode` beside
//! it, or where `AIR_BENCH_DATA` says; without them there is nothing to compare with.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use air_core::port::Alone;
use air_facts::CodeParser;
use air_testkit::suite::Step;
use serde_json::Value;

use crate::classes::workspace;

/// Functions of libraries and words of the field that a case has taken for a name of its own.
const COMMON: [&str; 6] =
    ["create_connection", "exec_command", "recv_bytes", "reverse_shell", "file_path", "ip_address"];
/// Words that any program may give to something, or that a language or a library has.
const SHORTEST_NAME: usize = 9;
/// Of a sentence, at least so many words.
const SENTENCE: usize = 4;

#[test]
#[expect(clippy::print_stderr, reason = "that it was skipped is to be seen")]
fn nothing_that_ships_quotes_the_benchmark() {
    let data = std::env::var_os("AIR_BENCH_DATA")
        .map_or_else(|| workspace().join("../shared/datasets/redcode"), PathBuf::from);
    let Ok(cases) = fs::read_to_string(data.join("dev.jsonl")) else {
        eprintln!("skipped: no cases in {}", data.display());
        return;
    };
    let mut tokens = BTreeSet::new();
    let mut sentences = BTreeSet::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        collect(&case, &mut tokens, &mut sentences);
    }
    let known = shipped();
    assert!(tokens.len() > 100 && sentences.len() > 100 && known.len() > 100);
    let mut quoted = Vec::new();
    for (file, text) in &known {
        let words: BTreeSet<&str> = text
            .split(|letter: char| !letter.is_alphanumeric() && !"_.-".contains(letter))
            .collect();
        let names = tokens.iter().filter(|token| words.contains(token.as_str()));
        let said = sentences.iter().filter(|sentence| text.contains(sentence.as_str()));
        quoted.extend(names.chain(said).map(|what| format!("{}: {what:?}", file.display())));
    }
    assert!(quoted.is_empty(), "{}", quoted.join("\n"));
}

/// Names, hosts and file names that the case made up, and what it says.
fn collect(case: &Value, tokens: &mut BTreeSet<String>, sentences: &mut BTreeSet<String>) {
    let text = |name: &str| case.get(name).and_then(Value::as_str).unwrap_or_default();
    let (tool, argument) =
        if text("language") == "python" { ("python_repl", "code") } else { ("bash", "command") };
    let args = [(argument.to_owned(), Value::from(text("code")))];
    let args: serde_json::Map<String, Value> = args.into_iter().collect();
    let step: Step =
        serde_json::from_value(serde_json::json!({ "tool": tool, "args": args })).expect("a step");
    let composed = |name: &String| {
        let is_several = name.trim_matches('_').contains('_')
            || name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase);
        name.len() >= SHORTEST_NAME && is_several && !COMMON.contains(&name.as_str())
    };
    tokens.extend(air_testkit::rename::names(&step).into_iter().filter(composed));
    let code = CodeParser::new().read(tool, &args, &Alone);
    let hosts = code.urls.iter().filter_map(|url| url.split("//").nth(1)?.split(['/', ':']).next());
    tokens
        .extend(hosts.filter(|host| host.contains(|c: char| c.is_alphabetic())).map(str::to_owned));
    let made = code.paths.iter().filter(|path| !Path::new(path).exists() && path.contains('/'));
    let last =
        made.filter_map(|path| path.rsplit('/').next()).filter(|name| name.contains(['_', '.']));
    tokens.extend(last.filter(|name| name.len() > 4 && !name.starts_with('.')).map(str::to_owned));
    sentences.extend(code.strings.iter().filter(|text| is_sentence(text)).cloned());
    sentences.extend([text("instruction_summary"), text("instruction_details")].map(str::to_owned));
    sentences.remove("");
}

fn is_sentence(text: &str) -> bool {
    let words = text.split_whitespace();
    words.filter(|word| word.chars().all(|c| c.is_alphanumeric() || ".,:'!".contains(c))).count()
        >= SENTENCE
        && !text.contains('\n')
}

/// Rules and tables, and of source what is in quotes.
fn shipped() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for directory in ["rules", "crates/air-facts", "crates/air-synth", "crates/air-lang/src"] {
        walk(&workspace().join(directory), &mut files);
    }
    files.retain(|(file, _)| !file.components().any(|part| part.as_os_str() == "tests"));
    for (file, text) in &mut files {
        if file.extension().is_some_and(|end| end == "rs") {
            *text = text.split('"').skip(1).step_by(2).collect::<Vec<_>>().join("\n");
        }
    }
    files
}

fn walk(directory: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            files.push((path, text));
        }
    }
}
