//! Compiles calls: the loops over lists, and the functions.

use cel::{
    IdedExpr,
    common::ast::{CallExpr, Expr, LiteralValue},
};
use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};

use air_core::fact::Root;

use super::{
    ExprError,
    ir::{Function, Loop, Node},
    lower::{Lowerer, Typed, broken, nearest, quoted},
    ty::Ty,
};

/// Longest regular expression or glob, in bytes.
pub(super) const MAX_PATTERN: usize = 4096;
/// Largest compiled regular expression, in bytes.
const MAX_REGEX: usize = 1 << 20;

const LOOPS: [&str; 6] = ["all", "exists", "existsOne", "exists_one", "filter", "map"];
/// Name, whether it may be called on its first argument, whether only so, number of arguments.
const FUNCTIONS: [(&str, Function, Style, usize); 12] = [
    ("size", Function::Size, Style::Either, 1),
    ("contains", Function::Contains, Style::Method, 2),
    ("startsWith", Function::StartsWith, Style::Method, 2),
    ("endsWith", Function::EndsWith, Style::Method, 2),
    ("lowerAscii", Function::LowerAscii, Style::Method, 1),
    ("upperAscii", Function::UpperAscii, Style::Method, 1),
    ("int", Function::Int, Style::Free, 1),
    ("double", Function::Double, Style::Free, 1),
    ("string", Function::String, Style::Free, 1),
    ("labels", Function::Labels, Style::Free, 1),
    ("under", Function::Under, Style::Free, 2),
    ("glob", Function::Glob, Style::Free, 2),
];

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Method,
    Free,
    Either,
}

