//! The texts in a source of Rust.

/// What its string literals say, without those of its tests.
pub(super) fn of_rust(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let letters: Vec<char> = source.chars().collect();
    let (mut at, mut texts) = (0, Vec::new());
    let get = |at: usize| letters.get(at).copied().unwrap_or('\0');
    while at < letters.len() {
        let before = at.checked_sub(1).map_or(' ', get);
        let begins = !(before.is_alphanumeric() || before == '_');
        match get(at) {
            '/' if get(at + 1) == '/' => {
                while at < letters.len() && get(at) != '\n' {
                    at += 1;
                }
            }
            '/' if get(at + 1) == '*' => {
                let mut depth = 0;
                loop {
                    match (get(at), get(at + 1)) {
                        ('/', '*') => (depth, at) = (depth + 1, at + 2),
                        ('*', '/') => (depth, at) = (depth - 1, at + 2),
                        _ => at += 1,
                    }
                    if depth == 0 || at >= letters.len() {
                        break;
                    }
                }
            }
            // A letter; a lifetime has no second quote.
            '\'' if get(at + 1) == '\\' => {
                at += 3;
                while at < letters.len() && get(at) != '\'' {
                    at += 1;
                }
                at += 1;
            }
            '\'' if get(at + 2) == '\'' => at += 3,
            'r' if begins || before == 'b' || before == 'c' => {
                let hashes = (at + 1..letters.len()).take_while(|at| get(*at) == '#').count();
                at += 1 + hashes;
                if get(at) != '"' {
                    continue;
                }
                let from = at + 1;
                let is_end = |at: usize| get(at) == '"' && (1..=hashes).all(|n| get(at + n) == '#');
                at = (from..letters.len()).find(|at| is_end(*at)).unwrap_or(letters.len());
                texts.push(letters.get(from..at).unwrap_or_default().iter().collect());
                at += 1 + hashes;
            }
            '"' => {
                at += 1;
                let mut text = String::new();
                while at < letters.len() && get(at) != '"' {
                    if get(at) == '\\' {
                        at = escaped(&letters, at + 1, &mut text);
                    } else {
                        text.push(get(at));
                        at += 1;
                    }
                }
                texts.push(text);
                at += 1;
            }
            _ => at += 1,
        }
    }
    texts
}

/// What follows a backslash; where it ends.
fn escaped(letters: &[char], at: usize, text: &mut String) -> usize {
    let number = |from: usize, to: usize| {
        let digits: String = letters.get(from..to).unwrap_or_default().iter().collect();
        u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
    };
    match letters.get(at).copied().unwrap_or('\0') {
        'n' => text.push('\n'),
        't' => text.push('\t'),
        'r' => text.push('\r'),
        '0' => text.push('\0'),
        'x' => {
            text.extend(number(at + 1, at + 3));
            return at + 3;
        }
        'u' => {
            let length = letters.iter().skip(at).position(|it| *it == '}').unwrap_or_default();
            text.extend(number(at + 2, at + length));
            return at + length + 1;
        }
        // A line that goes on.
        '\n' => {
            return letters
                .iter()
                .skip(at)
                .position(|it| !it.is_whitespace())
                .map_or(at, |n| at + n);
        }
        other => text.push(other),
    }
    at + 1
}

#[test]
fn texts_are_told_from_the_rest() {
    let source = r#"
        // "no"
        /* "no" /* nested "no" */ "no" */
        const A: &str = "one"; let b: &'static str = R"two";
        if c == '"' || d == '\'' || e == '\u{22}' { f::<'a>(b"three", "fo\"ur\n\x41\u{42} \
            five"); }
        for x in var"" {}
#[cfg(test)]
mod tests { const NO: &str = "no"; }
    "#;
    let hashed = source.replace("R\"two\"", "r#\"two \"quoted\"\"#");
    let found = of_rust(&hashed);
    assert_eq!(found, ["one", "two \"quoted\"", "three", "fo\"ur\nAB five", ""]);
}
