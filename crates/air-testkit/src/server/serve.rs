//! Requests in, replies out.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use air_wire::{
    Answer, Dialect, Part, Pieces, Usage, decode_request, dialect_of, encode_answer, encode_error,
    encode_stream, sse::Event,
};
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{ConnectInfo, Request, State},
    http::{HeaderMap, Method, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    connection::{Gate, Line},
    reply::{Reply, What},
    script::{Progress, Script},
    seen::Seen,
};

/// The longest request that is read, in bytes.
const MOST: usize = 256 << 20;

/// Headers that hold keys, and what stands before the key.
const KEYS: [(&str, &str); 3] =
    [("authorization", "Bearer "), ("x-api-key", ""), ("x-goog-api-key", "")];

/// What stands for the text of an answer whose text is made while it is sent.
const FILLING: &str = "@filling@";

pub(super) struct Shared {
    script: Script,
    state: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    progress: Progress,
    seen: Vec<Arc<Seen>>,
    refused: usize,
}

impl Shared {
    pub(super) fn new(script: Script) -> Self {
        Self { script, state: Mutex::default() }
    }

    pub(super) fn seen(&self) -> Vec<Arc<Seen>> {
        self.held().seen.clone()
    }

    pub(super) fn refused(&self) -> usize {
        self.held().refused
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn run(listener: TcpListener, shared: Arc<Shared>) {
    let service = Router::new().fallback(answer).with_state(shared);
    let service = service.into_make_service_with_connect_info::<Line>();
    // It ends with the runtime only.
    let _ = axum::serve(Gate(listener), service).await;
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    if head.method == Method::GET && path.ends_with("/models") {
        return reply_json(200, &models());
    }
    let dialect = dialect_of(&path).filter(|_| head.method == Method::POST);
    let Some(dialect) = dialect else {
        return reply_json(404, &encode_error(Dialect::OpenAiChat, 404, "no such path"));
    };
    let refuse = |status: u16, why: &str| {
        shared.held().refused += 1;
        reply_json(status, &encode_error(dialect, status, why))
    };
    if !has_key(&head.headers, shared.script.key.as_deref()) {
        return refuse(401, "this key is not known");
    }
    let Ok(raw) = to_bytes(body, MOST).await else {
        return refuse(413, "the request is too long");
    };
    let body: Value = match serde_json::from_slice(&raw) {
        Ok(body) => body,
        Err(error) => return refuse(400, &error.to_string()),
    };
    let request = match decode_request(dialect, &path, &body) {
        Ok(request) => request,
        Err(error) => return refuse(400, &error.to_string()),
    };
    let headers = open_headers(&head.headers);
    let (seen, replies) = {
        let mut held = shared.held();
        let number = held.seen.len();
        let seen = Arc::new(Seen { number, path, dialect, request, body, raw, headers });
        held.seen.push(Arc::clone(&seen));
        (Arc::clone(&seen), shared.script.choose(&mut held.progress, &seen))
    };
    let reply = replies(&seen);
    let delay = reply.delay.saturating_add(shared.script.latency);
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    respond(reply, &seen, line).await
}

/// What clients list models from.
fn models() -> Value {
    let model = json!({
        "id": "scripted", "object": "model", "created": 0, "owned_by": "air", "type": "model",
        "display_name": "scripted", "created_at": "2026-01-01T00:00:00Z",
    });
    let name = json!({ "name": "models/scripted", "displayName": "scripted" });
    json!({ "object": "list", "data": [model], "has_more": false, "models": [name] })
}

fn has_key(headers: &HeaderMap, key: Option<&str>) -> bool {
    let Some(key) = key else { return true };
    KEYS.iter().any(|(name, before)| {
        let given = headers.get(*name).and_then(|value| value.to_str().ok());
        given.and_then(|given| given.strip_prefix(before)) == Some(key)
    })
}

fn open_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let open = headers.iter().filter(|(name, _)| !KEYS.iter().any(|(key, _)| name == key));
    open.map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    })
    .collect()
}

