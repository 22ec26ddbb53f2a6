//! Whether the text of a rule speaks of the moment at which it is asked: a guardrail is asked before
//! the call and speaks of what is planned, an AIR rule after it and speaks of what has happened.

use std::sync::LazyLock;

use super::{
    Lint, RuleView,
    prose::{Phrases, Prose},
};
use crate::diagnostic::{Code, Severity};

static PAST: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(
        "has|have|had been
         has|have ?already _
         was|were copied|deleted|removed|created|written|sent|read|moved|changed|modified|executed|run|started|installed|uploaded|downloaded|posted|overwritten|opened|printed|leaked|exposed|added|killed|disabled|poured|put|placed|dropped|clicked
         after the step|call|command|tool|action ?has|was|ran|finished|returned
         agent|step|call|command|process|tool copied|deleted|removed|created|wrote|sent|moved|changed|modified|executed|ran|started|installed|uploaded|downloaded|posted|overwrote|opened|printed|leaked|exposed",
    )
});

static PLANNED: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(
        "plan suggests|says|proposes|intends|would|calls|involves|includes|mentions|asks|aims|describes|shows
         plan is to
         intends|plans|planning|wants|proposes|about|going|aims to
         agent|step|command|call|code|action|tool|it would|will",
    )
});

/// Words after which a part of a sentence speaks of a thing, not of the step.
const RELATIVE: [&str; 19] = [
    "that", "which", "who", "whose", "where", "when", "if", "unless", "until", "because",
    "although", "while", "before", "after", "since", "than", "as", "so", "without",
];

/// Words by which a text says that it is about what happened.
const ABOUT_THE_PAST: [&str; 8] = ["has", "have", "had", "was", "were", "been", "did", "left"];

/// Looks at the check of `rule`.
pub(super) fn look(rule: &RuleView<'_>, lint: &mut Lint<'_>) {
    let main = main_clause(&rule.check);
    if rule.is_guardrail() {
        // "The step deletes what was there": the verb is not in the main clause.
        let Some(found) = PAST.find(&main) else { return };
        let before = main.words.get(..found.start).unwrap_or_default();
        let planned = ["plan", "would", "will", "intends", "suggests", "about"];
        if before.iter().any(|word| planned.contains(&word.lower.as_str())) {
            return;
        }
        let span = main.span(found);
        let text = lint.quoted(&span);
        let message =
            format!("a guardrail is asked before the call, and {text} speaks of the past");
        let hint = "say what the plan or the call would do, as in `the plan suggests copying …`";
        lint.add(Severity::Warning, Code::PastInGuardrail, span, message, hint);
        return;
    }
    let reads_plan = rule.reads(air_core::fact::Root::Plan);
    if reads_plan || main.has(&ABOUT_THE_PAST) {
        return;
    }
    if let Some(found) = PLANNED.find(&main) {
        let span = main.span(found);
        let text = lint.quoted(&span);
        let message = format!("an AIR rule is asked after the call, and {text} speaks of plans");
        let hint = "say what is observed, as in `a file has been copied`; a guardrail (`block`, `ask` or `warn`) is about plans";
        lint.add(Severity::Warning, Code::PlanInAirRule, span, message, hint);
    }
}

/// The text without the parts that say more about a thing.
fn main_clause<'s>(prose: &Prose<'s>) -> Prose<'s> {
    let mut main = Prose::default();
    let mut within = false;
    for word in &prose.words {
        within = !word.first && (within || RELATIVE.contains(&word.lower.as_str()));
        if !within {
            main.words.push(super::prose::Word {
                text: word.text,
                lower: word.lower.clone(),
                span: word.span.clone(),
                first: word.first,
                last: word.last,
            });
        }
        within = within && !word.last;
    }
    main
}
