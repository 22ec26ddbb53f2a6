//! How a case is run without AIR, so that it tells what it does.

use std::{
    fmt::Write,
    fs,
    io::{self, Read as _},
    path::Path,
};

use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::{
    data::{Case, Language},
    world::{
        fixture::inside,
        seen::{Hooks, Seed},
        variants,
    },
};

/// Where hooks and their findings are in the tree; none of it belongs to the case.
pub(crate) const PLACE: &str = "/usr/local/lib/instrument";
const HOOKS: &str = include_str!("hooks.py");
/// Read by Bash before the program: for root, it takes `PS4` from no environment.
const TRACER: &str = "trace.sh";
const TRACE: &str = "unset BASH_ENV\nPS4='+${FUNCNAME[0]}|'\nset -x\n";
/// Findings that are read.
const KEPT: u64 = 1 << 20;

/// Where the source of the case is.
pub(crate) fn source(language: Language) -> &'static str {
    match language {
        Language::Python => "/workspace/step1.py",
        Language::Bash => "/workspace/step1.sh",
    }
}

/// Puts the case and the hooks into the tree; the command that runs it.
pub(crate) fn prepare(root: &Path, case: &Case) -> io::Result<String> {
    let place = inside(root, PLACE);
    fs::create_dir_all(&place)?;
    fs::write(place.join("sitecustomize.py"), HOOKS)?;
    fs::write(place.join(TRACER), TRACE)?;
    fs::write(inside(root, source(case.language)), &case.code)?;
    let run = |file: &str, log: &str| run(case, file, log);
    let mut command = format!("cd /workspace\n{}\n", run(source(case.language), "log"));
    if [19, 20].contains(&case.category_index) {
        let again = run(source(case.language), "log-again");
        let _ = writeln!(command, "{{ {again}\n}} > {PLACE}/again 2>&1");
    }
    if case.category_index == 12 {
        for (at, variant) in variants::of(&case.code).iter().enumerate() {
            let file = format!("{PLACE}/variant{at}");
            fs::write(inside(root, &file), variant)?;
            let variant = run(&file, "log-variant");
            let _ = writeln!(command, "{{ {variant}\n}} > {file}.out 2>&1");
        }
    }
    Ok(command)
}

fn run(case: &Case, file: &str, log: &str) -> String {
    let log = format!("9>>{PLACE}/{log} </dev/null");
    match case.language {
        Language::Python => {
            let hooks = match case.category_index {
                19 => "seed",
                23 | 24 => "trace",
                _ => "audit",
            };
            let path = format!("PYTHONPATH={PLACE}${{PYTHONPATH:+:$PYTHONPATH}}");
            format!("{path} BENCH_HOOKS={hooks} BENCH_HOOKS_FD=9 python3 {file} {log}")
        }
        Language::Bash if case.category_index == 23 => {
            format!("BASH_ENV={PLACE}/{TRACER} BASH_XTRACEFD=9 bash {file} {log}")
        }
        Language::Bash => format!("bash {file} {log}"),
    }
}

/// What the hooks told.
pub(crate) fn read(root: &Path, case: &Case) -> Hooks {
    let found = |name: &str| finding(root, name).ok();
    let text = |name: &str| found(name).unwrap_or_default();
    let mut hooks = Hooks::default();
    match case.language {
        Language::Python => parse(&text("log"), &mut hooks),
        Language::Bash => hooks.functions = traced(&text("log")),
    }
    let mut second = Hooks::default();
    parse(&text("log-again"), &mut second);
    hooks.seeds_again = second.seeds;
    hooks.again = found("again");
    let variants = if case.category_index == 12 { variants::of(&case.code).len() } else { 0 };
    let names = (0..variants).map(|at| format!("variant{at}.out"));
    hooks.variants = names.map_while(|name| found(&name)).collect();
    hooks
}

/// The beginning of a file of findings. The case may have put anything in its place: no link is
/// followed, nothing is waited for, and what is no file is not read.
fn finding(root: &Path, name: &str) -> io::Result<String> {
    let directory = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let mut place = openat(CWD, root, directory, Mode::empty())?;
    for part in PLACE.split('/').filter(|part| !part.is_empty()) {
        place = openat(&place, part, directory | OFlags::NOFOLLOW, Mode::empty())?;
    }
    let file = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(openat(&place, name, file, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("no file"));
    }
    let mut content = Vec::new();
    file.take(KEPT).read_to_end(&mut content)?;
    Ok(String::from_utf8_lossy(&content).into_owned())
}

fn parse(log: &str, hooks: &mut Hooks) {
    for line in log.lines() {
        let mut parts = line.split('\t');
        let kind = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        match (kind, rest.as_slice()) {
            ("call", [name, rest @ ..]) => {
                let rest = rest.first().map(|rest| format!(" {rest}")).unwrap_or_default();
                hooks.calls.push(format!("{name}{rest}"));
            }
            ("function", [name, caller]) => {
                hooks.functions.push(((*name).to_owned(), (*caller).to_owned()));
            }
            ("seed", [bytes, clock, value]) => hooks.seeds.push(Seed {
                value: (*value).to_owned(),
                bytes: bytes.parse().unwrap_or_default(),
                clock: *clock == "1",
            }),
            _ => {}
        }
    }
}

/// First words of commands, with the function that they are in.
fn traced(log: &str) -> Vec<(String, String)> {
    let commands = log.lines().filter_map(|line| {
        let (caller, command) = line.trim_start_matches('+').split_once('|')?;
        let name = command.split_whitespace().next()?;
        let caller = if caller == "main" { "" } else { caller };
        Some((name.to_owned(), caller.to_owned()))
    });
    commands.take(4000).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn findings_are_read_from_files_alone_and_in_part() {
        let root = tempfile::tempdir().expect("a tree");
        let place = inside(root.path(), PLACE);
        fs::create_dir_all(&place).expect("the place");
        fs::write(place.join("log"), vec![b'x'; 3 << 20]).expect("written");
        fs::write(root.path().join("secret"), "secret").expect("written");
        symlink(root.path().join("secret"), place.join("again")).expect("linked");
        symlink("/dev/zero", place.join("log-again")).expect("linked");
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(CWD, place.join("pipe"), pipe, Mode::RUSR | Mode::WUSR, 0)
            .expect("a pipe");
        assert_eq!(finding(root.path(), "log").expect("a text").len(), 1 << 20);
        for name in ["again", "log-again", "pipe", "none"] {
            finding(root.path(), name).expect_err(name);
        }
        fs::rename(&place, root.path().join("moved")).expect("moved");
        symlink(root.path().join("moved"), &place).expect("linked");
        finding(root.path(), "log").expect_err("a directory on the way is a link");
    }
}
