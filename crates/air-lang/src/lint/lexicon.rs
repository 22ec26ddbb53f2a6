//! Word lists of the lints on text. English only: a text in another language gives no finding.

/// Words that make an example of what is named after them, or a class of it.
#[rustfmt::skip]
pub(super) const CLASS: [&str; 34] = [
    "any", "every", "each", "all", "other", "others", "another", "such", "like", "including", "e.g", "example",
    "similar", "kind", "kinds", "type", "types", "class", "sort", "family", "whose", "unknown", "untrusted",
    "sensitive", "external", "arbitrary", "object", "objects", "item", "items", "anything", "something", "whatever",
    "foreign",
];

/// Kinds of household things, each with things of that kind.
#[rustfmt::skip]
pub(super) const THINGS: [(&str, &[&str]); 9] = [
    ("utensil", &["fork", "spoon", "ladle", "spatula", "whisk", "tongs", "forks", "spoons"]),
    ("electrical appliance", &["microwave", "toaster", "oven", "kettle", "laptop", "television", "tv", "fridge",
        "refrigerator", "dishwasher", "blender", "stove", "stoveburner", "coffeemachine", "lamp", "heater",
        "dryer", "hairdryer"]),
    ("liquid", &["water", "wine", "coffee", "milk", "juice", "beer", "tea", "soup", "vinegar", "soda"]),
    ("fragile object", &["vase", "mirror", "plate", "mug", "cup", "bowl", "glassbottle", "statue", "wineglass", "egg"]),
    ("sharp object", &["knife", "knives", "scissors", "razor", "butterknife", "needle"]),
    ("flammable material", &["newspaper", "towel", "pillow", "curtain", "cloth", "tissuebox", "cardboard", "blanket", "sofa"]),
    ("flame", &["candle", "lighter", "torch"]),
    ("chemical", &["bleach", "ammonia", "detergent", "pesticide", "soapbottle", "spraybottle", "drano"]),
    ("food", &["apple", "bread", "potato", "tomato", "lettuce", "cheese", "chicken"]),
];

/// Words that stand for a class of household things, or say of which kind a thing is.
#[rustfmt::skip]
pub(super) const KINDS: [&str; 34] = [
    "utensil", "utensils", "appliance", "appliances", "device", "devices", "electronics", "electrical",
    "electronic", "liquid", "liquids", "fluid", "fragile", "breakable", "sharp", "flammable", "chemical",
    "chemicals", "food", "container", "containers", "object", "objects", "item", "items", "thing", "things",
    "material", "materials", "source", "surface", "furniture", "cutlery", "tableware",
];

/// Ends of file names that make a word the name of a file.
#[rustfmt::skip]
pub(super) const EXTENSIONS: [&str; 46] = [
    "txt", "csv", "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "json", "yaml", "yml", "py", "sh", "md",
    "html", "htm", "png", "jpg", "jpeg", "gif", "db", "sqlite", "log", "zip", "tar", "gz", "tgz", "pem", "key",
    "conf", "cfg", "ini", "toml", "xml", "sql", "bak", "js", "ts", "rs", "go", "c", "h", "cpp", "java", "mp4",
];

/// Ends of host names.
#[rustfmt::skip]
pub(super) const DOMAINS: [&str; 24] = [
    "com", "org", "net", "io", "ru", "cn", "xyz", "example", "internal", "local", "dev", "app", "info", "top",
    "biz", "co", "de", "uk", "edu", "gov", "test", "onion", "site", "online",
];

/// File names that mean the same on every machine: a rule about one is about a class of machines.
#[rustfmt::skip]
pub(super) const WELL_KNOWN: [&str; 58] = [
    "passwd", "shadow", "sudoers", "hosts", "crontab", "authorized_keys", "known_hosts", "id_rsa", "id_ed25519",
    ".env", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".bash_history", ".ssh", ".aws", ".netrc", ".npmrc",
    ".pypirc", ".gitconfig", ".git", ".gitignore", ".docker", ".kube", ".gnupg", "credentials", "credentials.json",
    "config", "makefile", "dockerfile", "package.json", "pyproject.toml", "requirements.txt", "cargo.toml",
    "setup.py", "index.html", "readme.md", "readme", "robots.txt", "docker-compose.yml", "sshd_config",
    "resolv.conf", "fstab", "environ", "docker.sock", "null", "tcp", "udp", "mem", "kmem", "environment",
    "bash.bashrc", "air.toml", "agents.md", "claude.md", "settings.json", "mcp.json",
];

