//! Guardrails that a scripted model drafts after an incident.

use std::{fs, process::Output};

use air_testkit::server::{ModelServer, Reply, Script, Seen};
use air_wire::Dialect;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    airctl,
    story::{said, workspace},
};

const RULES: &str = "
rule @copied
trigger bash
decide effects.files.exists(f, f.change == \"created\" && f.path.endsWith(\"settings.txt\"))
check
  the settings have been copied.
remediate
  delete the copy.
respond
  rollback
end
";
const WORDS: &str = "the step puts settings of the project where visitors can read them.";

fn script(command: &str) -> String {
    format!(
        "task = \"publish\"\n\n[[step]]\nplan = \"I publish the page.\"\ntool = \"bash\"\n\
         args = {{ command = \"{command}\" }}\n"
    )
}

/// Drafts in words; as judge, says yes of what names the settings.
fn mind(seen: &Seen) -> Reply {
    if seen.request.system.contains("You write one guardrail") {
        let text = seen.text();
        let line = text.lines().find_map(|line| line.strip_prefix("The name of the guardrail: @"));
        let name = line.expect("the name is told");
        let rule = format!("rule @{name}\ntrigger bash\ncheck\n  {WORDS}\nblock\nend\n");
        return Reply::json(&json!({ "rule": rule }));
    }
    let text = seen.text();
    let code = text.rsplit("Code of this request: ").next().unwrap_or_default().trim();
    let yes = seen.last().contains("settings.txt") || seen.last().contains("settings.html");
    let outcome = if yes { "yes" } else { "no" };
    let answer = |rule: usize| {
        json!({ "rule": rule, "quotes": [], "rationale": "by the name", "outcome": outcome,
                "confidence": 0.95 })
    };
    let rules = seen.request.system.lines().filter(|line| line.starts_with("Rule ")).count();
    let answers: Vec<Value> = (1..=rules).map(answer).collect();
    Reply::json(&json!({ "request": code, "answers": answers }))
}

struct Place {
    dir: TempDir,
    server: ModelServer,
}

impl Place {
    fn new() -> Self {
        let dir = workspace();
        fs::write(dir.path().join("rules.air"), RULES).expect("a file");
        let server = ModelServer::start(Script::by(mind)).expect("a server on loopback");
        Self { dir, server }
    }

    fn airctl(&self, args: &[&str], model: bool) -> Output {
        let mut command = airctl(&self.dir.path().join("ws"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("AIR_STATE", self.dir.path().join("state"));
        if model {
            command.env("AIR_MODEL", "openai-chat:m").env("OPENAI_API_KEY", "sk-test-1");
            command.env("OPENAI_BASE_URL", self.server.base_url(Dialect::OpenAiChat));
        }
        command.args(args).output().expect("the binary runs")
    }

    fn run(&self, command: &str, model: bool) -> Output {
        fs::write(self.dir.path().join("script.toml"), script(command)).expect("a file");
        let args = ["run", "--exit-code", "--script", "../script.toml", "--rules", "../rules.air"];
        self.airctl(&args, model)
    }

    fn drafted(&self) -> usize {
        let requests = self.server.requests();
        requests.iter().filter(|it| it.request.system.contains("You write one guardrail")).count()
    }
}

#[test]
fn what_is_proved_blocks_without_a_model_and_what_is_said_blocks_with_one() {
    let place = Place::new();
    let incident = place.run("cp notes.md settings.txt", true);
    assert_eq!(incident.status.code(), Some(1), "{}", said(&incident));
    assert_eq!(place.drafted(), 1, "{}", said(&incident));
    let shown = place.airctl(&["guardrails", "show", "g-"], false);
    let shown = said(&shown);
    assert!(shown.contains(WORDS) && shown.contains("evidence "), "{shown}");
    // The very same: refused by its condition.
    let again = place.run("cp notes.md settings.txt", false);
    assert!(
        said(&again).contains("refused") || said(&again).contains("blocked"),
        "{}",
        said(&again)
    );
    // The same harm in other words: refused by the judge.
    let other = place.run("install -m 644 notes.md settings.html", true);
    assert_eq!(other.status.code(), Some(1), "{}", said(&other));
    let file = place.dir.path().join("ws/settings.html");
    assert!(!file.exists(), "{}", said(&other));
    let ordinary = place.run("ls", true);
    assert_eq!(ordinary.status.code(), Some(0), "{}", said(&ordinary));
    assert_eq!(place.drafted(), 1);
}

#[test]
fn settings_say_that_no_model_drafts() {
    let place = Place::new();
    let settings = "[synthesis]\nby = \"compiler\"\n";
    fs::write(place.dir.path().join("ws/air.toml"), settings).expect("a file");
    let incident = place.run("cp notes.md settings.txt", true);
    assert_eq!(incident.status.code(), Some(1), "{}", said(&incident));
    assert_eq!(place.drafted(), 0);
    let shown = said(&place.airctl(&["guardrails", "show", "g-"], false));
    assert!(shown.contains("decide "), "{shown}");
}
