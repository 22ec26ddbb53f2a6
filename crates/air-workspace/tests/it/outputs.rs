//! What outputs repeat.

use std::os::unix::net::UnixStream;

use air_core::{
    effects::{Observed, OutputEffect},
    fact::ContentMarks,
};
use air_workspace::{Destination, Outside, Transport};

use super::*;

/// What lies in a directory `secret` is labelled, and `/etc/passwd`.
#[derive(Debug)]
struct Kept;

impl PathLabels for Kept {
    fn labels(&self, path: &str) -> Vec<Arc<str>> {
        let is_kept = path.contains("/secret/") || path == "/etc/passwd";
        is_kept.then(|| "kept".into()).into_iter().collect()
    }
}

/// Answers every request with a page.
#[derive(Debug)]
struct Pages;

const PAGE: &str = "Welcome to the page with the words x7Qk93mZpL20aB that nobody else has";

impl Outside for Pages {
    fn local_ports(&self) -> Vec<(Transport, u16)> {
        Vec::new()
    }

    fn stream(&self, _: &Destination, mut stream: UnixStream) {
        use std::io::{Read, Write};
        let mut head = [0; 4096];
        let _ = stream.read(&mut head);
        let _ = write!(stream, "HTTP/1.0 200 OK\r\nServer: x\r\n\r\n{PAGE}");
    }

