//! Remediations that promise what nothing here can do.
//!
//! AIR restores files with `rollback`; everything else that a remediation promises needs a tool that
//! does it, named by a `call`.

use std::{ops::Range, sync::LazyLock};

use air_core::{
    fact::Root,
    rule::{ResponseAction, RuleKind},
};

use super::{Lint, RuleView, prose::Phrases, tools::AIRS_OWN};
use crate::diagnostic::{Code, Severity};

/// Bringing back what `rollback` brings back.
static RESTORE: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(
        "restore|restoring|recover|recovering|undelete|retrieve|reinstate|recreate ... file|files|data|directory|directories|folder|content|contents|database|backup|document|documents|record|records|table|tables|state|version
         restore|recover it|them
         restore ... deleted|lost|removed|overwritten|erased|original
         undelete _
         return|reset ... original|previous|prior state|condition|version
         put|bring|get ... back
         undo|revert|reverse|roll ... deletion|removal|change|changes|modification|overwrite|operation|action|damage|effects|back",
    )
});

/// What no tool can do for a file, a message or a person.
static IMPOSSIBLE: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(
        "unsend|un-send|unsending ?a|the|that ?message|email|mail|post
         retrieve ?the|that email|emails|message|messages|mail
         undo ?the|that upload|post|publication|disclosure|leak
         ensure|guarantee ?that no further|more|future damage|harm|incident|incidents
         recall|recalling|retract|retracting|withdraw|unpublish ... email|emails|message|messages|mail|mails|post|posts|request|requests|tweet|data
         delete|remove|erase ... recipient|recipients|recipient's|attacker|attacker's|receiver's|third ?party|parties|server|servers ?inbox|device|computer
         delete|remove|erase ... ?from ?the internet|caches
         copies|copy ... ?from the internet|web
         take|get ... back from|of ... recipient|attacker|internet|server
         revoke|revoking|invalidate ... key|keys|token|tokens|credential|credentials|password|passwords|secret|secrets|certificate|certificates|access|session|sessions
         undo|reverse|refund|cancel ... payment|transfer|transaction|purchase|order|wire
         ensure|guarantee|make ... never happens|happen|occurs|occur|again
         ensure|guarantee|make ?sure ?that nobody|no ...  seen|read|accessed|sees|noticed|copied
         repair|fix|restore|reassemble|unbreak|mend|reverse ?the|any broken|shattered|burnt|burned|damaged|spoiled|melted|explosion|fire
         as if ?it|nothing ?had never|happened
         completely|fully|perfectly restore|recover|undo|reverse|repair
         make|have ... forget
         prevent|stop ... from ever|all future
         prevent all|any future",
    )
});

/// Words that leave it to a person.
const TOLD: [&str; 16] = [
    "tell",
    "ask",
    "notify",
    "inform",
    "remind",
    "advise",
    "report",
    "request",
    "recommend",
    "alert",
    "escalate",
    "warn",
    "suggest",
    "contact",
    "instruct",
    "not",
];

/// Looks at `remediate` and `respond` of `rule`.
pub(super) fn look(rule: &RuleView<'_>, lint: &mut Lint<'_>) {
    let RuleKind::Incident { respond, .. } = &rule.rule.kind else { return };
    no_rollback(rule, respond, lint);
    if respond.iter().any(|action| matches!(action, ResponseAction::Call { .. })) {
        return;
    }
    if let Some(found) = promised(&IMPOSSIBLE, rule) {
        let span = rule.remediate.span(found);
        let message = format!("nothing here can do what is promised: {}", lint.quoted(&span));
        let hint = "say what can be done, as in `tell the user that …`, or name the tool that does it with `call` below `respond`";
        lint.add(Severity::Warning, Code::IdealizedRemediation, span, message, hint);
        return;
    }
    let Some(found) = promised(&RESTORE, rule) else { return };
    let span = rule.remediate.span(found);
    let rolls_back = respond.iter().any(|it| matches!(it, ResponseAction::Rollback));
    if !within_reach(rule) {
        let message = format!(
            "nothing here can do what is promised: {} is about a tool whose effects AIR cannot take back",
            lint.quoted(&span)
        );
        let hint =
            "name the tool that does it with `call` below `respond`, or say what can be done";
        lint.add(Severity::Warning, Code::IdealizedRemediation, span, message, hint);
    } else if respond.is_empty() {
        let message =
            format!("{} rests on what AIR does where a rule says nothing", lint.quoted(&span));
        let hint = "say it: `respond`, and `rollback` on the line below";
        lint.add(Severity::Note, Code::IdealizedRemediation, span, message, hint);
    } else if !rolls_back {
        let message = format!(
            "nothing here can do what is promised: {} needs `rollback`",
            lint.quoted(&span)
        );
        let hint = "add `rollback` below `respond`";
        lint.add(Severity::Warning, Code::IdealizedRemediation, span, message, hint);
    }
}

/// The words of the first phrase that the agent itself is to do.
fn promised(phrases: &Phrases, rule: &RuleView<'_>) -> Option<Range<usize>> {
    let found = phrases.find(&rule.remediate)?;
    let before = rule.remediate.words.get(..found.start)?;
    let sentence = before.iter().rposition(|word| word.last).map_or(0, |at| at + 1);
    let told = before.get(sentence..)?.iter().any(|word| TOLD.contains(&word.lower.as_str()));
    (!told).then_some(found)
}

/// Whether a tool of the rule works on what AIR can put back.
fn within_reach(rule: &RuleView<'_>) -> bool {
    AIRS_OWN.iter().any(|tool| rule.rule.trigger.matches(tool)) || rule.reads(Root::Effects)
}

fn no_rollback(rule: &RuleView<'_>, respond: &[ResponseAction], lint: &mut Lint<'_>) {
    let restores = |action: &ResponseAction| {
        matches!(action, ResponseAction::Rollback | ResponseAction::Call { .. })
    };
    if respond.is_empty() || respond.iter().any(restores) || !rule.files_change() {
        return;
    }
    let quarantined = respond.iter().any(|it| matches!(it, ResponseAction::Quarantine));
    if quarantined && rule.files_are_only_created() {
        return;
    }
    let span = rule.span(crate::syntax::keyword::Keyword::Respond);
    let message = "files are changed, and nothing puts them back";
    let hint = "add `rollback` below `respond`, or `quarantine` where files are only created";
    lint.add(Severity::Note, Code::NoRollback, span, message, hint);
}
