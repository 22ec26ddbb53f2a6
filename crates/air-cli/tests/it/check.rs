//! `airctl check`.

use crate::{Case, check_all};

/// A rule without a finding.
const SOUND: &str = "\
rule @made
trigger bash
decide effects.processes.exists(p, p.pid > 0)
check
  a process is still running.
remediate
  end it.
end
";
/// The same, decided by a judge: a note.
const JUDGED: &str = "\
rule @judged
trigger bash
check
  a process is still running.
remediate
  end it.
end
";
/// A rule that is written as the formatter would not: a warning.
const WARNED: &str = "\
rule @warned
trigger bash
decide effects.processes.exists(p, p.pid > 0)
check a process is still running.
remediate
  end it.
end
";
/// A rule with several mistakes of which each can be mended; with letters of more than one byte.
const MENDED: &str = "\
# Für später
rule mended
triger bash, bash
severity hgih
check
  dangerous — „ä“ is deleted.
block
";
/// Rules that load and are odd: warnings, and what they are to do.
const ODD: &str = "\
rule @never
trigger bash
decide plan == \"a\" && plan == \"b\"
check
  put metal fork in microwave.
respond
  kill
remediate
  restore the deleted file.
end
";
/// Rules for tools of a host.
const HOSTED: &str = "\
rule @hosted
trigger browser_click, pour
decide args.count > 1
check
  more than one.
block
end
";
/// A rule with errors.
const BROKEN: &str = "\
rule @broken
trigger bash
severty high
decide efects.processes.exists(p, p.pid > 0)
check
  a process is still running.
end
";

#[test]
fn every_finding_of_every_file_is_reported() {
    let files: &[_] = &[
        ("a.air", SOUND),
        ("b.air", BROKEN),
        ("c.air", WARNED),
        ("d/e/f.air", JUDGED),
        ("d/readme.md", "rule"),
        ("d/tools.toml", "tools = ['browser_*', 'pour']\n"),
        ("g.air", MENDED),
        ("o.air", ODD),
        ("t.air", HOSTED),
    ];
    #[rustfmt::skip]
    let cases = [
        Case { name: "sound",         args: &["check", "a.air"], ..Case::default() },
        Case { name: "quiet",         args: &["check", "a.air", "a.air", "./a.air"], ..Case::default() },
        Case { name: "broken",        args: &["check", "b.air"], ..Case::default() },
        Case { name: "warned",        args: &["check", "c.air"], ..Case::default() },
        Case { name: "denied",        args: &["check", "--deny", "warnings", "c.air"], ..Case::default() },
        Case { name: "note",          args: &["check", "--deny", "warnings", "d"], ..Case::default() },
        Case { name: "directory",     args: &["check", "."], ..Case::default() },
        Case { name: "pattern",       args: &["check", "[ac].air", "?.air", "*.txt"], ..Case::default() },
        Case { name: "json",          args: &["check", "--format", "json", "b.air", "missing.air"], ..Case::default() },
        Case { name: "missing",       args: &["check", "missing.air", "b.air"], ..Case::default() },
        Case { name: "nothing-given", args: &["check"], ..Case::default() },
        Case { name: "wrong-deny",    args: &["check", "--deny", "notes", "a.air"], ..Case::default() },
        Case { name: "from-variable", args: &["check"], env: &[("AIR_RULES", "a.air:d")], ..Case::default() },
        Case { name: "fix",           args: &["check", "--fix", "b.air", "c.air", "g.air"], show: &["b.air", "c.air", "g.air"], ..Case::default() },
        Case { name: "fix-dry-run",   args: &["check", "--fix", "--dry-run", "b.air", "g.air"], show: &["g.air"], ..Case::default() },
        Case { name: "fix-json",      args: &["check", "--fix", "--format", "json", "c.air"], ..Case::default() },
        Case { name: "dry-run-alone", args: &["check", "--dry-run", "c.air"], ..Case::default() },
        Case { name: "sarif",         args: &["check", "--format", "sarif", "b.air", "c.air", "g.air", "missing.air"], ..Case::default() },
        Case { name: "sarif-clean",   args: &["check", "--format", "sarif", "a.air"], ..Case::default() },
        Case { name: "sarif-not-fmt", args: &["fmt", "--format", "sarif", "a.air"], ..Case::default() },
        Case { name: "odd",           args: &["check", "o.air"], ..Case::default() },
        Case { name: "odd-denied",    args: &["check", "--deny", "warnings", "o.air"], ..Case::default() },
        Case { name: "tools",         args: &["check", "--config", "d/tools.toml", "t.air"], ..Case::default() },
        Case { name: "no-tools",      args: &["check", "t.air"], ..Case::default() },
        Case { name: "colour",        args: &["check", "--color", "always", "missing.air"], ..Case::default() },
    ];
    check_all("check", &cases.map(|case| Case { files, ..case }));
}

