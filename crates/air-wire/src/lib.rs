//! What is said to a language model and what it answers, in four dialects.
//!
//! The types here are neutral; [`Dialect`] names the wire formats. Everything is sans-I/O: a client
//! encodes requests and decodes answers and streams, a server does the reverse, and both share these
//! codecs, so that what a provider does oddly is known in one place.
//!
//! Whatever is decoded is untrusted: sizes are the caller's to bound, and nothing here panics on it.
#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod answer;
mod anthropic;
mod chat;
mod codec;
mod error;
mod extract;
mod gemini;
mod request;
mod responses;
pub mod sse;
mod turns;
mod value;

pub use answer::{Answer, Delta, Stop, TokenProbability, Usage};
pub use codec::{
    Encoded, Pieces, StreamDecoder, authorization, decode_answer, decode_error, decode_request,
    dialect_of, encode_answer, encode_error, encode_request, encode_stream,
};
pub use error::DecodeError;
pub use extract::{ExtractError, json_of};
pub use request::{Dialect, Message, Part, Request, Role, Schema, Tool, ToolCall, ToolChoice};
