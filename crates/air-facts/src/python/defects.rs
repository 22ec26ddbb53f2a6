//! Flaws of a program that are certain from its text.

use air_core::code::Defect;

use super::{
    ast::{Action, Argument, Expr, Function, Kind, Statement},
    value::{Value, What},
};

/// Calls that neither wait nor end anything.
const BUSY: [&str; 25] = [
    "abs",
    "append",
    "bytearray",
    "bytes",
    "dict",
    "extend",
    "fork",
    "int",
    "join",
    "len",
    "list",
    "max",
    "min",
    "print",
    "pow",
    "range",
    "set",
    "sorted",
    "str",
    "sum",
    "update",
    "add",
    "flush",
    "write",
    "open",
];

/// What a loop without end does.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is found or not, whatever the others are")]
struct Body {
    leaves: bool,
    waits: bool,
    forks: bool,
    grows: bool,
    writes: bool,
}

fn defect(kind: &str, line: u32, why: &str) -> Defect {
    Defect { kind: kind.to_owned(), line, why: why.to_owned() }
}

/// The flaws of `while test: body`.
pub(super) fn of_loop(test: &Expr, body: &[Statement], line: u32) -> Vec<Defect> {
    let always = match test.kind {
        Kind::Bool(is) => is,
        Kind::Number(number) => number != 0,
        _ => false,
    };
    if always { endless(body, line) } else { Vec::new() }
}

/// A function that starts processes and always calls itself.
pub(super) fn of_function(function: &Function) -> Option<Defect> {
    let calls_itself = |statement: &Statement| {
        let Action::Value(Expr { kind: Kind::Call(callee, _), .. }) = &statement.kind else {
            return false;
        };
        is_name(callee, &function.name)
    };
    let mut found = Body::default();
    if function.body.iter().any(calls_itself) {
        found.block(&function.body, false, 0);
    }
    let why = "a function starts processes and always calls itself";
    (found.forks && !found.leaves).then(|| defect("fork-bomb", function.line, why))
}

/// The flaws of a loop over something that never ends.
pub(super) fn endless_for(items: &Value, body: &[Statement], line: u32) -> Option<Defect> {
    let endless = matches!(&items.what, What::Made(name) if &**name == "itertools.count");
    if endless { endless_loop(body, line).into_iter().next() } else { None }
}

fn endless_loop(body: &[Statement], line: u32) -> Vec<Defect> {
    endless(body, line)
}

fn endless(body: &[Statement], line: u32) -> Vec<Defect> {
    let mut found = Body::default();
    found.block(body, false, 0);
    let mut defects = Vec::new();
    if found.leaves {
        return defects;
    }
    if found.forks && !found.waits {
        defects.push(defect("fork-bomb", line, "a loop without end starts processes"));
    }
    if found.grows && !found.waits {
        defects.push(defect("memory-bomb", line, "a loop without end keeps more and more"));
    }
    if found.writes && !found.waits {
        defects.push(defect("disk-filler", line, "a loop without end writes to a file"));
    }
    if !found.waits && defects.is_empty() {
        defects.push(defect("endless-loop", line, "the loop has no end and waits for nothing"));
    }
    defects
}

