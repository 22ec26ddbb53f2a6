//! Source that is meant to break its reader.

use air_core::{code::CodeFacts, port::Alone};
use air_facts::python::read_counting;
use proptest::prelude::*;

const READERS: [fn(&str) -> CodeFacts; 2] = [crate::python, crate::shell];

#[test]
fn huge_nested_and_odd_sources_are_incomplete_soon() {
    let nested = |open: &str, close: &str| open.repeat(10_000) + "x" + &close.repeat(10_000);
    let sources = [
        "x".repeat(5 << 20),
        "f('a')\0".to_owned(),
        nested("(", ")"),
        nested("f(", ")"),
        nested("[", "]"),
        nested("$(", ")"),
        nested("{", "}"),
        nested("'", "\""),
        "(".repeat(10_000),
        "$(".repeat(10_000),
        "\"$(".repeat(10_000),
        "if x:\n".repeat(10_000),
        format!("x{}", ".a()".repeat(10_000)),
        format!("f{}", "()".repeat(10_000)),
        format!("f({})", "'a' + ".repeat(10_000)),
    ];
    for source in &sources {
        drop(crate::shell(source));
        let (_, steps) = read_counting(source, &Alone);
        let shown: String = source.chars().take(20).collect();
        assert!(steps <= 100_000 + 10 * source.len(), "{shown} takes {steps} steps");
    }
    assert_eq!(
        crate::python(&sources[0]).incomplete,
        ["source of 5242880 bytes is too long to parse"]
    );
    assert_eq!(crate::python(&sources[1]).incomplete, ["source holds a NUL byte"]);
    assert!(!crate::python(&sources[3]).incomplete.is_empty());
    assert!(!crate::shell(&sources[5]).incomplete.is_empty());
}

#[test]
fn long_flat_sources_are_read() {
    let facts = crate::python(&"f(x)\n".repeat(100_000));
    assert!(facts.incomplete.is_empty(), "{:?}", facts.incomplete);
}

/// Nesting of every kind fits the stack of a thread, and is said to be too deep.
#[test]
fn nesting_does_not_end_the_stack() {
    let kinds: [(&str, &str, &str); 14] = [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("f(", "1", ")"),
        ("{1: ", "1", "}"),
        ("not ", "x", ""),
        ("-", "x", ""),
        ("lambda: ", "x", ""),
        ("x if y else ", "x", ""),
        ("x[", "1", "]"),
        ("f'{", "1", "}'"),
        ("[x for x in ", "y", "]"),
        ("(yield ", "y", ")"),
        ("(y := ", "1", ")"),
        ("x ** ", "1", ""),
    ];
    for (open, inner, close) in kinds {
        let source = format!("{}{inner}{}", open.repeat(400), close.repeat(400));
        let facts = crate::python(&source);
        assert!(!facts.incomplete.is_empty() || open == "(", "{open}");
    }
    let blocks: Vec<String> =
        (0..300).map(|depth| format!("{}if x:\n", " ".repeat(depth))).collect();
    let blocks = blocks.concat();
    let facts = crate::python(&format!("{blocks}{}os.remove('/x')", " ".repeat(300)));
    assert!(!facts.incomplete.is_empty());
    let calls: Vec<String> =
        (0..300).map(|n| format!("def f{n}(x):\n    return f{}(x)\n", n + 1)).collect();
    let calls = calls.concat();
    drop(crate::python(&format!("{calls}f0(1)")));
    let code = (0..6).fold("os.remove('x')".to_owned(), |code, _| format!("exec({code:?})"));
    assert!(!crate::python(&code).incomplete.is_empty());
}

#[test]
fn source_within_source_ends() {
    let mut source = "ls".to_owned();
    for _ in 0..8 {
        source = format!("bash -c {}", quote(&source));
    }
    let facts = crate::shell(&source);
    assert!(facts.incomplete.iter().any(|reason| reason.contains("nested too deeply")));
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        for read in READERS {
            drop(read(&text));
        }
    }

    #[test]
    fn any_mix_of_tokens_is_read(tokens in prop::collection::vec(prop::sample::select(vec![
        "os.system", "exec", "(", ")", "[", "]", "{", "}", "'", "\"", "\"\"\"", "f'", "\\", "$", "$(",
        "`", "<<EOF", "EOF", "\n", " ", "#", ";", "|", "&", ">", "import ", "from ", " as ", "=", "+",
        "é", "\u{0}", "a", "/etc", ":", "://", "lambda", "bash -c ", "eval ", "sudo ", "find -exec ", "-",
    ]), 0..60)) {
        let text = tokens.concat();
        for read in READERS {
            drop(read(&text));
        }
    }

    #[test]
    fn literals_keep_their_text(text in "[ -&(-~é]*") {
        let facts = crate::python(&format!("f({text:?})"));
        prop_assert_eq!(&facts.calls[0].args[0], &text);
        let facts = crate::shell(&format!("f {}", quote(&text)));
        prop_assert_eq!(&facts.calls[0].args[0], &text);
    }
}
