//! What it takes to tell what Python source does: an argument of ten lines, and each further line.

use std::hint::black_box;

use air_core::port::Alone;
use criterion::{Criterion, criterion_group, criterion_main};

const TEN: &str = r#"import json
import os
from pathlib import Path
root = Path("/srv/app")
names = [name for name in os.listdir(root) if name.endswith(".json")]
total = 0
for name in names:
    with open(root / name) as f:
        total += len(json.load(f)["items"])
print(f"{len(names)} files, {total} items")
"#;

fn python(c: &mut Criterion) {
    let hundred = TEN.repeat(10);
    c.bench_function("python, 10 lines", |b| {
        b.iter(|| air_facts::python::read(black_box(TEN), &Alone));
    });
    c.bench_function("python, 100 lines", |b| {
        b.iter(|| air_facts::python::read(black_box(&hundred), &Alone));
    });
}

criterion_group!(benches, python);
criterion_main!(benches);
