//! What it costs to look at a megabyte, with a hundred sources to look for.
#![expect(clippy::unwrap_used, reason = "a benchmark ends at the first error")]

use std::fmt::Write;

use air_origin::{Limits, Sources};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn roll(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value ^ (value >> 29)
}

/// The `n`th letter of a word.
fn letter(word: u64, n: u64) -> char {
    let mut state = word * 8 + n;
    char::from(b'a' + u8::try_from(roll(&mut state) % 26).unwrap())
}

/// Lines of words, numbers and marks, as in a log.
fn text(seed: u64, length: usize) -> Vec<u8> {
    let (mut state, mut text) = (seed, String::new());
    while text.len() < length {
        let number = roll(&mut state);
        // One of some thousand words, so that different texts share few phrases.
        let word: String = (0..5 + number % 4).map(|n| letter(number % 4096, n)).collect();
        let end = if number.is_multiple_of(11) { "\n" } else { " " };
        match number >> 60 {
            0 => write!(text, "{}={}{end}", word, number % 100_000).unwrap(),
            1 => write!(text, "\"{word}\",{end}").unwrap(),
            _ => write!(text, "{word}{end}").unwrap(),
        }
    }
    text.into_bytes()
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    (0..length).map(|_| roll(&mut state).to_le_bytes()[2]).collect()
}

fn trace(c: &mut Criterion) {
    let mut sources = Sources::default();
    for number in 0..100u64 {
        let mut content = noise(number, 2000);
        content.extend(text(number + 1000, usize::try_from(number).unwrap() * 500 + 500));
        sources.add(&format!("source {number}"), &mut content.as_slice()).unwrap();
    }
    let mut group = c.benchmark_group("a megabyte");
    group.throughput(Throughput::Bytes(1 << 20)).sample_size(10);
    for (name, content) in [("text", text(1, 1 << 20)), ("noise", noise(1 << 40, 1 << 20))] {
        group.bench_function(name, |b| {
            b.iter(|| sources.trace(&mut content.as_slice(), &Limits::default()));
        });
    }
    group.finish();
    let large = noise(7, 8 << 20);
    c.bench_function("adding 8 MiB", |b| {
        b.iter(|| Sources::default().add("large", &mut large.as_slice()));
    });
}

criterion_group!(benches, trace);
criterion_main!(benches);
