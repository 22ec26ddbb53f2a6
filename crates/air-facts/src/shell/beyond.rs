//! What options make a command do beyond its row of the table.

use air_core::{
    code::Activity,
    place::{Place, PlaceKind},
};

use super::{
    eval::Shell,
    flow::Tool,
    interpreter::Language,
    options::Options,
    word::{Data, Word},
};
use crate::collect::Collector;

/// Files of this many bytes fill a disk.
const ENORMOUS: f64 = 1_099_511_627_776.0;
/// Build tools that run what files of the workspace say.
const BUILDS: [&str; 22] = [
    "cmake", "ctest", "ninja", "meson", "mvn", "mvnw", "gradle", "gradlew", "ant", "bazel",
    "scons", "tox", "nox", "just", "rake", "bundle", "composer", "sbt", "stack", "cabal", "mix",
    "gulp",
];
const COMPILERS: [&str; 12] = [
    "gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as", "rustc", "gfortran", "nasm", "javac",
];

impl Shell {
    /// What the command does by its options; nothing where its row says the rest.
    pub(super) fn beyond(
        &mut self,
        name: &str,
        args: &[Word],
        at: u32,
        out: &mut Collector,
    ) -> Option<Data> {
        let options = Options::read(args, "");
        if let Some(data) = self.asks(name, args, &options) {
            return Some(data);
        }
        let tool = Tool { name, args, options: &options, at };
        self.lines(&tool, out);
        self.scripted(&tool, out);
        self.fetched(&tool, out);
        self.more(&tool, out)
    }

    /// What only says what it would do.
    fn asks(&mut self, name: &str, args: &[Word], options: &Options) -> Option<Data> {
        let has = |names: &[&str]| options.has(names);
        let remote = || options.operands.iter().any(|word| word.as_written().contains(':'));
        let asks = match name {
            "apt" | "apt-get" | "aptitude" => {
                has(&["s", "--simulate", "--dry-run", "--just-print", "--no-act"])
            }
            "dpkg" => has(&["--dry-run", "--simulate", "--no-act"]),
            "pip" | "pip3" => has(&["--dry-run"]),
            "rsync" => has(&["n", "--dry-run"]) && !remote(),
            "cut" | "awk" | "gawk" | "mawk" if names_only(args) => {
                let input = self.state.input();
                let is_environment = |place: &Place| place.kind == PlaceKind::Environment;
                !input.sources.is_empty() && input.sources.iter().all(is_environment)
            }
            _ => false,
        };
        asks.then(|| Data::from([Place::new(PlaceKind::Command, name)]))
    }

    fn more(&mut self, tool: &Tool, out: &mut Collector) -> Option<Data> {
        let Tool { name, args, options, at } = *tool;
        let has = |names: &[&str]| options.has(names);
        let after = |mark: &str| after(args, mark);
        match name {
            _ if COMPILERS.contains(&name) => {
                let options = Options::read(args, "o I L l D x --target --edition --crate-type");
                let tool = Tool { options: &options, ..*tool };
                return Some(self.compile(&tool, out));
            }
            _ if BUILDS.contains(&name) && !has(&["--version", "--help"]) => {
                out.incomplete_at(at, format!("`{name}` runs source that is not read"));
            }
            "cargo" | "go"
                if options.operands.first().is_some_and(|verb| {
                    ["check", "clippy", "install", "doc", "fix", "nextest", "rustc", "vet", "tool"]
                        .contains(&verb.as_written())
                }) =>
            {
                out.incomplete_at(at, format!("`{name}` runs source that is not read"));
            }
            "tree" => {
                if let Some(file) = after("-o") {
                    self.put_file(&file, Data::default(), tool, out);
                }
            }
            "csplit" => out.incomplete_at(at, "`csplit` writes files that are not named"),
            "yq" | "xmlstarlet" if has(&["i", "L", "--inplace", "--in-place"]) => {
                for path in options.operands.iter().skip(1) {
                    self.on(Activity::FileWrite, path, tool, out);
                }
            }
            "fallocate" | "truncate" => {
                let size = after("-l").or_else(|| after("-s")).or_else(|| after("--size"));
                let size = size.or_else(|| after("--length"));
                if size.and_then(|size| bytes(size.text()?)).is_some_and(|size| size >= ENORMOUS) {
                    out.defect("disk-filler", at, "a file is made larger than disks are");
                }
            }
            "journalctl"
                if args.iter().any(|arg| {
                    arg.as_written().starts_with("--vacuum") || arg.as_written() == "--rotate"
                }) =>
            {
                self.operation_below(
                    Activity::FileDelete,
                    "/var/log/journal",
                    name,
                    None,
                    true,
                    at,
                    out,
                );
            }
            "git" => self.git_runs(args, at, out),
            "ip" if options.operands.first().is_some_and(|word| word.text() == Some("netns")) => {
                let start = args.iter().position(|arg| arg.text() == Some("exec"))?;
                return Some(self.launch(args.get(start + 2..)?, at, out));
            }
            "docker" | "podman" | "nerdctl" => {
                let verb = options.operands.first().map_or("", Word::as_written);
                if let ("cp", [_, from, to, ..]) = (verb, options.operands.as_slice()) {
                    let data = if from.as_written().contains(':') {
                        Data::from([Place::new(PlaceKind::Command, name)])
                    } else {
                        self.read_file(from, name, at, out)
                    };
                    if !to.as_written().contains(':') {
                        self.put_file(to, data, tool, out);
                    }
                }
            }
            "fish" | "pwsh" | "powershell" | "expect" | "gdb" | "lldb" => {
                if !has(&["--version", "--help"]) {
                    out.incomplete_at(at, format!("`{name}` runs code that is not read"));
                }
                if let Some(code) = after("-c").filter(|_| name == "fish") {
                    return Some(self.line(&code, name, at, out));
                }
            }
            "sqlite3" => {
                let runs = |text: &str| text.contains(".sh") || text.contains(".system");
                let input = self.state.input().text.unwrap_or_default();
                if runs(&input) || args.iter().any(|arg| runs(arg.as_written())) {
                    out.incomplete_at(at, "`sqlite3` runs a command that is not followed");
                }
            }
            _ => {}
        }
        None
    }