#[test]
fn names_are_unique_over_files() {
    let files: &[_] = &[("a.air", SOUND), ("b.air", SOUND), ("air.toml", "rules = ['*.air']\n")];
    let args: &[_] = &["check"];
    check_all("check", &[Case { name: "duplicate", files, args, ..Case::default() }]);
}

#[test]
fn a_file_that_is_no_text_is_reported() {
    let directory = crate::directory(&[("good.air", SOUND)]);
    std::fs::write(directory.path().join("bad.air"), b"rule @a\xff\n").expect("a file");
    let output = crate::airctl(directory.path()).args(["check", "."]).output().expect("it runs");
    let shown = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("invalid-utf8") && shown.contains("in 2 files"), "{shown}");
}

#[test]
fn a_mended_file_keeps_its_permissions_and_links() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let directory = crate::directory(&[("real.air", MENDED)]);
    let real = directory.path().join("real.air");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).expect("a mode");
    symlink("real.air", directory.path().join("link.air")).expect("a link");
    let run = || {
        let mut command = crate::airctl(directory.path());
        command.args(["check", "--fix", "link.air"]).output().expect("it runs")
    };
    run();
    let text = std::fs::read_to_string(&real).expect("the file");
    assert!(text.contains("rule @mended\ntrigger bash\nseverity high\n"), "{text}");
    assert_eq!(std::fs::metadata(&real).expect("it").permissions().mode() & 0o777, 0o640);
    assert!(directory.path().join("link.air").is_symlink());
    let shown = String::from_utf8(run().stderr).expect("text");
    assert!(shown.contains("0 findings mended"), "{shown}");
    assert_eq!(std::fs::read_to_string(&real).expect("the file"), text);
}

/// The parts of SARIF 2.1.0 that its schema requires of what is written here.
#[test]
fn sarif_has_the_required_structure() {
    let directory = crate::directory(&[("a b.air", BROKEN), ("g.air", MENDED), ("o.air", ODD)]);
    let mut command = crate::airctl(directory.path());
    let output = command.args(["check", "--format", "sarif", "."]).output().expect("it runs");
    let log: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    assert!(run["tool"]["driver"]["semanticVersion"].is_string());
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let artifacts = run["artifacts"].as_array().expect("artifacts");
    assert_eq!(artifacts[0]["location"]["uri"], "a%20b.air");
    let results = run["results"].as_array().expect("results");
    assert!(results.len() > 8);
    let region = |region: &serde_json::Value| {
        let number = |name: &str| region[name].as_u64().expect("a number");
        let (start, end) = (number("startLine"), number("endLine"));
        assert!(start >= 1 && number("startColumn") >= 1 && end >= start);
        assert!(end > start || number("endColumn") >= number("startColumn"));
    };
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().expect("it")).expect("it")];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["shortDescription"]["text"].is_string() && rule["help"]["text"].is_string());
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("it")));
        assert!(result["message"]["text"].is_string());
        let place = &result["locations"][0]["physicalLocation"];
        let at = usize::try_from(place["artifactLocation"]["index"].as_u64().expect("it"));
        let artifact = &artifacts[at.expect("it")]["location"];
        assert_eq!(place["artifactLocation"]["uri"], artifact["uri"]);
        region(&place["region"]);
        for fix in result["fixes"].as_array().into_iter().flatten() {
            let change = &fix["artifactChanges"][0];
            assert_eq!(change["artifactLocation"]["uri"], artifact["uri"]);
            for replacement in change["replacements"].as_array().expect("replacements") {
                region(&replacement["deletedRegion"]);
                assert!(replacement["insertedContent"]["text"].is_string());
            }
        }
    }
}
