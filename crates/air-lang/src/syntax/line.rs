//! Lines, taken apart.

/// One line. `indent + content + tail + newline` is all of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'s> {
    /// Byte offset of its start in the file.
    pub(crate) start: usize,
    pub(crate) indent: &'s str,
    /// Starts and ends with no blank; empty on a blank line.
    pub(crate) content: &'s str,
    pub(crate) tail: &'s str,
    pub(crate) newline: &'s str,
}

impl<'s> Line<'s> {
    /// The line that starts at byte `start`; none at the end of the file.
    pub(crate) fn at(source: &'s str, start: usize) -> Option<Self> {
        let rest = source.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.find('\n').map_or(rest.len(), |newline| newline + 1);
        let (line, _) = rest.split_at_checked(length)?;
        let (body, newline) = match line.strip_suffix("\r\n") {
            Some(body) => (body, "\r\n"),
            None => line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n")),
        };
        let rest = body.trim_start_matches([' ', '\t']);
        let (indent, _) = body.split_at_checked(body.len() - rest.len())?;
        let content = rest.trim_end_matches([' ', '\t', '\r']);
        let (_, tail) = rest.split_at_checked(content.len())?;
        Some(Self { start, indent, content, tail, newline })
    }

    /// Byte offset of its first non-blank character.
    pub(crate) fn content_start(&self) -> usize {
        self.start + self.indent.len()
    }

    /// Byte offset of the next line.
    pub(crate) fn end(&self) -> usize {
        self.content_start() + self.content.len() + self.tail.len() + self.newline.len()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.content.is_empty()
    }

    pub(crate) fn is_comment(&self) -> bool {
        self.content.starts_with('#')
    }

    /// Columns before its first non-blank character; a tab goes to the next multiple of eight.
    pub(crate) fn width(&self) -> usize {
        self.indent
            .chars()
            .fold(0, |column, c| if c == '\t' { column / 8 * 8 + 8 } else { column + 1 })
    }

    /// Its first word, the blanks after it, and the rest.
    pub(crate) fn split(&self) -> (&'s str, &'s str, &'s str) {
        let end = self.content.find([' ', '\t']).unwrap_or(self.content.len());
        let (word, rest) = self.content.split_at_checked(end).unwrap_or((self.content, ""));
        let argument = rest.trim_start_matches([' ', '\t']);
        let (blank, _) = rest.split_at_checked(rest.len() - argument.len()).unwrap_or(("", rest));
        (word, blank, argument)
    }
}

/// Where a comment starts in the argument of a clause that takes no free text.
pub(crate) fn comment_in(argument: &str) -> Option<usize> {
    argument
        .match_indices('#')
        .map(|(at, _)| at)
        .find(|at| argument.get(..*at).is_some_and(|s| s.is_empty() || s.ends_with([' ', '\t'])))
}