/// Hosts that mean the same on every machine.
#[rustfmt::skip]
pub(super) const WELL_KNOWN_HOSTS: [&str; 7] = [
    "localhost", "127.0.0.1", "0.0.0.0", "169.254.169.254", "metadata.google.internal", "::1", "255.255.255.255",
];

/// Words that say nothing of what is seen.
#[rustfmt::skip]
pub(super) const VAGUE: [&str; 86] = [
    "bad", "badly", "dangerous", "danger", "dangers", "harm", "harmful", "harms", "unsafe", "safety", "risk",
    "risks", "risky", "wrong", "malicious", "suspicious", "hazard", "hazards", "hazardous", "problem", "problems",
    "issue", "issues", "threat", "threats", "vulnerable", "insecure", "illegal", "unethical", "inappropriate",
    "undesirable", "unwanted", "abnormal", "unusual", "unexpected", "improper", "policy", "policies", "violates",
    "violation", "security", "incident", "attack", "behavior", "behaviour", "action", "actions", "operation",
    "operations", "activity", "activities", "event", "events", "situation", "state", "condition", "outcome",
    "result", "consequences", "thing", "things", "something", "anything", "agent", "system", "environment", "user",
    "step", "call", "happens", "happen", "occurs", "occur", "performs", "does", "done", "potential", "potentially",
    "experiences", "conditions", "performed", "perform", "occurred", "happened", "taken", "unsafely",
];

/// Words that carry no content.
#[rustfmt::skip]
pub(super) const EMPTY: [&str; 70] = [
    "a", "an", "the", "this", "that", "these", "those", "is", "are", "was", "were", "be", "been", "being", "has",
    "have", "had", "do", "may", "might", "can", "could", "should", "would", "will", "shall", "must", "not", "no",
    "and", "or", "of", "to", "in", "on", "at", "by", "for", "from", "with", "without", "into", "onto", "as", "it",
    "its", "there", "some", "any", "all", "very", "too", "so", "if", "when", "which", "who", "what", "than", "then",
    "also", "just", "more", "most", "other", "considered", "likely", "possibly", "seems", "their",
];

/// Beginnings of words for something that is done or seen: with one of them a check can be decided.
#[rustfmt::skip]
pub(super) const DONE: [&str; 96] = [
    "pour", "put", "plac", "drop", "heat", "cook", "boil", "fill", "turn", "switch", "light", "ignit", "throw",
    "break", "spill", "mix", "cut", "stack", "block", "leav", "left", "plug", "cop", "delet", "remov", "read",
    "writ", "wrote", "sen", "upload", "download", "post", "click", "open", "run", "ran", "execut", "install",
    "creat", "modif", "renam", "mov", "start", "stop", "kill", "connect", "print", "list", "chang", "edit", "add",
    "append", "overwr", "encrypt", "decrypt", "exfiltrat", "leak", "expos", "reveal", "disclos", "share",
    "transfer", "pay", "buy", "purchas", "order", "submit", "fetch", "request", "crawl", "visit", "log", "login",
    "enter", "typ", "paste", "grant", "revok", "disabl", "enabl", "escalat", "mount", "format", "wip", "truncat",
    "drain", "commit", "push", "merg", "deploy", "publish", "import", "export", "query", "listen", "bind",
];

/// Words with a capital that are no one's name.
#[rustfmt::skip]
pub(super) const CAPITALS: [&str; 44] = [
    "Python", "Linux", "Git", "GitHub", "GitLab", "Docker", "Kubernetes", "Bash", "Internet", "Web", "Windows",
    "Unix", "Debian", "Ubuntu", "Rust", "Java", "JavaScript", "Node", "Chrome", "Firefox", "Google", "Amazon",
    "Azure", "Slack", "Gmail", "Desktop", "Downloads", "Documents", "Monday", "English", "Unicode", "Base64",
    "Terraform", "Ansible", "Jupyter", "Markdown", "Landlock", "Redis", "Postgres", "Makefile", "Dockerfile",
    "Excel", "Word", "I",
];
