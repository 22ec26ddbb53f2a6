//! `lenient-validation`: a check of a format accepts what is not of that format.

use fancy_regex::{Regex, RegexBuilder};

use super::{
    Flaw,
    formats::{FORMATS, Format},
    names,
    tree::{Id, Tree},
};

/// Words of functions that check.
const CHECKS: [&str; 14] = [
    "valid",
    "validate",
    "validator",
    "validation",
    "check",
    "verify",
    "is",
    "isvalid",
    "match",
    "matches",
    "sanitize",
    "test",
    "accept",
    "allowed",
];
/// What a pattern may cost to try.
const MOST_BACKTRACKING: usize = 20_000;
const MOST_SIZE: usize = 1 << 20;
const LONGEST_PATTERN: usize = 4096;
/// So many patterns of a source are tried.
const MOST_PATTERNS: usize = 32;

/// What is strict.
const STRICT: [&str; 12] = [
    "ipaddress",
    "inet_pton",
    "IPv4Address",
    "ip_address",
    "netaddr",
    "validators",
    "strptime",
    "email_validator",
    "urlparse",
    "fromisoformat",
    "parse_ip",
    "UUID",
];

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let mut tried = 0;
    for call in &tree.every_call {
        let callee = tree.callee(*call);
        let Some(method) = callee
            .rsplit('.')
            .next()
            .filter(|last| matches!(*last, "match" | "fullmatch" | "search" | "findall"))
        else {
            continue;
        };
        let module = callee.strip_suffix(method).unwrap_or_default().trim_end_matches('.');
        let (pattern, flags, place) = match module {
            "re" | "regex" => {
                let flags = tree.argument(*call, 2, "flags");
                (tree.argument(*call, 0, "pattern"), flags, 1)
            }
            "re.compile()" | "regex.compile()" => {
                let Some(made) = compiled(tree, *call) else { continue };
                (tree.argument(made, 0, "pattern"), tree.argument(made, 1, "flags"), 0)
            }
            _ => continue,
        };
        let Some(pattern) = pattern else { continue };
        let Some(text) = tree.constant(pattern).filter(|text| text.len() <= LONGEST_PATTERN) else {
            continue;
        };
        tried += 1;
        if tried > MOST_PATTERNS || !tree.work(2000) {
            return;
        }
        let said = context(tree, *call, pattern, tree.argument(*call, place, "string"));
        let flags = flags.map(|flags| tree.text(flags)).unwrap_or_default();
        if let Some(why) = judge(tree, *call, &text, flags, method, &said) {
            flaws.push(Flaw::new("lenient-validation", tree.line(*call), why));
        }
    }
    by_hand(tree, flaws);
}

/// The call that compiled the pattern of which this is a method.
pub(crate) fn compiled(tree: &Tree, call: Id) -> Option<Id> {
    let object = tree.child(tree.child(call, "function")?, "object")?;
    let reached = tree.reach_while(object, |at| tree.kind(at) != "call");
    reached.into_iter().find(|at| tree.kind(*at) == "call" && tree.callee(*at).ends_with("compile"))
}

/// What names and messages around say.
struct Said {
    names: Vec<String>,
    /// It is said to be a check.
    checks: bool,
    /// The result is only asked whether there is one.
    asked: bool,
    /// What callers pass to the function.
    passed: Vec<String>,
}

