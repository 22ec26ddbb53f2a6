//! Files that are made to be expensive. What eight times as much costs is compared with what one time
//! costs, so that no machine is too slow.

use std::time::{Duration, Instant};

use air_lang::{Converter, fix, format, lint, parse, render};

/// A file of a size.
type Make<'m> = &'m dyn Fn(usize) -> String;

/// Everything that is done with a rule file.
fn all(source: &str) {
    let parsed = parse(source);
    format(&parsed);
    let mut found = parsed.diagnostics().to_vec();
    found.extend(lint(&[("a", parsed.clone())], &lint::Settings::default()).remove(0));
    found.truncate(200);
    render(&found, "a", source, false);
    fix(parsed, &lint::Settings::default());
    Converter::default().convert(source);
}

fn cost(source: &str) -> Duration {
    let once = || {
        let start = Instant::now();
        all(source);
        start.elapsed()
    };
    once().min(once())
}

#[test]
fn cost_grows_with_the_size_and_not_with_its_square() {
    let rule = |n: usize, clauses: &str| {
        format!("rule @r{n}\ntrigger bash\n{clauses}check\n  x is y.\nblock\nend\n")
    };
    let numbered =
        |count: usize, of: &dyn Fn(usize) -> String| -> String { (0..count).map(of).collect() };
    #[rustfmt::skip]
    let table: &[(&str, Make<'_>)] = &[
        ("one line",          &|n| "x".repeat(n * 2000)),
        ("one clause",        &|n| rule(0, &format!("tags {}\n", "a, ".repeat(n * 400)))),
        ("one text",          &|n| format!("rule @a\ntrigger b\ncheck\n{}block\nend\n", "  may cause a hazard was deleted\n".repeat(n * 40))),
        ("headers",           &|n| "rule @a\n".repeat(n * 40)),
        ("same rules",        &|n| rule(0, "").repeat(n * 10)),
        ("same conditions",   &|n| numbered(n * 4, &|n| rule(n, "decide plan == \"a\" && code.complete\n"))),
        ("alike conditions",  &|n| numbered(n * 4, &|n| rule(n, &format!("decide code.complete && plan.contains(\"a{n}\")\n")))),
        ("crossed parts",     &|n| numbered(n * 4, &|n| rule(n, &format!("decide plan.contains(\"a{}\") && task.contains(\"b{}\")\n", n % 7, n / 7)))),
        ("alternatives",      &|n| numbered(n * 4, &|n| rule(n, &format!("decide plan == \"a{n}\" || plan == \"b\" || task == \"c{n}\"\n")))),
        ("layout",            &|n| numbered(n * 10, &|n| format!("rule @r{n}\n  trigger bash\n  check x is y.\n  block\n  end\n"))),
        ("indented clauses",  &|n| format!("rule @a\n{}", "  severity low\n".repeat(n * 20))),
        ("hidden",            &|n| "\u{200b}\n".repeat(n * 100)),
        ("NUL",               &|n| "\0\n".repeat(n * 100)),
        ("unclosed texts",    &|n| "\\\"\n".repeat(n * 100)),
        ("unclosed comments", &|n| "rule @a /* \" ' \n".repeat(n * 40)),
        ("dialect",           &|n| numbered(n * 20, &|n| format!("rule @a{n} trigger 'x' check ('y' && !'z') orchestrate 'w' end\n"))),
        ("dialect brackets",  &|n| format!("rule @a trigger 'x' check {}", "(".repeat(n * 400))),
    ];
    for (what, make) in table {
        let (small, large) = (make(8), make(64));
        // The square would be 64 times as much. What else runs may slow one measurement down.
        let mut measured =
            (0..4).map(|_| (cost(&small).max(Duration::from_millis(4)), cost(&large)));
        let sound = |(small, large): (Duration, Duration)| large < small * 24;
        assert!(measured.any(sound), "{what}: {:?}", (cost(&small), cost(&large)));
    }
}

#[test]
fn brackets_within_brackets_are_refused() {
    for depth in [100, 10_000] {
        let (open, close) = ("(".repeat(depth), ")".repeat(depth));
        let source = format!(
            "rule @a\ntrigger bash\ndecide {open}plan == \"a\"{close}\ncheck\n  x\nblock\nend\n"
        );
        let parsed = parse(&source);
        assert!(parsed.has_errors() && parsed.rules().is_empty());
        all(&source);
    }
}

#[test]
fn five_megabytes_are_read() {
    let rule =
        "rule @r\ntrigger bash\ncheck\n  a file of the user has been deleted.\nblock\nend\n\n";
    let many = rule.repeat((256 << 10) / rule.len());
    let text =
        format!("rule @a\ntrigger b\ncheck\n{}\nblock\nend\n", "  etwas öde\n".repeat(350_000));
    let zeros = "\0".repeat(5 << 20);
    for source in [many, text, zeros] {
        let parsed = parse(&source);
        assert_eq!(parsed.text().len(), source.len());
        let found = lint(&[("a", parsed)], &lint::Settings::default());
        assert!(found.len() == 1);
    }
}
