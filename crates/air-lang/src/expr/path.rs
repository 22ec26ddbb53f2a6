//! Lexical paths: no file system is asked.

/// Whether `path` is `dir` or within it, or `None` where the texts alone cannot tell.
///
/// Both are normalised first. A relative path is taken as it is: it is within relative directories
/// only, unless it climbs out of the unknown directory that it starts in.
pub(super) fn under(path: &str, dir: &str) -> Option<bool> {
    if path.starts_with('/') == dir.starts_with('/') && !climbs(path) && !climbs(dir) {
        let mut names = names(path);
        return Some(self::names(dir).all(|name| names.next() == Some(name)));
    }
    let (path, dir) = (Path::new(path), Path::new(dir));
    if path.absolute != dir.absolute {
        let climbs = if path.absolute { dir.climbs } else { path.climbs };
        return if climbs > 0 { None } else { Some(false) };
    }
    if path.climbs < dir.climbs {
        // Going up from `path` reaches `dir` when nothing follows; else its names are unknown.
        return if dir.names.is_empty() { Some(true) } else { None };
    }
    if path.climbs > dir.climbs {
        // Up and down again, perhaps to where it was.
        return if path.names.is_empty() { Some(false) } else { None };
    }
    Some(path.names.starts_with(&dir.names))
}

/// Whether some part of it may be `..`.
fn climbs(path: &str) -> bool {
    path.contains("..")
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !matches!(*part, "" | "."))
}

struct Path<'p> {
    absolute: bool,
    /// Leading `..` of a relative path.
    climbs: usize,
    names: Vec<&'p str>,
}

impl<'p> Path<'p> {
    fn new(text: &'p str) -> Self {
        let mut path = Self { absolute: text.starts_with('/'), climbs: 0, names: Vec::new() };
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if path.names.pop().is_none() && !path.absolute {
                        path.climbs += 1;
                    }
                }
                name => path.names.push(name),
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::under;

    #[test]
    fn containment_is_by_component_after_normalising() {
        for (path, dir, expected) in [
            ("/etc/passwd", "/etc", Some(true)),
            ("/etc", "/etc/", Some(true)),
            ("/etcetera", "/etc", Some(false)),
            ("//etc/./ssl//x", "/etc/ssl", Some(true)),
            ("/workspace/../etc/passwd", "/etc", Some(true)),
            ("/etc/../workspace", "/etc", Some(false)),
            ("/../etc/x", "/etc", Some(true)),
            ("/anything", "/", Some(true)),
            ("a/b", "a", Some(true)),
            ("a/b", ".", Some(true)),
            ("../a", ".", None),
            ("..", ".", Some(false)),
            ("a", "..", Some(true)),
            ("a", "../b", None),
            ("a/b", "/a", Some(false)),
            ("../../etc/passwd", "/etc", None),
            ("~/.ssh/id", "~/.ssh", Some(true)),
        ] {
            assert_eq!(under(path, dir), expected, "`{path}` under `{dir}`");
        }
    }
}
