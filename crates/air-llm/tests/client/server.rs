//! A provider on loopback that does what a test tells it.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub head: String,
    pub body: String,
}

/// What is done with a request.
pub(crate) enum Reply {
    /// Status, further headers, body.
    Whole(u16, &'static str, String),
    /// Bytes as they are, then the end of the connection.
    Raw(String),
    /// Events, each on its own, then the end of the connection.
    Events(Vec<String>),
    /// Events, and then nothing for ever.
    Stall(Vec<String>),
    /// Events, and then a reset of the connection.
    Reset(Vec<String>),
    /// A body without an end.
    Endless,
    /// The end of the connection, at once.
    Drop,
    /// Nothing, for ever.
    Silence,
}

type Play = dyn Fn(usize, &Seen) -> Reply + Send + Sync;

pub(crate) struct Server {
    pub base: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// `play` is given the number of the request, from 0, and the request.
    pub(crate) fn start(play: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (all, play): (_, Arc<Play>) = (Arc::clone(&seen), Arc::new(play));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, play) = (Arc::clone(&all), Arc::clone(&play));
                thread::spawn(move || serve(stream, &all, &*play));
            }
        });
        Self { base, seen }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, all: &Mutex<Vec<Seen>>, play: &Play) {
    let Some(seen) = read(&mut stream) else { return };
    let number = {
        let mut all = all.lock().unwrap();
        all.push(seen.clone());
        all.len() - 1
    };
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type:";
    match play(number, &seen) {
        Reply::Whole(status, headers, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\n{headers}\r\n"
            );
            let _ = stream.write_all((head + &body).as_bytes());
        }
        Reply::Raw(bytes) => drop(stream.write_all(bytes.as_bytes())),
        Reply::Events(events) => tell(&mut stream, head, &events),
        Reply::Stall(events) => {
            tell(&mut stream, head, &events);
            wait_for_end(stream);
            return;
        }
        Reply::Reset(events) => {
            tell(&mut stream, head, &events);
            // Closing it now throws away what the client has not read, and says so.
            let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
            return;
        }
        Reply::Endless => {
            let _ = stream.write_all(format!("{head} application/json\r\n\r\n").as_bytes());
            let blanks = vec![b' '; 1 << 16];
            while stream.write_all(&blanks).is_ok() {}
        }
        Reply::Drop => {}
        Reply::Silence => {
            wait_for_end(stream);
            return;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn tell(stream: &mut TcpStream, head: &str, events: &[String]) {
    let _ = stream.write_all(format!("{head} text/event-stream\r\n\r\n").as_bytes());
    for event in events {
        let _ = stream.write_all(format!("data: {event}\n\n").as_bytes());
        let _ = stream.flush();
    }
}

/// Until the client goes away, and no longer than a test runs.
fn wait_for_end(mut stream: TcpStream) {
    let _ = stream.set_read_timeout(Some(Duration::from_mins(1)));
    let _ = stream.read(&mut [0]);
}

fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0usize) {
                return Some(Seen { head: head.to_owned(), body: body.to_owned() });
            }
        }
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
    }
}

/// An answer by Chat Completions.
pub(crate) fn said(text: &str) -> Reply {
    Reply::Whole(200, "", chat(text))
}

pub(crate) fn chat(text: &str) -> String {
    serde_json::json!({
        "id": "1", "object": "chat.completion", "model": "m-1",
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": { "role": "assistant", "content": text },
        }],
        "usage": { "prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100 },
    })
    .to_string()
}

pub(crate) fn piece(text: &str, end: Option<&str>) -> String {
    serde_json::json!({
        "id": "1", "object": "chat.completion.chunk", "model": "m-1",
        "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": end }],
    })
    .to_string()
}

/// A refusal in the form that most servers use.
pub(crate) fn refused(status: u16, headers: &'static str, message: &str) -> Reply {
    let body = serde_json::json!({ "error": { "message": message, "type": "x", "code": "x" } });
    Reply::Whole(status, headers, body.to_string())
}
