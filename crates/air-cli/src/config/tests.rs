use std::ffi::OsString;

use air_core::{policy::OnUndetermined, rule::Hit};
use tempfile::TempDir;

use super::*;

/// A home directory and, below it, a project with a directory in it.
struct World {
    root: TempDir,
    environment: Environment,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("project/src")).unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let home = Some(root.path().join("home"));
        Self { root, environment: Environment { home, ..Environment::default() } }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn load(&self, overrides: &Overrides) -> Result<Config, ConfigError> {
        Config::load(&self.environment, overrides, &self.path("project/src"))
    }
}

const USER: &str = "rules = ['mine.air']\nlearn = false\nstate = 'state'\n\
                    [limits]\nprocesses = 3\ntimeout_s = 4\n[policy]\nguardrail = 'warn'\nlearned_guardrail = 'block'\n";
const PROJECT: &str = "rules = ['rules/*.air', '/etc/air']\nlabels = 'labels.toml'\n\
                       [limits]\nprocesses = 5\n[policy]\ncheck = 'hold'\n";

#[test]
fn without_files_there_are_defaults() {
    let world = World::new(&[]);
    let config = world.load(&Overrides::default()).unwrap();
    let state = Some(world.path("home/.local/share/air"));
    assert_eq!(config, Config { state, ..Config::default() });
}

#[test]
fn a_later_layer_replaces_an_earlier_one_key_by_key() {
    let mut world =
        World::new(&[("home/.config/air/air.toml", USER), ("project/air.toml", PROJECT)]);
    let config = world.load(&Overrides::default()).unwrap();
    assert_eq!(config.rules, [world.path("project/rules/*.air"), "/etc/air".into()]);
    assert_eq!(config.state, Some(world.path("home/.config/air/state")));
    assert_eq!(config.labels, Some(world.path("project/labels.toml")));
    assert_eq!(config.limits.processes, NonZeroU32::new(5));
    assert_eq!(config.limits.timeout_s, NonZeroU32::new(4));
    assert_eq!((config.policy.guardrail, config.policy.check), (Hit::Warn, OnUndetermined::Hold));
    assert_eq!(config.policy.learned_guardrail, Hit::Block);
    assert_eq!(config.policy.critical_guardrail, Hit::Block);
    assert!(!config.learn);
    assert_eq!(config.files.len(), 2);

    world.environment.air_state = Some("elsewhere".into());
    world.environment.air_rules = Some(OsString::from("a.air::/b"));
    let config = world.load(&Overrides::default()).unwrap();
    assert_eq!(config.state, Some(world.path("project/src/elsewhere")));
    assert_eq!(config.rules, [world.path("project/src/a.air"), "/b".into()]);

    let overrides = Overrides { state: Some("/flag".into()), ..Overrides::default() };
    assert_eq!(world.load(&overrides).unwrap().state, Some("/flag".into()));
}

#[test]
fn a_named_file_takes_the_place_of_the_projects() {
    let world =
        World::new(&[("project/air.toml", PROJECT), ("project/other.toml", "learn = false")]);
    let overrides = Overrides { config: Some("../other.toml".into()), ..Overrides::default() };
    let config = world.load(&overrides).unwrap();
    assert!(config.rules.is_empty() && !config.learn);
}

#[test]
fn a_file_that_cannot_be_read_is_not_passed_over() {
    let world = World::new(&[("project/air.toml/is_a", "directory")]);
    let error = world.load(&Overrides::default()).unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }), "{error}");
}

