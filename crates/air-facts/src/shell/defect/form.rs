//! Programs that harm by their form alone.

use brush_parser::ast;

use crate::collect::Collector;

/// Commands that neither wait nor leave.
const BUSY: [&str; 12] = [
    ":", "true", "false", "echo", "printf", "let", "test", "[", "pwd", "export", "local", "declare",
];
/// Commands that leave a loop.
const LEAVES: [&str; 5] = ["break", "exit", "return", "exec", "kill"];

/// Whether what it answers is a question rather than a deed.
pub(in crate::shell) fn is_test(pipeline: &ast::Pipeline) -> bool {
    pipeline.seq.last().is_some_and(|command| match command {
        ast::Command::Simple(simple) => name(simple).is_some_and(|name| {
            matches!(
                name,
                "[" | "test"
                    | "grep"
                    | "command"
                    | "which"
                    | "type"
                    | "false"
                    | "diff"
                    | "cmp"
                    | "pgrep"
                    | "getent"
                    | "id"
            )
        }),
        ast::Command::ExtendedTest(..)
        | ast::Command::Compound(ast::CompoundCommand::Arithmetic(_), _) => true,
        _ => false,
    })
}

/// Whether the condition always answers `answer`.
pub(in crate::shell) fn always(condition: &ast::CompoundList, answer: &str) -> bool {
    let [ast::CompoundListItem(item, _)] = condition.0.as_slice() else { return false };
    if !item.additional.is_empty() || item.first.bang {
        return false;
    }
    match item.first.seq.as_slice() {
        [ast::Command::Simple(simple)] => {
            let words: Vec<String> = simple
                .suffix
                .iter()
                .flat_map(|suffix| &suffix.0)
                .map(ToString::to_string)
                .collect();
            match (name(simple), words.as_slice()) {
                (Some(":"), _) => answer == "true",
                (Some(name @ ("true" | "false")), _) => name == answer,
                (Some("["), [one, close]) => {
                    answer == "true" && one.parse::<i64>().is_ok() && close == "]"
                }
                _ => false,
            }
        }
        [ast::Command::Compound(ast::CompoundCommand::Arithmetic(command), _)] => command
            .expr
            .value
            .trim()
            .parse::<i64>()
            .is_ok_and(|value| (value != 0) == (answer == "true")),
        _ => false,
    }
}

/// Notes a loop whose body never waits and never leaves.
pub(in crate::shell) fn endless(body: &ast::CompoundList, at: u32, out: &mut Collector) {
    if busy(body, 0) {
        out.defect("endless-loop", at, "a loop without end never waits");
    }
}

fn busy(list: &ast::CompoundList, depth: usize) -> bool {
    depth < 8
        && list.0.iter().all(|ast::CompoundListItem(item, separator)| {
            let pipelines = std::iter::once(&item.first).chain(
                item.additional
                    .iter()
                    .map(|(ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline))| pipeline),
            );
            let background = matches!(separator, ast::SeparatorOperator::Async);
            pipelines.flat_map(|pipeline| &pipeline.seq).all(|command| match command {
                ast::Command::Simple(simple) => match name(simple) {
                    Some(name) => !LEAVES.contains(&name) && (background || BUSY.contains(&name)),
                    None => !simple.to_string().contains(['$', '`']),
                },
                ast::Command::Compound(ast::CompoundCommand::Arithmetic(_), _) => true,
                ast::Command::Compound(ast::CompoundCommand::BraceGroup(group), _) => {
                    busy(&group.list, depth + 1)
                }
                ast::Command::Compound(ast::CompoundCommand::Subshell(shell), _) => {
                    background || busy(&shell.list, depth + 1)
                }
                _ => false,
            })
        })
}

/// Whether a body may leave its loop before its end.
pub(in crate::shell) fn leaves_early(body: &ast::CompoundList) -> bool {
    let text = body.to_string();
    ["break", "continue", "exit", "return"].iter().any(|word| text.contains(word))
}

/// Notes that calling `name` starts itself more than once, each time.
pub(in crate::shell) fn fork_bomb(
    name: &str,
    body: &ast::CompoundCommand,
    at: u32,
    out: &mut Collector,
) {
    let list = match body {
        ast::CompoundCommand::BraceGroup(group) => &group.list,
        ast::CompoundCommand::Subshell(shell) => &shell.list,
        _ => return,
    };
    let mut calls = 0;
    let mut apart = false;
    for ast::CompoundListItem(item, separator) in &list.0 {
        let own = item.first.seq.iter().filter(|command| calls_itself(command, name)).count();
        calls += own;
        apart |= own > 0 && (own > 1 || matches!(separator, ast::SeparatorOperator::Async));
    }
    // What comes before may leave the function.
    if calls > 1 && apart && !leaves_early(list) {
        out.defect("fork-bomb", at, "a function starts itself more than once");
    }
}

fn calls_itself(command: &ast::Command, own: &str) -> bool {
    match command {
        ast::Command::Simple(simple) => name(simple) == Some(own),
        ast::Command::Compound(ast::CompoundCommand::BraceGroup(group), _) => one(&group.list, own),
        ast::Command::Compound(ast::CompoundCommand::Subshell(shell), _) => one(&shell.list, own),
        _ => false,
    }
}

fn one(list: &ast::CompoundList, own: &str) -> bool {
    list.0.iter().any(|ast::CompoundListItem(item, _)| {
        item.first.seq.iter().any(
            |command| matches!(command, ast::Command::Simple(simple) if name(simple) == Some(own)),
        )
    })
}

fn name(simple: &ast::SimpleCommand) -> Option<&str> {
    simple.word_or_name.as_ref().map(|word| word.value.as_str())
}