    /// Commands that options give.
    fn lines(&mut self, tool: &Tool, out: &mut Collector) {
        let Tool { name, args, options, at } = *tool;
        let after = |mark: &str| after(args, mark);
        let told = |mark: &str| args.iter().any(|arg| arg.as_written() == mark);
        match name {
            "tar" | "bsdtar" => {
                let asks = ["-I", "--use-compress-program", "--to-command", "-F", "--info-script"];
                for program in asks.iter().filter_map(|mark| after(mark)) {
                    self.line(&program, name, at, out);
                }
                if told("--checkpoint-action")
                    || args.iter().any(|arg| {
                        let written = arg.as_written();
                        !written.starts_with("--")
                            && written.starts_with('-')
                            && written.len() > 2
                            && written.contains(['I', 'F'])
                    })
                {
                    out.incomplete_at(at, "`tar` runs a command that is not followed");
                }
                if told("--remove-files") {
                    for path in options.operands.iter().skip(usize::from(options.has(&["f"]))) {
                        self.delete(path, true, tool, out);
                    }
                }
            }
            "zip" => {
                for program in ["-TT", "--unzip-command"].iter().filter_map(|mark| after(mark)) {
                    self.line(&program, name, at, out);
                }
            }
            "sort" | "split" => {
                for program in
                    ["--compress-program", "--filter"].iter().filter_map(|mark| after(mark))
                {
                    self.line(&program, name, at, out);
                }
            }
            "rsync" => {
                let asks = ["-e", "--rsh", "--rsync-path"];
                for program in asks.iter().filter_map(|mark| after(mark)) {
                    if !program.as_written().starts_with("ssh") {
                        self.line(&program, name, at, out);
                    }
                }
            }
            _ => {}
        }
    }

    /// What comes from somewhere else and runs.
    fn fetched(&mut self, tool: &Tool, out: &mut Collector) {
        let Tool { name, options, at, .. } = *tool;
        match name {
            "npm" | "yarn" | "pnpm" | "pip" | "pip3" => {
                let address = |word: &&Word| word.as_written().contains("://");
                for word in options.operands.iter().filter(address) {
                    let from = word.as_written().trim_start_matches("git+");
                    let peer = Place::new(PlaceKind::Network, from);
                    self.operation(Activity::NetworkConnect, from, name, None, at, out);
                    out.flow(&[peer], &Place::new(PlaceKind::Code, "package"), at);
                }
            }
            "uvx" | "pipx" | "uv" => {
                let runs = options.operands.first().is_some_and(|word| word.text() == Some("run"));
                if name == "uvx" || name == "pipx" && runs {
                    let peer = Place::new(PlaceKind::Network, "pkg://pypi");
                    self.operation(Activity::NetworkConnect, &peer.name, name, None, at, out);
                    out.flow(&[peer], &Place::new(PlaceKind::Code, ""), at);
                    out.incomplete_at(at, format!("`{name}` runs a package that is not read"));
                }
            }
            _ => {}
        }
    }

