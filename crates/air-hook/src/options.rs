//! How the shim was called.

use std::{env, ffi::OsString, path::PathBuf, time::Duration};

use air_hooks::Away;

/// How long a host waits, unless it is said.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a hook's command line says.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The host.
    pub(crate) host: String,
    /// The event, for hosts that do not say it in the payload.
    pub(crate) event: Option<String>,
    /// AIR's state directory.
    pub(crate) state: PathBuf,
    /// How long the host waits.
    pub(crate) patience: Duration,
    /// What becomes of a call that AIR cannot be asked about.
    pub(crate) away: Away,
    /// Whether a daemon that is away stays away.
    pub(crate) no_start: bool,
}

impl Options {
    /// From the arguments of this process.
    pub(crate) fn read() -> Result<Self, String> {
        let var = |name| env::var_os(name).filter(|value: &OsString| !value.is_empty());
        let mut state = var("AIR_STATE").map(PathBuf::from);
        let (mut away, mut no_start, mut patience) = (Away::Closed, false, PATIENCE);
        let mut plain = Vec::new();
        let mut arguments = env::args_os().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--away") => {
                    let named = arguments.next().and_then(|name| Away::named(name.to_str()?));
                    away = named.ok_or("air-hook: --away takes closed, critical or open")?;
                }
                Some("--no-start") => no_start = true,
                Some("--state") => state = arguments.next().map(PathBuf::from),
                Some("--patience") => {
                    let seconds = arguments.next().and_then(|text| text.to_str()?.parse().ok());
                    let seconds = seconds.ok_or("air-hook: --patience takes seconds")?;
                    patience = Duration::from_secs(seconds);
                }
                Some(text) if !text.starts_with('-') => plain.push(text.to_owned()),
                _ => return Err(format!("air-hook: unknown argument {}", argument.display())),
            }
        }
        let data = || {
            let xdg = var("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
            let home = || var("HOME").map(|home| PathBuf::from(home).join(".local/share"));
            xdg.or_else(home).map(|data| data.join("air"))
        };
        let mut plain = plain.into_iter();
        Ok(Self {
            host: plain.next().ok_or("usage: air-hook HOST [EVENT]")?,
            event: plain.next(),
            state: state.or_else(data).ok_or("air-hook: neither HOME nor AIR_STATE is set")?,
            patience,
            away,
            no_start,
        })
    }
}
