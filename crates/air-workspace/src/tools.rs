//! The tools of a code agent, run in the sandbox.

use std::{
    fmt::Write,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use air_core::{
    port::{BoxFuture, ToolBox, ToolError, ToolInfo},
    step::{Arguments, Observation, ToolCall},
};
use serde_json::{Value, json};

use crate::{
    protocol::Ran,
    workspace::{Inner, LocalWorkspace, off_thread},
};

/// `python_repl`, `bash`, `read_file`, `write_file`, `delete_file`, `list_files` and
/// `check_environment`. All of them act inside, so no link leads a file tool out.
#[derive(Debug, Clone)]
pub struct Tools {
    workspace: LocalWorkspace,
}

impl Tools {
    /// All of them, wherever they work.
    pub fn described() -> Vec<ToolInfo> {
        TOOLS.iter().map(Spec::info).collect()
    }

    /// The tools of this workspace.
    pub fn new(workspace: LocalWorkspace) -> Self {
        Self { workspace }
    }

    /// The workspace that they work on.
    pub fn workspace(&self) -> &LocalWorkspace {
        &self.workspace
    }

    /// The names of all tools.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TOOLS.iter().map(|spec| spec.name)
    }

    /// Whether a call names a tool and has the arguments that it takes. Nothing is run.
    ///
    /// # Errors
    ///
    /// What does not fit.
    pub fn check(call: &ToolCall) -> Result<(), ToolError> {
        prepare(call).map(drop)
    }
}

struct Spec {
    name: &'static str,
    about: &'static str,
    required: &'static [Parameter],
    optional: &'static [Parameter],
    side_effects: bool,
    idempotent: bool,
}

/// A text that a tool takes: its name, and what it means.
type Parameter = (&'static str, &'static str);

const PATH: Parameter = ("path", "absolute, or relative to /workspace");

const TOOLS: [Spec; 7] = [
    Spec {
        name: "python_repl",
        about: "Runs Python source in an interpreter that keeps its variables from call to call. \
                Returns what it prints, and the value of a last expression.",
        required: &[("code", "Python source")],
        optional: &[],
        side_effects: true,
        idempotent: false,
    },
    Spec {
        name: "bash",
        about: "Runs a command of the shell bash in /workspace. Returns its output.",
        required: &[("command", "source for bash")],
        optional: &[],
        side_effects: true,
        idempotent: false,
    },
    Spec {
        name: "read_file",
        about: "Returns the content of a file.",
        required: &[PATH],
        optional: &[],
        side_effects: false,
        idempotent: true,
    },
    Spec {
        name: "write_file",
        about: "Writes a file, in the place of what is there, and makes its directories.",
        required: &[PATH, ("content", "the whole content")],
        optional: &[],
        side_effects: true,
        idempotent: true,
    },
    Spec {
        name: "delete_file",
        about: "Deletes a file, or a directory with all that is in it.",
        required: &[PATH],
        optional: &[],
        side_effects: true,
        idempotent: true,
    },
    Spec {
        name: "list_files",
        about: "Lists a directory, with sizes and modes.",
        required: &[],
        optional: &[PATH],
        side_effects: false,
        idempotent: true,
    },
    Spec {
        name: "check_environment",
        about: "Reports the directory, its files, the user, versions and running processes.",
        required: &[],
        optional: &[],
        side_effects: false,
        idempotent: true,
    },
];

impl Spec {
    fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.required.iter().chain(self.optional)
    }

    fn info(&self) -> ToolInfo {
        let text = |(name, about): &Parameter| {
            ((*name).to_owned(), json!({ "type": "string", "description": about }))
        };
        let properties: serde_json::Map<String, Value> = self.parameters().map(text).collect();
        let required: Vec<&str> = self.required.iter().map(|(name, _)| *name).collect();
        ToolInfo {
            name: self.name.to_owned(),
            description: self.about.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
            side_effects: self.side_effects,
            idempotent: self.idempotent,
        }
    }
}

/// Writes standard input to a path, through no link at its end but those that lead elsewhere inside.
const WRITE: &str = r#"mkdir -p -- "$(dirname -- "$1")" && cat > "$1""#;
const ENVIRONMENT: &str = "echo \"directory: $(pwd)\"; ls -la; echo \"user: $(whoami 2>/dev/null \
    || id -u)\"; \"$1\" --version; df -h . 2>/dev/null";

impl ToolBox for Tools {
    fn call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<Observation, ToolError>> {
        self.call_within(call, self.workspace.inner().config.limits.timeout)
    }

