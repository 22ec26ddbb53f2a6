//! What ships quotes no case of the benchmark that it is measured on: no host, file name, name or
//! sentence of it is in a rule, a table, or a text of an analysis; and words of tables that one case
//! alone has are there for a reason that is written down.
//!
//! The cases are not part of the project. They are looked for in `../shared/datasets/redcode` beside
//! it, or where `AIR_BENCH_DATA` says; without them there is nothing to compare with.

mod known;
mod texts;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
    path::{Path, PathBuf},
};

use air_core::port::Alone;
use air_facts::CodeParser;
use air_testkit::suite::Step;
use serde_json::Value;

use crate::classes::workspace;

/// Letters of the shortest name of several words that is looked for.
const SHORTEST_NAME: usize = 8;
/// Of a sentence, at least so many words.
const SENTENCE: usize = 4;
/// Words of a name that are looked at together.
const TOGETHER: usize = 3;
/// Letters of the shortest word that may be the beginning of another.
const BEGINNING: usize = 6;

#[test]
fn nothing_that_ships_quotes_the_benchmark() {
    let Some(cases) = cases() else { return };
    let (mut tokens, mut sentences) = (BTreeMap::new(), BTreeSet::new());
    for case in &cases {
        collect(case, &mut tokens, &mut sentences);
    }
    let known = shipped();
    assert!(tokens.len() > 100 && sentences.len() > 100);
    let mut quoted = Vec::new();
    for (file, texts) in &known {
        let words: HashSet<String> = texts.iter().flat_map(|text| names_in(text)).collect();
        let names = tokens.iter().filter(|(token, _)| words.contains(*token));
        quoted.extend(names.map(|(_, shown)| format!("{}: `{shown}`", file.display())));
        let text = texts.iter().map(|text| spoken(text)).collect::<Vec<_>>().join("\n");
        let said = sentences.iter().filter(|sentence| text.contains(sentence.as_str()));
        quoted.extend(said.map(|sentence| format!("{}: {sentence:?}", file.display())));
    }
    assert!(quoted.is_empty(), "{}", quoted.join("\n"));
}

/// A word that a table has from one case finds that case and no other.
#[test]
fn words_of_tables_that_one_case_has_are_accounted_for() {
    let Some(cases) = cases() else { return };
    let mut units: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for case in &cases {
        let unit = text(case, "id").split_once('-').expect("a language").1.to_owned();
        for field in ["code", "instruction_summary", "instruction_details"] {
            for word in together(text(case, field)) {
                units.entry(word).or_default().insert(unit.clone());
            }
        }
    }
    let known: HashSet<&str> = known::words().collect();
    assert!(units.len() > 1000 && known.len() > 100);
    let (mut rare, mut seen) = (BTreeMap::new(), HashSet::new());
    for (file, texts) in shipped().iter().filter(|(file, _)| is_table(file)) {
        for word in table_words(texts) {
            let longer =
                units.range(word.clone()..).take_while(|(name, _)| name.starts_with(&word));
            let is_it = |name: &String| *name == word || word.len() >= BEGINNING;
            let having: BTreeSet<&String> =
                longer.filter(|(name, _)| is_it(name)).flat_map(|(_, units)| units).collect();
            if having.len() != 1 {
                continue;
            }
            seen.insert(word.clone());
            if !known.contains(word.as_str()) {
                let name = file.file_name().map(PathBuf::from).unwrap_or_default();
                rare.insert(word, (having.first().map(|unit| (*unit).clone()), name));
            }
        }
    }
    let rare: Vec<String> = rare.iter().map(|(word, of)| format!("{word}: {of:?}")).collect();
    assert!(rare.is_empty(), "{} words:\n{}", rare.len(), rare.join("\n"));
    let stale: Vec<&&str> = known.iter().filter(|word| !seen.contains(**word)).collect();
    assert!(stale.is_empty(), "are in no table, or in several cases: {stale:?}");
}

#[expect(clippy::print_stderr, reason = "that it was skipped is to be seen")]
fn cases() -> Option<Vec<Value>> {
    let data = std::env::var_os("AIR_BENCH_DATA")
        .map_or_else(|| workspace().join("../shared/datasets/redcode"), PathBuf::from);
    let Ok(cases) = fs::read_to_string(data.join("dev.jsonl")) else {
        eprintln!("skipped: no cases in {}", data.display());
        return None;
    };
    Some(cases.lines().map(|line| serde_json::from_str(line).expect("a case")).collect())
}

fn text<'c>(case: &'c Value, name: &str) -> &'c str {
    case.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Names, hosts and file names that the case made up, by how they are compared, and what it says.
