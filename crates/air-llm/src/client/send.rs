//! One request, and what comes back.

use std::time::Duration;

use air_wire::{
    Answer, Request, StreamDecoder, authorization, decode_answer, decode_error, encode_request,
};
use reqwest::{
    Response,
    header::{CONTENT_TYPE, HeaderValue, LOCATION},
};
use serde_json::Value;

use super::{
    Inner,
    fault::{Fault, Kind},
    quirk::Quirks,
};
use crate::{deltas, model::Listener};

/// Longest error that is read, in bytes.
const ERROR_BYTES: u64 = 64_000;

/// What was sent, and why there is no answer to it.
pub(super) struct Refused {
    pub fault: Fault,
    pub body: Value,
}

impl Inner {
    /// Sends `request` once.
    pub(super) async fn send(
        &self,
        request: &Request,
        quirks: &Quirks,
        listener: Option<&Listener>,
    ) -> Result<Answer, Refused> {
        let mut encoded = encode_request(self.spec.dialect, &quirks.soften(request));
        quirks.rewrite(&mut encoded.body);
        let url = self.spec.address(&encoded.path);
        let mut post = self.line.http.post(url).body(encoded.body.to_string());
        post = post.header(CONTENT_TYPE, "application/json");
        for (name, value) in encoded.headers {
            post = post.header(name, value);
        }
        if let Some(key) = &self.line.key {
            let (name, value) = authorization(self.spec.dialect, key.text());
            if let Ok(mut value) = HeaderValue::from_str(&value) {
                value.set_sensitive(true);
                post = post.header(name, value);
            }
        }
        let received = match post.send().await {
            Ok(response) => self.receive(response, listener).await,
            Err(error) => Err(Fault::connection(error, self.spec.host())),
        };
        received.map_err(|fault| Refused { fault, body: encoded.body })
    }

    async fn receive(
        &self,
        response: Response,
        listener: Option<&Listener>,
    ) -> Result<Answer, Fault> {
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return self.stream(response, listener).await;
        }
        let mut body = Body::new(response, self.limits.answer_bytes, self.limits.idle);
        let mut bytes = Vec::new();
        while let Some(chunk) = body.next().await? {
            bytes.extend_from_slice(chunk.as_ref());
        }
        let answer = decode_answer(self.spec.dialect, &bytes)
            .map_err(|error| Fault::decoding(error, self.limits.answer_bytes))?;
        // It was to come in pieces, and came whole.
        if let Some(listener) = listener {
            for delta in &deltas::of(&answer) {
                listener(delta);
            }
        }
        Ok(answer)
    }

    async fn stream(
        &self,
        response: Response,
        listener: Option<&Listener>,
    ) -> Result<Answer, Fault> {
        let limit = self.limits.answer_bytes;
        let mut body = Body::new(response, limit, self.limits.idle);
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut decoder = StreamDecoder::new(self.spec.dialect).limit(most);
        let mut begun = false;
        // Whoever has heard a piece must not hear another beginning.
        let unread = |error, begun: bool| {
            let fault = Fault::decoding(error, limit);
            Fault { again: fault.again && !begun, ..fault }
        };
        while let Some(chunk) = body.next().await? {
            for delta in decoder.push(chunk.as_ref()).map_err(|error| unread(error, begun))? {
                begun = true;
                if let Some(listener) = listener {
                    listener(&delta);
                }
            }
        }
        decoder.finish().map_err(|error| unread(error, begun))
    }

    async fn refusal(&self, response: Response) -> Fault {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        if response.status().is_redirection() {
            let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
            let said = format!("it leads to {to}; give that as the base URL if it is right");
            return Fault::status(status, &headers, said, String::new());
        }
        let mut body = Body::new(response, ERROR_BYTES, self.limits.idle);
        let mut bytes = Vec::new();
        while let Ok(Some(chunk)) = body.next().await {
            bytes.extend_from_slice(chunk.as_ref());
        }
        let mut said = decode_error(self.spec.dialect, status, &bytes);
        if status == 404 && self.spec.lacks_version() {
            said.push_str("; does the base URL lack `/v1` at its end?");
        }
        let raw = String::from_utf8_lossy(&bytes).into_owned();
        Fault::status(status, &headers, said, raw)
    }
}

/// The bytes of an answer, as they come, no more than allowed.
struct Body {
    response: Response,
    limit: u64,
    left: u64,
    idle: Duration,
}

impl Body {
    fn new(response: Response, limit: u64, idle: Duration) -> Self {
        Self { response, limit, left: limit, idle }
    }

    /// The next piece. An answer has begun: nothing that goes wrong is tried again.
    async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Fault> {
        if self.response.content_length().is_some_and(|length| length > self.limit) {
            return Err(Fault::last(Kind::TooLong(self.limit)));
        }
        let chunk = match tokio::time::timeout(self.idle, self.response.chunk()).await {
            Err(_) => return Err(Fault::last(Kind::Idle(self.idle))),
            Ok(Err(error)) => {
                let host = self.response.url().host_str().unwrap_or_default().to_owned();
                return Err(Fault { again: false, ..Fault::connection(error, &host) });
            }
            Ok(Ok(chunk)) => chunk,
        };
        let Some(chunk) = chunk else { return Ok(None) };
        let length = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        match self.left.checked_sub(length) {
            Some(left) => self.left = left,
            None => return Err(Fault::last(Kind::TooLong(self.limit))),
        }
        Ok(Some(chunk))
    }
}
