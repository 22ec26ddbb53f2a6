//! `airctl convert`.

use crate::{Case, check_all};

/// Rules in the dialect of AIR's authors, of our own.
const THEIRS: &str = "\
// Sockets.
rule @wet_socket
trigger \"pour\"
check \"a liquid is near a socket\" || \"the socket is wet\"
orchestrate \"turn the power off\" \"wipe it dry\"
end

rule @wet_socket_guard
trigger \"pour\"
check \"the plan would pour near a socket\"
orchestrate \"block execution before running the tool\"
end
";
/// One of two rules is wrong.
const WRONG: &str = "\
rule @good trigger \"pour\" check \"a\" orchestrate \"b\" end
rule @bad triger \"pour\" check \"a\" orchestrate \"b\" end
";

#[test]
fn rules_go_to_standard_output_and_findings_to_standard_error() {
    let files: &[_] = &[("a.rules", THEIRS), ("b.rules", WRONG), ("old.air", "old\n")];
    #[rustfmt::skip]
    let cases = [
        Case { name: "sound",   args: &["convert", "a.rules"], ..Case::default() },
        Case { name: "wrong",   args: &["convert", "b.rules"], ..Case::default() },
        Case { name: "several", args: &["convert", "a.rules", "missing.rules", "a.rules"], ..Case::default() },
        Case { name: "output",  args: &["convert", "a.rules", "-o", "new.air"], show: &["new.air"], ..Case::default() },
        Case { name: "replace", args: &["convert", "b.rules", "-o", "old.air"], show: &["old.air"], ..Case::default() },
        Case { name: "nowhere", args: &["convert", "a.rules", "-o", "none/new.air"], ..Case::default() },
        Case { name: "json",    args: &["convert", "--format", "json", "b.rules"], ..Case::default() },
        Case { name: "empty",   args: &["convert", "old.air"], ..Case::default() },
        Case { name: "nothing", args: &["convert"], ..Case::default() },
    ];
    check_all("convert", &cases.map(|case| Case { files, ..case }));
}

#[test]
fn what_was_translated_is_sound_and_laid_out() {
    let directory = crate::directory(&[("a.rules", THEIRS)]);
    let run = |args: &[&str]| {
        let output = crate::airctl(directory.path()).args(args).output().expect("it runs");
        output.status.code()
    };
    assert_eq!(run(&["convert", "a.rules", "-o", "a.air"]), Some(0));
    assert_eq!(run(&["check", "a.air"]), Some(0));
    assert_eq!(run(&["fmt", "--check", "a.air"]), Some(0));
}
