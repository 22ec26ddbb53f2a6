//! Tools of coding agents by their canonical names: what each does to files and the network. Their
//! source, `shell.exec`, is read as that of any other tool.

use air_core::{
    code::{Activity, CodeFacts, Operation},
    place::{Held, Place, PlaceKind},
    port::Surroundings,
    step::Arguments,
};

use crate::{
    collect::Collector,
    patch::{self, Change},
    weaken,
};

/// Paths beside a patch past this many are not looked at.
const MAX_PATHS: usize = 1_000;

/// The facts of a call to `tool`, if it is one of these.
pub(crate) fn read(
    tool: &str,
    arguments: &Arguments,
    around: &dyn Surroundings,
) -> Option<CodeFacts> {
    let mut call = Call { tool, arguments, out: Collector::new("", around), around };
    match tool {
        "file.write" => call.write(),
        "file.edit" => call.edit(),
        "file.read" => call.show(),
        "file.search" => call.search(),
        "web.fetch" => call.fetch(),
        "agent.delegate" => call.delegate(),
        _ => return None,
    }
    let mut facts = call.out.finish();
    facts.language = None;
    Some(facts)
}

struct Call<'c> {
    tool: &'c str,
    arguments: &'c Arguments,
    out: Collector<'c>,
    around: &'c dyn Surroundings,
}

impl<'c> Call<'c> {
    /// The text of an argument. One that is there and is no text is told.
    fn text(&mut self, name: &str) -> Option<&'c str> {
        let value = self.arguments.get(name).filter(|value| !value.is_null())?;
        let text = value.as_str();
        if text.is_none() {
            self.out.incomplete(format!("argument `{name}` is no text"));
        }
        text
    }

    /// The text of an argument that the tool cannot do without.
    fn needed(&mut self, name: &str) -> Option<&'c str> {
        let there = self.arguments.get(name).is_some_and(|value| !value.is_null());
        if !there {
            self.out.incomplete(format!("argument `{name}` is missing"));
        }
        self.text(name)
    }

    fn done(&mut self, activity: Activity, target: &str, detail: Option<&str>, labels: &[&str]) {
        self.out.operation(Operation {
            activity,
            target: target.to_owned(),
            via: self.tool.to_owned(),
            detail: detail.map(str::to_owned),
            recursive: false,
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
            line: 1,
        });
    }

    fn write(&mut self) {
        let content = self.needed("content");
        let Some(path) = self.needed("path") else { return };
        self.out.path(path);
        // What it held is there before the call only.
        let before = self.around.file(path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let labels = match (&before, content) {
            (Some(before), Some(content)) => {
                weaken::labels(&lines(before), &lines(content), content.trim().is_empty())
            }
            _ => weaken::labels(&[], &lines(content.unwrap_or_default()), false),
        };
        self.done(Activity::FileWrite, path, None, &labels);
        let file = Place::new(PlaceKind::File, path);
        self.out.leave(file, Held { text: content.map(str::to_owned), ..Held::default() });
    }

    fn edit(&mut self) {
        let patch = self.text("patch");
        let mut paths: Vec<&str> = Vec::new();
        if let Some(list) = self.arguments.get("paths").filter(|value| !value.is_null()) {
            match list.as_array() {
                Some(list) => {
                    let texts = list.iter().filter_map(|path| path.as_str());
                    paths.extend(texts.take(MAX_PATHS));
                    if paths.len() < list.len() {
                        self.out.incomplete("argument `paths` has more than is looked at");
                    }
                }
                None => self.out.incomplete("argument `paths` is no list"),
            }
        }
        paths.extend(self.text("path"));
        if let Some(patch) = patch {
            self.patched(patch, &paths);
            return;
        }
        if paths.is_empty() {
            return self.out.incomplete("no file is named that is edited");
        }
        let (old, new) = (self.needed("old"), self.needed("new"));
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let labels = weaken::labels(&lines(old), &lines(new), false);
        for path in paths {
            self.changed(path, new, &labels);
        }
    }

    /// A part of a file is another text now.
    fn changed(&mut self, path: &str, new: &str, labels: &[&str]) {
        self.out.path(path);
        self.done(Activity::FileWrite, path, None, labels);
        let text = Some(new.to_owned());
        let held = Held { text, perhaps: true, ..Held::default() };
        self.out.leave(Place::new(PlaceKind::File, path), held);
    }

    fn patched(&mut self, patch: &str, paths: &[&str]) {
        let read = patch::read(patch);
        if let Some(why) = read.incomplete {
            self.out.incomplete(why);
        }
        for file in &read.files {
            let labels = weaken::labels(&file.removed, &file.added, false);
            match file.change {
                Change::Deleted => self.deleted(file.path),
                Change::Written => self.changed(file.path, &file.added.join("\n"), &labels),
                Change::MovedTo(to) => {
                    let from = Place::new(PlaceKind::File, file.path);
                    let to_place = Place::new(PlaceKind::File, to);
                    self.changed(to, &file.added.join("\n"), &labels);
                    self.out.flow(&[from], &to_place, 1);
                    self.deleted(file.path);
                }
            }
        }
        let named = |path: &&&str| {
            !read.files.iter().any(|file| {
                same(path, file.path)
                    || matches!(file.change, Change::MovedTo(to) if same(path, to))
            })
        };
        for path in paths.iter().filter(named) {
            self.changed(path, "", &[]);
        }
        if read.files.is_empty() {
            self.out.incomplete("the patch is in no known form");
        }
    }

    fn deleted(&mut self, path: &str) {
        self.out.path(path);
        self.done(Activity::FileDelete, path, None, &[]);
        self.out.leave(Place::new(PlaceKind::File, path), Held::default());
    }

    fn show(&mut self) {
        let Some(path) = self.needed("path") else { return };
        self.out.path(path);
        self.done(Activity::FileRead, path, None, &[]);
        let file = Place::new(PlaceKind::File, path);
        self.out.flow(&[file], &Place::new(PlaceKind::Output, ""), 1);
    }

    /// A search without a path is one of the working directory; what it finds is shown.
    fn search(&mut self) {
        let path = self.text("path").unwrap_or(".");
        self.out.path(path);
        self.done(
            Activity::DirectoryList,
            path,
            self.arguments.get("pattern").and_then(|it| it.as_str()),
            &[],
        );
        let file = Place::new(PlaceKind::File, path);
        self.out.flow(&[file], &Place::new(PlaceKind::Output, ""), 1);
    }

    fn fetch(&mut self) {
        let Some(url) = self.needed("url") else { return };
        self.out.mention(url);
        self.done(Activity::NetworkConnect, url, None, &[]);
        let page = Place::new(PlaceKind::Network, url);
        self.out.flow(&[page], &Place::new(PlaceKind::Output, ""), 1);
    }

    /// What a sub-agent does is seen when it does it.
    fn delegate(&mut self) {
        if let Some(task) = self.needed("task") {
            self.out.mention(task);
        }
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Whether two spellings are of one path: `./a` and `a`, or one from the root and one from within.
fn same(one: &str, other: &str) -> bool {
    let plain = |path: &str| path.trim_start_matches("./").to_owned();
    let (one, other) = (plain(one), plain(other));
    one == other || one.ends_with(&format!("/{other}")) || other.ends_with(&format!("/{one}"))
}
