//! What is wrong with what a program writes into a file: start files, hidden programs.
//!
//! What a text is, is known to [`content`]; here it is gathered, also where it is not known as a whole.

use super::{
    source::{Origin, Scope, Source},
    tree::{Command, Node, RedirectKind, Text},
};
use crate::{collect::Collector, content};

pub(super) fn note(source: &Source, out: &mut Collector) {
    source.each_node(|node, scope| match node {
        Node::Command(command) => {
            let target = command.redirects.iter().filter(|one| one.kind == RedirectKind::Out);
            if target.map(|one| &one.word).any(|word| is_start(word, scope, source)) {
                start(command, scope, source, out);
            }
            let edited = command.is(&["sed", "gsed", "ed", "ex", "perl"])
                && command.args().iter().any(|arg| is_start(arg, scope, source));
            if edited {
                let scripts = command.args().iter().map(Text::shown);
                for script in scripts {
                    let at = script.find("alias ").and_then(|at| script.get(at..));
                    if at.is_some_and(content::shadows) {
                        shadowed(command.line, out);
                    }
                }
            }
        }
        Node::Pipe(nodes) => {
            let Some((Node::Command(last), before)) = nodes.split_last() else { return };
            let into =
                last.is(&["tee"]) && last.args().iter().any(|arg| is_start(arg, scope, source));
            for node in before {
                if let Node::Command(command) = node
                    && into
                {
                    start(command, scope, source, out);
                }
            }
            packed(nodes, scope, source, out);
        }
        Node::Group(nodes, redirects) => {
            let into = redirects
                .iter()
                .any(|one| one.kind == RedirectKind::Out && is_start(&one.word, scope, source));
            for node in nodes {
                if let Node::Command(command) = node
                    && into
                {
                    start(command, scope, source, out);
                }
            }
        }
        _ => {}
    });
}

fn shadowed(line: u32, out: &mut Collector) {
    out.defect("shadowing-alias", line, "a start file gives a usual command another meaning");
}

fn encoded(line: u32, out: &mut Collector) {
    out.defect("encoded-program", line, "a program is written to a file in a form that hides it");
}

fn is_start(word: &Text, scope: Scope, source: &Source) -> bool {
    content::is_startup(&word.raw)
        || content::is_startup(&word.shown())
        || word.only().is_some()
            && source.assignments(word.only().map_or("", |one| one.name.as_str()), scope).iter().any(|(one, _)| {
                matches!(&one.value, super::tree::Value::One(text) if content::is_startup(&text.raw) || content::is_startup(&text.shown()))
            })
        || source.origins(word, scope).iter().any(|origin| matches!(origin, Origin::Constant(text) if content::is_startup(text)))
}

/// What a command prints into a start file.
fn start(command: &Command, scope: Scope, source: &Source, out: &mut Collector) {
    if !command.is(&["echo", "printf", "cat", "tee"]) {
        return;
    }
    let here =
        command.redirects.iter().filter(|one| one.kind == RedirectKind::Here).map(|one| &one.word);
    for word in command.args().iter().chain(here) {
        let values = source.origins(word, scope);
        let known = values
            .iter()
            .any(|value| matches!(value, Origin::Constant(text) if content::shadows(text)));
        if known || content::shadows(&word.shown()) {
            return shadowed(command.line, out);
        }
    }
    // `printf 'alias %s=%s' ls …`
    let line: String = command.args().iter().map(Text::shown).collect::<Vec<_>>().join(" ");
    if command.is(&["printf"]) && line.contains("alias %s=") {
        let mut values = command.args().iter().skip(1).map(Text::shown);
        if let (Some(name), Some(value)) = (values.next(), values.next())
            && content::shadows(&format!("alias {name}='{value}'"))
        {
            shadowed(command.line, out);
        }
    }
}

/// `echo program | gzip > file`: what such commands print cannot be read back here.
fn packed(nodes: &[Node], scope: Scope, source: &Source, out: &mut Collector) {
    const PACKS: [&str; 12] = [
        "gzip", "bzip2", "xz", "zstd", "lzma", "compress", "uuencode", "gpg", "openssl", "od",
        "hexdump", "base64",
    ];
    let [Node::Command(first), .., Node::Command(last)] = nodes else { return };
    let into = last
        .redirects
        .iter()
        .any(|one| one.kind == RedirectKind::Out && !one.word.raw.starts_with("/dev/"))
        || last.is(&["tee"]);
    let packs = nodes.iter().skip(1).any(|node| {
        matches!(node, Node::Command(command) if command.is(&PACKS)
            && !command.has(&["-d", "-D", "--decode", "--decompress", "-dc", "-cd", "dgst", "passwd"]))
    });
    if !into || !packs || !first.is(&["echo", "printf", "cat"]) {
        return;
    }
    let here =
        first.redirects.iter().filter(|one| one.kind == RedirectKind::Here).map(|one| &one.word);
    for word in first.args().iter().chain(here) {
        for value in source.origins(word, scope) {
            if matches!(&value, Origin::Constant(text) if content::is_program(text)) {
                return encoded(last.line, out);
            }
        }
    }
}
