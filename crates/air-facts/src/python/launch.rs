//! Programs that are started.

use std::rc::Rc;

use air_core::{
    code::Activity,
    place::{Place, PlaceKind},
};

use super::{
    effects::Call,
    interpret::Interpreter,
    value::{GAP, Sources, Text, Value, What},
};
use crate::{
    collect::computed,
    owner,
    shell::{self, Word},
};

/// Programs that run what they read.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "ash", "python3"];

impl Interpreter<'_, '_> {
    /// Shell source, or a list of words.
    pub(super) fn run_command(&mut self, command: Option<Value>, call: &Call) -> Option<Value> {
        let flaws = self.out.flaws();
        let made = self.run_any(command, call);
        if call.given.named("timeout").is_some_and(|time| !matches!(time.what, What::None)) {
            self.out.bounded(flaws);
        }
        made
    }

    fn run_any(&mut self, command: Option<Value>, call: &Call) -> Option<Value> {
        let command = command.or_else(|| call.bound.get("executable").cloned());
        let Some(command) = command else {
            self.computed_command(call, &Sources::default());
            return Some(Value::unknown());
        };
        let mut made = Vec::new();
        for command in command.each() {
            made.push(match &command.what {
                What::Text(text) | What::Path(text) => self.run_text(text, command, call),
                What::List(_) => {
                    let (mut words, whole) = self.each_item(command);
                    if !whole {
                        // What stands for the rest is some more words.
                        words.push(Value::computed(self.heap.sources(command)));
                    }
                    // What is run, whatever it is called by.
                    let executable = call.given.named("executable");
                    if let (Some(first), Some(executable)) = (words.first_mut(), executable)
                        && !matches!(executable.what, What::None)
                    {
                        *first = executable.clone();
                    }
                    let from = self.heap.sources(command);
                    return self.launched(&words, &from, call);
                }
                What::None => continue,
                _ => {
                    let from = self.heap.sources(command);
                    self.computed_command(call, &from);
                    Value { what: What::Made(call.name.into()), from }
                }
            });
        }
        Some(Value::any(made))
    }

    pub(super) fn run_words(&mut self, words: &[Value], call: &Call) -> Option<Value> {
        // `execlp(file, *args)`: a list that is not known was spread.
        let from = self.sources_of(words);
        self.launched(words, &from, call)
    }

    fn computed_command(&mut self, call: &Call, from: &Sources) {
        let why = format!("`{}` runs a computed command", call.name);
        self.out.incomplete_at(call.line, why);
        self.operation(Activity::ProcessLaunch, GAP, call.name, call.line);
        self.run_code(from, call.line);
    }

    fn run_text(&mut self, text: &Text, command: &Value, call: &Call) -> Value {
        let from = self.heap.sources(command);
        if &*text.text == GAP {
            self.computed_command(call, &from);
            return Value { what: What::Made(call.name.into()), from };
        }
        if !text.known {
            let why = format!("`{}` runs a partly computed command", call.name);
            self.out.incomplete_at(call.line, why);
            self.run_code(&from, call.line);
        }
        let from_command = from;
        // What is computed can be anything; what is around it is still worth reading.
        let source = text.text.replace(GAP, "${_}");
        let source = match self.directory_of(call) {
            Some(directory) => format!("cd {}\n{source}", quoted(&directory)),
            None => source,
        };
        let done = self.out.done();
        let input = self.input_of(call);
        let mut from = Vec::new();
        if self.work(source.len() / 4) {
            let input = input.places();
            let gaps = owner::telling(from_command.places());
            self.out.nested(call.line, |out| from = shell::run(&source, &gaps, input, out));
        }
        self.finished(done, &source, &from, call)
    }

    fn launched(&mut self, words: &[Value], from: &Sources, call: &Call) -> Option<Value> {
        let shown: Vec<Word> = words.iter().map(Self::word).collect();
        if shown.first()?.text().is_none() {
            self.computed_command(call, from);
        }
        let done = self.out.done();
        let input = self.input_of(call);
        let mut from = Vec::new();
        let (line, input) = (call.line, input.places());
        let known: Option<Vec<String>> = shown.iter().map(|word| word.text().map(quoted)).collect();
        match (self.directory_of(call), known) {
            (Some(directory), Some(known)) => {
                let source = format!("cd {}\n{}", quoted(&directory), known.join(" "));
                self.out.nested(line, |out| from = shell::run(&source, &[], input, out));
            }
            (directory, _) => {
                if directory.is_some() {
                    self.out.incomplete_at(line, "a computed command runs in another directory");
                }
                self.out.nested(line, |out| from = shell::exec(&shown, input, line, out));
            }
        }
        let text: Vec<&str> = shown.iter().map(Word::as_written).collect();
        Some(self.finished(done, &text.join(" "), &from, call))
    }

