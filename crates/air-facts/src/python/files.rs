//! Effects on files.

use air_core::code::Activity::{
    DirectoryList, FileDelete, FileOwner, FilePermission, FileRead, FileWrite,
};

use super::{
    effects::Call,
    interpret::Interpreter,
    lookup::written,
    table,
    value::{GAP, Sources, Text, Value, What},
};
use crate::{
    collect::{DIRECTORY, EMPTY},
    owner,
};

impl Interpreter<'_, '_> {
    #[expect(clippy::too_many_lines, reason = "a few lines for each word")]
    pub(super) fn on_files(
        &mut self,
        word: &str,
        parameters: &[&str],
        call: &Call,
    ) -> Option<Value> {
        let (name, line) = (call.name, call.line);
        let recursive = parameters.last() == Some(&"recursive");
        let detail = [DIRECTORY, EMPTY].into_iter().find(|word| parameters.last() == Some(word));
        let detail = detail.map(str::to_owned);
        let parameters: Vec<&str> =
            parameters.iter().copied().filter(|name| !table::ABOUT.contains(name)).collect();
        let first = parameters.first().copied().unwrap_or_default();
        let one = call.bound.get(first);
        let paths = one.map(|path| self.paths(path)).unwrap_or_default();
        let second = parameters.get(1).and_then(|name| call.bound.get(name));
        let data: Vec<Value> =
            parameters.iter().skip(1).flat_map(|name| call.bound.all(name)).cloned().collect();
        for path in &paths {
            self.out.path(path);
        }
        match word {
            "read" | "fetched" => {
                let mut from = one.map(|path| path.from.clone()).unwrap_or_default();
                for path in &paths {
                    // Some of them take URLs as well.
                    if path.contains("://") {
                        from.add(&self.connect(path, name, line));
                        continue;
                    }
                    self.operation(FileRead, path, name, line);
                    from.add(&Sources::of(Self::file(path)));
                }
                let text = match paths.as_slice() {
                    [path] if word == "read" => self.held_text(path),
                    _ => None,
                };
                return Some(match (text, word) {
                    (Some(text), _) => Value::text(text).with(&from),
                    (None, "read") => Value::computed(from),
                    (None, _) => Value { what: What::Made(name.into()), from },
                });
            }
            "write" => {
                let from = self.sources_of(&data);
                for path in &paths {
                    self.operation(FileWrite, path, name, line);
                    self.out.flow(from.places(), &Self::file(path), line);
                    let text = Self::content(&data).filter(|_| paths.len() == 1);
                    self.leave_file(path, text, &from);
                }
            }
            "create" => {
                for path in &paths {
                    self.operation_with(FileWrite, path, name, detail.clone(), false, line);
                }
            }
            "delete" => {
                for path in &paths {
                    self.operation_with(FileDelete, path, name, detail.clone(), recursive, line);
                }
            }
            "copy" | "move" | "link" => self.transfer(word, &paths, second, recursive, call),
            "mode" | "owner" => {
                let activity = if word == "mode" { FilePermission } else { FileOwner };
                let detail = Self::detail(&parameters, call);
                for path in &paths {
                    let detail = Some(detail.clone());
                    self.operation_with(activity, path, name, detail, false, line);
                }
            }
            "list" => {
                let paths = if paths.is_empty() { vec![".".to_owned()] } else { paths };
                for path in &paths {
                    self.operation_with(DirectoryList, path, name, None, recursive, line);
                }
            }
            "names" | "walk" => {
                let directory = paths.first().map_or(".", String::as_str);
                // `os.listdir` gives names, the others what has them.
                let inner = Text { known: false, ..written(&format!("{directory}/{GAP}")) };
                let item = match (word, one.map(|path| &path.what)) {
                    ("walk", _) => {
                        let top = Text { known: false, ..written(&format!("{directory}{GAP}")) };
                        let name = || Value::new(What::Text(Text::gap()));
                        let names = [name(), name()].map(|name| self.heap.list(vec![name], true));
                        let mut whole = vec![Value::new(What::Text(top))];
                        whole.extend(names);
                        self.heap.list(whole, false)
                    }
                    (_, Some(What::Path(_))) if name.starts_with("pathlib") => {
                        Value::new(What::Path(inner))
                    }
                    _ if name.ends_with("scandir") => Value::new(What::Path(inner)),
                    _ => Value::new(What::Text(Text::gap())),
                };
                return Some(self.heap.list(vec![item.with(&processes(directory))], true));
            }
            "glob" | "pathglob" => {
                let pattern = match (word, second) {
                    ("pathglob", Some(pattern)) => {
                        let base = paths.first().map_or(".", String::as_str);
                        let below = if name.ends_with("rglob") { "**/" } else { "" };
                        let pattern = Text::new(below).then(&pattern.as_text());
                        super::text::joined(&written(base), &pattern)
                    }
                    _ => written(paths.first().map_or(GAP, String::as_str)),
                };
                let directory = pattern.text.split(['*', '?', '[']).next().unwrap_or_default();
                let directory = directory.rsplit_once('/').map_or(".", |(directory, _)| directory);
                let directory = if directory.is_empty() { "/" } else { directory };
                self.operation(DirectoryList, directory, name, line);
                let found = pattern.text.replace("**", "*").replace(['*', '?'], GAP);
                let found = Text { known: false, ..written(&found) };
                let item = if word == "glob" { What::Text(found) } else { What::Path(found) };
                let found = Value::new(item).with(&processes(directory));
                return Some(self.heap.list(vec![found], true));
            }
            "open"
                if matches!(name.split('.').next(), Some("zipfile" | "tarfile"))
                    && let Some(archive) = self.archive(one, call) =>
            {
                return Some(archive);
            }
            "open" | "openflags" => return Some(self.open(word, one, &paths, second, call)),
            "database" => {
                for path in paths.iter().filter(|path| !path.starts_with(":memory:")) {
                    self.operation(FileRead, path, name, line);
                }
                let place = paths.first().map(|path| Self::file(path));
                return Some(self.heap.object(name, place));
            }
            "load" => {
                let from = one.map(|object| self.heap.sources(object)).unwrap_or_default();
                let text = match paths.as_slice() {
                    [path] => self.held_text(path),
                    _ => None,
                };
                return Some(match text {
                    Some(text) => Value::text(text).with(&from),
                    None => Value { what: What::Made(name.into()), from },
                });
            }
            "store" | "storeto" => {
                let target = one.cloned()?;
                self.store(&target, &data, call);
                return Some(Value::unknown());
            }
            "readinto" => {
                let (target, files) = (one.cloned()?, second.cloned());
                let mut from = Sources::default();
                for path in files.map(|files| self.paths(&files)).unwrap_or_default() {
                    self.operation(FileRead, &path, name, line);
                    from.add(&Sources::of(Self::file(&path)));
                }
                self.put_into(&target, &from);
                return Some(Value::unknown());
            }
            "pack" => {
                let mut from = Sources::default();
                for path in data.first().map(|path| self.paths(path)).unwrap_or_default() {
                    self.operation_with(FileRead, &path, name, None, name.contains("tar"), line);
                    from.add(&Sources::of(Self::file(&path)));
                }
                let target = one.cloned()?;
                self.store(&target, &[Value::computed(from)], call);
                return Some(Value::unknown());
            }
            "unpack" => {
                let from = one.map(|object| self.heap.sources(object)).unwrap_or_default();
                let to = data.first().map_or_else(|| vec![".".to_owned()], |to| self.paths(to));
                for path in to {
                    self.operation_with(FileWrite, &path, name, None, true, line);
                    self.out.flow(from.places(), &Self::file(&path), line);
                }
                return Some(Value::unknown());
            }
            "const" => {
                self.operation(FileRead, first, name, line);
                let from = Sources::of(Self::file(first));
                return Some(Value { what: What::Made(name.into()), from });
            }
            _ => {}
        }
        None
    }

