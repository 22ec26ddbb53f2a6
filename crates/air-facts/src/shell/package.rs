//! Build tools, package managers, version control, containers.

use air_core::{
    code::Activity,
    place::{Place, PlaceKind},
};

use super::{
    eval::Shell,
    flow::Tool,
    interpreter::Language,
    word::{Data, Word},
};
use crate::{collect::Collector, make};

impl Shell {
    /// `pip` and its arguments.
    pub(super) fn pip(&mut self, args: &[Word], at: u32, out: &mut Collector) -> Data {
        let options = super::options::Options::read(
            args,
            "r c e i t --requirement --index-url --target --editable --extra-index-url",
        );
        let tool = Tool { name: "pip", args, options: &options, at };
        pip(self, &tool, out)
    }
}

pub(super) fn git(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let verb = tool.operand(0).and_then(Word::text).unwrap_or_default().to_owned();
    let rest = tool.options.operands.get(1..).unwrap_or_default();
    let configured: Vec<String> =
        tool.options.values(&["c"]).map(|word| word.as_written().to_owned()).collect();
    for setting in &configured {
        if let Some((_, command)) = setting.split_once('=').filter(|(name, _)| {
            name.starts_with("alias.")
                || ["core.sshCommand", "core.pager", "core.editor", "core.fsmonitor"].contains(name)
        }) {
            shell.run_text(Language::Shell, command.trim_start_matches('!'), tool.at, out);
        }
    }
    match verb.as_str() {
        "clone" | "fetch" | "pull" | "push" | "ls-remote" | "submodule" | "lfs" => {
            git_remote(shell, &verb, tool, out);
        }
        "clean" if !tool.options.has(&["n", "--dry-run"]) => {
            in_worktree(shell, Activity::FileDelete, tool, out);
        }
        "reset" if tool.options.has(&["--hard"]) => {
            in_worktree(shell, Activity::FileWrite, tool, out);
        }
        "rm" => {
            for path in rest {
                shell.delete(path, tool.options.has(&["r"]), tool, out);
            }
        }
        "checkout" | "restore" | "stash" | "merge" | "rebase" | "apply" | "am" | "cherry-pick"
        | "revert" => in_worktree(shell, Activity::FileWrite, tool, out),
        "show" | "diff" | "log" | "blame" | "cat-file" | "archive" => {
            return Data::from([Place::new(PlaceKind::Command, "git")]);
        }
        "config" if rest.len() > 1 => {
            let file = if tool.options.has(&["--global"]) { "~/.gitconfig" } else { ".git/config" };
            shell.on(Activity::FileWrite, &Word::literal(file), tool, out);
        }
        _ => {}
    }
    Data::from([Place::new(PlaceKind::Command, "git")])
}

/// What is done to all files of the work tree.
fn in_worktree(shell: &mut Shell, activity: Activity, tool: &Tool, out: &mut Collector) {
    let path = shell.state.path(directory(tool));
    shell.operation_below(activity, &path, "git", Some(&tool.line()), true, tool.at, out);
}

/// Where `git` is told to work.
fn directory<'t>(tool: &Tool<'t>) -> &'t str {
    tool.options.value(&["C"]).map_or(".", Word::as_written)
}

/// What goes to and comes from another repository.
fn git_remote(shell: &mut Shell, verb: &str, tool: &Tool, out: &mut Collector) {
    let rest = tool.options.operands.get(1..).unwrap_or_default();
    let first = rest.first().map_or("", Word::as_written).to_owned();
    let address = if first.is_empty() || verb == "submodule" { "origin".to_owned() } else { first };
    let peer = shell.connects(&address, tool, out);
    match verb {
        "push" => {
            out.flow(
                &[Place::new(PlaceKind::File, shell.state.path(directory(tool)))],
                &peer,
                tool.at,
            );
            if tool.options.has(&[
                "f",
                "--force",
                "--force-with-lease",
                "--delete",
                "d",
                "--mirror",
            ]) {
                shell.operation(
                    Activity::SystemChange,
                    "repository",
                    "git",
                    Some(&tool.line()),
                    tool.at,
                    out,
                );
            }
        }
        "clone" => {
            let name = address.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
            let name = name.strip_suffix(".git").unwrap_or(name);
            let to = rest.get(1).cloned().unwrap_or_else(|| Word::literal(name));
            shell.put_file(&to, Data::from([peer]), tool, out);
        }
        _ => {}
    }
}

