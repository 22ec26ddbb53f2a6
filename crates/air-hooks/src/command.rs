//! A command as a list of words, and as a line.

use serde_json::Value;

/// The line that does the same. The script itself, where the words are a shell that runs one.
pub(crate) fn line(words: &[Value]) -> String {
    let words: Vec<_> = words.iter().filter_map(crate::payload::text_of).collect();
    if let Some(script) = script_at(&words).and_then(|at| words.get(at)) {
        return script.clone();
    }
    let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" ")
}

/// `line` in the place of the command of `words`, as words.
pub(crate) fn words(line: &str, words: &[Value]) -> Vec<Value> {
    let texts: Vec<_> = words.iter().filter_map(crate::payload::text_of).collect();
    let mut out = match script_at(&texts) {
        Some(at) => texts.into_iter().take(at).map(Value::from).collect(),
        None => vec![Value::from("sh"), Value::from("-c")],
    };
    out.push(Value::from(line));
    out
}

/// Where the script is, if `words` are `SHELL -c SCRIPT`.
fn script_at(words: &[String]) -> Option<usize> {
    const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];
    let [shell, flags, _] = words else { return None };
    let name = shell.rsplit('/').next().unwrap_or(shell);
    let flags = flags.strip_prefix('-')?;
    let runs = flags.ends_with('c') && flags.chars().all(|flag| flag.is_ascii_lowercase());
    (SHELLS.contains(&name) && runs).then_some(2)
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./=:@%+,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_and_lines() {
        let table = [
            (json!(["bash", "-lc", "rm -rf x && ls"]), "rm -rf x && ls"),
            (json!(["/bin/sh", "-c", "ls"]), "ls"),
            (json!(["rm", "-rf", "a b", "it's", ""]), r"rm -rf 'a b' 'it'\''s' ''"),
            (json!(["bash", "-lc", "ls", "$0"]), "bash -lc ls '$0'"),
            (json!(["kill", 9]), "kill 9"),
            (json!([]), ""),
        ];
        for (given, expected) in table {
            assert_eq!(line(given.as_array().expect("a list")), expected, "{given}");
        }
        let given = [json!("bash"), json!("-lc"), json!("rm x")];
        assert_eq!(words("ls", &given), [json!("bash"), json!("-lc"), json!("ls")]);
        assert_eq!(words("ls", &[json!("rm")]), [json!("sh"), json!("-c"), json!("ls")]);
    }
}
