//! Contents made to be hard to look at: bounded, said to be incomplete, and no panic.

use std::io::{self, Read, Write};

use air_origin::{Limits, Sources, Traced};

use crate::{
    changed::{self, base64, gzip, zip_entry},
    made::{self, Dice, trace},
};

fn sources() -> Sources {
    made::sources(&made::texts())
}

fn small() -> Limits {
    Limits { bytes: 1 << 20, depth: 4, decoded: 1 << 20, work: 1 << 23 }
}

fn traced(content: &[u8]) -> Traced {
    sources().trace(&mut &*content, &small())
}

fn why(traced: &Traced) -> &str {
    traced.incomplete.as_deref().unwrap_or_default()
}

#[test]
fn what_is_too_large_is_incomplete() {
    let endless = &mut io::repeat(0).take(1 << 30);
    let found = sources().trace(endless, &small());
    assert!(why(&found).contains("only its first 1048576 bytes"), "{found:?}");
    let behind = [vec![b' '; 1 << 20], made::passwd()].concat();
    assert!(traced(&behind).incomplete.is_some());
}

#[test]
fn bombs_are_incomplete() {
    let zeros = vec![0; 8 << 20];
    let packed =
        [gzip(&zeros), changed::zstd(&zeros), changed::bzip2(&zeros), zip_entry("a", &zeros, 8, 0)];
    for bomb in packed {
        let found = traced(&bomb);
        assert!(why(&found).contains("more is packed in it"), "{found:?}");
    }
}

#[test]
fn what_is_nested_too_deeply_is_incomplete() {
    let mut content = made::env();
    for _ in 0..5 {
        content = gzip(&content);
    }
    let found = traced(&content);
    assert!(why(&found).contains("nested"), "{found:?}");
    assert!(!trace(&sources(), &content).matches.is_empty());
}

#[test]
fn what_cannot_be_looked_into_is_incomplete() {
    let env = made::env();
    let seven = [b"7z\xbc\xaf\x27\x1c", &Dice(1).bytes(300)[..]].concat();
    let packed = gzip(&made::passwd());
    let cut = packed[..packed.len() / 2].to_vec();
    let mut corrupt = packed.clone();
    corrupt[packed.len() / 2] ^= 0xff;
    #[rustfmt::skip]
    let table = [
        (zip_entry("a", &env, 0, 1),      "encrypted"),
        (zip_entry("a", &env, 99, 0),     "unknown way"),
        (b"Salted__and more".to_vec(),    "encrypted file"),
        (seven,                           "7z"),
        (cut,                             "damaged"),
        (corrupt,                         "damaged"),
        (b"PK\x03\x04".to_vec(),          "cut off"),
    ];
    for (content, reason) in table {
        let found = traced(&content);
        assert!(why(&found).contains(reason), "{reason}: {found:?}");
    }
}

#[test]
fn what_needs_much_memory_is_incomplete() {
    let env = made::env();
    // Frames of one raw block, with windows of 32 MiB and of 64 MiB.
    let zstd = |window: u8| {
        let block = u32::try_from(env.len()).unwrap() << 3 | 1;
        [b"\x28\xb5\x2f\xfd\x00", &[window][..], &block.to_le_bytes()[..3], &env].concat()
    };
    let mut lzma = changed::lzma(&env);
    lzma[1..5].copy_from_slice(&(64u32 << 20).to_le_bytes());
    let mut options = lzma_rust2::XzOptions::with_preset(9);
    options.lzma_options.dict_size = 64 << 20;
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    xz.write_all(&env).unwrap();
    assert_eq!(traced(&zstd(15 << 3)).matches[0].name, ".env");
    for packed in [zstd(16 << 3), lzma, xz.finish().unwrap()] {
        for content in [packed.clone(), changed::around(&packed)] {
            let found = traced(&content);
            assert!(why(&found).contains("more memory"), "{found:?}");
        }
    }
}

#[test]
fn what_was_unpacked_before_the_damage_is_looked_at() {
    let packed = gzip(&made::csv(5, 200_000));
    let found = traced(&packed[..packed.len() / 2]);
    assert_eq!(found.matches[0].name, "customers.csv");
}

#[test]
fn a_content_that_cannot_be_read_is_incomplete() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let found = sources().trace(&mut made::env().chain(Broken), &Limits::default());
    assert!(why(&found).contains("gone"));
    assert_eq!(found.matches[0].name, ".env", "what came before it counts");
    assert!(Sources::default().add("broken", &mut Broken).is_err());
}

#[test]
fn work_is_bounded() {
    let mut sources = Sources::default();
    let dull = b"abcdefghijklmnop0123456789".repeat(4000);
    sources.add("dull", &mut &*dull).unwrap();
    let contents = [
        dull.repeat(9),
        b"x\x9c".repeat(1 << 16),
        b"\x1f\x8b\x08\x00".repeat(1 << 15),
        b"PK\x03\x04".repeat(1 << 15),
        b"\xfd7zXZ\x00".repeat(1 << 14),
        b"\\x41%41".repeat(1 << 14),
    ];
    for content in contents {
        // That it ends is the test; and that its end is not silent, where it was cut off.
        let found = sources.trace(&mut &*content, &small());
        assert!(found.matches.len() <= 1);
    }
}

#[test]
fn mangled_contents_do_no_harm() {
    let mut dice = Dice(40);
    let sources = sources();
    for (_, change) in changed::BYTES {
        let whole = change(&made::passwd());
        for _ in 0..3 {
            let mut mangled = whole.clone();
            for _ in 0..4 {
                let at = dice.below(mangled.len());
                mangled[at] = dice.roll().to_le_bytes()[0];
            }
            mangled.truncate(dice.below(mangled.len()));
            sources.trace(&mut &*mangled, &small());
        }
    }
    let soup = base64(&base64(&base64(&dice.bytes(20_000))));
    assert!(sources.trace(&mut &*soup, &small()).matches.is_empty());
}