fn collect(case: &Value, tokens: &mut BTreeMap<String, String>, sentences: &mut BTreeSet<String>) {
    let (tool, argument) = if text(case, "language") == "python" {
        ("python_repl", "code")
    } else {
        ("bash", "command")
    };
    let args = [(argument.to_owned(), Value::from(text(case, "code")))];
    let args: serde_json::Map<String, Value> = args.into_iter().collect();
    let step: Step =
        serde_json::from_value(serde_json::json!({ "tool": tool, "args": args })).expect("a step");
    let mut add = |name: &str| {
        let plain = plain(name);
        let is_number = !plain.contains(char::is_alphabetic);
        if !is_number && !known::NAMES.contains(&plain.as_str()) {
            tokens.insert(plain, name.to_owned());
        }
    };
    let code = CodeParser::new().read(tool, &args, &Alone);
    let keys = code.strings.iter().filter(|text| !text.contains(char::is_whitespace)).cloned();
    for name in air_testkit::rename::names(&step).into_iter().chain(keys) {
        if words(&name).len() > 1 && plain(&name).len() >= SHORTEST_NAME && !name.contains('/') {
            add(&name);
        }
    }
    let hosts = code.urls.iter().filter_map(|url| url.split("//").nth(1)?.split(['/', ':']).next());
    hosts.filter(|host| host.contains(|c: char| c.is_alphabetic())).for_each(&mut add);
    let last = code.paths.iter().filter(|path| path.contains('/'));
    let last = last.filter_map(|path| path.rsplit('/').next());
    last.filter(|name| name.contains(['_', '.']) && plain(name).len() > 4).for_each(&mut add);
    let said = code.strings.iter().map(String::as_str).filter(|text| is_sentence(text));
    let asked = [text(case, "instruction_summary"), text(case, "instruction_details")];
    sentences.extend(said.chain(asked).map(spoken).filter(|text| !text.is_empty()));
}

fn is_sentence(text: &str) -> bool {
    let words = text.split_whitespace();
    words.filter(|word| word.chars().all(|c| c.is_alphanumeric() || ".,:'!".contains(c))).count()
        >= SENTENCE
        && !text.contains('\n')
}

/// A sentence as it is compared: its words in small letters.
fn spoken(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|it| !it.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// A name as it is compared: in small letters, without what separates its words.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>().to_lowercase()
}

/// The words of a name.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && before.is_lowercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What may be a name or a host in a text, as it is compared.
fn names_in(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric() && !"_.-".contains(letter));
    parts.map(plain).filter(|name| !name.is_empty())
}

/// Words of the names in a text, one by one and one after the other.
fn together(text: &str) -> Vec<String> {
    let names = text.split(|letter: char| !letter.is_alphanumeric() && !"_-.".contains(letter));
    let mut found = Vec::new();
    for words in names.map(words) {
        for from in 0..words.len() {
            let all = (1..=TOGETHER).filter_map(|n| words.get(from..from + n));
            found.extend(all.map(<[String]>::concat));
        }
    }
    found
}

/// Analyses decide by these; other crates know no words of programs.
fn is_table(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == "air-facts")
        && file.extension().is_some_and(|end| end == "rs" || end == "toml")
}

/// The words that stand alone, and pairs that stand beside each other.
fn table_words(texts: &[String]) -> BTreeSet<String> {
    let language: tree_sitter::Language = tree_sitter_python::LANGUAGE.into();
    let kinds = (0..=u16::MAX).map_while(|id| language.node_kind_for_id(id));
    let fields = (1..=u16::MAX).map_while(|id| language.field_name_for_id(id));
    let syntax: HashSet<&str> = kinds.chain(fields).collect();
    let is_word = |text: &&String| {
        let letters =
            text.chars().all(|letter| letter.is_ascii_alphabetic() || "_-.".contains(letter));
        letters && plain(text).len() > 2 && !syntax.contains(text.as_str())
    };
    let mut found: BTreeSet<String> =
        texts.iter().filter(is_word).map(|text| plain(text)).collect();
    for pair in texts.windows(2) {
        if pair.iter().filter(is_word).count() == 2 {
            found.insert(plain(&pair.concat()));
        }
    }
    found
}

/// Rules and tables, and of source its texts; by their file.
fn shipped() -> Vec<(PathBuf, Vec<String>)> {
    let mut files = Vec::new();
    for directory in ["rules", "corpus"] {
        walk(&workspace().join(directory), &mut files);
    }
    for name in ["core", "facts", "lang", "origin", "synth", "workspace"] {
        walk(&workspace().join("crates").join(format!("air-{name}")), &mut files);
    }
    let is_test = |part: std::path::Component| {
        part.as_os_str() == "tests"
            || part.as_os_str() == "tests.rs"
            || part.as_os_str() == "snapshots"
    };
    files.retain(|(file, _)| !file.components().any(is_test));
    let texts = |(file, text): (PathBuf, String)| {
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let texts = match ending {
            "rs" => texts::of_rust(&text),
            "toml" => strings(&toml::from_str(&text).expect("a table")),
            _ => text.lines().map(str::to_owned).collect(),
        };
        (file, texts)
    };
    files.into_iter().map(texts).collect()
}

fn strings(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::String(text) => vec![text.clone()],
        toml::Value::Array(all) => all.iter().flat_map(strings).collect(),
        toml::Value::Table(all) => all.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
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
