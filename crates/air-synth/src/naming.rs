//! Whether an argument names a file, by its text alone.

/// Where relative paths start, as the agent sees it.
const WORKSPACE: &str = "/workspace";
/// What `~` stands for, as the agent sees it.
const HOME: &str = "/home/agent";

/// How an argument names a path. Ordered, closest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Naming {
    /// It is the path, or how the path ends: where the call stood is not known.
    Itself,
    /// It is a directory above.
    Above,
}

/// How `argument` names `path`, which is absolute, if it does.
pub(crate) fn names(argument: &str, path: &str) -> Option<Naming> {
    // `of=/dev/sda`, `--data=@/etc/passwd`, `host:/srv`.
    let value = argument.rfind(['=', '@', ':']).and_then(|at| argument.get(at + 1..));
    [Some(argument), value].into_iter().flatten().filter_map(|text| text_names(text, path)).min()
}

/// `path` as an absolute one.
pub(crate) fn absolute(path: &str) -> String {
    let whole = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{HOME}{rest}"),
        _ if path.starts_with('/') => path.to_owned(),
        _ => format!("{WORKSPACE}/{path}"),
    };
    format!("/{}", parts(&whole).join("/"))
}

fn text_names(text: &str, path: &str) -> Option<Naming> {
    if text.is_empty() {
        return None;
    }
    let of_path = parts(path);
    let whole = absolute(text);
    let whole = parts(&whole);
    if whole == of_path {
        return Some(Naming::Itself);
    }
    let open = !text.starts_with('/');
    let end = parts(text.strip_prefix("~/").unwrap_or(text));
    if open && !end.is_empty() && of_path.ends_with(&end) {
        return Some(Naming::Itself);
    }
    of_path.starts_with(&whole).then_some(Naming::Above)
}

/// The parts of a path without `.`, `..` and `//`.
fn parts(path: &str) -> Vec<&str> {
    path.split('/').fold(Vec::new(), |mut parts, part| {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
        parts
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_paths_lexically() {
        use Naming::{Above, Itself};
        #[rustfmt::skip]
        let table = [
            ("/etc/passwd",          "/etc/passwd",           Some(Itself)),
            ("/etc/../etc//passwd",  "/etc/passwd",           Some(Itself)),
            ("passwd",               "/etc/passwd",           Some(Itself)),
            ("../passwd",            "/etc/passwd",           Some(Itself)),
            ("of=/dev/sda",          "/dev/sda",              Some(Itself)),
            ("~/.bashrc",            "/home/agent/.bashrc",   Some(Itself)),
            ("~/.bashrc",            "/root/.bashrc",         Some(Itself)),
            ("build",                "/workspace/build/a.o",  Some(Above)),
            (".",                    "/workspace/a",          Some(Above)),
            ("/",                    "/workspace/a",          Some(Above)),
            ("/etc/passwd",          "/etc/passwd-",          None),
            ("/passwd",              "/etc/passwd",           None),
            ("wd",                   "/etc/passwd",           None),
            ("",                     "/etc/passwd",           None),
            ("/etc/shadow",          "/etc/passwd",           None),
        ];
        for (argument, path, expected) in table {
            assert_eq!(names(argument, path), expected, "{argument:?} {path:?}");
        }
    }
}
