//! Agents, judges and responders on language models: real processes, a real server on loopback, and
//! scripted minds that decide from what they are sent.

mod keyless;
mod last;
pub(crate) mod mind;
mod other;
mod real;
mod response;

use std::{fs, path::Path, process::Output, sync::Arc};

use air_testkit::server::{ModelServer, Reply, Script, Seen};
use air_wire::Dialect;
use tempfile::TempDir;

use self::mind::{LEAK, Response, SECTIONS, all};
use crate::{airctl, story};

/// Rules of the paper's form: only a judge decides them.
const RULES: &str = "
rule @copied
trigger bash, python_repl
check
  a file with credentials has been copied into a directory that is published.
remediate
  delete the copy, then confirm that nothing else is exposed.
end

rule @wiped
trigger bash, python_repl
check
  files of the user have been deleted.
remediate
  put the files back.
end
";

const TASK: &str = "publish the page";
/// A key that must turn up nowhere.
const KEY: &str = "sk-test-9f8e7d6c5b4a";

struct Place {
    dir: TempDir,
    /// None: somebody else's.
    server: Option<ModelServer>,
    url: String,
    dialect: Dialect,
}

impl Place {
    fn new(dialect: Dialect, script: Script) -> Self {
        let server = ModelServer::start(script).expect("a server on loopback");
        let url = server.base_url(dialect);
        Self { server: Some(server), ..Self::at(dialect, url) }
    }

    /// With the models of another server.
    fn at(dialect: Dialect, url: String) -> Self {
        let dir = story::workspace();
        fs::write(dir.path().join("rules.air"), RULES).expect("a file");
        Self { dir, server: None, url, dialect }
    }

    /// What its own server was asked so far.
    fn requests(&self) -> Vec<Arc<Seen>> {
        self.server.as_ref().map(ModelServer::requests).unwrap_or_default()
    }

    fn ws(&self) -> std::path::PathBuf {
        self.dir.path().join("ws")
    }

    /// `airctl` with a model of the server, in the workspace.
    fn run(&self, args: &[&str]) -> Output {
        self.run_with(args, |_| ())
    }