fn context(tree: &Tree, call: Id, pattern: Id, subject: Option<Id>) -> Said {
    let mut said: Vec<String> = tree.around(call).into_iter().map(str::to_owned).collect();
    let mut checks = said.iter().any(|name| names::says(name, &CHECKS));
    for at in subject.into_iter().chain([pattern]).chain(compiled(tree, call)) {
        if tree.kind(at) == "identifier" || tree.kind(at) == "attribute" {
            said.push(tree.text(at).to_owned());
        }
        let parent = tree.parent(at);
        if tree.kind(parent) == "assignment" {
            said.extend(tree.child(parent, "left").map(|left| tree.text(left).to_owned()));
        }
    }
    let callee = tree.child(call, "function").and_then(|callee| tree.child(callee, "object"));
    said.extend(callee.map(|object| tree.text(object).to_owned()));
    let function = tree.functions.get(tree.scope(call)).map_or(0, |function| function.at);
    let whole = std::iter::once(function).chain(tree.within(function));
    for text in whole.filter(|at| tree.kind(*at) == "string_content") {
        let message = tree.text(text).to_ascii_lowercase();
        if message.contains("valid") && message.len() < 200 {
            checks = true;
            said.push(message);
        }
    }
    checks |= refuses(tree, call);
    let mut passed: Vec<String> = Vec::new();
    if let Some((function, place)) = subject.and_then(|subject| tree.parameter(subject)) {
        passed.extend(tree.passed(function, place).into_iter().flat_map(|at| {
            tree.reach(at).into_iter().filter_map(|at| tree.literal(at)).collect::<Vec<_>>()
        }));
    } else if let Some(text) = subject.and_then(|subject| tree.constant(subject)) {
        passed.push(text);
    }
    Said { names: said, checks, asked: asked(tree, call), passed }
}

/// Whether an error is raised where the pattern does not match.
fn refuses(tree: &Tree, call: Id) -> bool {
    let parent = tree.parent(call);
    match tree.kind(parent) {
        "assert_statement" => true,
        "not_operator" => {
            let choice = tree.parent(parent);
            tree.kind(choice) == "if_statement"
                && tree.child(choice, "consequence").is_some_and(|block| {
                    tree.below(block).any(|at| tree.kind(at) == "raise_statement")
                })
        }
        _ => false,
    }
}

/// Whether the match is only asked whether there is one.
fn asked(tree: &Tree, call: Id) -> bool {
    let parent = tree.parent(call);
    match tree.kind(parent) {
        "attribute" | "subscript" | "for_statement" | "for_in_clause" => false,
        "assignment" | "named_expression" => {
            let Some(name) = tree.child(parent, "left").or_else(|| tree.child(parent, "name"))
            else {
                return false;
            };
            let text = tree.text(name);
            let function = tree.functions.get(tree.scope(call)).map_or(0, |function| function.at);
            !tree.within(function).any(|at| {
                tree.kind(at) == "attribute"
                    && tree.child(at, "object").is_some_and(|object| tree.text(object) == text)
            })
        }
        _ => true,
    }
}

fn judge(
    tree: &Tree,
    call: Id,
    text: &str,
    flags: &str,
    method: &str,
    said: &Said,
) -> Option<String> {
    if !said.asked {
        return None;
    }
    let regex = translate(text, flags, method)?;
    let accepts = |text: &str| regex.is_match(text).unwrap_or(false);
    // What accepts anything is for no format.
    if accepts("") || accepts("lorem ipsum") {
        return None;
    }
    let meant = FORMATS.iter().find(|format| said.names.iter().any(|name| format.meant(name)));
    let shaped = FORMATS
        .first()
        .filter(|format| dotted(text) && format.good.iter().take(3).any(|good| accepts(good)));
    let format = shaped
        .filter(|_| said.checks || meant.is_some_and(|meant| meant.name == "an IPv4 address"));
    let format = format.or(meant.filter(|_| said.checks))?;
    let good = format.good.iter().filter(|good| accepts(good)).count();
    // It is for another format than it seems, or for a part of one.
    if good == 0 {
        return None;
    }
    if let Some(bad) = wrong(format, said, &accepts) {
        return Some(format!("the pattern accepts `{bad}`, which is not {}", format.name));
    }
    if format.whole && good < format.good.len() && tree.line(call) > 0 {
        let missed = format.good.iter().find(|good| !accepts(good))?;
        return Some(format!("the pattern does not accept `{missed}`, which is {}", format.name));
    }
    None
}

/// Something accepted that is not of the format.
fn wrong(format: &Format, said: &Said, accepts: &dyn Fn(&str) -> bool) -> Option<String> {
    let passed = said.passed.iter().find(|text| format.holds(text) == Some(false) && accepts(text));
    let probe = || format.bad.iter().find(|bad| accepts(bad)).map(|bad| (*bad).to_owned());
    passed.cloned().or_else(probe)
}