impl Lowerer<'_> {
    pub(super) fn call(&mut self, at: &IdedExpr, call: &CallExpr) -> Typed {
        let name = call.func_name.as_str();
        let span = self.call_name(at, name);
        if let (Some(target), true) = (call.target.as_deref(), LOOPS.contains(&name)) {
            return self.comprehension(at, name, target, &call.args);
        }
        let args: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
        match (name, call.target.is_some(), args.as_slice()) {
            ("has", false, [argument]) => {
                if let Expr::Select(select) = &argument.expr {
                    return self.select(argument, select, true);
                }
                let error = ExprError::new(self.span(argument), "`has` takes a field");
                return self.fail(error.hint("write `has(args.name)`"));
            }
            ("matches", _, [text, pattern]) => return self.matches(text, pattern),
            ("dyn", false, [value]) => return (self.expr(value).0, Ty::Dyn),
            _ => {}
        }
        let known = FUNCTIONS.iter().find(|(other, ..)| *other == name);
        let Some(&(_, function, style, count)) = known else {
            return self.unknown_function(call, span);
        };
        let method = call.target.is_some();
        if (style == Style::Method && !method) || (style == Style::Free && method) {
            let usage = usage(name, style, count);
            let error = ExprError::new(span, format!("`{name}` is not called this way"));
            return self.fail(error.hint(format!("write `{usage}`")));
        }
        if args.len() != count {
            let usage = usage(name, style, count);
            let error =
                ExprError::new(self.span(at), format!("wrong number of arguments for `{name}`"));
            return self.fail(error.hint(format!("write `{usage}`")));
        }
        self.function(name, function, &args)
    }

    fn unknown_function(&mut self, call: &CallExpr, span: (usize, usize)) -> Typed {
        let name = call.func_name.as_str();
        let names =
            FUNCTIONS.iter().map(|(name, ..)| *name).chain(LOOPS).chain(["dyn", "has", "matches"]);
        let error = ExprError::new(span, format!("there is no function `{name}`"));
        let hint = match name {
            "lower" | "toLowerCase" | "tolower" => "did you mean `lowerAscii`?".into(),
            "upper" | "toUpperCase" | "toupper" => "did you mean `upperAscii`?".into(),
            "len" | "length" | "count" => "did you mean `size`?".into(),
            "any" => "did you mean `exists`?".into(),
            "timestamp" | "duration" => "conditions have no times; `duration_ms` is an int".into(),
            "uint" => "did you mean `int`?".into(),
            "exists" | "all" | "filter" | "map" | "exists_one" => {
                format!("write `list.{name}(x, …)`")
            }
            _ => match nearest(name, names.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the functions are {}", quoted(names)),
            },
        };
        // Its arguments may have errors of their own.
        for argument in call.target.as_deref().into_iter().chain(&call.args) {
            if !matches!(argument.expr, Expr::Ident(_)) {
                self.expr(argument);
            }
        }
        self.fail(error.hint(hint))
    }

    fn function(&mut self, name: &str, function: Function, args: &[&IdedExpr]) -> Typed {
        if let (Function::Glob, [text, pattern]) = (function, args)
            && let Expr::Literal(LiteralValue::String(literal)) = &pattern.expr
        {
            let node = self.text(text, name);
            return match glob(literal.inner()) {
                Ok(matcher) => {
                    let literal = glob_literal(literal.inner()).into();
                    (Node::Glob { text: Box::new(node), matcher, literal }, Ty::Bool)
                }
                Err(why) => {
                    let message = format!("the glob is not valid: {why}");
                    self.fail(ExprError::new(self.span(pattern), message))
                }
            };
        }
        let (nodes, ty) = match function {
            Function::Size | Function::Int | Function::Double | Function::String => {
                let Some(&argument) = args.first() else { return broken() };
                let (node, ty) = self.expr(argument);
                let takes = match (function, ty.present()) {
                    (_, Ty::Dyn) => true,
                    (Function::Size, ty) => matches!(ty, Ty::String | Ty::List(_) | Ty::Map),
                    (Function::String, ty) => {
                        matches!(ty, Ty::String | Ty::Bool | Ty::Int | Ty::Double)
                    }
                    (_, ty) => matches!(ty, Ty::String | Ty::Int | Ty::Double),
                };
                if !takes {
                    let message = format!("`{name}` cannot take {ty}");
                    return self.fail(ExprError::new(self.span(argument), message));
                }
                let result = match function {
                    Function::Double => Ty::Double,
                    Function::String => Ty::String,
                    _ => Ty::Int,
                };
                (vec![node], result)
            }
            _ => {
                let nodes = args.iter().map(|argument| self.text(argument, name)).collect();
                let result = match function {
                    Function::LowerAscii | Function::UpperAscii => Ty::String,
                    Function::Labels => Ty::list(Ty::String),
                    _ => Ty::Bool,
                };
                (nodes, result)
            }
        };
        (Node::Call(function, nodes), ty)
    }

    /// An argument that must be text.
    fn text(&mut self, argument: &IdedExpr, name: &str) -> Node {
        let (node, ty) = self.expr(argument);
        if !ty.may_be(&Ty::String) {
            let error = ExprError::new(
                self.span(argument),
                format!("`{name}` takes a string, this is {ty}"),
            );
            self.fail(match ty.present() {
                Ty::List(item) if **item == Ty::String => {
                    error.hint("ask of its items with `.exists(x, …)`, or `\"text\" in …`")
                }
                Ty::List(_) => error.hint("ask of its items with `.exists(x, …)`"),
                _ => error,
            });
        }
        node
    }

    fn matches(&mut self, text: &IdedExpr, pattern: &IdedExpr) -> Typed {
        let node = self.text(text, "matches");
        let Expr::Literal(LiteralValue::String(literal)) = &pattern.expr else {
            let error =
                ExprError::new(self.span(pattern), "`matches` takes a literal pattern only");
            return self.fail(error.hint(
                "write the pattern as a string, or use `contains`, `startsWith`, `endsWith` or `glob`",
            ));
        };
        match regex(literal.inner()) {
            Ok(regex) => (Node::Matches(Box::new(node), regex), Ty::Bool),
            Err(why) => {
                let message = format!("the pattern is not valid: {why}");
                self.fail(ExprError::new(self.span(pattern), message))
            }
        }
    }

    fn comprehension(
        &mut self,
        at: &IdedExpr,
        name: &str,
        range_at: &IdedExpr,
        args: &[IdedExpr],
    ) -> Typed {
        let (range, ty) = self.expr(range_at);
        let item = match ty.present() {
            Ty::List(item) => (**item).clone(),
            Ty::Map => Ty::String,
            Ty::Dyn => Ty::Dyn,
            other => {
                let message = format!("`{name}` needs a list, this is {other}");
                let error = ExprError::new(self.span(range_at), message);
                self.fail(match other {
                    Ty::Record(record) => {
                        let fields = record.fields.iter().map(|(field, _)| field);
                        error.hint(format!("its fields are {}", quoted(fields)))
                    }
                    _ => error,
                });
                Ty::Dyn
            }
        };
        let (variable, filter, last) = match args {
            [variable, body] => (variable, None, body),
            [variable, filter, last] if name == "map" => (variable, Some(filter), last),
            _ => {
                let message = format!("wrong number of arguments for `{name}`");
                let error = ExprError::new(self.span(at), message);
                return self.fail(error.hint(format!("write `list.{name}(x, …)`")));
            }
        };
        let Expr::Ident(variable_name) = &variable.expr else {
            let error = ExprError::new(self.span(variable), "a loop variable is a plain name");
            return self.fail(error.hint(format!("write `list.{name}(x, …)`")));
        };
        if Root::from_name(variable_name).is_some() {
            let message =
                format!("the loop variable `{variable_name}` hides the fact of that name");
            self.fail(ExprError::new(self.span(variable), message).hint("choose another name"));
        }
        self.variables.push((variable_name.clone(), item.clone()));
        let by = format!("`{name}`");
        let (body, yields, result) = if name == "map" {
            let filter = filter.map(|filter| Box::new(self.truth(filter, &by)));
            let (node, ty) = self.expr(last);
            (filter, Some(Box::new(node)), Ty::list(ty))
        } else {
            let body = Box::new(self.truth(last, &by));
            (Some(body), None, if name == "filter" { Ty::list(item) } else { Ty::Bool })
        };
        self.variables.pop();
        let kind = match name {
            "exists" => Loop::Exists,
            "all" => Loop::All,
            "filter" => Loop::Filter,
            "map" => Loop::Map,
            _ => Loop::ExistsOne,
        };
        (Node::Loop { kind, range: Box::new(range), body, yields }, result)
    }
}

