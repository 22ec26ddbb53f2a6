//! `unsafe-deserialization` and `eval-of-data`: data that is run.

use super::{
    Flaw, names,
    tree::{Id, Tree},
};

/// Loaders that run what the data says.
const LOADERS: [&str; 50] = [
    "pickle.load",
    "pickle.loads",
    "pickle.Unpickler().load",
    "_pickle.load",
    "_pickle.loads",
    "cPickle.load",
    "cPickle.loads",
    "pickle._loads",
    "pickle._load",
    "pickle._Unpickler().load",
    "dill.load",
    "dill.loads",
    "cloudpickle.load",
    "cloudpickle.loads",
    "pickle5.loads",
    "marshal.load",
    "marshal.loads",
    "shelve.open",
    "shelve.DbfilenameShelf",
    "jsonpickle.decode",
    "jsonpickle.loads",
    "jsonpickle.Unpickler().restore",
    "jsonpickle.unpickler.decode",
    "jsonpickle.unpickler.Unpickler().restore",
    "yaml.unsafe_load",
    "yaml.unsafe_load_all",
    "joblib.load",
    "pandas.read_pickle",
    "numpy.load",
    "torch.load",
    "yaml.load",
    "yaml.load_all",
    "klepto.archives.file_archive",
    "ruamel.yaml.load",
    "sklearn.externals.joblib.load",
    "six.moves.cPickle.loads",
    "six.moves.cPickle.load",
    "pickletools.load",
    "cPickle.Unpickler().load",
    "dill.load_session",
    "dill.load_module",
    "serpent.loads_unsafe",
    "django.core.signing.PickleSerializer",
    "twisted.spread.jelly.unjelly",
    "sqlalchemy.ext.serializer.loads",
    "pickle.Unpickler",
    "numpy.lib.format.read_array",
    "tensorflow.keras.models.load_model",
    "zodbpickle.loads",
    "pyarrow.deserialize",
];

/// Words of functions that make objects of data.
const LOADING: [&str; 8] = [
    "deserialize",
    "deserialise",
    "unserialize",
    "unpickle",
    "unmarshal",
    "deserializer",
    "loads",
    "unpack",
];

/// What runs a text.
const RUNS: [&str; 14] = [
    "eval",
    "exec",
    "builtins.eval",
    "builtins.exec",
    "__builtins__.eval",
    "__builtins__.exec",
    "execfile",
    "pandas.eval",
    "code.InteractiveInterpreter().runsource",
    "timeit.timeit",
    "code.InteractiveConsole().push",
    "code.InteractiveInterpreter().runcode",
    "sympy.sympify",
    "numexpr.evaluate",
];

/// Where text from outside comes from.
const OUTSIDE: [&str; 22] = [
    "input",
    "raw_input",
    "sys.argv",
    "sys.stdin",
    "os.environ",
    "os.getenv",
    "open",
    "requests.",
    "urllib.",
    "socket.",
    "flask.request",
    "argparse.",
    "json.",
    "base64.",
    "zlib.",
    "bytes.",
    "codecs.",
    "subprocess.",
    "pathlib.",
    "httpx.",
    "binascii.",
    "bz2.",
];

fn plain(callee: &str) -> &str {
    let callee = callee.strip_prefix("builtins.").unwrap_or(callee);
    callee.strip_prefix("__builtins__.").unwrap_or(callee)
}

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let restricted = tree.defined("find_class");
    for call in &tree.every_call {
        let callee = tree.callee(*call);
        if RUNS.contains(&callee.as_str()) {
            run(tree, *call, plain(&callee), flaws);
        } else if LOADERS.contains(&callee.as_str()) {
            if !is_safe(tree, *call, &callee) && !copies(tree, *call) {
                let why = format!("`{callee}` runs what the data that it loads says");
                flaws.push(Flaw::new("unsafe-deserialization", tree.line(*call), why));
            }
        } else if callee.ends_with("().load") && restricted.is_empty() && subclass(tree, &callee) {
            let why = "an unpickler without limits runs what the data that it loads says";
            flaws.push(Flaw::new("unsafe-deserialization", tree.line(*call), why));
        }
    }
    handed_on(tree, flaws);
}

/// Loaders that are passed on: `map(pickle.loads, parts)`, `loader = pickle.loads`.
fn handed_on(tree: &Tree, flaws: &mut Vec<Flaw>) {
    for id in 0..tree.len() {
        let passed = tree.kind(id) == "attribute" && tree.kind(tree.parent(id)) != "attribute";
        let above = tree.kind(tree.parent(id));
        if !passed || !matches!(above, "argument_list" | "pair" | "lambda" | "keyword_argument") {
            continue;
        }
        let name = tree.dotted(id);
        if matches!(
            name.as_str(),
            "pickle.loads" | "marshal.loads" | "dill.loads" | "jsonpickle.decode"
        ) {
            let why = format!("`{name}` runs what the data that it loads says");
            flaws.push(Flaw::new("unsafe-deserialization", tree.line(id), why));
        }
    }
}

