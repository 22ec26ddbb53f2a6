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
    &[JUDGE, HAPPENED, STOPPED, RESTORED, WOULD_CAUSE, REPAIR, LOOK, GUARDRAIL, RULE, REWRITE]
}
