//! Archives and compressed files: what goes in and comes out.

use super::{
    eval::Shell,
    flow::Tool,
    options::Options,
    word::{Data, Word},
};
use crate::collect::Collector;

pub(super) fn split(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let Some(input) = tool.operand(0) else { return Data::none() };
    let data = shell.read_file(input, tool.name, tool.at, out).obscured();
    let prefix = tool.operand(1).map_or("x", Word::as_written);
    shell.put_file(&Word::literal(format!("{prefix}*")), data, tool, out);
    Data::none()
}

pub(super) fn tar(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    // Letters without a dash come first: `tar czf out.tgz dir`.
    let bundled = tool
        .args
        .first()
        .map(Word::as_written)
        .filter(|first| !first.starts_with('-'))
        .unwrap_or_default();
    let letter = |letter: &str| bundled.contains(letter) || tool.options.has(&[letter]);
    let mut operands: Vec<Word> = tool.options.operands.clone();
    let mut archive = tool.options.value(&["f", "--file"]).cloned();
    if !bundled.is_empty() && !operands.is_empty() {
        operands.remove(0);
        if bundled.contains('f') && !operands.is_empty() {
            archive = Some(operands.remove(0));
        }
    }
    let to = tool.options.value(&["C", "--directory"]).map_or(".", Word::as_written).to_owned();
    let archive = archive.filter(|archive| archive.text() != Some("-"));
    if letter("c") || letter("r") || letter("u") || tool.options.has(&["--create", "--append"]) {
        let mut data = Data::default();
        for path in &operands {
            let path = match tool.options.value(&["C", "--directory"]) {
                Some(from) => path.part(format!(
                    "{}/{}",
                    from.as_written().trim_end_matches('/'),
                    path.as_written()
                )),
                None => path.clone(),
            };
            data.append(shell.read_file(&path, tool.name, tool.at, out));
        }
        let data = data.obscured();
        return match archive {
            Some(archive) => {
                shell.put_file(&archive, data, tool, out);
                Data::none()
            }
            None => data,
        };
    }
    let data = match &archive {
        Some(archive) => shell.read_file(archive, tool.name, tool.at, out),
        None => shell.state.input(),
    };
    if letter("x") || tool.options.has(&["--extract", "--get"]) {
        if letter("O") || tool.options.has(&["--to-stdout"]) {
            return data.obscured();
        }
        if operands.is_empty() {
            shell.put_file(&Word::literal(to), data.obscured(), tool, out);
        } else {
            for path in &operands {
                shell.put_file(path, data.clone().obscured(), tool, out);
            }
        }
        return Data::none();
    }
    Data::default()
}

pub(super) fn pack(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let Some((archive, files)) = tool.options.operands.split_first() else { return Data::none() };
    let mut data = Data::default();
    for file in files {
        data.append(shell.read_file(file, tool.name, tool.at, out));
    }
    if archive.text() == Some("-") {
        return data.obscured();
    }
    shell.put_file(archive, data.obscured(), tool, out);
    Data::none()
}

pub(super) fn pack7(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let operands = tool.options.operands.get(1..).unwrap_or_default().to_vec();
    let options = Options::of(operands);
    let inner = Tool { options: &options, ..*tool };
    match tool.operand(0).and_then(Word::text) {
        Some("a" | "u") => pack(shell, &inner, out),
        Some("x" | "e") => unpack(shell, &inner, out),
        _ => Data::default(),
    }
}

pub(super) fn unpack(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let Some(archive) = tool.operand(0) else { return Data::none() };
    let data = shell.read_file(archive, tool.name, tool.at, out).obscured();
    if tool.options.has(&["p", "c", "l"]) {
        return data;
    }
    let to = tool.options.value(&["d"]).cloned().unwrap_or_else(|| Word::literal("."));
    shell.put_file(&to, data, tool, out);
    Data::none()
}

pub(super) fn compress(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    if tool.options.operands.is_empty() {
        return shell.state.input().obscured();
    }
    let unpacks = tool.name.starts_with("un")
        || tool.name.contains("gun")
        || tool.name.contains("bun")
        || tool.options.has(&["d"]);
    let end = match tool.name {
        "gzip" | "gunzip" => ".gz",
        "bzip2" | "bunzip2" => ".bz2",
        "xz" | "unxz" => ".xz",
        "zstd" | "unzstd" => ".zst",
        "lz4" => ".lz4",
        _ => ".Z",
    };
    let mut printed = Data::none();
    for file in &tool.options.operands {
        let data = shell.read_file(file, tool.name, tool.at, out).obscured();
        if tool.options.has(&["c", "--stdout", "--to-stdout"]) {
            printed.append(data);
            continue;
        }
        let written = file.as_written();
        let to = if unpacks {
            written.strip_suffix(end).unwrap_or(written).to_owned()
        } else {
            format!("{written}{end}")
        };
        shell.put_file(&file.part(to), data, tool, out);
        if !tool.options.has(&["k", "--keep"]) && !tool.name.contains("zst") {
            shell.delete(file, false, tool, out);
        }
    }
    printed
}

pub(super) fn encrypt(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let data = shell.inputs(tool, 0, out).obscured();
    if let Some(to) = tool.options.value(&["o", "--output"]) {
        shell.put_file(to, data, tool, out);
        return Data::none();
    }
    match tool.operand(0).filter(|_| tool.options.has(&["c", "e", "--encrypt", "--symmetric"])) {
        Some(file) => {
            shell.put_file(&file.part(format!("{}.gpg", file.as_written())), data, tool, out);
            Data::none()
        }
        None => data,
    }
}