impl Body {
    fn block(&mut self, body: &[Statement], inner: bool, depth: usize) {
        if depth > 16 {
            self.leaves = true;
            return;
        }
        for statement in body {
            match &statement.kind {
                Action::Leave => self.leaves |= !inner,
                Action::Return(_) => self.leaves = true,
                Action::Value(value) | Action::Raise(value) | Action::Exec(value) => {
                    self.expr(value, 0);
                }
                Action::Assign(target, value) => {
                    let doubled = match (&target.kind, &value.kind) {
                        (Kind::Name(name), Kind::Sum(parts)) => {
                            parts.iter().all(|part| is_name(part, name))
                        }
                        (Kind::Name(name), Kind::Binary(operator, left, right)) => {
                            &**operator == "*"
                                && is_name(left, name)
                                && matches!(right.kind, Kind::Number(2..))
                        }
                        _ => false,
                    };
                    self.grows |= doubled;
                    self.expr(value, 0);
                }
                Action::Augment(target, operator, value) => {
                    let same = match (&target.kind, &value.kind) {
                        (Kind::Name(name), Kind::Name(other)) => name == other,
                        (_, Kind::Text { .. } | Kind::List(_)) => true,
                        (_, Kind::Binary(operator, left, _)) => {
                            &**operator == "*"
                                && matches!(left.kind, Kind::Text { .. } | Kind::List(_))
                        }
                        _ => false,
                    };
                    self.grows |= same && &**operator == "+";
                    self.expr(value, 0);
                }
                Action::Branches(ways) => {
                    for way in ways {
                        self.block(way, inner, depth + 1);
                    }
                }
                Action::For(_, items, body) => {
                    self.expr(items, 0);
                    self.block(body, true, depth + 1);
                }
                Action::While(test, body) => {
                    self.expr(test, 0);
                    self.block(body, true, depth + 1);
                }
                Action::With(items, body) => {
                    for (value, _) in items {
                        self.expr(value, 0);
                    }
                    self.block(body, inner, depth + 1);
                }
                Action::Block(body) => self.block(body, inner, depth + 1),
                _ => {}
            }
        }
    }

    fn expr(&mut self, expr: &Expr, depth: usize) {
        if depth > 16 {
            self.leaves = true;
            return;
        }
        let all = |this: &mut Self, parts: &[Expr]| {
            for part in parts {
                this.expr(part, depth + 1);
            }
        };
        match &expr.kind {
            Kind::Call(callee, arguments) => {
                let name = match &callee.kind {
                    Kind::Name(name) | Kind::Attribute(_, name) => &**name,
                    _ => "",
                };
                let method = matches!(callee.kind, Kind::Attribute(..));
                match name {
                    "fork" | "forkpty" | "Popen" => self.forks = true,
                    "append" | "extend" if method => self.grows = true,
                    "write" | "writelines" if method => self.writes |= !is_standard(callee),
                    name if BUSY.contains(&name) => {}
                    // Who knows.
                    "exit" | "_exit" | "quit" | "abort" => self.leaves = true,
                    _ => self.waits = true,
                }
                // A list that something takes from again does not grow for ever.
                if matches!(name, "pop" | "clear" | "popleft" | "get" | "seek" | "truncate") {
                    self.leaves = true;
                }
                if let Kind::Attribute(object, _) = &callee.kind {
                    self.expr(object, depth + 1);
                }
                for argument in arguments {
                    let (Argument::Positional(value)
                    | Argument::Named(_, value)
                    | Argument::List(value)
                    | Argument::Dict(value)) = argument;
                    self.expr(value, depth + 1);
                }
            }
            Kind::Yield(_) => self.leaves = true,
            Kind::Sum(parts)
            | Kind::Either(parts)
            | Kind::Test(parts)
            | Kind::List(parts)
            | Kind::Of(parts) => all(self, parts),
            Kind::Binary(_, left, right) | Kind::Walrus(left, right) => {
                self.expr(left, depth + 1);
                self.expr(right, depth + 1);
            }
            Kind::Star(inner) | Kind::Attribute(inner, _) => self.expr(inner, depth + 1),
            // Whatever else may wait is taken to.
            Kind::Comprehension(_) | Kind::Subscript(..) => self.waits = true,
            _ => {}
        }
    }
}

fn is_name(expr: &Expr, name: &str) -> bool {
    matches!(&expr.kind, Kind::Name(other) if **other == *name)
}

/// `sys.stdout.write` fills no disk.
fn is_standard(callee: &Expr) -> bool {
    let Kind::Attribute(object, _) = &callee.kind else { return false };
    matches!(&object.kind, Kind::Attribute(_, name) if matches!(&**name, "stdout" | "stderr"))
}
