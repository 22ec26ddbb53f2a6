//! Tools of coding agents, by their canonical names.

use std::collections::BTreeMap;

use air_core::{
    code::{CodeFacts, Operation},
    place::{Held, Place},
    port::{CodeReader, Surroundings},
};
use air_facts::CodeParser;
use serde_json::{Value, json};

/// Files that are there, and nothing that earlier steps left.
struct Files(BTreeMap<&'static str, &'static str>);

impl Surroundings for Files {
    fn file(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).map(|text| text.as_bytes().to_vec()).ok_or_else(|| "none".to_owned())
    }

    fn held(&self, _: &Place) -> Option<Held> {
        None
    }
}

fn read(tool: &str, arguments: &Value) -> CodeFacts {
    let files = Files(BTreeMap::from([("tests/a.py", "def test_a():\n    assert f()\n")]));
    CodeReader::read(&CodeParser::new(), tool, arguments.as_object().unwrap(), &files)
}

fn done(facts: &CodeFacts) -> Vec<String> {
    let line = |done: &Operation| {
        let labels = done.labels.join(",");
        format!("{} {} {labels}", done.activity.name(), done.target).trim_end().to_owned()
    };
    facts.operations.iter().map(line).collect()
}

#[test]
fn each_tool_does_what_it_says() {
    for (tool, arguments, expected, flows) in [
        ("file.write", json!({"path": "a", "content": "b"}), "file.write a", 0),
        ("file.edit", json!({"path": "a", "old": "b", "new": "c"}), "file.write a", 0),
        ("file.read", json!({"path": "a"}), "file.read a", 1),
        ("file.search", json!({"pattern": "x"}), "directory.list .", 1),
        ("file.search", json!({"path": "a", "pattern": "x"}), "directory.list a", 1),
        (
            "web.fetch",
            json!({"url": "https://a.invalid/b"}),
            "network.connect https://a.invalid/b",
            1,
        ),
    ] {
        let facts = read(tool, &arguments);
        assert_eq!((done(&facts), facts.flows.len()), (vec![expected.to_owned()], flows), "{tool}");
        assert!(facts.incomplete.is_empty() && facts.language.is_none(), "{tool}");
    }
    let facts = read("agent.delegate", &json!({"task": "read https://a.invalid/b"}));
    assert_eq!((facts.operations.len(), facts.urls), (0, vec!["https://a.invalid/b".to_owned()]));
    assert_eq!(read("mcp.files.write", &json!({"path": "a"})), CodeFacts::default());
}

#[test]
fn what_is_missing_is_told() {
    for (tool, arguments, why) in [
        ("file.write", json!({"content": "b"}), "argument `path` is missing"),
        ("file.write", json!({"path": "a"}), "argument `content` is missing"),
        ("file.edit", json!({}), "no file is named that is edited"),
        ("file.edit", json!({"path": "a", "old": "b"}), "argument `new` is missing"),
        ("file.edit", json!({"patch": "what?"}), "the patch is in no known form"),
        ("file.edit", json!({"paths": "a", "patch": 1}), "argument `patch` is no text"),
        ("file.read", json!({"path": ["a"]}), "argument `path` is no text"),
        ("web.fetch", json!({}), "argument `url` is missing"),
        ("agent.delegate", json!({"task": null}), "argument `task` is missing"),
        ("shell.exec", json!({}), "argument `command` is missing"),
    ] {
        let facts = read(tool, &arguments);
        assert!(facts.incomplete.iter().any(|it| it == why), "{tool}: {:?}", facts.incomplete);
    }
    let facts = read("file.edit", &json!({"patch": "what?", "paths": ["a"]}));
    assert_eq!(done(&facts), ["file.write a"]);
}

