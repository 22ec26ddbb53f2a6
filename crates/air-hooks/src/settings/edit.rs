//! AIR's entries put in and taken out, one change at a time, each on a text that has been read anew.

use jsonc_parser::{
    ast::{Object, Value},
    common::{Range, Ranged as _},
};

use super::{
    Dialect, Hooks, Installed, Nesting, Receipt, SettingsError, State, command,
    document::{Container, Document, Item, property},
    json::Json,
};

const HOOKS: &str = "hooks";
/// More of AIR's entries than this are not taken out of one file.
const MAX_REMOVED: usize = 1000;

impl Hooks {
    /// `text` with AIR's entries, and only today's. `receipt` is what an earlier call gave for this file,
    /// if there was one. Where all is as it should be, the text comes back as it was.
    ///
    /// # Errors
    ///
    /// If the text cannot be read.
    pub fn install(
        &self,
        text: Option<&str>,
        receipt: Option<&Receipt>,
    ) -> Result<Installed, SettingsError> {
        let stripped = match text {
            None => None,
            Some(text) => {
                let state = self.state(text)?;
                if state == State::Current {
                    let receipt = receipt.cloned().unwrap_or_default();
                    return Ok(Installed { text: text.to_owned(), receipt });
                }
                if state == State::Absent {
                    Some(text.to_owned())
                } else {
                    self.uninstall(text, receipt)?
                }
            }
        };
        let made = stripped.is_none();
        let mut work = Work {
            text: stripped.clone().unwrap_or_default(),
            receipt: Receipt { program: self.program.clone(), file: made, ..Receipt::default() },
        };
        work.ensure_root()?;
        for (name, value) in &self.spec.top {
            work.ensure(&[], name, value)?;
        }
        let empty = Json::Object(Vec::new());
        work.ensure(&[], HOOKS, &empty)?;
        for entry in &self.spec.entries {
            work.ensure(&[HOOKS], entry.event, &Json::List(Vec::new()))?;
            work.append(&[HOOKS, entry.event], None, &entry.value)?;
        }
        let Work { text, receipt } = work;
        let faithful = self.state(&text)? == State::Current
            && self.uninstall(&text, Some(&receipt))? == stripped;
        if faithful { Ok(Installed { text, receipt }) } else { Err(SettingsError::Unfaithful) }
    }

