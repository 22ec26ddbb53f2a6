//! `guessable-digest`: a password's digest that is found by trying.

use std::collections::HashSet;

use super::{
    Flaw, names, said, seed,
    tree::{Id, Tree},
};

/// Digests that are computed in no time.
const FAST: [&str; 28] = [
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sha3_224",
    "sha3_256",
    "sha3_384",
    "sha3_512",
    "blake2b",
    "blake2s",
    "new",
    "shake_128",
    "shake_256",
    "md4",
    "ripemd160",
    "whirlpool",
    "crc32",
    "adler32",
    "sha",
    "SHA256",
    "SHA1",
    "SHA512",
    "MD5",
    "SHA224",
    "SHA384",
    "MD4",
];

/// Modules of them.
const MODULES: [&str; 12] = [
    "hashlib.",
    "md5.",
    "sha.",
    "zlib.",
    "binascii.",
    "Crypto.Hash.",
    "Cryptodome.Hash.",
    "hmac.",
    "passlib.hash.",
    "hashes.",
    "cryptography.hazmat.primitives.hashes.",
    "xxhash.",
];

/// Digests that take long on purpose: place of the salt, name of it.
const SLOW: [(&str, usize); 7] = [
    ("hashlib.pbkdf2_hmac", 2),
    ("hashlib.scrypt", 9),
    ("bcrypt.hashpw", 1),
    ("crypt.crypt", 1),
    ("bcrypt.kdf", 1),
    ("scrypt.hash", 1),
    ("argon2.low_level.hash_secret", 1),
];

/// Fewer rounds are none.
const FEWEST_ROUNDS: f64 = 10_000.0;

/// Words of what a digest is kept as.
const KEPT: [&str; 17] = [
    "hash",
    "hashed",
    "digest",
    "encrypted",
    "encrypt",
    "encoded",
    "cipher",
    "ciphered",
    "protected",
    "scrambled",
    "obfuscated",
    "secured",
    "hashing",
    "stored",
    "hex",
    "ciphertext",
    "masked",
];

fn is_password(name: &str) -> bool {
    names::is_secret(name) && !names::says(name, &["salt", "hmac", "length", "len", "file", "path"])
}

/// Whether `id` is computed from a password.
fn of_password(tree: &Tree, id: Id) -> bool {
    // What is read from somewhere is not what says where.
    let same = |at: Id| {
        tree.kind(at) != "call" || {
            let callee = tree.callee(at);
            let last = callee.rsplit('.').next().unwrap_or_default();
            WRITES.contains(&last) || last.contains("digest") || tree.by_name.contains_key(last)
        }
    };
    tree.reach_while(id, same).into_iter().any(|at| match tree.kind(at) {
        "identifier" => is_password(tree.text(at)) && !tree.imports.contains_key(tree.text(at)),
        "attribute" => tree.child(at, "attribute").is_some_and(|name| is_password(tree.text(name))),
        "subscript" => {
            let key = tree.child(at, "subscript").and_then(|key| tree.literal(key));
            key.is_some_and(|key| is_password(&key))
        }
        "call" => tree.callee(at).ends_with("getpass.getpass"),
        _ => false,
    })
}

/// Whether something long enough that nobody guesses is part of it; `None` where it may be.
fn salted(tree: &Tree, id: Id) -> Option<bool> {
    let mut open = false;
    for at in tree.reach(id) {
        if tree.kind(at) == "call" {
            let callee = tree.callee(at);
            if seed::is_random(&callee) && seed::enough(tree, at, &callee) {
                return Some(true);
            }
        } else if let Some((function, place)) = tree.parameter(at) {
            open |= names::says(tree.text(at), &["salt", "nonce", "pepper"])
                && tree.passed(function, place).is_empty();
        }
    }
    if open { None } else { Some(false) }
}

/// What texts say of passwords.
#[derive(Default)]
struct Told {
    /// What a value that is called one is computed from.
    parts: HashSet<Id>,
    /// Functions with a text about them.
    scopes: HashSet<usize>,
}

impl Told {
    fn new(tree: &Tree) -> Self {
        const ABOUT: [&str; 7] =
            ["password", "passwd", "passphrase", "passcode", "pwd", "credential", "login"];
        let mut told = Self::default();
        for text in said::texts(tree).iter().filter(|text| names::says(&text.says, &ABOUT)) {
            told.scopes.insert(tree.scope(text.at));
            for (value, near) in &text.values {
                if names::says(near, &ABOUT) {
                    told.parts.extend(tree.reach(*value));
                }
            }
        }
        told.scopes.remove(&0);
        told
    }

