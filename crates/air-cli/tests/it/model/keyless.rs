//! Who is asked, and what goes on where nobody can be.

use std::{fs, path::Path, process::Output};

use air_testkit::server::{ModelServer, Script, Seen};
use air_wire::Dialect;

use super::{
    KEY, Place, RULES, TASK,
    mind::{self, Response, all},
    text,
};
use crate::{airctl, story};

const SCRIPT: &str = "task = 'list'
[[step]]
tool = 'bash'
args = { command = 'echo one > one.txt' }
";

/// `airctl` in the workspace, with these settings of the user, and nothing else that names a model.
fn bare(dir: &Path, settings: &str, env: &[(&str, &str)], args: &[&str]) -> Output {
    let home = dir.join("ws/home/.config/air");
    fs::create_dir_all(&home).expect("a directory");
    fs::write(home.join("air.toml"), settings).expect("a file");
    fs::write(dir.join("script.toml"), SCRIPT).expect("a file");
    let mut command = airctl(&dir.join("ws"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("AIR_STATE", dir.join("state")).envs(env.iter().copied());
    command.args(args).output().expect("the binary runs")
}

#[test]
fn without_a_key_what_needs_no_model_goes_on() {
    const NAMED: &str = "[model]\nname = \"openai:gpt-x\"\n";
    const WARNED: &str = "warning: no language model can be asked: no key for `openai`";
    let script = ["run", "--script", "../script.toml", "--rules", "../rules.air", "--exit-code"];
    let dir = story::workspace();
    fs::write(dir.path().join("rules.air"), RULES).expect("a file");
    let output = bare(dir.path(), NAMED, &[], &script);
    let told = text(&output);
    assert_eq!(told.matches(WARNED).count(), 1, "{told}");
    assert!(told.contains("set OPENAI_API_KEY"), "{told}");
    // It is no judge that nobody has configured, but one that has failed.
    let why = "@copied: judge failed: no language model can be asked: no key for `openai`";
    assert!(told.contains(why), "{told}");
    assert!(output.status.code() == Some(0) && told.contains("published"), "{told}");

    // The same where the environment names it; and what is critical holds, until it is let go.
    let rules = RULES.replace("trigger", "severity critical\ntrigger");
    fs::write(dir.path().join("rules.air"), rules).expect("a file");
    let output = bare(dir.path(), "", &[("AIR_MODEL", "anthropic:x")], &script);
    let told = text(&output);
    assert!(output.status.code() == Some(1) && told.contains("held after step 1"), "{told}");
    let told = text(&bare(dir.path(), NAMED, &[], &script));
    let id = told.split("--release ").nth(1).and_then(|it| it.split('`').next()).expect("a way on");
    let output = bare(dir.path(), NAMED, &[], &["resume", "--release", id]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    for args in [&["resume", "--rules", "../rules.air"][..], &["incidents"]] {
        let output = bare(dir.path(), NAMED, &[], args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    }

    // Who asks for a model is told that there is none.
    let task = ["run", "--task", TASK, "--rules", "../rules.air"];
    for args in [&task[..], &[&script[..], &["--model", "openai:x"]].concat()] {
        let output = bare(dir.path(), NAMED, &[], args);
        let told = text(&output);
        assert!(output.status.code() == Some(2) && told.contains("error: no key"), "{told}");
    }
}

#[test]
fn an_incident_is_decided_about_without_a_key() {
    let place = Place::new(Dialect::OpenAiChat, all(Response::Unsure));
    let told = text(&place.task(&[]));
    let id = told.split("airctl explain ").nth(1).and_then(|it| it.split('`').next());
    let id = id.expect("an incident");
    let settings = "[model]\nname = \"openai:gpt-x\"\n";
    let output = bare(place.dir.path(), settings, &[], &["resume", id, "--dismiss", "benign"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("closed (benign positive)"), "{}", text(&output));
}

fn judges(seen: &Seen) -> bool {
    seen.request.system.contains("You are the judge of AIR")
}

/// An address is that of one provider, whatever it speaks there: neither data nor a key goes elsewhere.
#[test]
fn an_address_is_that_of_one_provider() {
    let start = || {
        let script = Script::by(|seen| {
            if judges(seen) {
                mind::always(seen, "no")
            } else {
                mind::reply(seen, Response::Honest)
            }
        });
        ModelServer::start(script).expect("a server on loopback")
    };
    let run = |settings: &str, args: &[&str]| {
        let (one, other) = (start(), start());
        let dir = story::workspace();
        fs::write(dir.path().join("rules.air"), RULES).expect("a file");
        let url = one.base_url(Dialect::OpenAiChat);
        let elsewhere = other.base_url(Dialect::Anthropic);
        let env = [
            ("OPENAI_API_KEY", KEY),
            ("ANTHROPIC_API_KEY", "sk-ant-of-the-other"),
            ("ANTHROPIC_BASE_URL", elsewhere.as_str()),
        ];
        let (settings, args) = (settings.replace("[URL]", &url), args.iter());
        let args: Vec<_> = args.map(|arg| if *arg == "[URL]" { &url } else { *arg }).collect();
        let all = [&["run", "--task", TASK, "--rules", "../rules.air"], &args[..]].concat();
        let output = bare(dir.path(), &settings, &env, &all);
        assert!(text(&output).contains("no incident"), "{}", text(&output));
        (one.requests(), other.requests())
    };
    let named = "[model]\nname = \"openai-chat:m\"\nbase_url = \"[URL]\"\n";

    // `openai:` beside `openai-chat:`, and the other way round: at the same place.
    let judge = format!("{named}[judge]\nmodel = \"openai:j\"\n");
    let (one, other) = run(&judge, &[]);
    assert!(one.iter().any(|seen| judges(seen)) && other.is_empty());
    let flags = ["--model", "openai:m", "--base-url", "[URL]", "--judge-model", "openai-chat:j"];
    let (one, other) = run("", &flags);
    assert!(one.iter().any(|seen| judges(seen)) && other.is_empty());

    // Another provider beside it: at its own place, with its own key.
    let flags = ["--model", "openai-chat:m", "--base-url", "[URL]", "--judge-model", "anthropic:j"];
    let judge = format!("{named}[judge]\nmodel = \"anthropic:j\"\n");
    for (one, other) in [run(&judge, &[]), run("", &flags)] {
        assert!(!one.is_empty() && !one.iter().any(|seen| judges(seen)));
        assert!(!other.is_empty() && other.iter().all(|seen| judges(seen)));
    }

    // Another one in its place does not take the address, and a judge of the first one does.
    let (one, other) = run(named, &["--model", "Anthropic:m"]);
    assert!(one.is_empty() && other.iter().any(|seen| judges(seen)));
    let (one, other) = run(named, &["--model", "anthropic:m", "--judge-model", "openai:j"]);
    assert!(!one.is_empty() && one.iter().all(|seen| judges(seen)));
    assert!(!other.is_empty() && !other.iter().any(|seen| judges(seen)));
}
