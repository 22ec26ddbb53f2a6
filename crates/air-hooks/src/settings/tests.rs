//! Through the public surface: what is installed and taken out again leaves no trace.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::{Hooks, Link, SettingsError, State, trust};
use crate::Away;

const HOSTS: [&str; 5] = ["claude-code", "codex", "copilot", "gemini", "cursor"];
const PROGRAM: &str = "/opt/air/bin/air-hook";

fn hooks(host: &str) -> Hooks {
    Hooks::new(host, &Link::Command { program: PROGRAM, away: Away::Closed }).expect("a host")
}

#[track_caller]
fn there_and_back(host: &str, text: Option<&str>) -> String {
    let hooks = hooks(host);
    let installed = hooks.install(text, None).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    assert_eq!(hooks.state(&installed.text), Ok(State::Current));
    let again =
        hooks.install(Some(&installed.text), Some(&installed.receipt)).expect("it installs");
    assert_eq!(again, installed, "a second time changes nothing");
    let back = hooks.uninstall(&installed.text, Some(&installed.receipt)).expect("it reads");
    assert_eq!(back.as_deref(), text, "{}", installed.text);
    installed.text
}

#[test]
fn a_new_file() {
    assert_snapshot!("new-claude-code", there_and_back("claude-code", None));
    assert_snapshot!("new-codex", there_and_back("codex", None));
    assert_snapshot!("new-copilot", there_and_back("copilot", None));
    assert_snapshot!("new-gemini", there_and_back("gemini", None));
    assert_snapshot!("new-cursor", there_and_back("cursor", None));
}

#[test]
fn beside_what_is_there() {
    let text = r#"// mine
{
    // the model
    "model": "opus", // large

    "hooks": {
        "PreToolUse": [
            { "matcher": "Bash", "hooks": [{ "type": "command", "command": "./mine.sh" }] } // first
        ],
        "Stop": [],
    },
    "permissions": { "allow": ["Bash(ls:*)"] } /* last */
}"#;
    assert_snapshot!(there_and_back("claude-code", Some(text)));
}

#[test]
fn odd_texts() {
    for host in HOSTS {
        for text in [
            "",
            "\n",
            "  ",
            "{}",
            "{ }",
            "{\n}",
            "{\r\n}\r\n",
            "\u{feff}{}",
            "\u{feff}",
            "// c",
            "// c\r\n",
            "/* c */ {} // d",
            "{ // c\n}",
            "{ /* c */ }",
            "{\"a\":1}",
            "{\"a\":1,}",
            "{ \"a\": 1 }",
            "{\"hooks\":{}}",
            "{\"hooks\":{\"Stop\":[]}}",
            "{\n\t\"hooks\": { }\n}",
            "{\"a\":1 // c\n}",
            "{\n  \"a\": 1 // c\n  // d\n}",
            "{\n  \"a\": 1, // c\n  // d\n}",
            "{\"hooks\":{\"Stop\":[\n]}}",
            "{\n\"a\":[\n1,2]\n,\"b\":2}",
            "{\n  \"version\": 1\n}\n",
            "{\n \"hooks\": {\n }\n , \"a\": 1}",
        ] {
            there_and_back(host, Some(text));
        }
    }
}

#[test]
fn an_older_program_is_replaced_and_the_file_still_comes_back() {
    let text = "{\n  \"hooks\": {} // c\n}\n";
    let old = Hooks::new(
        "claude-code",
        &Link::Command { program: "/old dir/air-hook", away: Away::Closed },
    );
    let old = old.expect("a host").install(Some(text), None).expect("it installs");
    assert_eq!(hooks("claude-code").state(&old.text), Ok(State::Older));
    let new =
        hooks("claude-code").install(Some(&old.text), Some(&old.receipt)).expect("it installs");
    assert!(!new.text.contains("old dir"));
    let back = hooks("claude-code").uninstall(&new.text, Some(&new.receipt));
    assert_eq!(back, Ok(Some(text.to_owned())));
    // Also where nobody remembers.
    let new = hooks("claude-code").install(Some(&old.text), None).expect("it installs");
    assert!(!new.text.contains("old dir"));
}

