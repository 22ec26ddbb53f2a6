//! How often something is repeated.

use super::{
    super::{
        source::Scope,
        tree::{Command, Loop, Node, Piece, Text, Turns, Variable},
    },
    Large, MANY,
};

impl Large<'_> {
    /// Whether `printf` with these arguments prints much.
    pub(super) fn repeats(&self, args: &[Text], scope: Scope) -> bool {
        let format = args.first().map(Text::shown).unwrap_or_default();
        let width =
            numbers(&format).into_iter().any(|number| number >= MANY) && format.contains('%');
        let wide =
            format.contains("%*") && args.iter().skip(1).any(|arg| self.number(arg, scope) >= MANY);
        width || wide || args.iter().skip(1).any(|arg| self.count(arg, scope) >= MANY)
    }

    /// How many words there are in `text`: a range of braces, a sequence.
    pub(super) fn count(&self, text: &Text, scope: Scope) -> u64 {
        let ran = text.runs().flatten().map(|node| match node {
            Node::Command(command) if command.is(&["seq"]) => {
                command.args().iter().map(|arg| self.number(arg, scope)).max().unwrap_or(0)
            }
            Node::Command(command) if command.is(&["eval", "echo"]) => {
                command.args().iter().map(ranged).max().unwrap_or(0)
            }
            _ => 0,
        });
        ranged(text).max(ran.max().unwrap_or(0))
    }

    pub(super) fn number(&self, text: &Text, scope: Scope) -> u64 {
        let constants = self.source.constants(text, scope).unwrap_or_default();
        let constants = constants.iter().filter_map(|text| text.trim().parse::<u64>().ok());
        let worked = text.pieces.iter().filter_map(|piece| match piece {
            Piece::Math(text) => self.worked(text, scope),
            _ => None,
        });
        constants.chain(worked).max().unwrap_or(0)
    }

    /// The value of a product of numbers and variables, where it is one.
    pub(super) fn worked(&self, text: &str, scope: Scope) -> Option<u64> {
        let mut all = 1_u64;
        for part in text.split(['*', '+', '-']) {
            let part = part.trim().trim_matches(['$', '{', '}', '(', ')', ' ', '"']);
            let value = part.parse::<u64>().ok().or_else(|| {
                let variable = Variable {
                    name: part.to_owned(),
                    rest: String::new(),
                    prefix: None,
                    quoted: false,
                };
                let text = Text { raw: String::new(), pieces: vec![Piece::Variable(variable)] };
                self.source
                    .constants(&text, scope)?
                    .iter()
                    .filter_map(|text| text.parse().ok())
                    .max()
            })?;
            all = all.saturating_mul(value.max(1));
        }
        Some(all)
    }

    pub(super) fn turns(&self, turns: &Loop, scope: Scope) -> u64 {
        match &turns.kind {
            Turns::Each(_, words) if words.len() > 1 => {
                u64::try_from(words.len()).unwrap_or(u64::MAX)
            }
            Turns::Each(_, words) => {
                words.iter().map(|word| self.count(word, scope)).max().unwrap_or(1).max(1)
            }
            Turns::Count(start, condition, _) => {
                let bound = condition.split(['<', '>', '=']).rfind(|part| !part.trim().is_empty());
                let up = bound.and_then(|bound| self.worked(bound, scope)).unwrap_or(1);
                let down = if condition.contains('>') {
                    start.split('=').nth(1).and_then(|from| self.worked(from, scope)).unwrap_or(1)
                } else {
                    1
                };
                up.max(down).max(1)
            }
            Turns::While(condition) => {
                let mut most = 1;
                for node in condition {
                    match node {
                        Node::Test(test, _) => {
                            for (op, one, other) in test.binaries() {
                                if op.starts_with('-') || matches!(op, "<" | ">") {
                                    most = most.max(self.number(other, scope)).max(
                                        if op.starts_with("-g") {
                                            self.number(one, scope)
                                        } else {
                                            1
                                        },
                                    );
                                }
                            }
                        }
                        Node::Math(text, _) => {
                            for part in text.raw.split(['<', '>', '=']) {
                                most = most.max(self.worked(part, scope).unwrap_or(1));
                            }
                        }
                        _ => {}
                    }
                }
                most
            }
        }
    }

    pub(super) fn count_of(&self, command: &Command, scope: Scope) -> u64 {
        let mut most = 0;
        for arg in command.args() {
            most = most.max(self.number(arg, scope));
            for number in numbers(&arg.shown()) {
                let unit = if arg.shown().ends_with(['k', 'K']) {
                    1024
                } else if arg.shown().ends_with('M') {
                    1 << 20
                } else {
                    1
                };
                most = most.max(number.saturating_mul(unit));
            }
        }
        most
    }
}

/// The end of `{1..5000}` in it.
pub(super) fn ranged(text: &Text) -> u64 {
    let raw = text.raw.as_str();
    let Some((_, end)) = raw.rsplit_once("..") else { return 0 };
    if !raw.contains('{') {
        return 0;
    }
    let digits: String = end.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

pub(super) fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|text| text.parse().ok()).collect()
}

/// Processes that expanding a word starts.
pub(super) fn processes(raw: &str) -> u64 {
    let runs =
        raw.matches("$(").count() - raw.matches("$((").count() + raw.matches('`').count() / 2;
    let piped = if runs > 0 { raw.matches(" | ").count() * 2 } else { 0 };
    u64::try_from(runs + piped).unwrap_or(u64::MAX)
}

/// `x=$((x + 1))`: a number stays short.
pub(super) fn is_sum(text: &Text) -> bool {
    matches!(text.pieces.as_slice(), [Piece::Math(_)])
}

/// Whether a program of another language repeats a text: `"a" * 10000`, `"a" x 10000`, a loop.
pub(super) fn multiplies(text: &str) -> bool {
    let repeated = ["* ", "*", "x ", "<= ", "<=", "< ", "<", "..", "repeat(", "str_repeat"]
        .iter()
        .any(|sign| {
            text.match_indices(sign).any(|(at, _)| {
                let after = text.get(at + sign.len()..).unwrap_or_default().trim_start();
                let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<u64>().is_ok_and(|number| number >= MANY)
            })
        });
    repeated
        && text.contains(['"', '\'', '$'])
        && text.contains("print")
            | text.contains("write")
            | text.contains("echo")
            | text.contains("log")
}

/// `awk -v n=5000`, with a loop up to `n`.
pub(super) fn program_counts(arg: &Text, large: &Large, scope: Scope) -> bool {
    let shown = arg.shown();
    let loops = shown.contains("for") || shown.contains(" x ") || shown.contains('*');
    loops
        && arg.variables().any(|variable| {
            let text = Text { raw: String::new(), pieces: vec![Piece::Variable(variable.clone())] };
            large.number(&text, scope) >= MANY
        })
}
