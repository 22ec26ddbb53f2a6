//! Payloads that real clients have sent.

use std::{fs, path::Path};

use serde_json::Value;

/// One payload of a capture.
#[derive(Debug, Clone)]
pub(crate) struct Captured {
    pub(crate) host: &'static str,
    /// The name of the event, where it came beside the payload.
    pub(crate) event: Option<String>,
    pub(crate) payload: Vec<u8>,
}

const HOSTS: [(&str, &str); 5] = [
    ("claude-code", "claude-code"),
    ("codex", "codex"),
    ("copilot", "copilot"),
    ("gemini", "gemini"),
    ("opencode", "opencode"),
];

/// All captures by file.
pub(crate) fn all() -> Vec<(String, Vec<Captured>)> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let mut files: Vec<_> = fs::read_dir(place).expect("captures").flatten().collect();
    files.sort_by_key(fs::DirEntry::file_name);
    let read = |file: &fs::DirEntry| {
        let name = file.file_name().to_str().expect("UTF-8").trim_end_matches(".jsonl").to_owned();
        let host = HOSTS.iter().find(|(prefix, _)| name.starts_with(prefix)).expect("a host").1;
        let text = fs::read_to_string(file.path()).expect("readable");
        let payloads = text.lines().map(|line| captured(host, line)).collect();
        (name, payloads)
    };
    files.iter().map(read).collect()
}

fn captured(host: &'static str, line: &str) -> Captured {
    let line: Value = serde_json::from_str(line).expect("JSON");
    // `base/03_postToolUse.in.json`
    let of_file = |file: &str| file.split('_').nth(1)?.split('.').next().map(str::to_owned);
    let event = line["ev"].as_str().map(str::to_owned);
    let event = event.or_else(|| line["file"].as_str().and_then(of_file));
    let payload = [&line["payload"], &line["in"]].into_iter().find(|part| part.is_object());
    Captured { host, event, payload: payload.unwrap_or(&line).to_string().into_bytes() }
}
