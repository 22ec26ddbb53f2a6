//! The files that a patch names.

/// In order, each once. Headers of `apply_patch`; where there are none, those of a unified diff.
pub(crate) fn paths(patch: &str) -> Vec<String> {
    const HEADERS: [&str; 4] =
        ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let headers = |line: &str| {
        let line = line.trim_end();
        HEADERS.iter().find_map(|header| line.trim_start().strip_prefix(header)).map(str::to_owned)
    };
    let mut found = distinct(patch.lines().filter_map(headers));
    if found.is_empty() {
        found = distinct(patch.lines().filter_map(of_diff));
    }
    found
}

fn of_diff(line: &str) -> Option<String> {
    let name = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ "))?;
    let name = name.split('\t').next().unwrap_or(name).trim_end();
    let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    (name != "/dev/null" && !name.is_empty()).then(|| name.to_owned())
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn files_of_patches() {
        let patch = "*** Begin Patch\n*** Add File: a b.txt\n+--- x\n*** Update File: c\r\n\
                     *** Move to: d\n@@\n-1\n+2\n*** Delete File: e\n*** Update File: c\n*** End Patch";
        assert_eq!(paths(patch), ["a b.txt", "c", "d", "e"]);
        let diff = "diff --git a/x b/y\n--- a/x\t2026\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/z\n";
        assert_eq!(paths(diff), ["x", "y", "z"]);
        assert!(paths("nothing of the kind").is_empty());
    }
}
