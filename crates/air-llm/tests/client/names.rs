//! Names, addresses, keys and prices.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, time::Duration};

use air_llm::{Key, Keyring, ModelSpec, PLAINTEXT, Price, Prices, Provider, find_key};
use air_wire::{Dialect, Usage};

use crate::KEY;

type Variable = (&'static str, &'static str);

fn parse(text: &str, variables: &[Variable]) -> Result<ModelSpec, String> {
    let environment = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    ModelSpec::parse(text, None, &environment).map_err(|error| error.to_string())
}

#[test]
fn models_are_named_by_provider() {
    use Dialect::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};
    const OPENAI: &str = "https://api.openai.com/v1";
    const OLLAMA: &str = "http://127.0.0.1:11434/v1";
    #[rustfmt::skip]
    let table: [(&str, &[Variable], Dialect, &str, &str); 15] = [
        ("openai:gpt-5",            &[],                                                    OpenAiResponses, "gpt-5",        OPENAI),
        ("openai-chat:gpt-5",       &[],                                                    OpenAiChat,      "gpt-5",        OPENAI),
        ("openai:q",                &[("OPENAI_BASE_URL", "http://localhost:8000/v1/")],    OpenAiChat,      "q",            "http://localhost:8000/v1"),
        ("openai-responses:q",      &[("OPENAI_BASE_URL", "http://localhost:8000/v1/")],    OpenAiResponses, "q",            "http://localhost:8000/v1"),
        ("openai:q",                &[("OPENAI_BASE_URL", " ")],                            OpenAiResponses, "q",            OPENAI),
        (" OpenAI : org/q-7b ",     &[],                                                    OpenAiResponses, "org/q-7b",     OPENAI),
        ("anthropic:claude-x",      &[],                                                    Anthropic,       "claude-x",     "https://api.anthropic.com"),
        ("anthropic:claude-x",      &[("ANTHROPIC_BASE_URL", "https://proxy.example/a")],   Anthropic,       "claude-x",     "https://proxy.example/a"),
        ("gemini:gemini-x",         &[("GOOGLE_GEMINI_BASE_URL", "https://g.example")],     Gemini,          "gemini-x",     "https://g.example"),
        ("gemini:gemini-x",         &[("GEMINI_BASE_URL", "https://a.example"), ("GOOGLE_GEMINI_BASE_URL", "https://g.example")], Gemini, "gemini-x", "https://a.example"),
        ("ollama:qwen3:4b",         &[],                                                    OpenAiChat,      "qwen3:4b",     OLLAMA),
        ("ollama:q",                &[("OLLAMA_HOST", "0.0.0.0")],                          OpenAiChat,      "q",            OLLAMA),
        ("ollama:q",                &[("OLLAMA_HOST", "192.168.1.5:99")],                   OpenAiChat,      "q",            "http://192.168.1.5:99/v1"),
        ("ollama:q",                &[("OLLAMA_HOST", "[::1]")],                            OpenAiChat,      "q",            "http://[::1]:11434/v1"),
        ("ollama:q",                &[("OLLAMA_HOST", "https://ollama.example/")],          OpenAiChat,      "q",            "https://ollama.example/v1"),
    ];
    for (text, variables, dialect, model, base) in table {
        let spec = parse(text, variables).unwrap();
        let found = (spec.dialect, spec.model.as_str(), spec.base());
        assert_eq!(found, (dialect, model, base), "{text} {variables:?}");
    }
}

#[test]
fn what_cannot_be_asked_is_said_with_a_hint() {
    #[rustfmt::skip]
    let table = [
        ("gpt-5",                "such as `openai:gpt-5`"),
        ("",                     "names no provider"),
        ("opnai:gpt-5",          "unknown provider `opnai`; there are"),
        ("anthropic:",           "names no model"),
        ("gemini:a b",           "no name of a model"),
        ("gemini:../../v1/x",    "no name of a model"),
        ("gemini:x?key=1",       "no name of a model"),
    ];
    for (text, words) in table {
        let error = parse(text, &[]).unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    }
    for (base, words) in [
        ("api.example", "base URL"),
        ("file:///etc/passwd", "neither `https://`"),
        ("https://me:secret@api.example", "credentials"),
        ("https://api.example/?key=secret", "query"),
    ] {
        let error = parse("openai:m", &[("OPENAI_BASE_URL", base)]).unwrap_err();
        assert!(error.contains(words) && !error.contains("secret"), "{base}: {error}");
    }
}

