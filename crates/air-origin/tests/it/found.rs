//! What is to be found is found.

use air_origin::{Sources, Transform};

use crate::{
    changed::{self, BYTES, Change, PARTS, TEXTS},
    made::{self, Dice, Named, trace},
};

/// What of `changes` is not found.
fn missed(sources: &Sources, (name, content): &Named, changes: &[Change]) -> Vec<String> {
    let noise = Dice(3).bytes(777);
    let mut missed = Vec::new();
    for (what, change) in changes {
        let changed = change(content);
        let embedded = [&noise[..], b"\n", &changed, b"\n", &noise].concat();
        for (where_, content) in [("alone", changed), ("inside", embedded)] {
            let traced = trace(sources, &content);
            let first = traced.matches.first().map(|found| found.name.as_str());
            // Nothing marks raw deflate.
            let hidden = *what == "deflate" && where_ == "inside";
            if first != Some(*name) && !hidden {
                missed.push(format!("{name}: {what}, {where_}: {traced:?}"));
            }
        }
    }
    missed
}

/// What is tried on large contents.
const LARGE: &[&str] = &["plain", "base64", "hex", "xxd", "zstd", "tar.gz", "reversed", "xor"];

fn some(kinds: &[&str]) -> Vec<Change> {
    BYTES.iter().filter(|(what, _)| kinds.contains(what)).copied().collect()
}

