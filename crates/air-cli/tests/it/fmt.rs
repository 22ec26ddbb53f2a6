//! `airctl fmt`.

use std::fs;

use crate::{Case, airctl, check_all, directory};

/// Laid out as the formatter does.
const NEAT: &str = "\
rule @neat
trigger bash
check
  a file was copied.
remediate
  delete it.
end
";
/// The same words, laid out otherwise.
const UNTIDY: &str = "rule   @neat\ntrigger bash   \ncheck\n      a file was copied.\nremediate\n \
                      delete it.\nend";
/// No rule.
const BROKEN: &str = "rule @broken\ntrigger   bash\nchek\n  a file was copied.\n";

#[test]
fn files_are_laid_out_in_place() {
    let files: &[_] = &[("neat.air", NEAT), ("untidy.air", UNTIDY), ("broken.air", BROKEN)];
    #[rustfmt::skip]
    let cases = [
        Case { name: "in-place",     args: &["fmt", "neat.air", "untidy.air"], show: &["untidy.air"], ..Case::default() },
        Case { name: "check",        args: &["fmt", "--check", "neat.air", "untidy.air"], show: &["untidy.air"], ..Case::default() },
        Case { name: "check-neat",   args: &["fmt", "--check", "neat.air"], ..Case::default() },
        Case { name: "broken",       args: &["fmt", "broken.air", "untidy.air"], show: &["broken.air", "untidy.air"], ..Case::default() },
        Case { name: "directory",    args: &["fmt", "--check", "--format", "json", "."], ..Case::default() },
        Case { name: "missing",      args: &["fmt", "missing.air", "untidy.air"], show: &["untidy.air"], ..Case::default() },
        Case { name: "stdin",        args: &["fmt", "-"], stdin: UNTIDY, ..Case::default() },
        Case { name: "stdin-check",  args: &["fmt", "--check", "-"], stdin: UNTIDY, ..Case::default() },
        Case { name: "stdin-broken", args: &["fmt", "-"], stdin: BROKEN, ..Case::default() },
        Case { name: "stdin-mixed",  args: &["fmt", "-", "neat.air"], ..Case::default() },
        Case { name: "none",         args: &["fmt"], ..Case::default() },
    ];
    check_all("fmt", &cases.map(|case| Case { files, ..case }));
}

#[test]
fn a_link_and_the_mode_of_its_target_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let directory = directory(&[("real/untidy.air", UNTIDY)]);
    let (target, link) =
        (directory.path().join("real/untidy.air"), directory.path().join("link.air"));
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).expect("a mode");
    symlink("real/untidy.air", &link).expect("a link");
    airctl(directory.path()).args(["fmt", "link.air"]).assert().code(0);
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&target).expect("the target"), NEAT);
    assert_eq!(fs::metadata(&target).expect("the target").permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(directory.path().join("real")).expect("a directory").count(), 1);
}