    /// `text` without AIR's entries, and without what `receipt` says was made for them and is empty again;
    /// `None` where nothing is left of a file that AIR made.
    ///
    /// # Errors
    ///
    /// If the text cannot be read.
    pub fn uninstall(
        &self,
        text: &str,
        receipt: Option<&Receipt>,
    ) -> Result<Option<String>, SettingsError> {
        let mut text = text.to_owned();
        let mut touched = Vec::new();
        for _ in 0..MAX_REMOVED {
            let Some((event, without)) = self.without_one(&text, receipt)? else { break };
            let path = format!("/{HOOKS}/{event}");
            if !touched.contains(&path) {
                touched.push(path);
            }
            text = without;
        }
        if touched.is_empty() {
            return Ok(Some(text));
        }
        let guessed;
        let receipt = if let Some(receipt) = receipt {
            receipt
        } else {
            // What has become empty by AIR's leaving is likely to have been made for it.
            touched.push(format!("/{HOOKS}"));
            guessed = Receipt { created: touched, ..Receipt::default() };
            &guessed
        };
        // What is inside goes first, and `hooks` before what only stands beside it.
        let mut names: Vec<&String> = receipt.created.iter().rev().collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.matches('/').count()));
        for name in names {
            text = without_name(&text, name, receipt)?;
        }
        without_root(&text, receipt)
    }

    /// Whether AIR's entries are in `text`, and are today's.
    ///
    /// # Errors
    ///
    /// If the text cannot be read.
    pub fn state(&self, text: &str) -> Result<State, SettingsError> {
        let document = Document::parse(text, Dialect::Lenient)?;
        let mut expected: Vec<_> =
            self.spec.entries.iter().map(|entry| (entry.event, plain(&entry.value))).collect();
        let mut found = 0;
        for (event, list) in lists(&document)? {
            for value in &document.array(list, &format!("`{event}`"))?.elements {
                if self.own(value, &self.program).is_none() {
                    continue;
                }
                found += 1;
                let value: serde_json::Value = value_of(value);
                match expected.iter().position(|entry| entry.0 == event && entry.1 == value) {
                    Some(index) => _ = expected.remove(index),
                    None => return Ok(State::Older),
                }
            }
        }
        Ok(match (found, expected.is_empty()) {
            (0, _) => State::Absent,
            (_, true) => State::Current,
            (_, false) => State::Older,
        })
    }

    /// What the versions of the host that were tested do not read in `text`, so that they pass over all of
    /// the file.
    pub fn unread(&self, text: &str) -> Option<SettingsError> {
        if text.trim().is_empty() {
            return None;
        }
        Document::parse(text, self.dialect).err()
    }

    /// Which of AIR's handlers `value` holds: all of a group, or those at the places named.
    pub(super) fn own(&self, value: &Value<'_>, program: &str) -> Option<Own> {
        let object = value.as_object()?;
        if self.spec.nesting == Nesting::Handlers {
            return self.is_own_handler(object, program).then_some(Own::Whole);
        }
        let handlers = property(object, HOOKS)?.1.value.as_array()?;
        let own = |handler: &Value<'_>| {
            handler.as_object().is_some_and(|handler| self.is_own_handler(handler, program))
        };
        let first = handlers.elements.iter().position(own)?;
        let all = handlers.elements.iter().all(own);
        Some(if all { Own::Whole } else { Own::Handler(first) })
    }

    fn is_own_handler(&self, handler: &Object<'_>, program: &str) -> bool {
        let text = |name| {
            let value = &property(handler, name)?.1.value;
            value.as_string_lit().map(|literal| literal.value.as_ref())
        };
        let line = text("command").or_else(|| text("bash"));
        line.is_some_and(|line| command::is_own(line, self.host, program))
            || text("url").is_some_and(|url| command::is_own_url(url, self.host))
    }

    /// The text without the last of AIR's handlers, and the event that it was for.
    fn without_one(
        &self,
        text: &str,
        receipt: Option<&Receipt>,
    ) -> Result<Option<(String, String)>, SettingsError> {
        let document = Document::parse(text, Dialect::Lenient)?;
        let program = receipt.map_or(self.program.as_str(), |receipt| receipt.program.as_str());
        for (event, list) in lists(&document)? {
            let list = document.array(list, &format!("`{event}`"))?;
            for (index, value) in list.elements.iter().enumerate().rev() {
                let own = self.own(value, program).or_else(|| self.own(value, &self.program));
                let without = match own {
                    None => continue,
                    Some(Own::Whole) => {
                        let path = format!("/{HOOKS}/{event}");
                        let suffix = suffix(receipt, &path);
                        document.remove(&Container::of_array(list), index, suffix)
                    }
                    Some(Own::Handler(place)) => {
                        let handlers = value
                            .as_object()
                            .and_then(|group| property(group, HOOKS))
                            .and_then(|(_, handlers)| handlers.value.as_array());
                        let Some(handlers) = handlers else { continue };
                        document.remove(&Container::of_array(handlers), place, "")
                    }
                };
                return Ok(Some((event.to_owned(), without)));
            }
        }
        Ok(None)
    }
}

/// The text without a name that was made, where it holds nothing that somebody else put there.
fn without_name(text: &str, path: &str, receipt: &Receipt) -> Result<String, SettingsError> {
    let document = Document::parse(text, Dialect::Lenient)?;
    let Some(root) = document.root()? else { return Ok(text.to_owned()) };
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    let object = match parent {
        "" => Some(root),
        _ => property(root, HOOKS).and_then(|(_, hooks)| hooks.value.as_object()),
    };
    let found = object.and_then(|object| Some((object, property(object, name)?)));
    let Some((object, (index, property))) = found else { return Ok(text.to_owned()) };
    let unused = match &property.value {
        Value::Object(value) => value.properties.is_empty(),
        Value::Array(value) => value.elements.is_empty(),
        // A host needs its version for what others have put into a file of AIR's.
        _ => !receipt.file || root.properties.len() == 1,
    };
    if !unused || document.has_comment(property.value.range()) {
        return Ok(text.to_owned());
    }
    let suffix = suffix(Some(receipt), parent);
    Ok(document.remove(&Container::of_object(object), index, suffix))
}

/// What of a group is AIR's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    Whole,
    /// One of several handlers.
    Handler(usize),
}

/// A text in the making.
struct Work {
    text: String,
    receipt: Receipt,
}

impl Work {
    /// Sees to it that the whole is an object.
    fn ensure_root(&mut self) -> Result<(), SettingsError> {
        if Document::parse(&self.text, Dialect::Lenient)?.root()?.is_some() {
            return Ok(());
        }
        let newline = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        // An object on the line of a comment would be part of it.
        let open_line =
            !self.text.trim_start_matches('\u{feff}').is_empty() && !self.text.ends_with('\n');
        let before = if open_line { newline } else { "" };
        self.text = format!("{}{before}{{}}{newline}", self.text);
        if !self.receipt.file {
            self.receipt.root = Some((before.to_owned(), newline.to_owned()));
        }
        Ok(())
    }

