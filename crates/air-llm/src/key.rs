//! Keys: from the environment or the desktop's keyring, never from a command line.

use std::{
    ffi::OsString,
    io::Read,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use zeroize::Zeroizing;

use crate::spec::{Environment, ModelSpec, Provider};

/// No key is longer, in bytes.
const MOST: usize = 4096;

/// The credential for a provider. It can be sent, and that is all.
#[expect(missing_debug_implementations, reason = "a key is never shown")]
#[derive(Clone)]
pub struct Key(Zeroizing<String>);

impl Key {
    /// A key from its text; blanks around it are no part of it.
    ///
    /// # Errors
    ///
    /// Where it cannot be one. The text is not in the error.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(KeyError::Odd("it is empty"));
        }
        if text.len() > MOST {
            return Err(KeyError::Odd("it is too long"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Odd("it holds blanks or characters that no header may hold"));
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// Its text, to be sent.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// The program that looks a key up in the desktop's keyring.
#[derive(Debug, Clone)]
pub struct Keyring {
    program: Option<OsString>,
    arguments: Vec<OsString>,
    limit: Duration,
}

impl Keyring {
    /// No keyring.
    pub fn none() -> Self {
        Self { program: None, arguments: Vec::new(), limit: Duration::ZERO }
    }

    /// This system's, if it has one. It is asked for at most 30 seconds: it may have to ask the user.
    pub fn desktop() -> Self {
        let limit = Duration::from_secs(30);
        if cfg!(target_os = "macos") {
            let arguments = ["find-generic-password", "-w", "-s", "air", "-a"];
            Self::of("/usr/bin/security", &arguments, limit)
        } else {
            Self::of("secret-tool", &["lookup", "service", "air", "account"], limit)
        }
    }

    /// A program that is given `arguments` and then the provider's name, and prints the key.
    pub fn of(program: impl Into<OsString>, arguments: &[&str], limit: Duration) -> Self {
        let arguments = arguments.iter().map(OsString::from).collect();
        Self { program: Some(program.into()), arguments, limit }
    }

    /// The key of a provider; `None` where there is no keyring or no such key in it.
    ///
    /// # Errors
    ///
    /// If it does not answer in time, or with what cannot be a key.
    pub fn look_up(&self, provider: Provider) -> Result<Option<Key>, KeyError> {
        let Some(program) = &self.program else { return Ok(None) };
        let mut command = Command::new(program);
        command.args(&self.arguments).arg(provider.name());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Not installed: then there is no keyring.
        let Ok(mut child) = command.spawn() else { return Ok(None) };
        let text = self.read(&mut child);
        if text.is_none() {
            let _ = child.kill();
        }
        let status = child.wait();
        let Some(text) = text else { return Err(KeyError::Keyring(self.limit)) };
        if text.trim().is_empty() || !status.is_ok_and(|status| status.success()) {
            return Ok(None);
        }
        Key::new(&text).map(Some)
    }

    /// What it prints until it ends; `None` if that takes too long.
    fn read(&self, child: &mut Child) -> Option<Zeroizing<String>> {
        let until = Instant::now() + self.limit;
        let output = child.stdout.take()?;
        let (send, receive) = mpsc::channel();
        // Of its own, because the program may leave its output open for ever.
        thread::spawn(move || {
            let mut bytes = Zeroizing::new(Vec::with_capacity(MOST + 2));
            let most = u64::try_from(MOST + 2).unwrap_or(u64::MAX);
            if output.take(most).read_to_end(&mut bytes).is_ok() {
                let _ = send.send(bytes);
            }
        });
        let bytes = receive.recv_timeout(self.limit).ok()?;
        while matches!(child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        }
        Some(Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// The key for a model: from its provider's variable, else from the keyring. `None` where none is
/// needed and none is there.
///
/// # Errors
///
/// If there is none and one is needed, if it would travel unencrypted, or if it cannot be a key.
pub fn find_key(
    spec: &ModelSpec,
    environment: Environment<'_>,
    keyring: &Keyring,
) -> Result<Option<Key>, KeyError> {
    let provider = spec.provider;
    let set = |name: &&str| environment(name).map(Zeroizing::new);
    let set = provider.key_variables().iter().find_map(|name| {
        let value = set(name)?;
        (!value.trim().is_empty()).then_some((*name, value))
    });
    let key = match set {
        Some((name, text)) => Some(Key::new(&text).map_err(|error| match error {
            KeyError::Odd(why) => KeyError::Variable(name, why),
            other => other,
        })?),
        // A server of one's own is no reason to bother the user with a keyring.
        None if spec.needs_key() => keyring.look_up(provider)?,
        None => None,
    };
    if key.is_none() && spec.needs_key() {
        return Err(KeyError::Missing(provider));
    }
    if key.is_some() && !spec.keeps_keys() {
        return Err(KeyError::Plaintext(spec.host().to_owned()));
    }
    Ok(key)
}

/// There is no key that can be used. No message holds one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It is nowhere.
    #[error(
        "no key for `{0}`; set {variable}, or store one with `secret-tool store --label=AIR service air \
         account {0}`",
        variable = .0.key_variables().first().unwrap_or(&"its variable")
    )]
    Missing(Provider),
    /// It would travel so that everybody on the way can read it.
    #[error(
        "the key would be sent to `{0}` unencrypted; use an https address, or set {plaintext}=1 if \
         nobody else reads that network",
        plaintext = crate::spec::PLAINTEXT
    )]
    Plaintext(String),
    /// What a variable holds cannot be a key.
    #[error("{0} holds no key: {1}")]
    Variable(&'static str, &'static str),
    /// That cannot be a key.
    #[error("that is no key: {0}")]
    Odd(&'static str),
    /// The keyring did not answer.
    #[error("the keyring did not answer within {0:?}; unlock it, or set the variable of the key")]
    Keyring(Duration),
}
