//! Commands that run source: shells, other languages, files.

use air_core::place::{Place, PlaceKind};

use super::{
    eval::Shell,
    options::Options,
    state::Channel,
    word::{Data, Word},
};
use crate::{collect::Collector, python};

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "rbash", "mksh"];
/// Interpreters whose source is not read as a whole.
const FOREIGN: [&str; 12] = [
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "tclsh",
    "osascript",
    "Rscript",
    "julia",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Shell,
    Python,
    Other,
}

fn language_of(name: &str) -> Option<Language> {
    let python = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    let versioned = python.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'));
    if SHELLS.contains(&name) {
        Some(Language::Shell)
    } else if versioned || name == "ipython" || name == "ipython3" {
        Some(Language::Python)
    } else {
        FOREIGN.contains(&name).then_some(Language::Other)
    }
}

impl Shell {
    /// Commands that run other commands or source.
    pub(super) fn runs(
        &mut self,
        name: &str,
        args: &[Word],
        behind: usize,
        at: u32,
        out: &mut Collector,
    ) -> Option<Data> {
        if let Some(language) = language_of(name) {
            return Some(self.interpret(language, name, args, at, out));
        }
        match name {
            "su" | "script" | "at" | "batch" | "vim" | "vi" | "nvim" | "ex" | "ed" => {
                self.code_option(name, args, at, out)
            }
            "xargs" => Some(self.xargs(args, behind, at, out)),
            "parallel" => Some(self.xargs(args, behind, at, out)),
            "find" => Some(self.find(args, behind, at, out)),
            "awk" | "gawk" | "mawk" | "nawk" => {
                let options = Options::read(args, "F v f");
                let program = options.operands.first().and_then(Word::text).map(ToOwned::to_owned);
                let ran = program.map(|program| self.embedded(&program, at, out));
                ran.and_then(|ran| ran.then(Data::none))
            }
            "tar" => {
                for arg in args.iter().filter_map(Word::text) {
                    let action = arg
                        .strip_prefix("--checkpoint-action=exec=")
                        .or_else(|| arg.strip_prefix("--to-command="));
                    let action = action.or_else(|| arg.strip_prefix("--use-compress-program="));
                    if let Some(action) = action.map(ToOwned::to_owned) {
                        self.run_text(Language::Shell, &action, at, out);
                    }
                }
                None
            }
            "crontab" => None,
            _ => None,
        }
    }

    fn code_option(
        &mut self,
        name: &str,
        args: &[Word],
        at: u32,
        out: &mut Collector,
    ) -> Option<Data> {
        match name {
            "at" | "batch" => {
                let options = Options::read(args, "f t q");
                let data = match options.value(&["f"]) {
                    Some(file) => self.read_file(&file.clone(), name, at, out),
                    None => self.state.input(),
                };
                Some(self.run_data(Language::Shell, data, name, at, out))
            }
            "su" | "script" => {
                let option = args
                    .iter()
                    .position(|arg| matches!(arg.text(), Some("-c" | "-lc" | "--command")))?;
                let code = args.get(option + 1)?;
                match code.text() {
                    Some(text) => Some(self.run_text(Language::Shell, &text.to_owned(), at, out)),
                    None => Some(self.unread(code.sources(), name, "computed code", at, out)),
                }
            }
            _ => {
                for arg in args.iter().filter_map(Word::text) {
                    let command = arg.strip_prefix('+').unwrap_or(arg).trim_start_matches(':');
                    if let Some(command) = command.strip_prefix('!') {
                        self.run_text(Language::Shell, &command.to_owned(), at, out);
                    }
                }
                None
            }
        }
    }

