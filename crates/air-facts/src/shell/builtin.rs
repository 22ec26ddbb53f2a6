//! How a command is started, and what the shell does itself.

use std::rc::Rc;

use air_core::{
    code::Activity,
    place::{Place, PlaceKind},
};

use super::{
    database,
    eval::Shell,
    expand::names_shown,
    interpreter, lex,
    options::Options,
    prefix,
    state::Variable,
    table,
    word::{Data, Word},
};
use crate::{collect::Collector, words};

/// Commands behind commands are followed this far.
const MAX_BEHIND: usize = 12;
/// A command in these is the same as by its name alone.
const BIN: [&str; 6] =
    ["/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/usr/libexec/"];
/// What the shell does itself and that has no effect here.
const QUIET: [&str; 25] = [
    ":", "true", "false", "test", "[", "let", "jobs", "wait", "break", "continue", "type", "hash",
    "shopt", "bg", "fg", "disown", "getopts", "times", "umask", "ulimit", "bind", "compgen",
    "complete", "enable", "logout",
];

impl Shell {
    /// Reads the command `words`; answers what it prints.
    pub(super) fn launch(&mut self, words: &[Word], at: u32, out: &mut Collector) -> Data {
        for word in words {
            out.mention(word.as_written());
        }
        self.launched(words, 0, at, out)
    }

    pub(super) fn launched(
        &mut self,
        words: &[Word],
        behind: usize,
        at: u32,
        out: &mut Collector,
    ) -> Data {
        let Some((first, args)) = words.split_first() else { return Data::none() };
        if behind > MAX_BEHIND {
            out.incomplete_at(at, "too many commands in front of a command");
            return Data::default();
        }
        let mut shown: Vec<String> = args.iter().map(|arg| arg.shown().to_owned()).collect();
        if first.text() == Some("[") {
            shown.pop();
        }
        let Some(name) = first.text() else {
            out.incomplete_at(at, format!("command name `{}` is computed", first.shown()));
            out.call(first.shown(), shown, at);
            self.computed_code(first.sources(), "$", at, out);
            return Data::from(first.sources().iter().cloned());
        };
        if name.is_empty() {
            return self.launched(args, behind + 1, at, out);
        }
        let name = bare(name).to_owned();
        out.call(name.as_str(), shown, at);
        database::reset(&name, args, at, out);
        if self.state.functions.contains_key(&name) {
            self.call(&name, args, at, out);
            return Data::none();
        }
        if let Some(data) = self.builtin(&name, args, at, out) {
            return data;
        }
        let line = args.iter().map(Word::as_written).collect::<Vec<_>>().join(" ");
        if !matches!(name.as_str(), "command" | "builtin" | "exec") {
            self.operation(Activity::ProcessLaunch, &name, "shell", Some(&line), at, out);
        }
        if prefix::is_prefix(&name) {
            if let Some(code) =
                matches!(name.as_str(), "watch" | "runuser").then(|| args.first()).flatten()
                && args.len() == 1
                && let Some(text) = code.text()
            {
                return self.run_text(interpreter::Language::Shell, text, at, out);
            }
            if name == "runuser" && args.iter().any(|arg| arg.text() == Some("-c")) {
                return self.interpret(interpreter::Language::Shell, &name, args, at, out);
            }
            let inner = prefix::behind(&name, args).unwrap_or_default();
            if name == "env" && inner.is_empty() {
                return self.environment("env", at, out);
            }
            if name == "exec" && inner.is_empty() {
                return Data::none();
            }
            let ended = name == "exec";
            let flaws = out.flaws();
            let mut data = self.launched(&inner, behind + 1, at, out);
            self.state.ended |= ended;
            if name == "timeout" {
                data.endless = false;
                out.bounded(flaws);
            }
            return data;
        }
        if let Some(data) = self.beyond(&name, args, at, out) {
            return data;
        }
        if let Some(data) = self.runs(&name, args, behind, at, out) {
            return data;
        }
        if let Some(data) = table::apply(self, &name, args, at, out) {
            return data;
        }
        if name.contains('/') {
            return self.run_file(
                &Word::literal(name.as_str()).from(first.sources().to_vec()),
                args,
                &name,
                at,
                out,
            );
        }
        if holds_code(args) {
            out.incomplete_at(at, format!("`{name}` may run code in its arguments"));
        }
        // What a command does that is not known: it may print what it is given.
        let mut data = Data::from([Place::new(PlaceKind::Command, name.as_str())]);
        for arg in args {
            let given = arg.sources().iter().cloned();
            data.append(Data::from(given));
            let is_file = !arg.as_written().starts_with('-') && arg.as_written().contains('/');
            if is_file && words::paths(arg.as_written()).contains(&arg.as_written()) {
                let path = self.state.path(arg.as_written());
                data.append(Data::from([Place::new(PlaceKind::File, path)]));
            }
        }
        let piped = self.state.input();
        if piped.sources.iter().any(|source| source.kind != PlaceKind::Input) {
            data.append(piped);
        }
        data.obscured()
    }

