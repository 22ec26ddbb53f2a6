//! What calls return.

use super::*;

#[test]
fn python_keeps_its_state() {
    at_each_tier(|bench| {
        assert_eq!(bench.python("x = 40").content, "");
        let seen = bench.python("import os\nprint(os.getcwd())\nx + 2");
        assert_eq!(seen.error, None, "{seen:?}");
        assert!(seen.content.ends_with("\n42\n"), "{seen:?}");
        let steps = bench.folder.path().join("state/sessions/s1/steps");
        assert_eq!(std::fs::read_to_string(steps.join("step1.py")).unwrap(), "x = 40");
    });
}

#[test]
fn an_exception_is_shown_with_its_source() {
    at_each_tier(|bench| {
        let seen = bench.python("y = 1\ny / 0\n");
        assert_eq!(seen.error.as_deref(), Some("ZeroDivisionError: division by zero"));
        assert!(seen.content.contains("step1.py\", line 2") && seen.content.contains("y / 0"));
        assert!(!seen.content.contains("repl.py"), "{}", seen.content);
        let seen = bench.python("def f(:");
        assert!(seen.error.unwrap().starts_with("SyntaxError"));
        assert_eq!(bench.python("y").content, "1\n");
    });
}

#[test]
fn whatever_ends_the_interpreter_is_said_and_the_next_step_has_a_fresh_one() {
    at_each_tier(|bench| {
        #[rustfmt::skip]
        let table = [
            ("import sys; sys.exit(3)", "SystemExit: 3"),
            ("import os; os._exit(0)", "the interpreter ended"),
            ("import os; os.kill(os.getpid(), 9)", "the interpreter ended"),
            ("import os; os.closerange(0, 1000)", "the interpreter was replaced"),
        ];
        for (code, expected) in table {
            assert_eq!(bench.python("z = 1").error, None);
            let seen = bench.python(code);
            assert!(seen.error.clone().unwrap().contains(expected), "{code}: {seen:?}");
            assert!(bench.python("z").error.unwrap().contains("NameError"), "{code}");
        }
    });
}

#[test]
fn a_loop_is_timed_out() {
    for tier in [Tier::T3, Tier::T2] {
        let short = |config: &mut SandboxConfig| config.limits.timeout = Duration::from_secs(1);
        let Some(bench) = Bench::try_with(tier, short) else { continue };
        let seen = bench.python("print('before', flush=True)\nwhile True: pass");
        assert_eq!(
            seen.error.as_deref(),
            Some("timed out after 1 s; the interpreter was replaced")
        );
        assert_eq!(seen.content, "before\n");
        assert_eq!(bench.bash("sleep 60").error.as_deref(), Some("timed out after 1 s"));
        assert_eq!(bench.python("1").content, "1\n");
    }
}

#[test]
fn a_gigabyte_of_output_is_cut() {
    at_each_tier(|bench| {
        let code = "for _ in range(1000): print('x' * 10**6)";
        let seen = bench.python(code);
        assert_eq!(seen.error, None);
        assert!(seen.content.len() < 2 << 20 && seen.content.contains("more bytes of output"));
        let seen = bench.bash("head -c 300000000 /dev/zero | tr '\\0' y");
        assert!(seen.content.len() < 2 << 20 && seen.error.is_none());
    });
}

#[test]
fn bash_says_how_it_ended() {
    at_each_tier(|bench| {
        let seen = bench.bash("echo out; echo err >&2; exit 3");
        assert_eq!(
            (seen.content.as_str(), seen.error.as_deref()),
            ("out\nerr\n", Some("exit code 3"))
        );
    });
}

#[test]
fn files_are_read_written_listed_and_deleted() {
    at_each_tier(|bench| {
        let big = "ä\n".repeat(300_000);
        let write = json!({ "path": "a/b.txt", "content": big });
        assert_eq!(bench.call("write_file", write).error, None);
        assert_eq!(std::fs::read_to_string(bench.path("a/b.txt")).unwrap(), big);
        bench.call("write_file", json!({ "path": "c", "content": "" }));
        assert_eq!(std::fs::read(bench.path("c")).unwrap(), b"");
        assert!(bench.call("list_files", json!({})).content.contains(" a\n"));
        bench.call("write_file", json!({ "path": "c", "content": "text" }));
        assert_eq!(bench.call("read_file", json!({ "path": "c" })).content, "text");
        assert_eq!(bench.call("delete_file", json!({ "path": "a" })).error, None);
        assert!(!bench.path("a").exists());
        assert!(bench.call("read_file", json!({ "path": "none" })).error.is_some());
        let seen = bench.call("check_environment", json!({}));
        assert!(seen.content.contains("Python 3") && seen.content.contains("tier: T"), "{seen:?}");
    });
}

#[test]
fn wrong_arguments_are_named() {
    at_t3(|bench| {
        #[rustfmt::skip]
        let table = [
            ("bash", json!({}), "tool `bash`: argument `command` is missing, expected string"),
            ("bash", json!({"command": 1}), "tool `bash`: argument `command` is number, expected string"),
            ("bash", json!({"command": "", "x": 1}), "tool `bash`: unknown argument `x`"),
            ("none", json!({}), "unknown tool `none`"),
        ];
        for (tool, arguments, expected) in table {
            assert_eq!(bench.try_call(tool, arguments).unwrap_err().to_string(), expected);
        }
    });
}

/// What a call runs is read as a tool would read it.
fn sources_are_read(bench: &Bench) {
    bench.write("kept.sh", "echo kept", 0o644);
    bench.write("changed.sh", "echo before", 0o644);
    bench.write("gone.sh", "echo gone", 0o644);
    bench.write("d/hidden.sh", "echo hidden", 0o644);
    bench.write("other.sh", "echo other", 0o644);
    bench.bash(
        "echo echo new > new.sh; echo echo after > changed.sh; rm gone.sh; rm -r d; mkdir d; \
         ln -s other.sh link.sh; echo echo home > ~/home.sh; head -c 2000000 /dev/zero > large.sh",
    );
    let read = |path: &str| bench.workspace.source_file(path);
    for (path, content) in [
        ("kept.sh", "echo kept"),
        ("./d/../changed.sh", "echo after\n"),
        ("new.sh", "echo new\n"),
        ("~/home.sh", "echo home\n"),
    ] {
        assert_eq!(read(path).as_deref(), Ok(content.as_bytes()), "{path}");
    }
    for path in ["gone.sh", "d/hidden.sh", "link.sh", "large.sh", "d", "none.sh", "/root/.bashrc"] {
        assert!(read(path).is_err(), "{path}: {:?}", read(path));
    }
}

#[test]
fn what_a_call_runs_can_be_read() {
    at_each_tier(|bench| sources_are_read(&bench));
    let overlay = |config: &mut SandboxConfig| {
        let overlay = Overlay::of(&config.session_dir);
        for directory in [&overlay.upper, &overlay.work] {
            std::fs::create_dir_all(directory).unwrap();
        }
        config.overlay = Some(Overlay::of(&config.session_dir));
    };
    match Bench::try_with(Tier::T3, overlay) {
        Some(bench) => sources_are_read(&bench),
        None => skip("tier T3 is not available"),
    }
}
