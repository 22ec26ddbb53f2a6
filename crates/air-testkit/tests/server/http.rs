//! A client of HTTP/1.1 that does what these tests need.

use std::{
    io::{self, BufRead, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use air_wire::{
    Answer, DecodeError, Delta, Dialect, Request, StreamDecoder, authorization, decode_answer,
    encode_request,
};

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// The body in the pieces in which it came, and the error that ended it too early.
    pub(crate) pieces: Vec<Vec<u8>>,
    pub(crate) broken: Option<io::Error>,
}

impl Reply {
    pub(crate) fn body(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// A request that may take five seconds. `base` is `http://host:port` and a path.
pub(crate) fn send(
    method: &str,
    base: &str,
    path: &str,
    headers: &[(&str, String)],
    body: &[u8],
    most: usize,
) -> io::Result<Reply> {
    let (host, root) = base.trim_start_matches("http://").split_at(host_end(base));
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "{method} {root}{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n")?;
    for (name, value) in headers {
        write!(stream, "{name}: {value}\r\n")?;
    }
    write!(stream, "content-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len())?;
    stream.write_all(body)?;
    let mut reader = BufReader::new(stream);
    let status = line(&mut reader)?;
    let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut headers = Vec::new();
    loop {
        let line = line(&mut reader)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut reply = Reply { status, headers, pieces: Vec::new(), broken: None };
    reply.broken = read_body(&mut reader, &mut reply, most).err();
    Ok(reply)
}

fn host_end(base: &str) -> usize {
    let rest = base.trim_start_matches("http://");
    rest.find('/').unwrap_or(rest.len())
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

fn read_body(reader: &mut impl BufRead, reply: &mut Reply, most: usize) -> io::Result<()> {
    let mut left = most;
    let mut take = |reader: &mut dyn BufRead, length: usize| -> io::Result<Vec<u8>> {
        left = left.checked_sub(length).ok_or(io::ErrorKind::FileTooLarge)?;
        let mut piece = vec![0; length];
        reader.read_exact(&mut piece)?;
        Ok(piece)
    };
    if reply.header("transfer-encoding") == Some("chunked") {
        loop {
            let size = line(reader)?;
            let size = usize::from_str_radix(&size, 16).map_err(io::Error::other)?;
            let piece = take(reader, size)?;
            line(reader)?;
            if size == 0 {
                return Ok(());
            }
            reply.pieces.push(piece);
        }
    }
    if let Some(length) = reply.header("content-length") {
        let length = length.parse().map_err(io::Error::other)?;
        reply.pieces.push(take(reader, length)?);
        return Ok(());
    }
    let mut rest = Vec::new();
    reader.take(most.try_into().unwrap_or(u64::MAX)).read_to_end(&mut rest)?;
    reply.pieces.push(rest);
    Ok(())
}

/// Sends a request in a dialect.
pub(crate) fn post(base: &str, dialect: Dialect, request: &Request) -> io::Result<Reply> {
    let encoded = encode_request(dialect, request);
    let mut headers: Vec<(&str, String)> = vec![authorization(dialect, "key")];
    headers.extend(encoded.headers.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let body = encoded.body.to_string();
    send("POST", base, &encoded.path, &headers, body.as_bytes(), 64 << 20)
}

/// The answer in a reply, and what is heard of it on the way.
pub(crate) fn read(
    dialect: Dialect,
    request: &Request,
    reply: &Reply,
) -> Result<(Answer, Vec<Delta>), DecodeError> {
    if !request.stream {
        return Ok((decode_answer(dialect, &reply.body())?, Vec::new()));
    }
    let mut decoder = StreamDecoder::new(dialect);
    let mut heard = Vec::new();
    for piece in &reply.pieces {
        heard.extend(decoder.push(piece)?);
    }
    Ok((decoder.finish()?, heard))
}

/// The answer to a request.
pub(crate) fn ask(base: &str, dialect: Dialect, request: &Request) -> Answer {
    let reply = post(base, dialect, request).expect("a reply");
    assert_eq!(reply.status, 200, "{dialect}: {}", String::from_utf8_lossy(&reply.body()));
    read(dialect, request, &reply).expect("an answer").0
}
