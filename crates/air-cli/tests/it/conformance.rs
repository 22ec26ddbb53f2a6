//! One story, told by every host in its own payloads, to the real daemon: what AIR keeps of it is the same,
//! ids, times and names of hosts aside.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use air::{Air, Settings};
use air_core::{
    incident::IncidentEvent,
    port::{Event, Journal as _, Stream},
    session::SessionEvent,
};
use air_facts::LabelTable;
use air_hook::client::{self, Question};
use futures::executor::block_on;
use serde_json::Value;
use tempfile::TempDir;

const HOSTS: [&str; 6] = ["claude-code", "codex", "copilot", "cursor", "gemini", "opencode"];

const RULES: &str = "rule @copied
trigger shell.exec
severity high
decide effects.files.exists(f, f.change == \"created\" && f.origin == \"/etc/passwd\")
check
  the list of accounts has been copied.
remediate
  delete the copy.
end
";

/// One machine with a daemon.
struct Machine {
    directory: TempDir,
}

impl Machine {
    fn new() -> Self {
        let directory = TempDir::new().expect("a directory");
        for name in ["home", "project", "state"] {
            fs::create_dir(directory.path().join(name)).expect("a directory");
        }
        fs::write(directory.path().join("rules.air"), RULES).expect("written");
        fs::write(directory.path().join("project/a.txt"), "one\n").expect("written");
        let machine = Self { directory };
        machine.air(&["daemon", "start", "--rules", "rules.air"]);
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn air(&self, arguments: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airctl"));
        command.args(arguments).current_dir(self.directory.path());
        command.env("HOME", self.path("home")).env("AIR_STATE", self.path("state"));
        let output = command.output().expect("airctl runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "airctl {arguments:?}: {said}");
    }

    /// What the host would be answered.
    fn tell(&self, host: &str, step: &Value) -> String {
        let project = self.path("project");
        let payload = step["payload"].to_string();
        let payload = payload.replace("/home/dev/proj", &project.to_string_lossy());
        let event = step["event"].as_str().map(|event| format!("?event={event}"));
        let path = format!("/v1/native/{host}{}", event.unwrap_or_default());
        let question = Question { method: "POST", path: &path, body: payload.as_bytes() };
        let until = Instant::now() + Duration::from_secs(30);
        let answer = client::ask(&self.path("state"), question, until).expect("answered");
        assert_eq!(answer.status, 200, "{host} {}", step["step"]);
        String::from_utf8(answer.body).expect("text")
    }

    /// What is on record, in words, oldest first.
    fn kept(&self) -> Vec<String> {
        let mut settings = Settings::new(&self.path("project"), &self.path("state"), Vec::new());
        settings.state = self.path("state/hosts");
        let labels = LabelTable::built_in().expect("labels");
        let air = Air::open_read_only(settings, labels).expect("a store");
        let journal = air.journal();
        let mut kept = Vec::new();
        for stream in block_on(journal.streams()).expect("readable") {
            let records = block_on(journal.read(&stream)).expect("readable");
            let about = match stream {
                Stream::Session(_) => "session",
                Stream::Incident(_) => "incident",
            };
            kept.extend(records.iter().map(|record| format!("{about}: {}", word(&record.event))));
        }
        kept
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // This process asks as a host does: it may not tell the daemon what to do.
        let address = fs::read_to_string(self.path("state/hosts/run/address.json"));
        let address: Value = serde_json::from_str(&address.unwrap_or_default()).unwrap_or_default();
        if let Some(pid) = address["pid"].as_u64() {
            let _ = Command::new("kill").arg(pid.to_string()).status();
        }
    }
}

/// An event without what differs each time.
fn word(event: &Event) -> String {
    match event {
        Event::Session(SessionEvent::StepStarted { index, tool, .. }) => {
            format!("step {index} started: {tool}")
        }
        Event::Session(SessionEvent::StepReviewed { index, review, undetermined, .. }) => {
            let open: Vec<_> = undetermined.iter().map(|it| it.rule.to_string()).collect();
            format!("step {index} reviewed: {review:?} {open:?}")
        }
        Event::Session(SessionEvent::Gated { index, tool, gate, .. }) => {
            format!("step {index} gated: {tool} {gate:?}")
        }
        Event::Session(other) => other.name().to_owned(),
        Event::Incident(IncidentEvent::Detected(detection)) => {
            let rules: Vec<_> = detection.findings.iter().map(|it| it.rule.to_string()).collect();
            format!("detected at step {}: {} {rules:?}", detection.index, detection.tool)
        }
        Event::Incident(IncidentEvent::AgentActed { tool, refused, .. }) => {
            format!("agent acted: {tool}, refused: {}", refused.is_some())
        }
        Event::Incident(IncidentEvent::PhaseEnded { phase, ending, .. }) => {
            format!("{} ended: {}", phase.name(), name(ending))
        }
        Event::Incident(other) => name(other),
    }
}

/// The name of a variant.
fn name(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}

fn story(host: &str) -> Vec<Value> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/hosts");
    let text = fs::read_to_string(corpus.join(format!("{host}.jsonl"))).expect("a story");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Tells the steps that `wanted` has, and what AIR kept of each; `act` is what happens in the world before.
fn tell(
    host: &str,
    wanted: &dyn Fn(&str) -> bool,
    act: &dyn Fn(&str, &Path),
) -> BTreeMap<String, Vec<String>> {
    let machine = Machine::new();
    let mut kept = Vec::new();
    let mut by_step = BTreeMap::new();
    for step in story(host) {
        let title = step["step"].as_str().expect("a title").to_owned();
        if step["payload"].is_null() || !wanted(&title) {
            continue;
        }
        act(&title, &machine.path("project"));
        machine.tell(host, &step);
        let now =
            if machine.path("state/hosts/journal").exists() { machine.kept() } else { Vec::new() };
        // Streams are in the order of their beginnings, so that new records are not all at the end.
        let mut new = now.clone();
        for old in &kept {
            if let Some(at) = new.iter().position(|it| it == old) {
                new.remove(at);
            }
        }
        by_step.insert(title, new);
        kept = now;
    }
    by_step
}

#[test]
fn a_day_without_harm_is_the_same_whoever_tells_it() {
    // Where a host has no payload for a call, the numbers of later steps differ.
    let all: Vec<Vec<Value>> = HOSTS.iter().map(|host| story(host)).collect();
    let by_all = |title: &str| {
        all.iter().all(|story| {
            story.iter().any(|step| step["step"] == title && !step["payload"].is_null())
        })
    };
    let told: Vec<_> = HOSTS.iter().map(|host| (*host, tell(host, &by_all, &|_, _| {}))).collect();
    let steps: Vec<&String> = told[0].1.keys().collect();
    assert!(steps.len() >= 6, "what all hosts tell: {steps:?}");
    let started = told[0].1["look"].join("\n");
    assert!(started.contains("step 1 started: shell.exec"), "{started}");
    assert_same(&told);
}

/// All hosts led to the same records.
fn assert_same(told: &[(&str, BTreeMap<String, Vec<String>>)]) {
    for (host, steps) in told {
        assert_eq!(*steps, told[0].1, "{host} and {}", told[0].0);
    }
}

#[test]
fn an_incident_is_the_same_whoever_tells_it() {
    let wanted =
        |title: &str| ["start", "task", "look", "looked", "fail", "idle", "end"].contains(&title);
    let harm = |title: &str, project: &Path| {
        if title == "looked" {
            fs::copy("/etc/passwd", project.join("copy")).expect("copied");
        }
    };
    let told: Vec<_> = HOSTS.iter().map(|host| (*host, tell(host, &wanted, &harm))).collect();
    let detected = told[0].1["looked"].join("\n");
    assert!(detected.contains("detected at step 1: shell.exec"), "{detected}");
    let looks = told[0].1["fail"].join("\n");
    assert!(looks.contains("AgentActing"), "to print something is no harm: {looks}");
    let idle = told[0].1["idle"].join("\n");
    assert!(idle.contains("TryFailed"), "{idle}");
    assert_same(&told);
}
