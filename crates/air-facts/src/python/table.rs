//! What functions of libraries do: a table, in `operations.txt`.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use crate::collect::{DIRECTORY, EMPTY};

/// The table that ships with AIR.
const TEXT: &str = include_str!("operations.txt");

/// A function or method.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    /// The names of its parameters; of a method's, the object is the first.
    pub(super) parameters: Vec<&'static str>,
    pub(super) effects: Vec<Vec<&'static str>>,
}

struct Table {
    rows: Vec<Row>,
    names: HashMap<String, usize>,
    modules: HashSet<&'static str>,
    constants: HashMap<&'static str, &'static str>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table {
        rows: Vec::new(),
        names: HashMap::new(),
        modules: HashSet::new(),
        constants: HashMap::new(),
    };
    for line in TEXT.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut columns = line.splitn(3, ':').map(str::trim);
        let names = columns.next().unwrap_or_default();
        if let Some((name, value)) = names.split_once(" = ") {
            table.constants.insert(name.trim(), value.trim());
            continue;
        }
        let parameters = columns.next().unwrap_or_default().split_whitespace().collect();
        let effects = columns.next().unwrap_or_default().split(';');
        let effects = effects.map(|effect| effect.split_whitespace().collect()).collect();
        table.rows.push(Row { parameters, effects });
        for name in names.split_whitespace().flat_map(expand) {
            table.names.insert(name, table.rows.len() - 1);
        }
    }
    for module in MODULES.split_whitespace() {
        table.modules.insert(module);
    }
    table
});

/// Modules of the standard library that have others as attributes.
const MODULES: &str = "argparse asyncio codecs configparser csv fileinput glob http http.client \
    inspect io json linecache locale logging mimetypes multiprocessing os pathlib pdb pickle \
    platform pty random re shelve shlex shutil signal site smtplib socket socketserver sqlite3 \
    ssl string subprocess sys tarfile tempfile textwrap threading tokenize trace traceback typing \
    unittest urllib urllib.request uuid warnings webbrowser zipfile zipimport importlib \
    multiprocessing.util shutil.os subprocess.os tempfile._os";

/// `a{b,c}` is `ab` and `ac`.
fn expand(name: &str) -> Vec<String> {
    let Some((before, rest)) = name.split_once('{') else { return vec![name.to_owned()] };
    let (options, after) = rest.split_once('}').unwrap_or((rest, ""));
    let after = expand(after);
    let options = options.split(',');
    options
        .flat_map(|option| after.iter().map(move |after| format!("{before}{option}{after}")))
        .collect()
}

/// What the function of that name does.
pub(super) fn row(name: &str) -> Option<&'static Row> {
    let table = &*TABLE;
    table.names.get(name).and_then(|row| table.rows.get(*row))
}

pub(super) fn knows(name: &str) -> bool {
    TABLE.names.contains_key(name)
}

/// Whether `name` is a function that does something, and no class or constant.
pub(super) fn is_function(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    knows(name) || (name.contains('.') && last.starts_with(|c: char| c.is_lowercase()))
}

/// Effects that are none, or that call what they are given themselves.
const HARMLESS: [&str; 27] = [
    "call",
    "child",
    "clean",
    "const",
    "cwd",
    "each",
    "found",
    "hash",
    "here",
    "home",
    "input",
    "join",
    "make",
    "names",
    "path",
    "print",
    "process",
    "received",
    "same",
    "special",
    "stdio",
    "text",
    "thread",
    "tmp",
    "unquote",
    "variables",
    "load",
];

/// Whether calling `name` does something, whatever it is called with.
pub(super) fn may_harm(name: &str) -> bool {
    let runs = |effect: &Vec<&str>| *effect == ["special", "exec"];
    let harms = |effect: &Vec<&str>| effect.first().is_some_and(|word| !HARMLESS.contains(word));
    row(name).is_some_and(|row| row.effects.iter().any(|effect| harms(effect) || runs(effect)))
}

