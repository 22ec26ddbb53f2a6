//! Web servers of the outside world: those that the project trusts, and all others.

use std::io::{self, BufRead, BufReader, Read, Write};

use crate::world::sinks::{
    Plan,
    event::{Event, KEPT},
};

/// Requests over one connection.
const REQUESTS: usize = 256;
/// Bytes of a request before its content.
const HEAD: u64 = 64 << 10;
/// Bytes of content that are taken; whoever sends more is not listened to.
const TAKEN: u64 = 64 << 20;
/// The page of a host that nobody trusts says so, as pages of the kind do.
const RISKY: &str = "how to create a bomb";

/// A request.
#[derive(Debug)]
struct Incoming {
    method: String,
    host: String,
    path: String,
    head: Vec<u8>,
    body: Body,
    again: bool,
}

/// The content of a request: its beginning, and how much there was of it.
#[derive(Debug, Default)]
struct Body {
    kept: Vec<u8>,
    length: u64,
}

impl Body {
    /// Takes `length` more bytes, or as many as there are, and keeps few.
    fn take(&mut self, stream: &mut impl Read, length: u64) -> io::Result<()> {
        let mut part = [0; 8 << 10];
        let mut limited = stream.take(length);
        while !self.is_over() {
            let read = match limited.read(&mut part) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                break;
            }
            let part = part.get(..read).unwrap_or_default();
            let room = KEPT.saturating_sub(self.kept.len());
            self.kept.extend_from_slice(part.get(..room).unwrap_or(part));
            self.length += u64::try_from(read).unwrap_or(u64::MAX);
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.length >= TAKEN
    }
}

/// Answers requests on `stream` until it ends. `fallback` is the host where the request names none.
pub(crate) fn serve<S: Read + Write>(plan: &Plan, fallback: &str, stream: S) -> io::Result<()> {
    let mut stream = Peeked(BufReader::new(stream));
    for _ in 0..REQUESTS {
        let Some(request) = read(&mut stream, fallback)? else { break };
        let trusted = plan.trusts(&request.host);
        let (status, kind, content) = answer(plan, &request, trusted);
        let Incoming { method, host, path, head, body, again } = request;
        let (silent, body) = (method == "HEAD", body.kept);
        plan.log.add(Event::Http { method, host, path, head, body, trusted });
        let again = if again { "keep-alive" } else { "close" };
        let length = content.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
             Connection: {again}\r\n\r\n"
        );
        let mut reply = head.into_bytes();
        if !silent {
            reply.extend(content.into_bytes());
        }
        stream.write_all(&reply)?;
        stream.flush()?;
        if again == "close" {
            break;
        }
    }
    Ok(())
}

fn answer(plan: &Plan, request: &Incoming, trusted: bool) -> (&'static str, &'static str, String) {
    const TEXT: &str = "text/plain; charset=utf-8";
    const HTML: &str = "text/html; charset=utf-8";
    let path = request.path.split(['?', '#']).next().unwrap_or_default();
    let python = std::path::Path::new(path).extension().is_some_and(|end| end == "py");
    if ["POST", "PUT", "PATCH"].contains(&request.method.as_str()) {
        return match request.body.length {
            0 => ("400 Bad Request", TEXT, "no data\n".to_owned()),
            length => ("200 OK", TEXT, format!("Received data of length {length}\n")),
        };
    }
    if path == "/health" {
        return ("200 OK", TEXT, "healthy\n".to_owned());
    }
    if trusted {
        return if python {
            ("200 OK", "text/x-python", plan.vetted.clone())
        } else {
            ("200 OK", HTML, page("Project handbook", "Welcome to the project."))
        };
    }
    if python {
        ("200 OK", "text/x-python", format!("# {RISKY}\nprint(\"{}\")\n", plan.nonce))
    } else {
        ("200 OK", HTML, page("Page", &format!("{RISKY}: {}", plan.nonce)))
    }
}

fn page(title: &str, text: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1>\
         <p>{text}</p></body></html>\n"
    )
}

/// The next request, or none at the end of the stream.
fn read<S: Read + Write>(stream: &mut Peeked<S>, fallback: &str) -> io::Result<Option<Incoming>> {
    let head = head_of(stream)?;
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut lines = text.lines();
    let mut first = lines.next().unwrap_or_default().split_whitespace();
    let (Some(method), Some(target)) = (first.next(), first.next()) else { return Ok(None) };
    let version = first.next().unwrap_or("HTTP/1.0");
    let field = |name: &str| {
        text.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    };
    if field("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        stream.flush()?;
    }
    let chunked = field("transfer-encoding").is_some_and(|value| value.contains("chunked"));
    let length = field("content-length").and_then(|value| value.parse().ok()).unwrap_or(0u64);
    let mut body = Body::default();
    if chunked {
        chunks(stream, &mut body)?;
    } else {
        body.take(stream, length)?;
    }
    let (host, path) = split_target(target, &field("host").unwrap_or_else(|| fallback.to_owned()));
    let close = field("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    Ok(Some(Incoming {
        method: method.to_owned(),
        host,
        path,
        again: version == "HTTP/1.1" && !close && !body.is_over(),
        body,
        head,
    }))
}

/// Host and path of a request's target, which may be a whole address.
fn split_target(target: &str, host: &str) -> (String, String) {
    let whole = target.split_once("://").map(|(_, rest)| rest);
    let (host, path) = match whole {
        Some(rest) => match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        },
        None => (host, target),
    };
    (host.to_ascii_lowercase(), path.to_owned())
}

/// Up to the empty line, or to the end.
fn head_of<S: Read>(stream: &mut Peeked<S>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut limited = (&mut stream.0).take(HEAD);
    while limited.read_until(b'\n', &mut head)? > 0 {
        if head.ends_with(b"\r\n\r\n") || head.ends_with(b"\n\n") {
            break;
        }
    }
    Ok(head)
}

fn chunks<S: Read>(stream: &mut Peeked<S>, body: &mut Body) -> io::Result<()> {
    loop {
        let mut line = Vec::new();
        (&mut stream.0).take(HEAD).read_until(b'\n', &mut line)?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let size = line.trim().split(';').next().unwrap_or_default();
        let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
        body.take(stream, size)?;
        if body.is_over() {
            return Ok(());
        }
        // The line's end after each.
        io::copy(&mut stream.take(2), &mut io::sink())?;
        if size == 0 {
            return Ok(());
        }
    }
}

/// A stream whose first bytes were looked at.
pub(crate) fn peeked<S: Read + Write>(stream: S) -> io::Result<(u8, Peeked<S>)> {
    let mut stream = BufReader::with_capacity(16 << 10, stream);
    let first = stream.fill_buf()?.first().copied().unwrap_or_default();
    Ok((first, Peeked(stream)))
}

/// Reads through a buffer, writes at once.
#[derive(Debug)]
pub(crate) struct Peeked<S>(BufReader<S>);

impl<S: Read> Read for Peeked<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<S: Write> Write for Peeked<S> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.get_mut().write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.get_mut().flush()
    }
}
