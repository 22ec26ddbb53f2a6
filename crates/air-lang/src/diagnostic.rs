//! What is wrong with a rule file, where, and what to do about it.

mod render;

use std::{fmt, ops::Range, sync::Arc};

use serde::{Serialize, Serializer};

pub use render::render;

/// How bad a finding is. Ordered: the worst comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The rule cannot be loaded.
    Error,
    /// It can, but is not written as it should be.
    Warning,
    /// Worth knowing.
    Note,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// What kind of finding it is. Its text is stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {$($(#[$doc])* $name,)*}

        impl Code {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its stable name.
            pub fn as_str(self) -> &'static str {
                match self {$(Self::$name => $text,)*}
            }
        }
    };
}

codes! {
    /// A condition that cannot be true.
    AlwaysFalse = "always-false",
    /// A condition that cannot be false.
    AlwaysTrue = "always-true",
    /// An action of `respond` that does not exist or is not complete.
    BadAction = "bad-action",
    /// A rule name that is not `@` and an identifier.
    BadName = "bad-name",
    /// An argument that is not what its clause takes.
    BadArgument = "bad-argument",
    /// An expression that does not compile.
    BadCondition = "bad-condition",
    /// Clauses that exclude each other.
    ConflictingClauses = "conflicting-clauses",
    /// A clause that a rule has already.
    DuplicateClause = "duplicate-clause",
    /// An item that a list has already.
    DuplicateItem = "duplicate-item",
    /// A rule name that another rule has already.
    DuplicateName = "duplicate-name",
    /// A rule that holds exactly when another one does.
    DuplicateRule = "duplicate-rule",
    /// A clause without its argument or text.
    EmptyClause = "empty-clause",
    /// A character that is not seen, or that changes the order in which text is shown.
    HiddenCharacter = "hidden-character",
    /// A remediation that promises what nothing here can do.
    IdealizedRemediation = "idealized-remediation",
    /// A clause that is not at the rule's indentation.
    IndentedClause = "indented-clause",
    /// Bytes that are no text.
    InvalidUtf8 = "invalid-utf8",
    /// A letter of another script in the place of a Latin one.
    LookAlike = "look-alike",
    /// A clause that this kind of rule does not have.
    MisplacedClause = "misplaced-clause",
    /// A rule without a clause that it needs.
    MissingClause = "missing-clause",
    /// A rule that is not closed.
    MissingEnd = "missing-end",
    /// Tabs and spaces whose widths cannot be compared.
    MixedIndentation = "mixed-indentation",
    /// A rule that only a model can decide.
    NoCondition = "no-condition",
    /// Files change, and nothing puts them back.
    NoRollback = "no-rollback",
    /// More rules than could be compared with each other.
    NotAllCompared = "not-all-compared",
    /// A rule that says in this language nearly what it said in another.
    NotExact = "not-exact",
    /// A guardrail whose text speaks of what has happened.
    PastInGuardrail = "past-in-guardrail",
    /// A pattern that every text matches.
    PatternMatchesAll = "pattern-matches-all",
    /// A pattern that no text matches.
    PatternNeverMatches = "pattern-never-matches",
    /// An AIR rule whose text speaks of what is planned.
    PlanInAirRule = "plan-in-air-rule",
    /// A suggestion that the rule itself would refuse.
    SelfDenying = "self-denying",
    /// A rule that holds only where another one does, and does no more.
    SubsumedRule = "subsumed-rule",
    /// Text on the line of its keyword.
    TextOnClauseLine = "text-on-clause-line",
    /// Text that is not deeper than its clause.
    TextNotIndented = "text-not-indented",
    /// A check that names no object and no effect.
    TooAbstract = "too-abstract",
    /// A file beyond the size limit.
    TooLarge = "too-large",
    /// More findings than are kept.
    TooManyFindings = "too-many-findings",
    /// A check that is tied to one example.
    TooSpecific = "too-specific",
    /// A dot in a pattern that was probably meant to be a dot.
    UnescapedDot = "unescaped-dot",
    /// Text where none belongs.
    UnexpectedText = "unexpected-text",
    /// A word in the place of a keyword that is none.
    UnknownClause = "unknown-clause",
    /// A severity that is none.
    UnknownSeverity = "unknown-severity",
    /// A tool that nobody here has.
    UnknownTool = "unknown-tool",
    /// A value that the fact never has.
    UnknownValue = "unknown-value",
    /// An `evidence` that cannot be true where `when` is.
    UnreachableEvidence = "unreachable-evidence",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A place in a file. Both count from 1; columns count characters, not bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// One finding. Its message is a fragment with the user's input in backticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What kind it is.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where, in bytes of the file.
    pub span: Range<usize>,
    /// Where it starts.
    pub start: Position,
    /// Where it ends; not part of it.
    pub end: Position,
    /// What mends it for certain; empty where a person has to choose. No sound rule means anything
    /// else afterwards.
    pub fix: Vec<Edit>,
}

/// A piece of a file, and what belongs in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Where, in bytes of the file.
    pub span: Range<usize>,
    /// What belongs there.
    pub text: Arc<str>,
}