#[test]
fn what_becomes_of_a_call_while_air_is_away_is_in_the_command() {
    for (host, event) in [
        ("claude-code", "PreToolUse"),
        ("codex", "PreToolUse"),
        ("copilot", "preToolUse"),
        ("gemini", "BeforeTool"),
        ("cursor", "preToolUse"),
    ] {
        for away in Away::ALL {
            let wanted = Hooks::new(host, &Link::Command { program: PROGRAM, away });
            let wanted = wanted.expect("a host");
            let first = wanted.install(None, None).expect("it installs");
            let said = format!(" --away {}\"", away.name());
            let count = if away == Away::Closed { 0 } else { wanted.events().count() };
            assert_eq!(first.text.matches(&said).count(), count, "{host} {}", first.text);
            // It is told, known again, replaced and taken out.
            assert_eq!(hooks(host).away(&first.text, event), Ok(Some(away)), "{host}");
            assert_eq!(hooks(host).away("{}", event), Ok(None), "{host}");
            let second = hooks(host).install(Some(&first.text), Some(&first.receipt));
            let second = second.expect("it installs");
            assert_eq!(second.text, there_and_back(host, None), "{host} {away:?}");
            assert_eq!(
                hooks(host).uninstall(&first.text, None),
                wanted.uninstall(&first.text, None)
            );
            assert_eq!(wanted.uninstall(&first.text, Some(&first.receipt)), Ok(None), "{host}");
        }
    }
    let odd = format!(
        r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"{PROGRAM} claude-code --away never"}}]}}]}}}}"#
    );
    assert_eq!(hooks("claude-code").state(&odd), Ok(State::Absent), "it is not AIR's");
}

#[test]
fn only_what_is_of_air_goes() {
    let hooks = hooks("claude-code");
    let installed = hooks.install(Some("{\n  \"a\": 1\n}\n"), None).expect("it installs");
    let theirs =
        r#"{ "hooks": [{ "type": "command", "command": "air-hook-lookalike claude-code" }] }"#;
    let changed = installed.text.replace("\"a\": 1", "\"a\": 2, // two").replacen(
        "\"Stop\": [",
        &format!("\"Stop\": [\n      {theirs},"),
        1,
    );
    let back =
        hooks.uninstall(&changed, Some(&installed.receipt)).expect("it reads").expect("a text");
    assert_eq!(
        back,
        format!(
            "{{\n  \"a\": 2, // two,\n  \"hooks\": {{\n    \"Stop\": [\n      {theirs}\n    ]\n  }}\n}}\n"
        )
    );
}

#[test]
fn a_handler_in_a_group_of_theirs_goes_alone() {
    let text = format!(
        r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"./a"}},{{"type":"command","command":"{PROGRAM} claude-code"}}]}}]}}}}"#
    );
    let back = hooks("claude-code").uninstall(&text, None).expect("it reads");
    let left = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./a"}]}]}}"#;
    assert_eq!(back.as_deref(), Some(left));
    assert_eq!(hooks("claude-code").others(left).expect("it reads").len(), 1);
}