#[test]
fn patches_name_their_files() {
    let own = "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** Update File: b.py\n*** Move to: c.py\n@@\n-y\n+z\n\
               *** Delete File: d.py\n*** End Patch\n";
    let facts = read("file.edit", &json!({"patch": own, "paths": ["/w/a.py", "e.py"]}));
    let expected = [
        "file.write a.py",
        "file.write c.py",
        "file.delete b.py",
        "file.delete d.py",
        "file.write e.py",
    ];
    assert_eq!(done(&facts), expected);
    assert_eq!(facts.flows.len(), 1);
    let unified = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- a line that was there\n kept\n\
                   --- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+here\n\
                   diff --git a/m b/n\nrename from m\nrename to n\n";
    let facts = read("file.edit", &json!({"patch": unified}));
    let expected =
        ["file.write x", "file.delete old", "file.write new", "file.write n", "file.delete m"];
    assert_eq!(done(&facts), expected);
}

#[test]
fn a_hostile_patch_is_bounded() {
    let many = "*** Add File: a\n".repeat(5_000);
    let facts = read("file.edit", &json!({"patch": many}));
    assert!(!facts.incomplete.is_empty() && facts.operations.len() <= 1_000);
    let odd = "@@ -99999999999999999999,1 +1,184467440737095516160 @@\n--- \n+++ \n*** Move to: x\n+\u{0}";
    read("file.edit", &json!({"patch": odd}));
    read("file.edit", &json!({"patch": "x".repeat(9 << 20)}));
}

#[test]
fn weaker_checks_are_told() {
    let edit = |old: &str, new: &str| {
        read("file.edit", &json!({"path": "a", "old": old, "new": new})).operations[0]
            .labels
            .clone()
    };
    for (old, new, label) in [
        ("    assert a == 1\n    b()", "    b()", "checks-removed"),
        ("it('a', f)", "xit('a', f)", "checks-skipped"),
        ("def test_a():", "@pytest.mark.skip\ndef test_a():", "checks-skipped"),
        ("assert total == 30", "assert True", "always-passes"),
        ("run: npm test", "run: npm test || true", "always-passes"),
        ("--cov-fail-under=90", "--cov-fail-under=5", "threshold-lowered"),
        ("- run: a", "- run: echo ${{ secrets.A }}", "secret-exposed"),
    ] {
        assert_eq!(edit(old, new), [label], "{new}");
    }
    for (old, new) in [
        ("assert a == 1", "assert a == 2"),
        ("xit('a', f)", "it('a', f)"),
        ("fail_under = 80", "fail_under = 85"),
        ("submit()", "commit()"),
        ("env: {}", "env:\n  A: ${{ secrets.A }}"),
    ] {
        assert!(edit(old, new).is_empty(), "{new}");
    }
    let facts = read("file.write", &json!({"path": "tests/a.py", "content": "\n"}));
    assert_eq!(facts.operations[0].labels, ["checks-removed"]);
}

#[test]
fn what_commands_throw_away_is_told() {
    for (command, label) in [
        ("git reset --hard", "work-lost"),
        ("git stash && git reset --hard", ""),
        ("git restore --staged .", ""),
        ("git push --force-with-lease origin topic", ""),
        ("git push --force-with-lease origin main", "history-rewritten"),
        ("git push origin +topic", "history-rewritten"),
        ("git branch -d topic", ""),
        ("git commit -n -m x", "checks-skipped"),
        ("psql -c 'drop table a'", "data-lost"),
        ("psql -c 'drop temporary table a'", ""),
        ("psql -c 'delete from a where b'", ""),
        ("sqlite3 /tmp/a.db 'drop table a'", ""),
        ("echo 'select 1; -- x\n truncate a' | psql", "data-lost"),
        ("redis-cli -n 2 flushdb", "data-lost"),
        ("poetry run python manage.py flush", "data-lost"),
        ("grep db:drop Rakefile", ""),
        ("docker compose -f a.yml down -v", "data-lost"),
        ("pip install git+https://a.invalid/b", "unvetted-package"),
        ("pip install a -r b.txt", ""),
        ("npx a/b", "unvetted-package"),
        ("npm i @a/b@1.2", ""),
        ("go install a.invalid/b@latest", ""),
    ] {
        let facts = read("shell.exec", &json!({"command": command}));
        let labels: Vec<&str> =
            facts.operations.iter().flat_map(|done| &done.labels).map(String::as_str).collect();
        let held = if label.is_empty() { labels.is_empty() } else { labels.contains(&label) };
        assert!(held, "{command}: {labels:?}");
    }
}