fn usage(name: &str, style: Style, count: usize) -> String {
    match (style, count) {
        (Style::Method, 1) => format!("text.{name}()"),
        (Style::Method, _) => format!("text.{name}(\"…\")"),
        (_, 1) => format!("{name}(…)"),
        _ => format!("{name}(…, \"…\")"),
    }
}

fn regex(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("it is longer than {MAX_PATTERN} bytes"));
    }
    RegexBuilder::new(pattern)
        .size_limit(MAX_REGEX)
        .dfa_size_limit(MAX_REGEX)
        .nest_limit(64)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "it is too large".into(),
            // The last line says what is wrong, the ones before draw where.
            error => {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                last.strip_prefix("error: ").unwrap_or(last).to_owned()
            }
        })
}

/// A glob in which `*` and `?` stay within a path component and `**` crosses them.
pub(super) fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(format!("it is longer than {MAX_PATTERN} bytes"));
    }
    // The compiler of globs panics on a regular expression that nests too deep.
    if pattern.matches('{').count() > 32 {
        return Err("it has more than 32 alternatives".into());
    }
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}

/// The longest text that is in whatever matches a glob; empty where there is none.
fn glob_literal(pattern: &str) -> &str {
    // Past one of these, a part may be an alternative, or stand for something else.
    let plain = pattern.split(['[', '{', '\\']).next().unwrap_or_default();
    // `**/` also stands for nothing, with its separator.
    let pieces = plain.split(['*', '?']).map(|piece| piece.trim_matches('/'));
    pieces.max_by_key(|piece| piece.len()).unwrap_or_default()
}
