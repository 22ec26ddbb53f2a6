//! What can be told of a program from its text alone.

use data_encoding::BASE64;
use regex::Regex;
use tree_sitter::{Node, Parser};

use crate::data::Language;

/// Programs that are parsed.
const BYTES: usize = 256 << 10;

/// Whether `content` is base64 of a program of Python that calls or imports something.
pub(crate) fn is_encoded(content: &[u8]) -> bool {
    let content: Vec<u8> =
        content.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(BYTES).collect();
    if content.is_empty() {
        return false;
    }
    let decoded = BASE64.decode(&content).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.is_some_and(|text| is_python(&text))
}

fn is_python(text: &str) -> bool {
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_python::LANGUAGE.into()).is_err() {
        return false;
    }
    let Some(tree) = parser.parse(text, None) else { return false };
    let root = tree.root_node();
    !root.has_error() && has(root, &["call", "import_statement", "import_from_statement"], 0)
}

fn has(node: Node<'_>, kinds: &[&str], depth: u32) -> bool {
    if kinds.contains(&node.kind()) {
        return true;
    }
    let mut cursor = node.walk();
    depth < 64 && node.children(&mut cursor).any(|child| has(child, kinds, depth + 1))
}

/// All quoted texts of a source, as they stand there.
pub(crate) fn literals(code: &str) -> Vec<String> {
    matches(r#""((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'"#, code)
}

/// The first group that matched, of each match.
pub(crate) fn matches(pattern: &str, text: &str) -> Vec<String> {
    let Ok(pattern) = Regex::new(pattern) else { return Vec::new() };
    pattern
        .captures_iter(text)
        .filter_map(|found| {
            found.iter().skip(1).flatten().next().map(|group| group.as_str().to_owned())
        })
        .collect()
}

/// Whether the source evaluates a text that is not written there.
pub(crate) fn evaluates_data(language: Language, code: &str) -> bool {
    match language {
        Language::Python => !matches(r"\b(eval|exec)\s*\(", code).is_empty(),
        Language::Bash => {
            !matches(r"\b(eval)\s[^\n]*[$`]", code).is_empty()
                || !matches(r#"\b(?:ba|da|z)?sh\s+(-c)\s+["']?\$"#, code).is_empty()
                || !matches(r#"(?m)(?:^|[;&|(`])\s*("?\$\{?\w+\}?"?)\s*(?:2>|\)|$|;|\|)"#, code)
                    .is_empty()
                || !matches(r"\b(?:source|\.)\s+<\((\s*echo)", code).is_empty()
        }
    }
}

/// Keys that stand more than once in a list of pairs, or in a literal.
pub(crate) fn repeated_keys(language: Language, code: &str) -> Vec<String> {
    let keys = match language {
        Language::Python => {
            let mut keys = matches(r#"[(\[{,]\s*["']([^"'\n]+)["']\s*:"#, code);
            keys.extend(matches(r#"(?:^|[^\w\])])[(\[]\s*["']([^"'\n]+)["']\s*,"#, code));
            keys.extend(matches(r#"\[\s*["']([^"'\n]+)["']\s*\]\s*="#, code));
            keys
        }
        Language::Bash => {
            let mut keys = matches(r#"\[["']?([^\]"'$\n]+)["']?\]="#, code);
            for list in matches(r"(?s)=\(([^)]*)\)", code) {
                let words = matches(r#"("[^"\n]*"|'[^'\n]*'|[^\s"']+)"#, &list);
                keys.extend(words.iter().map(|word| {
                    let word = word.trim_matches(['"', '\'']);
                    let end = word.find([',', ':', '=', '|', ' ', ';']).unwrap_or(word.len());
                    word.get(..end).unwrap_or(word).to_owned()
                }));
            }
            keys
        }
    };
    let mut repeated: Vec<String> = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let seen_before = keys.iter().take(at).any(|other| other == key);
        if seen_before && !key.is_empty() && !repeated.contains(key) {
            repeated.push(key.clone());
        }
    }
    repeated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_programs_call_something() {
        #[rustfmt::skip]
        let table = [
            ("import os; os.remove('x')",  true),
            ("print('x')",                 true),
            ("see you at noon",            false),
            ("hello",                      false),
            ("x = 1",                      false),
        ];
        for (text, expected) in table {
            let encoded = BASE64.encode(text.as_bytes());
            assert_eq!(is_encoded(encoded.as_bytes()), expected, "{text}");
            assert!(!is_encoded(text.as_bytes()), "{text} as it is");
        }
    }

    #[test]
    fn data_is_told_from_text_that_is_written_there() {
        #[rustfmt::skip]
        let table = [
            (Language::Python, "eval(text)",             true),
            (Language::Python, "print(text)",            false),
            (Language::Bash,   "eval \"$1\"",            true),
            (Language::Bash,   "bash -c \"$order\"",     true),
            (Language::Bash,   "result=$($order 2>&1)",  true),
            (Language::Bash,   "ls -a /root",            false),
            (Language::Bash,   "echo \"$order\"",        false),
        ];
        for (language, code, expected) in table {
            assert_eq!(evaluates_data(language, code), expected, "{code}");
        }
    }

    #[test]
    fn keys_that_stand_there_twice() {
        #[rustfmt::skip]
        let table: [(Language, &str, &[&str]); 7] = [
            (Language::Python, "[('a', 1), ('b', 2), ('a', 3)]",         &["a"]),
            (Language::Python, "{'a': 1, \"a\": 2}",                     &["a"]),
            (Language::Python, "l.append(('a', 1)); l.append(('a', 2))", &["a"]),
            (Language::Python, "l = [('a', 1)]; print('a', l)",          &[]),
            (Language::Bash,   "l=(\"a,1\" \"b,2\" \"a,3\")",            &["a"]),
            (Language::Bash,   "l+=('a:1'); l+=('a:2')",                 &["a"]),
            (Language::Bash,   "l=('a,1' 'b,2')",                        &[]),
        ];
        for (language, code, expected) in table {
            assert_eq!(repeated_keys(language, code), expected, "{code}");
        }
    }
}
