//! What AIR costs a host that asks it: whole processes, the release build, a daemon of its own.
//!
//!     cargo bench -p air-cli --bench hooks [-- PART ...]
//!
//! Parts: `cold` (the shim, beside `/bin/true` and `dcg`, in turns), `asking` (the daemon over its socket),
//! `memory`, `checkpoint` (beside a host, 10,000 files). `AIR_BENCH_AIRCTL` and
//! `AIR_BENCH_HOOK` are other binaries, `AIR_BENCH_DCG` names `dcg`, `AIR_BENCH_ROUNDS` is the number of rounds, `AIR_BENCH_FILES` that of files.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a benchmark ends at the first error"
)]

mod asking;
mod checkpoint;
mod cold;
mod memory;
mod stage;

use std::{
    env,
    io::Write as _,
    time::{Duration, Instant},
};

fn main() {
    let wanted: Vec<String> = env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let parts: [(&str, fn()); 4] = [
        ("cold", cold::run),
        ("asking", asking::run),
        ("checkpoint", checkpoint::run),
        ("memory", memory::run),
    ];
    for (name, run) in parts {
        if wanted.is_empty() || wanted.iter().any(|it| it == name) {
            run();
        }
    }
}

fn say(line: &str) {
    let told = writeln!(std::io::stdout(), "{line}");
    told.unwrap();
}

fn setting(name: &str, default: usize) -> usize {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// What one thing took, many times.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        self.0.push(begun.elapsed());
        done
    }

    /// The share `part` of 1,000 took no longer.
    fn at(&mut self, part: usize) -> Duration {
        self.0.sort_unstable();
        let last = self.0.len().saturating_sub(1);
        self.0.get(last * part / 1000).copied().unwrap_or_default()
    }

    fn tell(mut self, name: &str) -> Duration {
        let [least, median, late, last] =
            [0, 500, 990, 1000].map(|part| self.at(part).as_secs_f64() * 1000.0);
        let count = self.0.len();
        say(&format!("{name:<52}{least:>9.2}{median:>9.2}{late:>9.2}{last:>9.2}{count:>8}"));
        self.at(500)
    }
}

fn head(what: &str) {
    let uptime = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = uptime.split_whitespace().next().unwrap_or_default();
    say(&format!("\n{what} (ms; load {load})"));
    say(&format!("{:<52}{:>9}{:>9}{:>9}{:>9}{:>8}", "", "least", "median", "p99", "most", "count"));
}
