//! What agents are told. Each is a file with its version in its name.

/// Of an agent that calls tools: version 1.
pub const REACT: &str = include_str!("../../../prompts/agent.react.v1.md");
/// Of an agent that writes code: version 1.
pub const CODEACT: &str = include_str!("../../../prompts/agent.codeact.v1.md");
/// Of an agent that responds to an incident: version 1.
pub const RESPOND: &str = include_str!("../../../prompts/agent.respond.v1.md");
