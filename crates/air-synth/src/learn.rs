//! The forms that an incident, and others of the same rule, give.

use air_core::{
    code::CodeFacts,
    effects::{Change, FileEffect},
    fact::Facts,
    place::{self, PlaceKind},
    port::Harm,
};

use crate::{
    candidate,
    cause::Effect,
    compiler::{Case, Compiler, MAX_EFFECTS, any_secret},
    explain,
    form::{Form, Reach},
    naming::names,
    pattern::{self, Skeleton, Thing, Width},
    words,
};

impl Compiler {
    /// What explains the incidents' effects, by class and exactly.
    pub(crate) fn classes(&self, case: &Case<'_>) -> Vec<Form> {
        let mut forms = Vec::new();
        for group in self.groups(case) {
            for width in [Width::Class, Width::Exact] {
                forms.extend(form(case, &group, width));
                if group.len() > 1 {
                    let alone = group.iter().map(std::slice::from_ref);
                    forms.extend(alone.filter_map(|thing| form(case, thing, width)));
                }
            }
        }
        // Classes in front: what they say includes the rest.
        forms.sort_by_key(|form| std::cmp::Reverse(form.reach));
        forms
    }

    /// The same, done to anything.
    pub(crate) fn kinds(&self, case: &Case<'_>) -> Vec<Form> {
        let groups = self.groups(case);
        groups.iter().filter_map(|group| form(case, group, Width::Any)).collect()
    }

    /// What the plan of such a step says in words: what the rule's own words mean there, or else what
    /// the last incident did.
    pub(crate) fn in_words(&self, case: &Case<'_>) -> Option<Form> {
        let own: Vec<String> = fulfilled(case).into_iter().map(|form| form.condition).collect();
        let mut terms = words::of_rule(&own);
        if terms.is_empty() {
            terms.extend(self.seen_in_words(case));
        }
        pattern::where_nothing_is_told(&terms).map(|it| Form::new(it, String::new()))
    }

    fn seen_in_words(&self, case: &Case<'_>) -> Option<String> {
        let told = told(case);
        let (harm, facts) = case.harms.last()?;
        let mut things = self.things(case, harm, facts);
        if things.is_empty() {
            things = Thing::all(&harm.step.code, &*self.labels).collect();
        }
        // What the rule speaks of says most: by label, or else by kind.
        let labelled = |thing: &&Thing| thing.labels.iter().any(|label| told(label));
        let of_kind = |thing: &&Thing| match thing.skeleton {
            Skeleton::Operation(activity) => told(activity.name()),
            Skeleton::Flow(source, sink) => told(source.name()) && told(sink.name()),
        };
        let mut spoken = things.iter().filter(labelled).chain(things.iter().filter(of_kind));
        spoken.find_map(|thing| pattern::in_words(thing, &told))
    }

