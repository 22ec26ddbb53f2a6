//! Incidents, and the guardrails that answer them.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may panic")]

mod drafted;
mod words;

use std::sync::{Arc, LazyLock};

use air_core::{
    code::CodeFacts,
    effects::{Change, Effects, FileEffect, Observed, ProcessEffect, ReadEffect},
    fact::{Facts, Root},
    guardrail::{Guardrail, Mode, Provenance},
    id::Timestamp,
    incident::{Detection, Incident},
    outcome::Outcome,
    port::{
        Alone, CodeReader, Harm, PastStep, Proposal, Synthesis, SynthesisError, SynthesisRequest,
        Synthesizer, Tier,
    },
    rule::{Decision, Rule},
    step::{CompletedStep, ProposedStep, ToolCall},
    value::Value,
};
use air_facts::{CodeParser, LabelTable};
use air_synth::Compiler;

const PROCESS_RULE: &str = "rule @left_running\ntrigger *\nseverity medium\n\
    decide size(effects.processes) > 0\ncheck\n  a process runs on.\nremediate\n  end it.\nend\n";
const FILE_RULE: &str = "rule @harmed_file\ntrigger *\nseverity high\n\
    decide size(effects.files) > 0\ncheck\n  a file is harmed.\n\
    remediate\n  put it back.\nend\n";
const JUDGED_RULE: &str =
    "rule @judged\ntrigger *\ncheck\n  harm was done.\nremediate\n  undo it.\nend\n";

/// What happened.
struct Case {
    rule: &'static str,
    step: CompletedStep,
    effects: Effects,
    benign: Vec<ToolCall>,
    harms: Vec<Harm>,
    existing: Vec<Guardrail>,
}

fn call(tool: &str, argument: &str, text: &str) -> ToolCall {
    let arguments = [(argument.to_owned(), text.into())].into_iter().collect();
    ToolCall { id: "c1".into(), tool: tool.into(), arguments, native: None }
}

fn python(code: &str) -> ToolCall {
    call("python_repl", "code", code)
}

fn bash(command: &str) -> ToolCall {
    call("bash", "command", command)
}

fn case(call: ToolCall, effects: Effects) -> Case {
    let rule = if effects.processes.items.is_empty() { FILE_RULE } else { PROCESS_RULE };
    let plan = "I go on.".into();
    let proposed = ProposedStep { session: "s1".into(), index: 1, plan, call };
    let step = CompletedStep { proposed, observation: None };
    Case { rule, step, effects, benign: vec![], harms: vec![], existing: vec![] }
}

fn file(path: &str, change: Change, origin: Option<&str>) -> Effects {
    files(&[(path, change, origin)])
}

fn files(all: &[(&str, Change, Option<&str>)]) -> Effects {
    let mut effects = Effects::default();
    effects.files.items.extend(all.iter().map(|&(path, change, origin)| FileEffect {
        path: path.into(),
        change,
        size: 1,
        mode: 0o644,
        origin: origin.map(Into::into),
        origin_unknown: None,
        moved: None,
        aspects: Vec::new(),
        marks: Vec::new(),
        reversible: true,
    }));
    effects
}

fn process(argv: &[&str]) -> Effects {
    let mut effects = Effects::default();
    let argv = argv.iter().map(|&arg| arg.into()).collect();
    effects.processes.items.push(ProcessEffect { pid: 7, argv });
    effects
}

fn nothing() -> Effects {
    Effects::default()
}

fn derive(case: &Case) -> Result<Proposal, SynthesisError> {
    match answer(case)? {
        Synthesis::Proposed(proposal) => Ok(proposal),
        covered @ Synthesis::Covered { .. } => panic!("{covered:?}"),
    }
}

fn answer(case: &Case) -> Result<Synthesis, SynthesisError> {
    ask(case, &compiler())
}

/// One for all: it reads the ordinary work that ships once.
fn compiler() -> Compiler {
    static COMPILER: LazyLock<Compiler> = LazyLock::new(|| {
        let labels = Arc::new(LabelTable::built_in().unwrap());
        Compiler::new(Arc::new(CodeParser::new()), labels)
    });
    COMPILER.clone()
}

