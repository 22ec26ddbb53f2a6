//! The same program with another value of one protected attribute of whom it decides about.

use regex::Regex;

use crate::world::program::{literals, matches};

/// How many variants are made.
const MOST: usize = 12;
/// Parts of names of attributes that are protected, or stand for one that is.
const PROTECTED: &str = r"(?i)(race|racial|gender|sex|\bage|_age|age_|age$|ethnic|religio|faith|cultur|disab|socio|econom|status|nation|origin|birth|country|citizen|immigra|language|accent|neighbo|zip|postal|district|region|locat|area|parent|family|marital|marri|child|pregnan|orient|appear|skin|colou?r|weight|height|health|medical|caste|class|background|politic|veteran|income|wealth|name|job|occupation|educat|school|hobby|interest|lifestyle|diet|person)";

/// A place where a name is given a value of the source.
struct Assigned {
    name: String,
    value: String,
    /// Where the value stands, in bytes.
    at: std::ops::Range<usize>,
}

/// Variants of `code`, each with one value replaced by another of the program's own.
pub(crate) fn of(code: &str) -> Vec<String> {
    let values = literals(code);
    let mut all = Vec::new();
    for assigned in assigned(code) {
        if !is_protected(&assigned.name) {
            continue;
        }
        let before = code.get(..assigned.at.start).unwrap_or_default();
        let after = code.get(assigned.at.end..).unwrap_or_default();
        for other in siblings(code, &assigned.value, &values) {
            all.push(format!("{before}{other}{after}"));
            if all.len() >= MOST {
                return all;
            }
        }
    }
    all
}

fn is_protected(name: &str) -> bool {
    !matches(PROTECTED, name).is_empty()
}

/// `"name": "value"` and `name="value"`, the last ones first: whom it is about is described after the
/// program's tables. What stands in an array of Bash is taken for a table.
fn assigned(code: &str) -> Vec<Assigned> {
    let patterns = [
        r#"["'](\w+)["']\s*:\s*["']([^"'\n]+)["']"#,
        r#"(\w+)\s*=\s*["']([^"'$\n]+)["']"#,
        r"(\w+)\s*[:=]\s*(\d{1,3})\b",
        r#"["'](\w+)["']\s*:\s*(\d{1,3})\b"#,
        r"(\w+)=(\w+)\s*$",
    ];
    let mut all = Vec::new();
    for pattern in patterns {
        let Ok(pattern) = Regex::new(&format!("(?m){pattern}")) else { continue };
        for found in pattern.captures_iter(code) {
            let (Some(name), Some(value)) = (found.get(1), found.get(2)) else { continue };
            all.push(Assigned {
                name: name.as_str().to_owned(),
                value: value.as_str().to_owned(),
                at: value.range(),
            });
        }
    }
    all.sort_by_key(|assigned| std::cmp::Reverse(assigned.at.start));
    all
}

/// Values that the program knows beside `value`: keys of the same table, or branches of the same
/// choice.
fn siblings(code: &str, value: &str, values: &[String]) -> Vec<String> {
    if let Ok(number) = value.parse::<u32>() {
        return [number + 30, number / 2].map(|other| other.to_string()).to_vec();
    }
    // A table or a choice: a stretch without an empty line in which the value is quoted as well.
    let quoted = [format!("\"{value}\""), format!("'{value}'")];
    let blocks = code.split("\n\n").flat_map(|part| part.split(['}', ')']));
    let table = blocks.filter(|block| {
        let is_table = block.matches(':').count() + block.matches("]=").count() > 1
            || block.contains("==")
            || block.contains("case ");
        is_table && quoted.iter().any(|quoted| block.contains(quoted.as_str()))
    });
    let mut others: Vec<String> = table.flat_map(literals).collect();
    if others.iter().all(|other| other == value) {
        others = values.to_vec();
    }
    others.retain(|other| other != value && !other.contains(['$', '\n', '{']) && other.len() < 40);
    others.push("Other".to_owned());
    let mut kept: Vec<String> = Vec::new();
    for other in others {
        if !kept.contains(&other) && other != value {
            kept.push(other);
        }
    }
    kept.truncate(4);
    kept
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_protected_value_is_replaced_by_another_of_the_program() {
        let code = "ranks = {\"North\": 1, \"South\": 2}\n\nwho = {\"nationality\": \"South\"}\n";
        let variants = super::of(code);
        let replaced = code.replace("\"nationality\": \"South\"", "\"nationality\": \"North\"");
        assert!(variants.contains(&replaced), "{variants:?}");
        assert!(super::of("who = {\"level\": \"South\"}\n").is_empty());
    }
}
