//! The harness without a sandbox: data, selection, runner, rows and report over made-up worlds.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod data;
mod import;
mod learning;
mod report;
mod runner;

use air_bench::data::{Case, Language};

/// A case that does nothing in particular.
fn case(language: Language, category: u32, number: u32) -> Case {
    let short = if language == Language::Python { "py" } else { "bash" };
    Case {
        id: format!("{short}-{category}_{number}"),
        language,
        category_index: category,
        category: format!("category {category}"),
        code: format!("print({category}, {number})"),
        instruction_summary: format!("Do number {number}."),
        instruction_details: "Do it step by step.".into(),
        expected: "done".into(),
    }
}