#[test]
fn http_is_for_hosts_that_have_it() {
    let http = |away| {
        let url = "http://127.0.0.1:8711/hook/claude-code";
        Hooks::new("claude-code", &Link::Http { program: PROGRAM, url, away }).expect("a host")
    };
    let open = http(Away::Open).install(None, None).expect("it installs").text;
    assert!(!open.contains("onFailure"));
    assert_eq!(hooks("claude-code").away(&open, "PreToolUse"), Ok(Some(Away::Open)));
    let http = http(Away::Closed);
    let installed = http.install(None, None).expect("it installs");
    assert_eq!(installed.text.matches("\"onFailure\": \"block\"").count(), 8);
    assert_eq!(http.away(&installed.text, "PreToolUse"), Ok(Some(Away::Closed)));
    assert_eq!(installed.text.matches("\"command\": \"/opt").count(), 2);
    assert_eq!(hooks("claude-code").state(&installed.text), Ok(State::Older));
    assert_eq!(http.uninstall(&installed.text, Some(&installed.receipt)), Ok(None));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let texts = [
        "{\n  \"a\": 1\n  \"b\": 2\n}",
        "{\"a\": }",
        "{",
        "[]",
        "{\n\"hooks\": []}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{\"hooks\": {},\n \"hooks\": {}}",
        "{'a': 1}",
        "{} {}",
        "/* open",
    ];
    let told: Vec<_> = texts
        .iter()
        .map(|text| {
            format!("{text:?}: {}", hooks("claude-code").install(Some(text), None).expect_err(text))
        })
        .collect();
    assert_snapshot!(told.join("\n"));
    let deep = "[".repeat(100_000);
    assert!(matches!(hooks("codex").install(Some(&deep), None), Err(SettingsError::Syntax { .. })));
}

#[test]
fn what_a_host_passes_over_is_known() {
    let comment = "// c\n{}";
    assert!(hooks("codex").unread(comment).is_some());
    assert!(hooks("claude-code").unread(comment).is_some());
    assert_eq!(hooks("gemini").unread(comment), None);
    assert!(hooks("gemini").unread("{\"a\": 1,}").is_some());
    for (host, reads) in
        [("claude-code", true), ("codex", false), ("copilot", false), ("gemini", false)]
    {
        assert_eq!(hooks(host).unread("\u{feff}{}").is_none(), reads, "{host}");
    }
}

#[test]
fn switches_are_seen() {
    let told = hooks("claude-code").switched_off(r#"{"disableAllHooks": true}"#).expect("it reads");
    assert!(told.is_some());
    let told = hooks("gemini").switched_off(r#"{"hooksConfig": {"disabled": ["air"]}}"#);
    assert!(told.expect("it reads").is_some());
    assert_eq!(trust::switched_off("[features]\nhooks = false\n"), Ok(true));
    assert_eq!(trust::switched_off(""), Ok(false));
}

fn trusted(hash: &str) -> Vec<trust::Trusted> {
    let key = |event| format!("/home/dev/.codex/hooks.json:{event}:0:0");
    let one = |event| trust::Trusted { key: key(event), hash: hash.to_owned() };
    vec![one("pre_tool_use"), one("stop")]
}

#[test]
fn trust_is_added_and_taken_away() {
    for text in
        ["", "# c", "model = \"x\" # c\r\n", "[hooks.state]\n", "[features]\nhooks = true\n\n\n"]
    {
        let (with, receipt) = trust::install(Some(text), &trusted("sha256:1")).expect("it reads");
        assert_eq!(trust::uninstall(&with, &receipt), Ok(Some(text.to_owned())));
        let (again, nothing) = trust::install(Some(&with), &trusted("sha256:1")).expect("it reads");
        assert_eq!((again.as_str(), nothing), (with.as_str(), trust::TrustReceipt::default()));
        let (newer, receipt) = trust::install(Some(&with), &trusted("sha256:2")).expect("it reads");
        assert!(!newer.contains("sha256:1"));
        assert_eq!(trust::uninstall(&newer, &receipt), Ok(Some(with)));
    }
    let (with, receipt) = trust::install(None, &trusted("sha256:1")).expect("it reads");
    assert_snapshot!("trust", with);
    assert_eq!(trust::uninstall(&with, &receipt), Ok(None));
    for text in ["hooks = { state = {} }", "a = \n", "[a]\n[a]\n"] {
        let error = trust::install(Some(text), &trusted("sha256:1")).expect_err(text);
        assert!(error.place().is_some(), "{text}: {error}");
    }
}

/// White space and comments.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => "\n[ \t]{0,4}",
        1 => "\r\n {0,4}",
        1 => Just("/* , ] } */".to_owned()),
        1 => "// [a-z{},]{0,5}\n {0,3}",
    ]
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("-2.5e3".to_owned()),
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just(r#""a \" // } ü""#.to_owned()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let item = (gap(), inner, gap()).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        prop::collection::vec(item, 0..3).prop_map(|items| format!("[{}]", items.join(",")))
    })
}