    /// An interpreter and its arguments.
    pub(super) fn interpret(
        &mut self,
        language: Language,
        name: &str,
        args: &[Word],
        at: u32,
        out: &mut Collector,
    ) -> Data {
        let flag = match (language, name) {
            (Language::Other, "php") => 'r',
            (Language::Other, _) => 'e',
            _ => 'c',
        };
        let asks = |arg: &Word| matches!(arg.text(), Some("--version" | "-V" | "--help"));
        if args.iter().any(asks) {
            return Data::none();
        }
        if let Some(code) = after_option(args, flag).cloned() {
            out.flow(code.sources(), &Place::new(PlaceKind::Code, ""), at);
            let Some(text) = code.text() else {
                out.incomplete_at(at, format!("`{name}` runs computed code"));
                self.computed_code(code.sources(), name, at, out);
                let data = self.run_text(language, code.as_written(), at, out);
                return data;
            };
            return self.run_text(language, &text.to_owned(), at, out);
        }
        let is_module = |arg: &Word| arg.text() == Some("-m");
        if let Some(position) =
            args.iter().position(is_module).filter(|_| language == Language::Python)
        {
            let rest = args.get(position + 1..).unwrap_or_default();
            return self.module(name, rest, at, out);
        }
        let file = args.iter().find(|arg| {
            let written = arg.as_written();
            !written.starts_with(['-', '+']) && !(written == "-")
        });
        let from_input =
            args.iter().any(|arg| matches!(arg.text(), Some("-" | "-s"))) || file.is_none();
        if !from_input && let Some(file) = file {
            let file = file.clone();
            return self.run_file(&file, args, name, at, out);
        }
        let data = self.state.input();
        let typed = data.sources.iter().all(|source| source.kind == PlaceKind::Input);
        if data.text.is_none() && typed && !data.sources.is_empty() {
            out.incomplete_at(at, format!("`{name}` runs `its input`, which is not read"));
            return Data::default();
        }
        self.run_data(language, data, name, at, out)
    }

    /// `python -m module`.
    fn module(&mut self, name: &str, args: &[Word], at: u32, out: &mut Collector) -> Data {
        let options = Options::read(args, "b --bind d --directory");
        let module = options.operands.first().and_then(Word::text).unwrap_or_default();
        match module {
            "http.server" | "SimpleHTTPServer" => {
                let port = options.operands.get(1).map_or("8000", Word::as_written);
                let host = options.value(&["b", "--bind"]).map_or("0.0.0.0", Word::as_written);
                let address = format!("{host}:{port}");
                self.listens(&address, name, at, out);
            }
            "pip" | "pip3" => {
                let rest = args.get(1..).unwrap_or_default();
                return self.pip(rest, at, out);
            }
            "venv" | "json.tool" | "pytest" | "unittest" | "mypy" | "black" | "ruff"
            | "compileall" | "pdb" | "timeit" | "this" | "base64" | "zipfile" | "tarfile"
            | "site" | "ensurepip" | "build" => {
                if matches!(module, "pytest" | "unittest") {
                    out.incomplete_at(
                        at,
                        format!("`{name} -m {module}` runs files that are not read"),
                    );
                }
            }
            _ => out.incomplete_at(at, format!("`{name} -m` runs a module that is not read")),
        }
        Data::default()
    }

    /// Source that is known to come as data.
    pub(super) fn run_data(
        &mut self,
        language: Language,
        data: Data,
        via: &str,
        at: u32,
        out: &mut Collector,
    ) -> Data {
        out.flow(&data.sources, &Place::new(PlaceKind::Code, ""), at);
        match data.text {
            Some(text) => self.run_text(language, &text, at, out),
            None => self.unread(&data.sources, via, "`its input`, which is not read", at, out),
        }
    }

    fn unread(
        &mut self,
        sources: &[Place],
        via: &str,
        what: &str,
        at: u32,
        out: &mut Collector,
    ) -> Data {
        out.incomplete_at(at, format!("`{via}` runs {what}"));
        self.computed_code(sources, via, at, out);
        Data::from([Place::new(PlaceKind::Command, via)])
    }

