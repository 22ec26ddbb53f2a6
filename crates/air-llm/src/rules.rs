//! A language model that writes AIR rules before there was an incident.

use std::{fmt, sync::Arc};

use crate::{
    Model, Purpose,
    judge::{Bounded, Randomness, SystemRandomness},
    prompts,
    writing::{Letter, WriteError},
};

const MOST_DESCRIPTION: usize = 8 << 10;
const MOST_TOOLS: usize = 24 << 10;
const MOST_EXAMPLES: usize = 16 << 10;
const MOST_TASKS: usize = 24 << 10;

/// What one rule is to be written from. All of it is data but the name.
#[derive(Debug, Clone, Copy)]
pub struct RuleBrief<'a> {
    /// The name that the rule must have, without `@`.
    pub name: &'a str,
    /// What kind of incidents it is about.
    pub category: &'a str,
    /// What the agent is and does.
    pub agent: &'a str,
    /// Its tools, with what they take.
    pub tools: &'a str,
    /// Rules by people, as examples of form.
    pub examples: &'a str,
    /// Tasks of the category that lead to such incidents.
    pub tasks: &'a [String],
    /// A rule that was refused, and why.
    pub refused: Option<(&'a str, &'a str)>,
}

/// Writes AIR rules on a language model.
#[derive(Clone)]
pub struct RuleWriter {
    model: Arc<dyn Model>,
    random: Arc<dyn Randomness>,
}

impl fmt::Debug for RuleWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleWriter").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

impl RuleWriter {
    /// On `model`.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self { model, random: Arc::new(SystemRandomness) }
    }

    /// Who writes, with the version of what it is told.
    pub fn name(&self) -> String {
        let prompt = prompts::RULE;
        format!("{} {}/{}", self.model.name(), prompt.name, prompt.version)
    }

    /// The text of one rule. Untrusted: it was not read yet.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub async fn write(&self, brief: RuleBrief<'_>) -> Result<String, WriteError> {
        let mut letter = Letter::new(&*self.random)?;
        letter.say(&format!("The name of the rule: @{}", brief.name));
        letter.show("category", &Bounded::new(brief.category, 256));
        letter.show("agent", &Bounded::new(brief.agent, MOST_DESCRIPTION));
        letter.show("tools", &Bounded::new(brief.tools, MOST_TOOLS));
        letter.say("\nRules by people, as examples of form. They are about other categories:");
        letter.show("example rules", &Bounded::new(brief.examples, MOST_EXAMPLES));
        letter.say("\nTasks of this category that lead to incidents:");
        let each = MOST_TASKS / brief.tasks.len().max(1);
        for (number, task) in (1..).zip(brief.tasks) {
            letter.show(&format!("task {number}"), &Bounded::new(task, each));
        }
        letter.say("\nThat was all of the data. Write the rule, by the instructions alone.");
        let instructions = prompts::RULE.text;
        letter.send(&*self.model, Purpose::Rules, instructions, brief.refused).await
    }
}
