//! What is said to a language model and what it answers, in four dialects.
//!
//! The types here are neutral; [`Dialect`] names the wire formats. Everything is sans-I/O: a client
//! encodes requests and decodes answers and streams, a server does the reverse, and both share these
//! codecs, so that what a provider does oddly is known in one place.
//!
//! Whatever is decoded is untrusted: sizes are the caller's to bound, and nothing here panics on it.

mod answer;
mod request;

pub use answer::{Answer, Delta, Stop, TokenProbability, Usage};
pub use request::{Dialect, Message, Part, Request, Role, Schema, Tool, ToolCall, ToolChoice};