    /// Everything in the environment.
    pub(super) fn environment(&mut self, via: &str, at: u32, out: &mut Collector) -> Data {
        self.operation(Activity::EnvironmentRead, "*", via, None, at, out);
        Data::from([Place::new(PlaceKind::Environment, "*")])
    }

    /// Code that is made up when it runs, from there.
    pub(super) fn computed_code(
        &mut self,
        sources: &[Place],
        via: &str,
        at: u32,
        out: &mut Collector,
    ) {
        self.operation(Activity::CodeRun, "", via, None, at, out);
        out.flow(sources, &Place::new(PlaceKind::Code, ""), at);
    }

    fn builtin(&mut self, name: &str, args: &[Word], at: u32, out: &mut Collector) -> Option<Data> {
        let options = Options::read(args, "");
        let first = args.first();
        self.expanded_twice(name, args, &options, at, out);
        match name {
            "echo" | "printf" | "basename" | "dirname" => {
                names_shown(name, args, at, out);
                return match name {
                    "echo" => Some(echo(args)),
                    "printf" => Some(self.printf(args)),
                    _ => last_name(name, &options),
                };
            }
            "cd" | "pushd" => self.change_directory(options.operands.first()),
            "popd" => "${PWD}".clone_into(&mut self.state.directory),
            "pwd" | "dirs" => return Some(Data::default()),
            "exit" | "return" => self.state.ended = true,
            "export" if args.is_empty() || first.is_some_and(|arg| arg.text() == Some("-p")) => {
                return Some(self.environment(name, at, out));
            }
            "set" if args.is_empty() => return Some(self.environment(name, at, out)),
            "declare" | "typeset"
                if args
                    .iter()
                    .all(|arg| matches!(arg.text(), Some("-p" | "-x" | "-px" | "-xp"))) =>
            {
                return Some(self.environment(name, at, out));
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {}
            "set" => {
                if let Some(start) = args.iter().position(|arg| arg.text() == Some("--")) {
                    let rest = args.get(start + 1..).unwrap_or_default().to_vec();
                    self.state.arguments = Some(Rc::new(rest));
                } else if first.is_some_and(|arg| !arg.as_written().starts_with(['-', '+'])) {
                    self.state.arguments = Some(Rc::new(args.to_vec()));
                }
            }
            "shift" => {
                let by = first.and_then(Word::text).and_then(|by| by.parse().ok()).unwrap_or(1);
                let rest = self
                    .state
                    .arguments
                    .as_ref()
                    .map(|arguments| arguments.get(by..).unwrap_or_default().to_vec());
                self.state.arguments = rest.map(Rc::new);
            }
            "unset" => {
                for name in options.operands.iter().filter_map(Word::text) {
                    self.state.set(name, Word::literal(""));
                    if options.has(&["f"]) {
                        Rc::make_mut(&mut self.state.functions).remove(name);
                    }
                }
            }
            "alias" => {
                for arg in &options.operands {
                    if let Some((name, value)) = arg.text().and_then(|text| text.split_once('=')) {
                        Rc::make_mut(&mut self.state.aliases)
                            .insert(name.to_owned(), value.to_owned());
                    }
                }
            }
            "unalias" => self.state.aliases = Rc::default(),
            "read" | "mapfile" | "readarray" => self.read_into(name, args),
            "eval" => return Some(self.evaluated(args, at, out)),
            "source" | "." => {
                let Some(file) = first else { return Some(Data::none()) };
                out.import(file.as_written());
                self.source_file(file, args, name, at, out);
            }
            "trap" => {
                let action = options
                    .operands
                    .first()
                    .filter(|action| !matches!(action.text(), Some("" | "-")));
                if let Some(action) = action.filter(|_| options.operands.len() > 1) {
                    if let Some(text) = action.text() {
                        let state = self.state.clone();
                        self.again(text, at, out);
                        self.state = state;
                    } else {
                        out.incomplete_at(at, "`trap` runs computed code");
                        self.computed_code(action.sources(), name, at, out);
                    }
                }
            }
            "kill" => return None,
            "sleep" => self.starts(name, args, at, out),
            _ if QUIET.contains(&name) => {}
            _ => return None,
        }
        Some(Data::none())
    }

    /// A program that does nothing but be there.
    fn starts(&mut self, name: &str, args: &[Word], at: u32, out: &mut Collector) {
        let line = args.iter().map(Word::as_written).collect::<Vec<_>>().join(" ");
        self.operation(Activity::ProcessLaunch, name, "shell", Some(&line), at, out);
    }

    /// `eval`: its arguments as source.
    fn evaluated(&mut self, args: &[Word], at: u32, out: &mut Collector) -> Data {
        let mut whole = Word::literal("");
        for (index, arg) in args.iter().enumerate() {
            if index > 0 {
                whole.push(&Word::literal(" "));
            }
            whole.push(arg);
        }
        if whole.text().is_none() {
            out.incomplete_at(at, "`eval` runs computed code");
            self.computed_code(whole.sources(), "eval", at, out);
        } else {
            out.flow(whole.sources(), &Place::new(PlaceKind::Code, ""), at);
        }
        self.again(whole.as_written(), at, out)
    }

    fn change_directory(&mut self, to: Option<&Word>) {
        let to = to.map_or("~", Word::as_written);
        self.state.directory = match to {
            "-" => "${OLDPWD}".to_owned(),
            "" => return,
            to if to.starts_with("${") => to.to_owned(),
            to => self.state.path(to.strip_prefix("./").unwrap_or(to)),
        };
        if self.state.directory == "." {
            self.state.directory = String::new();
        }
    }

    fn read_into(&mut self, name: &str, args: &[Word]) {
        let options = Options::read(args, "p t n N d u i O s c C a");
        let descriptor =
            options.value(&["u"]).and_then(Word::text).and_then(|u| u.parse::<i32>().ok());
        let data = match descriptor.filter(|descriptor| *descriptor != 0) {
            Some(descriptor) => match self.state.channels.get(&descriptor) {
                Some(super::state::Channel::Input(data)) => data.clone(),
                Some(super::state::Channel::Place(place)) => Data::from([place.clone()]),
                _ => Data::default(),
            },
            None => self.state.input(),
        };
        let one_line = data
            .text
            .as_deref()
            .map(|text| text.trim_end_matches('\n'))
            .filter(|text| !text.contains('\n'));
        let mut targets: Vec<Word> = options.operands.clone();
        targets.extend(options.value(&["a"]).cloned());
        if targets.is_empty() {
            targets.push(Word::literal(if name == "read" { "REPLY" } else { "MAPFILE" }));
        }
        let single = targets.len() == 1 && name == "read" && !options.has(&["a"]);
        let mut fields = one_line.unwrap_or_default().splitn(targets.len(), char::is_whitespace);
        for target in targets.iter().filter_map(Word::text) {
            let value = match one_line {
                Some(line) if single => Word::literal(line.trim()),
                Some(_) if name == "read" => {
                    Word::literal(fields.next().unwrap_or_default().trim())
                }
                _ => Word::computed(format!("${{{target}}}")),
            };
            let value = value.from(data.sources.iter().cloned());
            self.state
                .put(target, Variable { values: vec![value], array: !single && name != "read" });
        }
    }

    fn printf(&mut self, args: &[Word]) -> Data {
        let (variable, args) = match args {
            [option, name, rest @ ..] if option.text() == Some("-v") => (name.text(), rest),
            _ => (None, args),
        };
        let mut word = Word::literal("");
        if let Some((format, values)) = args.split_first() {
            match format.text() {
                Some(format) => formatted(&lex::ansi_c(format), values, &mut word),
                None => args.iter().for_each(|arg| word.push(arg)),
            }
            for arg in args {
                word = word.from(arg.sources().iter().cloned());
            }
        }
        match variable {
            Some(name) => {
                let name = name.to_owned();
                self.state.set(&name, word);
                Data::none()
            }
            None => word.into_data(),
        }
    }
}

/// `-c 'f(1)'`: what an interpreter that is not known runs.
fn holds_code(args: &[Word]) -> bool {
    args.windows(2).any(|pair| match pair {
        [option, code] => {
            matches!(option.text(), Some("-c" | "-e" | "-ex" | "--eval"))
                && (code.text().is_none() || code.as_written().contains([' ', '(', ';']))
        }
        _ => false,
    })
}

/// `basename` and `dirname` of one path that is known.
fn last_name(name: &str, options: &Options) -> Option<Data> {
    let path = options.operands.first()?;
    let whole = path.text()?.trim_end_matches('/');
    let (directory, last) = whole.rsplit_once('/').unwrap_or((".", whole));
    let made = match (name, options.operands.get(1)) {
        ("dirname", None) if directory.is_empty() => "/",
        ("dirname", None) => directory,
        ("basename", Some(suffix)) => last.strip_suffix(suffix.text()?).unwrap_or(last),
        ("basename", None) => last,
        _ => return None,
    };
    let data = Data::text(format!("{made}\n"));
    Some(Data { sources: path.sources().to_vec(), ..data })
}

fn echo(args: &[Word]) -> Data {
    let mut rest = args;
    let (mut newline, mut escapes) = (true, false);
    while let Some((first, after)) = rest.split_first() {
        match first.text() {
            Some("-n") => newline = false,
            Some("-e") => escapes = true,
            Some("-en" | "-ne") => (newline, escapes) = (false, true),
            Some("-E") => {}
            _ => break,
        }
        rest = after;
    }
    let mut word = Word::literal("");
    for (index, arg) in rest.iter().enumerate() {
        if index > 0 {
            word.push(&Word::literal(" "));
        }
        match arg.text().filter(|_| escapes) {
            Some(text) => word.push(&arg.part(lex::ansi_c(text))),
            None => word.push(arg),
        }
    }
    if newline {
        word.push(&Word::literal("\n"));
    }
    word.into_data()
}

fn formatted(format: &str, values: &[Word], word: &mut Word) {
    let mut values = values.iter();
    for _ in 0..256 {
        let mut used = false;
        let mut rest = format.chars();
        while let Some(c) = rest.next() {
            if c != '%' {
                word.push(&Word::literal(c.to_string()));
                continue;
            }
            let mut most = None;
            let kind = rest.by_ref().find(|c| {
                match (*c, &mut most) {
                    ('.', most) => *most = Some(0_usize),
                    (c, Some(most)) => {
                        let digit = c.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
                        *most = digit.map_or(*most, |digit| most.saturating_mul(10) + digit);
                    }
                    _ => {}
                }
                !c.is_ascii_digit() && !matches!(c, '-' | '.' | '+' | ' ' | '#')
            });
            match kind {
                Some('%') | None => word.push(&Word::literal("%")),
                Some(kind) => {
                    used = true;
                    let Some(value) = values.next() else { continue };
                    match (kind, value.text()) {
                        ('s', Some(text)) if most.is_some() => {
                            let cut = text.chars().take(most.unwrap_or_default());
                            word.push(&value.part(cut.collect::<String>()));
                        }
                        ('s' | 'd' | 'i' | 'u' | 'c', _) | (_, None) => word.push(value),
                        ('b', Some(text)) => word.push(&value.part(lex::ansi_c(text))),
                        ('x' | 'X' | 'o', Some(text)) => match text.parse::<u64>() {
                            Ok(number) if kind == 'o' => {
                                word.push(&value.part(format!("{number:o}")));
                            }
                            Ok(number) => word.push(&value.part(format!("{number:x}"))),
                            Err(_) => word.push(&Word::computed(text.to_owned())),
                        },
                        (_, Some(text)) => word.push(&Word::computed(text.to_owned())),
                    }
                }
            }
        }
        if !used || values.len() == 0 {
            break;
        }
    }
}

pub(super) fn bare(name: &str) -> &str {
    let plain = BIN.iter().find_map(|bin| name.strip_prefix(bin));
    plain.filter(|name| !name.is_empty() && !name.contains('/')).unwrap_or(name)
}
