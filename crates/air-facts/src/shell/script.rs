//! What the programs of `awk` and `sed` write and run.

use super::{eval::Shell, flow::Tool, interpreter::Language, options::Options, word::Word};
use crate::collect::Collector;

/// What a program does beside printing.
enum Deed {
    Write(String),
    Run(String),
    /// Something that is not known.
    Unknown,
}

impl Shell {
    /// The program of `awk` or `sed`, where `tool` is one of them.
    pub(super) fn scripted(&mut self, tool: &Tool, out: &mut Collector) {
        let is_sed = match tool.name {
            "sed" | "gsed" => true,
            "awk" | "gawk" | "mawk" | "nawk" => false,
            _ => return,
        };
        let valued = if is_sed { "e f l --expression --file" } else { "F v f --file" };
        let options = Options::read(tool.args, valued);
        let mut programs: Vec<String> = Vec::new();
        if is_sed {
            let given = options.values(&["e", "--expression"]);
            programs.extend(given.map(|word| word.as_written().to_owned()));
        }
        for file in options.values(&["f", "--file"]) {
            match out.file(&self.state.path(file.as_written())) {
                Ok(text) => programs.push(text),
                Err(why) => {
                    let (name, file) = (tool.name, file.as_written());
                    out.incomplete_at(
                        tool.at,
                        format!("`{name}` runs `{file}`, which is not read: {why}"),
                    );
                }
            }
        }
        let skip = usize::from(
            !options.has(&["e", "f", "--expression", "--file"])
                || !is_sed && !options.has(&["f", "--file"]),
        );
        if skip == 1 {
            programs.extend(options.operands.first().map(|word| word.as_written().to_owned()));
        }
        for program in programs {
            let deeds = if is_sed { sed(&program) } else { awk(&program) };
            for deed in deeds {
                match deed {
                    Deed::Write(file) => {
                        let tool = Tool { options: &options, ..*tool };
                        let data = self.inputs(&tool, skip, out).obscured();
                        self.put_file(&Word::literal(file), data, &tool, out);
                    }
                    Deed::Run(line) => {
                        self.run_text(Language::Shell, &line, tool.at, out);
                    }
                    Deed::Unknown => {
                        let name = tool.name;
                        out.incomplete_at(
                            tool.at,
                            format!("`{name}` runs or writes what is not followed"),
                        );
                    }
                }
            }
        }
    }
}

/// The literal at the start of `text`, and what follows it.
fn literal(text: &str) -> Option<(String, &str)> {
    let inner = text.trim_start().strip_prefix('"')?;
    let end = inner.find('"').filter(|end| !inner.get(..*end).is_none_or(|s| s.contains('\\')))?;
    Some((inner.get(..end)?.to_owned(), inner.get(end + 1..)?))
}

fn awk(program: &str) -> Vec<Deed> {
    let mut deeds = Vec::new();
    let mut statement = String::new();
    let mut quoted = false;
    let mut depth = 0_usize;
    let mut rest = program;
    // Whether a literal is all of it: nothing is joined to it.
    let ends = |after: &str| {
        let after = after.trim_start_matches([' ', '\t', ')']);
        after.is_empty() || after.starts_with([';', '}', '\n', ',', '|', '>'])
    };
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        let prints = statement.trim_start().starts_with("print");
        if !quoted && rest.starts_with("system") {
            let inner = after.get(5..).unwrap_or_default().trim_start();
            if let Some(inner) = inner.strip_prefix('(') {
                match literal(inner) {
                    Some((line, after)) if ends(after) => deeds.push(Deed::Run(line)),
                    _ => deeds.push(Deed::Unknown),
                }
            }
        }
        match c {
            '\\' if quoted => {
                statement.push(c);
                let skipped = after.chars().next();
                rest = after.get(skipped.map_or(0, char::len_utf8)..).unwrap_or_default();
                continue;
            }
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ';' | '{' | '}' | '\n' => {
                statement.clear();
                rest = after;
                continue;
            }
            '>' if prints && depth == 0 => {
                match literal(after.trim_start_matches('>')) {
                    Some((file, after)) if ends(after) => {
                        if !matches!(file.as_str(), "/dev/stderr" | "/dev/stdout") {
                            deeds.push(Deed::Write(file));
                        }
                    }
                    _ => deeds.push(Deed::Unknown),
                }
                statement.clear();
            }
            '|' if after.starts_with('|') => {
                statement.push_str("||");
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            '|' if prints && !after.trim_start().starts_with("getline") => match literal(after) {
                Some((line, after)) if ends(after) => deeds.push(Deed::Run(line)),
                _ => deeds.push(Deed::Unknown),
            },
            '|' if after.trim_start().starts_with("getline") || after.starts_with('&') => {
                let before = statement.rfind('"').and_then(|end| {
                    let start = statement.get(..end)?.rfind('"')?;
                    let alone = statement.get(end + 1..)?.trim().is_empty()
                        && !statement.get(..start)?.trim_end().ends_with(['"', ')'])
                        && !statement.get(..start)?.trim_end().ends_with(char::is_alphanumeric);
                    alone.then(|| statement.get(start + 1..end).map(ToOwned::to_owned))?
                });
                deeds.push(before.map_or(Deed::Unknown, Deed::Run));
            }
            _ => {}
        }
        statement.push(c);
        rest = after;
    }
    if program.contains("getline <")
        || program.contains("getline line <")
        || program.contains("@load")
    {
        deeds.push(Deed::Unknown);
    }
    deeds
}

