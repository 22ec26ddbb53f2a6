//! How a case is run without AIR, so that it tells what it does.

use std::{fmt::Write, fs, io, path::Path};

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
const KEPT: usize = 1 << 20;

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
    let text = |name: &str| {
        let content = fs::read(inside(root, PLACE).join(name)).unwrap_or_default();
        let content = content.get(..KEPT).unwrap_or(&content);
        String::from_utf8_lossy(content).into_owned()
    };
    let mut hooks = Hooks::default();
    match case.language {
        Language::Python => parse(&text("log"), &mut hooks),
        Language::Bash => hooks.functions = traced(&text("log")),
    }
    let mut second = Hooks::default();
    parse(&text("log-again"), &mut second);
    hooks.seeds_again = second.seeds;
    let exists = |name: &str| inside(root, PLACE).join(name).exists();
    hooks.again = exists("again").then(|| text("again"));
    let names = (0..).map(|at| format!("variant{at}.out"));
    hooks.variants = names.take_while(|name| exists(name)).map(|name| text(&name)).collect();
    hooks
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
