//! `>`, `<`, `<<` and their like.

use air_core::{
    code::Activity,
    place::{Held, Place, PlaceKind},
};
use brush_parser::ast::{
    self, IoFileRedirectKind as Kind, IoFileRedirectTarget as Target, IoRedirect,
};

use super::{
    eval::Shell,
    lex::Within,
    state::Channel,
    word::{Data, Word},
};
use crate::collect::Collector;

impl Shell {
    pub(super) fn redirect(&mut self, redirect: &IoRedirect, at: u32, out: &mut Collector) {
        match redirect {
            IoRedirect::File(descriptor, kind, target) => {
                self.file_redirect(*descriptor, kind, target, at, out);
            }
            IoRedirect::HereDocument(descriptor, document) => {
                let data = self.document(document, at, out);
                self.state.channels.insert(descriptor.unwrap_or(0), Channel::Input(data));
            }
            IoRedirect::HereString(descriptor, word) => {
                let word = self.word(&word.value, Within::Command, at, out);
                out.string(word.as_written());
                let mut data = word.into_data();
                data.append(Data::text("\n"));
                self.state.channels.insert(descriptor.unwrap_or(0), Channel::Input(data));
            }
            IoRedirect::OutputAndError(word, append) => {
                let word = self.word(&word.value, Within::Command, at, out);
                let channel = self.opened(&word, if *append { ">>" } else { ">" }, at, out);
                self.state.channels.insert(1, channel.clone());
                self.state.channels.insert(2, channel);
            }
        }
    }

    fn document(&mut self, document: &ast::IoHereDocument, at: u32, out: &mut Collector) -> Data {
        let raw = &document.doc.value;
        let stripped: String;
        let raw = if document.remove_tabs {
            let lines = raw.split('\n').map(|line| line.trim_start_matches('\t'));
            stripped = lines.collect::<Vec<_>>().join("\n");
            &stripped
        } else {
            raw
        };
        out.string(raw);
        if document.requires_expansion {
            self.word(raw, Within::Document, at, out).into_data()
        } else {
            Data::text(raw.as_str())
        }
    }

    fn file_redirect(
        &mut self,
        descriptor: Option<i32>,
        kind: &Kind,
        target: &Target,
        at: u32,
        out: &mut Collector,
    ) {
        let reads = matches!(kind, Kind::Read | Kind::DuplicateInput);
        let descriptor =
            descriptor.unwrap_or(i32::from(!(reads || matches!(kind, Kind::ReadAndWrite))));
        let word = match target {
            Target::Fd(from) => return self.duplicate(descriptor, *from),
            Target::Duplicate(word) => {
                let word = self.word(&word.value, Within::Command, at, out);
                let text = word.as_written().trim_end_matches('-').to_owned();
                if text.is_empty() {
                    self.state.channels.insert(descriptor, Channel::Nothing);
                    return;
                }
                match text.parse::<i32>() {
                    Ok(from) => return self.duplicate(descriptor, from),
                    Err(_) => word,
                }
            }
            Target::Filename(word) => self.word(&word.value, Within::Command, at, out),
            Target::ProcessSubstitution(kind, subshell) => {
                let reads = matches!(kind, ast::ProcessSubstitutionKind::Read);
                let data = self.within(|shell, out| shell.list(&subshell.list, out), out);
                let channel = if reads { Channel::Input(data) } else { Channel::Nothing };
                self.state.channels.insert(descriptor, channel);
                return;
            }
        };
        let operator = match kind {
            Kind::Append => ">>",
            Kind::Read | Kind::DuplicateInput => "<",
            Kind::ReadAndWrite => "<>",
            Kind::Write | Kind::Clobber | Kind::DuplicateOutput => ">",
        };
        let channel = self.opened(&word, operator, at, out);
        if matches!(kind, Kind::DuplicateOutput) && descriptor == 1 {
            self.state.channels.insert(2, channel.clone());
        }
        self.state.channels.insert(descriptor, channel);
    }

    fn duplicate(&mut self, descriptor: i32, from: i32) {
        let channel = self.state.channels.get(&from).cloned().unwrap_or(Channel::Nothing);
        // Errors carry little; what is sent to where they go is another matter.
        let channel = match (from, channel) {
            (2, Channel::Nothing) => Channel::Output,
            (_, channel) => channel,
        };
        self.state.channels.insert(descriptor, channel);
    }

    /// What `operator` opens.
    fn opened(&mut self, word: &Word, operator: &str, at: u32, out: &mut Collector) -> Channel {
        let shown = if operator == "<>" { ">" } else { operator };
        out.call(shown, vec![word.shown().to_owned()], at);
        let written = word.as_written();
        match word.text() {
            Some(path) => out.path(path),
            None => out.mention(written),
        }
        if let Some(address) = socket(written) {
            self.operation(Activity::NetworkConnect, &address, operator, None, at, out);
            return Channel::Place(Place::new(PlaceKind::Network, address));
        }
        if matches!(written, "/dev/null" | "/dev/zero" | "/dev/full") && operator != "<" {
            return Channel::Nothing;
        }
        if matches!(written, "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/proc/self/fd/1") {
            return self.state.channels.get(&1).cloned().unwrap_or(Channel::Output);
        }
        if operator == "<" {
            return Channel::Input(self.read_file(word, "<", at, out));
        }
        if word.text().is_some_and(|path| self.pipes.contains_key(path)) {
            return Channel::Nothing;
        }
        let path = self.state.written(written);
        Self::reached(Activity::FileWrite, &path, word, operator, false, at, out);
        let place = Place::new(PlaceKind::File, path);
        if operator == ">" && !self.fifos.contains(&place.name) {
            out.leave(place.clone(), Held { text: Some(String::new()), ..Held::default() });
        }
        Channel::Place(place)
    }
}

/// `host:port` of `/dev/tcp/host/port`.
pub(super) fn socket(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/dev/tcp/").or_else(|| path.strip_prefix("/dev/udp/"))?;
    let (host, port) = rest.rsplit_once('/')?;
    Some(format!("{host}:{port}"))
}
