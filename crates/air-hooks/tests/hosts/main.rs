//! Each host's payloads as events, and answers as each host takes them.

#[cfg(test)]
mod accepted;
#[cfg(test)]
mod captured;
mod decode;
mod encode;
#[cfg(test)]
mod native;
#[cfg(test)]
mod story;
mod tolerance;
