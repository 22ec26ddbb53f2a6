//! Gemini `generateContent`.

pub(crate) mod answer;
pub(crate) mod request;
mod signed;
pub(crate) mod stream;
