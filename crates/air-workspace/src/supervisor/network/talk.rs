//! What a stream says, from its first bytes.

/// More than this is read without being understood.
pub(super) const HEAD_BYTES: usize = 64 << 10;

const REFUSAL: &str =
    "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n";
const REASON: &str = "The sandbox has no network: nothing was sent.\n";

/// What is to be done with a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Talk {
    /// It is not clear yet.
    Unclear,
    /// An HTTP request whose header is whole.
    Http(Http),
    /// A TLS handshake for this host.
    Tls(Option<String>),
    /// Anything else.
    Other,
}

/// How far a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Http {
    /// Bytes until its end, counted from its beginning; `None`: its chunks say so.
    pub(super) length: Option<u64>,
    /// Whether the sender waits until it may send the body.
    pub(super) asks_first: bool,
    is_head: bool,
}

impl Http {
    pub(super) fn reply(&self) -> Vec<u8> {
        let reason = if self.is_head { "" } else { REASON };
        format!("{REFUSAL}{reason}").into_bytes()
    }
}

/// Looks at the beginning of a stream.
pub(super) fn recognize(head: &[u8]) -> Talk {
    match head.first() {
        None => Talk::Unclear,
        Some(0x16) => tls(head),
        Some(first) if first.is_ascii_uppercase() => http(head),
        Some(_) => Talk::Other,
    }
}

fn http(head: &[u8]) -> Talk {
    let Some(line_end) = head.iter().position(|byte| *byte == b'\n') else {
        let may_be =
            head.len() < 16 << 10 && head.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\r'));
        return if may_be { Talk::Unclear } else { Talk::Other };
    };
    let line = head.get(..line_end).unwrap_or_default().trim_ascii_end();
    if !line.ends_with(b" HTTP/1.1") && !line.ends_with(b" HTTP/1.0") {
        return Talk::Other;
    }
    let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if head.len() < HEAD_BYTES { Talk::Unclear } else { Talk::Other };
    };
    let header = String::from_utf8_lossy(head.get(..end).unwrap_or_default()).to_ascii_lowercase();
    let field = |name: &str| {
        header.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then_some(value.trim())
        })
    };
    let body = field("content-length").and_then(|length| length.parse::<u64>().ok());
    let chunked = field("transfer-encoding").is_some_and(|how| how.ends_with("chunked"));
    let header_bytes = u64::try_from(end + 4).unwrap_or(u64::MAX);
    let length = (!chunked).then(|| header_bytes.saturating_add(body.unwrap_or(0)));
    let asks_first = field("expect") == Some("100-continue");
    Talk::Http(Http { length, asks_first, is_head: header.starts_with("head ") })
}

fn tls(head: &[u8]) -> Talk {
    let [_, 3, _, high, low, ..] = *head else {
        return if head.len() < 5 { Talk::Unclear } else { Talk::Other };
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let Some(record) = head.get(5..5 + length) else { return Talk::Unclear };
    Talk::Tls(server_name(record))
}

/// The host that a `ClientHello` asks for.
fn server_name(record: &[u8]) -> Option<String> {
    let mut hello = Bytes(record);
    // Kind, length, version, random.
    if hello.take(4)?.first() != Some(&1) {
        return None;
    }
    hello.take(34)?;
    let session = hello.byte()?;
    hello.take(session.into())?;
    let ciphers = hello.short()?;
    hello.take(ciphers.into())?;
    let compressions = hello.byte()?;
    hello.take(compressions.into())?;
    hello.short()?;
    loop {
        let kind = hello.short()?;
        let length = hello.short()?;
        let mut extension = Bytes(hello.take(length.into())?);
        if kind == 0 {
            extension.take(3)?;
            let length = extension.short()?;
            let name = extension.take(length.into())?;
            return Some(name.escape_ascii().to_string().to_ascii_lowercase());
        }
    }
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn short(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|two| u16::from_be_bytes(*two))
    }
}
