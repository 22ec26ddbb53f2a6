//! What commands do to files, and what they pass on.

use std::rc::Rc;

use air_core::{
    code::{Activity, Operation},
    place::{Held, Place, PlaceKind, TRAVERSAL, climbs},
};

use super::{
    eval::Shell,
    options::Options,
    redirect::socket,
    word::{Data, Word},
};
use crate::collect::Collector;

/// A command that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tool<'t> {
    pub(super) name: &'t str,
    pub(super) args: &'t [Word],
    pub(super) options: &'t Options,
    pub(super) at: u32,
}

impl Tool<'_> {
    pub(super) fn operand(&self, index: usize) -> Option<&Word> {
        self.options.operands.get(index)
    }

    pub(super) fn recursive(&self) -> bool {
        self.options.has(&["r", "R", "a", "--recursive", "--archive"])
    }

    /// The arguments as one text.
    pub(super) fn line(&self) -> String {
        self.args.iter().map(Word::as_written).collect::<Vec<_>>().join(" ")
    }
}

impl Shell {
    pub(super) fn operation(
        &mut self,
        activity: Activity,
        target: &str,
        via: &str,
        detail: Option<&str>,
        at: u32,
        out: &mut Collector,
    ) {
        self.operation_below(activity, target, via, detail, false, at, out);
    }

    #[expect(clippy::too_many_arguments, clippy::unused_self, reason = "the parts of an operation")]
    pub(super) fn operation_below(
        &mut self,
        activity: Activity,
        target: &str,
        via: &str,
        detail: Option<&str>,
        recursive: bool,
        line: u32,
        out: &mut Collector,
    ) {
        let detail = detail.filter(|detail| !detail.is_empty()).map(ToOwned::to_owned);
        let (target, via) = (target.to_owned(), via.to_owned());
        let labels = Vec::new();
        out.operation(Operation { activity, target, via, detail, recursive, labels, line });
    }

    /// The operation `activity` on the path `target`, which the source writes as `path`.
    pub(super) fn reached(
        activity: Activity,
        target: &str,
        path: &Word,
        via: &str,
        recursive: bool,
        line: u32,
        out: &mut Collector,
    ) {
        // Where a directory was entered before, the target has lost the way to it.
        let climbs = climbs(path.as_written());
        let labels = climbs.then(|| TRAVERSAL.to_owned()).into_iter().collect();
        let (target, via) = (target.to_owned(), via.to_owned());
        out.operation(Operation { activity, target, via, detail: None, recursive, labels, line });
    }

    /// The operation `activity` on a path.
    pub(super) fn on(
        &mut self,
        activity: Activity,
        path: &Word,
        tool: &Tool,
        out: &mut Collector,
    ) -> Place {
        let target = match activity {
            Activity::FileWrite => self.state.written(path.as_written()),
            _ => self.state.path(path.as_written()),
        };
        let recursive = tool.recursive() && activity != Activity::FileRead;
        Self::reached(activity, &target, path, tool.name, recursive, tool.at, out);
        out.path(path.as_written());
        Place::new(PlaceKind::File, target)
    }

    /// The operation `activity` on a directory, and `detail` of what there is in it.
    pub(super) fn on_directory(
        &mut self,
        activity: Activity,
        path: &Word,
        detail: &str,
        tool: &Tool,
        out: &mut Collector,
    ) {
        let target = self.state.path(path.as_written());
        self.operation(activity, &target, tool.name, Some(detail), tool.at, out);
        out.path(path.as_written());
    }

    /// The content of a file.
    pub(super) fn read_file(
        &mut self,
        path: &Word,
        via: &str,
        at: u32,
        out: &mut Collector,
    ) -> Data {
        let written = path.as_written();
        if let Some(data) = self.pipes.get(written) {
            return data.clone();
        }
        if matches!(written, "-" | "/dev/stdin" | "/proc/self/fd/0" | "/dev/fd/0") {
            return self.state.input();
        }
        if written == "/dev/null" {
            return Data::none();
        }
        if matches!(written, "/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/full") {
            return Data { endless: true, ..Data::default() };
        }
        if let Some(address) = socket(written) {
            self.operation(Activity::NetworkConnect, &address, via, None, at, out);
            return Data::from([Place::new(PlaceKind::Network, address)]);
        }
        let target = self.state.path(written);
        Self::reached(Activity::FileRead, &target, path, via, false, at, out);
        if path.text().is_some() {
            out.path(written);
        }
        if environment_file(&target) {
            self.operation(Activity::EnvironmentRead, "*", via, None, at, out);
        }
        let place = Place::new(PlaceKind::File, target);
        let text = out.held(&place).and_then(|held| held.text);
        Data { text, sources: vec![place], endless: false }
    }

