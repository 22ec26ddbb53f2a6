//! Version control: what reaches other repositories, and what rewrites or throws away.

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
use crate::collect::Collector;

/// Commits, branches or tags that others may have are replaced or removed.
const REWRITTEN: &str = "history-rewritten";
/// Changes that are nowhere else are thrown away.
const LOST: &str = "work-lost";
/// Hooks that would check are not run.
const UNCHECKED: &str = "checks-skipped";
/// Branches that many work on.
const SHARED: [&str; 9] =
    ["main", "master", "trunk", "develop", "dev", "release", "production", "prod", "stable"];

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
        if setting.strip_prefix("core.hooksPath=").is_some_and(is_nowhere) {
            changes(UNCHECKED, tool, out);
        }
    }
    match verb.as_str() {
        "clone" | "fetch" | "pull" | "push" | "ls-remote" | "submodule" | "lfs" => {
            remote(shell, &verb, tool, out);
        }
        "clean" if !tool.options.has(&["n", "--dry-run"]) => {
            in_worktree(shell, Activity::FileDelete, tool, out);
        }
        "reset" if tool.options.has(&["--hard"]) => {
            in_worktree(shell, Activity::FileWrite, tool, out);
        }
        "rm" => {
            let keeps = tool.options.has(&["--cached", "n", "--dry-run"]);
            for path in rest.iter().filter(|_| !keeps) {
                shell.delete(path, tool.options.has(&["r"]), tool, out);
            }
        }
        "checkout" | "restore" | "stash" | "merge" | "rebase" | "apply" | "am" | "cherry-pick"
        | "revert" => in_worktree(shell, Activity::FileWrite, tool, out),
        "show" | "diff" | "log" | "blame" | "cat-file" | "archive" => {
            return Data::from([Place::new(PlaceKind::Command, "git")]);
        }
        "add" | "stage" if !tool.options.has(&["n", "--dry-run"]) => {
            // What is kept in the repository goes wherever that goes.
            let objects = Place::new(PlaceKind::File, ".git/objects");
            for path in rest {
                let file = Place::new(PlaceKind::File, shell.state.path(path.as_written()));
                out.flow(&[file], &objects, tool.at);
            }
        }
        "config" if rest.len() > 1 => {
            let file = if tool.options.has(&["--global"]) { "~/.gitconfig" } else { ".git/config" };
            shell.on(Activity::FileWrite, &Word::literal(file), tool, out);
        }
        _ => {}
    }
    if rewrites(&verb, rest, tool) {
        changes(REWRITTEN, tool, out);
    }
    if discards(&verb, rest, tool) && !out.since(0).iter().any(sets_aside) {
        changes(LOST, tool, out);
    }
    let hooked = ["commit", "push", "merge", "rebase", "am", "cherry-pick"].contains(&&*verb);
    let unhooked = verb == "config"
        && rest.first().and_then(Word::text) == Some("core.hooksPath")
        && rest.get(1).and_then(Word::text).is_some_and(is_nowhere);
    if unhooked
        || hooked && tool.options.has(&["--no-verify"])
        || verb == "commit" && tool.options.has(&["n"])
    {
        changes(UNCHECKED, tool, out);
    }
    Data::from([Place::new(PlaceKind::Command, "git")])
}

fn is_nowhere(path: &str) -> bool {
    path.is_empty() || path == "/dev/null"
}

/// Something happens to the repository that has this label.
fn changes(label: &str, tool: &Tool, out: &mut Collector) {
    out.operation(Operation {
        activity: Activity::SystemChange,
        target: "repository".to_owned(),
        via: tool.name.to_owned(),
        detail: Some(tool.line()),
        recursive: false,
        labels: vec![label.to_owned()],
        line: tool.at,
    });
}