    /// A command line in an option.
    fn line(&mut self, line: &Word, name: &str, at: u32, out: &mut Collector) -> Data {
        if let Some(text) = line.text() {
            return self.run_text(Language::Shell, text, at, out);
        }
        out.incomplete_at(at, format!("`{name}` runs computed code"));
        self.computed_code(line.sources(), name, at, out);
        Data::default()
    }

    fn compile(&mut self, tool: &Tool, out: &mut Collector) -> Data {
        let plugin = |arg: &Word| {
            ["-fplugin", "-wrapper", "-plugin", "--plugin", "@", "-specs", "-B"]
                .iter()
                .any(|mark| arg.as_written().starts_with(mark))
        };
        if tool.args.iter().any(plugin) {
            let name = tool.name;
            out.incomplete_at(tool.at, format!("`{name}` runs a program that is not read"));
        }
        let data = self.inputs(tool, 0, out).obscured();
        match tool.options.value(&["o"]).cloned() {
            Some(file) => self.put_file(&file, data, tool, out),
            None if tool.options.has(&["E"]) => return data,
            None if !tool.options.operands.is_empty() => {
                self.put_file(&Word::literal("a.out"), data, tool, out);
            }
            None => {}
        }
        Data::none()
    }

    /// Commands in the arguments of `git`.
    fn git_runs(&mut self, args: &[Word], at: u32, out: &mut Collector) {
        let written: Vec<&str> = args.iter().map(Word::as_written).collect();
        let has = |word: &str| written.contains(&word);
        let behind = |one: &str, other: &str| {
            let at = written.windows(2).position(|pair| pair == [one, other])?;
            Some(written.get(at + 2..)?.join(" "))
        };
        let line = behind("bisect", "run").or_else(|| behind("submodule", "foreach"));
        if let Some(line) = line {
            self.run_text(Language::Shell, &line, at, out);
        }
        let verb =
            ["rebase", "difftool", "mergetool", "filter-branch"].into_iter().find(|v| has(v));
        let runs = verb.is_some_and(|verb| {
            verb == "filter-branch"
                || written.iter().any(|word| {
                    word.starts_with("-x")
                        || word.starts_with("--exec")
                        || word.starts_with("--extcmd")
                })
        });
        let setting = |word: &&str| {
            let name = word.split('=').next().unwrap_or_default();
            word.contains('=')
                && (name.ends_with("hooksPath")
                    || name.ends_with(".helper")
                    || name.ends_with(".external")
                    || name.ends_with(".textconv")
                    || name.ends_with("Command")
                    || name.ends_with("gitProxy")
                    || ["--work-tree", "--git-dir", "--exec-path", "--upload-pack"].contains(&name))
        };
        let apart = ["--work-tree", "--git-dir", "--upload-pack", "--receive-pack"];
        if runs
            || written.iter().any(setting)
            || apart.iter().any(|word| has(word))
            || written.iter().any(|word| word.starts_with("ext::"))
        {
            out.incomplete_at(at, "`git` runs a command that is not followed");
        }
    }
}

/// The value of an option: `--mark=value`, `--mark value`.
fn after(args: &[Word], mark: &str) -> Option<Word> {
    let glued = args.iter().find_map(|arg| {
        let value = arg.as_written().strip_prefix(mark)?.strip_prefix('=')?;
        Some(arg.part(value))
    });
    let next = || args.iter().position(|arg| arg.as_written() == mark);
    glued.or_else(|| args.get(next()? + 1).cloned())
}

/// `cut -d= -f1`, `awk -F= '{print $1}'`: the names without the values.
fn names_only(args: &[Word]) -> bool {
    let line = args.iter().map(Word::as_written).collect::<Vec<_>>().join(" ");
    matches!(line.replace(' ', "").as_str(), "-d=-f1" | "-f1-d=" | "-F={print$1}")
}

/// A size with its unit: `10T`.
fn bytes(size: &str) -> Option<f64> {
    let size = size.trim_start_matches('+');
    let end = size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len());
    let (number, unit) = size.split_at_checked(end)?;
    let power = match unit.chars().next() {
        None => 0,
        Some(unit) => 1 + "KMGTPEZY".find(unit.to_ascii_uppercase())?,
    };
    Some(number.parse::<f64>().ok()? * 1024_f64.powi(i32::try_from(power).ok()?))
}
