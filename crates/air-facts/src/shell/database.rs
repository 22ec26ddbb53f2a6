//! Databases: what is dropped, emptied or reset.

use air_core::{
    code::{Activity, Operation},
    place::{Place, PlaceKind},
};

use super::{
    eval::Shell,
    flow::Tool,
    word::{Data, Word},
};
use crate::collect::{Collector, cap};

/// Options of database clients, with values.
pub(super) const VALUED: &str = "c e f h U d p u P n a --command --execute --eval --file --host \
                                 --username --dbname --database --user --port --init-command";
/// What is in a database is thrown away.
const LOST: &str = "data-lost";
/// Longer scripts are not searched, in bytes.
const MAX_SCRIPT: usize = 1 << 20;
/// Words of commands, in this order and next to each other, that throw away what is in a database.
const RESETS: [&[&str]; 47] = [
    &["migrate", "reset"],
    &["db", "push", "--force-reset"],
    &["db", "push", "--accept-data-loss"],
    &["db", "reset"],
    &["db", "drop"],
    &["db:drop"],
    &["db:drop:all"],
    &["db:reset"],
    &["db:purge"],
    &["db:wipe"],
    &["db:schema:load"],
    &["db:migrate:reset"],
    &["db:migrate:undo:all"],
    &["db:setup"],
    &["db:truncate_all"],
    &["migrate:fresh"],
    &["migrate:reset"],
    &["migrate:refresh"],
    &["migrate:rollback", "--all"],
    &["schema:drop"],
    &["schema:fresh"],
    &["migration:fresh"],
    &["doctrine:database:drop"],
    &["doctrine:schema:drop"],
    &["manage.py", "flush"],
    &["manage.py", "reset_db"],
    &["./manage.py", "flush"],
    &["./manage.py", "reset_db"],
    &["manage.py", "sqlflush"],
    &["django-admin", "flush"],
    &["downgrade", "base"],
    &["ecto.drop"],
    &["ecto.reset"],
    &["database", "reset"],
    &["database", "drop"],
    &["pg:reset"],
    &["drizzle-kit", "drop"],
    &["mysqladmin", "drop"],
    &["mysqladmin", "-f", "drop"],
    &["mongorestore", "--drop"],
    &["pg_restore", "--clean"],
    &["pg_restore", "-c"],
    &["dropdb"],
    &["flyway", "clean"],
    &["liquibase", "dropAll"],
    &["liquibase", "drop-all"],
    &["terraform", "destroy"],
];
/// What tells of commands, and runs none.
const TELLS: [&str; 14] = [
    "echo", "printf", "grep", "egrep", "rg", "ag", "git", "gh", "cat", "sed", "awk", "man", "test",
    "which",
];

/// Notes a command that resets a database, whatever starts it: `npx prisma migrate reset`.
pub(super) fn reset(name: &str, args: &[Word], at: u32, out: &mut Collector) {
    if TELLS.contains(&name) || args.iter().any(|arg| matches!(arg.text(), Some("--help" | "-h"))) {
        return;
    }
    let written: Vec<&str> =
        std::iter::once(name).chain(args.iter().map(Word::as_written)).collect();
    let compose = name == "docker-compose"
        && written.contains(&"down")
        && written.iter().any(|word| matches!(*word, "-v" | "--volumes"));
    let found = |words: &[&str]| written.windows(words.len()).any(|window| window == words);
    if compose || RESETS.iter().any(|&words| found(words)) {
        lost(&written.join(" "), name, at, out);
    }
}

/// What is in a database is thrown away by `detail`.
pub(super) fn lost(detail: &str, via: &str, at: u32, out: &mut Collector) {
    out.operation(Operation {
        activity: Activity::SystemChange,
        target: "database".to_owned(),
        via: via.to_owned(),
        detail: Some(cap(detail)),
        recursive: false,
        labels: vec![LOST.to_owned()],
        line: at,
    });
}

/// A client of a database: what its options, its operands, its files and its input tell the server.
pub(super) fn client(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let mut scripts: Vec<String> = Vec::new();
    let told = ["c", "e", "--command", "--execute", "--eval", "--init-command"];
    for word in tool.options.values(&told).chain(&tool.options.operands) {
        if word.text().is_none() && word.as_written().contains(' ') {
            out.incomplete_at(tool.at, format!("`{}` is told something computed", tool.name));
        }
        scripts.push(word.as_written().to_owned());
    }
    if tool.name.ends_with("-cli") {
        scripts
            .push(tool.options.operands.iter().map(Word::as_written).collect::<Vec<_>>().join(" "));
    }
    let input = shell.state.input();
    scripts.extend(input.text.clone());
    for file in tool.options.values(&["f", "--file"]).cloned().collect::<Vec<_>>() {
        let path = shell.state.path(file.as_written());
        match out.file(&path) {
            Ok(text) => scripts.push(text),
            Err(why) => out.incomplete_at(
                tool.at,
                format!("`{}` runs `{path}`, which is not read: {why}", tool.name),
            ),
        }
    }
    // A database in a file that is made up here is nobody's loss.
    let file = tool.operand(0).and_then(Word::text).unwrap_or_default();
    let scratch = tool.name.starts_with("sqlite")
        && (file == ":memory:" || file.starts_with("/tmp/") || file.starts_with("/var/tmp/"));
    for script in scripts.iter().filter(|_| !scratch) {
        if let Some(statement) = destroys(script) {
            lost(statement, tool.name, tool.at, out);
        }
    }
    let mut data = Data::from([Place::new(PlaceKind::Command, tool.name)]);
    data.append(Data { text: None, ..input });
    data.obscured()
}

/// The first statement of `script` that throws away a table, all of its rows, or more.
fn destroys(script: &str) -> Option<&str> {
    if script.len() > MAX_SCRIPT {
        return None;
    }
    script.split(';').map(uncommented).find(|statement| is_loss(statement))
}

/// A statement without the comments and empty lines in front of it.
fn uncommented(statement: &str) -> &str {
    let mut rest = statement.trim_start();
    loop {
        let after = if rest.starts_with("--") || rest.starts_with('#') {
            rest.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return rest.trim_end();
        };
        rest = after.trim_start();
    }
}

fn is_loss(statement: &str) -> bool {
    let lower = statement.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_whitespace().take(64).collect();
    let has = |word: &str| words.contains(&word);
    match words.as_slice() {
        ["drop", what, ..] => {
            matches!(*what, "table" | "database" | "schema" | "keyspace" | "owned" | "collection")
                && !has("temporary")
        }
        ["truncate", _, ..] | ["flushall" | "flushdb", ..] => true,
        ["delete", "from", _, rest @ ..] => !rest.contains(&"where") && !rest.contains(&"using"),
        ["update", _, "set", ..] => words.len() < 64 && !has("where"),
        ["alter", "table", ..] => has("drop") && has("column"),
        _ => {
            let script = lower.split_whitespace().collect::<String>();
            [".dropdatabase()", ".drop()", ".deletemany({})", ".remove({})", ".deletemany()"]
                .iter()
                .any(|call| script.contains(call))
        }
    }
}
