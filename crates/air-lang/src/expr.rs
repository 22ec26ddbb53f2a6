//! Conditions: CEL expressions over the facts, type-checked when compiled, evaluated three-valued
//! and within a step budget.
//!
//! The text is parsed by `cel`; types, evaluation and the bounds are AIR's own, because CEL has no
//! unknown value. Whatever cannot be told (a fact that is missing, an incomplete list, a division by
//! zero) is unknown with a reason, absorbed by `false && …` and `true || …`, and never false.

mod calls;
mod equality;
mod eval;
mod functions;
mod ir;
mod lower;
pub(crate) mod mutate;
mod needs;
mod ops;
pub(crate) mod parse;
mod path;
mod scan;
mod template;
mod tree;
mod ty;

use std::sync::Arc;

use air_core::{
    condition::{Budget, CallTemplate, Condition},
    fact::{Facts, Roots},
    outcome::Outcome,
    requirement::{FactPath, Requirement},
    value::Value,
};

pub use self::tree::{Node as TreeNode, Tree, tree};
use self::{eval::Evaluator, ir::Node, lower::Lowered, ty::Ty};

/// When a condition is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the call, by a guardrail: what the call did is not known yet.
    Before,
    /// After the step.
    After,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// First byte, within the text given to [`compile`] or [`compile_call`].
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
    /// Whether the range is within the list of a `for x in …`, not within the template.
    pub in_loop: bool,
}

impl ExprError {
    fn new((start, end): (usize, usize), message: impl Into<String>) -> Self {
        Self { start, end, message: message.into(), hint: None, in_loop: false }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Compiles a condition.
///
/// # Errors
///
/// Everything that is wrong with it, in the order of the text.
pub fn compile(source: &str, moment: Moment) -> Result<Arc<dyn Condition>, Vec<ExprError>> {
    let Lowered { node, ty, span, reads } = compile_part(source, moment, None)?;
    if !matches!(ty, Ty::Bool | Ty::Dyn) {
        let error = ExprError::new(span, format!("a condition is true or false, this is {ty}"));
        return Err(vec![match ty {
            Ty::List(_) => error.hint("ask for an item with `.exists(x, …)`, or `size(…) > 0`"),
            Ty::String => error.hint("compare it, as in `… == \"text\"`"),
            _ => error,
        }]);
    }
    let (places, requires) = (needs::paths(&node), needs::requirement(&node));
    Ok(Arc::new(Compiled { source: source.into(), node, reads, places, requires }))
}

/// The parts of a condition that are joined by `||` on the outermost level, each on one line. One part
/// where there is no such `||`; none where the text is no expression, or would not be the same on one
/// line.
pub fn alternatives(source: &str) -> Vec<String> {
    let Ok(scan) = scan::scan(source) else { return Vec::new() };
    let ors: &[usize] = if scan.is_ternary { &[] } else { &scan.ors };
    let starts = std::iter::once(0).chain(ors.iter().map(|at| at + 2));
    let ends = ors.iter().copied().chain([source.len()]);
    let parts = starts.zip(ends).filter_map(|(start, end)| source.get(start..end));
    let one_line = |part: &str| {
        let lines: Vec<&str> = part.lines().map(str::trim).collect();
        let is_safe = lines.len() == 1 || !scan.is_of_lines;
        let line = lines.join(" ").trim().to_owned();
        (is_safe && !line.is_empty()).then_some(line)
    };
    parts.filter_map(one_line).collect()
}

/// Compiles the arguments of a `call` action: a JSON object whose texts may hold `${CEL}`, one
/// object per item of the list when `loop_var` names a variable and a list.
///
/// A text that is one `${…}` and nothing else takes the value as it is; `$${` stands for `${`.
///
/// # Errors
///
/// Everything that is wrong with it, in the order of the text.
pub fn compile_call(
    args_json_template: &str,
    loop_var: Option<(&str, &str)>,
    moment: Moment,
) -> Result<Arc<dyn CallTemplate>, Vec<ExprError>> {
    template::compile(args_json_template, loop_var, moment)
}

/// The syntax trees of texts that compile, for whoever looks at their form.
pub(crate) fn trees(sources: &[&str]) -> Vec<Option<cel::IdedExpr>> {
    parse::parse_all(sources)
}

/// One expression, of any type, with at most one variable in scope.
fn compile_part(
    source: &str,
    moment: Moment,
    variable: Option<(&str, Ty)>,
) -> Result<Lowered, Vec<ExprError>> {
    let scan = scan::scan(source).map_err(|error| vec![error])?;
    let ast = parse::parse(source)?;
    lower::lower(source, &scan, &ast, moment, variable)
}

#[derive(Debug)]
struct Compiled {
    source: Arc<str>,
    node: Node,
    reads: Roots,
    places: Vec<FactPath>,
    requires: Requirement,
}

impl Condition for Compiled {
    fn source(&self) -> &str {
        &self.source
    }

    fn reads(&self) -> Roots {
        self.reads
    }

    fn paths(&self) -> &[FactPath] {
        &self.places
    }

    fn requires(&self) -> &Requirement {
        &self.requires
    }

    fn evaluate_within(&self, facts: &Facts, budget: &mut Budget) -> Outcome {
        let mut evaluator = Evaluator::new(facts, budget.left());
        let value = evaluator.eval(&self.node);
        budget.spend(evaluator.taken());
        if evaluator.exhausted() {
            return Outcome::undetermined(eval::EXHAUSTED);
        }
        match value {
            Value::Bool(true) => Outcome::Satisfied,
            Value::Bool(false) => Outcome::Unsatisfied,
            Value::Unknown(why) => Outcome::Undetermined(why),
            other => Outcome::undetermined(format!(
                "the condition gave {}, not true or false",
                ops::kind(&other)
            )),
        }
    }
}
