//! Which model is meant by `--model provider:name`, and where it is.

use std::{fmt, net::IpAddr};

use air_wire::Dialect;
use reqwest::Url;

/// Reads one variable of the environment: a function, so that a test has its own.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Set to `1`, it lets a key travel unencrypted.
pub const PLAINTEXT: &str = "AIR_MODEL_PLAINTEXT";

/// Who provides a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// OpenAI, and whatever calls itself compatible.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Ollama: models on one's own machine, without a key.
    Ollama,
}

impl Provider {
    /// Its name in messages, settings and the keyring.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The variables that may hold its key, the usual one first.
    pub fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["OPENAI_API_KEY"],
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::Ollama => &[],
        }
    }

    /// The variables that may hold its base URL.
    fn base_variables(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["OPENAI_BASE_URL"],
            Self::Anthropic => &["ANTHROPIC_BASE_URL"],
            Self::Gemini => &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
            Self::Ollama => &[],
        }
    }

    fn base(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Ollama => "http://127.0.0.1:11434/v1",
        }
    }
}

/// One model of one provider, and where it is asked.
#[derive(Clone, PartialEq, Eq)]
pub struct ModelSpec {
    /// Who provides it.
    pub provider: Provider,
    /// What is spoken there.
    pub dialect: Dialect,
    /// The model, as its provider calls it.
    pub model: String,
    /// As the user named it: `openai:gpt-5`.
    pub name: String,
    base: Url,
    plaintext: bool,
}

impl fmt::Debug for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModelSpec({} at {}, {})", self.name, self.base, self.dialect)
    }
}

/// What may stand before the colon.
const PREFIXES: [(&str, Provider, Option<Dialect>); 6] = [
    ("openai", Provider::OpenAi, None),
    ("openai-chat", Provider::OpenAi, Some(Dialect::OpenAiChat)),
    ("openai-responses", Provider::OpenAi, Some(Dialect::OpenAiResponses)),
    ("anthropic", Provider::Anthropic, Some(Dialect::Anthropic)),
    ("gemini", Provider::Gemini, Some(Dialect::Gemini)),
    ("ollama", Provider::Ollama, Some(Dialect::OpenAiChat)),
];

impl ModelSpec {
    /// The model that `text` names, at `base` if that is given, else where the environment says, else
    /// at its provider's own address.
    ///
    /// `openai:` speaks Responses with OpenAI itself and Chat Completions with any other server;
    /// `openai-chat:` and `openai-responses:` say which.
    ///
    /// # Errors
    ///
    /// What of it cannot be understood.
    pub fn parse(
        text: &str,
        base: Option<&str>,
        environment: Environment<'_>,
    ) -> Result<Self, SpecError> {
        let text = text.trim();
        let Some((prefix, model)) = text.split_once(':') else {
            return Err(SpecError::NoProvider(text.to_owned()));
        };
        let prefix = prefix.trim().to_ascii_lowercase();
        let known = PREFIXES.iter().find(|(name, ..)| *name == prefix);
        let Some((_, provider, dialect)) = known else {
            return Err(SpecError::UnknownProvider(prefix));
        };
        let model = model.trim();
        if model.is_empty() {
            return Err(SpecError::NoModel(prefix));
        }
        let odd = |c: char| c.is_control() || c.is_whitespace() || "?#%\\".contains(c);
        if model.len() > 200 || model.contains(odd) || model.split('/').any(|part| part == "..") {
            return Err(SpecError::OddModel(model.chars().take(200).collect()));
        }
        let base = match base {
            Some(given) => given.to_owned(),
            None => from_environment(*provider, environment),
        };
        let base = checked(&base)?;
        let own = base.as_str().trim_end_matches('/') == provider.base();
        let dialect =
            dialect.unwrap_or(if own { Dialect::OpenAiResponses } else { Dialect::OpenAiChat });
        let plaintext = environment(PLAINTEXT).is_some_and(|value| value == "1");
        Ok(Self {
            provider: *provider,
            dialect,
            model: model.to_owned(),
            name: format!("{prefix}:{model}"),
            base,
            plaintext,
        })
    }

