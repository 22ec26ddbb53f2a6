//! The coding agents: where they are, how they are told which model to ask, and how they are given a task.

use std::{
    env,
    fs::{self, File},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use air_testkit::server::Reply;
use air_wire::Dialect;
use serde_json::{Value, json};

use crate::stage::Stage;

/// A coding agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    Claude,
    Codex,
    Copilot,
    Gemini,
    OpenCode,
}

impl Client {
    /// What AIR calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    /// Its program, where it is installed: below `AIR_CLIENTS`, or where `cargo xtask clients` puts it.
    pub(crate) fn program(self) -> Option<PathBuf> {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
        let place =
            env::var_os("AIR_CLIENTS").map_or_else(|| target.join("clients"), PathBuf::from);
        let name = match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        };
        Some(place.join("node_modules/.bin").join(name)).filter(|path| path.exists())
    }

    fn dialect(self) -> Dialect {
        match self {
            Self::Claude => Dialect::Anthropic,
            Self::Codex => Dialect::OpenAiResponses,
            Self::Copilot | Self::OpenCode => Dialect::OpenAiChat,
            Self::Gemini => Dialect::Gemini,
        }
    }

    /// The model runs a command.
    pub(crate) fn shell(self, command: &str) -> Reply {
        let (tool, arguments) = self.shell_call(command);
        Reply::call(tool, &arguments)
    }

    pub(crate) fn shell_call(self, command: &str) -> (&'static str, Value) {
        match self {
            Self::Claude => ("Bash", json!({ "command": command, "description": "run it" })),
            Self::Codex => ("exec_command", json!({ "cmd": command })),
            Self::Copilot | Self::OpenCode => {
                ("bash", json!({ "command": command, "description": "run it" }))
            }
            Self::Gemini => {
                ("run_shell_command", json!({ "command": command, "description": "run it" }))
            }
        }
    }

    /// The model runs a command that outlives its call.
    pub(crate) fn background(self, command: &str) -> Reply {
        let (tool, mut arguments) = self.shell_call(command);
        let (key, value) = match self {
            Self::Claude => ("run_in_background", json!(true)),
            Self::Codex => ("yield_time_ms", json!(250)),
            Self::Copilot => ("mode", json!("async")),
            Self::Gemini => ("is_background", json!(true)),
            Self::OpenCode => return self.shell(command),
        };
        arguments[key] = value;
        Reply::call(tool, &arguments)
    }

    /// The model hands a task to a sub-agent.
    pub(crate) fn delegate(self, task: &str) -> Reply {
        match self {
            Self::Claude => Reply::call(
                "Agent",
                &json!({ "description": "part", "prompt": task, "subagent_type": "general-purpose",
                    "run_in_background": false }),
            ),
            // It looks for the tool within its namespace only.
            Self::Codex => {
                Reply::call("spawn_agent", &json!({ "message": task })).edited(|event| {
                    for place in ["/item", "/response/output/0"] {
                        let item = event.pointer_mut(place).and_then(Value::as_object_mut);
                        if let Some(item) = item.filter(|item| item["type"] == "function_call") {
                            item.insert("namespace".to_owned(), json!("multi_agent_v1"));
                        }
                    }
                })
            }
            Self::Copilot => Reply::call(
                "task",
                &json!({ "agent_type": "task", "prompt": task, "description": "part",
                    "name": "part", "mode": "sync" }),
            ),
            Self::Gemini => {
                Reply::call("invoke_agent", &json!({ "agent_name": "generalist", "prompt": task }))
            }
            Self::OpenCode => Reply::call(
                "task",
                &json!({ "description": "part", "prompt": task, "subagent_type": "general" }),
            ),
        }
    }

    /// What it runs beside its tasks, and the port of that.
    pub(crate) fn serve(self, stage: &Stage) -> Option<(Child, u16)> {
        if self != Self::OpenCode {
            return None;
        }
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = free.local_addr().expect("bound").port();
        drop(free);
        let out = File::create(stage.path("served")).expect("a file");
        let mut command = stage.command(&self.program().expect("it is installed"));
        quiet(&mut command).args(["serve", "--print-logs", "--hostname", "127.0.0.1", "--port"]);
        command.arg(port.to_string()).stdout(out.try_clone().expect("a file")).stderr(out);
        let child = command.spawn().expect("it starts");
        let until = Instant::now() + Duration::from_secs(50);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "opencode does not serve");
            thread::sleep(Duration::from_millis(20));
        }
        Some((child, port))
    }

    /// Writes what it has to know before its first task.
    pub(crate) fn prepare(self, stage: &Stage) {
        let home = stage.home();
        let url = stage.model.base_url(self.dialect());
        match self {
            Self::Claude | Self::Copilot => {}
            Self::Codex => {
                let config = format!(
                    "model = \"fake\"\nmodel_provider = \"fake\"\napproval_policy = \"never\"\n\
                     sandbox_mode = \"danger-full-access\"\n\n[model_providers.fake]\nname = \"fake\"\n\
                     base_url = \"{url}\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n"
                );
                fs::create_dir_all(home.join(".codex")).expect("a directory");
                fs::write(home.join(".codex/config.toml"), config).expect("written");
            }
            Self::Gemini => {
                let settings = json!({
                    "security": { "auth": { "selectedType": "gemini-api-key" } },
                    "general": { "enableAutoUpdate": false },
                });
                fs::create_dir_all(home.join(".gemini")).expect("a directory");
                fs::write(home.join(".gemini/settings.json"), settings.to_string())
                    .expect("written");
                if stage.setup.no_rm {
                    let policy = "[[rule]]\ntoolName = \"run_shell_command\"\n\
                                  commandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 900\n";
                    fs::create_dir_all(home.join(".gemini/policies")).expect("a directory");
                    fs::write(home.join(".gemini/policies/rm.toml"), policy).expect("written");
                }
            }
            Self::OpenCode => {
                let bash = if stage.setup.no_rm {
                    json!({ "*": "allow", "rm *": "deny" })
                } else {
                    json!("allow")
                };
                let config = json!({
                    "provider": { "fake": {
                        "npm": "@ai-sdk/openai-compatible",
                        "options": { "baseURL": url, "apiKey": "x" },
                        "models": { "m": { "tool_call": true,
                            "limit": { "context": 100_000, "output": 4096 } } },
                    } },
                    "model": "fake/m",
                    "small_model": "fake/m",
                    "autoupdate": false,
                    "share": "disabled",
                    "permission": { "bash": bash, "edit": "allow",
                        "external_directory": "allow" },
                });
                let directory = home.join(".config/opencode");
                fs::create_dir_all(&directory).expect("a directory");
                fs::write(directory.join("opencode.json"), config.to_string()).expect("written");
            }
        }
    }

    /// The program at a task, or at a further word in a session.
    pub(crate) fn task(self, stage: &Stage, prompt: &str, resumed: Option<&str>) -> Command {
        let url = stage.model.base_url(self.dialect());
        let mut command = stage.command(&self.program().expect("it is installed"));
        match self {
            Self::Claude => {
                command
                    .env("ANTHROPIC_BASE_URL", url)
                    .env("ANTHROPIC_API_KEY", "sk-ant-fake")
                    .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                    .env("DISABLE_TELEMETRY", "1")
                    .env("DISABLE_AUTOUPDATER", "1");
                command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]);
                command.args(["--permission-mode", "acceptEdits"]);
                command.args(["--allowedTools", "Bash", "Write", "Edit", "Read", "Task"]);
                if stage.setup.no_rm {
                    command.args(["--disallowedTools", "Bash(rm:*)"]);
                }
                if let Some(session) = resumed {
                    command.args(["--resume", session]);
                }
            }
            Self::Codex => {
                command.env("FAKE_KEY", "x");
                command.args(["exec"]);
                if let Some(session) = resumed {
                    command.args(["resume", session]);
                }
                command.args(["--skip-git-repo-check", "--json", prompt]);
            }
            Self::Copilot => {
                command
                    .env("COPILOT_OFFLINE", "true")
                    .env("COPILOT_PROVIDER_BASE_URL", url)
                    .env("COPILOT_MODEL", "gpt-4.1")
                    .env("COPILOT_PROVIDER_API_KEY", "x");
                command.args(["--allow-all-tools", "--allow-all-paths"]);
                if stage.setup.no_rm {
                    command.arg("--deny-tool=shell(rm)");
                }
                command.args(["--output-format", "json", "-p", prompt]);
                if let Some(session) = resumed {
                    command.args(["--resume", session]);
                }
            }
            Self::Gemini => {
                command
                    .env("GEMINI_API_KEY", "x")
                    .env("GOOGLE_GEMINI_BASE_URL", url)
                    .env("GEMINI_CLI_TRUST_WORKSPACE", "true");
                command.args(["-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-o", "json"]);
                if let Some(session) = resumed {
                    command.args(["--resume", session]);
                }
                command.args(["-p", prompt]);
            }
            Self::OpenCode => {
                let address = format!("http://127.0.0.1:{}", stage.port());
                quiet(&mut command).args(["run", "--attach", &address, "--format", "json"]);
                if let Some(session) = resumed {
                    command.args(["--session", session]);
                }
                command.arg(prompt);
            }
        }
        command
    }
}

/// OpenCode, asking nobody but its model.
fn quiet(command: &mut Command) -> &mut Command {
    for name in ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
        command.env(format!("OPENCODE_DISABLE_{name}"), "1");
    }
    // It would fetch types for the plugin.
    command.env("npm_config_registry", "http://127.0.0.1:9").env("npm_config_offline", "true")
}