pub(super) fn is_module(name: &str) -> bool {
    TABLE.modules.contains(name)
}

pub(super) fn is_constant(name: &str) -> bool {
    TABLE.constants.contains_key(name)
}

pub(super) fn constant(name: &str) -> &'static str {
    TABLE.constants.get(name).copied().unwrap_or_default()
}

/// Words after the parameters of an effect, which say more about it.
pub(super) const ABOUT: [&str; 3] = ["recursive", DIRECTORY, EMPTY];

#[cfg(test)]
mod tests {
    use super::{ABOUT, TABLE, expand};

    /// The words, and how many words that are no parameters follow each.
    const EFFECTS: &[(&str, usize)] = &[
        // Files. `recursive` after the parameters says that all below is meant, `directory` that a
        // directory is made, `empty` that one is removed in which nothing is.
        ("read", 0),
        ("fetched", 0),
        ("write", 0),
        ("create", 0),
        ("delete", 0),
        ("copy", 0),
        ("move", 0),
        ("link", 0),
        ("mode", 0),
        ("owner", 0),
        ("list", 0),
        ("names", 0),
        ("walk", 0),
        ("glob", 0),
        ("pathglob", 0),
        ("open", 0),
        ("openflags", 0),
        ("database", 0),
        ("load", 0),
        ("store", 0),
        ("storeto", 0),
        ("readinto", 0),
        ("pack", 0),
        ("unpack", 0),
        ("const", 1),
        ("chdir", 0),
        // Paths and objects.
        ("path", 0),
        ("join", 0),
        ("text", 0),
        ("home", 0),
        ("cwd", 0),
        ("here", 0),
        ("unquote", 0),
        ("tmp", 0),
        ("make", 1),
        ("same", 0),
        ("clean", 0),
        ("hash", 0),
        // People and the environment.
        ("print", 0),
        ("input", 0),
        ("env", 0),
        ("environment", 0),
        ("variables", 0),
        // Processes and the system.
        ("run", 0),
        ("words", 0),
        ("spawn", 0),
        ("process", 0),
        ("child", 0),
        ("found", 0),
        ("kill", 0),
        ("killed", 0),
        ("stdio", 0),
        ("account", 0),
        ("system", 1),
        // Functions and code.
        ("call", 0),
        ("each", 0),
        ("thread", 0),
        ("runfile", 0),
        ("elsewhere", 0),
        ("fromdata", 0),
        ("special", 1),
        // Network.
        ("connect", 0),
        ("http", 0),
        ("request", 0),
        ("fetch", 0),
        ("dial", 1),
        ("pairdial", 0),
        ("redial", 0),
        ("send", 0),
        ("sendto", 0),
        ("sendfile", 0),
        ("upload", 0),
        ("receive", 0),
        ("received", 0),
        ("bind", 0),
        ("listening", 0),
        ("listen", 0),
        ("serve", 0),
        ("accept", 0),
        ("lookup", 0),
    ];

    #[test]
    fn names_are_expanded() {
        assert_eq!(expand("{a,b}.{c,d}"), ["a.c", "a.d", "b.c", "b.d"]);
    }

    #[test]
    fn every_effect_is_known_and_names_parameters() {
        for row in &TABLE.rows {
            for effect in &row.effects {
                let Some((word, rest)) = effect.split_first() else { continue };
                let known = EFFECTS.iter().find(|(name, _)| name == word);
                let (_, own) = known.unwrap_or_else(|| panic!("{word} of {row:?}"));
                for parameter in rest.iter().skip(*own) {
                    let plain = |name: &&&str| name.trim_start_matches('*') == *parameter;
                    let found = row.parameters.iter().find(|name| plain(name)).is_some();
                    assert!(found || ABOUT.contains(parameter), "{parameter} of {row:?}");
                }
            }
        }
    }
}
