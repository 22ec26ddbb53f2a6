//! The examples and the rules that ship with AIR.

use std::{fs, path::Path};

use air_cli::{commands::init, rule_files, script::Script};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read_all(directory: &str) -> Vec<Script> {
    let entries = fs::read_dir(root().join(directory)).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let scripts = paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml"));
    scripts.map(|path| Script::read(&path).unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn every_script_is_a_script_of_known_tools() {
    let scripts = [read_all("examples"), read_all("examples/scripts")].concat();
    assert_eq!(scripts.len(), 9);
    for step in scripts.iter().flat_map(|script| &script.steps) {
        let arguments: Vec<&str> = step.arguments.keys().map(String::as_str).collect();
        let expected: &[&str] = match step.tool.as_str() {
            "bash" => &["command"],
            "python_repl" => &["code"],
            "write_file" => &["content", "path"],
            "delete_file" => &["path"],
            tool => panic!("{tool}"),
        };
        assert_eq!(arguments, expected, "{}", step.tool);
        assert!(!step.plan.is_empty());
    }
}

#[test]
fn every_rule_file_is_sound_and_laid_out() {
    for directory in ["rules", "examples"] {
        let files = rule_files::find_in(root(), Path::new(directory)).expect("rule files");
        for file in files {
            let text = fs::read_to_string(root().join(&file)).expect("a rule file");
            let parsed = air_lang::parse(&text);
            let shown =
                air_lang::render(parsed.diagnostics(), &file.to_string_lossy(), &text, false);
            assert_eq!(shown, "");
            assert!(air_lang::format(&parsed) == text, "{}", file.display());
        }
    }
}

#[test]
fn what_init_writes_is_what_is_here() {
    let starter = fs::read_to_string(root().join("rules/starter.air")).expect("the rules");
    assert_eq!(init::STARTER_RULES, starter);
    Script::parse(init::STARTER_SCRIPT, "script").expect("a script");
}
