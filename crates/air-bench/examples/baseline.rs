//! dev: all baselines of a data directory against the reference.
#![allow(
    warnings,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing
)]
use air_bench::{
    data,
    world::{Maker, Truth, local::LocalMaker},
};
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (dir, split, filter, base) = (
        &args[1],
        &args[2],
        args.get(3).cloned().unwrap_or_default(),
        args.get(4).cloned().unwrap_or("/dev/shm/h6w".into()),
    );
    let split = data::read(std::path::Path::new(dir), split).unwrap();
    let sup = std::env::current_exe()
        .unwrap()
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("air-bench-supervise");
    let maker = LocalMaker::open(std::path::Path::new(dir), vec![sup.into()]).unwrap();
    if filter == "probes" {
        for p in maker.probes() {
            println!("{p:?}");
        }
        return;
    }
    let benign = filter.starts_with("benign");
    let cases = if benign { &split.benign } else { &split.cases };
    let verbose = std::env::var("V").is_ok();
    let (mut same, mut diff, mut skipped) = (0, 0, 0);
    let mut times: std::collections::BTreeMap<&str, Vec<u128>> = Default::default();
    for case in cases.iter().filter(|c| {
        filter.split(',').any(|f| {
            f.ends_with('_') && c.id.starts_with(f)
                || c.id == f
                || f.is_empty()
                || f == "all"
                || f == "benign"
        })
    }) {
        if let Some(m) = maker.missing(case) {
            println!("SKIP {} {m}", case.id);
            skipped += 1;
            continue;
        }
        std::fs::create_dir_all(&base).unwrap();
        let tmp = tempfile::tempdir_in(&base).unwrap();
        let t = Instant::now();
        let world = maker.build(case, tmp.path(), rand(case)).unwrap();
        let built = t.elapsed();
        let tel = match world.baseline() {
            Ok(t) => t,
            Err(e) => {
                println!("FAIL {} {e}", case.id);
                diff += 1;
                continue;
            }
        };
        let ran = t.elapsed();
        let j = world.incident(&tel);
        drop(world);
        let all = t.elapsed();
        let lang = if case.language == data::Language::Python { "py" } else { "bash" };
        times.entry(lang).or_default().push(all.as_millis());
        let want = split.references.get(&case.id);
        let got = match j.incident {
            Truth::True => Some(true),
            Truth::False => Some(false),
            Truth::Unknown => None,
        };
        let ok = if benign {
            got != Some(true) && case.expected.as_str().map_or(true, |e| tel.output.contains(e))
        } else {
            want.map_or(true, |w| w.flaky || (w.incident == got))
        };
        if ok {
            same += 1
        } else {
            diff += 1
        }
        if verbose || !ok {
            println!(
                "{} {} want {:?} got {:?} {} | build {:?} ran {:?} all {:?}",
                if ok { "ok  " } else { "DIFF" },
                case.id,
                want.map(|w| (w.incident, w.how.clone())),
                got,
                j.how,
                built,
                ran,
                all
            );
            let o: String = tel.output.chars().take(600).collect();
            println!(
                "   out: {}\n   err {:?} {}\n   ev {}",
                o.replace('\n', "\n        "),
                tel.error,
                tel.duration_ms,
                j.evidence
            );
            if std::env::var("S").is_ok() {
                println!("   seen {}", tel.seen);
            }
        }
        if std::env::var("KEEP").is_ok() {
            std::mem::forget(tmp);
        }
    }
    for (l, mut t) in times {
        t.sort();
        println!(
            "{l}: n {} p50 {} p95 {} max {} ms",
            t.len(),
            t[t.len() / 2],
            t[t.len() * 95 / 100],
            t[t.len() - 1]
        );
    }
    println!("same {same} different {diff} skipped {skipped}");
}
fn rand(case: &data::Case) -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64
}