/// Whether commits, branches or tags are replaced or removed for good.
fn rewrites(verb: &str, rest: &[Word], tool: &Tool) -> bool {
    let has = |names: &[&str]| tool.options.has(names);
    let first = rest.first().and_then(Word::text).unwrap_or_default();
    match verb {
        "push" => {
            let refs = rest.get(1..).unwrap_or_default();
            let forced = |word: &Word| word.as_written().starts_with(['+', ':']);
            let leased = has(&["--force-with-lease", "--force-if-includes"]);
            !has(&["n", "--dry-run"])
                && (has(&["f", "--force", "--mirror", "--delete", "d", "--prune"])
                    || refs.iter().any(forced)
                    || leased && refs.iter().any(|word| is_shared(word.as_written())))
        }
        "filter-branch" | "filter-repo" => !has(&["--analyze", "--dry-run"]),
        "rebase" => has(&["--root"]) || rest.get(1).is_some_and(|to| is_shared(to.as_written())),
        "reflog" => matches!(first, "expire" | "delete") && !has(&["n", "--dry-run"]),
        "gc" => tool.args.iter().any(|arg| {
            arg.as_written().strip_prefix("--prune=").is_some_and(|when| {
                matches!(when, "now" | "all" | "today") || when.starts_with('0')
            })
        }),
        "prune" => !has(&["n", "--dry-run"]),
        "branch" => {
            has(&["D"])
                || has(&["d", "--delete"]) && has(&["f", "--force"])
                || has(&["f", "--force"]) && !has(&["M", "m"])
        }
        "tag" => has(&["f", "--force"]),
        "update-ref" => has(&["d", "--delete"]),
        _ => false,
    }
}

/// Whether `reference` is, or ends at, a branch that many work on.
fn is_shared(reference: &str) -> bool {
    let branch = reference.rsplit(':').next().unwrap_or(reference);
    let branch = branch.trim_start_matches("refs/heads/");
    SHARED.contains(&branch.split('/').next().unwrap_or(branch))
}

/// Whether changes in the work tree are thrown away, of more than single files that are named.
fn discards(verb: &str, rest: &[Word], tool: &Tool) -> bool {
    let has = |names: &[&str]| tool.options.has(names);
    let first = rest.first().and_then(Word::text).unwrap_or_default();
    let dashes = tool.args.iter().any(|arg| arg.text() == Some("--"));
    let all = || rest.iter().any(|path| is_tree(path.as_written()));
    match verb {
        "reset" => has(&["--hard", "--merge"]),
        "checkout" => {
            has(&["f", "--force"])
                || !has(&["b", "B", "--orphan"]) && (all() || dashes && rest.len() > MANY)
        }
        "restore" => {
            (!has(&["S", "--staged"]) || has(&["W", "--worktree"])) && (all() || rest.len() > MANY)
        }
        "switch" => has(&["f", "--force", "--discard-changes"]),
        "clean" => has(&["f", "--force"]) && !has(&["n", "--dry-run"]),
        "stash" => matches!(first, "drop" | "clear"),
        "worktree" => first == "remove" && has(&["f", "--force"]),
        "checkout-index" => has(&["f", "--force"]) && has(&["a", "--all"]),
        "read-tree" => has(&["--reset"]) && has(&["u"]),
        _ => false,
    }
}

/// More files than this are no single ones.
const MANY: usize = 5;

/// Whether a pathspec is for a whole tree.
fn is_tree(path: &str) -> bool {
    matches!(path, "." | "./" | ":/" | "*" | ".." | "**" | ":/*") || path.ends_with(['/', '*'])
}

/// Whether `done` puts changes where they can be taken from again.
fn sets_aside(done: &Operation) -> bool {
    let detail = done.detail.as_deref().unwrap_or_default();
    let verb = detail.split_whitespace().skip_while(|word| word.starts_with('-')).take(2);
    let verb: Vec<&str> = verb.collect();
    done.via == "git"
        && verb.first() == Some(&"stash")
        && !matches!(verb.get(1), Some(&"drop" | &"clear" | &"pop" | &"apply" | &"list" | &"show"))
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
fn remote(shell: &mut Shell, verb: &str, tool: &Tool, out: &mut Collector) {
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
            if tool.options.has(&["--force-with-lease"]) {
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
