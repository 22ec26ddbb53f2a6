//! Commands that connect, listen, send and fetch.

use air_core::{
    code::Activity,
    place::{Place, PlaceKind},
};

use super::{
    eval::Shell,
    flow::Tool,
    interpreter::Language,
    word::{Data, Word, merge},
};
use crate::collect::Collector;

pub(super) const CURL: &str = "o O_ d F T H X u A e b c K m x w r D E --output --data --data-binary --data-raw --data-ascii \
    --data-urlencode --json --form --form-string --upload-file --header --request --user --user-agent --referer --cookie \
    --cookie-jar --config --max-time --connect-timeout --proxy --write-out --range --url --retry --cacert --cert --key \
    --resolve --interface --output-dir --limit-rate";
pub(super) const WGET: &str = "O o a i t T U P Q e --output-document --output-file --post-data --post-file --body-data \
    --body-file --header --user-agent --timeout --tries --directory-prefix --method --user --password --input-file -out --dir";

impl Shell {
    pub(super) fn connects(&mut self, address: &str, tool: &Tool, out: &mut Collector) -> Place {
        self.operation(Activity::NetworkConnect, address, tool.name, None, tool.at, out);
        Place::new(PlaceKind::Network, address)
    }

    pub(super) fn listens(&mut self, address: &str, via: &str, at: u32, out: &mut Collector) {
        let address = match address.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}"),
            None => address.to_owned(),
        };
        self.operation(Activity::NetworkListen, &address, via, None, at, out);
    }

    /// A shell or program at the other end's disposal.
    fn serves(&mut self, command: &Word, peer: &Place, tool: &Tool, out: &mut Collector) {
        out.flow(std::slice::from_ref(peer), &Place::new(PlaceKind::Code, ""), tool.at);
        let before = self.state.channels.insert(0, super::state::Channel::Place(peer.clone()));
        let printed = match command.text() {
            Some(text) => self.run_text(Language::Shell, text, tool.at, out),
            None => Data::default(),
        };
        if let Some(before) = before {
            self.state.channels.insert(0, before);
        }
        send(&printed, peer, tool.at, out);
    }
}

/// A URL as it is meant: without a scheme, by HTTP.
fn url(word: &Word) -> String {
    let written = word.as_written();
    if written.contains("://") || written.starts_with("${") {
        written.to_owned()
    } else {
        format!("http://{written}")
    }
}

fn file_of(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or(path);
    match path.rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => name.to_owned(),
        _ => "index.html".to_owned(),
    }
}

/// What is sent in a header. A token of the environment that signs in goes to whom it is made for:
/// every use of it does that.
fn beside_signing_in(value: &Word) -> Vec<Place> {
    let name = value.as_written().split(':').next().unwrap_or_default().to_ascii_lowercase();
    let headers =
        ["authorization", "proxy-authorization", "x-api-key", "x-auth-token", "private-token"];
    let signs_in = headers.contains(&name.trim());
    let sources = value.sources().iter();
    sources.filter(|from| !(signs_in && from.kind == PlaceKind::Environment)).cloned().collect()
}