async fn respond(reply: Reply, seen: &Seen, line: Line) -> Response {
    let dialect = seen.dialect;
    let answer = match reply.what.clone() {
        What::Never => std::future::pending().await,
        What::Reset => {
            line.cut();
            return StatusCode::OK.into_response();
        }
        What::Raw { status, content_type, body } => {
            let chunks = stream::iter(halves(&body).map(Ok));
            return respond_with(status, content_type, cut(chunks, reply.reset_after, line));
        }
        What::Error { status, headers, message, body } => {
            let body = body.unwrap_or_else(|| encode_error(dialect, status, &message));
            let mut response = reply_json(status, &body);
            for (name, value) in headers {
                if let (Ok(name), Ok(value)) =
                    (axum::http::HeaderName::try_from(name), value.try_into())
                {
                    response.headers_mut().insert(name, value);
                }
            }
            return response;
        }
        What::Size(bytes) => return large(bytes, seen),
        What::Answer(answer) => filled(answer, seen),
    };
    if !seen.request.stream {
        let mut body = encode_answer(dialect, &answer);
        if let Some(edit) = &reply.edit {
            edit(&mut body);
        }
        let Some(_) = reply.reset_after else { return reply_json(200, &body) };
        let body = Bytes::from(body.to_string());
        let chunks = stream::iter(halves(&body).map(Ok));
        return respond_with(200, "application/json", cut(chunks, Some(1), line));
    }
    let usage = wants_usage(seen);
    let mut events = encode_stream(dialect, &answer, Pieces { most: reply.piece, usage });
    if let Some(edit) = &reply.edit {
        for event in &mut events {
            edited(event, edit.as_ref());
        }
    }
    let pace = reply.pace;
    let chunks = stream::iter(events).then(move |event| async move {
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        Ok(Bytes::from(event.to_string()))
    });
    respond_with(200, "text/event-stream", cut(chunks, reply.reset_after, line))
}

fn edited(event: &mut Event, edit: &dyn Fn(&mut Value)) {
    if let Ok(mut value) = serde_json::from_str(&event.data) {
        edit(&mut value);
        event.data = value.to_string();
    }
}

fn wants_usage(seen: &Seen) -> bool {
    seen.body.pointer("/stream_options/include_usage").and_then(Value::as_bool).unwrap_or_default()
}

/// The answer with what the script leaves open.
fn filled(mut answer: Answer, seen: &Seen) -> Answer {
    if answer.model.is_empty() {
        answer.model.clone_from(&seen.request.model);
    }
    let mut calls = 0;
    for part in &mut answer.parts {
        if let Part::ToolCall(call) = part {
            if call.id.is_empty() {
                call.id = format!("call_{}_{calls}", seen.number);
            }
            calls += 1;
        }
    }
    if calls > 0 && answer.stop == air_wire::Stop::End {
        answer.stop = air_wire::Stop::ToolUse;
    }
    if answer.usage == Usage::default() {
        let said: usize = answer.text().len()
            + answer.calls().map(|call| call.name.len() + call.arguments.len()).sum::<usize>();
        answer.usage.input = tokens(seen.text().len());
        answer.usage.output = tokens(said);
    }
    if seen.request.top_logprobs.is_none() {
        answer.probabilities.clear();
    }
    answer
}

/// About so many tokens are in so many bytes.
fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes / 4 + 1).unwrap_or(u64::MAX)
}

/// A text too large to be made before it is sent.
fn large(bytes: usize, seen: &Seen) -> Response {
    let parts = vec![Part::Text(FILLING.to_owned())];
    let answer = filled(Answer { parts, ..Answer::default() }, seen);
    let (kind, whole) = if seen.request.stream {
        let usage = wants_usage(seen);
        let events = encode_stream(seen.dialect, &answer, Pieces { most: usize::MAX, usage });
        let events: String = events.iter().map(ToString::to_string).collect();
        ("text/event-stream", events)
    } else {
        ("application/json", encode_answer(seen.dialect, &answer).to_string())
    };
    let chunk = Bytes::from("x".repeat(64 << 10));
    let times = bytes.div_ceil(chunk.len());
    let (before, after) = whole.rsplit_once(FILLING).unwrap_or((whole.as_str(), ""));
    // In a stream all of the text is one event. Where it is said several times, the last time counts.
    let (before, after) = (Bytes::from(before.replace(FILLING, "")), Bytes::from(after.to_owned()));
    let filling = std::iter::repeat_n(chunk, times);
    let chunks = std::iter::once(before).chain(filling).chain(std::iter::once(after));
    respond_with(200, kind, stream::iter(chunks.map(io::Result::Ok)))
}

fn halves(body: &Bytes) -> impl Iterator<Item = Bytes> + use<> {
    let half = body.len() / 2;
    [body.slice(..half), body.slice(half..)].into_iter()
}

/// The first so many chunks, and then a reset.
fn cut(
    chunks: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    after: Option<usize>,
    line: Line,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let reset = stream::once(async move {
        // What was said before goes out while this waits.
        tokio::time::sleep(Duration::from_millis(5)).await;
        line.cut();
        Err(io::ErrorKind::ConnectionReset.into())
    });
    let reset = reset.take(usize::from(after.is_some()));
    chunks.take(after.unwrap_or(usize::MAX)).chain(reset)
}

fn respond_with(
    status: u16,
    content_type: &'static str,
    chunks: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, content_type)], Body::from_stream(chunks)).into_response()
}

fn reply_json(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
