//! `init`, `completions`, wrong arguments, settings that cannot be used.

use crate::{Case, airctl, check_all, directory};

#[test]
fn init_writes_a_rule_set_that_is_sound() {
    let directory = directory(&[]);
    airctl(directory.path()).arg("init").assert().code(0);
    let checked = airctl(directory.path()).args(["check", "--deny", "warnings"]).output();
    let checked = checked.expect("it runs");
    let shown = String::from_utf8_lossy(&checked.stderr);
    assert_eq!(checked.status.code(), Some(0), "{shown}");
    assert_eq!(shown, "4 sound rules in 1 file: no findings\n");
    airctl(directory.path()).args(["fmt", "--check", "rules"]).assert().code(0);
}

#[test]
fn init_says_what_to_do_next_and_overwrites_nothing() {
    #[rustfmt::skip]
    let cases = [
        Case { name: "new",   args: &["init"], ..Case::default() },
        Case { name: "json",  args: &["init", "--format", "json"], ..Case::default() },
        Case { name: "packs", args: &["init", "--pack", "code", "--pack", "attacks"], ..Case::default() },
        Case { name: "again", args: &["init"], files: &[("rules/starter.air", "# mine\n")], show: &["rules/starter.air"], ..Case::default() },
        Case { name: "in-a-broken-project", args: &["init"], files: &[("air.toml", "rules = 1\n")], show: &["air.toml"], ..Case::default() },
    ];
    check_all("init", &cases);
}

#[test]
fn completions_know_the_subcommands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = airctl(directory(&[]).path()).args(["completions", shell]).output();
        let output = output.expect("it runs");
        let script = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{shell}");
        for command in ["check", "explain", "guardrails"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
}

#[test]
fn wrong_arguments_are_explained() {
    #[rustfmt::skip]
    let cases = [
        Case { name: "help",            args: &["--help"], ..Case::default() },
        Case { name: "misspelled",      args: &["chek"], ..Case::default() },
        Case { name: "script-missing",  args: &["run"], ..Case::default() },
        Case { name: "dismiss-what",    args: &["resume", "--dismiss", "benign"], ..Case::default() },
        Case { name: "dismiss-as",      args: &["resume", "4f", "--dismiss", "maybe"], ..Case::default() },
        Case { name: "dismiss-give-up", args: &["resume", "4f", "--dismiss", "benign", "--give-up", "late"], ..Case::default() },
        Case { name: "shell",           args: &["completions", "tcsh"], ..Case::default() },
    ];
    check_all("args", &cases);
}

#[test]
fn settings_that_cannot_be_used_stop_every_command() {
    let rule = ("a.air", "");
    #[rustfmt::skip]
    let cases = [
        Case { name: "unknown-key",   files: &[rule, ("air.toml", "learn = true\nrulez = []\n")], ..Case::default() },
        Case { name: "unknown-limit", files: &[rule, ("air.toml", "[limits]\nmemory = 3\n")], ..Case::default() },
        Case { name: "zero-limit",    files: &[rule, ("air.toml", "[limits]\n  processes = 0\n")], ..Case::default() },
        Case { name: "wrong-policy",  files: &[rule, ("air.toml", "[policy]\nguardrail = \"allow\"\n")], ..Case::default() },
        Case { name: "no-toml",       files: &[rule, ("air.toml", "rules = [\n")], ..Case::default() },
        Case { name: "user",          files: &[rule, ("home/.config/air/air.toml", "learn = \"ä\" x\n")], ..Case::default() },
        Case { name: "named-missing", files: &[rule], args: &["check", "--config", "b.toml", "a.air"], ..Case::default() },
    ];
    let args: &[_] = &["check", "a.air"];
    check_all(
        "config",
        &cases
            .map(|case| Case { args: if case.args.is_empty() { args } else { case.args }, ..case }),
    );
}
