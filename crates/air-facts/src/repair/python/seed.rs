//! A generator that begins with what the system gives it: seeds are left out.

use super::{Edit, Patch, calls};
use crate::python::defect::tree::{Id, Tree};

/// What takes its seed from the system where it is given none.
const OWN_SEED: [&str; 11] = [
    "random.seed",
    "random.Random",
    "random.Random().seed",
    "numpy.random.seed",
    "numpy.random.RandomState",
    "numpy.random.RandomState().seed",
    "numpy.random.default_rng",
    "numpy.random.PCG64",
    "numpy.random.MT19937",
    "numpy.random.SeedSequence",
    "random.SystemRandom().seed",
];

/// What may be left out: it tells something and does nothing.
const TELLS: [&str; 20] = [
    "time.",
    "datetime.",
    "date.",
    "os.get",
    "os.uname",
    "os.times",
    "uuid.",
    "platform.",
    "socket.gethostname",
    "threading.get_ident",
    "getpass.getuser",
    "calendar.",
    "int",
    "float",
    "str",
    "len",
    "hash",
    "ord",
    "round",
    "id",
];

pub(super) fn mend(tree: &Tree, line: u32) -> Option<Patch> {
    let mut edits = Vec::new();
    let mut said = String::new();
    for call in calls(tree, line) {
        let callee = tree.callee(call);
        if !OWN_SEED.contains(&callee.as_str()) {
            continue;
        }
        let arguments = tree.child(call, "arguments")?;
        let plain = |(_, value): (Option<&str>, Id)| {
            std::iter::once(value).chain(tree.within(value)).all(|at| tells(tree, at))
        };
        if !tree.arguments(call).into_iter().all(plain) {
            return None;
        }
        edits.push(Edit::new(tree.range(arguments), "()"));
        said = format!("`{callee}` begins with what the system gives it");
    }
    (!edits.is_empty()).then(|| Patch::new(edits, said))
}

fn tells(tree: &Tree, at: Id) -> bool {
    match tree.kind(at) {
        "await" | "yield" | "named_expression" => false,
        "call" => {
            let callee = tree.callee(at);
            callee.ends_with(".encode")
                || TELLS.iter().any(|known| {
                    callee == *known
                        || known.ends_with(['.', 't'])
                            && known.contains('.')
                            && callee.starts_with(known)
                })
        }
        _ => true,
    }
}
