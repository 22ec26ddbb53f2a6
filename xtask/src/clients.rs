//! `cargo xtask clients`: the coding agents that the end-to-end tests run, at the versions that
//! `tests/e2e/package.json` pins.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const PINS: &str = include_str!("../../tests/e2e/package.json");

/// Installs them below the target directory, those of CI or all. Those that are there stay. Whether they
/// are all there.
pub(crate) fn install(all: bool) -> bool {
    let directory = directory();
    let wanted = pins(PINS).into_iter().filter(|pin| all || pin.is_default);
    let lock = fs::read_to_string(directory.join("node_modules/.package-lock.json"));
    let lock = lock.unwrap_or_default();
    let missing: Vec<String> = wanted
        .filter(|pin| there(&lock, pin.name) != Some(pin.version))
        .map(|Pin { name, version, .. }| format!("{name}@{version}"))
        .collect();
    if missing.is_empty() {
        eprintln!("     Clients are all in {}", directory.display());
        return true;
    }
    if !is_new_enough() {
        eprintln!("     Skipped {}: node 20 or newer and npm are needed", missing.join(" "));
        return false;
    }
    if let Err(error) = prepare(&directory) {
        eprintln!("error: {}: {error}", directory.display());
        return false;
    }
    eprintln!("     Running npm install {} in {}", missing.join(" "), directory.display());
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-fund", "--no-audit", "--save-exact"]).args(&missing);
    match npm.current_dir(&directory).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("error: cannot start npm: {error}");
            false
        }
    }
}

/// Where they are.
fn directory() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.join(target.unwrap_or_else(|| "target".into())).join("clients")
}

/// A package of its own: npm would otherwise install into the next one above.
fn prepare(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    let file = directory.join("package.json");
    if !file.exists() {
        fs::write(file, "{ \"private\": true }\n")?;
    }
    Ok(())
}

/// A client, at the version that was tested.
#[derive(Debug, PartialEq, Eq)]
struct Pin<'a> {
    name: &'a str,
    version: &'a str,
    /// It is installed unless somebody asks for all.
    is_default: bool,
}

/// The pins of a `package.json` as it is written here: one a line.
fn pins(text: &str) -> Vec<Pin<'_>> {
    let mut is_default = true;
    let mut pins = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split('"').collect();
        match words.as_slice() {
            [_, "others", ..] => is_default = false,
            [_, name, _, version, _] if version.starts_with(|it: char| it.is_ascii_digit()) => {
                pins.push(Pin { name, version, is_default });
            }
            _ => {}
        }
    }
    pins
}

/// The version that is installed, by the lock file that npm keeps beside what it has installed.
fn there<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let entry = format!("\"node_modules/{name}\": {{");
    let (_, rest) = lock.split_once(&entry)?;
    let (_, rest) = rest.split_once("\"version\": \"")?;
    rest.split('"').next()
}

fn is_new_enough() -> bool {
    let said = |program: &str| Command::new(program).arg("--version").output().ok();
    let node = said("node").map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    let major = node.and_then(|text| {
        let number = text.trim().strip_prefix('v')?.split('.').next()?.to_owned();
        number.parse::<u32>().ok()
    });
    major.is_some_and(|major| major >= 20) && said("npm").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pinned_and_what_is_there() {
        let all = pins(PINS);
        assert_eq!(all.len(), 5, "{all:?}");
        assert_eq!(all.iter().filter(|pin| pin.is_default).count(), 2, "{all:?}");
        let lock = "\"node_modules/a\": {\n  \"version\": \"1.2.3\",\n  \"bin\": {}";
        assert_eq!(there(lock, "a"), Some("1.2.3"));
        assert_eq!(there(lock, "b"), None);
    }
}
