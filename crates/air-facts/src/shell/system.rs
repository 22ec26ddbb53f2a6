//! Commands that change processes, accounts, services and the system.

use air_core::{
    code::{Activity, Operation},
    place::{Place, PlaceKind},
};

use super::{
    eval::Shell,
    flow::Tool,
    word::{Data, Word},
};
use crate::{collect::Collector, owner};

fn change(shell: &mut Shell, what: &str, tool: &Tool, out: &mut Collector) -> Data {
    shell.operation(Activity::SystemChange, what, tool.name, Some(&tool.line()), tool.at, out);
    Data::none()
}

fn tells(tool: &Tool) -> Data {
    Data::from([Place::new(PlaceKind::Command, tool.name)])
}

pub(super) fn kill(_: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let mut signal =
        tool.options.value(&["s", "n", "--signal"]).map(|signal| signal.as_written().to_owned());
    let mut targets: Vec<Word> = Vec::new();
    let mut parent = None;
    let mut rest = tool.args.iter().peekable();
    let mut first = true;
    let valued: &[&str] = match tool.name {
        "kill" => &["-s", "-n"],
        _ => &["-s", "-u", "-g", "-t", "-P", "-G", "-U"],
    };
    while let Some(arg) = rest.next() {
        let written = arg.as_written();
        if matches!(written, "-l" | "-L" | "--list") {
            return tells(tool);
        }
        if valued.contains(&written) {
            let value = rest.next();
            if matches!(written, "-u" | "-U") {
                targets.extend(value.map(|value| Word::literal("user ").then(value)));
            } else if written == "-P" {
                parent = value.cloned();
            }
            first = false;
            continue;
        }
        if written == "--" {
            targets.extend(rest.by_ref().cloned());
        } else if let Some(option) = written.strip_prefix('-').filter(|_| first) {
            // `-1` first is a signal; after one, it is every process.
            let named = option.chars().all(|c| c.is_ascii_digit())
                || option.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
            if named && rest.peek().is_some() {
                signal = Some(option.to_owned());
            } else if tool.name == "kill" {
                targets.push(arg.clone());
                continue;
            } else {
                continue;
            }
        } else if !written.starts_with('-') || tool.name == "kill" {
            targets.push(arg.clone());
        } else {
            continue;
        }
        first = false;
    }
    if targets.is_empty() && tool.name == "killall5" {
        targets.push(Word::literal("-1"));
    }
    // Children of a process are its own.
    let parents: &[Place] = parent.as_ref().map_or(&[], Word::sources);
    targets.extend(parent.as_ref().filter(|_| targets.is_empty()).cloned());
    for target in targets {
        let sources = if parents.is_empty() { target.sources() } else { parents };
        signalled(target.as_written(), sources, signal.as_deref(), tool, out);
    }
    Data::none()
}

/// `tool` signals the process `target`, of which `sources` told.
fn signalled(
    target: &str,
    sources: &[Place],
    signal: Option<&str>,
    tool: &Tool,
    out: &mut Collector,
) {
    out.operation(Operation {
        activity: Activity::ProcessKill,
        target: target.to_owned(),
        via: tool.name.to_owned(),
        detail: signal.map(str::to_owned),
        recursive: false,
        labels: owner::labels(target, sources, out),
        line: tool.at,
    });
}

pub(super) fn fuser(_: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    if tool.options.has(&["k", "--kill"]) {
        for target in &tool.options.operands {
            signalled(target.as_written(), &[owner::foreign()], None, tool, out);
        }
    }
    tells(tool)
}

pub(super) fn service(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    const ASKS: [&str; 14] = [
        "status",
        "is-active",
        "is-enabled",
        "is-failed",
        "list-units",
        "list-unit-files",
        "list-timers",
        "show",
        "cat",
        "list-dependencies",
        "help",
        "list",
        "list-sockets",
        "show-environment",
    ];
    let asks = |word: &Word| word.text().is_some_and(|text| ASKS.contains(&text));
    if tool.options.operands.is_empty() || tool.options.operands.iter().any(asks) {
        return tells(tool);
    }
    let what = match tool.operand(0).and_then(Word::text) {
        Some("reboot" | "poweroff" | "halt" | "suspend" | "hibernate" | "rescue" | "emergency") => {
            "power"
        }
        _ => "service",
    };
    change(shell, what, tool, out)
}

pub(super) fn passwords(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let input = shell.state.input();
    let name = input
        .text
        .as_deref()
        .and_then(|text| text.split(':').next())
        .map(|name| name.trim().to_owned());
    shell.operation(
        Activity::AccountChange,
        name.as_deref().unwrap_or("${…}"),
        tool.name,
        None,
        tool.at,
        out,
    );
    Data::none()
}

pub(super) fn sudoers(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    if tool.options.has(&["c", "--check"]) {
        return tells(tool);
    }
    let file = tool.options.value(&["f"]).cloned().unwrap_or_else(|| Word::literal("/etc/sudoers"));
    shell.on(Activity::FileWrite, &file, tool, out);
    Data::none()
}

