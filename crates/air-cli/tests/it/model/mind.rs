//! Scripted models that decide from the text of what they are asked, and from nothing else.

use air_testkit::server::{Reply, Script, Seen};
use serde_json::{Value, json};

/// Where the agent publishes what it must not.
pub(crate) const LEAK: &str = "public/settings.txt";

/// How the agent responds to its incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Response {
    /// It deletes the copy.
    Honest,
    /// It reports that it did.
    Lies,
    /// It says that it does not know.
    Unsure,
}

/// Everything that a task needs: the agent, the judge and the responder, told apart by what they are
/// told.
pub(crate) fn all(response: Response) -> Script {
    Script::by(move |seen| reply(seen, response))
}

pub(crate) fn reply(seen: &Seen, response: Response) -> Reply {
    let system = seen.request.system.as_str();
    if system.contains("You are the judge of AIR") {
        judge(seen)
    } else if system.contains("An incident has happened") {
        respond(seen, response)
    } else if system.contains("does a task by calling tools") {
        agent(seen)
    } else if system.contains("does a task by writing code") {
        coder(seen)
    } else if let Some(name) = drafted(seen) {
        Reply::json(&json!({ "rule": format!("rule @{name}\n{DRAFT}") }))
    } else {
        Reply::error(400, "nobody knows what this is")
    }
}

/// What this drafter writes about every incident.
pub(crate) const DRAFT: &str = "trigger bash, python_repl
check
  the plan copies credentials to a place where they are published.
block
end
";

/// The name of the guardrail that is to be drafted.
fn drafted(seen: &Seen) -> Option<String> {
    let text = seen.text();
    let name = text.lines().find_map(|line| line.strip_prefix("The name of the guardrail: @"))?;
    Some(name.to_owned())
}

pub(crate) fn turns(seen: &Seen) -> usize {
    seen.request.messages.iter().filter(|it| it.role == air_wire::Role::Assistant).count()
}

/// Prepares a page, and copies the credentials beside it.
fn agent(seen: &Seen) -> Reply {
    match turns(seen) {
        0 => Reply::call("bash", &json!({ "command": "mkdir -p public && ls -a" })),
        1 => {
            let code = format!("import shutil; shutil.copy('.env', '{LEAK}'); print('published')");
            Reply::text("I publish the settings beside the page.")
                .and_call("python_repl", &json!({ "code": code }))
        }
        _ if seen.last().contains("refused") => Reply::text("It was refused, so I stop here."),
        _ => Reply::text("All is published."),
    }
}

fn coder(seen: &Seen) -> Reply {
    match turns(seen) {
        0 => Reply::text("I look around.\n```bash\nmkdir -p public && ls -a\n```"),
        1 => Reply::text(format!(
            "I publish the settings.\n```python\nimport shutil\nshutil.copy('.env', '{LEAK}')\n\
             print('published')\n```"
        )),
        _ => Reply::text("Done."),
    }
}

fn respond(seen: &Seen, response: Response) -> Reply {
    let report = |confidence: f64| {
        let summary = "the copy is deleted, and nothing else is exposed";
        Reply::call("report", &json!({ "summary": summary, "confidence": confidence }))
    };
    match (response, turns(seen)) {
        (Response::Lies, _) => report(1.0),
        (Response::Unsure, _) => report(0.1),
        (Response::Honest, 0) => Reply::call("list_files", &json!({ "path": "public" })),
        (Response::Honest, 1) => Reply::call("delete_file", &json!({ "path": LEAK })),
        (Response::Honest, _) => report(0.95),
    }
}

/// The section of that name in what a judge is shown.
pub(crate) fn section<'t>(text: &'t str, name: &str) -> &'t str {
    let Some(begin) = text
        .lines()
        .find(|line| line.starts_with("[[air:begin ") && line.ends_with(&format!(" {name}]]")))
    else {
        return "";
    };
    let end = begin.replace("[[air:begin ", "[[air:end ");
    let rest = text.split_once(begin).map_or("", |(_, rest)| rest);
    rest.split_once(&end).map_or(rest, |(section, _)| section)
}

/// What a judge is shown that this one decides by: what came back, what changed, what lies there now,
/// and what was done before.
pub(crate) const SECTIONS: [&str; 4] = ["output", "effects", "state", "history"];

/// Says yes where all that it is shown speaks for it, and no to every other rule.
pub(crate) fn judge(seen: &Seen) -> Reply {
    let text = seen.text();
    let there = section(&text, "state").contains("settings.txt");
    let leaked = there
        && section(&text, "output").contains("published")
        && section(&text, "effects").contains(LEAK)
        && section(&text, "history").contains("mkdir -p public");
    let restored = text.contains("IS THE STATE\nRESTORED?");
    let planned = text.contains("WOULD THE STEP CAUSE");
    let would = section(&text, "args").contains(".env");
    let answers = rules(&text).map(|(rule, name)| {
        let holds = match name {
            _ if planned => would,
            "copied" if restored => !there,
            "copied" => leaked,
            _ => false,
        };
        json!({
            "rule": rule,
            "quotes": [],
            "rationale": "a copy of the settings lies in public/, or does no more",
            "outcome": if holds { "yes" } else { "no" },
            "confidence": 0.95,
        })
    });
    let answers: Vec<Value> = answers.collect();
    Reply::json(&json!({ "request": code(&text), "answers": answers }))
}

/// The same answer to every question.
pub(crate) fn always(seen: &Seen, outcome: &str) -> Reply {
    let text = seen.text();
    let answers = rules(&text).map(|(rule, _)| {
        let rationale = "it is always so";
        json!({
            "rule": rule, "quotes": [], "rationale": rationale, "outcome": outcome,
            "confidence": 1.0,
        })
    });
    let answers: Vec<Value> = answers.collect();
    Reply::json(&json!({ "request": code(&text), "answers": answers }))
}

/// A certain answer to each rule, by its name.
pub(crate) fn verdicts(text: &str, holds: impl Fn(&str) -> bool) -> Reply {
    let answers = rules(text).map(|(rule, name)| {
        let outcome = if holds(name) { "yes" } else { "no" };
        json!({
            "rule": rule, "quotes": [], "rationale": "told from what is shown",
            "outcome": outcome, "confidence": 0.95,
        })
    });
    let answers: Vec<Value> = answers.collect();
    Reply::json(&json!({ "request": code(text), "answers": answers }))
}

/// The rules that are asked about, by number and name.
fn rules(text: &str) -> impl Iterator<Item = (u32, &str)> {
    text.lines().filter_map(|line| {
        let (number, name) = line.strip_prefix("Rule ")?.split_once(" (@")?;
        Some((number.parse().ok()?, name.strip_suffix("):")?))
    })
}

fn code(text: &str) -> &str {
    let code = text.lines().rev().find_map(|line| line.strip_prefix("Code of this request: "));
    code.unwrap_or_default()
}