pub(super) fn curl(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let mut sent = Data::default();
    let bodies = ["d", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--json"];
    let forms = ["F", "--form"];
    for value in tool.options.values(&bodies) {
        merge(&mut sent.sources, value.sources().iter().cloned());
        let written = value.as_written();
        if let Some((_, file)) = written
            .split_once('@')
            .filter(|(name, _)| name.is_empty() || !name.contains(['=', ' ', '{', '"']))
        {
            sent.append(shell.read_file(&value.part(file), tool.name, tool.at, out));
        }
    }
    for value in tool.options.values(&forms) {
        merge(&mut sent.sources, value.sources().iter().cloned());
        let file = value.as_written().split_once('=').map(|(_, value)| value);
        if let Some(file) = file.and_then(|value| value.strip_prefix(['@', '<'])) {
            let file = file.split(';').next().unwrap_or(file);
            sent.append(shell.read_file(&value.part(file), tool.name, tool.at, out));
        }
    }
    for value in tool.options.values(&["T", "--upload-file"]) {
        sent.append(shell.read_file(value, tool.name, tool.at, out));
    }
    for value in tool.options.values(&[
        "H",
        "--header",
        "u",
        "--user",
        "b",
        "--cookie",
        "A",
        "--user-agent",
        "e",
        "--data-raw",
        "--form-string",
    ]) {
        merge(&mut sent.sources, beside_signing_in(value));
        if let Some(file) = value.as_written().strip_prefix('@') {
            sent.append(shell.read_file(&value.part(file), tool.name, tool.at, out));
        }
    }
    if let Some(config) = tool.options.value(&["K", "--config"]) {
        shell.read_file(config, tool.name, tool.at, out);
        out.incomplete_at(tool.at, "`curl` is told what to do by a file");
    }
    let mut fetched = Data::default();
    let below = tool.options.value(&["--output-dir"]).map(|word| word.as_written().to_owned());
    let inside = |file: &Word| match &below {
        Some(directory) => file.part(format!("{directory}/{}", file.as_written())),
        None => file.clone(),
    };
    let output = tool.options.value(&["o", "--output"]).map(inside);
    if below.is_some() && output.is_none() {
        out.incomplete_at(tool.at, "`curl` writes a file whose name is not known");
    }
    let named = tool.options.has(&["O", "--remote-name", "J"]);
    let urls: Vec<Word> =
        tool.options.operands.iter().chain(tool.options.values(&["--url"])).cloned().collect();
    for word in &urls {
        let address = url(word);
        if let Some(path) = address.strip_prefix("file://") {
            fetched.append(shell.read_file(&word.part(path), tool.name, tool.at, out));
            continue;
        }
        let peer = shell.connects(&address, tool, out);
        let mut carried = sent.clone();
        merge(&mut carried.sources, word.sources().iter().cloned());
        send(&carried, &peer, tool.at, out);
        let data = Data::from([peer]);
        match (&output, named) {
            (Some(file), _) if file.text() == Some("-") => fetched.append(data),
            (Some(file), _) => shell.put_file(file, data, tool, out),
            (None, true) => shell.put_file(&Word::literal(file_of(&address)), data, tool, out),
            (None, false) => fetched.append(data),
        }
    }
    fetched.obscured()
}

pub(super) fn wget(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let mut sent = Data::default();
    for file in tool.options.values(&["--post-file", "--body-file"]) {
        sent.append(shell.read_file(file, tool.name, tool.at, out));
    }
    for value in tool.options.values(&[
        "--post-data",
        "--body-data",
        "--header",
        "--password",
        "U",
        "--user-agent",
    ]) {
        merge(&mut sent.sources, beside_signing_in(value));
    }
    let output = tool.options.value(&["O", "--output-document", "-out"]).cloned();
    let printed =
        output.as_ref().is_some_and(|file| matches!(file.text(), Some("-" | "/dev/stdout")))
            || tool.args.iter().any(|arg| {
                arg.text().is_some_and(|text| {
                    !text.starts_with("--") && text.starts_with('-') && text.ends_with("O-")
                })
            });
    let mut fetched = Data::none();
    for word in &tool.options.operands {
        let address = url(word);
        let peer = shell.connects(&address, tool, out);
        let mut carried = sent.clone();
        merge(&mut carried.sources, word.sources().iter().cloned());
        send(&carried, &peer, tool.at, out);
        let data = Data::from([peer]);
        if printed {
            fetched.append(data.obscured());
        } else if !tool.options.has(&["--spider"]) {
            let name = file_of(&address);
            let file = match (&output, tool.options.value(&["P", "--directory-prefix"])) {
                (Some(file), _) => file.clone(),
                (None, Some(directory)) => directory
                    .part(format!("{}/{name}", directory.as_written().trim_end_matches('/'))),
                (None, None) => Word::literal(name),
            };
            shell.put_file(&file, data, tool, out);
        }
    }
    if printed { fetched.obscured() } else { fetched }
}

/// A browser of the terminal: what it shows of a page.
pub(super) fn browse(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let mut shown = Data::none();
    for word in &tool.options.operands {
        let written = word.as_written();
        if word.text().is_some() && !written.contains("://") && written.starts_with(['/', '.', '~'])
        {
            shown.append(shell.read_file(word, tool.name, tool.at, out));
            continue;
        }
        let peer = shell.connects(&url(word), tool, out);
        let carried = Data::from(word.sources().iter().cloned());
        send(&carried, &peer, tool.at, out);
        shown.append(Data::from([peer]));
    }
    shown.obscured()
}

pub(super) fn httpie(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let mut operands = tool.options.operands.iter().filter(|word| {
        !word
            .text()
            .is_some_and(|text| !text.is_empty() && text.chars().all(|c| c.is_ascii_uppercase()))
    });
    let Some(word) = operands.next() else { return Data::none() };
    let peer = shell.connects(&url(word), tool, out);
    let mut sent = shell.state.input();
    for item in operands {
        merge(&mut sent.sources, item.sources().iter().cloned());
        if let Some((_, file)) = item.as_written().split_once('@') {
            sent.append(shell.read_file(&item.part(file), tool.name, tool.at, out));
        }
    }
    send(&sent, &peer, tool.at, out);
    Data::from([peer])
}

pub(super) fn netcat(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let options = tool.options;
    let runs = options.value(&["e", "c", "-exec", "--exec", "--sh-exec"]).cloned();
    let input = shell.state.input();
    if options.has(&["l", "--listen"]) {
        let port = options.value(&["p"]).or_else(|| options.operands.last());
        let port = port.map_or("${…}", Word::as_written).to_owned();
        let host =
            if options.operands.len() > 1 || options.has(&["p"]) && !options.operands.is_empty() {
                tool.operand(0).map_or("0.0.0.0", Word::as_written)
            } else {
                options.value(&["s"]).map_or("0.0.0.0", Word::as_written)
            };
        let address = format!("{host}:{port}");
        shell.listens(&address, tool.name, tool.at, out);
        let peer = Place::new(PlaceKind::Network, address);
        if let Some(command) = runs {
            shell.serves(&command, &peer, tool, out);
        }
        send(&input, &peer, tool.at, out);
        return Data::from([peer]);
    }
    let Some(host) = tool.operand(0) else { return Data::none() };
    let port = tool.operand(1).map_or("", Word::as_written);
    let address = if port.is_empty() {
        host.as_written().to_owned()
    } else {
        format!("{}:{port}", host.as_written())
    };
    let peer = shell.connects(&address, tool, out);
    if let Some(command) = runs {
        shell.serves(&command, &peer, tool, out);
    }
    if !options.has(&["z"]) {
        send(&input, &peer, tool.at, out);
    }
    Data::from([peer])
}

pub(super) fn socat(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let input = shell.state.input();
    let mut peers = Vec::new();
    let mut commands = Vec::new();
    let mut read = Data::default();
    let mut written = Vec::new();
    for address in &tool.options.operands {
        let text = address.as_written();
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let target = rest.split(',').next().unwrap_or(rest);
        let upper = kind.to_ascii_uppercase();
        if upper.contains("LISTEN") || upper.contains("RECV") && !upper.contains("UNIX") {
            let host = rest
                .split(',')
                .find_map(|option| option.strip_prefix("bind="))
                .unwrap_or("0.0.0.0");
            let address = format!("{host}:{target}");
            shell.listens(&address, tool.name, tool.at, out);
            peers.push(Place::new(PlaceKind::Network, address));
        } else if ["TCP", "UDP", "SSL", "OPENSSL", "SOCKS", "PROXY"]
            .iter()
            .any(|start| upper.starts_with(start))
        {
            peers.push(shell.connects(target, tool, out));
        } else if matches!(upper.as_str(), "EXEC" | "SYSTEM" | "SHELL") {
            commands.push(address.part(target));
        } else if matches!(upper.as_str(), "FILE" | "OPEN" | "GOPEN") {
            read.append(shell.read_file(&address.part(target), tool.name, tool.at, out));
        } else if upper == "CREATE" {
            written.push(address.part(target));
        } else if matches!(text, "-" | "STDIO" | "STDIN") {
            read.append(input.clone());
        }
    }
    for peer in &peers {
        for command in &commands {
            shell.serves(command, peer, tool, out);
        }
        send(&read, peer, tool.at, out);
    }
    let data = Data::from(peers);
    for file in &written {
        shell.put_file(file, data.clone(), tool, out);
    }
    data
}

pub(super) fn dialogue(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let Some(host) = tool.operand(0) else { return Data::none() };
    let host = host.as_written().rsplit_once('@').map_or(host.as_written(), |(_, host)| host);
    let address = match tool
        .operand(1)
        .filter(|port| port.as_written().bytes().all(|b| b.is_ascii_digit()))
    {
        Some(port) => format!("{host}:{}", port.as_written()),
        None => host.to_owned(),
    };
    let peer = shell.connects(&address, tool, out);
    let input = shell.state.input();
    let script = tool.options.value(&["b", "e", "c"]).cloned();
    let script = match script {
        Some(file) if tool.options.has(&["b"]) => {
            shell.read_file(&file, tool.name, tool.at, out).text
        }
        Some(text) => text.text().map(ToOwned::to_owned),
        None => input.text.clone(),
    };
    // `put file` and `get file` of its own language.
    for line in script.unwrap_or_default().split(['\n', ';']) {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("put" | "mput" | "send"), Some(file)) => {
                let data = shell.read_file(&Word::literal(file), tool.name, tool.at, out);
                send(&data, &peer, tool.at, out);
            }
            (Some("get" | "mget" | "recv"), Some(file)) => {
                let file = words.next().unwrap_or(file);
                shell.put_file(&Word::literal(file), Data::from([peer.clone()]), tool, out);
            }
            _ => {}
        }
    }
    send(&input, &peer, tool.at, out);
    Data::from([peer])
}