    /// An archive in a buffer or a file that is open already: the same thing by another name.
    fn archive(&mut self, file: Option<&Value>, call: &Call) -> Option<Value> {
        let given = call.given.named("fileobj").or(file)?;
        let What::Object(id) = given.what else { return None };
        self.heap.objects.get_mut(id)?.class = call.name.into();
        Some(given.clone())
    }

    /// What the source, or an earlier step, has written there.
    fn held_text(&self, path: &str) -> Option<String> {
        self.out.held(&Self::file(path)).and_then(|held| held.text)
    }

    pub(super) fn put_into(&mut self, target: &Value, from: &Sources) {
        if let What::Object(id) = target.what
            && let Some(object) = self.heap.objects.get_mut(id)
        {
            object.from.add(from);
        }
    }

    /// The mode or owner as it is written.
    fn detail(parameters: &[&str], call: &Call) -> String {
        let second = parameters.get(1).copied().unwrap_or_default();
        match call.bound.get(second).map(|value| &value.what) {
            Some(What::Number(mode)) if call.name.contains("mod") => format!("0o{mode:o}"),
            Some(What::Name(name)) => name.to_string(),
            _ => Self::gap(call.bound.get(second)).text.to_string(),
        }
    }

    fn transfer(
        &mut self,
        word: &str,
        from: &[String],
        to: Option<&Value>,
        recursive: bool,
        call: &Call,
    ) {
        let to = to.map_or_else(|| vec![GAP.to_owned()], |to| self.paths(to));
        for path in from {
            match word {
                "copy" => {
                    self.operation_with(FileRead, path, call.name, None, recursive, call.line);
                }
                "move" => self.operation(FileDelete, path, call.name, call.line),
                _ => {}
            }
        }
        for target in &to {
            self.out.path(target);
            self.operation_with(FileWrite, target, call.name, None, recursive, call.line);
            for path in from {
                let source = Self::file(path);
                self.out.flow(std::slice::from_ref(&source), &Self::file(target), call.line);
                let text = self.held_text(path);
                self.leave_file(target, text, &Sources::of(source));
            }
        }
    }