/// Whether `callee` makes an instance of a class of the source that unpickles.
fn subclass(tree: &Tree, callee: &str) -> bool {
    let class = callee.trim_end_matches("().load");
    tree.work(tree.len())
        && (0..tree.len()).any(|id| {
            tree.kind(id) == "class_definition"
                && tree.child(id, "name").is_some_and(|name| tree.text(name) == class)
                && tree.child(id, "superclasses").is_some_and(|bases| {
                    tree.below(bases).any(|base| tree.dotted(base).ends_with("Unpickler"))
                })
        })
}

fn is_safe(tree: &Tree, call: Id, callee: &str) -> bool {
    let named = |name: &str| {
        let all = tree.arguments(call);
        all.into_iter().find(|(known, _)| *known == Some(name)).map(|(_, value)| value)
    };
    let is_true = |id: Option<Id>| id.is_some_and(|id| tree.kind(id) == "true");
    match callee {
        "yaml.load" | "yaml.load_all" => {
            let loader = tree.argument(call, 1, "Loader");
            loader.is_some_and(|loader| {
                let loader = tree.dotted(loader);
                ![
                    "yaml.Loader",
                    "yaml.UnsafeLoader",
                    "yaml.CLoader",
                    "yaml.CUnsafeLoader",
                    "yaml.loader.Loader",
                    "yaml.loader.UnsafeLoader",
                ]
                .contains(&loader.as_str())
            })
        }
        "ruamel.yaml.load" => tree.argument(call, 1, "Loader").is_some(),
        "numpy.load" | "numpy.lib.format.read_array" => !is_true(named("allow_pickle")),
        "torch.load" => is_true(named("weights_only")),
        "pickle.Unpickler" => true,
        "tensorflow.keras.models.load_model" => is_true(named("safe_mode")),
        _ => false,
    }
}

/// `pickle.loads(pickle.dumps(x))` is a copy.
fn copies(tree: &Tree, call: Id) -> bool {
    tree.argument(call, 0, "data").is_some_and(|data| {
        tree.kind(data) == "call" && last(&tree.callee(data)) == "dumps" && tree.scope(call) != 0
    })
}

/// `eval` of a text.
fn run(tree: &Tree, call: Id, callee: &str, flaws: &mut Vec<Flaw>) {
    let Some(text) = tree.arguments(call).first().map(|(_, text)| *text) else { return };
    if callee == "timeit.timeit" && tree.parameter(text).is_none() {
        return;
    }
    let Some(from) = data(tree, text) else { return };
    // A namespace of its own is how modules and settings are run on purpose.
    let spaces = tree.arguments(call).len() > 1 && !driven(tree, call);
    let from = if from == From::Compiled && driven(tree, call) { From::Caller } else { from };
    if spaces && from == From::Compiled {
        return;
    }
    let around = tree.around(call);
    if around.iter().any(|name| names::holds(name, &LOADING)) {
        let why = format!("`{callee}` makes objects of data, and runs it");
        flaws.push(Flaw::new("unsafe-deserialization", tree.line(call), why));
    }
    if from == From::Compiled || (spaces && from == From::Caller) {
        return;
    }
    let why = match from {
        From::Outside => format!("`{callee}` runs text from outside as code"),
        _ => format!("`{callee}` runs text as code that the caller passes"),
    };
    flaws.push(Flaw::new("eval-of-data", tree.line(call), why));
}

/// Whether the program itself gives a text to the function that this is in: it is no library.
fn driven(tree: &Tree, call: Id) -> bool {
    let function = tree.functions.get(tree.scope(call)).filter(|_| tree.scope(call) != 0);
    let calls = function.and_then(|function| tree.calls.get(function.name));
    calls
        .into_iter()
        .flatten()
        .take(16)
        .any(|call| tree.scope(*call) == 0 && !tree.arguments(*call).is_empty())
}

fn last(callee: &str) -> &str {
    callee.rsplit('.').next().unwrap_or_default()
}

#[derive(PartialEq, Clone, Copy)]
enum From {
    Outside,
    Caller,
    Compiled,
}

/// Where a text comes from, if it is not written in the source.
fn data(tree: &Tree, text: Id) -> Option<From> {
    let reached = tree.reach(text);
    let mut found = None;
    for id in reached {
        match tree.kind(id) {
            "call" => {
                let callee = tree.callee(id);
                if matches!(callee.as_str(), "compile" | "builtins.compile") {
                    let file = tree.argument(id, 1, "filename");
                    let named = file.is_some_and(|file| tree.literal(file).is_none());
                    if named {
                        return Some(From::Compiled);
                    }
                } else if OUTSIDE.iter().any(|known| super::seed::names_same(&callee, known))
                    || matches!(last(&callee), "read" | "recv" | "readline" | "recvfrom")
                {
                    found = Some(From::Outside);
                }
            }
            "identifier" | "attribute" => {
                let name = tree.dotted(id);
                if OUTSIDE.iter().any(|known| name.starts_with(known) && known.contains('.')) {
                    found = Some(From::Outside);
                } else if tree.parameter(id).is_some() {
                    found = found.or(Some(From::Caller));
                }
            }
            _ => {}
        }
    }
    found
}
