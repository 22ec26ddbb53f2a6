//! The agents that AIR ships: loops that plan, call a tool and observe.
//!
//! [`Agent`] does a task in one of two styles: ReAct (Yao et al., 2022) calls tools, `CodeAct` (Wang et al.,
//! 2024) writes code. It acts through [`Environment`] alone, which is where AIR stands. [`AgentResponder`] is
//! the same agent while it responds to its own incident.

mod agent;
mod blocks;
mod conversation;
mod responder;

pub use agent::{Acted, Agent, AgentError, Ended, Environment, Heard, Limits, Style};
pub use conversation::Conversation;
pub use responder::AgentResponder;
