//! What guardrails become over several sessions of one store.

use air_core::{
    effects::{Change, Effects, FileEffect, Observed},
    guardrail::{Guardrail, Mode, Provenance},
    incident::State,
    port::GuardrailStore as _,
    step::{Arguments, Observation},
};
use air_runtime::{GateReply, ReviewReply, Session};
use air_testkit::{run::Stage, scripted::ScriptedWorkspace};
use futures::executor::block_on;

const DELETED: &str = r#"
rule @deleted
trigger *
decide effects.files.exists(f, f.change == "deleted")
check
  a file was deleted.
respond
  rollback
remediate
  put it back.
end
"#;

const OWNED: &str = r#"
rule @owned
trigger *
decide effects.files.exists(f, f.aspects == ["owner"])
check
  a file belongs to somebody else now.
respond
  rollback
remediate
  give it back.
end
"#;

const STARTUP: &str = r#"
rule @startup
trigger *
decide effects.files.exists(f, f.change == "created" && "shell-startup" in f.labels)
check
  a start file was written.
respond
  rollback
remediate
  take it out.
end
"#;

/// What became of a call.
#[derive(Debug, PartialEq)]
enum Came {
    Refused,
    Benign,
    Incident,
}

struct Agent {
    stage: Stage,
    sessions: u32,
}

impl Agent {
    fn new(rules: &str) -> Self {
        let stage = Stage::new(rules, ScriptedWorkspace::default()).expect("rules");
        Self { stage, sessions: 0 }
    }

    /// A session of one step, that changes this.
    fn does(&mut self, code: &str, changes: &[(&str, Change, &[&str])]) -> Came {
        self.sessions += 1;
        let id = format!("s{}", self.sessions);
        let opening = self.stage.opening(id.as_str().into(), "task");
        let mut session =
            block_on(Session::open(self.stage.ports.clone(), opening)).expect("opens");
        let arguments = Arguments::from_iter([("code".to_owned(), code.into())]);
        let (plan, tool) = ("I go on.".to_owned(), "python_repl".to_owned());
        let reply = block_on(session.before_step("c1".into(), plan, tool, arguments));
        let GateReply::Run { ticket, .. } = reply.expect("decided") else { return Came::Refused };
        let files = changes.iter().map(|&(path, change, aspects)| FileEffect {
            path: path.to_owned(),
            change,
            size: 1,
            mode: 0o644,
            origin: None,
            origin_unknown: None,
            moved: None,
            aspects: aspects.iter().map(|&aspect| aspect.to_owned()).collect(),
            marks: Vec::new(),
            reversible: true,
        });
        let files = Observed::whole(files.collect());
        self.stage.workspace.change(Effects { files, ..Effects::default() });
        let review = block_on(session.after_step(*ticket, Some(Observation::default())));
        let came = match review.expect("reviewed") {
            ReviewReply::Incident(..) => Came::Incident,
            ReviewReply::Continue(_) | ReviewReply::Held(_) | ReviewReply::Pending => Came::Benign,
        };
        let incident = block_on(session.idle()).expect("driven");
        if let Some(incident) = incident {
            assert!(matches!(incident.state(), State::Closed(_)), "{:?}", incident.state());
        }
        block_on(session.end()).expect("ends");
        came
    }

    fn guardrails(&self) -> Vec<Guardrail> {
        block_on(self.stage.store.current()).expect("readable")
    }

    fn only(&self) -> Guardrail {
        let all = self.guardrails();
        let [one] = all.as_slice() else { panic!("{all:#?}") };
        one.clone()
    }
}

fn condition(guardrail: &Guardrail) -> &str {
    guardrail.text.lines().find_map(|line| line.strip_prefix("decide ")).expect("a condition")
}

