//! The table of labels.

use air_core::fact::PathLabels;
use air_facts::LabelTable;

fn labels(path: &str) -> String {
    LabelTable::built_in().unwrap().labels(path).join(" ")
}

#[test]
fn paths_have_labels() {
    for (path, expected) in [
        ("/etc/passwd", "credential system"),
        ("/etc//./x/../shadow", "credential system"),
        ("/../etc/passwd", "credential system"),
        ("../../etc/passwd", "credential system"),
        ("/proc/self/root/etc/passwd", "credential system"),
        ("/etc", "system top-level"),
        ("/etc/hosts", "system"),
        (".env", "credential"),
        ("/workspace/app/.env.production", "credential"),
        ("/workspace/.env.example", ""),
        ("~/.aws/credentials", "cloud-credential credential"),
        ("/home/u/.ssh/id_rsa", "credential private-key ssh user-data"),
        ("/home/u/.ssh/id_rsa.pub", "ssh user-data"),
        ("certs/server.key", "credential private-key"),
        ("~", "user-data"),
        ("${HOME}/Documents/a.odt", "user-data"),
        ("/home/dev/project/a.c", ""),
        ("/home/dev/*", "user-data"),
        ("~root/.bashrc", "persistence shell-startup system"),
        ("~/.zsh_history", "credential history"),
        ("/dev/sda1", "block-device system"),
        ("/", "top-level"),
        ("/*", "top-level"),
        ("/root/.bashrc", "persistence shell-startup system"),
        ("/usr/bin/env", "public-information system"),
        ("/usr/share/shop/.env", "credential system"),
        ("/usr/lib/ssl/private/a.key", "system"),
        ("~/.bashrc", "persistence shell-startup"),
        ("/etc/cron.d/x", "persistence system"),
        ("/workspace/.git/HEAD", "git-internal"),
        (".git/hooks/pre-commit", "git-internal persistence"),
        ("/var/log/syslog", "log"),
        ("/workspace/README.md", ""),
        ("/workspace/etc/passwd", ""),
        ("/usr/lib/python3/__pycache__/x.cpython-311.pyc", "derived"),
        ("/var/lib/apt/lists/x", "derived"),
        ("/etc/shadow.dpkg-old", "derived"),
        ("/run/x.pid", ""),
        ("/dev/pts/0", ""),
        ("/dev/null", "discard"),
        ("~/.claude/settings.local.json", "agent-guard"),
        ("/workspace/.claude/commands/a.md", ""),
        ("/workspace/rules/a.air", "agent-guard"),
        ("src/cart.test.ts", "test"),
        ("tests/unit/a.py", "test"),
        ("src/latest.py", ""),
        (".github/workflows/a.yml", "ci"),
        ("pyproject.toml", "check-config"),
        ("db/dev.sqlite3", "database-file"),
        ("~/.local/bin/git", "path-shim"),
        ("~/.local/bin/shop", ""),
        ("", ""),
    ] {
        assert_eq!(labels(path), expected, "{path}");
    }
}

#[test]
fn known_paths_are_whole() {
    let table = LabelTable::built_in().unwrap();
    let known = table.known_paths();
    assert!(known.contains(&"/etc/passwd") && known.contains(&"/etc/shadow"));
    assert!(known.iter().all(|path| path.starts_with('/') && !path.contains('*')));
}

#[test]
fn what_is_no_secret_needs_not_be_recognised() {
    let table = LabelTable::built_in().unwrap();
    for (path, expected) in [
        (".env", true),
        ("/etc/hosts", true),
        ("/srv/a", false),
        ("/dev/null", false),
        ("a", false),
    ] {
        assert_eq!(table.is_sensitive(path), expected, "{path}");
    }
}

#[test]
fn users_add_and_replace_entries() {
    let text = r#"
[[entry]]
name = "payroll"
labels = ["personal"]
patterns = ["/data/payroll/**", "*.payroll"]

[[entry]]
name = "log"
labels = []
patterns = []
"#;
    let table = LabelTable::with_user(text).unwrap();
    assert_eq!(table.labels("a/b.payroll").join(" "), "personal");
    assert_eq!(table.labels("/data/payroll").join(" "), "personal");
    assert_eq!(table.labels("/var/log/syslog").join(" "), "");
    assert_eq!(table.labels("/etc/passwd").join(" "), "credential system");
}

#[test]
fn errors_name_their_line() {
    let error = |text: &str| LabelTable::with_user(text).unwrap_err().to_string();
    let bad_pattern =
        error("[[entry]]\nname = \"x\"\nlabels = []\npatterns = [\n  \"a\",\n  \"[\",\n]\n");
    insta::assert_snapshot!(bad_pattern, @"line 6: pattern `[`: unclosed character class; missing ']'");
    assert!(error("[[entry]]\nname = \"x\"\nlabel = []\n").starts_with("line 3: unknown field"));
    assert!(error("\n\nx").starts_with("line 3: "));
}