    fn call_within<'a>(
        &'a self,
        call: &'a ToolCall,
        time: Duration,
    ) -> BoxFuture<'a, Result<Observation, ToolError>> {
        let prepared = prepare(call);
        let inner = self.workspace.inner();
        Box::pin(async move {
            let work = prepared?;
            let begun = Instant::now();
            let time = time.min(inner.config.limits.timeout);
            let ran = off_thread(move || Ok(work.run(&inner, time))).await;
            let ran = ran.map_err(|error| ToolError::Failed(Box::new(error)))?;
            let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            match ran {
                Ok(ran) => Ok(Observation { duration_ms, ..observation(ran) }),
                Err(error) if lost(&error) => Err(ToolError::Lost(Box::new(error))),
                Err(error) => Err(ToolError::Failed(Box::new(error))),
            }
        })
    }

    fn tool(&self, name: &str) -> Option<ToolInfo> {
        TOOLS.iter().find(|spec| spec.name == name).map(Spec::info)
    }

    fn all(&self) -> Vec<ToolInfo> {
        Self::described()
    }
}

/// Whether the call may have run all the same.
fn lost(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, InvalidData, TimedOut, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | InvalidData | TimedOut | UnexpectedEof)
}

fn observation(ran: Ran) -> Observation {
    let mut content = String::new();
    if let Some(note) = ran.note {
        let _ = writeln!(content, "[{note}]");
    }
    content.push_str(&ran.output);
    if ran.omitted_bytes > 0 {
        let _ = write!(content, "\n[{} more bytes of output were left out]", ran.omitted_bytes);
    }
    Observation { content, error: ran.error, ..Observation::default() }
}

/// A call with checked arguments.
enum Work {
    Python(String),
    Bash(String),
    Read(String),
    Write { path: String, content: String },
    Delete(String),
    List(String),
    Environment,
}

impl Work {
    fn run(&self, inner: &Arc<Inner>, timeout: Duration) -> io::Result<Ran> {
        let run = |argv: &[&str], stdin: &str| inner.run(argv, stdin, timeout);
        match self {
            Self::Python(code) => inner.python(code, timeout),
            Self::Bash(command) => inner.bash(command, timeout),
            Self::Read(path) => {
                let ran = run(&["cat", "--", path], "")?;
                inner.note_read(path);
                Ok(ran)
            }
            Self::Write { path, content } => run(&["sh", "-c", WRITE, "sh", path], content),
            Self::Delete(path) => run(&["rm", "-r", "--", path], ""),
            Self::List(path) => run(&["ls", "-la", "--", path], ""),
            Self::Environment => environment(inner, timeout),
        }
    }
}

fn environment(inner: &Inner, timeout: Duration) -> io::Result<Ran> {
    let python = inner.python.program.to_string_lossy();
    let mut ran = inner.run(&["sh", "-c", ENVIRONMENT, "sh", &python], "", timeout)?;
    let _ = writeln!(ran.output, "tier: {}", inner.tier);
    let processes = inner.processes()?;
    let _ = writeln!(ran.output, "processes: {}", processes.len());
    for process in processes {
        let _ = writeln!(ran.output, "{} {}", process.pid, process.argv.join(" "));
    }
    Ok(ran)
}

fn prepare(call: &ToolCall) -> Result<Work, ToolError> {
    let spec = TOOLS.iter().find(|spec| spec.name == call.tool);
    let spec = spec.ok_or_else(|| ToolError::Unknown(call.tool.clone()))?;
    let wrong = |why: String| ToolError::Arguments { tool: call.tool.clone(), why };
    let known = |name: &str| spec.parameters().any(|(known, _)| *known == name);
    if let Some(name) = call.arguments.keys().find(|name| !known(name)) {
        return Err(wrong(format!("unknown argument `{name}`")));
    }
    for (name, _) in spec.required {
        if !call.arguments.contains_key(*name) {
            return Err(wrong(format!("argument `{name}` is missing, expected string")));
        }
    }
    for (name, value) in &call.arguments {
        if !value.is_string() {
            let actual = type_name(value);
            return Err(wrong(format!("argument `{name}` is {actual}, expected string")));
        }
    }
    for name in ["path", "command"] {
        if text(&call.arguments, name).contains('\0') {
            return Err(wrong(format!("argument `{name}` contains a zero byte")));
        }
    }
    let text = |name: &str| text(&call.arguments, name);
    let path = text("path");
    if path.is_empty() && spec.required.contains(&PATH) {
        return Err(wrong("argument `path` is empty".to_owned()));
    }
    Ok(match spec.name {
        "python_repl" => Work::Python(text("code")),
        "bash" => Work::Bash(text("command")),
        "read_file" => Work::Read(path),
        "write_file" => Work::Write { path, content: text("content") },
        "delete_file" => Work::Delete(path),
        "list_files" => Work::List(if path.is_empty() { ".".to_owned() } else { path }),
        _ => Work::Environment,
    })
}

fn text(arguments: &Arguments, name: &str) -> String {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
