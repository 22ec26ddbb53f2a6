//! Blocks of code in what a `CodeAct` agent says.

/// The languages that are run, by the names of their fences, and the tools that run them.
const LANGUAGES: [(&str, &str, &str); 7] = [
    ("python", "python_repl", "code"),
    ("py", "python_repl", "code"),
    ("python3", "python_repl", "code"),
    ("bash", "bash", "command"),
    ("sh", "bash", "command"),
    ("shell", "bash", "command"),
    ("console", "bash", "command"),
];

/// A block that is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    /// What is said before it.
    pub(crate) plan: String,
    /// The tool that runs it.
    pub(crate) tool: &'static str,
    /// Its argument.
    pub(crate) argument: &'static str,
    /// The source.
    pub(crate) source: String,
}

/// What an answer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Words alone, or code in a language that is not run.
    Nothing,
    /// The first block that is to be run. What follows it was written without knowing what it returns.
    Block(Block),
    /// A block that begins and does not end: it was cut off.
    Unfinished,
}

/// Finds the first block in an answer. A fence is a line of three or more of the same mark, indented by
/// three spaces at most; it ends with a line of at least as many (`CommonMark` 0.31, 4.5).
pub(crate) fn first(text: &str) -> Found {
    let mut plan = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((mark, count, info)) = fence(line) else {
            plan.push_str(line);
            plan.push('\n');
            continue;
        };
        let word = info.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        let known = LANGUAGES.iter().find(|(name, ..)| *name == word);
        let mut source = String::new();
        let mut ended = false;
        for line in lines.by_ref() {
            if fence(line)
                .is_some_and(|(end, of, rest)| end == mark && of >= count && rest.is_empty())
            {
                ended = true;
                break;
            }
            source.push_str(line);
            source.push('\n');
        }
        let Some((_, tool, argument)) = known else { continue };
        if !ended {
            return Found::Unfinished;
        }
        let plan = plan.trim().to_owned();
        return Found::Block(Block { plan, tool, argument, source });
    }
    Found::Nothing
}

/// The mark of a fence, how many there are, and what follows.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return None;
    }
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let count = text.len() - rest.len();
    (count >= 3).then(|| (mark, count, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> Block {
        match first(text) {
            Found::Block(block) => block,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_block_is_run_and_what_stands_before_it_is_the_plan() {
        let found = block(
            "I list the files.\n\n```bash\nls -la\n```\nIt printed: nothing.\n```python\n1\n```\n",
        );
        assert_eq!((found.plan.as_str(), found.tool), ("I list the files.", "bash"));
        assert_eq!(found.source, "ls -la\n");
        let nested = block("````python\nprint('''\n```\n''')\n````\n");
        assert_eq!(nested.source, "print('''\n```\n''')\n");
        assert_eq!(block("~~~ py title=x\n1\n~~~").tool, "python_repl");
    }

    #[test]
    fn words_and_other_languages_are_not_run() {
        assert_eq!(first("All done."), Found::Nothing);
        assert_eq!(first("```json\n{}\n```\ndone"), Found::Nothing);
        assert_eq!(first("    ```python\n    1\n    ```"), Found::Nothing);
    }

    #[test]
    fn what_is_cut_off_is_not_run() {
        assert_eq!(first("I go on.\n```python\nimport os\nos.rem"), Found::Unfinished);
    }
}