    fn datagram(&self, _: &Destination, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// Marks what gained the word `mark`.
#[derive(Debug)]
struct Words;

impl ContentMarks for Words {
    fn marks(&self, path: &str, before: &[u8], now: &[u8]) -> Vec<Arc<str>> {
        let has = |text: &[u8]| String::from_utf8_lossy(text).contains("mark");
        let name = path.rsplit('/').next().unwrap();
        if has(now) && !has(before) { vec![format!("marked-{name}").into()] } else { Vec::new() }
    }
}

const FILES: [(&str, &str); 6] = [
    ("secret/zone", "Europe/Berlin-k3v9x2\n"),
    ("secret/host-entry", "db01.corp.example 10.20.30.40\n"),
    ("secret/notes.old", "Quarterly figures: revenue 4711, costs 815, and so on.\n"),
    ("plain/readme", "Hello there\n"),
    ("plain/one.txt", "1"),
    ("plain/two.txt", "2"),
];

fn with_secrets(is_layered: bool, test: impl FnOnce(&Bench)) {
    let bench = Bench::try_with(Tier::T3, |config| {
        config.labels = Arc::new(Kept);
        config.outside = Some(Arc::new(Pages));
        config.marks = Arc::new(Words);
        config.overlay = is_layered.then(|| Overlay::of(&config.session_dir));
        // What was there before: labels are looked for when a workspace is opened.
        for (name, content) in FILES {
            let path = config.workspace.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, content).unwrap();
        }
    });
    let Some(bench) = bench else { return };
    test(&bench);
}

/// A command, what the call names, and what its output repeats: kinds and origins.
type Case = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

/// What the output of a command repeats.
fn repeats(bench: &Bench, command: &str, named: &[&str]) -> Observed<OutputEffect> {
    let before = bench.checkpoint();
    let seen = bench.bash(command);
    let named: Vec<String> = named.iter().map(|&path| path.to_owned()).collect();
    block_on(bench.workspace.effects(&before, &named)).unwrap();
    block_on(bench.workspace.output(&before, &seen.output(), &named)).unwrap()
}

#[test]
fn outputs_are_traced_to_where_they_come_from() {
    for is_layered in [false, true] {
        with_secrets(is_layered, |bench| {
            #[rustfmt::skip]
            let table: &[Case] = &[
                ("cat secret/zone", &[], &[("content", "secret/zone")]),
                ("echo it is $(cat secret/zone).", &[], &[("content", "secret/zone")]),
                ("base64 secret/notes.old", &[], &[("content", "secret/notes.old")]),
                ("rev secret/notes.old | tr a-z A-Z", &[], &[("content", "secret/notes.old")]),
                ("cat secret/host-entry >&2; exit 3", &[], &[("content", "secret/host-entry")]),
                ("cat plain/readme", &[], &[]),
                ("cat plain/readme", &["plain/readme"], &[("content", "plain/readme")]),
                ("ls secret", &[], &[("listing", "secret")]),
                ("ls -la secret", &[], &[("listing", "secret")]),
                ("python3 -c 'import os; print(os.listdir(\"secret\"))'", &[], &[("listing", "secret")]),
                ("find secret -type f", &[], &[("listing", "secret")]),
                ("ls plain", &[], &[]),
                ("ls plain", &["plain"], &[("listing", "plain")]),
                ("ls", &["."], &[]),
                ("echo the zone of the readme", &["plain"], &[]),
                ("curl -s http://page.example/a", &[], &[("network", "page.example")]),
                ("curl -s http://page.example/a | tr a-z A-Z | base64", &[], &[("network", "page.example")]),
                ("curl -s -o page http://page.example/a; echo done", &[], &[]),
                ("echo new words that are nowhere else > own; cat own", &["own"], &[]),
                ("true", &["plain", "plain/readme"], &[]),
                // What the step itself takes away counts as it was.
                ("cat plain/readme; rm plain/readme", &["plain/readme"], &[("content", "plain/readme")]),
                ("cat secret/zone; echo other > secret/zone", &[], &[("content", "secret/zone")]),
                ("ls secret; rm -r secret", &[], &[("listing", "secret")]),
            ];
            for (command, named, wanted) in table {
                let seen = repeats(bench, command, named);
                assert_eq!(seen.incomplete, None, "{command}");
                let items: Vec<_> = seen
                    .items
                    .iter()
                    .map(|item| (item.kind.clone(), item.origin.clone()))
                    .collect();
                let name = |kind: &str, name: &str| match kind {
                    "network" => name.to_owned(),
                    _ => bench.inside(name),
                };
                let wanted: Vec<_> = wanted
                    .iter()
                    .map(|&(kind, path)| (kind.to_owned(), name(kind, path)))
                    .collect();
                assert_eq!(items, wanted, "{command}, layered: {is_layered}");
            }
        });
    }
}

#[test]
fn what_the_first_step_destroys_is_known() {
    with_secrets(false, |bench| {
        let seen = repeats(bench, "cat secret/notes.old | base64; rm -rf secret", &[]);
        assert_eq!(seen.items.len(), 1, "{seen:?}");
        assert_eq!(seen.items.first().unwrap().origin, bench.inside("secret/notes.old"));
    });
}

#[test]
fn text_that_a_file_gained_has_marks() {
    for is_layered in [false, true] {
        with_secrets(is_layered, |bench| {
            let before = bench.checkpoint();
            bench.bash("echo a mark > new; echo a mark >> plain/readme; chmod 600 plain/one.txt; echo > blank");
            let marks = |effects: Effects| -> Vec<String> {
                effects.files.items.into_iter().flat_map(|file| file.marks).collect()
            };
            assert_eq!(marks(bench.effects(&before)), ["marked-new", "marked-readme"]);
            let before = bench.checkpoint();
            bench.bash("echo more >> new");
            assert_eq!(marks(bench.effects(&before)), Vec::<String>::new());
        });
    }
}

#[test]
fn output_is_compared_with_no_directory_that_a_link_leads_to() {
    for is_layered in [false, true] {
        with_secrets(is_layered, |bench| {
            let away = bench.folder.path().join("away");
            let names = ["first-entry-k3v9x2", "second-entry-p7q1z8", "third-entry-m4n6b0"];
            for name in names {
                std::fs::create_dir_all(away.join("below").join(name)).unwrap();
            }
            let away = away.to_str().unwrap();
            bench.bash(&format!("ln -s {away} out; ln -s {away}/below there; mkdir -p in/below"));
            bench.bash(&format!("cd in/below; mkdir {}", names.join(" ")));
            let say = format!("printf '%s\\n' {}", names.join(" "));
            let listed = |named: &str| repeats(bench, &say, &[named]).items.len();
            assert_eq!(listed("in/below"), 1);
            for named in ["out", "out/below", "there"] {
                assert_eq!(listed(named), 0, "{named}, layered: {is_layered}");
            }
        });
    }
}

#[test]
fn no_link_leads_to_what_only_the_host_has() {
    let secret = "words-of-the-host the tools never see, for they are elsewhere\n";
    let told = |config: &mut SandboxConfig| {
        let folder = config.workspace.parent().unwrap().to_path_buf();
        let host = folder.join("host");
        std::fs::create_dir(&host).unwrap();
        for name in ["alder-of-the-host", "birch-of-the-host", "cedar-of-the-host"] {
            std::fs::write(host.join(name), secret).unwrap();
        }
        let given = folder.join("given");
        std::fs::create_dir_all(given.join("plain")).unwrap();
        for name in ["dahlia-of-the-host", "elder-of-the-host", "fern-of-the-host"] {
            std::fs::write(given.join("plain").join(name), "in the garden\n").unwrap();
        }
        std::os::unix::fs::symlink(&host, given.join("linked")).unwrap();
        std::os::unix::fs::symlink(&host, config.workspace.join("linked")).unwrap();
        config.binds = vec![(given, "/opt/given".into())];
        config.shape = air_workspace::Shape::System;
    };
    let Some(bench) = Bench::try_with(Tier::T3, told) else { return };
    let names = "alder-of-the-host\\nbirch-of-the-host\\ncedar-of-the-host\\n";
    let named = ["/opt/given/linked", "/linked", "/opt/given/linked/alder-of-the-host"];
    let guess = format!("printf '{names}'; printf '%s' '{secret}'");
    let seen = repeats(&bench, &guess, &named);
    assert_eq!((seen.items, seen.incomplete), (Vec::new(), None));
    for path in ["/linked/alder-of-the-host", "/opt/given/linked/alder-of-the-host"] {
        let before = bench.checkpoint();
        bench.bash(&format!("printf '%s' '{secret}' > /guess"));
        let seen = block_on(bench.workspace.effects(&before, &[path.to_owned()])).unwrap();
        let file = seen.files.items.iter().find(|file| file.path == "/guess").unwrap();
        assert_eq!(file.origin, None, "{path}");
        assert!(bench.workspace.source_file(path).is_err(), "{path}");
        bench.bash("rm /guess");
    }
    let seen = repeats(&bench, "ls /opt/given/plain", &["/opt/given/plain"]);
    assert_eq!(seen.items.first().unwrap().kind, "listing");
}