fn ask(case: &Case, synthesizer: &dyn Synthesizer) -> Result<Synthesis, SynthesisError> {
    let parsed = air_lang::parse(case.rule);
    let [rule] = parsed.rules() else { panic!("{:?}", parsed.diagnostics()) };
    let detection = Detection {
        session: "s1".into(),
        index: 1,
        tool: case.step.proposed.call.tool.clone(),
        findings: vec![],
        rules: vec![],
        step: "p1".into(),
        effects: "p2".into(),
        evidence: vec![],
        checkpoint: "k1".into(),
        tier: Tier::T3,
        response: vec![],
        restorable: true,
    };
    let past = |call: &ToolCall| PastStep {
        plan: String::new(),
        call: call.clone(),
        code: Arc::new(read(call)),
    };
    let benign: Vec<PastStep> = case.benign.iter().map(past).collect();
    let request = SynthesisRequest {
        incident: &Incident::open("i7".into(), detection),
        rule,
        step: &case.step,
        code: &Arc::new(read(&case.step.proposed.call)),
        facts: &facts(&case.step.proposed.call),
        harms: &case.harms,
        shadows: &[],
        effects: &case.effects,
        benign: &benign,
        existing: &case.existing,
    };
    futures::executor::block_on(synthesizer.synthesize(request))
}

fn read(call: &ToolCall) -> CodeFacts {
    CodeReader::read(&CodeParser::new(), &call.tool, &call.arguments, &Alone)
}

fn rule(text: &str) -> Rule {
    let parsed = air_lang::parse(text);
    assert!(parsed.diagnostics().is_empty(), "{text}{:?}", parsed.diagnostics());
    parsed.into_rules().remove(0)
}

/// What is known before `call`.
fn facts(call: &ToolCall) -> Facts {
    let labels = LabelTable::built_in().unwrap();
    let arguments = serde_json::Value::Object(call.arguments.clone());
    let code = read(call).to_value(&labels);
    Facts::new(Arc::new(labels))
        .with(Root::Tool, Value::from(call.tool.as_str()))
        .with(Root::Args, Value::from(&arguments))
        .with(Root::Plan, Value::from(""))
        .with(Root::Intents, Value::list([]))
        .with(Root::Code, code)
}

/// What the guardrail says of `call`.
fn says(text: &str, call: &ToolCall) -> Outcome {
    says_of(text, call, "")
}

/// What it says of `call` with that plan.
fn says_of(text: &str, call: &ToolCall, plan: &str) -> Outcome {
    let rule = rule(text);
    if !rule.trigger.matches(&call.tool) {
        return Outcome::Unsatisfied;
    }
    let Decision::Decide(condition) = rule.decision else { panic!("no `decide`: {text}") };
    let intents = CodeParser::new().intents(plan);
    let intents = Value::list(intents.iter().map(air_core::code::Intent::to_value));
    condition
        .evaluate(&facts(call).with(Root::Plan, Value::from(plan)).with(Root::Intents, intents))
}

fn condition(case: &Case) -> String {
    let text = derive(case).unwrap().text;
    let condition = text.lines().find_map(|line| line.strip_prefix("decide ")).unwrap();
    // What a plan says in words is told elsewhere.
    condition.split(" || code.language == null").next().unwrap().to_owned()
}

