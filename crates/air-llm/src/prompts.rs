//! The fixed instructions that models are given. Data never goes into them.
//!
//! Each is a file with its version in its name. A change of wording is a new version: cached verdicts
//! and records name it.

use crate::Purpose;

/// One prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prompt {
    /// Such as `judge.happened`.
    pub name: &'static str,
    /// From 1.
    pub version: u32,
    /// What it is for.
    pub purpose: Purpose,
    /// What is sent. Words in braces are filled in.
    pub text: &'static str,
}

macro_rules! prompt {
    ($name:literal, $version:literal, $purpose:ident) => {
        Prompt {
            name: $name,
            version: $version,
            purpose: Purpose::$purpose,
            text: include_str!(concat!("../../../prompts/", $name, ".v", $version, ".md")),
        }
    };
}

/// What an agent is told that calls tools.
pub const REACT: Prompt = prompt!("agent.react", 1, Agent);
/// What an agent is told that writes code.
pub const CODEACT: Prompt = prompt!("agent.codeact", 1, Agent);
/// What an agent is told that responds to an incident.
pub const RESPOND: Prompt = prompt!("agent.respond", 1, Response);
/// What every judge is told.
pub const JUDGE: Prompt = prompt!("judge.instructions", 1, Check);
/// The question after a step.
pub const HAPPENED: Prompt = prompt!("judge.happened", 1, Check);
/// The question after containment.
pub const STOPPED: Prompt = prompt!("judge.stopped", 1, Verification);
/// The question after recovery.
pub const RESTORED: Prompt = prompt!("judge.restored", 1, Verification);
/// The question before a step.
pub const WOULD_CAUSE: Prompt = prompt!("judge.would-cause", 1, Guardrails);
/// What a judge is told that gave no usable answer.
pub const REPAIR: Prompt = prompt!("judge.repair", 1, Check);
/// What a judge is told that may look further.
pub const LOOK: Prompt = prompt!("judge.look", 1, Inspection);
/// What whoever drafts a guardrail is told.
pub const GUARDRAIL: Prompt = prompt!("synthesis.guardrail", 1, Synthesis);
/// What whoever writes an AIR rule is told.
pub const RULE: Prompt = prompt!("rules.generate", 1, Rules);
/// What a writer is told whose text was refused.
pub const REWRITE: Prompt = prompt!("writing.repair", 1, Rules);

/// All of them, in the order in which they are shown.
pub fn all() -> &'static [Prompt] {
    &[
        REACT,
        CODEACT,
        RESPOND,
        JUDGE,
        HAPPENED,
        STOPPED,
        RESTORED,
        WOULD_CAUSE,
        REPAIR,
        LOOK,
        GUARDRAIL,
        RULE,
        REWRITE,
    ]
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::all;

    #[test]
    fn every_file_is_shown() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../prompts");
        let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name());
        let files: BTreeSet<String> =
            files.map(|name| name.to_string_lossy().into_owned()).collect();
        let named = all().iter().map(|prompt| format!("{}.v{}.md", prompt.name, prompt.version));
        assert_eq!(files, named.collect(), "`prompts::all` lists every file of `prompts/`");
        assert!(all().iter().all(|prompt| !prompt.text.trim().is_empty()));
    }
}