    /// What explains the incidents, each skeleton together.
    fn groups(&self, case: &Case<'_>) -> Vec<Vec<Thing>> {
        let mut groups: Vec<(Skeleton, Vec<Thing>)> = Vec::new();
        for (harm, facts) in &case.harms {
            for thing in self.things(case, harm, facts) {
                match groups.iter_mut().find(|(skeleton, _)| *skeleton == thing.skeleton) {
                    Some((_, group)) if group.contains(&thing) => {}
                    Some((_, group)) => group.push(thing),
                    None => groups.push((thing.skeleton, vec![thing])),
                }
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// The operations and flows that explain what the incident's rule has found.
    fn things(&self, case: &Case<'_>, harm: &Harm, facts: &Facts) -> Vec<Thing> {
        let effects = || Effect::all(&harm.effects).take(MAX_EFFECTS);
        let suffices = |effect: &Effect<'_>| self.suffices(*effect, case.request.rule, facts);
        let mut telling: Vec<Effect<'_>> = effects().filter(suffices).collect();
        let is_proved = !telling.is_empty();
        if !is_proved {
            telling = effects().collect();
        }
        let mut things = Vec::new();
        for effect in telling {
            for thing in self.explaining(effect, &harm.step.code) {
                if !things.contains(&thing) {
                    things.push(thing);
                }
            }
        }
        // Of several, it is not known whether one of them would have been enough.
        if !is_proved && things.len() > 1 {
            things.clear();
        }
        things
    }

    fn explaining(&self, effect: Effect<'_>, code: &CodeFacts) -> Vec<Thing> {
        let labels = &*self.labels;
        let operation = |is_it: &dyn Fn(&str, &str) -> bool| {
            let found = code.operations.iter().filter(|it| is_it(it.activity.name(), &it.target));
            found.map(|it| Thing::of_operation(it, labels)).take(1).collect::<Vec<_>>()
        };
        match effect {
            Effect::File(file) => {
                if let Some(origin) = &file.origin {
                    let flows = code.flows.iter().filter(|flow| {
                        let is_it = flow.source.kind == PlaceKind::File
                            && flow.sink.kind == PlaceKind::File;
                        is_it && names(&flow.source.name, origin).is_some()
                    });
                    let flows: Vec<Thing> =
                        flows.map(|flow| Thing::of_flow(flow, labels)).take(1).collect();
                    if !flows.is_empty() {
                        return flows;
                    }
                }
                let wanted = activities(file);
                operation(&|activity, target| {
                    wanted.contains(&activity) && names(target, &file.path).is_some()
                })
            }
            Effect::Read(read) => operation(&|activity, target| {
                activity == "file.read" && names(target, &read.path).is_some()
            }),
            Effect::Connection(connection) => {
                let to = |address: &str| place::host(address) == connection.host;
                let flows = code.flows.iter().filter(|flow| {
                    flow.sink.kind == PlaceKind::Network && to(&flow.sink.name)
                        || flow.source.kind == PlaceKind::Network && to(&flow.source.name)
                });
                let flows: Vec<Thing> = flows.map(|flow| Thing::of_flow(flow, labels)).collect();
                if flows.is_empty() {
                    operation(&|activity, target| activity.starts_with("network.") && to(target))
                } else {
                    flows
                }
            }
            // What a process does is not in its name.
            Effect::Process(_) => Vec::new(),
        }
    }
}

/// The alternatives of the rule that an incident fulfilled before its step had run.
pub(crate) fn fulfilled(case: &Case<'_>) -> Vec<Form> {
    let parts = explain::alternatives(case.request.rule);
    let holds = |part: &&String| case.harms.iter().any(|(_, facts)| explain::holds(part, facts));
    parts.iter().filter(holds).map(|part| explained(case, part.clone())).collect()
}

/// All that the rule says of steps before they run, where it says more than one thing.
pub(crate) fn whole_rule(case: &Case<'_>) -> Option<Form> {
    let parts = explain::alternatives(case.request.rule);
    (parts.len() > 1).then(|| explained(case, parts.join(" || ")))
}

fn form(case: &Case<'_>, things: &[Thing], width: Width) -> Option<Form> {
    let found = pattern::pattern(things, width, &told(case))?;
    let mut form = Form::new(found.condition, found.said);
    form.reach = if found.width == Width::Exact { Reach::Exact } else { Reach::Class };
    form.is_secret = any_secret(&found.literals);
    Some(form)
}

fn activities(file: &FileEffect) -> &'static [&'static str] {
    let only = |aspect: &str| file.aspects.len() == 1 && file.aspects.iter().any(|it| it == aspect);
    match file.change {
        Change::Deleted => &["file.delete"],
        Change::Modified if only("mode") => &["file.permission"],
        Change::Modified if only("owner") => &["file.owner"],
        Change::Created | Change::Modified => &["file.write"],
    }
}

/// Whether the incident's rule speaks of a label.
fn told<'a>(case: &Case<'a>) -> impl Fn(&str) -> bool + use<'a> {
    let text = case.request.rule.decision.sufficient().map(|it| it.source().to_owned());
    move |label| {
        let text = text.as_deref().unwrap_or_default();
        text.contains(&format!("\"{label}\"")) || text.contains(&format!("'{label}'"))
    }
}

fn explained(case: &Case<'_>, condition: String) -> Form {
    let check = case.request.rule.check.split_whitespace().collect::<Vec<_>>().join(" ");
    let said =
        format!("would be what @{} finds: {}", case.request.rule.name, check.trim_end_matches('.'));
    let mut form = Form::new(condition, candidate::wrapped(&said));
    form.reach = Reach::Rule;
    form
}
