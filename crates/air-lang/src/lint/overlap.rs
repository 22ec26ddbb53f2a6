//! Rules that say what another rule says.
//!
//! Duplicates are found by their form, in one pass. A rule that another one covers is looked for only
//! among rules that share a part with it, so that large sets stay quick; what that costs is bounded.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use air_core::rule::{ResponseAction, Rule, RuleKind, Trigger, glob};

use super::{
    RuleView,
    formula::{Formula, Relation, Test},
    logic::{Fuel, implies},
};
use crate::{
    diagnostic::{Code, Severity, Sink, quoted},
    syntax::keyword::Keyword,
};

/// Rules that one rule is compared with.
const MOST_COMPARED: usize = 64;
/// Steps that are spent on all comparisons.
const STEPS: u32 = 4_000_000;

/// What makes two rules the same: when they are asked, of which tools, and what is asked.
#[derive(PartialEq, Eq, Hash)]
struct Key<'r> {
    guardrail: bool,
    tools: Vec<&'r str>,
    formulas: &'r [(Keyword, Formula)],
    /// What a model is asked, where no condition is final.
    text: Option<Vec<&'r str>>,
}

/// Looks at all rules of a set, each with the index of its file.
pub(super) fn look(rules: &[(usize, RuleView<'_>)], files: &[&str], sinks: &mut [Sink]) {
    let mut first: HashMap<Key<'_>, usize> = HashMap::new();
    let mut kept = Vec::new();
    let mut pairs = Pairs { rules, files, sinks };
    for (at, (_, rule)) in rules.iter().enumerate() {
        if let Some(other) = first.get(&key(rule)) {
            pairs.duplicate(at, *other);
        } else {
            first.insert(key(rule), at);
            kept.push(at);
        }
    }
    let candidates: Vec<(usize, &Formula)> = kept
        .into_iter()
        .filter_map(|at| Some((at, rules.get(at)?.1.formula(Keyword::Decide)?)))
        .filter(|(_, formula)| !matches!(formula, Formula::Const(false)))
        .collect();
    covered(&candidates, &mut pairs);
}

fn key<'r>(rule: &'r RuleView<'_>) -> Key<'r> {
    let mut tools: Vec<&str> = rule.rule.trigger.patterns().iter().map(|it| &**it).collect();
    tools.sort_unstable();
    tools.dedup();
    let decided = rule.formula(Keyword::Decide).is_some();
    let words = || rule.check.words.iter().map(|word| word.lower.as_str()).collect();
    let text = (!decided).then(words);
    Key { guardrail: rule.is_guardrail(), tools, formulas: &rule.formulas, text }
}

/// Reports each rule that another one covers.
fn covered(candidates: &[(usize, &Formula)], pairs: &mut Pairs<'_, '_>) {
    // A rule that covers another shares each of its parts. It is found by the rarest.
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for (_, formula) in candidates {
        for part in ways(formula).iter().flat_map(parts).flatten() {
            *counts.entry(part).or_default() += 1;
        }
    }
    let common = |part: &Vec<u64>| part.iter().filter_map(|it| counts.get(it)).sum::<usize>();
    let mut by_part: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, (_, formula)) in candidates.iter().enumerate() {
        for way in ways(formula) {
            for part in parts(way).into_iter().min_by_key(common).into_iter().flatten() {
                by_part.entry(part).or_default().push(at);
            }
        }
    }
    let mut fuel = Fuel::new(STEPS);
    let mut cut_off = false;
    for (rule, formula) in candidates {
        let mut compared = Vec::new();
        let own = ways(formula).first().map(parts).unwrap_or_default().into_iter().flatten();
        for other in own.filter_map(|part| by_part.get(&part)).flatten() {
            let Some((wider, wide)) = candidates.get(*other) else { continue };
            if wider == rule || compared.contains(other) {
                continue;
            }
            if compared.len() == MOST_COMPARED || fuel.is_empty() {
                cut_off = true;
                break;
            }
            compared.push(*other);
            if pairs.adds_nothing(*rule, *wider) && implies(formula, wide, &mut fuel) {
                pairs.subsumed(*rule, *wider);
                break;
            }
        }
    }
    if cut_off {
        pairs.not_all_compared();
    }
}

/// The ways in which a condition can be true.
fn ways(formula: &Formula) -> &[Formula] {
    match formula {
        Formula::Or(ways) => ways,
        other => std::slice::from_ref(other),
    }
}

/// What a condition asks for: each part as the digests of the ways in which it can be true.
fn parts(formula: &Formula) -> Vec<Vec<u64>> {
    let mut found = Vec::new();
    for conjunct in formula.conjuncts() {
        match conjunct {
            Formula::Loop { every, range, body } => {
                let inner = body.conjuncts().iter();
                found.extend(inner.map(|it| digests(Some((*every, range)), it)));
            }
            other => found.push(digests(None, other)),
        }
    }
    found
}

fn digests(within: Option<(bool, &Arc<str>)>, part: &Formula) -> Vec<u64> {
    let digest = |it: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        within.hash(&mut hasher);
        it(&mut hasher);
        hasher.finish()
    };
    let mut found = Vec::new();
    for way in ways(part) {
        match way {
            // One of several values is one of fewer.
            Formula::Test(Test { term, relation: Relation::Is(values), holds: true }) => {
                found.extend(values.iter().map(|it| digest(&|hasher| (term, it).hash(hasher))));
            }
            other => found.push(digest(&|hasher| other.hash(hasher))),
        }
    }
    found
}

