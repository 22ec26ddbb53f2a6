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
