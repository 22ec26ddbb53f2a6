//! Effects on the network.

use air_core::{
    code::Activity::{FileRead, FileWrite, NetworkConnect, NetworkListen},
    place::{Place, PlaceKind},
};

use super::{
    effects::Call,
    interpret::Interpreter,
    value::{GAP, Sources, Value, What},
};

impl Interpreter<'_, '_> {
    /// A connection to `address`; what comes back.
    pub(super) fn connect(&mut self, address: &str, via: &str, line: u32) -> Sources {
        if let Some(path) = address.strip_prefix("file://") {
            self.operation(FileRead, path, via, line);
            return Sources::of(Self::file(path));
        }
        self.operation(NetworkConnect, address, via, line);
        Sources::of(Self::network(address))
    }

    fn flow_to(&mut self, address: &str, from: &Sources, line: u32) {
        if !address.starts_with("file://") {
            self.out.flow(from.places(), &Self::network(address), line);
        }
    }

    #[expect(clippy::too_many_lines, reason = "a few lines for each word")]
    pub(super) fn on_network(
        &mut self,
        word: &str,
        parameters: &[&str],
        call: &Call,
    ) -> Option<Value> {
        let (name, line) = (call.name, call.line);
        let values = |skip: usize| -> Vec<Value> {
            let names = parameters.iter().skip(skip);
            names.flat_map(|name| call.bound.all(name)).cloned().collect()
        };
        let all = values(0);
        let one = all.first();
        match word {
            "connect" => {
                for address in self.addresses(all.get(..1).unwrap_or_default()) {
                    self.connect(&address, name, line);
                }
            }
            "http" => {
                let sent = self.sent(parameters, call);
                let mut made = Vec::new();
                let url = all.get(..1).unwrap_or_default().to_vec();
                for address in self.addresses(&url) {
                    self.connect(&address, name, line);
                    self.flow_to(&address, &sent, line);
                    let place = match address.strip_prefix("file://") {
                        Some(path) => Self::file(path),
                        None => Self::network(&address),
                    };
                    made.push(self.heap.object("response", Some(place)));
                }
                return Some(Value::any(made));
            }
            "request" => {
                let address = self.addresses(all.get(..1).unwrap_or_default());
                let address = address.first().map_or(GAP, String::as_str);
                let from = self.sent(parameters, call);
                let request = self.heap.object(name, Some(Self::network(address)));
                self.put_into(&request, &from);
                return Some(request);
            }
            "fetch" => {
                // The address is that of a URL, or of the connection.
                let address = self.addresses(all.get(..1).unwrap_or_default());
                let from: Vec<Place> =
                    address.iter().map(|address| Self::network(address)).collect();
                for path in values(1).first().map(|path| self.paths(path)).unwrap_or_default() {
                    self.operation(FileWrite, &path, name, line);
                    self.out.flow(&from, &Self::file(&path), line);
                    self.leave_file(&path, None, &Sources::all(from.clone()));
                }
                return Some(Value::computed(Sources::all(from)));
            }
            "dial" | "pairdial" => {
                let class =
                    if word == "dial" { parameters.first().copied()? } else { "socket.socket" };
                let skip = usize::from(word == "dial");
                let address = self.addresses(&values(skip));
                let scheme = match (class, name.contains("HTTPS")) {
                    ("http.client.HTTPConnection", true) => "https://",
                    ("http.client.HTTPConnection", false) => "http://",
                    _ => "",
                };
                let address = address.into_iter().next();
                let address = address.map(|address| format!("{scheme}{address}"));
                if let Some(address) = &address {
                    self.connect(address, name, line);
                }
                let place = address.map(|address| Self::network(&address));
                let object = self.heap.object(class, place);
                if word == "pairdial" {
                    return Some(self.heap.list(vec![object.clone(), object], false));
                }
                return Some(object);
            }
            "redial" => {
                let address = self.addresses(&values(1)).into_iter().next();
                let address = address.unwrap_or_else(|| GAP.to_owned());
                self.connect(&address, name, line);
                self.set_place(one, Self::network(&address));
                return Some(Value::unknown());
            }
            "send" | "sendto" | "sendfile" | "upload" => {
                let mut data = values(1);
                let mut to = all.get(..1).unwrap_or_default().to_vec();
                if word == "sendto" {
                    // The address is the last argument that is given.
                    let address = data.pop();
                    to = address.into_iter().collect();
                }
                let addresses = self.addresses(&to);
                if matches!(word, "sendfile" | "upload") {
                    let mut from = Sources::default();
                    for path in data.first().map(|path| self.paths(path)).unwrap_or_default() {
                        self.operation(FileRead, &path, name, line);
                        from.add(&Sources::of(Self::file(&path)));
                    }
                    data.push(Value::computed(from));
                }
                let from = match word {
                    "send" => self.sent(parameters.get(1..).unwrap_or_default(), call),
                    _ => self.sources_of(&data),
                };
                for address in addresses {
                    if word == "sendto" {
                        self.operation(NetworkConnect, &address, name, line);
                    }
                    self.flow_to(&address, &from, line);
                }
            }
            "receive" => {
                let mut from = one.map(|object| self.heap.sources(object)).unwrap_or_default();
                if let Some(place) = one.and_then(|object| self.place_of(object)) {
                    from.add(&Sources::of(place));
                }
                let from = if from.is_empty() { Sources::of(Self::network(GAP)) } else { from };
                return Some(Value { what: What::Made(name.into()), from });
            }
            "received" => {
                // `retrbinary("RETR x", open("x", "wb").write)`.
                let from = one.map(|object| self.heap.sources(object)).unwrap_or_default();
                let from = match one.and_then(|object| self.place_of(object)) {
                    Some(place) => from.and(&Sources::of(place)),
                    None => from,
                };
                let data = super::call::Given::of(vec![Value::computed(from)]);
                if let Some(callback) = values(1).first() {
                    self.invoke(callback, data, &call.named(""));
                }
            }
            "bind" => {
                let address = self.addresses(&values(1)).into_iter().next();
                let address = address.unwrap_or_else(|| GAP.to_owned());
                self.set_place(one, Self::network(&everywhere(&address)));
            }
            "listening" => {
                let place = one.and_then(|object| self.place_of(object));
                let target = place.map_or_else(|| GAP.to_owned(), |place| place.name);
                self.operation(NetworkListen, &target, name, line);
            }
            "listen" => {
                let address = self.addresses(&all).into_iter().next();
                let address = everywhere(address.as_deref().unwrap_or(GAP));
                self.operation(NetworkListen, &address, name, line);
                let place = Some(Self::network(&address));
                let accepts = name.ends_with(".create_server") || name.ends_with(".Listener");
                let class = if accepts { "socket.socket" } else { name };
                return Some(self.heap.object(class, place));
            }
            "serve" => {
                let host =
                    call.bound.get("host").map_or("127.0.0.1".into(), |host| host.as_text().text);
                let port = call.bound.get("port").map_or(GAP.into(), |port| port.as_text().text);
                let address = everywhere(&format!("{host}:{port}"));
                self.operation(NetworkListen, &address, name, line);
            }
            "accept" => {
                let connection = self.heap.object("socket.socket", Some(Self::network(GAP)));
                let place = one.and_then(|object| self.place_of(object));
                self.set_place(Some(&connection), place.unwrap_or_else(|| Self::network(GAP)));
                let peer = Value::unknown();
                return Some(self.heap.list(vec![connection, peer], false));
            }
            "lookup" => {
                // A name that carries data goes to a server.
                let from = self.sources_of(&all);
                if !from.is_empty() {
                    let host = Self::gap(one).text;
                    self.operation(NetworkConnect, &host, name, line);
                    self.flow_to(&host, &from, line);
                }
                return Some(Value::unknown());
            }
            _ => {}
        }
        None
    }