#[test]
fn a_key_comes_from_its_variable() {
    #[rustfmt::skip]
    let table: [(&str, &[Variable], Result<bool, &str>); 15] = [
        ("openai:m",    &[("OPENAI_API_KEY", KEY)],                                         Ok(true)),
        ("anthropic:m", &[("ANTHROPIC_API_KEY", KEY)],                                      Ok(true)),
        ("anthropic:m", &[("OPENAI_API_KEY", KEY)],                                         Err("set ANTHROPIC_API_KEY")),
        ("gemini:m",    &[("GEMINI_API_KEY", KEY)],                                         Ok(true)),
        ("gemini:m",    &[("GOOGLE_API_KEY", KEY)],                                         Ok(true)),
        ("gemini:m",    &[],                                                                Err("secret-tool store --label=AIR service air account gemini")),
        ("openai:m",    &[("OPENAI_API_KEY", "  ")],                                        Err("set OPENAI_API_KEY")),
        ("openai:m",    &[("OPENAI_API_KEY", "a b")],                                       Err("OPENAI_API_KEY holds no key")),
        ("ollama:m",    &[],                                                                Ok(false)),
        ("openai:m",    &[("OPENAI_BASE_URL", "http://10.0.0.7/v1")],                       Ok(false)),
        ("openai:m",    &[("OPENAI_BASE_URL", "https://api.example/v1")],                   Err("set OPENAI_API_KEY")),
        ("openai:m",    &[("OPENAI_BASE_URL", "http://10.0.0.7/v1"), ("OPENAI_API_KEY", KEY)], Ok(true)),
        ("openai:m",    &[("OPENAI_BASE_URL", "http://8.8.8.8/v1"), ("OPENAI_API_KEY", KEY)],  Err(PLAINTEXT)),
        ("openai:m",    &[("OPENAI_BASE_URL", "http://localhost.example/v1"), ("OPENAI_API_KEY", KEY)], Err("unencrypted")),
        ("openai:m",    &[("OPENAI_BASE_URL", "http://8.8.8.8/v1"), ("OPENAI_API_KEY", KEY), (PLAINTEXT, "1")], Ok(true)),
    ];
    for (text, variables, expected) in table {
        let environment = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let spec = parse(text, variables).unwrap();
        match (find_key(&spec, &environment, &Keyring::none()), expected) {
            (Ok(key), Ok(there)) => assert_eq!(key.is_some(), there, "{variables:?}"),
            (Err(error), Err(words)) => {
                let error = error.to_string();
                assert!(error.contains(words) && !error.contains(KEY), "{variables:?}: {error}");
            }
            (found, _) => panic!("{variables:?}: {:?}", found.map(|key| key.is_some())),
        }
    }
}

/// A program in place of the keyring's.
fn keyring(name: &str, script: &str) -> (Keyring, tempfile::TempDir) {
    let place = tempfile::tempdir().unwrap();
    let path: PathBuf = place.path().join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    // Through the shell: a file that was just written may still be open in a child of another test.
    let path = path.to_str().unwrap();
    let arguments = [path, "lookup", "service", "air", "account"];
    (Keyring::of("/bin/sh", &arguments, Duration::from_secs(2)), place)
}