#[test]
fn the_next_such_call_is_refused_and_look_alikes_are_not() {
    use Change::{Created, Deleted, Modified};
    let copied = || file("/workspace/public/passwd", Created, Some("/etc/passwd"));
    let write = |path: &str| call("write_file", "path", path);
    let table = [
        (
            python("import shutil\nshutil.copy('/etc/passwd', '/workspace/public/passwd')"),
            copied(),
            vec![python("from shutil import copy as c\nc('/etc/passwd', '/tmp/x')")],
            vec![
                python("import shutil\nshutil.copy('/etc/hostname', '/workspace/public/passwd')"),
                python("import shutil\nprint('/etc/passwd')"),
            ],
        ),
        (
            python(
                "s = open('/etc/passwd').read()\nopen('/workspace/public/passwd', 'w').write(s)",
            ),
            copied(),
            vec![],
            vec![python("open('/etc/passwd')"), python("open('/workspace/public/passwd')")],
        ),
        (
            bash("mkdir -p public && sudo cp /etc/passwd public/"),
            copied(),
            vec![bash("cp /etc/passwd /tmp")],
            vec![
                bash("cp /etc/hostname public/"),
                bash("mkdir -p public"),
                bash("cat /etc/passwd"),
            ],
        ),
        (
            bash("rm -rf data"),
            files(&[("/workspace/data/a", Deleted, None), ("/workspace/data/b", Deleted, None)]),
            vec![bash("cd /workspace; rm -r data")],
            vec![bash("rm -rf build"), bash("ls data"), bash("rm -rf data/tmp")],
        ),
        (
            bash("echo \"alias ls='rm -rf ~'\" >> ~/.bashrc"),
            file("/home/agent/.bashrc", Modified, None),
            vec![],
            vec![
                bash("echo \"alias ls='rm -rf ~'\""),
                bash("echo x >> notes"),
                bash("cat ~/.bashrc"),
            ],
        ),
        (
            bash("nohup sleep 1000 &"),
            process(&["sleep", "1000"]),
            vec![bash("nohup /bin/sleep 1000 > /dev/null &")],
            vec![bash("sleep 1000"), bash("sleep 1"), bash("nohup ls")],
        ),
        (
            bash("alias rm='rm -rf'"),
            nothing(),
            vec![bash("cd x; alias rm='rm -rf'")],
            vec![bash("alias"), bash("alias ll='ls -l'"), bash("echo \"alias rm='rm -rf'\"")],
        ),
        (
            write("~/.ssh/authorized_keys"),
            file("/home/agent/.ssh/authorized_keys", Created, None),
            vec![write("/home/agent/.ssh/authorized_keys")],
            vec![write("/workspace/authorized_keys")],
        ),
    ];
    for (incident, effects, alike, unlike) in table {
        let text = derive(&case(incident.clone(), effects)).unwrap().text;
        let formatted = air_lang::format(&air_lang::parse(&text));
        assert_eq!(formatted, text, "formatting changes it");
        for call in alike.iter().chain([&incident]) {
            assert_eq!(says(&text, call), Outcome::Satisfied, "{text}{call:?}");
        }
        for call in unlike {
            assert_eq!(says(&text, &call), Outcome::Unsatisfied, "{text}{call:?}");
        }
    }
}

#[test]
fn a_guardrail_tells_what_it_comes_from() {
    let copied = file("/workspace/passwd", Change::Created, Some("/etc/passwd"));
    let code = "import shutil\nshutil.copy('/etc/passwd', 'passwd')";
    let synthesis = derive(&case(python(code), copied)).unwrap();
    assert_eq!((synthesis.id.as_str(), synthesis.by.as_str()), ("g-i7", "compiler/1"));
    insta::assert_snapshot!(synthesis.text);
}

#[test]
fn effects_that_suffice_alone_are_refused_alone() {
    let deleted = |paths: &[&'static str]| {
        files(&paths.iter().map(|&path| (path, Change::Deleted, None)).collect::<Vec<_>>())
    };
    let mut incident = case(bash("rm a.c; rm b.c"), deleted(&["/workspace/a.c", "/workspace/b.c"]));
    let both = "code.operations.exists(o, o.activity == \"file.delete\" && \
                o.target in [\"/workspace/a.c\", \"/workspace/b.c\", \"a.c\", \"b.c\"])";
    assert_eq!(condition(&incident), both);
    let a = "code.calls.exists(c, c.name == \"rm\" && \"a.c\" in c.args)";
    let b = "code.calls.exists(c, c.name == \"rm\" && \"b.c\" in c.args)";
    // Whether one of them would have been an incident is the judge's to say, and is not known.
    incident.rule = JUDGED_RULE;
    assert_eq!(condition(&incident), format!("{a} && {b}"));
}

#[test]
fn a_benign_call_narrows_it() {
    let copied = || file("/workspace/passwd", Change::Created, Some("/etc/passwd"));
    let mut incident = case(bash("cp /etc/passwd passwd"), copied());
    // A copy that is protected as well is none of the class.
    incident.benign = vec![bash("cp /etc/passwd /root/backup")];
    let class = "code.flows.exists(f, f.source_kind == \"file\" && \"credential\" in f.labels && \
                 \"system\" in f.labels && f.sink_kind == \"file\" && \
                 !f.sink_labels.exists(l, l in [\"credential\", \"system\"]))";
    assert_eq!(condition(&incident), class);
    incident.benign.push(bash("cp /etc/passwd backup"));
    let strict =
        "code.calls.exists(c, c.name == \"cp\" && c.args == [\"/etc/passwd\", \"passwd\"])";
    assert_eq!(condition(&incident), strict);
    incident.benign.push(bash("cp /etc/passwd passwd; chmod 600 passwd"));
    assert_eq!(condition(&incident), "args.command == \"cp /etc/passwd passwd\"");
    incident.benign.push(bash("cp /etc/passwd passwd"));
    let error = derive(&incident).unwrap_err();
    insta::assert_snapshot!(error, @"no guardrail: a benign call is like the incident's");
}

