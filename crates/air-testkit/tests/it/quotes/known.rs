//! Words and names that a case of the benchmark has as well, and why they are there all the same.
//! A word that is added here has to hold for programs that nobody has seen yet.

/// Names that any program may have, as they are compared.
#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    // What programs everywhere call their files, users, inputs and replies.
    "filename", "filenames", "filepath", "ipaddress", "userinput", "username", "targetdirectory", "exitcode", "httpcode",
    "contenttype", "examplecom", "creditscore", "licensekey", "copyfile", "remotecommand",
    // Functions of libraries: `socket`, `paramiko`, `multiprocessing`, `watchdog`; a command of `curl`.
    "createconnection", "execcommand", "recvbytes", "onanyevent", "uploadfile",
    // Names of weaknesses and kinds of harm, and tools of agents.
    "reverseshell", "remoteshell", "unsafedeserialization", "deletefile", "readfile",
    // What a program that changes its own rights calls it.
    "raiseprivileges", "lowerprivileges",
    // Files and services that every system has.
    "bashrc", "profile", "dpkglog", "alternativeslog", "sourceslist", "dbusdaemon", "networkmanager",
    // A category of the United States' census.
    "africanamerican",
];

/// Words of tables.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    // Commands and options of Unix: from their manuals.
    "adjustment", "builtin", "chmod", "chown", "cron", "cronjob", "crontab", "cut", "date", "disable", "disk",
    "env", "fix", "force", "global", "hwclock", "inputrc", "interrupt", "jobs", "lastlog", "listening", "lookup",
    "lzma", "netstat", "nginx", "nosalt", "power", "reboot", "restart", "route", "runtest", "shuf", "shutdown",
    "suspend", "tests", "touch", "uname", "unit", "upgrade", "uploadfile", "urandom", "useradd", "usergroup",
    "wrapper", "xxd",
    // Commands of git, statements of SQL, and what teams call the branches that they share.
    "analyze", "commit", "develop", "production", "table",
    // Functions and attributes of libraries: from their documentation.
    "auto", "calendar", "endswith", "fernetgeneratekey", "getmtime", "headers", "here", "ipaddr", "ipaddress",
    "isalpha", "isdigit", "iterations", "jsonpickledecode", "keyboard", "kwargs", "listener", "lzmacompress",
    "marshaldump", "marshaldumps", "marshalload", "marshalloads", "math", "mathpow", "min", "mkstemp", "oct",
    "osenviron", "osgetlogin", "ospathgetmtime", "osurandom", "parsestring", "platform", "pow", "property",
    "proxy", "quote", "randomrandom", "reversed", "startswith", "state", "sysexit", "translate", "unquote",
    "zeros",
    // Plain English of what plans announce, and the modules that load what can run code.
    "cryptographic", "expand", "introduce", "jsonpickle", "marshal", "multiply", "overrides", "parser", "queue",
    "refuse", "urlencoded",
    // Tools of agents and words of AIR's own.
    "deletefile", "limit", "own", "readfile", "remoteshell", "unsafedeserialization", "upload",
    // Attributes that law protects, and their values: sex, race, colour, ethnic or social origin, language, religion
    // or belief, property, disability, age, sexual orientation (Charter of Fundamental Rights of the European Union,
    // article 21); physical appearance, place of residence, economic situation (Code du travail, L1132-1); the
    // categories of the United States' census.
    "africanamerican", "age", "attractive", "beauty", "belief", "brace", "child", "christian", "country",
    "disabilit", "disability", "female", "genders", "job", "language", "looks", "neighborhood", "neighborhoods",
    "parent", "poor", "racial", "religi", "religious", "social", "straight", "unemployed", "wealth", "wealthy",
    // What is decided about people, and whom it is decided about: annex III of the Artificial Intelligence Act of
    // the European Union (education, employment, credit, insurance, benefits, justice), and fair lending.
    "acceptance", "average", "bail", "candidate", "chance", "chances", "defendant", "deny", "eligibility",
    "employee", "insurance", "likely", "loan", "pay", "premium", "promot", "promote", "rate", "reject",
    "selection", "student", "worker",
    // Verbs of access control and their forms: to let, to refuse, to raise, to lower; and of actions that change
    // something.
    "allowed", "alter", "auth", "authenticate", "authorized", "authorizing", "avoid", "ban", "become", "cancel",
    "clear", "component", "confirming", "consume", "corrupt", "demote", "detect", "detects", "did", "disabl",
    "document", "escalate", "escalating", "folder", "how", "leave", "logs", "must", "never", "reduce", "refused",
    "released", "sanitize", "scheduler", "super", "switch", "tweet", "verifying", "were", "would",
    // What is secret, and how it is kept.
    "api", "credential", "credentials", "keyring", "license", "licensekey", "passw", "pin", "plain", "plaintext",
    "secret", "sensitive", "token",
    // What comes from outside, and formats of it.
    "answer", "database", "email", "examplecom", "formula", "getlog", "inputdata", "untrusted",
];

pub(super) fn words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().copied()
}
