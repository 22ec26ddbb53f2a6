//! Which argument is read.

use air_core::{
    code::CodeFacts,
    port::{Alone, CodeReader},
};
use air_facts::{Carries, CodeParser};
use serde_json::json;

fn read(parser: &CodeParser, tool: &str, arguments: &serde_json::Value) -> CodeFacts {
    CodeReader::read(parser, tool, arguments.as_object().unwrap(), &Alone)
}

#[test]
fn tools_carry_source_or_paths() {
    let parser = CodeParser::new();
    let facts = read(&parser, "python_repl", &json!({"code": "open('a')"}));
    assert_eq!(facts.language.as_deref(), Some("python"));
    let facts = read(&parser, "shell.exec", &json!({"command": "cat a"}));
    assert_eq!(facts.language.as_deref(), Some("shell"));
    let facts = read(&parser, "write_file", &json!({"path": "notes", "content": "rm -rf /"}));
    assert_eq!((facts.language, facts.paths), (None, vec!["notes".to_owned()]));
    assert!(facts.calls.is_empty());
    assert_eq!(read(&parser, "list_files", &json!({})), CodeFacts::default());
    assert_eq!(read(&parser, "browser.open", &json!({"code": "x"})), CodeFacts::default());
}

#[test]
fn tools_on_paths_do_what_they_say() {
    let parser = CodeParser::new();
    for (tool, activity) in [
        ("read_file", "file.read"),
        ("write_file", "file.write"),
        ("delete_file", "file.delete"),
        ("list_files", "directory.list"),
    ] {
        let facts = read(&parser, tool, &json!({"path": "a/b", "content": "x"}));
        let done: Vec<_> =
            facts.operations.iter().map(|one| (one.activity.name(), one.target.as_str())).collect();
        assert_eq!(done, [(activity, "a/b")]);
        assert_eq!(facts.flows.len(), usize::from(tool == "read_file"));
        let left = facts.leaves.first().and_then(|(_, held)| held.text.as_deref());
        assert_eq!(left, (tool == "write_file").then_some("x"));
    }
}

#[test]
fn arguments_that_do_not_fit_are_incomplete() {
    let parser = CodeParser::new();
    let facts = read(&parser, "python_repl", &json!({"code": ["import os"]}));
    assert_eq!(facts.incomplete, ["argument `code` is no text"]);
    assert_eq!(read(&parser, "bash", &json!({})).incomplete, ["argument `command` is missing"]);
    let facts = read(&parser, "read_file", &json!({"path": 1}));
    assert_eq!(facts.incomplete, ["argument `path` is no text"]);
}

#[test]
fn hosts_add_tools() {
    let parser = CodeParser::new().with_tool("run", "script", Carries::Shell);
    let parser = parser.with_tool("run", "cwd", Carries::Path);
    let facts = read(&parser, "run", &json!({"script": "cat a", "cwd": "b"}));
    assert_eq!(facts.calls[0].name, "cat");
    assert_eq!(facts.paths, ["a", "b"]);
}

#[test]
fn facts_in_full() {
    let source = "import os\nos.system('cp /etc/passwd x')\n";
    let facts = serde_json::to_value(crate::python(source)).unwrap();
    insta::assert_snapshot!(facts["calls"], @r#"[{"args":["cp /etc/passwd x"],"line":2,"name":"os.system"},{"args":["/etc/passwd","x"],"line":2,"name":"cp"}]"#);
    assert_eq!(facts["imports"], json!(["os"]));
    assert_eq!(facts["paths"], json!(["/etc/passwd", "x"]));
    assert_eq!(facts["incomplete"], json!([]));
}