#[test]
fn a_key_comes_from_the_keyring() {
    let table = [
        (format!("[ \"$*\" = 'lookup service air account openai' ] && echo {KEY}"), Ok(true)),
        ("exit 1".to_owned(), Ok(false)),
        ("echo".to_owned(), Ok(false)),
        (format!("echo {KEY}; exit 1"), Ok(false)),
        ("echo two words".to_owned(), Err("no key")),
        ("yes".to_owned(), Ok(false)),
        ("sleep 100".to_owned(), Err("did not answer")),
        ("exec >&-; sleep 100".to_owned(), Err("did not answer")),
    ];
    for (script, expected) in table {
        let (keyring, _place) = keyring("ring", &script);
        match (keyring.look_up(Provider::OpenAi), expected) {
            (Ok(key), Ok(there)) => assert_eq!(key.is_some(), there, "{script}"),
            (Err(error), Err(words)) => {
                assert!(error.to_string().contains(words), "{script}: {error}");
            }
            (found, _) => panic!("{script}: {:?}", found.map(|key| key.is_some())),
        }
    }
    let absent = Keyring::of("/nonexistent/secret-tool", &[], Duration::from_secs(2));
    assert!(absent.look_up(Provider::OpenAi).unwrap().is_none());
    assert!(Key::new("a\nb").is_err() && Key::new(&"x".repeat(5000)).is_err());
}

#[test]
fn prices_are_found_by_name() {
    let prices = Prices::shipped();
    assert!(!prices.date.is_empty());
    let own = "version = 1\ndate = \"2026-01-01\"\n[[price]]\nmodel = \"openai:mine@llm.example\"\n\
        input = 1.0\noutput = 2.0\n[[price]]\nmodel = \"openai:gpt-5\"\ninput = 7.0\noutput = 0.0000015\n";
    let own = prices.clone().with(Prices::parse(own).unwrap());
    let of = |prices: &Prices, text: &str, base: Option<&str>| {
        let spec = ModelSpec::parse(text, base, &|_| None).unwrap();
        prices.of(&spec).map(|price| price.input)
    };
    #[rustfmt::skip]
    let table = [
        (&prices, "openai:gpt-5",                       None,                           Some(1_250_000)),
        (&prices, "openai-chat:gpt-5",                  None,                           Some(1_250_000)),
        (&prices, "openai:gpt-5-2025-08-07",            None,                           Some(1_250_000)),
        (&prices, "openai:gpt-5-mini",                  None,                           Some(250_000)),
        (&prices, "openai:gpt-5-turbo",                 None,                           None),
        (&prices, "anthropic:claude-sonnet-4-5-20250929", None,                         Some(3_000_000)),
        (&prices, "ollama:anything",                    None,                           Some(0)),
        (&prices, "openai:gpt-5",                       Some("http://127.0.0.1/v1"),    None),
        (&own,    "openai:gpt-5",                       None,                           Some(7_000_000)),
        (&own,    "openai:mine",                        Some("https://llm.example/v1"), Some(1_000_000)),
        (&own,    "openai:mine",                        None,                           None),
    ];
    for (prices, text, base, expected) in table {
        assert_eq!(of(prices, text, base), expected, "{text} {base:?}");
    }
    for text in [
        "version = 2\ndate = \"\"",
        "version = 1",
        "version = 1\ndate=\"\"\n[[price]]\nmodel=\"m\"\ninput=-1.0\noutput=0.0",
    ] {
        assert!(Prices::parse(text).is_err(), "{text}");
    }
}

#[test]
fn costs_are_exact() {
    let price =
        Price { input: 2_500_000, cached: 1_250_000, written: 3_000_000, output: 10_000_000 };
    let usage = Usage { input: 1000, cached: 400, cache_written: 100, output: 10, reasoning: 5 };
    assert_eq!(price.of(&usage), 1250 + 500 + 300 + 100);
    let absurd = Usage {
        input: 5,
        cached: u64::MAX,
        cache_written: u64::MAX,
        output: u64::MAX,
        reasoning: 0,
    };
    assert_eq!(price.of(&absurd), u64::MAX);
    assert_eq!(price.of(&Usage { input: 1, ..Usage::default() }), 3);
}