#[test]
fn a_second_incident_refines_the_guardrail_of_the_first() {
    let mut agent = Agent::new(DELETED);
    let gone = |path: &'static str| [(path, Change::Deleted, &[] as &[&str])];
    let a = gone("/workspace/data/a.csv");
    assert_eq!(agent.does("import os\nos.remove('/workspace/data/a.csv')", &a), Came::Incident);
    assert_eq!(
        condition(&agent.only()),
        r#"code.operations.exists(o, o.activity == "file.delete" && o.target in ["/workspace/data/a.csv"])"#
    );
    // The same, spelled in another way.
    let other = "from pathlib import Path\n(Path('/workspace') / 'data' / 'a.csv').unlink()";
    assert_eq!(agent.does(other, &a), Came::Refused);
    // What is like it and not the same slips through once.
    let b = gone("/workspace/data/b.csv");
    assert_eq!(agent.does("import os\nos.unlink('/workspace/data/b.csv')", &b), Came::Incident);
    let refined = agent.only();
    assert_eq!(refined.version, 2);
    assert!(matches!(refined.provenance, Provenance::Refined { replaces: 1, incident: Some(_) }));
    assert_eq!(
        condition(&refined),
        r#"code.operations.exists(o, o.activity == "file.delete" && (under(o.target, "/workspace/data") || under(o.target, "data")))"#
    );
    let c = gone("/workspace/data/deep/c.csv");
    assert_eq!(agent.does("import os\nos.remove('/workspace/data/deep/c.csv')", &c), Came::Refused);
    assert_eq!(agent.does("import os\nos.remove('data/d.csv')", &[]), Came::Refused);
    assert_eq!(agent.does("import os\nos.remove('/workspace/notes.txt')", &[]), Came::Benign);
    // The first version is still there, and both are readable.
    let history = block_on(agent.stage.store.history(&refined.id)).expect("readable");
    assert_eq!(history.iter().map(|it| it.version).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_class_that_ordinary_work_does_not_fit_is_refused_at_once() {
    let mut agent = Agent::new(STARTUP);
    let made = |path: &'static str| [(path, Change::Created, &[] as &[&str])];
    let code = "open('/home/agent/.bashrc', 'a').write('x')";
    assert_eq!(agent.does(code, &made("/home/agent/.bashrc")), Came::Incident);
    let learned = agent.only();
    assert_eq!(
        condition(&learned),
        r#"code.operations.exists(o, o.activity == "file.write" && "shell-startup" in o.labels) || code.language == null && (!code.complete || size(code.operations) == 0) && intents.exists(i, i.activity == "file.write" && "shell-startup" in i.labels)"#
    );
    let tried = learned.tried.expect("tried");
    assert!(tried.benign >= 300 && tried.false_positive_bound() < 0.01, "{tried:?}");
    let code = "from pathlib import Path\nPath('~/.zshrc').expanduser().write_text('x')";
    assert_eq!(agent.does(code, &[]), Came::Refused);
    assert_eq!(agent.does("print(open('/home/agent/.bashrc').read())", &[]), Came::Benign);
}

#[test]
fn what_was_benign_before_is_not_refused_as_a_class() {
    let mut agent = Agent::new(STARTUP);
    // It was written as it was: nothing changed, and no rule objected.
    assert_eq!(agent.does("open('/home/agent/.profile', 'a').write('')", &[]), Came::Benign);
    let code = "open('/home/agent/.bashrc', 'a').write('x')";
    let made = [("/home/agent/.bashrc", Change::Created, &[] as &[&str])];
    assert_eq!(agent.does(code, &made), Came::Incident);
    let text = agent.only().text;
    assert!(text.contains(r#"o.target in ["/home/agent/.bashrc"]"#), "{text}");
    assert_eq!(agent.does("open('/home/agent/.profile', 'a').write('')", &[]), Came::Benign);
    assert_eq!(agent.does(code, &made), Came::Refused);
}

#[test]
fn a_wider_form_waits_in_shadow_and_is_given_up_after_a_false_hit() {
    let mut agent = Agent::new(OWNED);
    let owned = [("/workspace/a", Change::Modified, &["owner"] as &[&str])];
    assert_eq!(agent.does("import os\nos.chown('/workspace/a', 0, 0)", &owned), Came::Incident);
    let learned = agent.only();
    assert_eq!(learned.mode, Mode::Enforce);
    let wider = learned.wider.as_deref().expect("a wider form");
    assert!(wider.contains(r#"code.operations.exists(o, o.activity == "file.owner")"#), "{wider}");
    // It holds here, does nothing, and was wrong.
    assert_eq!(agent.does("import os\nos.chown('/workspace/b', -1, -1)", &[]), Came::Benign);
    let narrowed = agent.only();
    assert_eq!((narrowed.version, narrowed.wider), (2, None));
    assert_eq!(narrowed.text, learned.text);
}

#[test]
fn a_wider_form_that_foretold_two_incidents_is_enforced() {
    let mut agent = Agent::new(OWNED);
    for name in ["a", "b", "c"] {
        let path = format!("/srv-{name}/file-{name}");
        let owned = [(path.as_str(), Change::Modified, &["owner"] as &[&str])];
        let came = agent.does(&format!("import os\nos.chown('{path}', 0, 0)"), &owned);
        assert_eq!(came, Came::Incident, "{name}");
    }
    let learned = agent.only();
    assert_eq!(learned.version, 3);
    assert!(
        condition(&learned).starts_with(r#"code.operations.exists(o, o.activity == "file.owner")"#),
        "{}",
        learned.text
    );
    assert_eq!(agent.does("import os\nos.chown('/elsewhere', 0, 0)", &[]), Came::Refused);
}

#[test]
fn whatever_was_learned_stays_refused_after_many_incidents() {
    let mut agent = Agent::new(OWNED);
    let chown = |path: &str| format!("import os\nos.chown('{path}', 0, 0)");
    // Ordinary work that a wider form would refuse: each incident stands for itself.
    assert_eq!(agent.does(&chown("/elsewhere/x"), &[]), Came::Benign);
    for number in 0..12 {
        let path = format!("/srv-{number}/f");
        let owned = [(path.as_str(), Change::Modified, &["owner"] as &[&str])];
        assert_eq!(agent.does(&chown(&path), &owned), Came::Incident, "{path}");
    }
    for number in 0..12 {
        assert_eq!(agent.does(&chown(&format!("/srv-{number}/f")), &[]), Came::Refused, "{number}");
    }
    assert!(agent.guardrails().len() <= 2, "{:#?}", agent.guardrails());
}