pub(super) fn make(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    if tool.options.has(&["n", "--dry-run", "--version", "v", "q"]) {
        return Data::default();
    }
    let before = shell.state.clone();
    if let Some(directory) = tool.options.value(&["C", "--directory"]) {
        shell.state.directory = shell.state.path(directory.as_written());
    }
    let named = tool.options.value(&["f", "--file", "--makefile"]).cloned();
    let names = match &named {
        Some(file) => vec![file.as_written().to_owned()],
        None => ["GNUmakefile", "makefile", "Makefile"].map(str::to_owned).to_vec(),
    };
    let mut why = String::new();
    let mut found = None;
    for name in &names {
        match out.file(&shell.state.path(name)) {
            Ok(text) => {
                found = Some(text);
                break;
            }
            Err(error) => why = error,
        }
    }
    let (assigned, targets): (Vec<&Word>, Vec<&Word>) =
        tool.options.operands.iter().partition(|word| word.as_written().contains('='));
    if let Some(text) = found {
        let variables: Vec<(String, String)> = assigned
            .iter()
            .filter_map(|word| word.as_written().split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let targets: Vec<String> =
            targets.iter().map(|word| word.as_written().to_owned()).collect();
        let recipe = make::recipe(&text, &targets, &variables);
        for reason in recipe.unread {
            out.incomplete_at(tool.at, format!("`make` {reason}"));
        }
        for line in recipe.lines {
            let data = shell.run_text(Language::Shell, &line, tool.at, out);
            shell.emit(data, tool.at, out);
        }
    } else {
        let name = names.last().map_or("Makefile", String::as_str);
        out.incomplete_at(tool.at, format!("`make` runs `{name}`, which is not read: {why}"));
    }
    shell.state = before;
    Data::from([Place::new(PlaceKind::Command, "make")])
}

pub(super) fn node(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let verb = tool.operand(0).and_then(Word::text).unwrap_or("install").to_owned();
    let script = match verb.as_str() {
        "run" | "run-script" => tool.operand(1).map(|word| word.as_written().to_owned()),
        "test" | "t" => Some("test".to_owned()),
        "start" | "stop" | "restart" => Some(verb.clone()),
        "install" | "i" | "ci" | "add" | "publish" | "update" | "exec" | "dlx" | "create"
        | "init" => {
            let address = "pkg://npm";
            let peer = shell.connects(address, tool, out);
            if verb == "publish" {
                out.flow(&[Place::new(PlaceKind::File, ".")], &peer, tool.at);
            } else {
                shell.put_file(&Word::literal("node_modules"), Data::from([peer]), tool, out);
            }
            None
        }
        "ls" | "list" | "audit" | "outdated" | "view" | "version" | "config" | "--version" => None,
        other => (tool.name != "npm").then(|| other.to_owned()),
    };
    let Some(script) = script else {
        return Data::from([Place::new(PlaceKind::Command, tool.name)]);
    };
    let before = shell.state.clone();
    if let Some(directory) = tool.options.value(&["C", "--prefix"]) {
        shell.state.directory = shell.state.path(directory.as_written());
    }
    let path = shell.state.path("package.json");
    match out.file(&path) {
        Ok(text) => {
            for name in [format!("pre{script}"), script.clone(), format!("post{script}")] {
                match make::script(&text, &name) {
                    Some(line) => {
                        let data = shell.run_text(Language::Shell, &line, tool.at, out);
                        shell.emit(data, tool.at, out);
                    }
                    None if name == script => {
                        out.incomplete_at(tool.at, format!("`{path}` has no script `{script}`"));
                    }
                    None => {}
                }
            }
        }
        Err(why) => {
            out.incomplete_at(
                tool.at,
                format!("`{}` runs `{path}`, which is not read: {why}", tool.name),
            );
        }
    }
    shell.state = before;
    Data::from([Place::new(PlaceKind::Command, tool.name)])
}

pub(super) fn npx(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let peer = shell.connects("pkg://npm", tool, out);
    out.flow(&[peer], &Place::new(PlaceKind::Code, ""), tool.at);
    let name = tool.operand(0).map_or("", Word::as_written);
    out.incomplete_at(tool.at, format!("`{}` runs `{name}`, which is not read", tool.name));
    Data::default()
}

pub(super) fn pip(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let verbs = ["install", "download", "add", "sync", "create", "wheel"];
    let installs = tool
        .options
        .operands
        .iter()
        .any(|word| word.text().is_some_and(|text| verbs.contains(&text)));
    let tells = Data::from([Place::new(PlaceKind::Command, tool.name)]);
    if !installs {
        return tells;
    }
    let operands: Vec<Word> = tool
        .options
        .operands
        .iter()
        .filter(|word| word.text().is_none_or(|text| !verbs.contains(&text) && text != "pip"))
        .cloned()
        .collect();
    let local = |word: &Word| {
        matches!(word.text(), Some(".")) || word.as_written().starts_with(['.', '/', '~'])
    };
    let edited = tool.args.iter().position(|arg| matches!(arg.text(), Some("-e" | "--editable")));
    let edited = edited.and_then(|at| tool.args.get(at + 1)).cloned();
    for path in operands.iter().filter(|word| local(word)).chain(edited.iter()) {
        let path = shell.state.path(path.as_written());
        out.flow(
            &[Place::new(PlaceKind::File, path.as_str())],
            &Place::new(PlaceKind::Code, ""),
            tool.at,
        );
        let setup = format!("{}/setup.py", path.trim_end_matches('/'));
        let setup = setup.strip_prefix("./").unwrap_or(&setup).to_owned();
        match out.file(&setup) {
            Ok(text) => drop(shell.run_text(Language::Python, &text, tool.at, out)),
            Err(why) => out.incomplete_at(
                tool.at,
                format!("`{}` runs `{setup}`, which is not read: {why}", tool.name),
            ),
        }
    }
    if let Some(file) = tool.options.value(&["r", "--requirement"]) {
        shell.read_file(file, tool.name, tool.at, out);
    }
    let remote: Vec<&Word> = operands.iter().filter(|word| !local(word)).collect();
    let index = tool.options.value(&["i", "--index-url", "--extra-index-url"]).cloned();
    let address = remote
        .iter()
        .find_map(|word| {
            word.as_written()
                .split_once("://")
                .map(|_| word.as_written().trim_start_matches("git+").to_owned())
        })
        .or_else(|| index.map(|index| index.as_written().to_owned()))
        .unwrap_or_else(|| "pkg://pypi".to_owned());
    if !remote.is_empty() || tool.options.has(&["r", "--requirement"]) {
        shell.connects(&address, tool, out);
    }
    tells
}

pub(super) fn system(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    const CHANGES: [&str; 14] = [
        "install",
        "remove",
        "purge",
        "upgrade",
        "dist-upgrade",
        "full-upgrade",
        "autoremove",
        "add",
        "del",
        "erase",
        "update",
        "reinstall",
        "uninstall",
        "localinstall",
    ];
    let verb = tool.operand(0).and_then(Word::text).unwrap_or_default();
    let by_option = match tool.name {
        "dpkg" | "rpm" => tool.options.has(&[
            "i",
            "r",
            "P",
            "e",
            "U",
            "--install",
            "--remove",
            "--purge",
            "--unpack",
            "--configure",
        ]),
        "pacman" => tool.options.has(&["S", "R", "U"]),
        _ => false,
    };
    // `rpm -qi` asks, and to fetch the lists of packages changes none.
    let asks = matches!(tool.name, "rpm" | "pacman") && tool.options.has(&["q", "Q", "--query"])
        || matches!((tool.name, verb), ("apt" | "apt-get" | "aptitude" | "apk" | "brew", "update"));
    if !asks && (CHANGES.contains(&verb) || by_option) {
        if !matches!(tool.name, "dpkg" | "rpm")
            && !matches!(verb, "remove" | "purge" | "autoremove" | "del" | "erase" | "uninstall")
        {
            shell.connects("${repository}", tool, out);
        }
        shell.operation(
            Activity::SystemChange,
            "package",
            tool.name,
            Some(&tool.line()),
            tool.at,
            out,
        );
    }
    Data::from([Place::new(PlaceKind::Command, tool.name)])
}

pub(super) fn registry(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let verb = tool.operand(0).and_then(Word::text).unwrap_or_default();
    if matches!(verb, "install" | "get" | "add" | "fetch" | "update" | "publish" | "push") {
        let address = match tool.name {
            "gem" => "pkg://gem",
            "cargo" => "pkg://cargo",
            _ => "pkg://golang",
        };
        let peer = shell.connects(address, tool, out);
        if matches!(verb, "publish" | "push") {
            out.flow(&[Place::new(PlaceKind::File, ".")], &peer, tool.at);
        }
    }
    if matches!(verb, "run" | "test" | "build" | "bench" | "generate") {
        out.incomplete_at(tool.at, format!("`{} {verb}` runs source that is not read", tool.name));
    }
    Data::from([Place::new(PlaceKind::Command, tool.name)])
}

pub(super) fn container(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let verb = tool.operand(0).and_then(Word::text).unwrap_or_default().to_owned();
    match verb.as_str() {
        "run" | "exec" | "compose" | "build" => {
            for arg in tool.args.windows(2) {
                if let [option, value] = arg
                    && matches!(option.text(), Some("-v" | "--volume"))
                {
                    let host = value.as_written().split(':').next().unwrap_or_default();
                    shell.operation_below(
                        Activity::FileRead,
                        host,
                        tool.name,
                        None,
                        true,
                        tool.at,
                        out,
                    );
                    if !value.as_written().ends_with(":ro") {
                        shell.operation_below(
                            Activity::FileWrite,
                            host,
                            tool.name,
                            None,
                            true,
                            tool.at,
                            out,
                        );
                    }
                    out.path(host);
                }
            }
            out.incomplete_at(
                tool.at,
                format!("`{} {verb}` runs a container that is not read", tool.name),
            );
        }
        "pull" | "push" | "login" => {
            let image = tool.operand(1).map_or("${registry}", Word::as_written).to_owned();
            shell.connects(&image, tool, out);
        }
        "rm" | "rmi" | "kill" | "stop" | "prune" | "system" | "volume" => {
            shell.operation(
                Activity::SystemChange,
                "container",
                tool.name,
                Some(&tool.line()),
                tool.at,
                out,
            );
        }
        _ => {}
    }
    Data::from([Place::new(PlaceKind::Command, tool.name)])
}