    /// Where what is sent comes from. A token of the environment with which one signs in is how
    /// services are used.
    fn sent(&self, parameters: &[&str], call: &Call) -> Sources {
        let mut from = Sources::default();
        for name in parameters {
            for value in call.bound.all(name) {
                let all = self.heap.sources(value);
                let dict = match &value.what {
                    What::Dict(id) if *name == "headers" => self.heap.dicts.get(*id),
                    _ => None,
                };
                match dict {
                    Some(dict) => {
                        from.add(&value.from);
                        from.add(&dict.from);
                        for (key, value) in &dict.items {
                            let all = self.heap.sources(value);
                            from.add(&if signs_in(key) { all.without_variables() } else { all });
                            from.add(&self.heap.sources(key));
                        }
                    }
                    None if *name == "auth" => from.add(&all.without_variables()),
                    None => from.add(&all),
                }
            }
        }
        from
    }

    pub(super) fn place_of(&self, object: &Value) -> Option<Place> {
        let What::Object(id) = object.what else { return None };
        self.heap.objects.get(id).and_then(|object| object.place.clone())
    }

    fn set_place(&mut self, object: Option<&Value>, place: Place) {
        if let Some(What::Object(id)) = object.map(|object| &object.what)
            && let Some(object) = self.heap.objects.get_mut(*id)
            && place.kind == PlaceKind::Network
        {
            object.place = Some(place);
        }
    }
}

/// Whether a header of that name says who one is.
pub(super) fn signs_in(header: &Value) -> bool {
    let headers = [
        "authorization",
        "proxy-authorization",
        "x-api-key",
        "api-key",
        "x-auth-token",
        "x-goog-api-key",
        "private-token",
        "x-access-token",
    ];
    header.known().is_some_and(|name| headers.contains(&name.to_ascii_lowercase().as_str()))
}

/// The address of all interfaces and of this machine in one form each.
fn everywhere(address: &str) -> String {
    match address.rsplit_once(':') {
        Some(("" | "0.0.0.0" | "::" | "[::]", port)) => format!("0.0.0.0:{port}"),
        Some(("localhost", port)) => format!("127.0.0.1:{port}"),
        None if !address.is_empty() && address.bytes().all(|b| b.is_ascii_digit()) => {
            format!("0.0.0.0:{address}")
        }
        _ => address.to_owned(),
    }
}