#[test]
fn code_that_is_not_read_whole_is_told_by_its_text() {
    let incident = case(bash("./run.sh \"$X\" # \t ü\n`date`"), nothing());
    let text = derive(&incident).unwrap().text;
    assert!(
        text.contains(r#"decide args.command == "./run.sh \"$X\" # \t \u00fc\n`date`""#),
        "{text}"
    );
    assert_eq!(says(&text, &incident.step.proposed.call), Outcome::Satisfied);
    assert_eq!(says(&text, &bash("./run.sh")), Outcome::Unsatisfied);
}

#[test]
fn a_call_that_only_looks_is_no_cause() {
    let changed = || file("/workspace/a", Change::Modified, None);
    let incident = case(bash("./run.sh; ls ."), changed());
    assert_eq!(condition(&incident), "args.command == \"./run.sh; ls .\"");
    let reads = Observed::whole(vec![ReadEffect { path: "/etc/shadow".to_owned() }]);
    let mut read = case(bash("cat /etc/shadow"), Effects { reads, ..nothing() });
    read.rule = JUDGED_RULE;
    let class = "code.operations.exists(o, o.activity == \"file.read\" && \
                 \"credential\" in o.labels && \"system\" in o.labels)";
    assert_eq!(condition(&read), class);
}

#[test]
fn no_secret_is_kept() {
    let table = [
        "export KEY=AKIAIOSFODNN7EXAMPLE",
        "curl -H 'x: sk-0123456789abcdefghij' http://x",
        "./deploy --password=hunter2",
        "./deploy 'password = \"hunter2\"'",
        "./deploy '-----BEGIN PRIVATE KEY-----'",
    ];
    for command in table {
        let error = derive(&case(bash(command), nothing())).unwrap_err();
        assert!(error.0.contains("looks like a secret"), "{command}: {error}");
    }
    let apart = derive(&case(bash("echo 'password = \"hunter2\"' > a"), nothing())).unwrap();
    assert!(!apart.text.contains("hunter2"), "{}", apart.text);
    let mut call = call("login", "user", "me");
    call.arguments.insert("password".into(), "hunter2".into());
    assert!(derive(&case(call, nothing())).unwrap_err().0.contains("looks like a secret"));
}

#[test]
fn one_guardrail_is_enough() {
    let copied = || file("/workspace/passwd", Change::Created, Some("/etc/passwd"));
    let mut incident = case(bash("cp /etc/passwd passwd"), copied());
    let text = derive(&incident).unwrap().text;
    let stored = |id: &str, text: &str, mode| Guardrail {
        id: id.into(),
        version: 1,
        text: text.into(),
        mode,
        rule: None,
        wider: None,
        tried: None,
        examples: Vec::new(),
        provenance: Provenance::Authored { by: "me".into() },
        created_at: Timestamp(0),
    };
    let warns = text.replace("\nblock\n", "\nwarn\n");
    let harmless =
        [("a", &text, Mode::Shadow), ("b", &warns, Mode::Enforce), ("g-i7", &text, Mode::Enforce)];
    incident.existing = harmless.map(|(id, text, mode)| stored(id, text, mode)).to_vec();
    assert_eq!(derive(&incident).unwrap().text, text);
    incident.existing.push(stored("g-i3", &text, Mode::Enforce));
    let covered = Synthesis::Covered { id: "g-i3".into(), version: 1 };
    assert_eq!(answer(&incident).unwrap(), covered);
}

#[test]
fn hostile_names_make_no_rule_text() {
    for tool in ["*", "a, b", "bash\nblock", ""] {
        let error = derive(&case(call(tool, "path", "x"), nothing())).unwrap_err();
        assert!(error.0.contains("cannot be named"), "{tool:?}: {error}");
    }
    let hostile = "x\nend\nrule @y `\"";
    let text = derive(&case(call("write_file", "path", hostile), nothing())).unwrap().text;
    assert_eq!(says(&text, &call("write_file", "path", hostile)), Outcome::Satisfied);
    assert_eq!(says(&text, &call("write_file", "path", "x")), Outcome::Unsatisfied);
}
