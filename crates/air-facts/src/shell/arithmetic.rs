//! Sums of whole numbers.

/// Brackets deeper than this are not followed.
const MAX_DEPTH: usize = 16;

/// The value of `expr`, where it is plain: numbers, variables of numbers, `+ - * / %`, brackets.
pub(super) fn value(expr: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<i64> {
    let mut sum = Sum { rest: expr.trim(), variable, depth: 0 };
    let value = sum.terms()?;
    sum.rest.trim().is_empty().then_some(value)
}

struct Sum<'e> {
    rest: &'e str,
    variable: &'e dyn Fn(&str) -> Option<String>,
    depth: usize,
}

impl Sum<'_> {
    fn take(&mut self, operators: [char; 3]) -> Option<char> {
        self.rest = self.rest.trim_start();
        let c = self.rest.chars().next().filter(|c| operators.contains(c))?;
        // `**`, `+=` and `++` are not sums.
        let rest = self.rest.get(1..)?;
        if rest.starts_with(['=', '*', '+', '<', '>']) {
            return None;
        }
        self.rest = rest;
        Some(c)
    }

    fn terms(&mut self) -> Option<i64> {
        let mut value = self.factors()?;
        while let Some(operator) = self.take(['+', '-', '+']) {
            let other = self.factors()?;
            value =
                if operator == '+' { value.checked_add(other) } else { value.checked_sub(other) }?;
        }
        Some(value)
    }

    fn factors(&mut self) -> Option<i64> {
        let mut value = self.one()?;
        while let Some(operator) = self.take(['*', '/', '%']) {
            let other = self.one()?;
            value = match operator {
                '*' => value.checked_mul(other),
                '/' => value.checked_div(other),
                _ => value.checked_rem(other),
            }?;
        }
        Some(value)
    }

    fn one(&mut self) -> Option<i64> {
        self.rest = self.rest.trim_start();
        if let Some(rest) = self.rest.strip_prefix('(') {
            if self.depth == MAX_DEPTH {
                return None;
            }
            self.depth += 1;
            self.rest = rest;
            let value = self.terms()?;
            self.rest = self.rest.trim_start().strip_prefix(')')?;
            self.depth -= 1;
            return Some(value);
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '#';
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            return number(token);
        }
        number((self.variable)(token)?.trim())
    }
}

fn number(text: &str) -> Option<i64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return i64::from_str_radix(hex, 16).ok();
    }
    if let Some((base, digits)) = text.split_once('#') {
        let base = base.parse().ok().filter(|base| (2..=36).contains(base))?;
        return i64::from_str_radix(digits, base).ok();
    }
    match text.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => i64::from_str_radix(octal, 8).ok(),
        _ => text.parse().ok(),
    }
}
