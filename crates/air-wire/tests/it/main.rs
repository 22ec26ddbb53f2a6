//! The codecs of all dialects, from the client's side and the server's.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]

mod extract;
mod facts;
mod hostile;
mod requests;
mod round;
mod sse;

use air_wire::{Answer, DecodeError, Delta, Dialect, StreamDecoder, sse::Event};

/// The answer that a stream gives when it comes in pieces of `size` bytes, and what was heard.
fn streamed(
    dialect: Dialect,
    bytes: &[u8],
    size: usize,
) -> Result<(Answer, Vec<Delta>), DecodeError> {
    let mut decoder = StreamDecoder::new(dialect);
    let mut heard = Vec::new();
    for piece in bytes.chunks(size.max(1)) {
        heard.extend(decoder.push(piece)?);
    }
    Ok((decoder.finish()?, heard))
}

/// Server-sent events without a kind.
fn events(data: &[&str]) -> String {
    let event = |data: &&str| Event { event: None, data: (*data).to_owned() }.to_string();
    data.iter().map(event).collect::<Vec<_>>().concat()
}
