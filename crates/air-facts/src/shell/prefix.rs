//! Commands that run the command in their arguments.

use super::word::Word;

/// How the words before the command are read.
struct Prefix {
    name: &'static str,
    /// Options whose value is the next word.
    valued: &'static [&'static str],
    /// Words of its own before the command.
    own: usize,
}

const fn prefix(name: &'static str, valued: &'static [&'static str], own: usize) -> Prefix {
    Prefix { name, valued, own }
}

const PREFIXES: &[Prefix] = &[
    prefix("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-r", "-t", "-U", "--user", "--group"], 0),
    prefix("doas", &["-u", "-C"], 0),
    prefix("pkexec", &["--user"], 0),
    prefix("runuser", &["-u", "--user"], 0),
    prefix("env", &["-u", "-C", "--unset", "--chdir"], 0),
    prefix("nohup", &[], 0),
    prefix("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    prefix("command", &[], 0),
    prefix("builtin", &[], 0),
    prefix("exec", &["-a"], 0),
    prefix("nice", &["-n", "--adjustment"], 0),
    prefix("ionice", &["-c", "-n", "-p"], 0),
    prefix("chrt", &["-T", "-P", "-D"], 1),
    prefix("setsid", &[], 0),
    prefix("stdbuf", &["-i", "-o", "-e"], 0),
    prefix("time", &["-f", "-o"], 0),
    prefix("watch", &["-n", "--interval"], 0),
    prefix("busybox", &[], 0),
    prefix("toybox", &[], 0),
    prefix("chroot", &[], 1),
    prefix("flock", &["-w", "-E"], 1),
    prefix("strace", &["-e", "-o", "-p", "-s"], 0),
    prefix("ltrace", &["-e", "-o", "-p", "-s"], 0),
    prefix("unshare", &[], 0),
    prefix("nsenter", &["-t", "--target"], 0),
    prefix("coproc", &[], 0),
    prefix("taskset", &["-c"], 1),
    prefix("systemd-run", &["-p", "-u", "--unit", "--uid"], 0),
    prefix("proot", &["-r", "-b"], 0),
    prefix("fakeroot", &[], 0),
    prefix("torsocks", &[], 0),
    prefix("proxychains", &["-f"], 0),
    prefix("winpty", &[], 0),
    prefix("unbuffer", &[], 0),
    prefix("catchsegv", &[], 0),
];

/// The command in the arguments of `name`; nothing where `name` runs none.
pub(super) fn behind(name: &str, args: &[Word]) -> Option<Vec<Word>> {
    let prefix = PREFIXES.iter().find(|prefix| prefix.name == name)?;
    let mut rest = args;
    let mut own = prefix.own;
    while let Some((word, after)) = rest.split_first() {
        let written = word.as_written();
        if written == "--" {
            rest = after;
            break;
        }
        if name == "env" && (written == "-S" || written.starts_with("--split-string")) {
            let line = written.split_once('=').map(|(_, line)| line.to_owned());
            let (line, after) = match line {
                Some(line) => (line, after),
                None => (after.first()?.as_written().to_owned(), after.get(1..)?),
            };
            let words = line.split_whitespace().map(Word::literal);
            let words: Vec<Word> = words.chain(after.iter().cloned()).collect();
            return behind("env", &words);
        }
        if written.starts_with('-') && written.len() > 1 {
            let skip = usize::from(prefix.valued.contains(&written));
            rest = after.get(skip..)?;
        } else if (name == "env" || name == "sudo")
            && written.contains('=')
            && !written.starts_with('/')
        {
            rest = after;
        } else if own > 0 {
            own -= 1;
            rest = after;
        } else {
            break;
        }
    }
    // `command -v x` and `exec -l` ask or run nothing.
    let asks = name == "command"
        && args.first().is_some_and(|arg| matches!(arg.text(), Some("-v" | "-V")));
    (!asks).then(|| rest.to_vec())
}

/// Whether `name` is one of them.
pub(super) fn is_prefix(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| prefix.name == name)
}