impl Edit {
    pub(crate) fn new(span: Range<usize>, text: impl Into<Arc<str>>) -> Self {
        Self { span, text: text.into() }
    }
}

impl Diagnostic {
    /// The finding as a machine reads it.
    pub fn report<'d>(&'d self, file: &'d str) -> Report<'d> {
        Report {
            file,
            line: self.start.line,
            column: self.start.column,
            end_line: self.end.line,
            end_column: self.end.column,
            code: self.code,
            severity: self.severity,
            message: &self.message,
            hint: self.hint.as_deref(),
            fixable: !self.fix.is_empty(),
        }
    }
}

/// A finding in its JSON form.
#[derive(Debug, Clone, Serialize)]
pub struct Report<'d> {
    /// The file, as the user named it.
    pub file: &'d str,
    /// Line of the first character, from 1.
    pub line: usize,
    /// Column of the first character, from 1, in characters.
    pub column: usize,
    /// Line of the character after the last.
    pub end_line: usize,
    /// Column of the character after the last.
    pub end_column: usize,
    /// What kind it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: &'d str,
    /// What to do about it.
    pub hint: Option<&'d str>,
    /// Whether `airctl check --fix` mends it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fixable: bool,
}

/// Findings kept per file. Past it, nothing of the file is loaded or rewritten.
const KEPT: usize = 10_000;

/// Findings before they have line numbers.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    drafts: Vec<Draft>,
    dropped: usize,
}

#[derive(Debug)]
pub(crate) struct Draft {
    severity: Severity,
    code: Code,
    span: Range<usize>,
    message: String,
    hint: Option<String>,
    fix: Vec<Edit>,
}

/// A finding that was just added, unless there were too many.
pub(crate) struct Added<'s>(Option<&'s mut Draft>);

impl Added<'_> {
    /// Says what mends it for certain.
    pub(crate) fn fix(self, edits: impl IntoIterator<Item = Edit>) {
        if let Some(draft) = self.0 {
            draft.fix.extend(edits);
        }
    }
}

impl Sink {
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) -> Added<'_> {
        if self.drafts.len() == KEPT {
            self.dropped += 1;
            return Added(None);
        }
        let (message, hint) = (message.into(), hint.into());
        self.drafts.push(Draft { severity, code, span, message, hint, fix: Vec::new() });
        Added(self.drafts.last_mut())
    }

    pub(crate) fn error(
        &mut self,
        code: Code,
        span: Range<usize>,
        message: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) -> Added<'_> {
        self.add(Severity::Error, code, span, message, hint)
    }

    /// Whether findings were dropped, so that what is left proves nothing.
    pub(crate) fn is_full(&self) -> bool {
        self.dropped > 0
    }

    /// The start of each error, in order.
    pub(crate) fn errors(&self) -> Vec<usize> {
        let errors = self.drafts.iter().filter(|draft| draft.severity == Severity::Error);
        let mut starts: Vec<usize> = errors.map(|draft| draft.span.start).collect();
        starts.sort_unstable();
        starts
    }

    /// The findings in the order of the file.
    pub(crate) fn finish(mut self, source: &str) -> Vec<Diagnostic> {
        if self.dropped > 0 {
            let message = format!("{} more findings", self.dropped);
            let hint = Some("mend the first ones and check again".to_owned());
            let (severity, code) = (Severity::Error, Code::TooManyFindings);
            let span = source.len()..source.len();
            self.drafts.push(Draft { severity, code, span, message, hint, fix: Vec::new() });
        }
        self.drafts.sort_by_key(|draft| (draft.span.start, draft.severity));
        let places = positions(source, self.drafts.iter().map(|draft| &draft.span));
        let position = |at: usize| {
            let found = places.binary_search_by_key(&at, |(place, _)| *place);
            let place = found.ok().and_then(|found| places.get(found));
            place.map_or(Position { line: 1, column: 1 }, |(_, position)| *position)
        };
        let drafts = self.drafts.into_iter();
        drafts
            .map(|Draft { severity, code, span, message, hint, fix }| {
                let (start, end) = (position(span.start), position(span.end));
                Diagnostic { severity, code, message, hint, span, start, end, fix }
            })
            .collect()
    }
}

/// The positions of the ends of `spans`, in the order of the file. Looks at each byte once.
pub fn positions<'r>(
    source: &str,
    spans: impl Iterator<Item = &'r Range<usize>>,
) -> Vec<(usize, Position)> {
    let mut ends: Vec<usize> = spans.flat_map(|span| [span.start, span.end]).collect();
    ends.sort_unstable();
    ends.dedup();
    let (mut at, mut line, mut column) = (0, 1, 1);
    let mut found = Vec::with_capacity(ends.len());
    for end in ends {
        for c in source.get(at..end).unwrap_or_default().chars() {
            (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        at = end;
        found.push((end, Position { line, column }));
    }
    found
}

/// A piece of a rule file in backticks, safe to print, and no longer than a line.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut quoted = String::from("`");
    for c in text.chars().take(LONGEST) {
        if c.is_control() {
            quoted.extend(c.escape_default());
        } else {
            quoted.push(c);
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        quoted.push('…');
    }
    quoted.push('`');
    quoted
}
