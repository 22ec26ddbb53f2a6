//! A choice over values without a default: a value that the program itself gives falls through.

use super::{
    source::{Scope, Source},
    tree::{Command, Node, Test, Text, Value, Variable},
};
use crate::collect::Collector;

pub(super) fn note(source: &Source, out: &mut Collector) {
    for (at, function) in source.functions.iter().enumerate() {
        let scope = Some(at);
        let mut choices = Vec::new();
        super::tree::walk(function.body, &mut |node| {
            if let Some(choice) = Choice::of(node, scope, source) {
                choices.push(choice);
            }
        });
        for choice in choices {
            let falls = source.calls(at).iter().any(|(call, from)| {
                let given = call.words.get(choice.parameter);
                let given = given.and_then(|text| source.constants(text, *from));
                given.is_some_and(|values| values.iter().any(|value| choice.misses(value)))
            });
            if falls {
                out.defect("missing-default", choice.line, "a value falls through a choice");
            }
        }
    }
    tables(source, out);
    // A choice over a variable of the program itself.
    source.each_node(|node, scope| {
        if scope.is_none()
            && let Some(choice) = Choice::open(node, None)
            && let Some(values) = source.constants(&choice.subject, None)
            && values.iter().all(|value| choice.misses(value))
        {
            out.defect("missing-default", choice.line, "a value falls through a choice");
        }
    });
}

/// A table that is asked for a key that it does not have, without another answer.
fn tables(source: &Source, out: &mut Collector) {
    source.each_node(|node, scope| {
        let Node::Command(command) = node else { return };
        for variable in node.texts().into_iter().flat_map(Text::variables) {
            let key = variable.rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let Some(key) = key.and_then(|key| key.trim_matches('"').strip_prefix('$')) else {
                continue;
            };
            let name = key.trim_matches(['{', '}']).to_owned();
            let key = Variable { name, rest: String::new(), prefix: None, quoted: false };
            let key = Text { raw: String::new(), pieces: vec![super::tree::Piece::Variable(key)] };
            let keys = source.assignments(&variable.name, scope).iter().try_fold(
                Vec::new(),
                |mut keys, (one, _)| match &one.value {
                    Value::Many(items) => {
                        for (key, _) in items {
                            keys.push(key.as_ref()?.constant()?);
                        }
                        Some(keys)
                    }
                    Value::One(_) => {
                        keys.push(one.key.as_ref()?.constant()?);
                        Some(keys)
                    }
                },
            );
            let keys = keys.unwrap_or_default();
            let asked = source.constants(&key, scope).unwrap_or_default();
            let answers = command.is(&["echo", "printf"]) || !command.assigned.is_empty();
            if answers
                && variable.prefix.is_none()
                && keys.len() > 1
                && asked.iter().any(|value| !keys.contains(value))
            {
                out.defect("missing-default", command.line, "a value falls through a choice");
            }
        }
    });
}

struct Choice {
    line: u32,
    parameter: usize,
    subject: Text,
    arms: Vec<Option<Arm>>,
}

enum Arm {
    Patterns(Vec<String>),
    /// Comparisons of the subject, all of which hold.
    Compared(Vec<(String, String)>),
}

impl Choice {
    /// A choice over a parameter of the function, with arms that answer and none for the rest.
    fn of(node: &Node, scope: Scope, source: &Source) -> Option<Self> {
        let mut choice = Self::open(node, scope)?;
        choice.parameter = parameter(choice.subject.only()?, scope, source)?;
        Some(choice)
    }

    fn open(node: &Node, _scope: Scope) -> Option<Self> {
        match node {
            Node::Case { word, arms, line } => {
                let rest = arms.iter().find(|arm| arm.patterns.iter().any(|one| one.raw == "*"));
                if rest.is_some_and(|rest| !is_nothing(&rest.body)) {
                    return None;
                }
                let named = arms.iter().filter(|arm| arm.patterns.iter().all(|one| one.raw != "*"));
                let named: Vec<_> = named.collect();
                if named.len() < 2 || !named.iter().all(|arm| answers(&arm.body)) {
                    return None;
                }
                let arms = named.iter().map(|arm| {
                    let patterns = arm.patterns.iter().map(Text::constant);
                    patterns.collect::<Option<Vec<_>>>().map(Arm::Patterns)
                });
                Some(Self {
                    line: *line,
                    parameter: 0,
                    subject: word.clone(),
                    arms: arms.collect(),
                })
            }
            Node::If { arms, otherwise, line } => {
                if otherwise.as_ref().is_some_and(|body| !is_nothing(body)) {
                    return None;
                }
                if arms.len() < 2 || !arms.iter().all(|(_, body)| answers(body)) {
                    return None;
                }
                let subject = arms.first().and_then(|(condition, _)| subject(condition))?;
                let key = subject.only()?.name.clone();
                let arms =
                    arms.iter().map(|(condition, _)| compared(condition, &key).map(Arm::Compared));
                Some(Self { line: *line, parameter: 0, subject, arms: arms.collect() })
            }
            _ => None,
        }
    }