    fn run_with(&self, args: &[&str], with: impl FnOnce(&mut assert_cmd::Command)) -> Output {
        let mut command = airctl(&self.ws());
        let (model, base, key) = match self.dialect {
            Dialect::OpenAiChat => ("openai-chat:m", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
            Dialect::OpenAiResponses => ("openai-responses:m", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
            Dialect::Anthropic => ("anthropic:m", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
            Dialect::Gemini => ("gemini:m", "GEMINI_BASE_URL", "GEMINI_API_KEY"),
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env("PATH", path).env("AIR_STATE", self.dir.path().join("state"));
        command.env("AIR_MODEL", model).env(base, &self.url).env(key, KEY);
        command.args(args);
        with(&mut command);
        command.output().expect("the binary runs")
    }

    fn task(&self, args: &[&str]) -> Output {
        let all = [&["run", "--task", TASK, "--rules", "../rules.air"], args].concat();
        self.run(&all)
    }

    fn leaked(&self) -> bool {
        self.ws().join(LEAK).exists()
    }
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// The whole thread: judged, responded to by the agent, verified, learned, and blocked at the plan.
fn thread(dialect: Dialect, extra: &[&str]) {
    let place = Place::new(dialect, all(Response::Honest));
    let first = text(&place.task(extra));
    for stage in ["@copied", "the agent called `delete_file`", "verified", "guardrail"] {
        assert!(first.contains(stage), "{dialect} {extra:?}: no `{stage}` in\n{first}");
    }
    assert!(!place.leaked(), "{first}");
    let second = text(&place.task(extra));
    assert!(second.contains("blocked") && !second.contains("detected"), "{second}");
    assert!(!place.leaked());
    let told = text(&place.run(&["explain", "--format", "json", "i"]));
    for part in ["the agent called `delete_file`", "recovery done; proof", "judge.happened/1"] {
        assert!(told.contains(part), "{told}");
    }
    assert!(!first.contains(KEY) && !second.contains(KEY));
    assert!(!holds(place.dir.path(), KEY), "the key was kept");
}

/// Whether any file below holds the text.
fn holds(dir: &Path, text: &str) -> bool {
    let files = story::tree(dir);
    files
        .iter()
        .any(|(_, _, content)| content.windows(text.len()).any(|window| window == text.as_bytes()))
}

#[test]
fn openai_chat() {
    thread(Dialect::OpenAiChat, &[]);
    thread(Dialect::OpenAiChat, &["--format", "json"]);
}

#[test]
fn openai_responses() {
    thread(Dialect::OpenAiResponses, &[]);
    thread(Dialect::OpenAiResponses, &["--format", "json"]);
}

#[test]
fn anthropic() {
    thread(Dialect::Anthropic, &[]);
    thread(Dialect::Anthropic, &["--format", "json"]);
}

#[test]
fn gemini() {
    thread(Dialect::Gemini, &[]);
    thread(Dialect::Gemini, &["--format", "json"]);
}

#[test]
fn an_agent_that_writes_code() {
    thread(Dialect::OpenAiChat, &["--agent", "codeact"]);
}

#[test]
fn a_verdict_that_comes_while_the_agent_plans() {
    for dialect in Dialect::ALL {
        thread(dialect, &["--judge-mode", "deferred"]);
    }
}

/// The scripted judge is a real one: without any of what it is to be shown it would not find the leak.
#[test]
fn the_judge_decides_from_all_that_it_is_shown() {
    let place = Place::new(Dialect::OpenAiChat, all(Response::Honest));
    place.task(&[]);
    let judged: Vec<_> = place
        .requests()
        .into_iter()
        .filter(|seen| seen.request.system.contains("HAS WHAT THE RULE DESCRIBES HAPPENED"))
        .collect();
    let [_, second] = judged.as_slice() else { panic!("{} checks", judged.len()) };
    assert!(says_yes(second), "as it was sent");
    for name in SECTIONS {
        let mut without = Seen::clone(second);
        for message in &mut without.request.messages {
            for part in &mut message.parts {
                if let air_wire::Part::Text(text) = part {
                    let section = mind::section(text, name).to_owned();
                    assert!(!section.is_empty(), "no section `{name}` was sent");
                    *text = text.replace(&section, "\n");
                }
            }
        }
        assert!(!says_yes(&without), "it does not need `{name}`");
    }
}

fn says_yes(seen: &Seen) -> bool {
    format!("{:?}", mind::judge(seen)).contains(r#"\"outcome\":\"yes\""#)
}

/// What the model wrote is tried, and stands beside what was derived: that blocks without a model.
#[test]
fn a_guardrail_in_the_words_of_a_model() {
    let place = Place::new(Dialect::OpenAiChat, all(Response::Honest));
    place.task(&[]);
    let shown = text(&place.run(&["guardrails", "show", "g"]));
    assert!(shown.contains("copies credentials to a place where they are published"), "{shown}");
    assert!(shown.contains("evidence code.flows"), "{shown}");
    let told = text(&place.run(&["explain", "i"]));
    assert!(told.contains("synthesis"), "{told}");
}

#[test]
fn an_agent_that_lies_is_caught() {
    let place = Place::new(Dialect::OpenAiChat, all(Response::Lies));
    let told = text(&place.task(&[]));
    assert!(told.contains("again") && told.contains("the state is not restored"), "{told}");
    assert!(told.contains("AIR put the workspace back by itself"), "{told}");
    assert!(!place.leaked());
    // Alone, it leaves the incident to a person.
    let place = Place::new(Dialect::OpenAiChat, all(Response::Lies));
    fs::write(place.dir.path().join("air.toml"), "[response]\nby = \"alone\"\n").expect("a file");
    let told = text(&place.task(&["--config", "../air.toml"]));
    assert!(told.contains("escalated") && told.contains("recovery"), "{told}");
}

#[test]
fn one_that_is_not_sure_asks_for_a_person() {
    let place = Place::new(Dialect::OpenAiChat, all(Response::Unsure));
    let told = text(&place.task(&[]));
    assert!(told.contains("escalated") && told.contains("confidence of 0.10"), "{told}");
}

#[test]
fn what_models_took_is_told_and_kept() {
    let place = Place::new(Dialect::OpenAiChat, all(Response::Honest));
    let told = text(&place.task(&[]));
    for purpose in ["agent:", "check:", "response:", "verification:"] {
        assert!(told.contains(purpose), "{told}");
    }
    let checks = place.requests();
    let checks = checks
        .iter()
        .filter(|seen| seen.request.system.contains("HAS WHAT THE RULE DESCRIBES HAPPENED"));
    assert_eq!(checks.count(), 2, "one request a step, whatever the number of rules");
}

/// Of a guardrail that no model has read, nobody knows whether it holds: that is told.
#[test]
fn guardrails_that_are_not_read_are_told() {
    let script = Script::by(|seen| {
        if seen.request.system.contains("WOULD THE STEP CAUSE") {
            return mind::verdicts(&seen.text(), |_| false);
        }
        mind::reply(seen, Response::Honest)
    });
    let place = Place::new(Dialect::OpenAiChat, script);
    let towns = (0..60).map(|n| {
        format!("\nrule @town_{n}\ntrigger *\ncheck\n  the step visits town {n}.\nblock\nend\n")
    });
    let rules: String = [RULES.to_owned()].into_iter().chain(towns).collect();
    fs::write(place.dir.path().join("rules.air"), rules).expect("a file");
    let told = text(&place.task(&[]));
    let wanted = "guardrails looked less like the step and were not read";
    assert!(told.contains(wanted), "{told}");
    let told = text(&place.run(&["explain", "i"]));
    assert!(told.contains(wanted), "{told}");
    let told = text(&place.run(&["explain", "i", "--format", "json"]));
    assert!(told.contains("\"unread\""), "{told}");
}

#[test]
fn a_recording_is_played_without_a_server_or_a_key() {
    let place = Place::new(Dialect::OpenAiChat, all(Response::Honest));
    let recorded = place.task(&["--record", "../tape.jsonl"]);
    assert!(text(&recorded).contains("recovered"), "{}", text(&recorded));
    let asked = place.requests().len();
    let other = story::workspace();
    fs::write(other.path().join("rules.air"), RULES).expect("a file");
    let tape = place.dir.path().join("tape.jsonl");
    let mut command = airctl(&other.path().join("ws"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("AIR_STATE", other.path().join("state"));
    command.args(["run", "--task", TASK, "--rules", "../rules.air", "--model", "openai-chat:m"]);
    let replayed = command.arg("--replay").arg(&tape).output().expect("the binary runs");
    assert!(text(&replayed).contains("recovered"), "{}", text(&replayed));
    assert_eq!(place.requests().len(), asked);
    assert!(!fs::read_to_string(tape).expect("a recording").contains(KEY));
}

#[test]
fn a_task_goes_on_after_the_model_came_back() {
    // The second turn fails once, in a way that is not tried again.
    let script = Script::by(move |seen| {
        let turns = seen.request.messages.len();
        if seen.number == 2 && turns > 1 {
            return Reply::error(400, "overloaded in a way that nobody knows");
        }
        mind::reply(seen, Response::Honest)
    });
    let place = Place::new(Dialect::OpenAiChat, script);
    let first = place.task(&[]);
    assert_eq!(first.status.code(), Some(2), "{}", text(&first));
    let told = text(&first);
    let id = told.split("--resume ").nth(1).and_then(|it| it.split('`').next()).expect("a way on");
    let again = place.run(&["run", "--resume", id, "--rules", "../rules.air"]);
    let again = text(&again);
    assert!(again.contains("recovered") && !place.leaked(), "{again}");
}

#[test]
fn a_limit_stops_a_run_cleanly() {
    let place = Place::new(Dialect::OpenAiChat, all(Response::Honest));
    let stopped = place.task(&["--max-calls", "2"]);
    let told = text(&stopped);
    assert_eq!(stopped.status.code(), Some(2), "{told}");
    assert!(told.contains("the spend limit is reached") && told.contains("--resume"), "{told}");
    assert_eq!(place.requests().len(), 2);
    // Ended by a person, what was done until then is handed over, and told.
    let ended = text(&place.run(&["resume", "--rules", "../rules.air"]));
    assert!(ended.contains("published") || ended.contains("nothing is open"), "{ended}");
    assert!(!place.leaked());
}

#[test]
fn what_is_wrong_with_a_model_is_said_with_a_way_out() {
    let dir = story::workspace();
    fs::write(dir.path().join("rules.air"), RULES).expect("a file");
    let ask = |args: &[&str], env: &[(&str, &str)]| {
        let mut command = airctl(&dir.path().join("ws"));
        command.env("PATH", "/usr/bin:/bin").envs(env.iter().copied());
        command.args(["run", "--rules", "../rules.air", "--task", TASK]).args(args);
        let output = command.output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(2));
        text(&output)
    };
    let lines = [
        ask(&[], &[]),
        ask(&["--model", "gpt-5"], &[]),
        ask(&["--model", "opnai:gpt-5"], &[]),
        ask(&["--model", "openai:gpt-5"], &[]),
        ask(
            &["--model", "openai:x", "--base-url", "http://models.example/v1"],
            &[("OPENAI_API_KEY", KEY)],
        ),
        ask(&["--model", "openai:x", "--max-cost=-1"], &[("OPENAI_API_KEY", KEY)]),
        ask(&["--model", "openai:x", "--replay", "none.jsonl"], &[]),
    ];
    insta::assert_snapshot!(lines.join("\n"));
    let stolen = "[model]\nname = \"openai:x\"\nbase_url = \"https://elsewhere.example\"\n";
    fs::write(dir.path().join("ws/air.toml"), stolen).expect("a file");
    let refused = ask(&[], &[]);
    assert!(
        refused.contains("air.toml:3:1: `model.base_url` may not stand in a project's"),
        "{refused}"
    );
    assert!(refused.contains("data and keys would be sent there; pass `--base-url`"), "{refused}");
}

#[test]
fn what_servers_do_wrong_ends_the_run_and_is_said() {
    for (status, wanted) in
        [(401, "refuses the key"), (403, "refuses the key"), (404, "refuses the request")]
    {
        let script = Script::by(move |_| Reply::error(status, "no"));
        let place = Place::new(Dialect::OpenAiChat, script);
        let output = place.task(&[]);
        let told = text(&output);
        assert!(output.status.code() == Some(2) && told.contains(wanted), "{status}: {told}");
        assert!(!told.contains(KEY));
    }
}

/// A judge that gives no usable answer leaves the checks undetermined, with the cause; nothing crashes.
#[test]
fn a_judge_that_fails_leaves_it_undetermined() {
    type Wrong = (&'static str, fn() -> Reply);
    let wrong: [Wrong; 6] = [
        ("HTTP 400", || Reply::error(400, "no")),
        ("", || Reply::text("I would rather not say.")),
        ("", || Reply::text("{\"request\": \"x\", \"answers\": [")),
        ("", || Reply::json(&serde_json::json!({ "answers": "all fine" }))),
        ("", || Reply::reset()),
        ("", || Reply::raw(200, "<html>busy</html>")),
    ];
    for (at, (why, reply)) in wrong.into_iter().enumerate() {
        let script = Script::by(move |seen| {
            if seen.request.system.contains("You are the judge of AIR") {
                reply()
            } else {
                mind::reply(seen, Response::Honest)
            }
        });
        let place = Place::new(Dialect::OpenAiChat, script);
        let output = place.task(&[]);
        let told = text(&output);
        assert!(told.contains("undecided") && told.contains(why), "{at}: {told}");
        assert_eq!(output.status.code(), Some(0), "{at}: {told}");
    }
}

/// A judge that always says the same is recognised, and every incident's story tells it.
#[test]
fn known_questions_tell_how_far_a_judge_can_be_trusted() {
    let place = Place::new(
        Dialect::OpenAiChat,
        Script::by(|seen| {
            if seen.request.system.contains("@copied") {
                mind::reply(seen, Response::Honest)
            } else if seen.request.system.contains("You are the judge of AIR") {
                mind::always(seen, "yes")
            } else {
                mind::reply(seen, Response::Honest)
            }
        }),
    );
    let output = place.run(&["doctor", "--model", "openai-chat:m"]);
    let told = text(&output);
    assert!(told.contains("it says yes to everything"), "{told}");
    assert_eq!(output.status.code(), Some(1), "{told}");
    place.task(&[]);
    let story = text(&place.run(&["explain", "i"]));
    let right = "known questions right";
    assert!(story.contains("judge openai-chat:m: ") && story.contains(right), "{story}");
    assert!(story.contains("models, for this step") && story.contains("check"), "{story}");
}

#[test]
fn prompts_are_shown_word_for_word() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let shown = |args: &[&str]| {
        let output = airctl(dir.path()).arg("prompts").args(args).output().expect("it runs");
        (output.status.code(), text(&output))
    };
    let (code, all) = shown(&[]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(all);
    let (_, one) = shown(&["agent.respond"]);
    assert!(one.starts_with("An incident has happened"), "{one}");
    let (code, none) = shown(&["agent.none"]);
    assert!(code == Some(2) && none.contains("there are agent.react"), "{none}");
}
