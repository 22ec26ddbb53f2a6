//! Text that the shell expands once more when a command uses it.

use air_core::code::Activity;

use super::{eval::Shell, options::Options, word::Word};
use crate::collect::Collector;

/// What expands the subscripts in its arguments once more.
const EXPANDS: [&str; 11] = [
    "test",
    "[",
    "read",
    "unset",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "mapfile",
    "readarray",
];
/// Variables that say what other programs run.
const HOOKS: [&str; 19] = [
    "BASH_ENV",
    "ENV",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PERL5OPT",
    "RUBYOPT",
    "NODE_OPTIONS",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "PAGER",
    "GIT_PAGER",
    "LESSOPEN",
    "EDITOR",
    "VISUAL",
    "PROMPT_COMMAND",
    "IFS",
];
/// Values of them that are what anyone has.
const USUAL: [&str; 14] = [
    "",
    "cat",
    "less",
    "more",
    "vi",
    "vim",
    "nano",
    "true",
    ":",
    "/bin/true",
    "/bin/cat",
    "\n",
    ",",
    " ",
];

impl Shell {
    pub(super) fn expanded_twice(
        &mut self,
        name: &str,
        args: &[Word],
        options: &Options,
        at: u32,
        out: &mut Collector,
    ) {
        let first = args.first().and_then(Word::text);
        if EXPANDS.contains(&name) || name == "printf" && first == Some("-v") {
            for arg in args {
                subscript(arg, at, out);
            }
        }
        match name {
            "exit" | "return" => out.may_end(),
            "env" | "sudo" => {
                for arg in args {
                    if let Some((name, value)) = arg.as_written().split_once('=') {
                        hook(name, &arg.part(value), at, out);
                    }
                }
            }
            "let" => {
                for arg in args {
                    self.arithmetic(arg.as_written(), at, out);
                }
            }
            "declare" | "typeset" | "local" | "nameref"
                if name == "nameref" || options.has(&["n"]) =>
            {
                out.incomplete_at(at, format!("`{name}` gives a variable another name"));
            }
            "unset" if args.iter().any(|arg| arg.text() == Some("HISTFILE")) => {
                self.forgets(at, out);
            }
            "set"
                if options.has(&["e"]) || args.iter().any(|arg| arg.text() == Some("errexit")) =>
            {
                out.may_end();
            }
            "enable" if options.has(&["f"]) => {
                out.incomplete_at(at, "`enable -f` loads code that is not read");
            }
            "hash" if options.has(&["p"]) => {
                out.incomplete_at(at, "`hash -p` gives a command another file");
            }
            "mapfile" | "readarray" if options.has(&["C"]) => {
                out.incomplete_at(at, format!("`{name} -C` runs a command that is not followed"));
            }
            _ => {}
        }
    }

    /// No history is kept.
    pub(super) fn forgets(&mut self, at: u32, out: &mut Collector) {
        let history = "~/.bash_history";
        self.operation(Activity::FileDelete, history, "HISTFILE", None, at, out);
    }
}

/// A subscript in a text that the shell expands once more: `a[$(id)]`.
pub(super) fn subscript(word: &Word, at: u32, out: &mut Collector) {
    let held = |text: &str| text.contains("[$(") || text.contains("[`");
    if word.text().is_some_and(held) {
        out.incomplete_at(at, "a subscript in a text runs a command");
    }
}

/// A variable that is set, and by which other programs find what they run.
pub(super) fn hook(name: &str, value: &Word, at: u32, out: &mut Collector) {
    let usual = value.text().is_some_and(|text| USUAL.contains(&text));
    if HOOKS.contains(&name) && !usual {
        out.incomplete_at(at, format!("`{name}` changes what other programs run"));
    }
    if name == "PATH" {
        let before = value.as_written().split("${").next().unwrap_or_default();
        let safe = |part: &str| {
            part.is_empty()
                || ["/usr/", "/bin", "/sbin", "/opt/", "/snap/", "~/.local/bin", "~/.cargo/bin"]
                    .iter()
                    .any(|known| part.starts_with(known))
        };
        if !before.split(':').all(safe) {
            out.incomplete_at(at, "`PATH` changes what the names of programs stand for");
        }
    }
}
