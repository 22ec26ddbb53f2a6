//! Lines to tree. A line is a clause only at the rule's own indentation; deeper lines are its body.
//!
//! INVARIANT: every byte of the source becomes part of exactly one token, in order.

use std::ops::Range;

use rowan::{GreenNode, GreenNodeBuilder};

use super::{
    SyntaxKind,
    keyword::{Keyword, Shape},
    line::{Line, comment_in},
};
use crate::diagnostic::{Code, Edit, Severity, Sink, quoted};

/// The tree of `source`. What is wrong with its layout goes to `sink`.
pub(crate) fn parse(source: &str, sink: &mut Sink) -> GreenNode {
    let mut parser = Parser { source, at: 0, trivia: 0, builder: GreenNodeBuilder::new(), sink };
    parser.builder.start_node(SyntaxKind::Root.into());
    parser.file();
    parser.builder.finish_node();
    parser.builder.finish()
}

struct Parser<'s, 'd> {
    source: &'s str,
    /// Where the next line starts.
    at: usize,
    /// Where blank lines and comments start that are not in the tree yet. At most `at`.
    trivia: usize,
    builder: GreenNodeBuilder<'static>,
    sink: &'d mut Sink,
}

/// The rule that is being parsed.
struct Open {
    /// Column of `rule`.
    base: usize,
    /// Column of its clauses: `base`, unless all of them are indented.
    column: usize,
    /// Clauses that it has had.
    seen: Vec<Keyword>,
    /// Clauses that stand alone on a line of it, also further down.
    alone: Vec<Keyword>,
    /// The clause that a deeper line belongs to.
    shape: Option<Shape>,
    keyword: Option<Keyword>,
    /// Whether the line before was reported for its place.
    complained: bool,
}

/// What comes after a line of a rule.
#[derive(PartialEq)]
enum Next {
    Line,
    Leave,
}