pub(super) fn ssh(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let Some(host) = tool.args.iter().position(|arg| Some(arg) == tool.operand(0)) else {
        return Data::none();
    };
    let written = tool.operand(0).map_or("", Word::as_written);
    let host_name = written.rsplit_once('@').map_or(written, |(_, host)| host);
    let port = tool.options.value(&["p"]).map_or("22", Word::as_written);
    let peer = shell.connects(&format!("{host_name}:{port}"), tool, out);
    let mut sent = shell.state.input();
    for word in tool.args.get(host + 1..).unwrap_or_default() {
        merge(&mut sent.sources, word.sources().iter().cloned());
    }
    send(&sent, &peer, tool.at, out);
    if let Some(command) = tool
        .options
        .values(&["o"])
        .find_map(|option| Some(option.part(option.as_written().strip_prefix("ProxyCommand=")?)))
        && let Some(text) = command.text()
    {
        shell.run_text(Language::Shell, text, tool.at, out);
    }
    Data::from([peer])
}

/// `host:path` or `rsync://…`, and nothing for a path here.
fn remote(word: &Word) -> Option<String> {
    let text = word.as_written();
    if text.contains("://") {
        return Some(text.to_owned());
    }
    let (host, _) = text.split_once(':')?;
    (!host.is_empty() && !host.contains('/'))
        .then(|| text.rsplit_once('@').map_or(text, |(_, rest)| rest).to_owned())
}

