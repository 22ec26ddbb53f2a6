//! `cargo xtask fuzz`: runs the targets in `fuzz/`, each for some minutes, from seeds of the
//! repository. It needs `rustup` with a nightly toolchain, and `cargo-fuzz`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// Every target. The names are those in `fuzz/Cargo.toml`.
pub(crate) const TARGETS: [&str; 6] = ["rules", "conditions", "python", "shell", "journal", "wire"];
/// An input that takes longer, in seconds, is a hang.
const HANG_SECONDS: u32 = 20;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// How long each target runs.
    minutes: u32,
    targets: Vec<&'a str>,
}

impl<'a> Plan<'a> {
    /// From the words after `fuzz`; `None` where they make no sense.
    pub(crate) fn new(words: &[&'a str]) -> Option<Self> {
        let mut plan = Self { minutes: 10, targets: Vec::new() };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match word {
                "--minutes" => plan.minutes = words.next()?.parse().ok()?,
                target if TARGETS.contains(&target) => plan.targets.push(target),
                _ => return None,
            }
        }
        if plan.targets.is_empty() {
            plan.targets = TARGETS.to_vec();
        }
        Some(plan)
    }

    /// Runs each target, also after one that failed; then one line that says how it went.
    pub(crate) fn run(&self) -> bool {
        let failed: Vec<&str> =
            self.targets.iter().copied().filter(|target| !self.run_one(target)).collect();
        let (count, minutes) = (self.targets.len(), self.minutes);
        if failed.is_empty() {
            eprintln!("fuzz: {count} targets, {minutes} min each: no crash and no hang");
        } else {
            eprintln!(
                "fuzz: {count} targets, {minutes} min each: failed in {}; see fuzz/artifacts",
                failed.join(", ")
            );
        }
        failed.is_empty()
    }

    fn run_one(&self, target: &str) -> bool {
        let corpus = root().join("fuzz/corpus").join(target);
        if let Err(error) = plant(target, &corpus) {
            eprintln!("error: cannot write seeds to {}: {error}", corpus.display());
            return false;
        }
        let seconds = format!("-max_total_time={}", self.minutes * 60);
        let hang = format!("-timeout={HANG_SECONDS}");
        let words = [
            "run",
            "nightly",
            "cargo",
            "fuzz",
            "run",
            "--fuzz-dir",
            "fuzz",
            target,
            "--",
            &seconds,
            &hang,
            "-max_len=65536",
            "-rss_limit_mb=4096",
            "-print_final_stats=1",
        ];
        eprintln!("     Running rustup {}", words.join(" "));
        // What cargo sets for us is not for the cargo of another toolchain.
        let mut command = Command::new("rustup");
        command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        match command.args(words).current_dir(root()).status() {
            Ok(status) => status.success(),
            Err(error) => {
                eprintln!("error: cannot start rustup: {error}");
                false
            }
        }
    }
}

/// Puts the repository's own examples where the fuzzer looks for inputs.
fn plant(target: &str, corpus: &Path) -> io::Result<()> {
    fs::create_dir_all(corpus)?;
    let mut seeds = Vec::new();
    let by_hand = root().join("fuzz/seeds").join(target);
    if by_hand.is_dir() {
        for file in files(&by_hand)? {
            seeds.push(fs::read(file)?);
        }
    }
    if target == "rules" {
        for directory in ["rules", "examples", "corpus"] {
            for file in files(&root().join(directory))? {
                match file.extension().and_then(|extension| extension.to_str()) {
                    Some("air") => seeds.push(fs::read(file)?),
                    Some("md") => seeds.extend(blocks(&fs::read_to_string(file)?, "air")),
                    _ => {}
                }
            }
        }
    }
    for (number, seed) in seeds.iter().enumerate() {
        fs::write(corpus.join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}

/// The fenced blocks of `language` in a Markdown file.
fn blocks(text: &str, language: &str) -> Vec<Vec<u8>> {
    let open = format!("```{language}\n");
    let blocks = text.split(open.as_str()).skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).map(|it| it.as_bytes().to_vec()).collect()
}

fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