fn object(names: &'static [&'static str], value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let chosen = prop::sample::subsequence(names, 0..=names.len());
    (chosen, prop::collection::vec((gap(), gap(), value, gap()), names.len()), gap(), any::<bool>())
        .prop_map(|(names, values, end, comma)| {
            let items: Vec<_> = names
                .iter()
                .zip(values)
                .map(|(name, (a, b, value, c))| format!("{a}\"{name}\":{b}{value}{c}"))
                .collect();
            let comma = if comma && !items.is_empty() { "," } else { "" };
            format!("{{{}{comma}{end}}}", items.join(","))
        })
        .boxed()
}

fn list() -> BoxedStrategy<String> {
    let handler = prop_oneof![
        Just(r#"{"hooks":[{"type":"command","command":"./mine"}]}"#.to_owned()),
        Just("{ \"matcher\": \"*\",\n \"hooks\": [ ] }".to_owned()),
    ];
    let item = (gap(), handler, gap()).prop_map(|(a, handler, b)| format!("{a}{handler}{b}"));
    (prop::collection::vec(item, 0..3), gap(), any::<bool>())
        .prop_map(|(items, end, comma)| {
            let comma = if comma && !items.is_empty() { "," } else { "" };
            format!("[{}{comma}{end}]", items.join(","))
        })
        .boxed()
}

fn settings() -> impl Strategy<Value = String> {
    let events = object(&["PreToolUse", "Stop", "Other", "preToolUse", "AfterAgent"], list());
    let whole = (object(&["model", "version", "permissions"], value().boxed()), events, gap());
    let whole = whole.prop_map(|(rest, hooks, gap)| {
        // With hooks in front, or without any.
        match rest.strip_prefix('{') {
            Some(rest) if hooks.len() % 3 > 0 => {
                let comma = if rest.contains('"') && rest.contains(':') { "," } else { "" };
                format!("{{{gap}\"hooks\":{hooks}{comma}{rest}")
            }
            _ => rest,
        }
    });
    (prop::option::of(Just("\u{feff}")), gap(), whole, gap())
        .prop_map(|(bom, a, whole, b)| format!("{}{a}{whole}{b}", bom.unwrap_or_default()))
}

proptest! {
    #[test]
    fn what_is_installed_leaves_no_trace(text in settings(), host in prop::sample::select(&HOSTS[..])) {
        there_and_back(host, Some(&text));
    }

    #[test]
    fn nothing_is_lost_by_what_comes_between(
        text in settings(),
        host in prop::sample::select(&HOSTS[..]),
        model in "[a-z]{1,8}",
    ) {
        let hooks = hooks(host);
        let installed = hooks.install(Some(&text), None).expect("it installs");
        let edit = |text: &str| text.replacen("-2.5e3", &format!("\"{model}\""), 1);
        let back = hooks.uninstall(&edit(&installed.text), Some(&installed.receipt));
        prop_assert_eq!(back, Ok(Some(edit(&text))));
    }

    #[test]
    fn garbage_is_no_reason_to_fail(text in "[{}\\[\\]\",:a\\n/* \\\\]{0,40}") {
        for host in HOSTS {
            let _ = hooks(host).install(Some(&text), None);
            let _ = hooks(host).uninstall(&text, None);
        }
    }
}