impl<'s> Parser<'s, '_> {
    fn file(&mut self) {
        if self.source.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
            self.trivia = self.at;
            self.builder.token(SyntaxKind::Bom.into(), "\u{feff}");
        }
        while let Some(line) = self.line() {
            if line.is_blank() || line.is_comment() {
                self.at = line.end();
            } else if starts_rule(&line) {
                self.flush();
                self.rule(&line);
            } else {
                self.flush();
                self.stray(&line);
            }
        }
        self.flush();
    }

    fn line(&self) -> Option<Line<'s>> {
        Line::at(self.source, self.at)
    }

    fn token(&mut self, kind: SyntaxKind, text: &str) {
        if !text.is_empty() {
            self.builder.token(kind.into(), text);
        }
    }

    /// Puts the blank lines and comments that were passed over into the tree.
    fn flush(&mut self) {
        let mut blank = self.trivia;
        while let Some(line) = Line::at(self.source, self.trivia).filter(|_| self.trivia < self.at)
        {
            if line.is_comment() {
                self.token(SyntaxKind::BlankLines, self.slice(blank..line.start));
                self.indented(&line, SyntaxKind::Comment);
                blank = line.end();
            }
            self.trivia = line.end();
        }
        self.token(SyntaxKind::BlankLines, self.slice(blank..self.at));
        self.trivia = self.at;
    }

    fn slice(&self, range: Range<usize>) -> &'s str {
        self.source.get(range).unwrap_or("")
    }

    /// A line of one token beside its blanks.
    fn indented(&mut self, line: &Line<'_>, kind: SyntaxKind) {
        self.token(SyntaxKind::Indent, line.indent);
        self.token(kind, line.content);
        self.token(SyntaxKind::Blank, line.tail);
        self.token(SyntaxKind::Newline, line.newline);
    }

    fn take(&mut self, line: &Line<'_>) {
        self.at = line.end();
        self.trivia = self.at;
    }

    /// Lines up to the next rule.
    fn stray(&mut self, first: &Line<'_>) {
        let (word, _, _) = first.split();
        let hint = match Keyword::exact(word) {
            Some(Keyword::End) => "no rule is open here; does it close one twice?".to_owned(),
            Some(_) => "a rule starts with `rule @name`".to_owned(),
            None => "a rule starts with `rule @name`, a comment with `#`".to_owned(),
        };
        let span = content_span(first);
        let message = format!("{} is outside of any rule", quoted(first.content));
        self.sink.error(Code::UnexpectedText, span, message, hint);
        let mut end = first.end();
        self.at = end;
        while let Some(line) = self.line().filter(|line| !starts_rule(line)) {
            self.at = line.end();
            if !line.is_blank() && !line.is_comment() {
                end = self.at;
            }
        }
        let text = self.slice(first.start..end);
        self.token(SyntaxKind::Stray, text);
        self.trivia = end;
    }

    fn rule(&mut self, header: &Line<'s>) {
        self.builder.start_node(SyntaxKind::Rule.into());
        let mut open = self.survey(header);
        let (word, ..) = header.split();
        if Keyword::exact(word).is_none() {
            self.unknown(header, Some(Keyword::Rule), &[]);
        }
        self.clause(header, Some(Keyword::Rule), &mut open);
        loop {
            let Some(line) = self.line() else {
                self.unclosed(header, &open, "the end of the file");
                break;
            };
            if line.is_blank() || line.is_comment() {
                self.at = line.end();
            } else if self.rule_line(&line, &mut open) == Next::Leave {
                if open.keyword != Some(Keyword::End) {
                    self.unclosed(header, &open, "the next rule");
                }
                break;
            }
        }
        // The last clause, then the rule.
        self.builder.finish_node();
        self.builder.finish_node();
    }

    fn unclosed(&mut self, header: &Line<'_>, open: &Open, before: &str) {
        let message = format!("no `end` before {before}");
        let above = self.source.get(..self.trivia).unwrap_or_default();
        let added = self.sink.error(
            Code::MissingEnd,
            content_span(header),
            message,
            "close the rule with `end` on a line of its own".to_owned(),
        );
        // Whether more was to come is known only where the rule says what it does.
        let outcomes = [Keyword::Remediate, Keyword::Block, Keyword::Ask, Keyword::Warn];
        if outcomes.iter().any(|outcome| open.seen.contains(outcome)) {
            let newline = if above.ends_with('\n') { "" } else { "\n" };
            let end = format!("{newline}{}end\n", header.indent);
            added.fix([Edit::new(self.trivia..self.trivia, end)]);
        }
    }

    /// Looks ahead: how the rule's clauses are indented and which of them stand alone.
    fn survey(&mut self, header: &Line<'_>) -> Open {
        let base = header.width();
        let mut open = Open {
            base,
            column: base,
            seen: Vec::new(),
            alone: Vec::new(),
            shape: None,
            keyword: None,
            complained: false,
        };
        let (mut first, mut tabs, mut spaces) = (true, false, false);
        let mut at = header.end();
        while let Some(line) = Line::at(self.source, at) {
            at = line.end();
            if line.is_blank() || line.is_comment() {
                continue;
            }
            let (word, _, argument) = line.split();
            let (width, keyword) = (line.width(), Keyword::exact(word));
            if first && width > base && keyword.is_some_and(|keyword| keyword != Keyword::Rule) {
                open.column = width;
                let hint = "`fmt` moves them to the indentation of `rule`".to_owned();
                let message = "the clauses of this rule are indented";
                self.sink.add(
                    Severity::Warning,
                    Code::IndentedClause,
                    content_span(&line),
                    message,
                    hint,
                );
            }
            first = false;
            if width <= open.column {
                if starts_rule(&line)
                    && (argument.starts_with('@') || width <= base && keyword.is_some())
                {
                    break;
                }
                if let Some(keyword) = keyword.filter(|_| is_alone(argument)) {
                    open.alone.push(keyword);
                    if keyword == Keyword::End {
                        break;
                    }
                }
            }
            tabs |= line.indent.contains('\t');
            spaces |= line.indent.contains(' ');
        }
        open.alone.sort_unstable();
        open.alone.dedup();
        if open.column > 0 && tabs && spaces {
            let hint = "indent with spaces; a tab counts to the next multiple of eight".to_owned();
            let message = "tabs and spaces are mixed, and the rule itself is indented";
            self.sink.add(
                Severity::Warning,
                Code::MixedIndentation,
                content_span(header),
                message,
                hint,
            );
        }
        open
    }

    fn rule_line(&mut self, line: &Line<'s>, open: &mut Open) -> Next {
        let (word, _, argument) = line.split();
        let keyword = Keyword::exact(word);
        let deeper = line.width() > open.column;
        if deeper {
            let bare = matches!(open.shape, Some(Shape::Argument | Shape::Alone));
            let clause = keyword.filter(|k| *k != Keyword::Rule && bare);
            if clause.is_none() {
                if bare && !open.complained {
                    self.unexpected(line, open);
                }
                open.complained = bare;
                self.body(line);
                return Next::Line;
            }
            self.misaligned(line);
        } else if starts_rule(line) && is_header(line, open) {
            return Next::Leave;
        } else if line.width() != open.column
            && keyword.is_some()
            && !(keyword == Some(Keyword::End) && line.width() == open.base)
        {
            self.misaligned(line);
        }
        let in_text = open.shape == Some(Shape::Text);
        let meant = keyword.and_then(|keyword| self.meant(line, keyword, open));
        let guess = if keyword.is_none() { guess(word, argument, in_text) } else { None };
        if let Some(keyword) = meant.or(guess) {
            if meant.is_none() {
                self.unknown(line, Some(keyword), &open.seen);
            }
            self.clause(line, Some(keyword), open);
            if keyword == Keyword::End {
                return Next::Leave;
            }
        } else if in_text {
            if !open.complained {
                self.not_indented(line, open.column);
            }
            open.complained = true;
            self.body(line);
        } else {
            self.unknown(line, None, &[]);
            self.clause(line, None, open);
        }
        Next::Line
    }

    /// The clause that a line at a clause's place opens. None: it is text that is not indented.
    fn meant(&mut self, line: &Line<'s>, keyword: Keyword, open: &Open) -> Option<Keyword> {
        let in_text = open.shape == Some(Shape::Text);
        let (word, _, argument) = line.split();
        match keyword.shape() {
            Shape::Argument if in_text && keyword == Keyword::Rule => return None,
            Shape::Argument if in_text && keyword == Keyword::From => {
                return argument.starts_with("incident").then_some(keyword);
            }
            Shape::Argument | Shape::Condition => {}
            Shape::Text | Shape::Actions | Shape::Alone if is_alone(argument) => {}
            Shape::Text | Shape::Actions => {
                let had =
                    open.seen.contains(&keyword) || open.alone.binary_search(&keyword).is_ok();
                if in_text && had {
                    return None;
                }
                self.on_clause_line(line);
            }
            Shape::Alone if in_text => return None,
            Shape::Alone => {
                let message = format!("`{word}` stands alone on its line");
                let hint = format!("remove {}", quoted(argument));
                self.sink.error(Code::UnexpectedText, content_span(line), message, hint);
            }
        }
        Some(keyword)
    }

    fn not_indented(&mut self, line: &Line<'_>, column: usize) {
        let (word, ..) = line.split();
        let text = quoted(line.content);
        let message = format!("{text} is not indented");
        let indented =
            format!("`{}{}", " ".repeat(column.min(16) + 2), text.trim_start_matches('`'));
        let hint = match Keyword::exact(word).map(Keyword::shape) {
            Some(Shape::Alone) => {
                format!("as text it is deeper, {indented}; as a clause, `{word}` stands alone")
            }
            _ => format!("text is deeper than its clause: {indented}"),
        };
        self.sink.error(Code::TextNotIndented, content_span(line), message, hint);
    }

    fn on_clause_line(&mut self, line: &Line<'_>) {
        let (word, _, argument) = line.split();
        let message = format!("what belongs below `{word}` is on its line");
        let hint = format!("`fmt` puts {} below it, indented", quoted(argument));
        let span = content_span(line);
        self.sink.add(Severity::Warning, Code::TextOnClauseLine, span, message, hint);
    }

    fn misaligned(&mut self, line: &Line<'_>) {
        let (word, ..) = line.split();
        let span = line.content_start()..line.content_start() + word.len();
        let message = format!("`{word}` is not at the indentation of its rule");
        let hint = "`fmt` moves it there".to_owned();
        self.sink.add(Severity::Warning, Code::IndentedClause, span, message, hint);
    }

    fn unexpected(&mut self, line: &Line<'_>, open: &Open) {
        let clause = open.keyword.map_or("this clause", Keyword::as_str);
        let message = format!("`{clause}` takes no lines below it");
        let hint = match open.keyword {
            Some(Keyword::Trigger | Keyword::Tags) => {
                "write all of them on its line, with commas between"
            }
            Some(Keyword::Block | Keyword::Ask | Keyword::Warn) => {
                "what the agent shall do instead goes below `instead`"
            }
            _ => "free text goes below `check`, `remediate` or `instead`",
        };
        self.sink.error(Code::UnexpectedText, content_span(line), message, hint.to_owned());
    }

    fn unknown(&mut self, line: &Line<'_>, meant: Option<Keyword>, seen: &[Keyword]) {
        let (word, ..) = line.split();
        let span = line.content_start()..line.content_start() + word.len();
        let message = format!("unknown clause {}", quoted(word));
        let hint = match meant {
            Some(keyword) => format!("did you mean `{}`?", keyword.as_str()),
            None => "clauses are `trigger`, `severity`, `shadow`, `tags`, `when`, `evidence`, `decide`, `check`, `verify`, `respond`, \
                     `remediate`, `block`, `ask`, `warn`, `instead`, `from` and `end`; text and conditions go on over deeper lines"
                .to_owned(),
        };
        let only = meant.filter(|it| Keyword::only_guess(word) == Some(*it) && !seen.contains(it));
        let fix = only.map(|keyword| Edit::new(span.clone(), keyword.as_str()));
        self.sink.error(Code::UnknownClause, span, message, hint).fix(fix);
    }

    /// A line of the body of the open clause.
    fn body(&mut self, line: &Line<'_>) {
        self.flush();
        self.indented(line, SyntaxKind::Text);
        self.take(line);
    }

    /// The first line of a clause.
    fn clause(&mut self, line: &Line<'s>, keyword: Option<Keyword>, open: &mut Open) {
        if keyword != Some(Keyword::Rule) {
            self.flush();
            self.builder.finish_node();
        }
        self.builder.start_node(SyntaxKind::Clause.into());
        let (word, blank, argument) = line.split();
        let kind = if Keyword::exact(word).is_some() {
            SyntaxKind::Keyword
        } else {
            SyntaxKind::Misspelled
        };
        self.token(SyntaxKind::Indent, line.indent);
        self.token(kind, word);
        self.token(SyntaxKind::Blank, blank);
        let shape = keyword.map(Keyword::shape);
        let comment = match shape {
            Some(Shape::Condition) | None => None,
            Some(Shape::Text | Shape::Actions) => argument.starts_with('#').then_some(0),
            Some(Shape::Argument | Shape::Alone) => comment_in(argument),
        };
        let (argument, comment) =
            comment.and_then(|at| argument.split_at_checked(at)).unwrap_or((argument, ""));
        let trimmed = argument.trim_end_matches([' ', '\t']);
        self.token(SyntaxKind::Text, trimmed);
        self.token(SyntaxKind::Blank, argument.strip_prefix(trimmed).unwrap_or(""));
        self.token(SyntaxKind::Comment, comment);
        self.token(SyntaxKind::Blank, line.tail);
        self.token(SyntaxKind::Newline, line.newline);
        self.take(line);
        open.seen.extend(keyword.filter(|keyword| !open.seen.contains(keyword)));
        open.keyword = keyword;
        // The body of an unknown clause may be anything.
        open.shape = shape.or(Some(Shape::Condition));
        open.complained = false;
    }
}

