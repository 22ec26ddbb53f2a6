//! What a model's provider, or its client, may send: read in all dialects, whole and as a stream, which is
//! the same however it is cut.
#![no_main]

use air_wire::{
    Answer, DecodeError, Dialect, StreamDecoder, decode_answer, decode_error, decode_request,
    encode_request, json_of,
};
use libfuzzer_sys::fuzz_target;

fn streamed(dialect: Dialect, bytes: &[u8], size: usize) -> Result<Answer, DecodeError> {
    let mut decoder = StreamDecoder::new(dialect);
    for piece in bytes.chunks(size) {
        decoder.push(piece)?;
    }
    decoder.finish()
}

fuzz_target!(|bytes: &[u8]| {
    for dialect in Dialect::ALL {
        let _ = decode_answer(dialect, bytes);
        decode_error(dialect, 500, bytes);
        let whole = streamed(dialect, bytes, usize::MAX);
        assert_eq!(streamed(dialect, bytes, 3), whole);
        let Ok(body) = serde_json::from_slice(bytes) else { continue };
        if let Ok(request) = decode_request(dialect, "/v1beta/models/m:generateContent", &body) {
            encode_request(dialect, &request);
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = json_of(text);
    }
});
