//! Commands on files that one row of the table does not say.

use air_core::{
    code::Activity,
    place::{Held, Place, PlaceKind},
};

use super::simple::fill;
use super::{
    eval::Shell,
    flow::Tool,
    interpreter::Language,
    redirect::socket,
    table::known,
    word::{Data, Word},
};
use crate::collect::{Collector, DIRECTORY, EMPTY};

pub(super) fn grep(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let patterns = usize::from(!tool.options.has(&["e", "f", "--regexp", "--file", "--files"]));
    let below =
        tool.options.has(&["r", "R", "--recursive"]) || matches!(tool.name, "rg" | "ag" | "ack");
    let quiet = tool.options.has(&["q", "--quiet", "--silent", "c", "--count"]);
    if below && tool.options.operands.len() <= patterns {
        let data = shell.read_file(&Word::literal("."), tool.name, tool.at, out);
        return data.obscured();
    }
    let data = shell.inputs(tool, patterns, out).obscured();
    if quiet { Data::none() } else { data }
}

pub(super) fn sed(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let in_place = tool.args.iter().any(|arg| {
        let written = arg.as_written();
        written.starts_with("-i")
            || written.starts_with("--in-place")
            || matches!(written, "-Ei" | "-ri" | "-ni")
    });
    let scripted = tool.options.has(&["e", "f", "--expression", "--file"]);
    let script = tool
        .options
        .value(&["e", "--expression"])
        .or_else(|| tool.operand(0).filter(|_| !scripted));
    if let Some(script) = script.and_then(Word::text).map(ToOwned::to_owned) {
        runs_in_sed(shell, &script, tool, out);
    }
    let skip = usize::from(!scripted);
    if in_place {
        for path in tool.options.operands.iter().skip(skip) {
            let place = shell.on(Activity::FileWrite, path, tool, out);
            // What it held before is still in it.
            let held = out.held(&place).unwrap_or_default();
            let sources = held.sources;
            out.leave(place, Held { sources, ..Held::default() });
        }
        return Data::none();
    }
    let input = shell.inputs(tool, skip, out);
    known(tool, input)
}

/// `1e id` and `s/x/id/e` run commands; `w file` writes.
pub(super) fn runs_in_sed(shell: &mut Shell, script: &str, tool: &Tool, out: &mut Collector) {
    let plain = script.trim_start_matches(|c: char| c.is_ascii_digit() || c == '$' || c == ' ');
    if let Some(command) = plain.strip_prefix("e ") {
        shell.run_text(Language::Shell, command, tool.at, out);
        return;
    }
    let mut parts = plain.strip_prefix('s').and_then(|rest| {
        let separator = rest.chars().next()?;
        Some(rest.get(separator.len_utf8()..)?.split(separator))
    });
    if let Some(parts) = &mut parts {
        let (_, with, flags) =
            (parts.next(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if flags.starts_with(|c: char| c.is_ascii_lowercase())
            && flags.chars().take_while(char::is_ascii_alphanumeric).any(|c| c == 'e')
        {
            shell.run_text(Language::Shell, with, tool.at, out);
        }
    }
}

pub(super) fn truncate(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    for path in &tool.options.operands {
        shell.put_file(path, Data::default(), tool, out);
    }
    Data::none()
}

pub(super) fn make_directory(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    for path in &tool.options.operands {
        shell.on_directory(Activity::FileWrite, path, DIRECTORY, tool, out);
    }
    Data::none()
}

pub(super) fn remove_directory(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    for path in &tool.options.operands {
        shell.on_directory(Activity::FileDelete, path, EMPTY, tool, out);
    }
    Data::none()
}

pub(super) fn fifo(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    for path in &tool.options.operands {
        let place = shell.on(Activity::FileWrite, path, tool, out);
        shell.fifos.push(place.name);
    }
    Data::none()
}

pub(super) fn change_mode(shell: &mut Shell, activity: Activity, tool: &Tool, out: &mut Collector) {
    // A mode may look like an option: `-w`, `-x`.
    let is_mode = |arg: &&Word| {
        let rest = arg.as_written().strip_prefix('-').unwrap_or_default();
        tool.name == "chmod" && !rest.is_empty() && rest.chars().all(|c| "rwxXst".contains(c))
            || tool.name == "chattr"
                && !rest.is_empty()
                && rest.chars().all(|c| "aAcCdDijsStTu".contains(c))
    };
    let mode = tool.args.iter().find(is_mode).cloned();
    let skip = usize::from(mode.is_none());
    let mode = mode.or_else(|| tool.operand(0).cloned()).unwrap_or_default();
    for path in tool.options.operands.iter().skip(skip) {
        let target = shell.state.path(path.as_written());
        let recursive = tool.options.has(&["R", "--recursive"]);
        shell.operation_below(
            activity,
            &target,
            tool.name,
            Some(mode.as_written()),
            recursive,
            tool.at,
            out,
        );
        out.path(path.as_written());
    }
}

pub(super) fn acl(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let mode = tool.options.value(&["m", "x"]).map(|mode| mode.as_written().to_owned());
    for path in &tool.options.operands {
        let target = shell.state.path(path.as_written());
        shell.operation_below(
            Activity::FilePermission,
            &target,
            tool.name,
            mode.as_deref(),
            tool.options.has(&["R"]),
            tool.at,
            out,
        );
    }
    Data::none()
}

pub(super) fn tee(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let input = shell.state.input();
    for path in &tool.options.operands {
        if path.text().is_some_and(|path| shell.pipes.contains_key(path) || path == "/dev/null") {
            continue;
        }
        if path.as_written().starts_with("/dev/tcp/") {
            let channel = socket(path.as_written());
            if let Some(address) = channel {
                shell.operation(Activity::NetworkConnect, &address, "tee", None, tool.at, out);
                out.flow(&input.sources, &Place::new(PlaceKind::Network, address), tool.at);
            }
            continue;
        }
        if tool.options.has(&["a", "--append"]) {
            let place = shell.on(Activity::FileWrite, path, tool, out);
            out.flow(&input.sources, &place, tool.at);
            fill(place, input.clone(), out);
        } else {
            shell.put_file(path, input.clone(), tool, out);
        }
    }
    known(tool, input)
}

pub(super) fn dd(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let value = |name: &str| {
        tool.args.iter().find_map(|arg| Some(arg.part(arg.as_written().strip_prefix(name)?)))
    };
    let mut data = match value("if=") {
        Some(path) => shell.read_file(&path, tool.name, tool.at, out),
        None => shell.state.input(),
    };
    data.endless &= value("count=").is_none();
    match value("of=") {
        Some(path) => {
            shell.put_file(&path, data, tool, out);
            Data::none()
        }
        None => data,
    }
}