/// Whether a pattern asks for dots between digits.
pub(crate) fn dotted(text: &str) -> bool {
    let digits =
        ["\\d", "[0-9]", "0-9", "[[:digit:]]", "25[0-5]"].iter().any(|digit| text.contains(digit));
    let dots = text.matches("\\.").count() + text.matches("[.]").count();
    digits
        && (dots >= 3
            || (dots >= 1
                && ["{3}", "{4}", "{3,}", "{3,3}", ")+", ")*", "{1,3}", "{2,"]
                    .iter()
                    .any(|times| text.contains(times))))
}

/// The pattern as this side understands it, to be asked with `is_match`.
fn translate(text: &str, flags: &str, method: &str) -> Option<Regex> {
    let mut letters = String::new();
    for (long, short, letter) in [
        ("IGNORECASE", "re.I", 'i'),
        ("MULTILINE", "re.M", 'm'),
        ("DOTALL", "re.S", 's'),
        ("VERBOSE", "re.X", 'x'),
    ] {
        let given = flags.contains(long) || flags.split('|').any(|flag| flag.trim() == short);
        if given {
            letters.push(letter);
        }
    }
    let text = text.replace("\\Z", "\\z");
    let flags = if letters.is_empty() { String::new() } else { format!("(?{letters})") };
    // A comment of a pattern in lines ends with its line.
    let end = if letters.contains('x') { "\n" } else { "" };
    let whole = match method {
        "fullmatch" => format!("\\A(?:{flags}{text}{end})\\z"),
        "match" => format!("\\A(?:{flags}{text}{end})"),
        _ => format!("{flags}{text}"),
    };
    RegexBuilder::new(&whole)
        .backtrack_limit(MOST_BACKTRACKING)
        .delegate_size_limit(MOST_SIZE)
        .build()
        .ok()
}

/// Checks of addresses that are written by hand: numbers between dots, without their bound.
fn by_hand(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let address = FORMATS.first();
    for function in tree.functions.iter().skip(1) {
        let named = names::says(function.name, &CHECKS)
            && address.is_some_and(|format| {
                format.meant(function.name)
                    || function.parameters.iter().any(|(name, _)| format.meant(name))
            });
        let body = tree.text(function.at);
        if !named
            || !tree.work(body.len())
            || STRICT.iter().any(|strict| body.contains(strict))
            || body.contains("re.")
        {
            continue;
        }
        let splits = body.contains("split('.')")
            || body.contains("split(\".\")")
            || body.contains("count('.')")
            || body.contains("count(\".\")");
        let bounded = ["255", "256", "0xff", "0xFF"].iter().any(|bound| body.contains(bound));
        let helped =
            tree.within(function.at).any(|at| tree.kind(at) == "call" && !tree.runs(at).is_empty());
        let zero = body.contains("'0'")
            || body.contains("\"0\"")
            || body.contains("str(int(")
            || body.contains("lstrip");
        let octal = || {
            (0..function.parameters.len()).any(|place| {
                let scope = tree
                    .by_name
                    .get(function.name)
                    .and_then(|all| all.first())
                    .copied()
                    .unwrap_or(0);
                tree.passed(scope, place).into_iter().filter_map(|at| tree.constant(at)).any(
                    |text| {
                        text.split('.').count() == 4
                            && text.split('.').all(|part| part.parse::<u8>().is_ok())
                            && text.split('.').any(|part| part.len() > 1 && part.starts_with('0'))
                    },
                )
            })
        };
        let beyond = ["<= 256", "> 256", "<=256", ">256", "range(257)", "range(0, 257)"]
            .iter()
            .any(|bound| body.contains(bound));
        let why = if splits && !bounded && !helped {
            "numbers between dots are accepted whatever they are"
        } else if splits && beyond {
            "256 is accepted as a part of an address"
        } else if splits && !zero && octal() {
            "numbers with leading zeros are accepted"
        } else if body.contains("inet_aton") {
            "`inet_aton` accepts addresses that lack parts"
        } else {
            continue;
        };
        flaws.push(Flaw::new("lenient-validation", tree.line(function.at), why));
    }
}
