//! `biased-decision`: a score or a decision about a person depends on what the person is.

use std::collections::HashSet;

use super::{
    Flaw, names, said,
    tree::{Id, Tree},
};

/// Parts of the names of attributes that must not matter, or that stand for one.
const PROTECTED: [&str; 57] = [
    "race",
    "racial",
    "ethnic",
    "gender",
    "religi",
    "nationality",
    "nationalorigin",
    "disabilit",
    "disabled",
    "marital",
    "pregnan",
    "sexual",
    "orientation",
    "caste",
    "socioeconomic",
    "neighborhood",
    "neighbourhood",
    "zipcode",
    "postalcode",
    "postcode",
    "skincolo",
    "beauty",
    "attractive",
    "appearance",
    "accent",
    "political",
    "cultur",
    "parenteducation",
    "parentalstatus",
    "familybackground",
    "familystatus",
    "familyincome",
    "immigra",
    "citizenship",
    "veteran",
    "nativelanguage",
    "mothertongue",
    "tribe",
    "incomelevel",
    "incomeclass",
    "socialclass",
    "socialstatus",
    "wealth",
    "hometown",
    "birthplace",
    "placeofbirth",
    "countryoforigin",
    "origincountry",
    "bodytype",
    "bodyshape",
    "bodyweight",
    "haircolo",
    "eyecolo",
    "personalit",
    "ageism",
    "agegroup",
    "faith",
];

/// Whole words of such names.
const WORDS: [&str; 21] = [
    "sex",
    "age",
    "ages",
    "race",
    "language",
    "dialect",
    "neighborhood",
    "region",
    "zip",
    "origin",
    "ancestry",
    "color",
    "height",
    "weight",
    "looks",
    "belief",
    "income",
    "district",
    "ethnicity",
    "economic",
    "background",
];

/// Words of what is decided about people.
const DECIDES: [&str; 66] = [
    "hire",
    "hiring",
    "candidate",
    "applicant",
    "loan",
    "premium",
    "insurance",
    "admission",
    "admit",
    "bail",
    "parole",
    "sentence",
    "score",
    "potential",
    "eligible",
    "eligibility",
    "approve",
    "approval",
    "approved",
    "decision",
    "decide",
    "qualify",
    "qualified",
    "recommend",
    "promotion",
    "promote",
    "salary",
    "credit",
    "rating",
    "rate",
    "rank",
    "grade",
    "evaluate",
    "evaluation",
    "assess",
    "assessment",
    "judge",
    "select",
    "selection",
    "accept",
    "acceptance",
    "reject",
    "suitability",
    "suitable",
    "risk",
    "predict",
    "scholarship",
    "rent",
    "tenant",
    "housing",
    "mortgage",
    "performance",
    "hired",
    "determine",
    "likelihood",
    "chance",
    "bonus",
    "pay",
    "wage",
    "award",
    "priority",
    "eligibility",
    "compatibility",
    "screen",
    "match",
    "fit",
];

/// Words of people.
const PEOPLE: [&str; 25] = [
    "person",
    "candidate",
    "applicant",
    "customer",
    "student",
    "employee",
    "defendant",
    "patient",
    "tenant",
    "user",
    "client",
    "borrower",
    "worker",
    "citizen",
    "individual",
    "resident",
    "offender",
    "inmate",
    "criminal",
    "passenger",
    "player",
    "member",
    "people",
    "human",
    "record",
];

fn protects(name: &str) -> bool {
    let words = names::words(name);
    let plain = words.concat();
    words.len() <= 4
        && (PROTECTED.iter().any(|part| {
            plain.contains(part) && !plain.contains("trace") && !plain.contains("brace")
        }) || words.iter().any(|word| WORDS.contains(&word.as_str())))
}

/// Names that say one in a part, and no other thing of the kind.
fn surely(name: &str) -> bool {
    protects(name) && !names::words(name).iter().any(|word| WORDS.contains(&word.as_str()))
}

/// Names that say a protected attribute in any function.
fn strongly(name: &str) -> bool {
    let words = names::words(name);
    let sure = [
        "race",
        "racial",
        "ethnicity",
        "ethnic",
        "gender",
        "sex",
        "religion",
        "religious",
        "nationality",
        "disability",
        "disabled",
        "caste",
        "marital",
        "pregnant",
        "socioeconomic",
        "skin",
    ];
    words.len() <= 3 && words.iter().any(|word| sure.contains(&word.as_str()))
}

pub(super) fn find(tree: &Tree, flaws: &mut Vec<Flaw>) {
    let texts = deciding(tree);
    for (scope, function) in tree.functions.iter().enumerate() {
        let (body, around) = if scope == 0 { (0, "") } else { (function.at, function.name) };
        judge(tree, scope, body, (around, &texts), flaws);
    }
}

/// The attribute of a person that `id` reads.
fn attribute(tree: &Tree, id: Id) -> Option<String> {
    let key = match tree.kind(id) {
        "subscript" => tree.literal(tree.child(id, "subscript")?)?,
        "attribute" if tree.field(id) != "function" => {
            tree.text(tree.child(id, "attribute")?).to_owned()
        }
        "call" => {
            let callee = tree.child(id, "function")?;
            let name = match tree.kind(callee) {
                "attribute" => tree.text(tree.child(callee, "attribute")?),
                _ => tree.text(callee),
            };
            match name {
                "get" | "pop" => tree.literal(tree.argument(id, 0, "key")?)?,
                "getattr" => tree.literal(tree.argument(id, 1, "name")?)?,
                _ => return None,
            }
        }
        "identifier" => {
            let (function, _) = tree.parameter(id)?;
            let own = tree.given(tree.scope(id), tree.text(id)).is_empty();
            (function == tree.scope(id) && own).then(|| tree.text(id).to_owned())?
        }
        _ => return None,
    };
    protects(&key).then_some(key)
}