    /// What is read from the operands after `skip`, or else from standard input.
    pub(super) fn inputs(&mut self, tool: &Tool, skip: usize, out: &mut Collector) -> Data {
        let mut operands = tool.options.operands.iter().skip(skip).peekable();
        if operands.peek().is_none() {
            return self.state.input();
        }
        let mut data = Data::none();
        for operand in operands {
            data.append(self.read_file(operand, tool.name, tool.at, out));
        }
        data
    }

    /// `data` is put into a file; what it held is gone.
    pub(super) fn put_file(&mut self, path: &Word, data: Data, tool: &Tool, out: &mut Collector) {
        let place = self.on(
            Activity::FileWrite,
            path,
            &Tool { args: &[], options: &Options::default(), ..*tool },
            out,
        );
        hold(place, data, tool.at, out);
    }

    pub(super) fn delete(
        &mut self,
        path: &Word,
        recursive: bool,
        tool: &Tool,
        out: &mut Collector,
    ) {
        let target = self.state.path(path.as_written());
        Self::reached(Activity::FileDelete, &target, path, tool.name, recursive, tool.at, out);
        out.path(path.as_written());
        if self.state.links.contains_key(&target) {
            Rc::make_mut(&mut self.state.links).remove(&target);
        }
        out.leave(Place::new(PlaceKind::File, target), Held::default());
    }

    /// `cp`, `mv`, `ln`, `install`: from every operand but the last, to the last.
    pub(super) fn transfer(&mut self, tool: &Tool, moves: bool, links: bool, out: &mut Collector) {
        let mut operands: Vec<Word> = tool.options.operands.clone();
        let directory = tool.options.value(&["t", "--target-directory"]).cloned();
        let Some(target) = directory.clone().or_else(|| {
            let last = if operands.len() > 1 { operands.pop() } else { None };
            last.or_else(|| links.then(|| Word::literal(".")))
        }) else {
            return;
        };
        let into = directory.is_some()
            || operands.len() > 1
            || matches!(target.as_written(), "." | ".." | "~")
            || target.as_written().ends_with('/');
        for source in &operands {
            let name =
                source.as_written().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let path = if into {
                let at = target.as_written().trim_end_matches('/');
                let at = if target.as_written() == "/" { "" } else { at };
                target.part(format!("{at}/{name}"))
            } else {
                target.clone()
            };
            let data = if links {
                let place = Place::new(PlaceKind::File, self.state.path(source.as_written()));
                out.path(source.as_written());
                let text = out.held(&place).and_then(|held| held.text);
                Data { text, sources: vec![place], endless: false }
            } else if moves {
                let place = Place::new(PlaceKind::File, self.state.path(source.as_written()));
                let text = out.held(&place).and_then(|held| held.text);
                Data { text, sources: vec![place], endless: false }
            } else {
                self.read_file(source, tool.name, tool.at, out)
            };
            if links && tool.options.has(&["s", "--symbolic", "--symbolic-link"]) {
                self.state.link(path.as_written(), source.as_written());
            }
            let place = if moves || links {
                self.state.path(path.as_written())
            } else {
                self.state.written(path.as_written())
            };
            let place = Place::new(PlaceKind::File, place);
            let recursive = !moves && !links && tool.recursive();
            let (name, at) = (tool.name, tool.at);
            Self::reached(Activity::FileWrite, &place.name, &path, name, recursive, at, out);
            out.path(path.as_written());
            hold(place, data, tool.at, out);
            if moves {
                self.delete(source, false, tool, out);
            }
        }
    }
}

/// `/proc/self/environ`.
fn environment_file(path: &str) -> bool {
    path.starts_with("/proc/") && path.ends_with("/environ")
}

pub(super) fn hold(place: Place, data: Data, at: u32, out: &mut Collector) {
    if data.endless && !place.name.starts_with("/dev/") {
        out.defect("disk-filler", at, "output without end is written to a file");
    }
    out.flow(&data.sources, &place, at);
    let sources = out.origins(&data.sources);
    out.leave(place, Held { text: data.text, sources, ..Held::default() });
}
