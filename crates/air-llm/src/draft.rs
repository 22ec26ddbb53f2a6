//! A language model that drafts guardrails. Whether a draft is taken is decided by whoever asked.

use std::{fmt, sync::Arc};

use air_core::{
    fact::{Facts, Root},
    port::{BoxFuture, Brief, DraftError, Drafter},
    question::{Inquiry, QuestionKind},
    value::Value,
};

use crate::{
    JudgeSettings, Model, Purpose,
    judge::{Bounded, Data, Randomness, SystemRandomness},
    prompts,
    writing::{Letter, WriteError},
};

/// How much of the incident's rule is shown, in bytes.
const MOST_RULE: usize = 8 << 10;
/// All data of one request, in bytes.
const MOST_DATA: usize = 48 << 10;

/// Drafts guardrails on a language model.
#[derive(Clone)]
pub struct ModelDrafter {
    model: Arc<dyn Model>,
    random: Arc<dyn Randomness>,
}

impl fmt::Debug for ModelDrafter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelDrafter").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

impl ModelDrafter {
    /// On `model`.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self::with_randomness(model, Arc::new(SystemRandomness))
    }

    /// The same, with randomness from elsewhere than the system.
    pub fn with_randomness(model: Arc<dyn Model>, random: Arc<dyn Randomness>) -> Self {
        Self { model, random }
    }
}

impl Drafter for ModelDrafter {
    fn name(&self) -> String {
        let prompt = prompts::GUARDRAIL;
        format!("{} {}/{}", self.model.name(), prompt.name, prompt.version)
    }

    fn draft<'a>(&'a self, brief: Brief<'a>) -> BoxFuture<'a, Result<String, DraftError>> {
        Box::pin(async move {
            let letter = letter(&brief, &*self.random).map_err(failed)?;
            let instructions = prompts::GUARDRAIL.text;
            let sent = letter.send(&*self.model, Purpose::Synthesis, instructions, brief.refused);
            sent.await.map_err(failed)
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn failed(error: WriteError) -> DraftError {
    DraftError(error.to_string())
}

fn letter(brief: &Brief<'_>, random: &dyn Randomness) -> Result<Letter, WriteError> {
    let rule = brief.request.rule;
    let mut letter = Letter::new(random)?;
    letter.say(&format!("The name of the guardrail: @{}", brief.name));
    let trigger = rule.trigger.patterns().join(", ");
    letter.say(&format!("The trigger of the rule that found the incident: {trigger}"));
    letter.say("\nThat rule, for what counts as harm:");
    letter.show("rule", &Bounded::new(&rule.source, MOST_RULE));
    letter.say("\nThe step that led to the incident:");
    let settings = JudgeSettings { data_bytes: MOST_DATA, ..JudgeSettings::default() };
    let inquiry = Inquiry {
        kind: QuestionKind::Happened,
        rules: Vec::new(),
        facts: observed(brief),
        images: Vec::new(),
        look: None,
    };
    for part in Data::new(&inquiry, &settings).sections {
        letter.show(part.name, &part.text);
    }
    letter.say("\nThat was all of the data. Write the guardrail, by the instructions alone.");
    Ok(letter)
}

/// What was known before the step, and what was observed after it.
fn observed(brief: &Brief<'_>) -> Facts {
    let request = &brief.request;
    let facts = request.facts.clone();
    let effects = request.effects.to_value(facts.labels());
    let facts = facts.with(Root::Effects, effects);
    let Some(seen) = &request.step.observation else { return facts };
    let error = seen.error.as_deref().map_or(Value::Null, Value::from);
    facts.with(Root::Output, Value::from(seen.content.as_str())).with(Root::Error, error)
}