/// Functions and values of which a text says that something is decided.
fn deciding(tree: &Tree) -> HashSet<usize> {
    let mut scopes = HashSet::new();
    for text in said::texts(tree).iter().filter(|text| names::says(&text.says, &DECIDES)) {
        scopes.insert(tree.scope(text.at));
        for (value, _) in &text.values {
            let reached = tree.reach(*value);
            let calls = reached.into_iter().filter(|at| tree.kind(*at) == "call");
            scopes.extend(calls.flat_map(|call| tree.runs(call)));
        }
    }
    scopes
}

fn judge(
    tree: &Tree,
    scope: usize,
    body: Id,
    (around, told): (&str, &HashSet<usize>),
    flaws: &mut Vec<Flaw>,
) {
    let mut tainted: HashSet<&str> = HashSet::new();
    let mut why = String::new();
    let mut strong = false;
    let ids = || {
        std::iter::once(body)
            .chain(tree.within(body))
            .filter(|at| tree.scope(*at) == scope || tree.kind(*at) == "lambda")
    };
    let mut records = false;
    let mut sure = false;
    for id in ids() {
        if let Some(name) = attribute(tree, id) {
            strong |= strongly(&name);
            sure |= surely(&name);
            records |= tree.kind(id) != "identifier";
            if why.is_empty() {
                why = name;
            }
        }
    }
    if why.is_empty() || !tree.work(tree.end(body) - body) {
        return;
    }
    let decides = names::says(around, &DECIDES)
        || ids().any(|id| {
            tree.kind(id) == "assignment"
                && tree.child(id, "left").is_some_and(|left| names::says(tree.text(left), &DECIDES))
        });
    let people = tree.functions.get(scope).is_some_and(|function| {
        function.parameters.iter().any(|(name, _)| names::says(name, &PEOPLE))
    });
    // What is called an age or a region is often something else: a person must be meant.
    let meant = decides && (strong || records || people)
        || told.contains(&scope) && records && (strong || sure);
    if !(meant || strong && people) {
        return;
    }
    let reads = |id: Id, tainted: &HashSet<&str>| {
        std::iter::once(id).chain(tree.within(id)).any(|at| {
            attribute(tree, at).is_some()
                || (tree.kind(at) == "identifier" && tainted.contains(tree.text(at)))
        })
    };
    // Twice: what is computed in a loop reaches its beginning.
    for _ in 0..2 {
        for id in ids() {
            if matches!(
                tree.kind(id),
                "assignment" | "augmented_assignment" | "named_expression" | "for_statement"
            ) {
                let right = tree.child(id, "right").or_else(|| tree.child(id, "value"));
                let left = tree.child(id, "left").or_else(|| tree.child(id, "name"));
                if let (Some(left), Some(right)) = (left, right)
                    && (reads(right, &tainted)
                        || ruled(tree, id, body, &|test| reads(test, &tainted)))
                {
                    let parts = std::iter::once(left).chain(tree.within(left));
                    tainted.extend(
                        parts.filter(|at| tree.kind(*at) == "identifier").map(|at| tree.text(at)),
                    );
                }
            }
        }
    }
    let decided = ids().find(|id| match tree.kind(*id) {
        "return_statement" => {
            reads(*id, &tainted) && !only_record(tree, *id)
                || ruled(tree, *id, body, &|test| reads(test, &tainted))
        }
        "lambda" => tree.child(*id, "body").is_some_and(|body| reads(body, &tainted)),
        "call" if tree.callee(*id) == "print" => {
            let shows = tree.arguments(*id).into_iter().any(|(_, value)| {
                tree.within(value).chain(std::iter::once(value)).any(|at| {
                    tree.kind(at) == "identifier"
                        && tainted.contains(tree.text(at))
                        && names::says(tree.text(at), &DECIDES)
                })
            });
            shows || (scope != 0 && ruled(tree, *id, body, &|test| reads(test, &tainted)))
        }
        _ => false,
    });
    if let Some(at) = decided {
        let why = format!("what is decided about a person depends on `{why}`");
        flaws.push(Flaw::new("biased-decision", tree.line(at), why));
    }
}

/// Whether `id` happens under a condition, up to `top`, of which `depends` holds.
fn ruled(tree: &Tree, id: Id, top: Id, depends: &dyn Fn(Id) -> bool) -> bool {
    let mut at = id;
    while at > top {
        let above = tree.parent(at);
        let test = match tree.kind(above) {
            "if_statement" | "while_statement" | "elif_clause" => tree.child(above, "condition"),
            "match_statement" => tree.child(above, "subject"),
            "case_clause" => tree.child(above, "guard"),
            _ => None,
        };
        if test.is_some_and(depends) {
            return true;
        }
        // What follows a branch that returns depends on its condition as well.
        if tree.kind(above) == "block" {
            let before = tree.below(above).take_while(|other| *other < at);
            let left = before.filter(|other| tree.kind(*other) == "if_statement").any(|branch| {
                tree.child(branch, "condition").is_some_and(depends)
                    && tree.within(branch).any(|at| tree.kind(at) == "return_statement")
            });
            if left {
                return true;
            }
        }
        if above == at {
            break;
        }
        at = above;
    }
    false
}

/// `return self.age`, `return person["age"]`: nothing is decided.
fn only_record(tree: &Tree, id: Id) -> bool {
    tree.below(id).all(|value| matches!(tree.kind(value), "attribute" | "subscript" | "identifier"))
        && tree.below(id).any(|value| attribute(tree, value).is_some())
}
