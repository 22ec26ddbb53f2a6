use super::*;

fn error(text: &str) -> String {
    Script::parse(text, "a.toml").unwrap_err().to_string()
}

#[test]
fn a_script_is_a_task_and_steps() {
    let text = "\
task = 'tidy up'
[[step]]
plan = 'remove it'
tool = 'bash'
args = { command = 'rm -rf build', timeout = 3, ratio = 0.5, on = true, list = [1, { a = 'b' }], at = 2026-01-02 }

[[step]]
tool = 'list_files'
";
    let script = Script::parse(text, "a.toml").unwrap();
    assert_eq!(script.task, "tidy up");
    let [first, second] = script.steps.as_slice() else { panic!("{script:?}") };
    assert_eq!((first.plan.as_str(), first.tool.as_str(), first.line), ("remove it", "bash", 4));
    let arguments = serde_json::json!({
        "command": "rm -rf build", "timeout": 3, "ratio": 0.5, "on": true,
        "list": [1, { "a": "b" }], "at": "2026-01-02",
    });
    assert_eq!(serde_json::Value::Object(first.arguments.clone()), arguments);
    assert_eq!((second.plan.as_str(), second.arguments.len(), second.line), ("", 0, 8));
}

#[test]
fn what_is_wrong_is_shown_where_it_is() {
    #[rustfmt::skip]
    let table = [
        ("unknown key",    "task = 'x'\nrules = []\n"),
        ("unknown in step", "task = 'x'\n[[step]]\ntool = 'bash'\narg = {}\n"),
        ("no task",        "[[step]]\ntool = 'bash'\n"),
        ("no tool",        "task = 'x'\n[[step]]\nplan = 'y'\n"),
        ("blank tool",     "task = 'x'\n[[step]]\ntool = ' '\n"),
        ("blank task",     "task = ''\n[[step]]\ntool = 'bash'\n"),
        ("wrong type",     "task = 'x'\n[[step]]\ntool = 3\n"),
        ("one step",       "task = 'x'\n[step]\ntool = 'bash'\n"),
        ("no steps",       "task = 'x'\n"),
        ("no TOML",        "task = 'x\n"),
        ("twice",          "task = 'x'\ntask = 'y'\n"),
        ("after letters",  "task = \"\u{e4}\u{1f600}\" rest\n"),
        ("empty file",     ""),
    ];
    let shown = table.map(|(name, text)| format!("## {name}\n{}\n", error(text))).join("\n");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Script::read(Path::new("/nonexistent/a.toml")).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot read script `/nonexistent/a.toml`: No such file or directory (os error 2)"
    );
}
