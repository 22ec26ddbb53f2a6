//! OpenAI Chat Completions.

pub(crate) mod answer;
pub(crate) mod request;
pub(crate) mod stream;
