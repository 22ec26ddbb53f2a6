//! Commands that reach a service: mail, object stores, TLS.

use super::network::send;
use super::{
    eval::Shell,
    flow::Tool,
    word::{Data, Word, merge},
};
use crate::collect::Collector;

/// `aws s3 cp file s3://…` and their like.
pub(super) fn cloud(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let is_remote = |word: &&Word| {
        word.as_written().contains("://")
            || (tool.name == "rclone" && word.as_written().contains(':'))
    };
    let verb = tool.options.operands.iter().position(|word| {
        matches!(
            word.text(),
            Some("cp" | "mv" | "sync" | "put" | "copy" | "upload" | "move" | "get" | "rsync")
        )
    });
    let files = verb.and_then(|at| tool.options.operands.get(at + 1..)).unwrap_or_default();
    let Some(address) = files.iter().find(is_remote) else {
        let peer = shell.connects(tool.name, tool, out);
        return Data::from([peer]);
    };
    let peer = shell.connects(address.as_written(), tool, out);
    match files.split_last() {
        Some((target, sources)) if is_remote(&target) => {
            for source in sources {
                let data = shell.read_file(source, tool.name, tool.at, out);
                send(&data, &peer, tool.at, out);
            }
        }
        Some((target, _)) => shell.put_file(target, Data::from([peer]), tool, out),
        None => {}
    }
    Data::none()
}

pub(super) fn openssl(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let value = |name: &str| {
        let at = tool.args.iter().position(|arg| arg.text() == Some(name))?;
        tool.args.get(at + 1).cloned()
    };
    let given = |name: &str| tool.args.iter().any(|arg| arg.text() == Some(name));
    let data = match value("-in") {
        Some(file) => shell.read_file(&file, tool.name, tool.at, out),
        None => shell.state.input(),
    };
    if tool.operand(0).and_then(Word::text) == Some("s_client")
        && let Some(address) = value("-connect")
    {
        let peer = shell.connects(address.as_written(), tool, out);
        send(&data, &peer, tool.at, out);
        return Data::from([peer]);
    }
    // Certificates and public keys are no secret, whatever they are read from or signed with.
    let verb = tool.operand(0).and_then(Word::text);
    let public = given("-pubout")
        || given("-noout") && !given("-text")
        || matches!(verb, Some("x509" | "req" | "crl" | "verify"));
    let data = if public { Data::default() } else { data };
    let digest = matches!(verb, Some("dgst" | "version" | "rand" | "sha256" | "md5"));
    let text = data.text.as_deref().and_then(|text| super::filter::filtered(tool, text));
    let data = Data { text, ..data };
    match value("-out") {
        Some(file) => {
            shell.put_file(&file, data, tool, out);
            Data::none()
        }
        None if digest => Data::default(),
        None => data,
    }
}

pub(super) fn mail(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let to = tool.options.operands.last().or_else(|| tool.options.value(&["t", "--to"])).cloned();
    let address = format!("mailto:{}", to.as_ref().map_or("${…}", Word::as_written));
    let peer = shell.connects(&address, tool, out);
    let mut sent = shell.state.input();
    for file in
        tool.options.values(&["a", "A"]).filter(|file| file.as_written().contains(['/', '.']))
    {
        sent.append(shell.read_file(file, tool.name, tool.at, out));
    }
    for word in tool.args {
        merge(&mut sent.sources, word.sources().iter().cloned());
    }
    send(&sent, &peer, tool.at, out);
    Data::none()
}