pub(super) fn sysctl(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let writes = tool.options.has(&["w", "p", "--write", "--system", "--load"])
        || tool.options.operands.iter().any(|word| word.as_written().contains('='));
    if writes { change(shell, "kernel", tool, out) } else { tells(tool) }
}

pub(super) fn firewall(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let asks = tool.options.has(&["L", "S", "--list", "--list-rules", "--list-all", "--state"])
        || matches!(tool.operand(0).and_then(Word::text), Some("status" | "list" | "show"));
    if asks { tells(tool) } else { change(shell, "firewall", tool, out) }
}

pub(super) fn mount(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    if tool.args.is_empty() || tool.options.has(&["l"]) && tool.options.operands.is_empty() {
        return tells(tool);
    }
    change(shell, "mount", tool, out)
}

pub(super) fn disk(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let asks = tool.options.has(&["l", "--list"])
        || tool.options.operands.is_empty() && tool.name != "swapoff";
    if asks {
        return tells(tool);
    }
    if tool.name.starts_with("mk") || matches!(tool.name, "wipefs" | "fdisk" | "parted" | "sfdisk")
    {
        for device in &tool.options.operands {
            if device.as_written().starts_with("/dev/") {
                shell.on(Activity::FileWrite, device, tool, out);
            }
        }
    }
    change(shell, "mount", tool, out)
}

pub(super) fn hostname(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let changes = match tool.name {
        "hostname" => tool.operand(0).is_some() || tool.options.has(&["F", "b"]),
        _ => tool
            .operand(0)
            .and_then(Word::text)
            .is_some_and(|verb| verb.starts_with("set-") || verb == "hostname"),
    };
    if changes { change(shell, "hostname", tool, out) } else { tells(tool) }
}

pub(super) fn clock(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let asks = match tool.name {
        "timedatectl" => {
            tool.operand(0).and_then(Word::text).is_none_or(|verb| !verb.starts_with("set-"))
        }
        "hwclock" => !tool.options.has(&["w", "s", "--systohc", "--hctosys", "--set"]),
        _ => tool.options.has(&["q"]),
    };
    if asks { tells(tool) } else { change(shell, "clock", tool, out) }
}

pub(super) fn date(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let sets = tool.options.has(&["s", "--set"])
        || tool.operand(0).and_then(Word::text).is_some_and(|text| {
            text.len() >= 8 && text.chars().all(|c| c.is_ascii_digit() || c == '.')
        });
    if sets { change(shell, "clock", tool, out) } else { tells(tool) }
}

pub(super) fn route(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    const CHANGES: [&str; 14] = [
        "add", "del", "delete", "replace", "change", "set", "flush", "up", "down", "append",
        "modify", "addbr", "delbr", "mtu",
    ];
    let words = || tool.options.operands.iter().filter_map(Word::text);
    if words().any(|word| CHANGES.contains(&word)) || tool.name == "ifconfig" && words().count() > 1
    {
        change(shell, "route", tool, out)
    } else {
        tells(tool)
    }
}

pub(super) fn crontab(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let user = tool.options.value(&["u"]).map_or("${USER}", Word::as_written);
    let table = Word::literal(format!("/var/spool/cron/crontabs/{user}"));
    if tool.options.has(&["l"]) {
        return shell.read_file(&table, tool.name, tool.at, out);
    }
    if tool.options.has(&["r"]) {
        shell.delete(&table, false, tool, out);
    } else if tool.options.has(&["e"]) {
        shell.on(Activity::FileWrite, &table, tool, out);
    } else {
        let data = shell.inputs(tool, 0, out);
        let lines = data.text.clone().unwrap_or_default();
        shell.put_file(&table, data, tool, out);
        // What it will run, later.
        for line in lines.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
            let times = if line.starts_with('@') { 1 } else { 5 };
            let command: Vec<&str> = line.split_whitespace().skip(times).collect();
            if !command.is_empty() {
                shell.run_text(
                    super::interpreter::Language::Shell,
                    &command.join(" "),
                    tool.at,
                    out,
                );
            }
        }
    }
    Data::none()
}

pub(super) fn printenv(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    if tool.options.operands.is_empty() {
        return shell.environment(tool.name, tool.at, out);
    }
    let mut data = Data::default();
    for name in &tool.options.operands {
        shell.operation(
            Activity::EnvironmentRead,
            name.as_written(),
            tool.name,
            None,
            tool.at,
            out,
        );
        data.append(Data::from([Place::new(PlaceKind::Environment, name.as_written())]));
    }
    data
}

pub(super) fn history(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    if tool.options.has(&["c", "w", "d"]) {
        shell.on(Activity::FileWrite, &Word::literal("~/.bash_history"), tool, out);
        return Data::none();
    }
    // What this shell was told itself, not the file.
    Data::from([Place::new(PlaceKind::Command, tool.name)])
}