    /// Whether `data`, which is digested, is a password by what texts say of it or of the digest.
    fn of_password(&self, tree: &Tree, call: Id, data: Id) -> bool {
        let parameters = || tree.reach(data).into_iter().filter_map(|at| tree.parameter(at));
        let outside =
            |kept: bool| kept && parameters().any(|(function, _)| function == tree.scope(call));
        outside(self.parts.contains(&call) || self.parts.contains(&data))
            || outside(self.scopes.contains(&tree.scope(call)))
            || parameters().any(|(function, place)| {
                tree.passed(function, place).into_iter().any(|value| {
                    let text = tree.literal(value).filter(|text| !text.contains([' ', '/', '.']));
                    text.is_some_and(|text| is_password(&text))
                })
            })
    }
}

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let compares =
        tree.every_call.iter().any(|call| tree.callee(*call).ends_with("compare_digest"));
    let told = Told::new(tree);
    for call in &tree.every_call {
        let callee = tree.callee(*call);
        let slow = SLOW.iter().find(|(name, _)| *name == callee);
        if let Some((_, place)) = slow {
            let salt = tree.argument(*call, *place, "salt");
            let rounds = tree.argument(*call, 3, "iterations").filter(|_| callee.ends_with("hmac"));
            let few =
                rounds.and_then(|rounds| tree.amount(rounds)).is_some_and(|n| n < FEWEST_ROUNDS);
            let fixed =
                salt.is_some_and(|salt| salted(tree, salt) == Some(false) && constant(tree, salt));
            if few {
                push(tree, *call, format!("`{callee}` with so few rounds is tried quickly"), flaws);
            } else if fixed && !compares {
                push(
                    tree,
                    *call,
                    format!("`{callee}` has the same salt for every password"),
                    flaws,
                );
            }
            continue;
        }
        let updated = callee.strip_suffix("().update");
        let digest = updated.unwrap_or(&callee);
        let last = digest.rsplit('.').next().unwrap_or_default();
        let fast = FAST.contains(&last) && MODULES.iter().any(|module| digest.starts_with(module))
            || digest == "hash";
        if !fast || (last == "new" && digest.starts_with("hmac.")) {
            continue;
        }
        let data = tree.arguments(*call).into_iter().map(|(_, value)| value);
        let of_password = |data: Id| of_password(tree, data) || told.of_password(tree, *call, data);
        if data.clone().any(of_password) && !in_rounds(tree, *call) {
            let why = if data.clone().any(|data| salted(tree, data) == Some(true)) {
                format!("one round of `{digest}` over a password is tried quickly, salted or not")
            } else {
                format!("`{digest}` of a password without a random salt is found by trying")
            };
            push(tree, *call, why, flaws);
        }
    }
    reversible(tree, flaws);
}

fn push(tree: &Tree, at: Id, why: String, flaws: &mut Vec<Flaw>) {
    flaws.push(Flaw::new("guessable-digest", tree.line(at), why));
}

/// Whether it is repeated very often with a random salt.
fn in_rounds(tree: &Tree, call: Id) -> bool {
    let loops = tree.parents(call).find(|above| tree.kind(*above) == "for_statement");
    let range = loops.and_then(|above| tree.child(above, "right"));
    let count = range.and_then(|range| {
        let arguments = tree.arguments(range);
        arguments.get(usize::from(arguments.len() > 1)).and_then(|(_, count)| tree.amount(*count))
    });
    count.is_some_and(|count| count >= FEWEST_ROUNDS)
        && tree.arguments(call).into_iter().any(|(_, data)| salted(tree, data) != Some(false))
}

fn constant(tree: &Tree, id: Id) -> bool {
    tree.reach(id).into_iter().all(|at| match tree.kind(at) {
        "identifier" => {
            let passed = tree
                .parameter(at)
                .is_none_or(|(function, place)| !tree.passed(function, place).is_empty());
            passed || !tree.given(tree.scope(at), tree.text(at)).is_empty()
        }
        "call" => {
            let callee = tree.callee(at);
            callee.ends_with("encode") || matches!(callee.as_str(), "bytes" | "str")
        }
        "subscript" => false,
        _ => true,
    })
}

/// A value that is named like a digest, and is the password, plain or written in another way.
fn reversible(tree: &Tree, flaws: &mut Vec<Flaw>) {
    for ((_, name), values) in &tree.assigned {
        let words = names::words(name);
        let kept = words.iter().any(|word| KEPT.contains(&word.as_str()));
        if !kept {
            continue;
        }
        for value in values.iter().filter(|value| plain(tree, **value)) {
            let why = format!("`{name}` is the password itself, or as good as that");
            push(tree, *value, why, flaws);
        }
    }
    let stores =
        |name: &str| names::says(name, &["hash", "encrypt", "digest", "obfuscate", "encode"]);
    for function in tree.functions.iter().skip(1).filter(|function| stores(function.name)) {
        for value in function.returns.iter().filter(|value| plain(tree, **value)) {
            let why = format!(
                "what `{}` gives is the password itself, or as good as that",
                function.name
            );
            push(tree, *value, why, flaws);
        }
    }
}

/// Whether `id` is a password that is at most written in another way.
fn plain(tree: &Tree, id: Id) -> bool {
    let mut password = false;
    for at in std::iter::once(id).chain(tree.within(id)) {
        match tree.kind(at) {
            "identifier" => {
                let parent = tree.kind(tree.parent(at));
                let own = parent != "keyword_argument" && tree.field(at) != "attribute";
                // What was a digest before is one now.
                password |= own
                    && is_password(tree.text(at))
                    && !names::words(tree.text(at))
                        .iter()
                        .any(|word| KEPT.contains(&word.as_str()));
            }
            "call" => {
                let callee = tree.callee(at);
                let last = callee.rsplit('.').next().unwrap_or_default();
                if !WRITES.contains(&last) {
                    return false;
                }
            }
            "comparison_operator"
            | "lambda"
            | "dictionary"
            | "await"
            | "conditional_expression" => return false,
            _ => {}
        }
    }
    password
}

/// Functions that write the same in another way.
const WRITES: [&str; 34] = [
    "encode",
    "decode",
    "b64encode",
    "b32encode",
    "b16encode",
    "b85encode",
    "a85encode",
    "hex",
    "hexlify",
    "join",
    "chr",
    "ord",
    "reversed",
    "lower",
    "upper",
    "swapcase",
    "translate",
    "maketrans",
    "str",
    "bytes",
    "list",
    "zip",
    "cycle",
    "len",
    "format",
    "crc32",
    "adler32",
    "hash",
    "strip",
    "urlsafe_b64encode",
    "enumerate",
    "range",
    "map",
    "bytearray",
];