    /// Whether no arm takes `value`.
    fn misses(&self, value: &str) -> bool {
        self.arms.iter().all(|arm| match arm {
            Some(Arm::Patterns(patterns)) => {
                patterns.iter().all(|pattern| matches(pattern, value) == Some(false))
            }
            Some(Arm::Compared(tests)) => {
                tests.iter().any(|(op, other)| holds(value, op, other) == Some(false))
            }
            None => false,
        })
    }
}

/// Which argument of the function a variable is.
fn parameter(variable: &Variable, scope: Scope, source: &Source) -> Option<usize> {
    if let Ok(number) = variable.name.parse::<usize>() {
        return Some(number);
    }
    let assigned = source.assignments(&variable.name, scope);
    let [(assigned, at)] = assigned.as_slice() else { return None };
    let Value::One(text) = &assigned.value else { return None };
    if *at != scope {
        return None;
    }
    text.only()?.name.parse().ok()
}

/// Whether a body says nothing: no output, no value, or a failure alone.
fn is_nothing(body: &[Node]) -> bool {
    body.iter().all(|node| match node {
        Node::Command(command) => nothing(command),
        _ => false,
    })
}

fn nothing(command: &Command) -> bool {
    const NONE: [&str; 9] = ["", "none", "null", "nil", "n/a", "undefined", "-1", "nothing", "\\n"];
    let is_none = |text: &Text| {
        text.constant().is_some_and(|text| NONE.contains(&text.to_lowercase().trim()))
    };
    let to_errors = command.redirects.iter().any(|redirect| redirect.word.raw == "2");
    match command.name().as_deref() {
        Some(":" | "true" | "false" | "return" | "break" | "local" | "declare") => true,
        Some("echo" | "printf") => {
            let args =
                command.args().iter().filter(|arg| !arg.raw.starts_with('-') || arg.raw.len() < 2);
            !to_errors
                && args.clone().count() <= 2
                && args.clone().all(|arg| is_none(arg) || arg.shown() == "%s")
        }
        None => {
            !command.assigned.is_empty()
                && command
                    .assigned
                    .iter()
                    .all(|one| matches!(&one.value, Value::One(text) if is_none(text)))
        }
        _ => false,
    }
}

/// Whether a body does nothing but answer.
fn answers(body: &[Node]) -> bool {
    let mut said = false;
    let plain = body.iter().all(|node| match node {
        Node::Command(command) => match command.name().as_deref() {
            Some("echo" | "printf") => {
                said = true;
                !nothing(command)
            }
            Some("return") => {
                said |= !command.args().is_empty();
                true
            }
            Some("local" | "declare" | "bc" | "awk") => {
                said = true;
                true
            }
            None => {
                said |= !command.assigned.is_empty();
                true
            }
            _ => false,
        },
        Node::Math(..) => {
            said = true;
            true
        }
        Node::Pipe(nodes) => {
            said = true;
            nodes.iter().all(|node| {
                matches!(node, Node::Command(command) if command.is(&["echo", "printf", "bc", "awk", "tr", "sed", "cut"]))
            })
        }
        _ => false,
    });
    plain && said
}

/// The variable that a condition compares with a constant.
fn subject(condition: &[Node]) -> Option<Text> {
    match condition {
        [Node::Test(test, _)] => {
            let (_, one, other) = test.binaries().into_iter().next()?;
            let one = if one.only().is_some() { one } else { other };
            one.only().map(|_| one.clone())
        }
        [Node::Math(text, _)] => {
            let (name, ..) = arithmetic(&text.raw).into_iter().next()?;
            let variable = Variable { name, rest: String::new(), prefix: None, quoted: false };
            Some(Text { raw: String::new(), pieces: vec![super::tree::Piece::Variable(variable)] })
        }
        _ => None,
    }
}

/// What a condition asks of `name`; nothing where it asks something else.
fn compared(condition: &[Node], name: &str) -> Option<Vec<(String, String)>> {
    match condition {
        [Node::Test(test, _)] => asked(test, name),
        [Node::Math(text, _)] => {
            let all = arithmetic(&text.raw);
            if all.is_empty() || text.raw.contains("||") || all.iter().any(|(one, ..)| one != name)
            {
                return None;
            }
            Some(all.into_iter().map(|(_, op, other)| (op, other)).collect())
        }
        [Node::Chain(first, rest)] if rest.iter().all(|(and, _)| *and) => {
            let mut all = compared(std::slice::from_ref(first.as_ref()), name)?;
            for (_, node) in rest {
                all.extend(compared(std::slice::from_ref(node), name)?);
            }
            Some(all)
        }
        _ => None,
    }
}

