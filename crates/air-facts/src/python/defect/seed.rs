//! `predictable-seed`: what a generator of secrets begins with can be guessed.

use super::{
    Flaw, names, said,
    tree::{Id, Tree},
};

/// Functions and classes of generators that are the same for the same seed.
const SEEDED: [&str; 15] = [
    "random.seed",
    "random.Random",
    "random.Random().seed",
    "random.setstate",
    "numpy.random.seed",
    "numpy.random.RandomState",
    "numpy.random.RandomState().seed",
    "numpy.random.default_rng",
    "numpy.random.Generator",
    "numpy.random.PCG64",
    "numpy.random.MT19937",
    "torch.manual_seed",
    "torch.cuda.manual_seed",
    "tensorflow.random.set_seed",
    "numpy.random.SeedSequence",
];

/// What nobody guesses, as far as it is long enough.
const RANDOM: [&str; 14] = [
    "os.urandom",
    "secrets.",
    "random.SystemRandom",
    "uuid.uuid4",
    "ssl.RAND_bytes",
    "Crypto.Random.",
    "Cryptodome.Random.",
    "nacl.utils.random",
    "bcrypt.gensalt",
    "os.getrandom",
    "random._urandom",
    "Fernet.generate_key",
    "x25519",
    "getrandom",
];

/// What can be guessed, or read from outside.
const KNOWN: [&str; 22] = [
    "time.",
    "datetime.",
    "date.",
    "os.getpid",
    "os.getppid",
    "os.getuid",
    "os.getlogin",
    "threading.get_ident",
    "uuid.uuid1",
    "uuid.getnode",
    "id",
    "getpass.getuser",
    "platform.",
    "socket.gethostname",
    "os.uname",
    "input",
    "os.getcwd",
    "sys.argv",
    "os.path.getmtime",
    "psutil.",
    "calendar.",
    "os.times",
];

/// Names of what is made to be secret.
const SECURITY: [&str; 26] = [
    "key",
    "keygen",
    "token",
    "secret",
    "salt",
    "nonce",
    "iv",
    "session",
    "csrf",
    "auth",
    "crypt",
    "cipher",
    "encryption",
    "encrypt",
    "credential",
    "secure",
    "security",
    "signature",
    "voucher",
    "coupon",
    "captcha",
    "license",
    "lottery",
    "private",
    "invite",
    "ticket",
];

/// How predictable `id` is: `None` where it is not, or not known to be.
fn guess(tree: &Tree, id: Id) -> Option<&'static str> {
    let reached = tree.reach(id);
    let mut why = None;
    for at in reached {
        match tree.kind(at) {
            "none" if at == id => return None,
            "call" => {
                let callee = tree.callee(at);
                if is_random(&callee) {
                    if enough(tree, at, &callee) {
                        return None;
                    }
                    why = Some("few bits");
                } else if callee.starts_with("random.") || callee.starts_with("numpy.random.") {
                    why = why.or(Some("a number of a generator of the same kind"));
                } else if KNOWN.iter().any(|known| names_same(&callee, known)) {
                    why = why
                        .or(Some("a clock, a process number, or something else that others know"));
                } else if callee == "hash" {
                    let text = tree.argument(at, 0, "object").is_some_and(|value| {
                        tree.reach(value).iter().any(|at| tree.kind(*at) == "string")
                    });
                    if text {
                        return None;
                    }
                }
            }
            "identifier" => {
                let bound =
                    tree.parameter(at).map(|(function, place)| tree.passed(function, place));
                let given = tree.given(tree.scope(at), tree.text(at));
                let unknown = bound.is_some_and(|passed| passed.is_empty()) && given.is_empty();
                if unknown {
                    return None;
                }
            }
            _ => {}
        }
    }
    Some(why.unwrap_or("a constant"))
}

pub(super) fn names_same(callee: &str, known: &str) -> bool {
    callee == known || (known.ends_with('.') && callee.starts_with(known))
}

/// Whether calling it gives something that nobody guesses.
pub(super) fn is_random(callee: &str) -> bool {
    RANDOM.iter().any(|known| callee.starts_with(known) || callee.ends_with(known))
}

/// Whether it gives eight bytes or more.
pub(super) fn enough(tree: &Tree, call: Id, callee: &str) -> bool {
    let amount = tree.argument(call, 0, "nbytes").and_then(|first| tree.amount(first));
    match callee {
        "secrets.randbelow" => amount.is_none_or(|below| below >= 1e12),
        "secrets.choice" => within_loop(tree, call),
        "secrets.randbits" => amount.is_none_or(|bits| bits >= 64.0),
        "secrets.SystemRandom().randint" | "random.SystemRandom().randint" => {
            let most = tree.argument(call, 1, "b").and_then(|most| tree.amount(most));
            most.is_none_or(|most| most >= 1e12)
        }
        _ => amount.is_none_or(|bytes| bytes >= 8.0),
    }
}

fn within_loop(tree: &Tree, id: Id) -> bool {
    tree.parents(id).any(|above| {
        matches!(tree.kind(above), "generator_expression" | "list_comprehension" | "for_statement")
    })
}

/// Whether something secret is made with generators here: the function, or what holds the numbers,
/// is named so.
fn makes_secrets(tree: &Tree, call: Id) -> bool {
    let secret = |name: &str| names::says(name, &SECURITY) || names::is_secret(name);
    if tree.around(call).into_iter().any(secret) {
        return true;
    }
    let drawn = |id: Id| {
        tree.kind(id) == "call" && {
            let callee = tree.callee(id);
            callee.starts_with("random.")
                || callee.contains("Random")
                || callee.contains("rng")
                || callee.starts_with("numpy.random")
        }
    };
    let within = |id: Id| drawn(id) || tree.within(id).any(drawn);
    let named = tree.assigned.iter().any(|((_, name), values)| {
        secret(name) && values.iter().any(|value| tree.work(8) && within(*value))
    });
    named
        || said::texts(tree)
            .iter()
            .flat_map(|text| &text.values)
            .any(|(value, near)| secret(near) && tree.reach(*value).into_iter().any(drawn))
        || tree
            .functions
            .iter()
            .skip(1)
            .any(|function| secret(function.name) && within(function.at))
}

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    for call in &tree.every_call {
        let callee = tree.callee(*call);
        let own = callee.rsplit('.').next() == Some("seed") && tree.every_call.len() < 4096 && {
            callee.starts_with("random.") || callee.starts_with("numpy.random.")
        };
        if !own && !SEEDED.contains(&callee.as_str()) {
            continue;
        }
        let seed = ["a", "seed", "x"].iter().find_map(|name| tree.argument(*call, 0, name));
        let Some(seed) = seed else { continue };
        if let Some(why) = guess(tree, seed)
            && makes_secrets(tree, *call)
        {
            let why =
                format!("`{callee}` begins with {why}, and what it gives is used as a secret");
            flaws.push(Flaw::new("predictable-seed", tree.line(*call), why));
        }
    }
}
