//! A rule file of any bytes: it is parsed and reported on; laid out, the same rules are in it, and
//! laying it out again changes nothing; each rule is its own text.
#![no_main]

use air_core::rule::Rule;
use air_lang::{Parsed, Severity, format, parse, parse_bytes, render};
use libfuzzer_sys::fuzz_target;

/// What must stay of a rule: all but blanks.
fn essence(rule: &Rule) -> (String, String, usize) {
    let check = rule.check.split_whitespace().collect::<Vec<_>>().join(" ");
    (rule.name.to_string(), check, rule.trigger.patterns().len())
}

fn essences(parsed: &Parsed) -> Vec<(String, String, usize)> {
    parsed.rules().iter().map(essence).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let parsed = parse_bytes(bytes);
    render(parsed.diagnostics(), "file", &parsed.text(), false);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let parsed = parse(text);
    let once = format(&parsed);
    let again = parse(&once);
    assert_eq!(format(&again), once, "laid out twice");
    assert_eq!(essences(&parsed), essences(&again), "the same rules");
    let sound = |parsed: &Parsed| {
        parsed.diagnostics().iter().all(|found| found.severity != Severity::Error)
    };
    assert_eq!(sound(&parsed), sound(&again), "errors neither come nor go");
    for rule in parsed.rules() {
        let alone = parse(&rule.source);
        assert_eq!(essences(&alone), [essence(rule)], "a rule alone");
    }
});
