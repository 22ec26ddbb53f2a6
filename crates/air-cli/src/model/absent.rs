//! Models that settings or the environment name and that cannot be asked. What needs none goes on: what
//! an agent has done is contained, put back and let go without a key.

use std::sync::Arc;

use air::Minds;
use air_core::{
    outcome::Verdict,
    port::{BoxFuture, Judge, JudgeError},
    question::Inquiry,
};

use super::{Connected, ModelArgs, connect, micro_dollars, variable};
use crate::{context::Context, error::CliError, tell::plain};

/// The models of a command that does something without them as well.
#[derive(Debug, Default)]
pub struct Able {
    connected: Option<Connected>,
    minds: Minds,
}

/// A judge that cannot be asked: all that it would decide is undetermined.
struct Absent(Arc<str>);

impl Judge for Absent {
    fn judge(&self, _: Inquiry) -> BoxFuture<'static, Result<Vec<Verdict>, JudgeError>> {
        let why = self.0.to_string();
        Box::pin(async move { Err(JudgeError::Failed(why.into())) })
    }
}

impl Able {
    /// The models that flags, the environment and the settings name. Where no flag names one and none can
    /// be asked, it is told why, and a judge stands there that can tell nothing: the fail policy decides,
    /// as with any judge that fails.
    ///
    /// # Errors
    ///
    /// If a flag asks for what cannot be done.
    pub fn connect(args: &ModelArgs, context: &mut Context<'_>) -> Result<Self, CliError> {
        args.max_cost.map(micro_dollars).transpose()?;
        let files = args.record.as_ref().or(args.replay.as_ref()).is_some();
        let named = args.model.as_ref().or(args.judge_model.as_ref()).or(args.base_url.as_ref());
        match connect(args, context) {
            Ok(None) => Ok(Self::default()),
            Ok(Some(connected)) => {
                let minds = connected.minds();
                Ok(Self { connected: Some(connected), minds })
            }
            Err(error) if named.is_some() || files => Err(error),
            Err(error) => Self::absent(&error, context),
        }
    }

    fn absent(error: &CliError, context: &mut Context<'_>) -> Result<Self, CliError> {
        let why = plain(&error.to_string());
        let err = &mut context.streams.err;
        writeln!(err, "warning: no language model can be asked: {why}")?;
        writeln!(
            err,
            "hint: {}; until then, what only a judge can decide is undetermined",
            plain(error.hint().unwrap_or("see the settings"))
        )?;
        let settings = &context.config.models;
        let named = || variable("AIR_MODEL").or_else(|| settings.model.clone());
        let name = settings.judge_model.clone().or_else(named).unwrap_or_default();
        let judge = Arc::new(Absent(format!("no language model can be asked: {why}").into()));
        let minds = Minds {
            judge: Some(judge),
            about_judge: Some(format!("{name}: it could not be asked: {why}")),
            ..Minds::default()
        };
        Ok(Self { connected: None, minds })
    }

    /// As a session takes them.
    pub fn minds(&self) -> Minds {
        self.minds.clone()
    }

    /// Whether everything was recorded that was to be.
    ///
    /// # Errors
    ///
    /// What went wrong first.
    pub fn finish(&self) -> Result<(), CliError> {
        self.connected.as_ref().map_or(Ok(()), Connected::finish)
    }
}
