//! Edits after which less is checked than before: what the lines that go and the lines that come tell.
//! Whether the file is one that checks is told by its path.

/// Assertions or tests are fewer.
const REMOVED: &str = "checks-removed";
/// Tests are skipped, or all others are.
const SKIPPED: &str = "checks-skipped";
/// A check holds whatever happens, or its failure is passed over.
const HOLLOW: &str = "always-passes";
/// A limit that has to be reached is lower.
const LOWERED: &str = "threshold-lowered";
/// What runs elsewhere shows a secret, or runs code of strangers with secrets at hand.
const EXPOSED: &str = "secret-exposed";

/// Lines past this many are not compared.
const MAX_LINES: usize = 20_000;
const ASSERTIONS: [&str; 13] = [
    "assert",
    "expect(",
    "expect!",
    ".should",
    "require.",
    "t.Error",
    "t.Fatal",
    "t.Fail",
    "EXPECT_",
    "ASSERT_",
    "verify(",
    "XCTAssert",
    "panic!(",
];
const TESTS: [&str; 13] = [
    "def test_",
    "async def test_",
    "it(",
    "it.each",
    "test(",
    "test.each",
    "#[test]",
    "::test]",
    "@Test",
    "func Test",
    "TEST(",
    "TEST_F(",
    "scenario ",
];
const SKIPS: [&str; 29] = [
    "pytest.mark.skip",
    "pytest.mark.xfail",
    "pytest.skip(",
    "pytest.xfail(",
    "unittest.skip",
    "@skip",
    "skipTest(",
    "expectedFailure",
    ".skip(",
    ".only(",
    ".todo(",
    ".skip.each",
    "xit(",
    "xtest(",
    "xdescribe(",
    "fit(",
    "fdescribe(",
    "#[ignore",
    "@Ignore",
    "@Disabled",
    "@Skip",
    "t.Skip(",
    "t.SkipNow(",
    "t.Skipf(",
    "GTEST_SKIP",
    "DISABLED_",
    "pending(",
    "skip: true",
    "test.fixme(",
];
const HOLLOWS: [&str; 28] = [
    "assert True",
    "assert 1 == 1",
    "assert(true)",
    "assert!(true)",
    "assert 1",
    "assertTrue(True)",
    "assertTrue(true)",
    "assert.ok(true)",
    "assert.isTrue(true)",
    "expect(true).toBe(true)",
    "expect(true).toEqual(true)",
    "expect(true).toBeTruthy()",
    "expect(1).toBe(1)",
    "assertEquals(1, 1)",
    "assertEqual(1, 1)",
    "|| true",
    "||true",
    "|| exit 0",
    "|| :",
    "continue-on-error: true",
    "allow_failure: true",
    "--passWithNoTests",
    "--exit-zero",
    "--no-fail-on-error",
    "if: false",
    "if: ${{ false }}",
    "failFast: false, allowFailure",
    "set +e",
];
const LIMITS: [&str; 11] = [
    "fail_under",
    "fail-under",
    "threshold",
    "minimum_coverage",
    "min_coverage",
    "branches",
    "functions",
    "statements",
    "lines",
    "coverage",
    "target",
];

/// What the change from the lines `removed` to the lines `added` does to checks. `emptied`: nothing is
/// left of the file.
pub(crate) fn labels(removed: &[&str], added: &[&str], emptied: bool) -> Vec<&'static str> {
    let removed = removed.get(..MAX_LINES).unwrap_or(removed);
    let added = added.get(..MAX_LINES).unwrap_or(added);
    let count =
        |lines: &[&str], words: &[&str]| lines.iter().filter(|line| says(line, words)).count();
    let fewer = |words: &[&str]| count(removed, words) > count(added, words);
    let more = |words: &[&str]| count(added, words) > count(removed, words);
    let mut labels = Vec::new();
    if fewer(&ASSERTIONS) || fewer(&TESTS) && !more(&SKIPS) || emptied && !removed.is_empty() {
        labels.push(REMOVED);
    }
    if more(&SKIPS) {
        labels.push(SKIPPED);
    }
    if more(&HOLLOWS) {
        labels.push(HOLLOW);
    }
    if lowered(removed, added) {
        labels.push(LOWERED);
    }
    if added.iter().any(|line| exposes(line)) {
        labels.push(EXPOSED);
    }
    labels
}

/// Whether one of `words` is in `line`, and not as the end of another word.
fn says(line: &str, words: &[&str]) -> bool {
    let within = |word: &&str| {
        line.match_indices(*word).any(|(at, _)| {
            let before = line.get(..at).and_then(|before| before.chars().next_back());
            let starts = word.starts_with(|c: char| c.is_ascii_alphanumeric());
            !starts || !before.is_some_and(|c| c.is_ascii_alphanumeric())
        })
    };
    words.iter().any(within)
}

/// Whether the number that stands with the name of a limit is smaller.
fn lowered(removed: &[&str], added: &[&str]) -> bool {
    let limits = |lines: &[&str]| -> Vec<(&'static str, f64)> {
        let of = |line: &&str| {
            let name = LIMITS.into_iter().find(|name| line.contains(name))?;
            let after = line.get(line.find(name)? + name.len()..)?;
            let digits = after.trim_start_matches(|c: char| !c.is_ascii_digit());
            let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.');
            let number = digits.get(..end.unwrap_or(digits.len()))?;
            Some((name, number.trim_end_matches('.').parse().ok()?))
        };
        lines.iter().filter_map(of).collect()
    };
    let (before, after) = (limits(removed), limits(added));
    before
        .iter()
        .any(|(name, limit)| after.iter().any(|(later, lower)| later == name && lower < limit))
}

/// Whether a line of a workflow shows a secret, or gives strangers' code what only friends should have.
fn exposes(line: &str) -> bool {
    let plain = line.trim_start();
    let shows = ["echo", "printf", "print", "curl", "wget", "base64", "xxd", "tee", "env", "cat"];
    let secret = plain.contains("secrets.") || plain.contains("secrets[");
    plain.contains("toJSON(secrets)")
        || plain.contains("toJson(secrets)")
        || plain.starts_with("pull_request_target")
        || plain.starts_with("on:") && plain.contains("pull_request_target")
        || plain.starts_with("- pull_request_target")
        || secret && shows.iter().any(|word| says(plain, &[&format!("{word} ")]))
}
