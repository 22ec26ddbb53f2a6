//! Checks that are joined, and how they read in words.

/// A check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Check {
    Text(String),
    Not(Box<Check>),
    All(Vec<Check>),
    Any(Vec<Check>),
}

impl Check {
    /// As the lines of one text.
    pub(super) fn lines(&self) -> Vec<String> {
        let (title, parts) = match self {
            Self::Text(text) => return unindented(text),
            Self::Not(check) => ("this does not hold:", std::slice::from_ref(&**check)),
            Self::All(checks) => ("all of these hold:", checks.as_slice()),
            Self::Any(checks) => ("at least one of these holds:", checks.as_slice()),
        };
        let mut lines = vec![title.to_owned()];
        for part in parts {
            let mut mark = "- ";
            for line in part.lines() {
                lines.push(if line.trim().is_empty() {
                    String::new()
                } else {
                    format!("{mark}{line}")
                });
                mark = "  ";
            }
        }
        lines
    }
}

/// The lines of a text; those after the first without the indentation that they share, which they
/// have from where the text stands.
pub(super) fn unindented(text: &str) -> Vec<String> {
    let text = text.trim_matches(['\n', '\r']);
    let rest = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let shared = rest.map(|line| line.len() - line.trim_start_matches([' ', '\t']).len()).min();
    let lines = text.lines().enumerate().map(|(at, line)| match shared {
        Some(shared) if at > 0 => line.get(shared..).unwrap_or_default(),
        _ => line,
    });
    lines.map(str::to_owned).collect()
}
