//! Build tools, package managers, containers.

use air_core::{
    code::{Activity, Operation},
    place::{Place, PlaceKind},
};

use super::{
    eval::Shell,
    flow::Tool,
    interpreter::Language,
    word::{Data, Word},
};
use crate::{collect::Collector, make};

/// Options of tools that install packages for Python, with values.
pub(super) const PIP: &str = "r c e i t f --requirement --index-url --target --editable --extra-index-url --find-links --index --default-index --trusted-host";
/// Options after which nobody checks who made a package.
const UNCHECKED: [&str; 8] = [
    "--allow-unauthenticated",
    "--force-yes",
    "--allow-insecure-repositories",
    "--nogpgcheck",
    "--no-gpg-checks",
    "--allow-untrusted",
    "--nosignature",
    "--no-gpg-check",
];
/// A package comes from where nobody vouches for it.
const UNVETTED: &str = "unvetted-package";

/// Notes the package that is at `source`, where that is no name in a registry.
fn foreign(source: &str, tool: &Tool, out: &mut Collector) {
    let named = source.split_once(" @ ").or_else(|| {
        source.split_once('@').filter(|(name, _)| !name.is_empty() && !name.contains(['/', ':']))
    });
    let source = named.map_or(source, |(_, version)| version).trim();
    let hosted = ["github:", "gitlab:", "bitbucket:", "gist:", "git@"];
    let short = || {
        let (owner, name) = source.split_once('/').unwrap_or_default();
        let plain = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphanumeric())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.#".contains(c))
        };
        matches!(tool.name, "npm" | "yarn" | "pnpm" | "bun" | "npx" | "bunx" | "pnpx")
            && plain(owner)
            && plain(name)
    };
    if source.contains("://") || hosted.iter().any(|host| source.starts_with(host)) || short() {
        unvetted(source.trim_start_matches("git+"), tool, out);
    }
}

fn unvetted(source: &str, tool: &Tool, out: &mut Collector) {
    // Only an address has a host.
    let (activity, target) = if source.contains("://") {
        (Activity::NetworkConnect, source)
    } else {
        (Activity::ProcessLaunch, tool.name)
    };
    out.operation(Operation {
        activity,
        target: target.to_owned(),
        via: tool.name.to_owned(),
        detail: Some(tool.line()),
        recursive: false,
        labels: vec![UNVETTED.to_owned()],
        line: tool.at,
    });
}

/// Whether the ledger of modules is not asked.
fn unvouched(shell: &Shell) -> bool {
    ["GOPROXY", "GONOSUMCHECK", "GONOSUMDB", "GOINSECURE", "GOFLAGS", "GOSUMDB"].iter().any(
        |name| {
            let value = shell.state.get(name).and_then(|variable| variable.values.first());
            value.and_then(Word::text).is_some_and(|text| {
                matches!(*name, "GOINSECURE" | "GONOSUMDB" | "GONOSUMCHECK") && !text.is_empty()
                    || matches!(text, "direct" | "off" | "-insecure" | "-mod=mod -insecure")
            })
        },
    )
}

impl Shell {
    /// `pip` and its arguments.
    pub(super) fn pip(&mut self, args: &[Word], at: u32, out: &mut Collector) -> Data {
        let options = super::options::Options::read(args, PIP);
        let tool = Tool { name: "pip", args, options: &options, at };
        pip(self, &tool, out)
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
            let named = tool.options.operands.get(1..).unwrap_or_default();
            for source in named.iter().chain(tool.options.values(&["--registry"])) {
                foreign(source.as_written(), tool, out);
            }
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
    let named = tool.options.values(&["p", "--package", "--registry"]);
    for source in named.map(Word::as_written).chain([name]) {
        foreign(source, tool, out);
    }
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
    let listed = [
        "i",
        "--index-url",
        "--extra-index-url",
        "f",
        "--find-links",
        "--index",
        "--default-index",
    ];
    for source in tool.options.values(&listed).chain(remote.iter().copied()).chain(edited.iter()) {
        foreign(source.as_written(), tool, out);
    }
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
    if tool.options.has(&UNCHECKED) {
        unvetted(&tool.line(), tool, out);
    }
    for source in &tool.options.operands {
        foreign(source.as_written(), tool, out);
    }
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
        let sources = ["s", "--source", "--git", "--registry", "--index"];
        // A module of Go is named by where it is, and a ledger vouches for it.
        let named = tool.options.operands.get(1..).unwrap_or_default().iter();
        let named = named.filter(|_| tool.name != "go");
        for source in tool.options.values(&sources).chain(named) {
            foreign(source.as_written(), tool, out);
        }
        if tool.name == "go" && (tool.options.has(&["insecure", "-insecure"]) || unvouched(shell)) {
            unvetted(&tool.line(), tool, out);
        }
    }
    if matches!(verb, "run" | "test" | "build" | "bench" | "generate") {
        out.incomplete_at(tool.at, format!("`{} {verb}` runs source that is not read", tool.name));
    }
    Data::from([Place::new(PlaceKind::Command, tool.name)])
}

pub(super) fn container(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let verb = tool.operand(0).and_then(Word::text).unwrap_or_default().to_owned();
    let second = tool.operand(1).and_then(Word::text).unwrap_or_default();
    let volumes = match verb.as_str() {
        "volume" => matches!(second, "rm" | "remove" | "prune"),
        "compose" => {
            let verbs = || tool.options.operands.iter().filter_map(Word::text);
            verbs().any(|verb| matches!(verb, "down" | "rm"))
                && tool.options.has(&["v", "--volumes"])
        }
        "system" => second == "prune" && tool.options.has(&["--volumes"]),
        "rm" => tool.options.has(&["v", "--volumes"]),
        _ => false,
    };
    if volumes {
        super::database::lost(&tool.line(), tool.name, tool.at, out);
    }
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