    fn open(
        &mut self,
        word: &str,
        file: Option<&Value>,
        paths: &[String],
        mode: Option<&Value>,
        call: &Call,
    ) -> Value {
        let mut appends = false;
        let (reads, writes);
        match mode.map(|mode| &mode.what) {
            None | Some(What::None) => (reads, writes) = (true, false),
            Some(What::Text(mode)) if mode.known => {
                appends = mode.text.contains('a');
                writes = mode.text.contains(['w', 'x', '+']) || appends;
                reads = !writes || mode.text.contains('+');
            }
            Some(What::Name(flags)) if flags.contains("O_") => {
                writes = flags.contains("O_WRONLY") || flags.contains("O_RDWR");
                reads = !flags.contains("O_WRONLY");
            }
            // `os.O_WRONLY | os.O_CREAT` is no value, and may be either.
            Some(What::Number(flags)) => {
                reads = flags & 1 == 0;
                writes = flags & 3 != 0;
            }
            Some(_) => (reads, writes) = (true, true),
        }
        // A descriptor or an object in place of a path is open already.
        if let Some(object) =
            file.filter(|file| matches!(file.what, What::Object(_) | What::Number(_)))
        {
            return object.clone();
        }
        for path in paths {
            if reads {
                self.operation(FileRead, path, call.name, call.line);
            }
            if writes {
                self.operation(FileWrite, path, call.name, call.line);
            }
        }
        let class = match call.name {
            "zipfile.ZipFile" | "tarfile.open" | "tarfile.TarFile" => call.name,
            _ => "open",
        };
        let _ = word;
        let opened = paths.iter().map(|path| {
            let place = Self::file(path);
            let held = self.out.held(&place);
            let value = self.heap.object(class, Some(place));
            if let What::Object(id) = value.what
                && let Some(object) = self.heap.objects.get_mut(id)
                && appends
            {
                object.written = held.and_then(|held| held.text);
            }
            value
        });
        let opened: Vec<Value> = opened.collect();
        if writes && !reads && !appends {
            for path in paths {
                // What was there is gone.
                self.leave_file(path, Some(String::new()), &Sources::default());
            }
        }
        let value = Value::any(opened);
        // A name that comes from somewhere is no content.
        value
    }
}

/// Names below `/proc` are the numbers of processes.
fn processes(directory: &str) -> Sources {
    let found = directory == "/proc" || directory.starts_with("/proc/");
    if found { Sources::of(owner::foreign()) } else { Sources::default() }
}
