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