    /// Source in its own process.
    pub(super) fn run_text(
        &mut self,
        language: Language,
        text: &str,
        at: u32,
        out: &mut Collector,
    ) -> Data {
        let input = self.state.input();
        let mut printed = Data::none();
        out.nested(at, |out| match language {
            Language::Shell => {
                let mut inner = Shell::captured(input);
                inner.state.variables = self.state.variables.clone();
                inner.state.directory.clone_from(&self.state.directory);
                for (descriptor, channel) in &self.state.channels {
                    if *descriptor > 2 && matches!(channel, Channel::Place(_)) {
                        inner.state.channels.insert(*descriptor, channel.clone());
                    }
                }
                inner.active.clone_from(&self.active);
                inner.source(text, out);
                printed = inner.captured_data();
            }
            Language::Python => {
                python::collect(text, out);
                printed = Data::from([Place::new(PlaceKind::Command, "python")]);
            }
            Language::Other => {
                self.embedded(text, at, out);
                out.incomplete_at(at, "code in a language that is not read is run");
                printed = Data::default();
            }
        });
        printed
    }

    /// Commands in source of another language: `system("…")`, backquotes.
    fn embedded(&mut self, source: &str, at: u32, out: &mut Collector) -> bool {
        let mut found = false;
        for runner in ["system", "exec", "execSync", "shell_exec", "passthru", "popen", "spawn"] {
            for (position, _) in source.match_indices(runner).take(16) {
                let after = source.get(position + runner.len()..).unwrap_or_default().trim_start();
                let after = after.strip_prefix('(').unwrap_or(after).trim_start();
                let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))
                else {
                    continue;
                };
                let inner = after.get(1..).unwrap_or_default();
                let mut escaped = false;
                let end = inner.char_indices().find(|(_, c)| {
                    let ends = *c == quote && !escaped;
                    escaped = *c == '\\' && !escaped;
                    ends
                });
                if let Some(command) = end.and_then(|(end, _)| inner.get(..end)) {
                    found = true;
                    let command =
                        command.replace("\\\"", "\"").replace("\\'", "'").replace("\\n", "\n");
                    self.run_text(Language::Shell, &command, at, out);
                }
            }
        }
        found
    }

    /// A file that is run by its name, or by an interpreter.
    pub(super) fn run_file(
        &mut self,
        file: &Word,
        args: &[Word],
        via: &str,
        at: u32,
        out: &mut Collector,
    ) -> Data {
        if let Some(data) = file.text().and_then(|path| self.pipes.get(path)).cloned() {
            return self.run_data(language_of(via).unwrap_or(Language::Shell), data, via, at, out);
        }
        let shown = file.shown().to_owned();
        let Some(path) = file.text() else {
            out.incomplete_at(at, format!("`{via}` runs `{shown}`, which is not read"));
            self.computed_code(file.sources(), via, at, out);
            return Data::default();
        };
        let path = self.state.path(path);
        let place = Place::new(PlaceKind::File, path.as_str());
        out.flow(std::slice::from_ref(&place), &Place::new(PlaceKind::Code, ""), at);
        let printed = Data::from([Place::new(PlaceKind::Command, via)]);
        match out.file(&path) {
            Ok(text) => match language_of(via).or_else(|| language_in(&path, &text)) {
                Some(language) => {
                    let rest = args
                        .iter()
                        .skip_while(|arg| *arg != file)
                        .skip(1)
                        .cloned()
                        .collect::<Vec<_>>();
                    let before = self.state.arguments.replace(rest.into());
                    let data = self.run_text(language, &text, at, out);
                    self.state.arguments = before;
                    data
                }
                None => {
                    out.incomplete_at(
                        at,
                        format!("`{path}` is run and is in a language that is not read"),
                    );
                    printed
                }
            },
            Err(why) => {
                let what = if via == path || via == shown {
                    format!("`{path}` is run and not read: {why}")
                } else {
                    format!("`{via}` runs `{path}`, which is not read: {why}")
                };
                out.incomplete_at(at, what);
                printed
            }
        }
    }

    /// `source file`: in this shell.
    pub(super) fn source_file(
        &mut self,
        file: &Word,
        args: &[Word],
        via: &str,
        at: u32,
        out: &mut Collector,
    ) {
        let pipe = file.text().and_then(|path| self.pipes.get(path)).cloned();
        let path = self.state.path(file.as_written());
        let text = match (&pipe, file.text()) {
            (Some(data), _) => data.text.clone().ok_or_else(|| "it is computed".to_owned()),
            (None, Some(_)) => out.file(&path),
            (None, None) => Err("its name is computed".to_owned()),
        };
        let place = Place::new(PlaceKind::File, path.as_str());
        let sources = pipe.map_or_else(|| vec![place], |data| data.sources);
        out.flow(&sources, &Place::new(PlaceKind::Code, ""), at);
        match text {
            Ok(text) if !self.active.contains(&path) => {
                let before = self.state.arguments.clone();
                if let Some(rest) = args.get(1..).filter(|rest| !rest.is_empty()) {
                    self.state.arguments = Some(rest.to_vec().into());
                }
                self.active.push(path);
                self.again(&text, at, out);
                self.active.pop();
                self.state.arguments = before;
            }
            Ok(_) => {}
            Err(why) => out.incomplete_at(
                at,
                format!("`{via}` runs a file that is not read: `{path}`: {why}"),
            ),
        }
    }

    fn xargs(&mut self, args: &[Word], behind: usize, at: u32, out: &mut Collector) -> Data {
        const VALUED: [&str; 12] = [
            "-a",
            "-d",
            "-E",
            "-I",
            "-L",
            "-n",
            "-P",
            "-s",
            "-j",
            "--max-args",
            "--max-procs",
            "--delimiter",
        ];
        let mut rest = args;
        let mut replaced = None;
        let mut file = None;
        while let Some((word, after)) = rest.split_first() {
            let written = word.as_written();
            if !written.starts_with('-') || written.len() < 2 {
                break;
            }
            rest = after;
            if VALUED.contains(&written) {
                let value = after.first().cloned();
                match written {
                    "-I" => replaced = value,
                    "-a" => file = value,
                    _ => {}
                }
                rest = after.get(1..).unwrap_or_default();
            } else if let Some(mark) = written.strip_prefix("-I") {
                replaced = Some(Word::literal(mark));
            }
        }
        let data = match file {
            Some(file) => self.read_file(&file, "xargs", at, out),
            None => self.state.input(),
        };
        let given: Vec<Word> =
            match data.text.as_deref().filter(|text| text.split_whitespace().count() <= 64) {
                Some(text) => {
                    let split: Vec<&str> = if replaced.is_some() {
                        text.lines().collect()
                    } else {
                        text.split_whitespace().collect()
                    };
                    split
                        .into_iter()
                        .map(|word| {
                            Word::literal(word.trim_matches(['\'', '"']))
                                .from(data.sources.iter().cloned())
                        })
                        .collect()
                }
                None => vec![Word::computed("${…}".to_owned()).from(data.sources.iter().cloned())],
            };
        let echo = [Word::literal("echo")];
        let command = if rest.is_empty() { &echo[..] } else { rest };
        let Some(mark) = replaced.as_ref().and_then(Word::text) else {
            let mut words = command.to_vec();
            // Shown as it is written, where nothing more is known.
            words.extend(given);
            return self.launched(&words, behind + 1, at, out);
        };
        let mut printed = Data::none();
        for word in given {
            let words: Vec<Word> = command
                .iter()
                .map(|part| match part.text() {
                    Some(text) if text.contains(mark) => replace(text, mark, &word),
                    _ => part.clone(),
                })
                .collect();
            printed.append(self.launched(&words, behind + 1, at, out));
        }
        printed
    }

    fn find(&mut self, args: &[Word], behind: usize, at: u32, out: &mut Collector) -> Data {
        let starts: Vec<Word> = args
            .iter()
            .take_while(|arg| !arg.as_written().starts_with(['-', '(', '!']))
            .cloned()
            .collect();
        let starts = if starts.is_empty() { vec![Word::literal(".")] } else { starts };
        let option = |name: &str| {
            let at = args.iter().position(|arg| arg.text() == Some(name))?;
            args.get(at + 1).cloned()
        };
        let name = option("-name").or_else(|| option("-iname")).or_else(|| option("-path"));
        for start in &starts {
            let path = self.state.path(start.as_written());
            self.operation_below(
                air_core::code::Activity::DirectoryList,
                &path,
                "find",
                None,
                true,
                at,
                out,
            );
            out.path(start.as_written());
        }
        // What is found: somewhere below, by the name that is asked for.
        let found: Vec<Word> = starts
            .iter()
            .map(|start| {
                let start = start.as_written().trim_end_matches('/');
                let name = name.as_ref().and_then(Word::text);
                let path = match name {
                    Some(name) => format!(
                        "{start}/${{…}}/{}",
                        name.replace('*', "${…}").replace("${…}${…}", "${…}")
                    ),
                    None => format!("{start}/${{…}}"),
                };
                Word::computed(path)
            })
            .collect();
        if args.iter().any(|arg| arg.text() == Some("-delete")) {
            for start in &starts {
                let path = self.state.path(start.as_written());
                let detail = name.as_ref().map(Word::as_written);
                self.operation_below(
                    air_core::code::Activity::FileDelete,
                    &path,
                    "find",
                    detail,
                    true,
                    at,
                    out,
                );
            }
        }
        for option_name in ["-fprint", "-fls", "-fprintf"] {
            if let Some(file) = option(option_name) {
                let path = self.state.path(file.as_written());
                self.operation(air_core::code::Activity::FileWrite, &path, "find", None, at, out);
            }
        }
        let runs =
            |word: &Word| matches!(word.text(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
        let mut rest = args;
        let mut printed = Data::none();
        let mut ran = false;
        while let Some(start) = rest.iter().position(runs) {
            let after = rest.get(start + 1..).unwrap_or_default();
            let end = after
                .iter()
                .position(|word| matches!(word.text(), Some(";" | "+")))
                .unwrap_or(after.len());
            let (inner, more) = after.split_at_checked(end).unwrap_or((after, &[]));
            for path in &found {
                let words: Vec<Word> = inner
                    .iter()
                    .map(|part| match part.text() {
                        Some(text) if text.contains("{}") => {
                            replace(text, "{}", path).written_as_text(text)
                        }
                        _ => part.clone(),
                    })
                    .collect();
                printed.append(self.launched(&words, behind + 1, at, out));
            }
            ran = true;
            rest = more;
        }
        if ran { printed } else { Data::default() }
    }
}

/// `text` with `mark` replaced by `word`.
fn replace(text: &str, mark: &str, word: &Word) -> Word {
    let mut whole = Word::literal("");
    for (index, part) in text.split(mark).enumerate() {
        if index > 0 {
            whole.push(word);
        }
        whole.push(&Word::literal(part));
    }
    whole
}

/// The language of a file that is run by its name.
pub(super) fn language_in(path: &str, text: &str) -> Option<Language> {
    let first = text.lines().next().unwrap_or_default();
    if let Some(interpreter) = first.strip_prefix("#!") {
        let mut words =
            interpreter.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        let name = words.find(|word| *word != "env" && !word.starts_with('-'))?;
        return language_of(name);
    }
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("sh" | "bash") => Some(Language::Shell),
        Some("py") => Some(Language::Python),
        Some("pl" | "rb" | "js" | "php" | "lua") => Some(Language::Other),
        // Without a first line that says otherwise, the shell reads it.
        _ => Some(Language::Shell),
    }
}

/// The word after `-c`, or after a cluster of short options with a `c` such as `-lc`.
pub(super) fn after_option(args: &[Word], option: char) -> Option<&Word> {
    let is_option = |arg: &&Word| {
        let letters = arg.as_written().strip_prefix('-').unwrap_or_default();
        !letters.starts_with('-') && letters.contains(option)
    };
    // A file before it has options of its own.
    let options = args
        .iter()
        .take_while(|arg| arg.as_written().starts_with(['-', '+']) || arg.as_written().is_empty());
    let at = options.clone().position(|arg| is_option(&arg))?;
    // Options may stand between `-c` and the source.
    let rest = args.get(at + 1..)?;
    rest.iter()
        .find(|arg| !arg.as_written().starts_with(['-', '+']) || arg.as_written().contains(' '))
}