fn assert_none(missed: &[String]) {
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn whole_sources_are_found_in_every_form() {
    let texts = made::texts();
    let sources = made::sources(&texts);
    let missed: Vec<_> = texts
        .iter()
        .filter(|(_, content)| content.len() < 100_000)
        .flat_map(|source| {
            [missed(&sources, source, BYTES), missed(&sources, source, TEXTS)].concat()
        })
        .collect();
    assert_none(&missed);
}

#[test]
fn a_table_is_found_in_every_form() {
    let source = ("customers.csv", made::csv(5, 200_000));
    let sources = made::sources(std::slice::from_ref(&source));
    let texts = missed(&sources, &source, TEXTS);
    assert_none(&[missed(&sources, &source, &some(LARGE)), texts].concat());
}

#[test]
fn a_large_binary_is_found_in_every_form() {
    let source = ("model.bin", made::binary());
    let sources = made::sources(std::slice::from_ref(&source));
    let parts = missed(&sources, &source, PARTS);
    assert_none(&[missed(&sources, &source, &some(LARGE)), parts].concat());
}

#[test]
fn parts_are_found() {
    let texts = made::texts();
    let sources = made::sources(&texts);
    let long = texts.iter().filter(|(_, content)| content.len() > 1000);
    assert_none(&long.flat_map(|source| missed(&sources, source, PARTS)).collect::<Vec<_>>());
}

#[test]
fn one_line_is_found_in_every_form() {
    let texts = made::texts();
    let sources = made::sources(&texts);
    for (name, content) in
        texts.into_iter().filter(|(name, _)| ["/etc/passwd", ".env"].contains(name))
    {
        for line in changed::lines(&content).into_iter().filter(|line| line.len() >= 30) {
            assert_none(&missed(&sources, &(name, line.to_vec()), BYTES));
        }
    }
    let first = changed::lines(&made::env())[0].to_vec();
    let value = first.strip_prefix(b"API_KEY=").unwrap().to_vec();
    assert_none(&missed(&sources, &(".env", value), BYTES));
}

#[test]
fn a_match_says_how_and_how_much() {
    use Transform::{Base64, Case, Gzip, Reversed, Rot13, Tar, Xor, Zip};
    let texts = made::texts();
    let sources = made::sources(&texts);
    let passwd = made::passwd();
    let b64 = changed::base64;
    #[rustfmt::skip]
    let table: &[(Vec<u8>, &[Transform], bool)] = &[
        (passwd.clone(),                                     &[],                 true),
        (passwd[..passwd.len() / 2].to_vec(),                &[],                 false),
        (b64(&passwd),                                       &[Base64],           true),
        (b64(&b64(&passwd)),                                 &[Base64, Base64],   true),
        (changed::gzip(&changed::tar(&passwd)),              &[Gzip, Tar],        true),
        (changed::tar(&changed::gzip(&passwd)),              &[Tar, Gzip],        true),
        (changed::stored(&passwd),                           &[Zip],              true),
        (changed::deflated(&passwd),                         &[Zip],              true),
        (changed::reversed(&passwd),                         &[Reversed],         true),
        (b64(&changed::reversed(&passwd)),                   &[Base64, Reversed], true),
        (changed::reversed(&b64(&passwd)),                   &[Reversed, Base64], true),
        (passwd.to_ascii_uppercase(),                        &[Case],             true),
        (changed::rot13(&passwd),                            &[Rot13],            true),
        (changed::xor(&passwd),                              &[Xor(0x5a)],        true),
    ];
    for (content, how, whole) in table {
        let traced = trace(&sources, content);
        assert_eq!(traced.matches.len(), 1, "{how:?}: {traced:?}");
        assert_eq!(traced.matches[0].name, "/etc/passwd");
        assert_eq!(
            (&*traced.matches[0].how, traced.matches[0].whole),
            (*how, *whole),
            "{traced:?}"
        );
        assert_eq!(traced.incomplete, None, "{how:?}");
    }
    let shared = trace(&sources, &passwd).matches[0].shared_bytes;
    let expected = passwd.iter().filter(|byte| !byte.is_ascii_whitespace()).count();
    assert_eq!(shared, expected as u64);
}

#[test]
fn base32_right_behind_a_word_is_found() {
    let sources = made::sources(&[("key", made::key())]);
    let text = data_encoding::BASE32.encode(&made::key());
    for (word, text) in [("here", text.clone()), ("HERE", text.to_lowercase())] {
        let traced = trace(&sources, &[word.as_bytes(), text.as_bytes()].concat());
        assert_eq!(traced.matches.len(), 1, "{traced:?}");
    }
}

#[test]
fn several_sources_in_one_content_are_all_found() {
    let texts = made::texts();
    let sources = made::sources(&texts);
    let content: Vec<u8> = texts.iter().flat_map(|(_, content)| content.clone()).collect();
    let traced = trace(&sources, &changed::gzip(&content));
    assert_eq!(traced.matches.len(), texts.len(), "{traced:?}");
    assert!(traced.matches.iter().all(|found| found.whole), "{traced:?}");
}

#[test]
fn what_is_copied_further_is_found_under_the_first_name() {
    let mut sources = made::sources(&[(".env", made::env())]);
    // Encrypted, so that nothing would be found in it; but its origin was seen to be `.env`.
    let intermediate = Dice(99).bytes(300);
    sources.add(".env", &mut &*intermediate).unwrap();
    for content in [changed::base64(&intermediate), made::env()] {
        assert_eq!(trace(&sources, &content).matches[0].name, ".env");
    }
    assert_eq!(sources.len(), 2);
}

#[test]
fn what_was_removed_is_not_found() {
    let mut sources = made::sources(&made::texts());
    let all = sources.len();
    sources.add("token", &mut &*made::token()).unwrap();
    assert_eq!(sources.len(), all, "it is there already");
    sources.remove("token");
    sources.remove("no such name");
    assert_eq!(sources.len(), all - 1);
    assert!(trace(&sources, &made::token()).matches.is_empty());
    assert_eq!(trace(&sources, &made::key()).matches[0].name, ".ssh/id_ed25519");
    assert!(!format!("{sources:?}").contains("root:x"));
    let empty = Sources::default();
    assert!(empty.is_empty() && trace(&empty, &made::key()).matches.is_empty());
}

#[test]
fn a_small_content_is_found_whole_and_a_trivial_one_is_not() {
    #[rustfmt::skip]
    let table = [
        ("uid 1207 gid 3481\n", true),
        ("ENABLED=yes please", true),
        ("5f2c9e1a7b3d4f60", true),
        ("Europe/Berlin-k3v9x2", true),
        ("db01.corp.example", true),
        ("password=s3cr3t", true),
        ("0\n", false),
        ("true", false),
        ("12.4", false),
        ("enabled\n", false),
        ("----------------\n", false),
        ("aaaaaaaaaaaaaaaaaaaaaa", false),
        ("0000 0000 0000 0000", false),
    ];
    for (text, is_found) in table {
        let mut sources = Sources::default();
        sources.add("small", &mut text.as_bytes()).unwrap();
        for offset in 0..24 {
            let content = format!("{}it says:\n{text}\nand no more", "x".repeat(offset));
            let traced = trace(&sources, content.as_bytes());
            assert_eq!(traced.matches.iter().any(|found| found.whole), is_found, "{content:?}");
        }
        let without = "it says: uid gid, ENABLED, web frontend, password, Europe, 5f2c, db01";
        assert_eq!(trace(&sources, without.as_bytes()).matches, [], "{text:?}");
    }
}
