//! What holds for any content.

use proptest::prelude::*;

use crate::{
    changed::{self, Change},
    made::{self, trace},
};

/// What can be done to any bytes, before or after any of the others.
fn changes() -> impl Strategy<Value = Change> {
    let kinds = [
        "plain",
        "base64",
        "base64 for URLs without padding",
        "base64 in lines of 76",
        "base32",
        "hex",
        "hex with colons",
        "xxd",
        "hexdump -C",
        "decimal",
        "repr",
        "percent",
        "gzip",
        "zlib",
        "bzip2",
        "xz",
        "zstd",
        "zip, deflated",
        "tar",
        "reversed",
    ];
    let list: Vec<Change> =
        changed::BYTES.iter().filter(|(what, _)| kinds.contains(what)).copied().collect();
    prop::sample::select(list)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_source_is_found_after_any_two_changes(
        content in prop::collection::vec(any::<u8>(), 64..400),
        (first, second) in (changes(), changes()),
        before in prop::collection::vec(any::<u8>(), 0..300),
        after in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let sources = made::sources(&[("source", content.clone())]);
        let changed = second.1(&first.1(&content));
        let embedded = [&before[..], b"\n", &changed, b"\n", &after].concat();
        let traced = trace(&sources, &embedded);
        prop_assert_eq!(traced.matches.len(), 1, "{} and {}: {:?}", first.0, second.0, traced);
    }

    #[test]
    fn unrelated_bytes_are_never_found(
        content in prop::collection::vec(any::<u8>(), 0..500),
        other in prop::collection::vec(any::<u8>(), 0..2000),
        change in changes(),
    ) {
        let sources = made::sources(&[("source", content)]);
        prop_assert!(trace(&sources, &change.1(&other)).matches.is_empty());
    }
}