fn sed(script: &str) -> Vec<Deed> {
    let mut deeds = Vec::new();
    let mut rest = script;
    let line = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
    let next = |text: &'_ str| text.find('\n').map_or(text.len(), |at| at + 1);
    loop {
        rest = rest.trim_start_matches(|c: char| {
            c.is_whitespace() || c.is_ascii_digit() || ";{},$!~+".contains(c)
        });
        let Some(c) = rest.chars().next() else { return deeds };
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = match c {
            // An address.
            '/' => section(after, '/').unwrap_or_default().trim_start_matches(['I', 'M']),
            '\\' => {
                let delimiter = after.chars().next().unwrap_or('/');
                let inner = after.get(delimiter.len_utf8()..).unwrap_or_default();
                section(inner, delimiter).unwrap_or_default()
            }
            's' | 'y' => {
                let delimiter = after.chars().next().unwrap_or('/');
                let inner = after.get(delimiter.len_utf8()..).unwrap_or_default();
                let flags = section(inner, delimiter).and_then(|more| section(more, delimiter));
                let Some(flags) = flags else {
                    deeds.push(Deed::Unknown);
                    return deeds;
                };
                let end = flags.find([';', '\n', '}', 'w', '#', ' ']).unwrap_or(flags.len());
                if c == 's' && flags.get(..end).is_some_and(|flags| flags.contains('e')) {
                    deeds.push(Deed::Unknown);
                }
                let more = flags.get(end..).unwrap_or_default();
                match more.strip_prefix('w') {
                    Some(file) if c == 's' => {
                        deeds.push(Deed::Write(line(file)));
                        file.get(next(file)..).unwrap_or_default()
                    }
                    _ => more,
                }
            }
            'w' | 'W' => {
                deeds.push(Deed::Write(line(after)));
                after.get(next(after)..).unwrap_or_default()
            }
            'e' => {
                let run = line(after);
                deeds.push(if run.is_empty() { Deed::Unknown } else { Deed::Run(run) });
                after.get(next(after)..).unwrap_or_default()
            }
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => after.get(next(after)..).unwrap_or_default(),
            'b' | 't' | 'T' | ':' => {
                let end = after.find([';', '\n', '}']).unwrap_or(after.len());
                after.get(end..).unwrap_or_default()
            }
            _ => after,
        };
    }
}

/// What follows the next `delimiter` that is neither escaped nor in brackets.
fn section(text: &str, delimiter: char) -> Option<&str> {
    let (mut escaped, mut class) = (false, false);
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == delimiter && !class {
            return text.get(at + c.len_utf8()..);
        } else if c == '[' {
            class = text.get(at..).is_some_and(|rest| {
                rest.find(']')
                    .is_some_and(|end| rest.get(..end).is_some_and(|s| s.contains(delimiter)))
            });
        } else if c == ']' {
            class = false;
        }
    }
    None
}
