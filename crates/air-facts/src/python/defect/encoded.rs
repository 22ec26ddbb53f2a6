//! `encoded-program`: program text is written to a file in letters that hide it, whatever encodes it.

use crate::content;

use super::{
    Flaw,
    tree::{Id, Tree},
};

/// What makes other letters or bytes of a text, by the end of its dotted name.
const ENCODERS: [&str; 24] = [
    "b16encode",
    "b32encode",
    "b32hexencode",
    "b64encode",
    "b85encode",
    "a85encode",
    "standard_b64encode",
    "urlsafe_b64encode",
    "encodebytes",
    "hexlify",
    "b2a_base64",
    "b2a_hex",
    "b2a_uu",
    "zlib.compress",
    "gzip.compress",
    "bz2.compress",
    "lzma.compress",
    "marshal.dumps",
    "marshal.dump",
    "maketrans",
    "encrypt",
    "hex",
    "ord",
    "quopri.encodestring",
];
/// Encodings that hide, by their names.
const CODECS: [&str; 8] = ["rot13", "rot_13", "hex", "base64", "base_64", "bz2", "zlib", "uu"];
/// What writes its arguments to a file.
const WRITERS: [&str; 6] = ["write", "write_text", "write_bytes", "writelines", "dump", "print"];
/// So many writes are looked at.
const MOST_WRITES: usize = 64;

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let writes = WRITERS.iter().filter_map(|name| tree.calls.get(name)).flatten();
    for call in writes.take(MOST_WRITES) {
        let printed = tree.callee(*call) == "print";
        let to_file = tree.arguments(*call).iter().any(|(name, _)| *name == Some("file"));
        let standard = matches!(
            tree.callee(*call).as_str(),
            "sys.stdout.write" | "sys.stderr.write" | "sys.stdout.buffer.write"
        );
        if standard || (printed && !to_file) {
            continue;
        }
        let given = tree.arguments(*call);
        let marshals = hides(tree, *call);
        let hidden = given.iter().any(|(_, value)| {
            let reached = tree.reach(*value);
            (marshals || reached.iter().any(|at| hides(tree, *at)))
                && reached.iter().any(|at| is_program(tree, *at))
        });
        if hidden {
            let why = "program text is written to a file in letters that hide it";
            flaws.push(Flaw::new("encoded-program", tree.line(*call), why));
        }
    }
}

/// Whether `at` makes a text that nobody reads: an encoder over a program.
fn hides(tree: &Tree, at: Id) -> bool {
    match tree.kind(at) {
        "call" => {
            let callee = tree.callee(at);
            let last = callee.rsplit('.').next().unwrap_or_default();
            let encodes =
                ENCODERS.iter().any(|name| callee == *name || *name == last && !name.contains('.'));
            let codec = last == "encode"
                && tree.arguments(at).iter().any(|(_, value)| {
                    tree.constant(*value).is_some_and(|name| CODECS.contains(&name.as_str()))
                });
            (encodes || codec) && over_program(tree, at)
        }
        "binary_operator" => {
            tree.child(at, "operator").is_some_and(|operator| tree.text(operator) == "^")
                && over_program(tree, at)
        }
        _ => false,
    }
}

fn over_program(tree: &Tree, at: Id) -> bool {
    tree.reach(at).into_iter().any(|at| is_program(tree, at))
}

/// Whether `at` is a text of the source that is a program.
fn is_program(tree: &Tree, at: Id) -> bool {
    let text = match tree.kind(at) {
        "string" | "concatenated_string" => tree.literal(at),
        _ => None,
    };
    text.is_some_and(|text| tree.work(text.len()) && content::acts(&text))
}
