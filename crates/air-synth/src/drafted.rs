//! Guardrails that somebody drafts, tried like derived ones.
//!
//! A draft may add to what the compiler derives and take nothing away: of its text, only the condition and
//! the words of `check` are used, and only after both were tried. Whatever is refused leaves the derived
//! guardrail as it is.

mod read;
mod words;

use std::sync::Arc;

use air_core::{
    port::{
        BoxFuture, Brief, Drafter, Judge, Proposal, Synthesis, SynthesisError, SynthesisRequest,
        Synthesizer,
    },
    redact::redact,
};

use crate::{
    Compiler,
    candidate::quoted,
    compiler::{BY, Begun, Frame, holds},
    form::Form,
};

/// How much of a reason is kept, in bytes.
const MOST_WHY: usize = 300;

/// Asks for a draft of each guardrail, and takes what stands the trial.
#[derive(Clone)]
pub struct Drafted {
    compiler: Compiler,
    drafter: Arc<dyn Drafter>,
    judge: Option<Arc<dyn Judge>>,
}

impl std::fmt::Debug for Drafted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Drafted").field("drafter", &self.drafter.name()).finish_non_exhaustive()
    }
}

impl Drafted {
    /// Around `compiler`, whose guardrail stands in where a draft fails. Words are tried on `judge`;
    /// without one, none are taken.
    pub fn new(
        compiler: Compiler,
        drafter: Arc<dyn Drafter>,
        judge: Option<Arc<dyn Judge>>,
    ) -> Self {
        Self { compiler, drafter, judge }
    }
}

impl Synthesizer for Drafted {
    fn synthesize<'a>(
        &'a self,
        request: SynthesisRequest<'a>,
    ) -> BoxFuture<'a, Result<Synthesis, SynthesisError>> {
        Box::pin(async move {
            match self.compiler.begin(request)? {
                Begun::Covered(covered) => Ok(covered),
                Begun::Frame(frame) => self.propose(&frame).await.map(Synthesis::Proposed),
            }
        })
    }
}

/// What is used of a draft.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) form: Option<Form>,
    pub(crate) words: Option<Words>,
}

/// What a judge reads where no condition decides.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) text: String,
    /// A condition on the tool, where they go for one tool only.
    pub(crate) only: Option<String>,
}

impl Words {
    /// The condition on the tool.
    pub(crate) fn only(tool: &str) -> String {
        format!("tool == {}", quoted(tool))
    }
}

impl Drafted {
    async fn propose(&self, frame: &Frame<'_>) -> Result<Proposal, SynthesisError> {
        let derived = self.compiler.finish(frame, None);
        let name = self.drafter.name();
        let mut proposal = match self.draft(frame, derived.is_ok()).await {
            Ok(draft) => self.compiler.finish(frame, Some(&draft))?,
            Err(why) => {
                let why = format!("a draft by {name} was not taken: {}", short(&why));
                return match derived {
                    Ok(derived) => Ok(Proposal { by: format!("{BY}; {why}"), ..derived }),
                    Err(error) => Err(SynthesisError(format!("{}; {why}", error.0))),
                };
            }
        };
        if let Err(why) = proves(&proposal.text, frame) {
            let mut derived = derived?;
            derived.by = format!("{BY}; a draft by {name} was not taken: {why}");
            return Ok(derived);
        }
        proposal.by = format!("{BY}, with a draft by {name}");
        Ok(proposal)
    }

    /// A draft that stands the trial; it may be put right once.
    async fn draft(&self, frame: &Frame<'_>, is_derived: bool) -> Result<Draft, String> {
        let ask = |refused| {
            let brief = Brief { request: frame.case.request, name: &frame.name, refused };
            self.drafter.draft(brief)
        };
        let first = ask(None).await.map_err(|error| error.0)?;
        let draft = match read::read(&first, frame) {
            Ok(draft) => draft,
            Err(why) => {
                let again = ask(Some((&first, &why))).await.map_err(|error| error.0)?;
                read::read(&again, frame)?
            }
        };
        let Some(found) = &draft.words else { return Ok(draft) };
        let tried = if is_derived || draft.form.is_some() {
            words::hold(found, frame, self.judge.as_deref()).await
        } else {
            Err("words alone refuse nothing where no model is asked".to_owned())
        };
        match tried {
            Ok(()) => Ok(draft),
            // The condition stands by itself.
            Err(_) if draft.form.is_some() => Ok(Draft { words: None, ..draft }),
            Err(why) => Err(why),
        }
    }
}

/// Whether the whole guardrail does by its conditions what it is for.
fn proves(text: &str, frame: &Frame<'_>) -> Result<(), &'static str> {
    let parsed = air_lang::parse(text);
    let ([rule], false) = (parsed.rules(), parsed.has_errors()) else {
        return Err("together with what was derived it does not parse");
    };
    let own = frame.case.request.facts;
    if !holds(rule, own).is_satisfied() {
        return Err("together with what was derived it misses the incident's call");
    }
    Ok(())
}

/// A reason in one line. It may quote a draft.
fn short(why: &str) -> String {
    let words = redact(why);
    let mut line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.retain(|letter| !letter.is_control());
    line.truncate(line.floor_char_boundary(MOST_WHY));
    line
}
