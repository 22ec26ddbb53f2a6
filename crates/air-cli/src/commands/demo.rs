//! `airctl demo`: an incident and its eradication, in a temporary workspace.

use std::{fs, path::Path};

use crate::{
    context::Context,
    error::CliError,
    exit::Exit,
    guard::{self, Target},
    play,
    script::Script,
    tell::End,
};

/// The rules that the demonstration runs under.
const RULES: &str = include_str!("../../../../rules/starter.air");
/// What its agent does.
const SCRIPT: &str = include_str!("../../assets/demo.toml");
/// The files of its workspace.
const FILES: [(&str, &str); 2] = [
    (".env", "API_TOKEN=example-not-a-real-token\n"),
    ("README.md", "# Weather page\n\nThe page under `public/` is served to everyone.\n"),
];

/// See an incident from detection to a blocked repetition, in a temporary workspace
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Write the script, the rules and the workspace to a new directory, to change and run them
    #[arg(long, value_name = "DIR")]
    pub export: Option<std::path::PathBuf>,
    /// Run tools without a sandbox: nothing keeps them from the rest of the machine
    #[arg(long)]
    pub unsandboxed: bool,
}

/// Runs the demonstration, or exports it. A demonstration whose second run is not blocked is a
/// finding.
///
/// # Errors
///
/// If it could not be done.
pub fn run(args: &Args, context: &mut Context<'_>) -> Result<Exit, CliError> {
    if let Some(dir) = &args.export {
        let place = context.cwd.join(dir);
        fs::create_dir(&place).map_err(CliError::file("create", dir))?;
        write(&place)?;
        let shown = dir.display();
        writeln!(
            context.streams.out,
            "exported to {shown}; change what you like, and run, twice:"
        )?;
        writeln!(
            context.streams.out,
            "  airctl run --script {shown}/demo.toml --rules {shown}/demo.air \
             --workspace {shown}/workspace"
        )?;
        return Ok(Exit::Fine);
    }
    let dir = tempfile::tempdir().map_err(CliError::file("create", std::env::temp_dir()))?;
    write(dir.path())?;
    context.config.state = Some(dir.path().join("state"));
    context.config.learn = true;
    let target = Target {
        workspace: Some(dir.path().join("workspace")),
        rules: vec![dir.path().join("demo.air")],
        unsandboxed: args.unsandboxed,
        ..Target::default()
    };
    let air = guard::open(context, &target)?;
    let script = Script::parse(SCRIPT, "demo.toml")?;
    say(context, "An agent is asked to publish a page. First run:")?;
    play::play(&air, &script, context)?;
    say(context, "\nThe same agent, the same task. Second run:")?;
    let second = play::play(&air, &script, context)?;
    Ok(if matches!(second, End::Blocked { .. }) { Exit::Fine } else { Exit::Findings })
}

fn say(context: &mut Context<'_>, text: &str) -> Result<(), CliError> {
    if context.format == crate::args::Format::Human {
        writeln!(context.streams.out, "{text}\n")?;
    }
    Ok(())
}

fn write(dir: &Path) -> Result<(), CliError> {
    let workspace = dir.join("workspace");
    fs::create_dir(&workspace).map_err(CliError::file("create", &workspace))?;
    let files = FILES.iter().map(|(name, text)| (workspace.join(name), *text));
    let all = files.chain([(dir.join("demo.air"), RULES), (dir.join("demo.toml"), SCRIPT)]);
    for (path, text) in all {
        fs::write(&path, text).map_err(CliError::file("write", &path))?;
    }
    Ok(())
}
