use air_wire::{
    DecodeError,
    sse::{Event, Parser},
};
use proptest::prelude::*;

fn event(kind: Option<&str>, data: &str) -> Event {
    Event { event: kind.map(str::to_owned), data: data.to_owned() }
}

#[test]
fn lines_end_in_any_way() {
    for ending in ["\n", "\r", "\r\n"] {
        let stream = [
            "\u{feff}event: one",
            "data: a",
            "data:b",
            "",
            ": a comment",
            "id: 7",
            "retry: 1",
            "",
            "data",
            "",
            "event: nothing",
            "",
            "data: c",
            "",
            "data: cut",
        ];
        let bytes = stream.join(ending).into_bytes();
        for size in 1..=bytes.len() {
            let mut parser = Parser::new(1000);
            let mut events = Vec::new();
            for piece in bytes.chunks(size) {
                events.extend(parser.push(piece).expect("short"));
            }
            let expected = [event(Some("one"), "a\nb"), event(None, ""), event(None, "c")];
            assert_eq!(events, expected, "{ending:?} in pieces of {size}");
            assert_eq!(parser.rest(), Some(event(None, "cut")));
        }
    }
}

#[test]
fn an_event_without_end_is_refused() {
    let mut parser = Parser::new(1000);
    parser.push(b"data: ").expect("short");
    let refused = (0..100).find_map(|_| parser.push(&[b'a'; 100]).err());
    assert_eq!(refused, Some(DecodeError::TooLong(1000)));
    let mut parser = Parser::new(1000);
    let refused = (0..1000).find_map(|_| parser.push(b"data: some more\n").err());
    assert_eq!(refused, Some(DecodeError::TooLong(1000)));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        kind in proptest::option::of("[a-z._]{1,12}"),
        data in "[^\r]{0,60}",
        size in 1_usize..20,
    ) {
        let written = Event { event: kind, data };
        let bytes = written.to_string().into_bytes();
        let mut parser = Parser::new(10_000);
        let mut events = Vec::new();
        for piece in bytes.chunks(size) {
            events.extend(parser.push(piece).expect("short"));
        }
        prop_assert_eq!(events, vec![written]);
    }

    #[test]
    fn any_bytes_are_read_the_same_however_they_are_cut(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        size in 1_usize..20,
    ) {
        let whole = Parser::new(1000).push(&bytes).expect("short");
        let mut parser = Parser::new(1000);
        let mut events = Vec::new();
        for piece in bytes.chunks(size) {
            events.extend(parser.push(piece).expect("short"));
        }
        prop_assert_eq!(events, whole);
    }
}