    /// Sees to it that the object at `path` has `name`.
    fn ensure(&mut self, path: &[&str], name: &str, value: &Json) -> Result<(), SettingsError> {
        let document = Document::parse(&self.text, Dialect::Lenient)?;
        let object = object_at(&document, path)?;
        if object.is_some_and(|object| property(object, name).is_some()) {
            return Ok(());
        }
        self.append(path, Some(name), value)?;
        self.receipt.created.push(format!("{}/{name}", pointer(path)));
        Ok(())
    }

    /// Puts something into the object or list at `path`.
    fn append(
        &mut self,
        path: &[&str],
        name: Option<&str>,
        value: &Json,
    ) -> Result<(), SettingsError> {
        let document = Document::parse(&self.text, Dialect::Lenient)?;
        let container = match (name, path) {
            (Some(_), _) => object_at(&document, path)?.map(Container::of_object),
            (None, [path @ .., event]) => {
                match object_at(&document, path)?.and_then(|object| property(object, event)) {
                    None => None,
                    Some((_, list)) => Some(Container::of_array(
                        document.array(&list.value, &format!("`{event}`"))?,
                    )),
                }
            }
            (None, []) => None,
        };
        let Some(container) = container else { return Err(SettingsError::Unfaithful) };
        let appended = document.append(&container, Item { name, value });
        if !appended.suffix.is_empty() {
            self.receipt.suffixes.insert(pointer(path), appended.suffix);
        }
        self.text = appended.text;
        Ok(())
    }
}

fn pointer(path: &[&str]) -> String {
    path.iter().flat_map(|name| ["/", name]).collect()
}

fn suffix<'r>(receipt: Option<&'r Receipt>, path: &str) -> &'r str {
    receipt.and_then(|receipt| receipt.suffixes.get(path)).map_or("", String::as_str)
}

fn object_at<'d, 't>(
    document: &'d Document<'t>,
    path: &[&str],
) -> Result<Option<&'d Object<'t>>, SettingsError> {
    let mut object = document.root()?;
    for name in path {
        let Some((_, found)) = object.and_then(|object| property(object, name)) else {
            return Ok(None);
        };
        object = Some(document.object(&found.value, &format!("`{name}`"))?);
    }
    Ok(object)
}

/// What stands under each event.
pub(super) fn lists<'d, 't>(
    document: &'d Document<'t>,
) -> Result<Vec<(&'d str, &'d Value<'t>)>, SettingsError> {
    let Some(hooks) = object_at(document, &[HOOKS])? else { return Ok(Vec::new()) };
    let lists = hooks.properties.iter();
    // Hosts keep switches beside the events.
    let lists = lists.filter(|property| !matches!(property.value, Value::BooleanLit(_)));
    Ok(lists.map(|property| (property.name.as_str(), &property.value)).collect())
}

/// The text without the object that was made for AIR.
fn without_root(text: &str, receipt: &Receipt) -> Result<Option<String>, SettingsError> {
    let document = Document::parse(text, Dialect::Lenient)?;
    let Some(root) = document.root()? else { return Ok(Some(text.to_owned())) };
    if !root.properties.is_empty() || document.has_comment(root.range) {
        return Ok(Some(text.to_owned()));
    }
    let whole = Range::new(0, document.text.len());
    if receipt.file && !document.has_comment(whole) {
        return Ok(None);
    }
    let Some((before, after)) = &receipt.root else { return Ok(Some(text.to_owned())) };
    let head = document.text.get(..root.range.start).unwrap_or_default();
    let tail = document.text.get(root.range.end..).unwrap_or_default();
    let head = head.strip_suffix(before.as_str()).unwrap_or(head);
    let tail = tail.strip_prefix(after.as_str()).unwrap_or(tail);
    Ok(Some(format!("{}{head}{tail}", document.bom)))
}

fn plain(value: &Json) -> serde_json::Value {
    match value {
        Json::Text(text) => text.as_str().into(),
        Json::Number(number) => (*number).into(),
        Json::Flag(flag) => (*flag).into(),
        Json::List(items) => items.iter().map(plain).collect(),
        Json::Object(items) => {
            let items = items.iter().map(|(name, item)| ((*name).to_owned(), plain(item)));
            serde_json::Value::Object(items.collect())
        }
    }
}

fn value_of(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::StringLit(text) => text.value.as_ref().into(),
        Value::NumberLit(number) => {
            serde_json::from_str(number.value).unwrap_or(serde_json::Value::Null)
        }
        Value::BooleanLit(flag) => flag.value.into(),
        Value::NullKeyword(_) => serde_json::Value::Null,
        Value::Array(list) => list.elements.iter().map(value_of).collect(),
        Value::Object(object) => {
            let items = object.properties.iter();
            let items = items.map(|item| (item.name.as_str().to_owned(), value_of(&item.value)));
            serde_json::Value::Object(items.collect())
        }
    }
}
