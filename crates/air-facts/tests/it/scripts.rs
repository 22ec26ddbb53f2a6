//! Scripts of the system that the tests run on: ordinary source is read whole.

use std::{fs, path::Path};

/// At most so many of a hundred scripts are incomplete because of how they are written.
const CEILING: usize = 10;
/// Reasons that are the parsers'.
const PARSERS: [&str; 5] = ["parse", "two parsers", "nested", "is missing", "followed"];

#[test]
fn scripts_of_the_system_are_read() {
    let mut read = 0;
    let mut incomplete = Vec::new();
    for directory in [
        "/usr/bin",
        "/usr/sbin",
        "/etc/init.d",
        "/var/lib/dpkg/info",
        "/usr/lib/git-core",
        "/etc/cron.daily",
    ] {
        for path in entries(Path::new(directory)) {
            let Ok(bytes) = fs::read(&path) else { continue };
            let first = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
            let first = String::from_utf8_lossy(first).into_owned();
            let is_shell = first.starts_with("#!")
                && ["/sh", "/bash", "/dash", "env sh", "env bash"]
                    .iter()
                    .any(|end| first.contains(end));
            let Ok(text) = String::from_utf8(bytes) else { continue };
            if !is_shell || text.len() > 60_000 || read == 400 {
                continue;
            }
            read += 1;
            let facts = crate::shell(&text);
            let reason = facts
                .incomplete
                .iter()
                .find(|reason| PARSERS.iter().any(|part| reason.contains(part)));
            if let Some(reason) = reason {
                incomplete.push(format!("{}: {reason}", path.display()));
            }
        }
    }
    if read < 20 {
        return;
    }
    assert!(
        incomplete.len() * 100 <= read * CEILING,
        "{} of {read}\n{}",
        incomplete.len(),
        incomplete.join("\n")
    );
}

fn entries(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