fn asked(test: &Test, name: &str) -> Option<Vec<(String, String)>> {
    match test {
        Test::And(one, other) => {
            let mut all = asked(one, name)?;
            all.extend(asked(other, name)?);
            Some(all)
        }
        Test::Binary(op, one, other) => {
            (one.only()?.name == name).then_some(())?;
            Some(vec![(op.clone(), other.constant()?)])
        }
        _ => None,
    }
}

/// `x < 5 && y >= 7` as names, operators and numbers.
fn arithmetic(text: &str) -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for part in text.split("&&") {
        let Some((at, op)) = ["<=", ">=", "==", "!=", "<", ">"]
            .into_iter()
            .filter_map(|op| part.find(op).map(|at| (at, op)))
            .min_by_key(|(at, op)| (*at, std::cmp::Reverse(op.len())))
        else {
            return Vec::new();
        };
        let side = |text: &str| text.trim_matches([' ', '(', ')', '$', '{', '}', '"']).to_owned();
        let (one, other) = (
            side(part.get(..at).unwrap_or_default()),
            side(part.get(at + op.len()..).unwrap_or_default()),
        );
        let sign = match op {
            "<" => "-lt",
            "<=" => "-le",
            ">" => "-gt",
            ">=" => "-ge",
            "==" => "-eq",
            _ => "-ne",
        };
        all.push((one, sign.to_owned(), other));
    }
    all
}

/// Whether `value op other`, where that can be said.
fn holds(value: &str, op: &str, other: &str) -> Option<bool> {
    let numbers = || Some((value.trim().parse::<f64>().ok()?, other.trim().parse::<f64>().ok()?));
    Some(match op {
        "==" => matches(other, value)?,
        "!=" => !matches(other, value)?,
        "=~" => regex::Regex::new(other).ok()?.is_match(value),
        "-eq" => numbers().is_some_and(|(one, other)| (one - other).abs() < f64::EPSILON),
        "-ne" => numbers().is_some_and(|(one, other)| (one - other).abs() >= f64::EPSILON),
        "-lt" => numbers().is_some_and(|(one, other)| one < other),
        "-le" => numbers().is_some_and(|(one, other)| one <= other),
        "-gt" => numbers().is_some_and(|(one, other)| one > other),
        "-ge" => numbers().is_some_and(|(one, other)| one >= other),
        _ => return None,
    })
}

/// Whether a pattern of the shell takes `value`.
fn matches(pattern: &str, value: &str) -> Option<bool> {
    if !pattern.contains(['*', '?', '[', '(']) {
        return Some(pattern == value);
    }
    let glob = globset::Glob::new(pattern).ok()?;
    Some(glob.compile_matcher().is_match(value))
}

/// What takes which arm of a choice.
pub(super) struct Selects {
    pub(super) subject: Text,
    arms: Vec<Option<Arm>>,
}

impl Selects {
    pub(super) fn of(node: &Node) -> Option<Self> {
        match node {
            Node::Case { word, arms, .. } => {
                let arms = arms.iter().map(|arm| {
                    let patterns = arm.patterns.iter().map(Text::constant);
                    patterns.collect::<Option<Vec<_>>>().map(Arm::Patterns)
                });
                Some(Self { subject: word.clone(), arms: arms.collect() })
            }
            Node::If { arms, otherwise, .. } => {
                let first = arms.first().map(|(condition, _)| condition.as_slice())?;
                let first = match first {
                    [Node::Chain(first, _)] => std::slice::from_ref(first.as_ref()),
                    other => other,
                };
                let subject = subject(first)?;
                let key = subject.only()?.name.clone();
                let mut all: Vec<Option<Arm>> = arms
                    .iter()
                    .map(|(condition, _)| {
                        let condition = match condition.as_slice() {
                            [Node::Chain(first, _)] => std::slice::from_ref(first.as_ref()),
                            other => other,
                        };
                        compared(condition, &key).map(Arm::Compared)
                    })
                    .collect();
                if otherwise.is_some() {
                    all.push(Some(Arm::Compared(Vec::new())));
                }
                Some(Self { subject, arms: all })
            }
            _ => None,
        }
    }

    /// The first arm that takes `value`.
    pub(super) fn arm(&self, value: &str) -> Option<usize> {
        self.arms.iter().position(|arm| match arm {
            Some(Arm::Patterns(patterns)) => {
                patterns.iter().any(|pattern| matches(pattern, value) == Some(true))
            }
            Some(Arm::Compared(tests)) => {
                tests.iter().all(|(op, other)| holds(value, op, other) == Some(true))
            }
            None => false,
        })
    }
}