fn content_span(line: &Line<'_>) -> Range<usize> {
    line.content_start()..line.content_start() + line.content.len()
}

fn is_alone(argument: &str) -> bool {
    argument.is_empty() || argument.starts_with('#')
}

fn starts_rule(line: &Line<'_>) -> bool {
    let (word, _, argument) = line.split();
    word == "rule" || (argument.starts_with('@') && Keyword::guess(word) == Some(Keyword::Rule))
}

/// The clause that a line was probably meant to be. Within text, only where a sentence is unlikely.
fn guess(word: &str, argument: &str, in_text: bool) -> Option<Keyword> {
    let keyword = Keyword::guess(word).filter(|keyword| *keyword != Keyword::Rule)?;
    let likely = match keyword.shape() {
        _ if !in_text => true,
        _ if keyword == Keyword::End => keyword.is_meant_by(word) && is_alone(argument),
        Shape::Argument | Shape::Condition => keyword.as_str().len() >= 6 && word.len() >= 5,
        Shape::Text | Shape::Actions | Shape::Alone => is_alone(argument),
    };
    likely.then_some(keyword)
}

/// Whether a line that reads like the head of a rule is one, and not a sentence.
fn is_header(line: &Line<'_>, open: &Open) -> bool {
    let (word, _, argument) = line.split();
    argument.starts_with('@')
        || open.shape != Some(Shape::Text)
        || (Keyword::exact(word).is_some() && !argument.contains([' ', '\t']))
}