    /// Where the command runs, if it is somewhere else.
    fn directory_of(&self, call: &Call) -> Option<String> {
        let given = call.given.named("cwd").filter(|given| !matches!(given.what, What::None));
        match given {
            Some(given) => self.paths(given).into_iter().next(),
            None => self.directory.clone(),
        }
        .filter(|directory| directory != ".")
        .map(|directory| directory.replace(GAP, "${_}"))
    }

    fn word(value: &Value) -> Word {
        let from = owner::telling(value.from.places());
        let word = match &value.what {
            What::Text(text) | What::Path(text) if text.known => {
                Word::literal(text.text.to_string())
            }
            What::Number(number) => Word::literal(number.to_string()),
            // The interpreter itself.
            What::Name(name) if &**name == "sys.executable" => Word::literal("python3".to_owned()),
            What::Text(text) | What::Path(text) => {
                Word::computed(computed(&text.text.replace(GAP, "…")))
            }
            _ => Word::computed(computed("…")),
        };
        word.from(from)
    }

    /// What the commands since `done` give, and what they were given.
    fn finished(&mut self, done: usize, command: &str, from: &[Place], call: &Call) -> Value {
        let program = command.split_whitespace().next().unwrap_or_default();
        let program = program.rsplit('/').next().unwrap_or(program).to_owned();
        let since = self.out.since(done);
        let noted = since.iter().any(|operation| operation.activity == Activity::ProcessLaunch);
        if !noted && !program.is_empty() {
            let detail = command.trim_start().split_once(char::is_whitespace);
            let detail = detail.map(|(_, rest)| rest.trim().replace("${_}", GAP));
            let detail = detail.filter(|detail| !detail.is_empty());
            let target = program.replace("${_}", GAP);
            self.operation_with(
                Activity::ProcessLaunch,
                &target,
                call.name,
                detail,
                false,
                call.line,
            );
        }
        let from = if from.is_empty() {
            Sources::of(Place::new(PlaceKind::Command, program.replace("${_}", GAP)))
        } else {
            Sources::all(from.to_vec())
        };
        self.given_input(&program, call);
        self.outputs(&from, is_fed(command), call)
    }

    /// Where the command's standard input comes from.
    fn input_of(&self, call: &Call) -> Sources {
        let mut input = self.input.clone();
        for name in ["stdin", "input"] {
            if let Some(value) = call.given.named(name) {
                input.add(&self.heap.sources(value));
            }
        }
        input
    }

    /// A shell that reads from a connection does what the other side says.
    fn given_input(&mut self, program: &str, call: &Call) {
        if !SHELLS.contains(&program) {
            return;
        }
        let input = self.input_of(call);
        self.run_code(&input, call.line);
        let Some(source) = call.given.named("input").and_then(Value::known) else { return };
        if self.work(source.len() / 4) {
            self.out.nested(call.line, |out| match program {
                "python3" => super::collect(source, out),
                _ => shell::collect(source, out),
            });
        }
    }

    /// What is written goes to the user, to a file, or to whoever has the value.
    fn outputs(&mut self, from: &Sources, fed: bool, call: &Call) -> Value {
        let place = fed.then(|| Place::new(PlaceKind::Code, ""));
        let object = self.heap.object("subprocess.Popen", place).with(from);
        let captured = call.given.named("capture_output").is_some();
        let stdout = call.given.named("stdout").cloned();
        match &stdout {
            Some(Value { what: What::Object(_), .. }) => {
                let target = stdout.clone().unwrap_or_else(Value::unknown);
                self.store(&target, &[Value::computed(from.clone())], call);
            }
            Some(_) => {}
            None => {
                let shown = matches!(
                    call.name,
                    "os.system" | "subprocess.call" | "subprocess.check_call" | "posix.system"
                ) || matches!(call.name, "subprocess.run" | "subprocess.Popen")
                    && !captured
                    || call.name.starts_with("os.exec")
                    || call.name.starts_with("os.spawn");
                let plain: Vec<Place> = from
                    .places()
                    .iter()
                    .filter(|place| place.kind != PlaceKind::Command)
                    .cloned()
                    .collect();
                if shown {
                    let sink = self.output.clone();
                    let sink = sink.unwrap_or_else(|| Place::new(PlaceKind::Output, ""));
                    self.out.flow(&plain, &sink, call.line);
                }
            }
        }
        match call.name {
            "subprocess.check_output" | "subprocess.getoutput" | "commands.getoutput" => {
                Value { what: What::Made(Rc::from(call.name)), from: from.clone() }
            }
            "os.system" | "subprocess.call" | "subprocess.check_call" => Value::unknown(),
            _ => object,
        }
    }
}

/// Whether the command is a shell that does what it reads.
fn is_fed(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
    SHELLS.contains(&program)
        && words.all(|word| {
            let letters = word.strip_prefix('-');
            letters.is_some_and(|letters| letters.starts_with('-') || !letters.contains(['c', 'm']))
        })
}

/// As a word of the shell; what is computed stays so.
fn quoted(word: &str) -> String {
    if word.starts_with("${_}") {
        return "\"${_}\"".to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
