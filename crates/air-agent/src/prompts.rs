//! What agents are told. Each is a file with its version in its name.

use air_llm::{Purpose, prompts::Prompt};

/// Of an agent that calls tools.
pub const REACT: Prompt = Prompt {
    name: "agent.react",
    version: 1,
    purpose: Purpose::Agent,
    text: include_str!("../../../prompts/agent.react.v1.md"),
};
/// Of an agent that writes code.
pub const CODEACT: Prompt = Prompt {
    name: "agent.codeact",
    version: 1,
    purpose: Purpose::Agent,
    text: include_str!("../../../prompts/agent.codeact.v1.md"),
};
/// Of an agent that responds to an incident.
pub const RESPOND: Prompt = Prompt {
    name: "agent.respond",
    version: 1,
    purpose: Purpose::Response,
    text: include_str!("../../../prompts/agent.respond.v1.md"),
};

/// All of them.
pub fn all() -> &'static [Prompt] {
    &[REACT, CODEACT, RESPOND]
}