    /// Where requests go: without credentials and without a slash at its end.
    pub fn base(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Where a request with this path goes. A base URL may end in the version that the path begins with.
    pub(crate) fn address(&self, path: &str) -> String {
        let base = self.base();
        let version = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let twice = base.rsplit_once('/').is_some_and(|(_, end)| end == version);
        let base = if twice { base.trim_end_matches(version).trim_end_matches('/') } else { base };
        format!("{base}{path}")
    }

    /// Whether a server of OpenAI's dialects is asked at its root, which is seldom right.
    pub(crate) fn lacks_version(&self) -> bool {
        let openai = matches!(self.dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses);
        openai && self.base.path() == "/"
    }

    /// The host, for messages.
    pub fn host(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// Another model at the same address.
    #[must_use]
    pub(crate) fn sibling(&self, model: &str) -> Self {
        let prefix = self.name.split(':').next().unwrap_or_default();
        let name = format!("{prefix}:{model}");
        Self { name, model: model.to_owned(), ..self.clone() }
    }

    /// Whether nobody on the way can read what is sent.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Whether it is on this machine or in this network.
    pub fn is_local(&self) -> bool {
        is_local(self.host())
    }

    /// Whether it is on this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(self.host())
    }

    /// Whether its provider is asked at its own address.
    pub fn is_own(&self) -> bool {
        self.provider == Provider::Ollama || self.base() == self.provider.base()
    }

    /// Whether nothing can be asked without a key. A server of one's own may have none.
    pub fn needs_key(&self) -> bool {
        self.provider != Provider::Ollama && !self.is_local()
    }

    /// Whether a key may be sent there.
    pub(crate) fn keeps_keys(&self) -> bool {
        self.is_encrypted() || self.is_local() || self.plaintext
    }
}

fn from_environment(provider: Provider, environment: Environment<'_>) -> String {
    let set = |name: &&str| environment(name).filter(|value| !value.trim().is_empty());
    if provider == Provider::Ollama {
        return set(&"OLLAMA_HOST")
            .map_or_else(|| provider.base().to_owned(), |host| ollama(&host));
    }
    provider.base_variables().iter().find_map(set).unwrap_or_else(|| provider.base().to_owned())
}

/// `OLLAMA_HOST` may be a host, a host with a port, or a URL; a server listens on 0.0.0.0, nobody
/// asks there.
fn ollama(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let authority = authority.replacen("0.0.0.0", "127.0.0.1", 1);
    let has_port = authority.rsplit_once(':').is_some_and(|(before, port)| {
        port.parse::<u16>().is_ok() && (!before.contains(':') || before.ends_with(']'))
    });
    let port = if has_port || host.contains("://") { "" } else { ":11434" };
    let path = if path.is_empty() { "v1" } else { path };
    format!("{scheme}://{authority}{port}/{path}")
}

fn checked(base: &str) -> Result<Url, SpecError> {
    let bad = |why: &str| SpecError::BaseUrl(why.to_owned());
    let url = Url::parse(base.trim()).map_err(|error| SpecError::BaseUrl(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it begins with neither `https://` nor `http://`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it holds credentials; take them out and use the variable of the key"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("it has a query or a fragment; give the part before it"));
    }
    Ok(url)
}

fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

fn is_loopback(host: &str) -> bool {
    match bare(host).parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

fn is_local(host: &str) -> bool {
    is_loopback(host)
        || match bare(host).parse::<IpAddr>().map(|address| address.to_canonical()) {
            Ok(IpAddr::V4(address)) => address.is_private() || address.is_link_local(),
            Ok(IpAddr::V6(address)) => address.is_unique_local() || address.is_unicast_link_local(),
            Err(_) => false,
        }
}

/// A model was not named so that it can be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// There is no colon.
    #[error("`{0}` names no provider; write it as `provider:{0}`, such as `openai:gpt-5`")]
    NoProvider(String),
    /// Nobody is called so.
    #[error(
        "unknown provider `{0}`; there are `openai`, `openai-chat`, `openai-responses`, `anthropic`, \
         `gemini` and `ollama`. A compatible server is `openai:name` with `OPENAI_BASE_URL` set to its \
         address"
    )]
    UnknownProvider(String),
    /// Nothing follows the colon.
    #[error("`{0}:` names no model; write it after the colon, such as `openai:gpt-5`")]
    NoModel(String),
    /// No provider calls a model so.
    #[error(
        "`{0}` is no name of a model; it has blanks, `?`, `#`, `%`, `\\` or `..` in it, or is too long"
    )]
    OddModel(String),
    /// That is no place to send requests to.
    #[error("the base URL cannot be used: {0}")]
    BaseUrl(String),
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