/// Whether every call that activates `narrow` activates `wide`.
fn covers(wide: &Trigger, narrow: &Trigger) -> bool {
    // The `*` of a pattern is a character to the other, which only another `*` covers.
    narrow.patterns().iter().all(|tool| wide.patterns().iter().any(|it| glob(it, tool)))
}

struct Pairs<'p, 's> {
    rules: &'p [(usize, RuleView<'s>)],
    files: &'p [&'p str],
    sinks: &'p mut [Sink],
}

impl Pairs<'_, '_> {
    fn rule(&self, at: usize) -> Option<&Rule> {
        self.rules.get(at).map(|(_, rule)| rule.rule)
    }

    /// Whether nothing is lost without `rule` where `wider` holds.
    fn adds_nothing(&self, rule: usize, wider: usize) -> bool {
        let (Some(rule), Some(wider)) = (self.rule(rule), self.rule(wider)) else { return false };
        if !covers(&wider.trigger, &rule.trigger) || rule.severity > wider.severity {
            return false;
        }
        match (&rule.kind, &wider.kind) {
            (RuleKind::Guardrail { hit, .. }, RuleKind::Guardrail { hit: other, .. }) => {
                hit <= other && (rule.instead.is_none() || rule.instead == wider.instead)
            }
            (RuleKind::Incident { respond, .. }, RuleKind::Incident { respond: other, .. }) => {
                let simple =
                    |action: &ResponseAction| !matches!(action, ResponseAction::Call { .. });
                let done = |action: &ResponseAction| {
                    simple(action) && other.iter().any(|it| it.keyword() == action.keyword())
                };
                // Where nothing is said, AIR does what it does by default.
                respond.is_empty() == other.is_empty() && respond.iter().all(done)
            }
            _ => false,
        }
    }

    fn duplicate(&mut self, at: usize, other: usize) {
        self.report(at, other, Code::DuplicateRule, "holds exactly when", "does");
    }

    fn subsumed(&mut self, at: usize, other: usize) {
        self.report(at, other, Code::SubsumedRule, "holds only where", "does, and does no more");
    }

    fn report(&mut self, at: usize, other: usize, code: Code, verb: &str, end: &str) {
        let (Some((file, rule)), Some((place, twin))) = (self.rules.get(at), self.rules.get(other))
        else {
            return;
        };
        let name = |rule: &RuleView<'_>| quoted(&format!("@{}", rule.rule.name));
        let message = format!("{} {verb} {} {end}", name(rule), name(twin));
        let hint = if file == place {
            format!(
                "remove one of the two, or say in which they differ; {} is in this file",
                name(twin)
            )
        } else {
            let file = self.files.get(*place).copied().unwrap_or_default();
            format!(
                "remove one of the two, or say in which they differ; {} is in {}",
                name(twin),
                quoted(file)
            )
        };
        if let Some(sink) = self.sinks.get_mut(*file) {
            sink.add(Severity::Warning, code, rule.name.clone(), message, Some(hint));
        }
    }

    fn not_all_compared(&mut self) {
        if let Some(sink) = self.sinks.first_mut() {
            let message = "not every rule was compared with every other";
            let hint = "many rules have parts in common; duplicates were all found".to_owned();
            sink.add(Severity::Note, Code::NotAllCompared, 0..0, message, Some(hint));
        }
    }
}
