//! What stands in a host's settings beside AIR's hooks.

use jsonc_parser::ast::{Object, Value};

use crate::Away;

use super::{
    Dialect, Hooks, Nesting, SettingsError, claude_code, command,
    document::{Document, property},
    edit::{Own, lists},
};

/// Whether AIR's hooks are in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// None is.
    Absent,
    /// Some are, and not as they would be written today.
    Older,
    /// They are as they would be written today.
    Current,
}

/// A hook of somebody else, on an event on which AIR decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// The event.
    pub event: String,
    /// What it runs or asks; empty where it cannot be told.
    pub runs: String,
}

impl Hooks {
    /// Hooks of others on the same events: hosts merge answers, so they can override AIR's.
    ///
    /// # Errors
    ///
    /// If the text cannot be read.
    pub fn others(&self, text: &str) -> Result<Vec<Other>, SettingsError> {
        let document = Document::parse(text, Dialect::Lenient)?;
        let mut others = Vec::new();
        for (event, list) in lists(&document)? {
            if !self.events().any(|own| own == event) {
                continue;
            }
            for value in &document.array(list, &format!("`{event}`"))?.elements {
                let own = self.own(value, &self.program);
                if own == Some(Own::Whole) {
                    continue;
                }
                let group = value.as_object();
                let handlers = group.filter(|_| self.spec.nesting == Nesting::Groups);
                let handlers =
                    handlers.and_then(|group| property(group, "hooks")?.1.value.as_array());
                match handlers {
                    None => others.push(Other { event: event.to_owned(), runs: runs(group) }),
                    Some(handlers) => {
                        let theirs = handlers.elements.iter().enumerate();
                        let theirs = theirs.filter(|(at, _)| own != Some(Own::Handler(*at)));
                        others.extend(theirs.map(|(_, handler)| Other {
                            event: event.to_owned(),
                            runs: runs(handler.as_object()),
                        }));
                    }
                }
            }
        }
        Ok(others)
    }

    /// What the host has its shell run for AIR at `event`, as the text says it.
    ///
    /// # Errors
    ///
    /// If the text cannot be read.
    pub fn line(&self, text: &str, event: &str) -> Result<Option<String>, SettingsError> {
        let line = self.at(text, event, |handler| runs(Some(handler)))?;
        Ok(line.filter(|line| !line.is_empty()))
    }

    /// What becomes of a call at `event` while AIR is away, as the text says it. `None`: none of AIR's hooks
    /// is there.
    ///
    /// # Errors
    ///
    /// If the text cannot be read.
    pub fn away(&self, text: &str, event: &str) -> Result<Option<Away>, SettingsError> {
        self.at(text, event, |handler| {
            let text = |name| {
                let value = &property(handler, name)?.1.value;
                value.as_string_lit().map(|literal| literal.value.as_ref())
            };
            if text("url").is_none() {
                command::away(&runs(Some(handler)))
            } else if text(claude_code::ON_FAILURE) == Some(claude_code::BLOCK) {
                Away::Closed
            } else {
                Away::Open
            }
        })
    }

    /// What `read` finds in AIR's handler at `event`.
    fn at<T>(
        &self,
        text: &str,
        event: &str,
        read: impl Fn(&Object<'_>) -> T,
    ) -> Result<Option<T>, SettingsError> {
        let document = Document::parse(text, Dialect::Lenient)?;
        for (name, list) in lists(&document)? {
            if name != event {
                continue;
            }
            for value in &document.array(list, &format!("`{event}`"))?.elements {
                let Some(own) = self.own(value, &self.program) else { continue };
                let object = value.as_object();
                let handlers =
                    object.and_then(|group| property(group, "hooks")?.1.value.as_array());
                let at = if let Own::Handler(at) = own { at } else { 0 };
                let handler = match (self.spec.nesting, handlers) {
                    (Nesting::Groups, Some(handlers)) => {
                        handlers.elements.get(at).and_then(Value::as_object)
                    }
                    _ => object,
                };
                return Ok(handler.map(&read));
            }
        }
        Ok(None)
    }

    /// Why the host would run no hook of this file at all, as the file itself says.
    ///
    /// # Errors
    ///
    /// If the text cannot be read.
    pub fn switched_off(&self, text: &str) -> Result<Option<String>, SettingsError> {
        let document = Document::parse(text, Dialect::Lenient)?;
        let Some(root) = document.root()? else { return Ok(None) };
        let flag = |object: &Object<'_>, name: &str| {
            property(object, name).and_then(|(_, found)| Some(found.value.as_boolean_lit()?.value))
        };
        let inside =
            |name: &str| property(root, name).and_then(|(_, found)| found.value.as_object());
        if matches!(self.host, "claude-code" | "copilot")
            && flag(root, "disableAllHooks") == Some(true)
        {
            return Ok(Some("`disableAllHooks` is true".to_owned()));
        }
        if self.host != "gemini" {
            return Ok(None);
        }
        if inside("hooksConfig").is_some_and(|config| flag(config, "enabled") == Some(false)) {
            return Ok(Some("`hooksConfig.enabled` is false".to_owned()));
        }
        let disabled = inside("hooksConfig").and_then(|config| property(config, "disabled"));
        let named = disabled.and_then(|(_, list)| list.value.as_array()).is_some_and(|list| {
            list.elements
                .iter()
                .any(|name| matches!(name, Value::StringLit(name) if name.value == "air"))
        });
        Ok(named.then(|| "`hooksConfig.disabled` names `air`".to_owned()))
    }
}

fn runs(handler: Option<&Object<'_>>) -> String {
    let text = |name| {
        let value = &property(handler?, name)?.1.value;
        value.as_string_lit().map(|literal| literal.value.to_string())
    };
    ["command", "bash", "url", "prompt"].into_iter().find_map(text).unwrap_or_default()
}
