//! What texts of the source say of the values in them, and of the functions that print them.

use super::{
    names,
    tree::{Function, Id, Tree},
};

/// So many texts are looked at.
const MOST: usize = 256;
/// Words before a value that tell what it is.
const NEAR: usize = 3;

/// A text that is written with values.
pub(super) struct Text {
    /// What is written or formatted.
    pub(super) at: Id,
    /// Its words, values aside.
    pub(super) says: String,
    /// The values, each with the words before it.
    pub(super) values: Vec<(Id, String)>,
}

/// The texts that are printed or formatted with values.
pub(super) fn texts(tree: &Tree) -> Vec<Text> {
    let all = (0..tree.len()).take_while(|_| tree.work(1));
    all.filter_map(|id| text(tree, id)).take(MOST).collect()
}

fn text(tree: &Tree, id: Id) -> Option<Text> {
    let mut text = Text { at: id, says: String::new(), values: Vec::new() };
    let mut near = String::new();
    match tree.kind(id) {
        "string" | "binary_operator" => text.add(tree, id, &mut near),
        "call" if matches!(tree.callee(id).as_str(), "print" | "sys.stdout.write") => {
            for (_, value) in tree.arguments(id) {
                text.add(tree, value, &mut near);
            }
        }
        "call" => {
            let callee = tree.child(id, "function")?;
            let format = tree.kind(callee) == "attribute"
                && tree.child(callee, "attribute").is_some_and(|name| tree.text(name) == "format");
            let pattern = tree.child(callee, "object").filter(|_| format)?;
            text.says = tree.literal(pattern)?;
            let mut before = text.says.split('{').map(last_words);
            for (_, value) in tree.arguments(id) {
                text.values.push((value, before.next().unwrap_or_default()));
            }
        }
        _ => return None,
    }
    let whole = !text.values.is_empty() && text.says.contains(char::is_alphabetic);
    whole.then_some(text)
}

impl Text {
    fn add(&mut self, tree: &Tree, id: Id, near: &mut String) {
        match tree.kind(id) {
            "string" => {
                for part in tree.below(id) {
                    match tree.kind(part) {
                        "string_content" => {
                            tree.text(part).clone_into(near);
                            self.says.push_str(near);
                            self.says.push(' ');
                        }
                        "interpolation" => {
                            if let Some(value) = tree.child(part, "expression") {
                                self.values.push((value, last_words(near)));
                            }
                            near.clear();
                        }
                        _ => {}
                    }
                }
            }
            "binary_operator" => {
                let parts = [tree.child(id, "left"), tree.child(id, "right")];
                for part in parts.into_iter().flatten().take_while(|_| tree.work(1)) {
                    // Deep sums are no texts.
                    if tree.end(part) - part < 64 {
                        self.add(tree, part, near);
                    }
                }
            }
            _ => {
                self.values.push((id, last_words(near)));
                near.clear();
            }
        }
    }
}

fn last_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.get(words.len().saturating_sub(NEAR)..).unwrap_or_default().join(" ")
}

/// What a function prints or raises first of all, without a condition.
pub(super) fn announces<'a>(
    tree: &'a Tree,
    function: &Function,
) -> impl Iterator<Item = String> + 'a {
    let body = tree.child(function.at, "body");
    let statements = body.into_iter().flat_map(|body| tree.below(body));
    statements.take(3).filter_map(|statement| {
        let call = tree
            .below(statement)
            .next()
            .filter(|_| tree.kind(statement) == "expression_statement")?;
        let prints = tree.kind(call) == "call" && {
            let callee = tree.callee(call);
            callee == "print" || callee.starts_with("logging.") || callee.ends_with("info")
        };
        let (_, value) = tree.arguments(call).into_iter().next().filter(|_| prints)?;
        (tree.kind(value) == "string").then(|| {
            let parts = tree.below(value).filter(|part| tree.kind(*part) == "string_content");
            parts.map(|part| tree.text(part)).collect::<Vec<_>>().join(" ")
        })
    })
}

/// Whether a function says that it finds out whether something is allowed, and answers.
pub(super) fn checks(tree: &Tree, function: &Function) -> bool {
    const CHECKS: [&str; 8] = [
        "checking",
        "check",
        "validating",
        "verifying",
        "authenticating",
        "authorizing",
        "authorising",
        "confirming",
    ];
    !function.returns.is_empty()
        && announces(tree, function).any(|text| {
            let words = names::words(&text);
            words.len() < 8 && words.first().is_some_and(|first| CHECKS.contains(&first.as_str()))
        })
}
