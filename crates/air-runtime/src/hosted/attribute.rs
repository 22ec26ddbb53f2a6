//! Whose effects these are, where several calls run at once.

use std::path::Path;

use air_core::effects::Effects;

/// Leaves out of `effects` what a call names that still runs, and this one does not: it is examined
/// with that one. What nobody names stays. Paths are absolute.
pub(crate) fn attribute(effects: &mut Effects, own: &[String], running: &[Vec<String>]) {
    let names = |paths: &[String], path: &str| {
        let path = Path::new(path);
        paths.iter().any(|named| path.starts_with(named))
    };
    effects.files.items.retain(|file| {
        names(own, &file.path) || !running.iter().any(|other| names(other, &file.path))
    });
}

#[cfg(test)]
mod tests {
    use air_core::effects::{Change, FileEffect, Observed};

    use super::*;

    fn effects(paths: &[&str]) -> Effects {
        let file = |path: &&str| FileEffect {
            path: (*path).to_owned(),
            change: Change::Created,
            size: 1,
            mode: 0o644,
            origin: None,
            origin_unknown: None,
            moved: None,
            aspects: Vec::new(),
            marks: Vec::new(),
            reversible: true,
        };
        let files = Observed::whole(paths.iter().map(file).collect());
        Effects { files, ..Effects::default() }
    }

    fn left(of: &[&str], own: &[&str], running: &[&[&str]]) -> Vec<String> {
        let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        let running: Vec<Vec<String>> = running.iter().map(|paths| owned(paths)).collect();
        let mut effects = effects(of);
        let own: Vec<String> = owned(own);
        attribute(&mut effects, &own, &running);
        effects.files.items.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn what_a_running_call_names_is_its_own() {
        assert_eq!(left(&["/r/a", "/r/b"], &["/r/a"], &[&["/r/b"]]), ["/r/a"]);
        assert_eq!(left(&["/r/d/x"], &["/r/a"], &[&["/r/d"]]), Vec::<String>::new());
    }

    #[test]
    fn what_nobody_or_both_name_stays() {
        assert_eq!(left(&["/r/c"], &["/r/a"], &[&["/r/b"]]), ["/r/c"]);
        assert_eq!(left(&["/r/a"], &["/r/a"], &[&["/r/a"]]), ["/r/a"]);
        assert_eq!(left(&["/r/b"], &["/r/a"], &[]), ["/r/b"]);
    }
}