/// What a project may not say of models: an agent may have written it.
#[test]
fn a_project_can_only_tighten_what_is_said_of_models() {
    const USER: &str = "[model]\nname = 'openai:x'\nmax_calls = 9\nmax_cost = 2.5\nmax_tokens = 900\n\
                        [judge]\nvotes = 3\nlog_probabilities = true\n[synthesis]\nby = 'compiler'\n\
                        [response]\nby = 'air'\n";
    let load = |user: &str, project: &str| {
        let files = [("home/.config/air/air.toml", user), ("project/air.toml", project)];
        World::new(&files).load(&Overrides::default())
    };
    for (section, user, loose) in [
        ("model", "", "name = 'openai:x'"),
        ("model", USER, "name = 'openai:x'"),
        ("model", "", "base_url = 'https://elsewhere.example'"),
        ("model", "", "prices = 'free.toml'"),
        ("model", USER, "max_cost = 1"),
        ("model", USER, "max_tokens = 1"),
        ("model", USER, "max_calls = 1"),
        ("model", "", "timeout_s = 1"),
        ("model", "", "concurrency = 1"),
        ("judge", "", "model = 'openai:x'"),
        ("judge", "", "second = 'openai:x'"),
        ("judge", "", "threshold = 1.0"),
        ("judge", "", "votes = 2"),
        ("judge", USER, "votes = 1"),
        ("judge", "", "mode = 'deferred'"),
        ("judge", "", "window_ms = 1"),
        ("judge", USER, "log_probabilities = false"),
        ("response", "", "by = 'alone'"),
        ("response", USER, "by = 'agent'"),
        ("response", "", "confidence = 0.4"),
        ("response", "", "max_calls = 17"),
        ("response", "", "timeout_s = 121"),
        ("synthesis", USER, "by = 'model'"),
    ] {
        let key = loose.split(' ').next().unwrap();
        let error = load(user, &format!("learn = true\n[{section}]\n{loose}\n")).unwrap_err();
        let (text, shown) = (error.to_string(), format!(": `{section}.{key}` may "));
        assert!(text.contains("air.toml:3:1: ") && text.contains(&shown), "{loose}: {text}");
        assert!(text.contains("in a project's settings"), "{text}");
    }
    let tight = "[judge]\nmode = 'inline'\n[response]\nby = 'air'\nconfidence = 0.5\nmax_calls = 1\n\
                 timeout_s = 1\n[synthesis]\nby = 'compiler'\n";
    for user in ["", USER] {
        let models = load(user, tight).unwrap().models;
        let calls = models.response_calls.map(std::num::NonZero::get);
        assert_eq!((models.least_confidence, calls), (Some(0.5), Some(1)));
    }
    // The user's own file, and one that the user names, may say everything.
    let loose = "[model]\nname = 'openai:x'\nprices = 'p'\n[judge]\nvotes = 9\nmode = 'deferred'\n";
    assert!(load(loose, "").is_ok());
    let world = World::new(&[("project/air.toml", loose)]);
    let overrides = Overrides { config: Some("../air.toml".into()), ..Overrides::default() };
    assert!(world.load(&overrides).is_ok());
}

#[test]
fn the_address_of_another_provider_is_none_of_the_models() {
    let user = "[model]\nname = 'openai:x'\nbase_url = 'https://gateway.example'\n";
    for (named, kept) in [("openai-chat:y", true), ("anthropic:y", false)] {
        let named = format!("[model]\nname = '{named}'\n");
        let world = World::new(&[("home/.config/air/air.toml", user), ("named.toml", &named)]);
        let named = Some(world.path("named.toml"));
        let config = world.load(&Overrides { config: named, ..Overrides::default() }).unwrap();
        assert_eq!(config.models.base_url.is_some(), kept);
    }
}

#[test]
fn without_a_home_state_must_be_named() {
    let mut world = World::new(&[]);
    world.environment.home = None;
    let config = world.load(&Overrides::default()).unwrap();
    assert!(matches!(config.state_dir(), Err(ConfigError::NoState)));
    world.environment.xdg_data_home = Some("/data".into());
    let config = world.load(&Overrides::default()).unwrap();
    assert_eq!(config.state_dir().unwrap(), Path::new("/data/air"));
}

#[test]
fn labels_are_those_of_air_and_the_users() {
    let entry = "[[entry]]\nname = 'plans'\nlabels = ['secret-plan']\npatterns = ['*.plan']\n";
    let world = World::new(&[("project/air.toml", PROJECT), ("project/labels.toml", entry)]);
    let table = world.load(&Overrides::default()).unwrap().label_table().unwrap();
    let labels = |path| air_core::fact::PathLabels::labels(&table, path);
    assert_eq!(labels("a.plan"), ["secret-plan".into()]);
    assert!(!labels(".env").is_empty());

    fs::write(world.path("project/labels.toml"), "\nentry = 3\n").unwrap();
    let error = world.load(&Overrides::default()).unwrap().label_table().unwrap_err().to_string();
    assert!(error.contains("labels.toml`: line 2: "), "{error}");
}