pub(super) fn remote_copy(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    if !tool.options.operands.iter().any(|word| remote(word).is_some()) {
        shell.transfer(tool, false, false, out);
        if tool.options.has(&[
            "--delete",
            "--delete-after",
            "--delete-before",
            "--remove-source-files",
        ]) && let Some(last) = tool.options.operands.last()
        {
            shell.delete(last, true, tool, out);
        }
        return Data::none();
    }
    let Some((target, sources)) = tool.options.operands.split_last() else { return Data::none() };
    let mut data = Data::default();
    for source in sources {
        match remote(source) {
            Some(address) => {
                let peer = shell.connects(&address, tool, out);
                data.append(Data::from([peer]));
            }
            None => data.append(shell.read_file(source, tool.name, tool.at, out)),
        }
    }
    match remote(target) {
        Some(address) => {
            let peer = shell.connects(&address, tool, out);
            send(&data, &peer, tool.at, out);
        }
        None => shell.put_file(target, data.obscured(), tool, out),
    }
    Data::none()
}

/// What is looked up is told to the name server.
pub(super) fn resolve(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let mut answered = Data::default();
    for name in &tool.options.operands {
        let written = name.as_written();
        let is_kind = written.len() <= 5 && written.chars().all(|c| c.is_ascii_uppercase());
        if is_kind || written.starts_with('+') {
            continue;
        }
        let server = written.trim_start_matches('@');
        let peer = shell.connects(server, tool, out);
        out.flow(name.sources(), &peer, tool.at);
        answered.append(Data::from([peer]));
    }
    answered.obscured()
}

pub(super) fn probe(shell: &mut Shell, tool: &Tool, out: &mut Collector) -> Data {
    let Some(host) = tool.options.operands.last() else { return Data::none() };
    let peer = shell.connects(host.as_written(), tool, out);
    let pattern: Vec<Place> =
        tool.options.values(&["p"]).flat_map(|word| word.sources().to_vec()).collect();
    out.flow(host.sources(), &peer, tool.at);
    out.flow(&pattern, &peer, tool.at);
    Data::from([Place::new(PlaceKind::Command, tool.name)])
}

pub(super) fn send(data: &Data, to: &Place, at: u32, out: &mut Collector) {
    let sources: Vec<Place> =
        data.sources.iter().filter(|source| source.kind != PlaceKind::Input).cloned().collect();
    out.flow(&sources, to, at);
}
